// A whole network on the device: the launches of its schedule bound to their tensors, parameters and kernels.
#pragma once

#include "executor/launch/kernel_cache.hpp"
#include "gpu/device.hpp"
#include "gpu/kernel.hpp"
#include "gpu/memory.hpp"
#include "model/network/forecast.hpp"
#include "model/network/reference.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace convcast {

/// Everything that a plan compiles: its convolutions' kernels with what ends them, and those between.
std::vector<CompileRequest> whole_requests(const PlannedNetwork &plan, int compute_capability);

/// The streams of a schedule beside the first, and the events by which their launches wait for each other.
class StreamsOfPlan {
  public:
    explicit StreamsOfPlan(const std::vector<ScheduledLaunch> &schedule);
    StreamsOfPlan(const StreamsOfPlan &) = delete;
    StreamsOfPlan &operator=(const StreamsOfPlan &) = delete;
    ~StreamsOfPlan();

    /// Calls `launch` for each launch with its stream, `first` being stream 0.
    void enqueue(const std::function<void(std::size_t launch, cudaStream_t stream)> &launch,
                 cudaStream_t first) const;

  private:
    const std::vector<ScheduledLaunch> &schedule_;
    std::vector<std::vector<std::size_t>> waits_;
    std::vector<cudaStream_t> others_;
    std::vector<cudaEvent_t> ended_; ///< of each launch that another stream waits for, else null
    cudaEvent_t begun_ = nullptr;
    std::vector<cudaEvent_t> joined_; ///< the end of each other stream
};

class WholeNetwork {
  public:
    /// Compiles by `threads` threads, loads and allocates. `plan` must outlive it. Throws UsageError if the
    /// GPU has too little memory, GpuError if a kernel does not compile.
    WholeNetwork(Compiler &compiler, const Device &device, const PlannedNetwork &plan, unsigned threads);

    /// Copies images and parameters to the device and prepares filters.
    void load(std::span<const float> images, const Parameters &parameters, cudaStream_t stream);

    std::size_t launches() const { return launches_.size(); }
    void enqueue(std::size_t launch, cudaStream_t stream) const { launches_[launch](stream); }
    /// The whole schedule: its stream 0 is `stream`, its others begin behind what is there and join it.
    void enqueue(cudaStream_t stream) const;

    const float *images() const { return images_.data(); }
    const float *parameters(std::size_t op) const { return parameters_[op].data(); }
    /// Of the output of a launch, valid until another launch reuses the memory.
    const float *written(std::size_t launch) const { return address(plan_.schedule[launch].writes); }
    bool output_guards_intact() const { return output_.guards_intact(); }
    void poison_output() { output_.poison(); }

    std::int64_t bytes() const { return bytes_; }
    const std::vector<std::string> &notes() const {
        return notes_;
    } ///< where kernels differ from their plans

  private:
    using Enqueue = std::function<void(cudaStream_t)>;

    void check_memory(const Device &device) const;
    void bind_plans(KernelCache &kernels);
    void bind_kernels();
    float *address(const Tensor &tensor) const;

    const PlannedNetwork &plan_;
    std::int64_t bytes_ = 0;
    bool early_ = false; ///< launches may start while the one before runs
    Arena arena_plan_;
    std::map<Tensor, std::int64_t> offsets_;
    DeviceBuffer<float> images_;
    mutable DeviceBuffer<std::byte> arena_;
    mutable GuardedBuffer<float> output_;
    std::vector<DeviceBuffer<float>> parameters_; ///< by operator
    std::vector<Enqueue> launches_;
    std::vector<Enqueue> prepare_;         ///< filters, once
    std::optional<StreamsOfPlan> streams_; ///< of a schedule on several
    std::optional<Module> module_;         ///< of executor/network/whole.cu
    std::vector<std::string> notes_;
};

/// What is enqueued on a stream, as one graph that can be launched again and again.
class LaunchGraph {
  public:
    LaunchGraph(const std::function<void(cudaStream_t)> &enqueue, cudaStream_t stream);
    LaunchGraph(const LaunchGraph &) = delete;
    LaunchGraph &operator=(const LaunchGraph &) = delete;
    ~LaunchGraph();

    void launch(cudaStream_t stream) const;

  private:
    cudaGraphExec_t instance_ = nullptr;
};

} // namespace convcast
