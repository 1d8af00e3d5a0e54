// A rung of a ladder on the device: a network's tensors, and the launches and copies of a call with their
// arguments.
#pragma once

#include "executor/network/streamed_work.hpp"
#include "gpu/compile.hpp"
#include "gpu/device.hpp"
#include "gpu/memory.hpp"
#include "model/network/idx.hpp"
#include "model/network/ladder.hpp"
#include "model/network/reference.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace convcast {

/// Parameters of all operators behind each other, as kernels take them.
std::vector<float> flattened(const Parameters &parameters);
/// And by operator again.
Parameters by_operator(const Network &network, std::span<const float> flat);

/// The last operator that a launch of the rung computes.
std::string output_of(const Rung &rung);

/// A ladder's kernels for a GPU, compiled and loaded once for each source and its options. The compiler, the
/// ladder and the network must outlive it.
class LadderKernels {
  public:
    LadderKernels(Compiler &compiler, const DeviceFacts &gpu, const Ladder &ladder, const Network &network)
        : compiler_(compiler), gpu_(gpu), ladder_(ladder), network_(network) {}

    const DeviceFacts &gpu() const { return gpu_; }
    const Ladder &ladder() const { return ladder_; }
    const Network &network() const { return network_; }

    /// The same ladder's kernels on another GPU.
    LadderKernels on(const DeviceFacts &gpu) const { return {compiler_, gpu, ladder_, network_}; }

    /// A rung's source with its constant arrays. Throws GpuError with the log.
    const Module &of(const Rung &rung);
    /// Another source.
    const Module &of(const CompileRequest &request);

  private:
    Compiler &compiler_;
    DeviceFacts gpu_;
    const Ladder &ladder_;
    const Network &network_;
    std::map<std::vector<std::string>, Module> modules_; ///< by name of the source and options
};

/// What a step of training is done with, as kernels read it.
struct StepSettings {
    float rate = 0.0F, momentum = 0.0F, decay = 0.0F;
};

/// The network's tensors and a rung's memory on the device.
class NetworkMemory {
  public:
    NetworkMemory(const Network &network, const Rung &rung, std::int64_t batch);

    /// Images, labels and parameters; outputs and gradient are poisoned, the rung's memory is zero.
    void load(const LabelledImages &images, const Parameters &parameters);
    /// Other images and labels, at most as many; outputs stay as they are.
    void load(const LabelledImages &images);
    /// Launches that are bound from now on read images and labels from there instead, in an order of numbers
    /// of images.
    void read_from(const float *images, const std::uint8_t *labels, const std::int32_t *order) {
        starts_["input"] = images, starts_["labels"] = labels, starts_["order"] = order;
    }
    void set(const StepSettings &settings) { settings_.copy_from({&settings, 1}); }
    StepSettings *settings() { return settings_.data(); } ///< on the device

    /// The address of an operand, of what each image has from image `first` on; null for "none".
    const void *address(const std::string &operand, std::int64_t first = 0) const;
    std::int64_t bytes(const std::string &operand) const { return 4 * *floats(operand); }

    /// Of the last operator that the rung computes.
    std::vector<float> output() const { return outputs_.at(output_of(rung_)).to_host(); }
    std::vector<float> gradient() const { return gradient_.to_host(); }
    float *gradient_at() { return gradient_.data(); } ///< on the device
    std::size_t gradient_count() const { return gradient_.size(); }
    std::vector<float> trained() const { return parameters_.to_host(); }
    const float *trained_at() const { return parameters_.data(); } ///< on the device

    /// Of a rung that uploads: enqueues the copy of some images to the device.
    void upload(const ImageShare &share, cudaStream_t stream) const;

    /// The tensor beyond whose end a kernel wrote; empty if none did.
    std::string overrun() const;

  private:
    std::optional<std::int64_t> floats(const std::string &operand) const {
        return operand_floats(network_, rung_, operand, batch_);
    }

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
    std::map<std::string, DeviceBuffer<float>> own_;
    DeviceBuffer<StepSettings> settings_{1};
    std::map<std::string, const void *> starts_; ///< of operands; no order is as they lie
};

/// A step of training on one of several GPUs, each with a part of the images.
struct SharedBatch {
    std::int64_t total = 0; ///< images of all GPUs
    /// Adds up so many numbers of all GPUs in place; empty: they stay the own ones, and what follows is
    /// wrong.
    std::function<void(float *numbers, std::size_t count, cudaStream_t stream)> sum;
};

/// A rung ready to be queued for a number of images, at most those of its memory. The kernels and the memory
/// must outlive it.
class BoundRung {
  public:
    /// Of a `shared` batch `images` may be 0: such a GPU adds nothing to the gradient, and gets all of it.
    BoundRung(LadderKernels &kernels, const Rung &rung, NetworkMemory &memory, std::int64_t images,
              const std::optional<SharedBatch> &shared = std::nullopt);

    /// After the parameters were loaded.
    void prepare(cudaStream_t stream) const { prepare_.enqueue(stream); }
    void call(cudaStream_t stream) const { call_.enqueue(stream); }

    /// What call() queues, for threads of the host; this must outlive it.
    ThreadedWork by_threads() const { return ThreadedWork(call_); }

    /// The first launch of a line of the rung, without what comes before it in a call; nothing where the line
    /// has none.
    void launch_alone(std::size_t line, cudaStream_t stream) const {
        if (first_launches_[line])
            call_.enqueue(*first_launches_[line], stream);
    }

  private:
    StreamedWork prepare_, call_;
    std::vector<std::optional<std::size_t>> first_launches_; ///< of each line, its number in call_
};

/// A rung for a number of images with memory of its own, which is still to be loaded.
struct LoadedRung {
    LoadedRung(LadderKernels &kernels, const Rung &rung, std::int64_t images,
               const std::optional<SharedBatch> &shared = std::nullopt)
        : memory(kernels.network(), rung, images), bound(kernels, rung, memory, images, shared) {}
    LoadedRung(const LoadedRung &) = delete;
    LoadedRung &operator=(const LoadedRung &) = delete;

    NetworkMemory memory;
    BoundRung bound;
};

} // namespace convcast
