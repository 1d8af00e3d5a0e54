// Steps of training of Cibil's network on several GPUs, as work on their streams: each kind of work for all
// GPUs before the next kind, so that no GPU waits for another one's launches. Steps that are timed are
// captured as one CUDA graph over all GPUs, whose launch then costs the same for any number of them; a thread
// a GPU would save nothing there.
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

/// What is queued. step: a whole step, forward and backward. forward: its forward part alone. computation: a
/// step in which the GPUs exchange nothing; its results are wrong, and its time is that of the computation.
enum class StepPart { step, forward, computation };

/// How the kernels for shares of one, two, three or all six rows of windows are compiled.
CompileRequest split_request(std::int64_t rows, int compute_capability);

class SplitSteps {
  public:
    /// Of a split by rows, parameters or batch. `group` has at least item.devices GPUs, of which the first
    /// are taken. Batches of item.batch images, the last one as large as is left of `count`, of which the
    /// pool's are repeated.
    SplitSteps(const DeviceGroup &group, LadderKernels &kernels, const NetworkCase &item,
               const LabelledImages &images, std::int64_t count, std::span<const float> parameters,
               float rate);
    SplitSteps(const SplitSteps &) = delete;
    SplitSteps &operator=(const SplitSteps &) = delete;
    ~SplitSteps();

    std::int64_t batches() const;

    /// `count` steps from number `first` on, each of the batch of its number modulo batches(). To be queued
    /// on a stream of the first GPU; this must outlive it.
    StreamedWork work(StepPart part, std::int64_t first, std::int64_t count) const;

    /// Waits for all GPUs, then reads what a step left, which was the last.
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
