// A whole network on the device: the launches of its schedule bound to their tensors, parameters and kernels.
#pragma once

#include "executor/launch/kernel_cache.hpp"
#include "executor/network/streamed_work.hpp"
#include "gpu/device.hpp"
#include "gpu/memory.hpp"
#include "model/network/forecast.hpp"
#include "model/network/reference.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace convcast {

/// Everything that a plan compiles: its convolutions' kernels with what ends them, and those between.
std::vector<CompileRequest> whole_requests(const PlannedNetwork &plan, int compute_capability);

class WholeNetwork {
  public:
    /// Compiles by `threads` threads, loads and allocates. `plan` must outlive it. Throws UsageError if the
    /// GPU has too little memory, GpuError if a kernel does not compile.
    WholeNetwork(Compiler &compiler, const Device &device, const PlannedNetwork &plan, unsigned threads);

    /// Copies images and parameters to the device and prepares filters.
    void load(std::span<const float> images, const Parameters &parameters, cudaStream_t stream);

    void enqueue(std::size_t launch, cudaStream_t stream) const { work_.enqueue(launch, stream); }
    /// The whole schedule.
    void enqueue(cudaStream_t stream) const { work_.enqueue(stream); }

    const float *images() const { return images_.data(); }
    const float *parameters(std::size_t op) const { return parameters_[op].data(); }
    /// Of the output of a launch, valid until another launch reuses the memory.
    const float *written(std::size_t launch) const { return address(plan_.schedule[launch].writes); }
    bool output_guards_intact() const { return output_.guards_intact(); }
    void poison_output() { output_.poison(); }

    const std::vector<std::string> &notes() const {
        return notes_;
    } ///< where kernels differ from their plans

  private:
    StreamedWork::Call plan_call(std::size_t launch, KernelCache &kernels);
    StreamedWork::Call kernel_call(std::size_t launch) const;
    float *address(const Tensor &tensor) const;

    const PlannedNetwork &plan_;
    bool early_ = false; ///< launches may start while the one before runs
    Arena arena_plan_;
    std::map<Tensor, std::int64_t> offsets_;
    DeviceBuffer<float> images_;
    mutable DeviceBuffer<std::byte> arena_;
    mutable GuardedBuffer<float> output_;
    std::vector<DeviceBuffer<float>> parameters_; ///< by operator
    std::optional<Module> module_;                ///< of executor/network/whole.cu
    StreamedWork prepare_;                        ///< filters, once
    StreamedWork work_;                           ///< of each launch a call
    std::vector<std::string> notes_;
};

} // namespace convcast
