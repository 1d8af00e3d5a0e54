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

constexpr std::int64_t most_checked = 1000; ///< test images that the CPU classifies too; chosen: it is slow
constexpr std::int64_t most_classified_at_once = 2048; ///< chosen

void require_shape(const Network &network, const LabelledImages &images) {
    if (images.shape != network.input)
        throw UsageError("the images are " + to_text(images.shape) + ", the network " + network.id +
                         " takes " + to_text(network.input));
}

/// Gives each epoch its order of images and its learning rate. Two slots of pinned memory, for even and odd
/// epochs, let the host prepare an epoch while the GPU runs the one before. Among ranks, it also keeps the
/// parameters after each finished epoch, which remain if another rank is lost.
class Epochs {
  public:
    /// `rank` is null for one GPU alone.
    Epochs(const TrainingOptions &options, std::int64_t images, NetworkMemory &memory, Rank *rank)
        : options_(options), images_(images), order_(static_cast<std::size_t>(images)), memory_(memory),
          rank_(rank), kept_(memory.gradient_count()) {}

    const std::int32_t *order() const { return order_.data(); } ///< on the device

    /// Queues what comes before the steps of an epoch; first waits for the epoch that used the same slot.
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

    /// Queues what comes after the steps of an epoch.
    void end(std::int64_t epoch, cudaStream_t stream) {
        Slot &slot = slot_of(epoch);
        if (rank_ != nullptr)
            check(cudaMemcpyAsync(slot.parameters.data(), memory_.trained_at(), kept_.size() * sizeof(float),
                                  cudaMemcpyDeviceToHost, stream),
                  "cudaMemcpyAsync of an epoch's parameters");
        slot.done.record(stream);
    }

    /// Waits for the end of an epoch; among ranks, keeps its parameters. Throws RankLost.
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
    const std::vector<float> &kept() const {
        return kept_;
    } ///< parameters after the finished epochs, of a rank

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

/// Trains over all images, epoch by epoch. Returns the parameters; `item` gets the time. `rank` is null for
/// one GPU alone, else takes its share of every batch. Throws TrainingCut if another rank has left.
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
    // Images of a step on this GPU
    const std::int64_t most = std::max<std::int64_t>(1, share_of(batch).count);
    NetworkMemory memory(network, rung, most);
    memory.load(images_of(images, {0, most}),
                options.start ? *options.start : seeded_parameters(network, options.seed));
    Epochs epochs(options, count, memory, rank);
    std::deque<BoundRung> steps; // one for each batch of an epoch
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
        stream.wait(); // the graph is destroyed before the stream, and must not run then
        throw TrainingCut(lost.what(), epochs.finished(), by_operator(network, epochs.kept()));
    }
    set_training_time(
        item, options.epochs * std::ssize(steps),
        Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()));
    return by_operator(network, memory.trained());
}

/// Throws UsageError if a parameter is infinite or NaN: the learning rate was too high.
void require_finite(const Parameters &parameters, const Network &network, const Descent &descent) {
    for (std::size_t i = 0; i < parameters.size(); ++i)
        for (const double value : parameters[i])
            if (!std::isfinite(value))
                throw UsageError(fmt::format("the training diverged: a parameter of {} is infinite or "
                                             "not a number; expected a --rate below {} or a --momentum "
                                             "below {}, for example --rate {}",
                                             network.operators[i].name, descent.rate, descent.momentum,
                                             descent.rate / 10.0));
}

/// Index of the operator that gives the network's output: the last one that is no loss.
std::size_t output_operator(const Network &network) {
    return without_losses(network).operators.size() - 1;
}

/// The class of each image, computed by a rung, with as many images in a call as it takes.
std::vector<std::uint8_t> classes_by(LadderKernels &kernels, const Rung &rung, const LabelledImages &images,
                                     const Parameters &parameters) {
    const Network &network = kernels.network();
    const std::int64_t count = std::ssize(images.labels),
                       classes = elements(network.operators[output_operator(network)].output);
    const std::int64_t at_once =
        rung.any_batch.value_or(false)
            ? std::min({count, most_classified_at_once, rung.most_images.value_or(count)})
            : 1;
    LoadedRung loaded(kernels, rung, at_once);
    const Stream stream(Stream::Kind::ordered);
    std::vector<std::uint8_t> labels;
    for (std::int64_t at = 0; at < count; at += at_once) {
        // The last call may compute more; those do not count
        const std::int64_t in_call = std::min(at_once, count - at);
        const LabelledImages now = images_of(images, {at, in_call});
        if (at == 0) {
            loaded.memory.load(now, parameters);
            loaded.bound.prepare(stream.handle());
        } else {
            loaded.memory.load(now);
        }
        loaded.bound.call(stream.handle());
        stream.wait();
        const std::vector<float> outputs = loaded.memory.output();
        const std::vector<std::uint8_t> found = classified({outputs.begin(), outputs.end()}, classes);
        labels.insert(labels.end(), found.begin(), found.begin() + in_call);
    }
    return labels;
}

/// How many classes differ, over the length of the shorter list.
std::int64_t differing(const std::vector<std::uint8_t> &a, const std::vector<std::uint8_t> &b) {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        count += a[i] != b[i];
    return count;
}

/// Accuracy: the part of `classes` that equal the labels.
double share_right(const std::vector<std::uint8_t> &classes, const std::vector<std::uint8_t> &labels) {
    return 1.0 - static_cast<double>(differing(classes, labels)) / static_cast<double>(classes.size());
}

/// The first rung with a step of training and its default descent. Throws UsageError if there is none.
const Rung &rung_that_trains(const Ladder &ladder) {
    for (const Rung &rung : ladder.rungs)
        if (rung.trains.value_or(false) && rung.descent)
            return rung;
    throw UsageError("no kernels train the network '" + ladder.network + "'");
}

/// The rung that the ladder declares for a step of ranks. Throws UsageError if there is none.
const Rung &rung_of_ranks(const Ladder &ladder) {
    const auto found = ladder.splits.find(to_text(DeviceSplit::batch_nccl));
    if (found == ladder.splits.end())
        throw UsageError("no kernels train the network '" + ladder.network + "' over several ranks");
    return *rung_named(ladder, found->second.step);
}

/// The last rung that takes any batch, since ladders end with the best. Throws UsageError if there is none.
const Rung &rung_that_classifies(const Ladder &ladder) {
    for (auto rung = ladder.rungs.rbegin(); rung != ladder.rungs.rend(); ++rung)
        if (!rung->trains.value_or(false) && rung->any_batch.value_or(false) && !rung->launches.empty())
            return *rung;
    throw UsageError("no kernels compute batches of the network '" + ladder.network + "'");
}

/// Sets the accuracy on the test images of run.first(), and how many of the first images the CPU classifies
/// otherwise. If nothing was trained (0 epochs), appends a case with the accuracy of every rung.
void classify(LadderKernels &kernels, const LabelledImages &tests, const Parameters &parameters,
              NetworkRun &run) {
    const Ladder &ladder = kernels.ladder();
    const Network &network = kernels.network();
    NetworkCase &trained = run.first();
    Training &training = *trained.training;
    const Rung &best = rung_that_classifies(ladder);
    const auto classes_of = [&](const Rung &rung) { return classes_by(kernels, rung, tests, parameters); };
    const std::vector<std::uint8_t> classes = classes_of(best);
    training.test_images = std::ssize(tests.labels);
    trained.accuracy = share_right(classes, tests.labels);
    training.checked = std::min(most_checked, training.test_images);
    const std::vector<double> checked(tests.pixels.begin(),
                                      tests.pixels.begin() + training.checked * elements(network.input));
    const std::size_t output = output_operator(network);
    const std::vector<std::uint8_t> by_cpu =
        classified(forward(network, training.checked, checked, parameters, tests.labels)[output],
                   elements(network.operators[output].output));
    training.reference_accuracy = share_right(by_cpu, tests.labels);
    trained.disagreements = differing(by_cpu, classes);
    if (training.epochs > 0)
        return;
    for (const Rung &rung : ladder.rungs) {
        if (rung.launches.empty() || rung.trains.value_or(false) ||
            refusal(rung, network, 1, kernels.gpu().compute_capability()))
            continue;
        const std::vector<std::uint8_t> labels = classes_of(rung);
        // This may move the cases: `trained` is invalid from here on
        NetworkCase &item = run.cases.emplace_back();
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
    Training &training = item.training.emplace();
    training.images = std::ssize(images.labels);
    training.epochs = options.epochs;
    training.descent = options.descent;
    training.tested_on = options.tested_on;
    const Parameters trained = rounded(descend(kernels, step, images, options, item, rank));
    require_finite(trained, network, options.descent);
    if (rank != nullptr) {
        run.conditions["ranks"] = std::to_string(rank->count());
        run.conditions["nccl"] = rank->nccl_version();
        if (rank->index() > 0) // rank 0 alone classifies
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
            TrainedNetwork trained = train(compiler, device, ladder, network, images, tests, options, &rank);
            if (rank.index() == 0)
                out = std::move(trained);
        });
        return out;
    }
    require_shape(network, images);
    NetworkRun trained;
    TrainingOptions classify_only = options;
    classify_only.start = train_split(compiler, group, network, split, images, options, trained);
    classify_only.epochs = 0; // starts with the trained parameters and trains no more
    TrainedNetwork out = train(compiler, first, ladder, network, images, tests, classify_only);
    NetworkCase &item = out.run.first();
    const NetworkCase &steps = trained.first();
    item.batch = steps.batch, item.measured = steps.measured;
    Training &training = *item.training;
    training.time_s = steps.training->time_s, training.steps = steps.training->steps;
    training.descent = steps.training->descent, training.epochs = options.epochs;
    out.run.conditions.insert(trained.conditions.begin(), trained.conditions.end());
    out.weights.made_by =
        fmt::format("convcast, gradient descent at rate {} in batches of {}, {} epochs, "
                    "seed {}, {}: {:.2f} % of {} test images",
                    training.descent.rate, training.descent.batch, training.epochs, options.seed,
                    out.run.conditions["split"], 100.0 * *item.accuracy, training.test_images);
    return out;
}

} // namespace convcast
