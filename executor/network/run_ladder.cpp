#include "executor/network/run_network.hpp"

#include "executor/count/collect.hpp"
#include "executor/network/bound_rung.hpp"
#include "executor/network/network_data.hpp"
#include "executor/network/network_source.hpp"
#include "executor/network/sequential.hpp"
#include "executor/network/settle.hpp"
#include "gpu/check.hpp"
#include "gpu/stopwatch.hpp"
#include "model/base/divide.hpp"
#include "model/base/errors.hpp"
#include "model/base/statistics.hpp"
#include "model/network/launch_times.hpp"
#include "model/network/reference.hpp"
#include "model/network/rung_forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

/// Relative error of outputs in L2 against double, as in gate 2 of convolutions
constexpr double output_limit = 1e-5;
/// The same of a gradient. It is wider, since float may take the other one of two nearly equal pixels as the
/// maximum.
constexpr double gradient_limit = 1e-3;
/// Settings of the step that is verified. The velocity is 0 before it, so the momentum changes nothing.
constexpr StepSettings verified_step{0.5F, 0.9F, 0.01F};
/// Images; of a larger batch the first and the last 64 are verified
constexpr std::int64_t most_verified = 128;

/// Settles the cases of run_ladder().
class Ladders {
  public:
    Ladders(Compiler &compiler, const Device &device, const Ladder &ladder, const Network &network,
            std::int64_t batch, const CaseOptions &options)
        : kernels_(compiler, device.facts(), ladder, network), device_(kernels_.gpu()), network_(network),
          batch_(batch), options_(options), watch_(compiler, device.facts()) {}

    void settle(const Rung &rung, NetworkCase &result) {
        if (const auto why = refused(rung)) {
            result.status = Status::infeasible;
            result.reason = why;
            return;
        }
        LoadedRung loaded(kernels_, rung, batch_);
        loaded.memory.set(verified_step);
        result.reason = verify(loaded, rung, result);
        result.status = result.reason ? Status::wrong_result : Status::ok;
        if (!result.reason && options_.time)
            time(loaded.bound, rung, result);
    }

    /// Why the occupancy of launches could not be counted; absent if it could.
    const std::optional<std::string> &why_no_counters() const { return why_no_counters_; }

  private:
    /// Why this GPU cannot run the rung; absent if it can.
    std::optional<std::string> refused(const Rung &rung) const {
        for (const LadderLaunch &launch : rung.launches)
            if (const std::int64_t needed = launch.shared_bytes.value_or(0);
                as_size(needed) > device_.shared_per_block_bytes)
                return fmt::format("{} needs {} bytes of shared memory a block, {} has {}", launch.kernel,
                                   needed, device_.name, device_.shared_per_block_bytes);
        return refusal(rung, network_, batch_, device_.compute_capability());
    }

    /// A sentence on what is wrong; absent if nothing is. A network with logistic functions has no exact
    /// outputs, so only others are verified with integers too.
    std::optional<std::string> verify(LoadedRung &loaded, const Rung &rung, NetworkCase &result) {
        const bool exact = std::none_of(network_.operators.begin(), network_.operators.end(),
                                        [](const Operator &op) { return op.kind == OperatorKind::logistic; });
        if (exact)
            if (auto wrong = verify(loaded, rung, data_of(true), 0.0, result))
                return "gate 1, small integers: " + *wrong;
        if (auto wrong = verify(loaded, rung, data_of(false), output_limit, result))
            return "gate 2, reals: " + *wrong;
        return std::nullopt;
    }

    NetworkData data_of(bool integers) const {
        return network_data(network_, batch_, options_.seed, {.integers = integers});
    }

    /// Verifies one call on `data`: outputs within `limit` (relative, L2) and, of a rung that trains, the
    /// gradient and the updated parameters. Sets the errors in `result`. Returns a sentence on what is wrong.
    std::optional<std::string> verify(LoadedRung &loaded, const Rung &rung, const NetworkData &data,
                                      double limit, NetworkCase &result) {
        NetworkMemory &memory = loaded.memory;
        memory.load(data.images, data.parameters);
        const cudaStream_t stream = watch_.stream();
        loaded.bound.prepare(stream);
        loaded.bound.call(stream);
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize after a call");
        if (const std::string where = memory.overrun(); !where.empty())
            return "a kernel wrote beyond the end of " + where;
        const double error = output_error(memory.output(), output_of(rung), data);
        result.output_error = error;
        if (!(error <= limit))
            return fmt::format("the outputs differ from the reference by {:.2e} in L2, more than {:.0e}",
                               error, limit);
        if (!rung.trains.value_or(false))
            return std::nullopt;
        const std::vector<double> images(data.images.pixels.begin(), data.images.pixels.end());
        std::vector<double> wanted;
        for (const std::vector<double> &of_operator :
             convcast::gradient(network_, batch_, images, data.parameters, data.images.labels))
            wanted.insert(wanted.end(), of_operator.begin(), of_operator.end());
        const std::vector<float> gradient = memory.gradient(), before = flattened(data.parameters),
                                 after = memory.trained();
        result.gradient_error = relative_l2<double>(gradient, wanted);
        if (!(*result.gradient_error <= gradient_limit))
            return fmt::format("the gradient differs from the reference by {:.2e} in L2",
                               *result.gradient_error);
        std::vector<double> moved; // where one step from `before` by that gradient leads
        for (std::size_t i = 0; i < before.size(); ++i)
            moved.push_back(static_cast<double>(before[i]) -
                            verified_step.rate * (static_cast<double>(gradient[i]) +
                                                  verified_step.decay * static_cast<double>(before[i])));
        if (const double off = relative_l2<double>(after, moved); !(off <= output_limit))
            return fmt::format("the parameters were not updated by the gradient: they are {:.2e} off in L2",
                               off);
        return std::nullopt;
    }

    /// The relative error in L2 of `outputs`, those of the operator `last`, over the images that are
    /// verified.
    double output_error(const std::vector<float> &outputs, const std::string &last, const NetworkData &data) {
        std::vector<ImageShare> parts = {{0, batch_}};
        if (batch_ > most_verified)
            parts = {{0, most_verified / 2}, {batch_ - most_verified / 2, most_verified / 2}};
        const std::size_t op = network_.operator_named(last).value();
        const std::int64_t numbers = elements(network_.operators[op].output);
        std::vector<float> found;
        std::vector<double> wanted;
        for (const auto &[first, count] : parts) {
            const LabelledImages images = images_of(data.images, {first, count});
            const std::vector<double> pixels(images.pixels.begin(), images.pixels.end()),
                reference = forward(network_, count, pixels, data.parameters, images.labels)[op];
            wanted.insert(wanted.end(), reference.begin(), reference.end());
            found.insert(found.end(), outputs.begin() + first * numbers,
                         outputs.begin() + (first + count) * numbers);
        }
        return relative_l2<double>(found, wanted);
    }

    /// Sets all times of a rung: as a graph and launch by launch, warm and cold; with several streams also by
    /// the host's clock; and those of each kernel.
    void time(const BoundRung &bound, const Rung &rung, NetworkCase &result) {
        const Graph graph(watch_.stream(), [&] { bound.call(watch_.stream()); });
        const StopWatch::Call as_graph = [&](cudaStream_t stream) { graph.launch(stream); };
        const StopWatch::Call one_by_one = [&](cudaStream_t stream) { bound.call(stream); };
        NetworkTimes &times = result.measured.emplace();
        times.time_s = median_time(watch_, as_graph, L2State::warm);
        times.cold_s = median_time(watch_, as_graph, L2State::cold);
        times.stream_s = median_time(watch_, one_by_one, L2State::warm);
        times.stream_cold_s = median_time(watch_, one_by_one, L2State::cold);
        if (rung.streams) {
            times.one_thread_s = host_time(one_by_one);
            ThreadedWork threads = bound.by_threads();
            times.threads_s = host_time([&](cudaStream_t stream) { threads.enqueue(stream); });
        }
        // With several streams, only records of calls launch by launch say which launch they belong to.
        const bool streams = rung.streams.has_value();
        result.kernels =
            kernel_times(rung, batch_, traced_calls(watch_, streams ? one_by_one : as_graph, streams));
        if (!why_no_counters_ && !result.kernels.empty())
            count(bound, rung, result.kernels);
    }

    /// Seconds from the host's first call to the end of the last launch: the median of 60 calls.
    Seconds host_time(const StopWatch::Call &call) {
        constexpr std::size_t warm_ups = 10, calls = 60;
        std::vector<double> seconds;
        for (std::size_t i = 0; i < warm_ups + calls; ++i) {
            const auto start = std::chrono::steady_clock::now();
            call(watch_.stream());
            check(cudaStreamSynchronize(watch_.stream()), "cudaStreamSynchronize after a call");
            const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
            if (i >= warm_ups)
                seconds.push_back(took.count());
        }
        return Seconds(upper_median(std::move(seconds)));
    }

    /// Counts the occupancy of each launch into `lines`. Each runs alone, since in a call others may run
    /// beside it.
    void count(const BoundRung &bound, const Rung &rung, std::vector<KernelTime> &lines) {
        static const std::string occupancy = "sm__warps_active.avg.pct_of_peak_sustained_active";
        std::vector<CounterSession::Work> launches;
        for (std::size_t i = 0; i < rung.launches.size(); ++i)
            launches.emplace_back([&, i] { bound.launch_alone(i, watch_.stream()); });
        why_no_counters_ = why_refused([&] {
            if (!counters_)
                counters_.emplace(std::vector{occupancy});
            const std::vector<CountedCall> counted = collect_calls(
                *counters_, [] {}, launches);
            for (std::size_t i = 0; i < counted.size(); ++i)
                if (const auto *values = std::get_if<CounterSession::Values>(&counted[i]))
                    lines[i].occupancy = std::clamp(values->at(occupancy) / 100.0, 0.0, 1.0);
        });
    }

    LadderKernels kernels_;
    const DeviceFacts &device_;
    const Network &network_;
    std::int64_t batch_;
    const CaseOptions &options_;
    StopWatch watch_;
    std::optional<CounterSession> counters_; ///< absent before the first count
    std::optional<std::string> why_no_counters_;
};

} // namespace

NetworkRun run_ladder(Compiler &compiler, const Device &device, const Ladder &ladder, const Network &network,
                      std::int64_t batch, const CaseOptions &options) {
    NetworkRun run = ladder_run(ladder, network, batch);
    run.conditions["gpu"] = device.facts().name;
    run.conditions["network_code_hash"] = network_code_hash();
    if (options.time) {
        const NetworkData data = network_data(network, 1, options.seed, {});
        std::vector<std::vector<float>> parameters;
        for (const std::vector<double> &of_operator : data.parameters)
            parameters.emplace_back(of_operator.begin(), of_operator.end());
        run.sequential_s = sequential_time(network, data.images.pixels, parameters);
    }
    Ladders ladders(compiler, device, ladder, network, batch, options);
    settle_cases( // ladder_run() made a case, with its id, for each rung
        run, "the GPU", [&](NetworkCase &item) { ladders.settle(*rung_named(ladder, *item.id), item); },
        [&](const NetworkCase &item) {
            if (ladders.why_no_counters())
                run.conditions["no_occupancies"] = *ladders.why_no_counters();
            if (options.done)
                options.done(run, item);
        });
    return run;
}

} // namespace convcast
