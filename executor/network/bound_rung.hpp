// A rung of a ladder on the device: a network's tensors, and the launches and copies of a call with their
// arguments.
#pragma once

#include "executor/network/stream.hpp"
#include "gpu/compile.hpp"
#include "gpu/kernel.hpp"
#include "gpu/memory.hpp"
#include "model/network/ladder.hpp"
#include "model/network/reference.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace convcast {

/// Parameters of all operators behind each other, as kernels take them.
std::vector<float> flattened(const Parameters &parameters);

/// Compiles and loads a source of the ladder with its constant arrays. Throws GpuError with the log.
Module network_module(Compiler &compiler, const Ladder &ladder, const std::string &source,
                      int compute_capability);

/// What a step of training is done with, as kernels read it.
struct StepSettings {
    float rate = 0.0F, momentum = 0.0F, decay = 0.0F;
};

/// The network's tensors and a rung's memory on the device.
class NetworkMemory {
  public:
    NetworkMemory(const Network &network, const Rung &rung, std::int64_t batch);

    /// Images, labels and parameters; outputs and gradient are poisoned, the rung's memory is zero.
    void load(std::span<const float> images, std::span<const std::uint8_t> labels,
              const Parameters &parameters);
    /// Other images and labels, at most as many; outputs stay as they are.
    void load(std::span<const float> images, std::span<const std::uint8_t> labels);
    /// Launches that are bound from now on read images and labels from there instead, in an order of numbers
    /// of images.
    void read_from(const float *images, const std::uint8_t *labels, const std::int32_t *order) {
        images_at_ = images, labels_at_ = labels, order_at_ = order;
    }
    void set(const StepSettings &settings) { settings_.copy_from({&settings, 1}); }
    StepSettings *settings() { return settings_.data(); } ///< on the device

    /// The address of an operand, of what each image has from image `first` on; null for "none".
    const void *address(const std::string &operand, std::int64_t first = 0) const;
    std::int64_t bytes(const std::string &operand) const { return 4 * *floats(operand); }

    std::vector<float> output(const std::string &name) const { return outputs_.at(name).to_host(); }
    std::vector<float> gradient() const { return gradient_.to_host(); }
    std::vector<float> trained() const { return parameters_.to_host(); }

    /// Of a rung that uploads: enqueues the copy of some images to the device.
    void upload(const ImageShare &share, cudaStream_t stream) const;

    /// The tensor beyond whose end a kernel wrote; empty if none did.
    std::string overrun() const;

  private:
    std::optional<std::int64_t> floats(const std::string &operand) const {
        return operand_floats(network_, rung_, operand, batch_);
    }

    const void *start_of(const std::string &operand) const;
    /// Puts images into pinned memory as the rung wants them.
    void pack(std::span<const float> images);

    const Network &network_;
    const Rung &rung_;
    std::int64_t batch_;
    mutable std::optional<PinnedBuffer<float>> packed_;
    DeviceBuffer<float> images_;
    DeviceBuffer<std::uint8_t> labels_;
    DeviceBuffer<float> parameters_;
    GuardedBuffer<float> gradient_;
    std::map<std::string, GuardedBuffer<float>> outputs_;
    std::map<std::string, std::size_t> parameters_at_;
    std::map<std::string, DeviceBuffer<float>> own_;
    const float *images_at_ = nullptr;
    const std::uint8_t *labels_at_ = nullptr;
    const std::int32_t *order_at_ = nullptr; ///< null: as they lie
    DeviceBuffer<StepSettings> settings_{1};
};

/// What a launch computes: which images of how many, in how many groups, and which repetition it is.
struct LaunchShare {
    ImageShare share;
    std::int64_t total = 1, groups = 1, turn = 0;
};

/// A launch with its arguments in place.
class BoundLaunch {
  public:
    BoundLaunch(const Module &module, const LadderLaunch &launch, const NetworkMemory &memory,
                const LaunchShare &work, int sms);
    BoundLaunch(const BoundLaunch &) = delete;
    BoundLaunch &operator=(const BoundLaunch &) = delete;

    void enqueue(cudaStream_t stream);

  private:
    Kernel kernel_;
    const LadderLaunch &launch_;
    std::array<std::int64_t, 3> grid_;
    std::deque<int> numbers_;
    std::deque<const void *> pointers_;
    std::vector<void *> arguments_;
};

/// A rung ready to be enqueued for a number of images, at most those of its memory.
class BoundRung {
  public:
    BoundRung(const Module &module, const Rung &rung, NetworkMemory &memory, std::int64_t images, int sms);

    NetworkMemory &memory() { return memory_; }

    /// After the parameters were loaded.
    void prepare(cudaStream_t stream);
    void call(cudaStream_t stream);

  private:
    /// A launch of the rung on its streams, or alone.
    struct Launches {
        bool each_stream = false, meet = false;
        std::vector<std::vector<std::unique_ptr<BoundLaunch>>> by_stream; ///< each with its repetitions
    };

    Launches bind(const Module &module, const LadderLaunch &launch, std::int64_t images, std::int64_t groups,
                  int sms) const;
    void copy_constants(cudaStream_t stream, bool each_call);
    void fork(cudaStream_t stream);
    void join(cudaStream_t stream);

    const Rung &rung_;
    NetworkMemory &memory_;
    std::int64_t images_;
    std::map<std::string, void *> constants_;
    std::vector<std::unique_ptr<OwnedStream>> streams_;
    std::vector<std::unique_ptr<OwnedEvent>> ends_; ///< of the streams
    OwnedEvent start_;
    std::vector<std::unique_ptr<BoundLaunch>> prepare_;
    std::vector<Launches> launches_;
};

/// Calls as one graph that can be launched again and again.
class CallGraph {
  public:
    CallGraph(std::span<const std::unique_ptr<BoundRung>> calls, cudaStream_t stream);
    CallGraph(BoundRung &call, cudaStream_t stream);
    CallGraph(const CallGraph &) = delete;
    CallGraph &operator=(const CallGraph &) = delete;
    ~CallGraph();

    void launch(cudaStream_t stream) const;

  private:
    void end_capture(cudaStream_t stream);

    cudaGraphExec_t instance_ = nullptr;
};

} // namespace convcast
