// Steps of training of Cibil's network on several GPUs, as work on their streams. Each kind of work is queued
// for all GPUs before the next kind, so that no GPU waits for the launches of another one. Timed steps are
// captured as one CUDA graph over all GPUs, whose launch costs the same for any number of them, so a thread
// of the host for each GPU would save nothing.
#pragma once

#include "executor/network/bound_rung.hpp"
#include "executor/network/devices_group.hpp"
#include "executor/network/settle.hpp"
#include "executor/network/streamed_work.hpp"
#include "gpu/compile.hpp"
#include "gpu/kernel.hpp"
#include "gpu/memory.hpp"
#include "model/network/ladder.hpp"
#include "model/network/scaling.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace convcast {

/// What is queued. `step`: a whole step, forward, backward and update. `forward`: its forward part alone.
/// `computation`: a step in which the GPUs exchange nothing. Its results are wrong; its time is the
/// computation's.
enum class StepPart { step, forward, computation };

/// How the kernels are compiled for a GPU with `rows` rows of pooling windows: one, two, three or all six.
CompileRequest split_request(std::int64_t rows, int compute_capability);

/// The memory and the kernels of a split training step on several GPUs.
class SplitSteps {
  public:
    /// For a split by rows, parameters or batch (item.split). Takes the first item.devices GPUs of `group`,
    /// which must outlive this, as must `kernels`. Trains with `count` images, in batches of item.batch; the
    /// last batch has those that remain. If `images` has fewer, they repeat. Copies images and parameters to
    /// the GPUs.
    SplitSteps(const DeviceGroup &group, LadderKernels &kernels, const NetworkCase &item,
               const LabelledImages &images, std::int64_t count, std::span<const float> parameters,
               float rate);
    SplitSteps(const SplitSteps &) = delete;
    SplitSteps &operator=(const SplitSteps &) = delete;
    ~SplitSteps();

    std::int64_t batches() const;

    /// `count` steps from step number `first` on; step i takes batch i modulo batches(). The caller enqueues
    /// the work on a stream of the first GPU. This must outlive the work.
    StreamedWork work(StepPart part, std::int64_t first, std::int64_t count) const;

    /// Waits for all GPUs, then reads what the last queued step left, whose number is `step`.
    StepOutcome outcome(std::int64_t step) const;

  private:
    struct Sizes;
    struct Share;
    class Enqueued;

    std::unique_ptr<const Sizes> sizes_;
    const DeviceGroup &group_;
    std::vector<std::unique_ptr<Share>> shares_;

    void load(const LabelledImages &images, std::span<const float> parameters);
    void copy_halos();
};

} // namespace convcast
