#include "executor/network/rank_steps.hpp"

#include "model/network/training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

const DeclaredSplit &declared(const Ladder &ladder, DeviceSplit split) {
    return ladder.splits.at(to_text(split));
}

} // namespace

StepSettings settings_of(const Ladder &ladder) {
    const Descent descent = descent_of(ladder).value_or(Descent{.rate = 0.5});
    return {static_cast<float>(descent.rate), static_cast<float>(descent.momentum),
            static_cast<float>(descent.decay)};
}

/// An implementation with its memory, its images and its kernels.
class RankCases::Steps {
  public:
    Steps(Module module, const Network &network, const Rung &rung, const ShareImages &images,
          const Parameters &parameters, const StepSettings &settings, int sms,
          const std::optional<SharedBatch> &shared)
        : module_(std::move(module)), rung_(rung), images_(std::ssize(images.labels)),
          memory_(network, rung, images_) {
        memory_.load(images.pixels, images.labels, parameters);
        memory_.set(settings);
        bound_.emplace(module_, rung_, memory_, images_, sms, shared);
    }

    void prepare(cudaStream_t stream) const { bound_->prepare(stream); }
    void call(cudaStream_t stream) const { bound_->call(stream); }

    /// Of some steps, the images the same in each.
    StepOutcome outcome(Rank *rank) const {
        const Stream stream(Stream::Kind::ordered);
        const auto wait = [&] {
            const Event done(Event::Kind::order_only);
            done.record(stream.handle());
            rank != nullptr ? rank->wait(done) : done.wait();
        };
        StepOutcome outcome;
        prepare(stream.handle());
        call(stream.handle());
        wait();
        outcome.outputs = memory_.output(output_of(rung_));
        outcome.gradients = {memory_.gradient()};
        for (std::int64_t step = 1; step < verified_steps; ++step)
            call(stream.handle());
        wait();
        outcome.parameters = {memory_.trained()};
        return outcome;
    }

    /// Parameters stay from now on, so that every step has the same work.
    void stand_still() { memory_.set({}); }

  private:
    Module module_;
    const Rung &rung_;
    std::int64_t images_;
    NetworkMemory memory_;
    std::optional<BoundRung> bound_;
};

RankCases::RankCases(Compiler &compiler, const DeviceFacts &gpu, const Ladder &ladder, const Network &network,
                     const NetworkData &pool, const StepSettings &settings, bool time)
    : compiler_(compiler), gpu_(gpu), ladder_(ladder), network_(network), pool_(pool), settings_(settings),
      time_(time) {}

std::unique_ptr<RankCases::Steps> RankCases::steps_of(const std::string &id, const ImageShare &share,
                                                      const std::optional<SharedBatch> &shared) const {
    const Rung &rung = *rung_named(ladder_, id);
    return std::make_unique<Steps>(network_module(compiler_, ladder_, rung.source, gpu_.compute_capability()),
                                   network_, rung, images_of(pool_, share), pool_.parameters, settings_,
                                   gpu_.sm_count, shared);
}

const StepOutcome &RankCases::alone(std::int64_t batch) {
    if (!alone_.contains(batch))
        alone_[batch] =
            steps_of(declared(ladder_, DeviceSplit::one).step, {0, batch}, std::nullopt)->outcome(nullptr);
    return alone_.at(batch);
}

/// By several steps as one CUDA graph.
Seconds RankCases::time_of(Steps &steps, Rank *rank, std::string &how) const {
    steps.stand_still();
    const Stream stream(Stream::Kind::ordered);
    steps.prepare(stream.handle());
    const Graph graph(stream.handle(), [&] {
        for (std::int64_t step = 0; step < timed_steps; ++step)
            steps.call(stream.handle());
    });
    how = fmt::format("{} steps as one CUDA graph on each GPU", timed_steps);
    return time_of_step(
        stream.handle(), [&] { graph.launch(stream.handle()); },
        [&](const Event &last) { rank != nullptr ? rank->wait(last) : last.wait(); });
}

void RankCases::time(std::unique_ptr<Steps> steps, const DeclaredSplit &split, const ImageShare &share,
                     Rank *rank, NetworkCase &item) const {
    NetworkTimes &times = item.measured.emplace();
    times.time_s = time_of(*steps, rank, item.issued.emplace());
    steps.reset(); // its memory goes before that of others is taken
    std::string how;
    times.computation_s =
        rank == nullptr ? times.time_s
                        : time_of(*steps_of(split.step, share, SharedBatch{item.batch, {}}), nullptr, how);
    times.communication_s = *times.time_s - *times.computation_s;
    if (!split.forward)
        return;
    times.forward_s = time_of(*steps_of(*split.forward, share, std::nullopt), nullptr, how);
    times.backward_s = *times.time_s - *times.forward_s;
}

void RankCases::settle(Rank &rank, NetworkCase &item) {
    const ImageShare share = rank.share(item.batch);
    const DeclaredSplit &split = declared(ladder_, DeviceSplit::batch_nccl);
    const std::optional<std::int64_t> most =
        rung_named(ladder_, declared(ladder_, DeviceSplit::one).step)->most_images;
    if (most && item.batch > *most) {
        item.status = Status::unsupported;
        item.reason =
            fmt::format("one GPU, with whose result it would be compared, has room for {} images of a "
                        "step, and this one has {}",
                        *most, item.batch);
        return;
    }
    std::unique_ptr<Steps> steps = steps_of(split.step, share, SharedBatch{item.batch, rank.sum()});
    const StepOutcome outcome = steps->outcome(&rank);
    item.reason = why_not_as_one_gpu(outcome, share, alone(item.batch), item);
    item.status = item.reason ? Status::wrong_result : Status::ok;
    // A step is timed by all ranks or by none.
    std::string why = item.reason.value_or("");
    for (const std::string &its : rank.meeting().to_first(why))
        why = why.empty() ? its : why;
    why = rank.meeting().from_first(why);
    if (!why.empty()) {
        item.status = Status::wrong_result, item.reason = why;
        return;
    }
    if (time_)
        time(std::move(steps), split, share, &rank, item);
}

void RankCases::settle_alone(NetworkCase &item) {
    item.status = Status::ok;
    const ImageShare all{0, item.batch};
    const DeclaredSplit &split = declared(ladder_, DeviceSplit::one);
    if (time_)
        time(steps_of(split.step, all, std::nullopt), split, all, nullptr, item);
}

} // namespace convcast
