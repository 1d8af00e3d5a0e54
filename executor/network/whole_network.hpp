// A whole network on the device: the launches of its schedule, bound to their tensors, parameters and
// kernels.
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

/// All that a plan has compiled: the kernels of its convolutions, each with the bias, addition and functions
/// that it applies before it stores, and the kernels of the operators between.
std::vector<CompileRequest> whole_requests(const PlannedNetwork &plan, int compute_capability);

class WholeNetwork {
  public:
    /// Compiles with `threads` threads, loads the kernels and allocates memory. `plan` must outlive this.
    /// Throws UsageError if the GPU has too little memory, GpuError if a kernel does not compile.
    WholeNetwork(Compiler &compiler, const Device &device, const PlannedNetwork &plan, unsigned threads);

    /// Copies images and parameters to the device, prepares filters, and waits.
    void load(std::span<const float> images, const Parameters &parameters, cudaStream_t stream);

    /// Queues one launch of the schedule alone.
    void enqueue(std::size_t launch, cudaStream_t stream) const { work_.enqueue(launch, stream); }
    /// Queues the whole schedule.
    void enqueue(cudaStream_t stream) const { work_.enqueue(stream); }

    // Addresses on the device.
    const float *images() const { return images_.data(); }
    const float *parameters(std::size_t op) const { return parameters_[op].data(); }
    /// What a launch writes; valid until another launch reuses the memory.
    const float *written(std::size_t launch) const { return address(plan_.schedule[launch].writes); }
    bool output_guards_intact() const { return output_.guards_intact(); }
    void poison_output() { output_.poison(); }

    /// Sentences on kernels that differ from their plans, such as in registers.
    const std::vector<std::string> &notes() const { return notes_; }

  private:
    /// The call of a launch that has a plan (convolutions); also adds its preparation of filters to prepare_.
    StreamedWork::Call plan_call(std::size_t launch, KernelCache &kernels);
    /// The call of any other launch that has a kernel.
    StreamedWork::Call kernel_call(std::size_t launch) const;
    float *address(const Tensor &tensor) const;

    const PlannedNetwork &plan_;
    bool early_ = false; ///< launches may start while the one before runs (programmatic dependent launch)
    Arena arena_plan_;
    std::map<Tensor, std::int64_t> offsets_; ///< bytes, in arena_
    DeviceBuffer<float> images_;
    /// All tensors but images and output, which share the memory in turn
    mutable DeviceBuffer<std::byte> arena_;
    mutable GuardedBuffer<float> output_;         ///< of the schedule's last launch
    std::vector<DeviceBuffer<float>> parameters_; ///< by operator
    std::optional<Module> module_;                ///< of executor/network/whole.cu
    StreamedWork prepare_;                        ///< prepares filters, once for each load()
    StreamedWork work_;                           ///< one call for each launch, with the launch's number
    std::vector<std::string> notes_;
};

} // namespace convcast
