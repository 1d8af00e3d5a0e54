#include "executor/network/train.hpp"

#include "executor/network/bound_rung.hpp"
#include "executor/network/network_source.hpp"
#include "gpu/check.hpp"
#include "model/base/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
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

class Stream {
  public:
    Stream() { check(cudaStreamCreate(&stream_), "cudaStreamCreate"); }
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;
    ~Stream() { (void)cudaStreamDestroy(stream_); }
    cudaStream_t get() const { return stream_; }
    void wait() const { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

  private:
    cudaStream_t stream_ = nullptr;
};

const Rung &rung_that(const Ladder &ladder, bool trains) {
    for (const Rung &rung : ladder.rungs)
        if (rung.trains.value_or(false) == trains && rung.any_batch.value_or(false))
            return rung;
    throw UsageError("no kernels train the network '" + ladder.network + "'");
}

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

/// The operator before the loss.
std::size_t output_of(const Network &network) {
    return network.operators.size() - 2;
}

/// Steps of training over all images, `epochs` times; the time of it.
Parameters descend(const Module &module, const Network &network, const Rung &rung,
                   const LabelledImages &images, const TrainingOptions &options, int sms, TrainingRun &run) {
    const std::int64_t count = std::ssize(images.labels), pixels = elements(network.input);
    const DeviceBuffer<float> all_images{std::span<const float>(images.pixels)};
    const DeviceBuffer<std::uint8_t> all_labels{std::span<const std::uint8_t>(images.labels)};
    const std::int64_t batch = std::min(options.batch, count);
    NetworkMemory memory(network, rung, batch);
    const auto first = static_cast<std::ptrdiff_t>(batch);
    memory.load({images.pixels.data(), static_cast<std::size_t>(batch * pixels)},
                {images.labels.data(), static_cast<std::size_t>(first)},
                options.start ? *options.start : seeded_parameters(network, options.seed));
    memory.set_rate(static_cast<float>(options.rate));
    std::vector<std::unique_ptr<BoundRung>> steps;
    for (std::int64_t at = 0; at < count; at += batch) {
        memory.read_from(all_images.data() + at * pixels, all_labels.data() + at);
        steps.push_back(std::make_unique<BoundRung>(module, rung, memory, std::min(batch, count - at), sms));
    }
    const Stream stream;
    const CallGraph epoch(steps, stream.get());
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < options.epochs; ++i)
        epoch.launch(stream.get());
    stream.wait();
    run.time_s = Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    run.batch = batch;
    run.steps = options.epochs * std::ssize(steps);
    if (run.steps > 0)
        run.step_s = run.time_s / static_cast<double>(run.steps);
    return split(network, memory.trained());
}

} // namespace

TrainingRun train(Compiler &compiler, const Device &device, const Ladder &ladder, const Network &network,
                  const LabelledImages &images, const LabelledImages &tests, const TrainingOptions &options) {
    require_shape(network, images);
    require_shape(network, tests);
    const Rung &step = rung_that(ladder, true), &infer = rung_that(ladder, false);
    const int sms = device.facts().sm_count;
    const Module module = network_module(compiler, ladder, step.source, device.facts().compute_capability());
    TrainingRun run;
    run.network = network.id;
    run.epochs = options.epochs;
    run.rate = options.rate;
    run.conditions["gpu"] = device.facts().name;
    run.conditions["network_code_hash"] = network_code_hash();
    run.conditions["seed"] = std::to_string(options.seed);
    const Parameters trained = descend(module, network, step, images, options, sms, run);

    run.test_images = std::ssize(tests.labels);
    NetworkMemory memory(network, infer, run.test_images);
    memory.load(tests.pixels, tests.labels, trained);
    const Stream stream;
    BoundRung(module, infer, memory, run.test_images, sms).call(stream.get());
    stream.wait();
    const Operator &output = network.operators[output_of(network)];
    const std::vector<float> on_device = memory.output(output.name);
    const std::int64_t classes = elements(output.output);
    const std::vector<std::uint8_t> labels = classified({on_device.begin(), on_device.end()}, classes);

    run.checked = std::min(most_checked, run.test_images);
    const std::vector<double> checked(tests.pixels.begin(),
                                      tests.pixels.begin() + run.checked * elements(network.input));
    const std::vector<std::uint8_t> by_cpu = classified(
        forward(network, run.checked, checked, trained, tests.labels)[output_of(network)], classes);
    std::int64_t right = 0, right_by_cpu = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        right += labels[i] == tests.labels[i];
        if (i < by_cpu.size()) {
            right_by_cpu += by_cpu[i] == tests.labels[i];
            run.disagreements += by_cpu[i] != labels[i];
        }
    }
    run.accuracy = static_cast<double>(right) / static_cast<double>(run.test_images);
    run.reference_accuracy = static_cast<double>(right_by_cpu) / static_cast<double>(run.checked);
    run.weights = weights_of(
        trained, network,
        fmt::format(
            "convcast, gradient descent at rate {} in batches of {}, {} epochs, seed {}: {:.2f} % of {} test "
            "images",
            options.rate, run.batch, options.epochs, options.seed, 100.0 * run.accuracy, run.test_images));
    return run;
}

} // namespace convcast
