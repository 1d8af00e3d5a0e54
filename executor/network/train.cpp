#include "executor/network/run_network.hpp"

#include "executor/network/bound_rung.hpp"
#include "executor/network/network_data.hpp"
#include "executor/network/network_source.hpp"
#include "executor/network/rank.hpp"
#include "gpu/check.hpp"
#include "gpu/memory.hpp"
#include "model/base/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr std::int64_t most_checked = 1000; ///< test images that the CPU classifies too
constexpr std::int64_t most_classified_at_once = 2048;

void require_shape(const Network &network, const LabelledImages &images) {
    if (images.shape != network.input)
        throw UsageError("the images are " + to_text(images.shape) + ", the network " + network.id +
                         " takes " + to_text(network.input));
}

/// The order of an epoch and its rate, copied to the device while the epoch before it runs.
class Epochs {
  public:
    /// `rank`: of several, or null.
    Epochs(const TrainingOptions &options, std::int64_t images, NetworkMemory &memory, Rank *rank)
        : options_(options), images_(images), order_(static_cast<std::size_t>(images)), memory_(memory),
          rank_(rank), kept_(memory.gradient_count()) {}

    const std::int32_t *order() const { return order_.data(); } ///< on the device

    /// What comes before the steps of an epoch.
    void begin(std::int64_t epoch, cudaStream_t stream) {
        Slot &slot = slot_of(epoch);
        if (epoch >= 2)
            finish(epoch - 2);
        const std::vector<std::int32_t> order = order_of_epoch(images_, options_.seed, epoch);
        std::copy(order.begin(), order.end(), slot.order.data());
        slot.settings[0] = {static_cast<float>(rate_of_epoch(options_.descent, epoch)),
                            static_cast<float>(options_.descent.momentum),
                            static_cast<float>(options_.descent.decay)};
        check(
            cudaMemcpyAsync(order_.data(), slot.order.data(), order_.bytes(), cudaMemcpyHostToDevice, stream),
            "cudaMemcpyAsync of the order");
        check(cudaMemcpyAsync(memory_.settings(), slot.settings.data(), sizeof(StepSettings),
                              cudaMemcpyHostToDevice, stream),
              "cudaMemcpyAsync of the rate");
    }

    /// And behind them.
    void end(std::int64_t epoch, cudaStream_t stream) {
        Slot &slot = slot_of(epoch);
        if (rank_ != nullptr)
            check(cudaMemcpyAsync(slot.parameters.data(), memory_.trained_at(), kept_.size() * sizeof(float),
                                  cudaMemcpyDeviceToHost, stream),
                  "cudaMemcpyAsync of an epoch's parameters");
        slot.done.record(stream);
    }

    /// Waits for an epoch, and keeps its parameters where other ranks may end the training.
    void finish(std::int64_t epoch) {
        Slot &slot = slot_of(epoch);
        if (rank_ == nullptr) {
            slot.done.wait();
            return;
        }
        rank_->wait(slot.done);
        std::copy_n(slot.parameters.data(), kept_.size(), kept_.begin());
        finished_ = epoch + 1;
    }

    std::int64_t finished() const { return finished_; }
    const std::vector<float> &kept() const { return kept_; } ///< parameters after the finished epochs

  private:
    struct Slot {
        Slot(std::int64_t images, std::size_t parameter_count)
            : order(static_cast<std::size_t>(images)), settings(1), parameters(parameter_count) {}
        PinnedBuffer<std::int32_t> order;
        PinnedBuffer<StepSettings> settings;
        PinnedBuffer<float> parameters;
        Event done{Event::Kind::order_only};
    };

    Slot &slot_of(std::int64_t epoch) { return *slots_[static_cast<std::size_t>(epoch % 2)]; }

    const TrainingOptions &options_;
    std::int64_t images_;
    DeviceBuffer<std::int32_t> order_;
    NetworkMemory &memory_;
    Rank *rank_;
    std::vector<float> kept_;
    std::int64_t finished_ = 0;
    std::array<std::unique_ptr<Slot>, 2> slots_{std::make_unique<Slot>(images_, kept_.size()),
                                                std::make_unique<Slot>(images_, kept_.size())};
};

/// Steps of training over all images, epoch by epoch; the time of it. `rank`: of several, each with its share
/// of every batch, or null. Throws TrainingCut where another rank has left.
Parameters descend(LadderKernels &kernels, const Rung &rung, const LabelledImages &images,
                   const TrainingOptions &options, NetworkCase &item, Rank *rank) {
    const Network &network = kernels.network();
    const std::int64_t count = std::ssize(images.labels);
    const DeviceBuffer<float> all_images{std::span<const float>(images.pixels)};
    const DeviceBuffer<std::uint8_t> all_labels{std::span<const std::uint8_t>(images.labels)};
    const std::int64_t batch = std::min(options.descent.batch, count);
    const auto share_of = [&](std::int64_t total) {
        return rank != nullptr ? rank->share(total) : ImageShare{0, total};
    };
    const std::int64_t most = std::max<std::int64_t>(1, share_of(batch).count);
    NetworkMemory memory(network, rung, most);
    memory.load(images_of(images, {0, most}),
                options.start ? *options.start : seeded_parameters(network, options.seed));
    Epochs epochs(options, count, memory, rank);
    std::deque<BoundRung> steps;
    for (std::int64_t at = 0; at < count; at += batch) {
        const std::int64_t total = std::min(batch, count - at);
        const ImageShare share = share_of(total);
        memory.read_from(all_images.data(), all_labels.data(), epochs.order() + at + share.first);
        steps.emplace_back(kernels, rung, memory, share.count,
                           rank != nullptr ? std::optional(SharedBatch{total, rank->sum()}) : std::nullopt);
    }
    const Stream stream(Stream::Kind::ordered);
    if (rank != nullptr)
        rank->try_sum(memory.gradient_at(), memory.gradient_count(), stream.handle());
    const Graph epoch(stream.handle(), [&] {
        for (const BoundRung &step : steps)
            step.call(stream.handle());
    });
    steps.front().prepare(stream.handle());
    stream.wait();
    const auto start = std::chrono::steady_clock::now();
    try {
        for (std::int64_t i = 0; i < options.epochs; ++i) {
            epochs.begin(i, stream.handle());
            epoch.launch(stream.handle());
            epochs.end(i, stream.handle());
        }
        for (std::int64_t i = std::max<std::int64_t>(0, options.epochs - 2); i < options.epochs; ++i)
            epochs.finish(i);
    } catch (const RankLost &lost) {
        stream.wait(); // the graph goes before the stream does
        throw TrainingCut(lost.what(), epochs.finished(), by_operator(network, epochs.kept()));
    }
    took(item, options.epochs * std::ssize(steps),
         Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()));
    return by_operator(network, memory.trained());
}

/// Throws UsageError where a step was too long and parameters are no numbers any more.
void require_finite(const Parameters &parameters, const Network &network, const Descent &descent) {
    for (std::size_t i = 0; i < parameters.size(); ++i)
        for (const double value : parameters[i])
            if (!std::isfinite(value))
                throw UsageError(fmt::format("the training diverged: a parameter of {} is no number any "
                                             "more; expected a --rate below {} "
                                             "or a --momentum below {}, for example --rate {}",
                                             network.operators[i].name, descent.rate, descent.momentum,
                                             descent.rate / 10.0));
}

/// Index of the operator whose output is the network's: the last that is no loss.
std::size_t output_operator(const Network &network) {
    return without_losses(network).operators.size() - 1;
}

/// The class of each image by a rung: by as many images a call as it takes.
std::vector<std::uint8_t> classes_by(LadderKernels &kernels, const Rung &rung, const LabelledImages &images,
                                     const Parameters &parameters) {
    const Network &network = kernels.network();
    const std::int64_t count = std::ssize(images.labels),
                       classes = elements(network.operators[output_operator(network)].output);
    const std::int64_t at_once =
        rung.any_batch.value_or(false)
            ? std::min({count, most_classified_at_once, rung.most_images.value_or(count)})
            : 1;
    LoadedRung its(kernels, rung, at_once);
    const Stream stream(Stream::Kind::ordered);
    std::vector<std::uint8_t> labels;
    for (std::int64_t at = 0; at < count; at += at_once) {
        const std::int64_t some = std::min(at_once, count - at); // of the last call others are left over
        const LabelledImages now = images_of(images, {at, some});
        if (at == 0) {
            its.memory.load(now, parameters);
            its.bound.prepare(stream.handle());
        } else {
            its.memory.load(now);
        }
        its.bound.call(stream.handle());
        stream.wait();
        const std::vector<float> outputs = its.memory.output();
        const std::vector<std::uint8_t> found = classified({outputs.begin(), outputs.end()}, classes);
        labels.insert(labels.end(), found.begin(), found.begin() + some);
    }
    return labels;
}

/// How many differ in their first elements.
std::int64_t differing(const std::vector<std::uint8_t> &some, const std::vector<std::uint8_t> &others) {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < std::min(some.size(), others.size()); ++i)
        count += some[i] != others[i];
    return count;
}

double share_right(const std::vector<std::uint8_t> &classes, const std::vector<std::uint8_t> &labels) {
    return 1.0 - static_cast<double>(differing(classes, labels)) / static_cast<double>(classes.size());
}

const Rung &rung_that_trains(const Ladder &ladder) {
    for (const Rung &rung : ladder.rungs)
        if (rung.trains.value_or(false) && rung.descent)
            return rung;
    throw UsageError("no kernels train the network '" + ladder.network + "'");
}

const Rung &rung_of_ranks(const Ladder &ladder) {
    const auto found = ladder.splits.find(to_text(DeviceSplit::batch_nccl));
    if (found == ladder.splits.end())
        throw UsageError("no kernels train the network '" + ladder.network + "' over several ranks");
    return *rung_named(ladder, found->second.step);
}

/// The last one that takes any batch: ladders end with the best.
const Rung &rung_that_classifies(const Ladder &ladder) {
    for (auto rung = ladder.rungs.rbegin(); rung != ladder.rungs.rend(); ++rung)
        if (!rung->trains.value_or(false) && rung->any_batch.value_or(false) && !rung->launches.empty())
            return *rung;
    throw UsageError("no kernels compute batches of the network '" + ladder.network + "'");
}

/// Accuracy on the test images, of the first ones by the CPU too; where nothing was trained, by every rung.
void classify(LadderKernels &kernels, const LabelledImages &tests, const Parameters &parameters,
              NetworkRun &run) {
    const Ladder &ladder = kernels.ladder();
    const Network &network = kernels.network();
    NetworkCase &trained = run.first();
    Training &its = *trained.training;
    const Rung &best = rung_that_classifies(ladder);
    const auto by = [&](const Rung &rung) { return classes_by(kernels, rung, tests, parameters); };
    const std::vector<std::uint8_t> classes = by(best);
    its.test_images = std::ssize(tests.labels);
    trained.accuracy = share_right(classes, tests.labels);
    its.checked = std::min(most_checked, its.test_images);
    const std::vector<double> checked(tests.pixels.begin(),
                                      tests.pixels.begin() + its.checked * elements(network.input));
    const std::size_t output = output_operator(network);
    const std::vector<std::uint8_t> by_cpu =
        classified(forward(network, its.checked, checked, parameters, tests.labels)[output],
                   elements(network.operators[output].output));
    its.reference_accuracy = share_right(by_cpu, tests.labels);
    trained.disagreements = differing(by_cpu, classes);
    if (its.epochs > 0)
        return;
    for (const Rung &rung : ladder.rungs) {
        if (rung.launches.empty() || rung.trains.value_or(false) ||
            refusal(rung, network, 1, kernels.gpu().compute_capability()))
            continue;
        const std::vector<std::uint8_t> labels = by(rung);
        NetworkCase &item = run.cases.emplace_back(); // `trained` is of no use any more
        item.id = rung.id, item.title = rung.title;
        item.status = Status::ok;
        item.accuracy = share_right(labels, tests.labels);
        item.disagreements = differing(labels, classes);
    }
}

} // namespace

TrainedNetwork train(Compiler &compiler, const Device &device, const Ladder &ladder, const Network &network,
                     const LabelledImages &images, const LabelledImages &tests,
                     const TrainingOptions &options, Rank *rank) {
    require_shape(network, images);
    require_shape(network, tests);
    const Rung &step = rank != nullptr ? rung_of_ranks(ladder) : rung_that_trains(ladder);
    LadderKernels kernels(compiler, device.facts(), ladder, network);
    const std::int64_t own_images =
        rank != nullptr ? rank->share(options.descent.batch).count : options.descent.batch;
    if (const auto why = refusal(step, network, own_images, kernels.gpu().compute_capability()))
        throw UsageError("a step of training in batches of " + std::to_string(options.descent.batch) +
                         " is refused: the implementation " + step.id + " " + *why);
    TrainedNetwork out;
    NetworkRun &run = out.run;
    run.network = network.id;
    run.conditions["gpu"] = device.facts().name;
    run.conditions["network_code_hash"] = network_code_hash();
    run.conditions["seed"] = std::to_string(options.seed);
    NetworkCase &item = run.cases.emplace_back();
    item.batch = options.descent.batch;
    item.status = Status::ok;
    Training &its = item.training.emplace();
    its.images = std::ssize(images.labels);
    its.epochs = options.epochs;
    its.descent = options.descent;
    its.tested_on = options.tested_on;
    const Parameters trained = rounded(descend(kernels, step, images, options, item, rank));
    require_finite(trained, network, options.descent);
    if (rank != nullptr) {
        run.conditions["ranks"] = std::to_string(rank->count());
        run.conditions["nccl"] = rank->nccl_version();
        if (rank->index() > 0) // the first one classifies
            return out;
    }
    classify(kernels, tests, trained, run);
    out.weights = weights_of(
        trained, network,
        fmt::format("convcast, gradient descent from rate {} along half a cosine, momentum {}, decay {}, in "
                    "batches of {}, {} epochs of {} images, seed {}: {:.2f} % of {} {}",
                    options.descent.rate, options.descent.momentum, options.descent.decay,
                    options.descent.batch, options.epochs, images.labels.size(), options.seed,
                    100.0 * *run.first().accuracy, tests.labels.size(), options.tested_on));
    return out;
}

TrainedNetwork train_over(Compiler &compiler, const Device &first, const DeviceGroup &group,
                          DeviceSplit split, const Ladder &ladder, const Network &network,
                          const LabelledImages &images, const LabelledImages &tests,
                          const TrainingOptions &options) {
    if (split == DeviceSplit::batch_nccl) {
        std::vector<int> ordinals;
        for (std::size_t i = 0; i < group.size(); ++i)
            ordinals.push_back(group.ordinal(i));
        TrainedNetwork out;
        as_ranks(ordinals, [&](Rank &rank) {
            const Device device(ordinals[static_cast<std::size_t>(rank.index())]);
            TrainedNetwork its = train(compiler, device, ladder, network, images, tests, options, &rank);
            if (rank.index() == 0)
                out = std::move(its);
        });
        return out;
    }
    require_shape(network, images);
    NetworkRun trained;
    TrainingOptions classify_only = options;
    classify_only.start = train_split(compiler, group, network, split, images, options, trained);
    classify_only.epochs = 0;
    TrainedNetwork out = train(compiler, first, ladder, network, images, tests, classify_only);
    NetworkCase &item = out.run.first();
    const NetworkCase &steps = trained.first();
    item.batch = steps.batch, item.measured = steps.measured;
    Training &its = *item.training;
    its.time_s = steps.training->time_s, its.steps = steps.training->steps;
    its.descent = steps.training->descent, its.epochs = options.epochs;
    out.run.conditions.insert(trained.conditions.begin(), trained.conditions.end());
    out.weights.made_by = fmt::format("convcast, gradient descent at rate {} in batches of {}, {} epochs, "
                                      "seed {}, {}: {:.2f} % of {} test images",
                                      its.descent.rate, its.descent.batch, its.epochs, options.seed,
                                      out.run.conditions["split"], 100.0 * *item.accuracy, its.test_images);
    return out;
}

} // namespace convcast
