// A rung of a ladder on the device: its kernels, the network's tensors, and the launches and copies of a call
// bound to their arguments.
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

/// The parameters of all operators in one list, one operator behind the other, as kernels take them.
std::vector<float> flattened(const Parameters &parameters);
/// The reverse: `flat` cut into one list for each operator.
Parameters by_operator(const Network &network, std::span<const float> flat);

/// The name of the last operator that a launch of the rung computes: the one that gives its output.
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

    /// The module of the rung's source file, with the constant arrays of all rungs of that file. Throws
    /// GpuError, with the compiler's log. The reference stays valid as long as this.
    const Module &module_of(const Rung &rung);
    /// The module of any other source.
    const Module &module_of(const CompileRequest &request);

  private:
    Compiler &compiler_;
    DeviceFacts gpu_;
    const Ladder &ladder_;
    const Network &network_;
    std::map<std::vector<std::string>, Module> modules_; ///< by name of the source and options
};

/// The numbers of gradient descent (Descent in model/network/ladder.hpp), as kernels read them.
struct StepSettings {
    float rate = 0.0F, momentum = 0.0F, decay = 0.0F;
};

/// The network's tensors and a rung's own memory on the device. Operands are the names that LadderLaunch
/// explains.
class NetworkMemory {
  public:
    /// Allocates for `batch` images. `network` and `rung` must outlive this.
    NetworkMemory(const Network &network, const Rung &rung, std::int64_t batch);

    /// Copies images, labels and parameters to the device, poisons outputs and gradient, and zeroes the
    /// rung's memory.
    void load(const LabelledImages &images, const Parameters &parameters);
    /// Copies other images and labels to the device, at most as many as it was made for; all else stays.
    void load(const LabelledImages &images);
    /// Makes launches that are bound from now on read images and labels from these addresses on the device,
    /// in the given order: a list of numbers of images.
    void read_from(const float *images, const std::uint8_t *labels, const std::int32_t *order) {
        starts_["input"] = images, starts_["labels"] = labels, starts_["order"] = order;
    }
    void set(const StepSettings &settings) { settings_.copy_from({&settings, 1}); }
    StepSettings *settings() { return settings_.data(); } ///< on the device

    /// The address of an operand on the device; of an operand with data for each image, that of image
    /// `first`. Null for "none" and for "order", unless read_from() gave one.
    const void *address(const std::string &operand, std::int64_t first = 0) const;
    std::int64_t bytes(const std::string &operand) const { return 4 * *floats(operand); }

    /// The output of the operator output_of(rung).
    std::vector<float> output() const { return outputs_.at(output_of(rung_)).to_host(); }
    std::vector<float> gradient() const { return gradient_.to_host(); }
    float *gradient_at() { return gradient_.data(); } ///< on the device
    std::size_t gradient_count() const { return gradient_.size(); }
    /// The parameters as they are now, which training changes.
    std::vector<float> trained() const { return parameters_.to_host(); }
    const float *trained_at() const { return parameters_.data(); } ///< on the device

    /// Enqueues the copy of the images of `share` to the device; only for a rung with Rung::upload.
    void upload(const ImageShare &share, cudaStream_t stream) const;

    /// The name of the tensor beyond whose end a kernel wrote; empty if none did.
    std::string overrun() const;

  private:
    /// The size of an operand in floats; absent if there is none of that name.
    std::optional<std::int64_t> floats(const std::string &operand) const {
        return operand_floats(network_, rung_, operand, batch_);
    }

    /// Copies images into pinned memory in the layout of Rung::upload.
    void pack(std::span<const float> images);

    const Network &network_;
    const Rung &rung_;
    std::int64_t batch_;
    mutable std::optional<PinnedBuffer<float>> packed_; ///< if the rung uploads images
    DeviceBuffer<float> images_;
    DeviceBuffer<std::uint8_t> labels_;
    DeviceBuffer<float> parameters_;
    GuardedBuffer<float> gradient_;
    std::map<std::string, GuardedBuffer<float>> outputs_; ///< by operator
    std::map<std::string, DeviceBuffer<float>> own_;      ///< Rung::memory and Rung::image_memory, by name
    DeviceBuffer<StepSettings> settings_{1};
    /// Addresses of operands; a null "order" takes images as they lie
    std::map<std::string, const void *> starts_;
};

/// The batch of a step of training that several GPUs share, each with a part of the images.
struct SharedBatch {
    std::int64_t total = 0; ///< images of all GPUs
    /// Enqueues that `count` numbers on the device become their sums over all GPUs. Empty: they stay as they
    /// are; then the step's result is wrong and only its time counts.
    std::function<void(float *numbers, std::size_t count, cudaStream_t stream)> sum;
};

/// A rung's launches bound to their arguments for `images` images, at most as many as its memory has room
/// for. The kernels and the memory must outlive it.
class BoundRung {
  public:
    /// `shared` is absent where GPUs exchange nothing. With it, `images` may be 0: such a GPU adds nothing to
    /// the gradient and gets the sum of all.
    BoundRung(LadderKernels &kernels, const Rung &rung, NetworkMemory &memory, std::int64_t images,
              const std::optional<SharedBatch> &shared = std::nullopt);

    /// Queues what a set of parameters needs once: after each NetworkMemory::load() of parameters, before
    /// call().
    void prepare(cudaStream_t stream) const { prepare_.enqueue(stream); }
    void call(cudaStream_t stream) const { call_.enqueue(stream); }

    /// The work of call() queued by threads of the host instead. This must outlive the result.
    ThreadedWork by_threads() const { return ThreadedWork(call_); }

    /// Queues the first launch that rung.launches[line] became, alone. Queues nothing if it became none,
    /// since no stream had images.
    void launch_alone(std::size_t line, cudaStream_t stream) const {
        if (first_launches_[line])
            call_.enqueue(*first_launches_[line], stream);
    }

  private:
    StreamedWork prepare_, call_;
    /// Of each rung.launches[i], its number in call_
    std::vector<std::optional<std::size_t>> first_launches_;
};

/// A rung bound for `images` images, with memory of its own. The caller still has to load the memory.
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
