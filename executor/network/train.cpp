#include "executor/network/train.hpp"

#include "executor/network/bound_rung.hpp"
#include "executor/network/classify.hpp"
#include "executor/network/network_source.hpp"
#include "executor/network/stream.hpp"
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
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr std::int64_t most_checked = 1000; ///< test images that the CPU classifies too

void require_shape(const Network &network, const LabelledImages &images) {
    if (images.shape != network.input)
        throw UsageError("the images are " + to_text(images.shape) + ", the network " + network.id +
                         " takes " + to_text(network.input));
}

/// Parameters as they lie on the device, by operator.
Parameters split(const Network &network, const std::vector<float> &flat) {
    Parameters all;
    std::size_t at = 0;
    for (std::size_t i = 0; i < network.operators.size(); ++i) {
        const auto count =
            static_cast<std::size_t>(parameters(network.operators[i], network.input_shapes(i).front()));
        all.emplace_back(flat.begin() + static_cast<std::ptrdiff_t>(at),
                         flat.begin() + static_cast<std::ptrdiff_t>(at + count));
        at += count;
    }
    return all;
}

/// The order of an epoch and its rate, copied to the device while the epoch before it runs.
class Epochs {
  public:
    Epochs(const TrainingOptions &options, std::int64_t images, StepSettings *settings)
        : options_(options), images_(images), order_(static_cast<std::size_t>(images)), settings_(settings) {}

    const std::int32_t *order() const { return order_.data(); } ///< on the device

    void enqueue(std::int64_t epoch, cudaStream_t stream) {
        Slot &slot = *slots_[static_cast<std::size_t>(epoch % 2)];
        slot.read.wait();
        const std::vector<std::int32_t> order = order_of_epoch(images_, options_.seed, epoch);
        std::copy(order.begin(), order.end(), slot.order.data());
        slot.settings[0] = {static_cast<float>(rate_of_epoch(options_.descent, epoch)),
                            static_cast<float>(options_.descent.momentum),
                            static_cast<float>(options_.descent.decay)};
        check(
            cudaMemcpyAsync(order_.data(), slot.order.data(), order_.bytes(), cudaMemcpyHostToDevice, stream),
            "cudaMemcpyAsync of the order");
        check(cudaMemcpyAsync(settings_, slot.settings.data(), sizeof(StepSettings), cudaMemcpyHostToDevice,
                              stream),
              "cudaMemcpyAsync of the rate");
        slot.read.record(stream);
    }

  private:
    struct Slot {
        explicit Slot(std::int64_t images) : order(static_cast<std::size_t>(images)), settings(1) {}
        PinnedBuffer<std::int32_t> order;
        PinnedBuffer<StepSettings> settings;
        OwnedEvent read; ///< the device has both
    };

    const TrainingOptions &options_;
    std::int64_t images_;
    DeviceBuffer<std::int32_t> order_;
    StepSettings *settings_;
    std::array<std::unique_ptr<Slot>, 2> slots_{std::make_unique<Slot>(images_),
                                                std::make_unique<Slot>(images_)};
};

/// Steps of training over all images, epoch by epoch; the time of it.
Parameters descend(const Module &module, const Network &network, const Rung &rung,
                   const LabelledImages &images, const TrainingOptions &options, int sms, TrainingRun &run) {
    const std::int64_t count = std::ssize(images.labels), pixels = elements(network.input);
    const DeviceBuffer<float> all_images{std::span<const float>(images.pixels)};
    const DeviceBuffer<std::uint8_t> all_labels{std::span<const std::uint8_t>(images.labels)};
    const std::int64_t batch = std::min(options.descent.batch, count);
    NetworkMemory memory(network, rung, batch);
    memory.load({images.pixels.data(), static_cast<std::size_t>(batch * pixels)},
                {images.labels.data(), static_cast<std::size_t>(batch)},
                options.start ? *options.start : seeded_parameters(network, options.seed));
    Epochs epochs(options, count, memory.settings());
    std::vector<std::unique_ptr<BoundRung>> steps;
    for (std::int64_t at = 0; at < count; at += batch) {
        memory.read_from(all_images.data(), all_labels.data(), epochs.order() + at);
        steps.push_back(std::make_unique<BoundRung>(module, rung, memory, std::min(batch, count - at), sms));
    }
    const OwnedStream stream;
    const CallGraph epoch(steps, stream.get());
    steps.front()->prepare(stream.get());
    stream.wait();
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < options.epochs; ++i) {
        epochs.enqueue(i, stream.get());
        epoch.launch(stream.get());
    }
    stream.wait();
    run.time_s = Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    run.steps = options.epochs * std::ssize(steps);
    if (run.steps > 0)
        run.step_s = run.time_s / static_cast<double>(run.steps);
    return split(network, memory.trained());
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

/// The last one that takes any batch: ladders end with the best.
const Rung &rung_that_classifies(const Ladder &ladder) {
    for (auto rung = ladder.rungs.rbegin(); rung != ladder.rungs.rend(); ++rung)
        if (!rung->trains.value_or(false) && rung->any_batch.value_or(false) && !rung->launches.empty())
            return *rung;
    throw UsageError("no kernels compute batches of the network '" + ladder.network + "'");
}

/// Accuracy on the test images, of the first ones by the CPU too; where nothing was trained, by every rung.
void classify(Compiler &compiler, const Device &device, const Ladder &ladder, const Network &network,
              const LabelledImages &tests, const Parameters &parameters, TrainingRun &run) {
    const Rung &best = rung_that_classifies(ladder);
    const auto by = [&](const Rung &rung) {
        return classes_by(compiler, device, ladder, rung, network, tests, parameters);
    };
    const std::vector<std::uint8_t> classes = by(best);
    run.test_images = std::ssize(tests.labels);
    run.accuracy = share_right(classes, tests.labels);
    run.checked = std::min(most_checked, run.test_images);
    const std::vector<double> checked(tests.pixels.begin(),
                                      tests.pixels.begin() + run.checked * elements(network.input));
    const std::size_t output = output_operator(network);
    const std::vector<std::uint8_t> by_cpu =
        classified(forward(network, run.checked, checked, parameters, tests.labels)[output],
                   elements(network.operators[output].output));
    run.reference_accuracy = share_right(by_cpu, tests.labels);
    run.disagreements = differing(by_cpu, classes);
    for (const Rung &rung : ladder.rungs) {
        const bool runs = !rung.launches.empty() && !rung.trains.value_or(false) &&
                          !refusal(rung, network, 1, device.facts().compute_capability());
        if (run.epochs > 0 || !runs)
            continue;
        const std::vector<std::uint8_t> its = by(rung);
        run.rungs.push_back({rung.id, share_right(its, tests.labels), differing(its, classes)});
    }
}

} // namespace

TrainingRun train(Compiler &compiler, const Device &device, const Ladder &ladder, const Network &network,
                  const LabelledImages &images, const LabelledImages &tests, const TrainingOptions &options) {
    require_shape(network, images);
    require_shape(network, tests);
    const Rung &step = rung_that_trains(ladder);
    const int capability = device.facts().compute_capability();
    if (const auto why = refusal(step, network, options.descent.batch, capability))
        throw UsageError("a step of training in batches of " + std::to_string(options.descent.batch) +
                         " is refused: the implementation " + step.id + " " + *why);
    const Module module = network_module(compiler, ladder, step.source, capability);
    TrainingRun run;
    run.network = network.id;
    run.images = std::ssize(images.labels);
    run.epochs = options.epochs;
    run.descent = options.descent;
    run.tested_on = options.tested_on;
    run.conditions["gpu"] = device.facts().name;
    run.conditions["network_code_hash"] = network_code_hash();
    run.conditions["seed"] = std::to_string(options.seed);
    const Parameters trained =
        rounded(descend(module, network, step, images, options, device.facts().sm_count, run));
    require_finite(trained, network, options.descent);
    classify(compiler, device, ladder, network, tests, trained, run);
    run.weights = weights_of(
        trained, network,
        fmt::format("convcast, gradient descent from rate {} along half a cosine, momentum {}, decay {}, in "
                    "batches of {}, {} epochs of {} images, seed {}: {:.2f} % of {} {}",
                    options.descent.rate, options.descent.momentum, options.descent.decay,
                    options.descent.batch, options.epochs, run.images, options.seed, 100.0 * run.accuracy,
                    run.test_images, run.tested_on));
    return run;
}

} // namespace convcast
