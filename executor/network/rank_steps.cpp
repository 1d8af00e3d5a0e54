#include "executor/network/rank_steps.hpp"

#include "model/network/training.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace convcast {
namespace {

/// The rungs that the ladder declares for a split. The forecast made cases only for declared splits.
const DeclaredSplit &declared(const Ladder &ladder, DeviceSplit split) {
    return ladder.splits.at(to_text(split));
}

/// Waits as the rank does, which notices lost ranks; `rank` null: as a GPU alone.
void wait_for(const Event &event, Rank *rank) {
    rank != nullptr ? rank->wait(event) : event.wait();
}

/// What verified_steps steps leave, all with the same images; `rank` null: of a GPU alone.
StepOutcome outcome_of(const LoadedRung &steps, Rank *rank) {
    const Stream stream(Stream::Kind::ordered);
    const auto wait = [&] {
        const Event done(Event::Kind::order_only);
        done.record(stream.handle());
        wait_for(done, rank);
    };
    StepOutcome outcome;
    steps.bound.prepare(stream.handle());
    steps.bound.call(stream.handle());
    wait();
    outcome.outputs = steps.memory.output();
    outcome.gradients = {steps.memory.gradient()};
    for (std::int64_t step = 1; step < verified_steps; ++step)
        steps.bound.call(stream.handle());
    wait();
    outcome.parameters = {steps.memory.trained()};
    return outcome;
}

/// Seconds of a step, from timed_steps of them as one CUDA graph. Sets the learning rate to 0 for good, so
/// that the parameters stay and every step has the same work.
Seconds time_of(LoadedRung &steps, Rank *rank) {
    steps.memory.set({});
    const Stream stream(Stream::Kind::ordered);
    steps.bound.prepare(stream.handle());
    const Graph graph(stream.handle(), [&] {
        for (std::int64_t step = 0; step < timed_steps; ++step)
            steps.bound.call(stream.handle());
    });
    return time_of_step(
        stream.handle(), [&] { graph.launch(stream.handle()); },
        [&](const Event &last) { wait_for(last, rank); });
}

} // namespace

StepSettings settings_of(const Ladder &ladder) {
    const Descent descent = descent_of(ladder).value_or(Descent{.rate = 0.5});
    return {.rate = static_cast<float>(descent.rate),
            .momentum = static_cast<float>(descent.momentum),
            .decay = static_cast<float>(descent.decay)};
}

std::unique_ptr<LoadedRung> RankCases::steps_of(const std::string &id, const ImageShare &share,
                                                const std::optional<SharedBatch> &shared) const {
    auto steps =
        std::make_unique<LoadedRung>(kernels_, *rung_named(kernels_.ladder(), id), share.count, shared);
    steps->memory.load(images_of(pool_.images, share), pool_.parameters);
    steps->memory.set(settings_);
    return steps;
}

const StepOutcome &RankCases::alone(std::int64_t batch) {
    if (!alone_.contains(batch)) {
        const std::string &step = declared(kernels_.ladder(), DeviceSplit::one).step;
        alone_[batch] = outcome_of(*steps_of(step, {0, batch}, std::nullopt), nullptr);
    }
    return alone_.at(batch);
}

void RankCases::time(std::unique_ptr<LoadedRung> steps, const DeclaredSplit &split, const ImageShare &share,
                     Rank *rank, NetworkCase &item) const {
    NetworkTimes &times = item.measured.emplace();
    times.time_s = time_of(*steps, rank);
    item.issued = fmt::format("{} steps as one CUDA graph on each GPU", timed_steps);
    steps.reset(); // frees its memory before that of the next is taken
    times.computation_s =
        rank == nullptr
            ? times.time_s
            : time_of(*steps_of(split.step, share, SharedBatch{.total = item.batch, .sum = {}}), nullptr);
    times.communication_s = *times.time_s - *times.computation_s;
    if (!split.forward)
        return;
    times.forward_s = time_of(*steps_of(*split.forward, share, std::nullopt), nullptr);
    times.backward_s = *times.time_s - *times.forward_s;
}

void RankCases::settle(Rank &rank, NetworkCase &item) {
    const ImageShare share = rank.share(item.batch);
    const Ladder &ladder = kernels_.ladder();
    const DeclaredSplit &split = declared(ladder, DeviceSplit::batch_nccl);
    const std::optional<std::int64_t> most =
        rung_named(ladder, declared(ladder, DeviceSplit::one).step)->most_images;
    if (most && item.batch > *most) {
        item.status = Status::unsupported;
        item.reason =
            fmt::format("one GPU, with whose result it would be compared, has room for {} images of a "
                        "step, and this one has {}",
                        *most, item.batch);
        return;
    }
    std::unique_ptr<LoadedRung> steps = steps_of(split.step, share, SharedBatch{item.batch, rank.sum()});
    const StepOutcome outcome = outcome_of(*steps, &rank);
    item.reason = why_not_as_one_gpu(outcome, share, alone(item.batch), item);
    item.status = item.reason ? Status::wrong_result : Status::ok;
    // All ranks time the step or none does, so rank 0 collects the reasons and tells all the first of them.
    std::string why = item.reason.value_or("");
    for (const std::string &of_one : rank.meeting().to_first(why))
        why = why.empty() ? of_one : why;
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
    const DeclaredSplit &split = declared(kernels_.ladder(), DeviceSplit::one);
    if (time_)
        time(steps_of(split.step, all, std::nullopt), split, all, nullptr, item);
}

} // namespace convcast
