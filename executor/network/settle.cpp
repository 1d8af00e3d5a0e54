#include "executor/network/settle.hpp"

#include "gpu/check.hpp"
#include "model/base/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

void settle_cases(NetworkRun &run, const std::string &gpu, const std::function<void(NetworkCase &)> &settle,
                  const std::function<void(const NetworkCase &)> &settled) {
    bool lost = false;
    for (NetworkCase &item : run.cases) {
        if (item.status == Status::infeasible)
            continue;
        if (lost) {
            item.reason = gpu + " stopped answering in an earlier case";
            continue;
        }
        const auto failed = [&](const GpuError &error) {
            item.status = Status::failed;
            item.reason = error.what();
        };
        try {
            settle(item);
        } catch (const DeviceLost &error) {
            failed(error);
            lost = true;
        } catch (const GpuError &error) {
            failed(error);
        }
        settled(item);
    }
}

Seconds median_time(StopWatch &watch, const StopWatch::Call &call, L2State l2,
                    const std::function<void()> &wait_for_others) {
    StopWatchOptions timing;
    timing.l2 = l2;
    timing.max_samples = 200;
    timing.max_time = Seconds(0.25);
    timing.wait_for_others = wait_for_others;
    return watch.measure(call, timing).median_time();
}

namespace {

/// The name of the kernel or copy that the record is of, as KernelTime has it.
std::string node_name(const ActivityRecord &record) {
    switch (record.kind) {
    case ActivityKind::kernel:
        return record.name;
    case ActivityKind::memset:
        return "clear";
    default:
        break;
    }
    if (record.to_device)
        return fmt::format("copy to GPU {}", *record.to_device);
    return record.ends == CopyEnds::from_host ? "copy from the host"
           : record.ends == CopyEnds::to_host ? "copy to the host"
                                              : "copy";
}

TracedNode node_of(const ActivityRecord &record) {
    TracedNode node{node_name(record), {record.start_ns, record.end_ns}, record.device};
    if (record.kind != ActivityKind::kernel)
        node.bytes = static_cast<std::int64_t>(record.bytes);
    return node;
}

} // namespace

std::vector<TracedCall> traced_calls(StopWatch &watch, const StopWatch::Call &call, bool several_streams,
                                     const std::function<void()> &wait_for_others) {
    constexpr int calls = 15; // chosen
    StopWatchOptions timing;
    timing.l2 = L2State::warm;
    timing.min_samples = timing.max_samples = 1;
    timing.warm_up = Seconds(0.0);
    timing.wait_for_others = wait_for_others;
    std::vector<TracedCall> all(calls);
    for (TracedCall &nodes : all) {
        std::vector<ActivityRecord> records = watch.measure(call, timing).activities;
        if (several_streams)
            std::stable_sort(
                records.begin(), records.end(),
                [](const ActivityRecord &a, const ActivityRecord &b) { return a.call < b.call; });
        std::ranges::transform(records, std::back_inserter(nodes), node_of);
    }
    return all;
}

NetworkData pool_of(const Network &network, const NetworkRun &run, std::uint64_t seed) {
    constexpr std::int64_t most_images = 8192; // chosen
    std::int64_t largest = 1;
    for (const NetworkCase &item : run.cases)
        largest = std::max(largest, item.batch);
    return network_data(network, std::min(largest, most_images), seed, {});
}

namespace {

/// The largest relative error in L2 of the lists, one for each GPU.
double worst_error(const std::vector<std::vector<float>> &lists, const std::vector<float> &reference) {
    double worst = 0.0;
    for (const std::vector<float> &values : lists)
        worst = std::max(worst, relative_l2<float>(values, reference));
    return worst;
}

} // namespace

std::optional<std::string> why_not_as_one_gpu(const StepOutcome &found, const ImageShare &share,
                                              const StepOutcome &one, NetworkCase &item) {
    // Relative errors in L2. 1e-5 is above what another order of sums makes. Parameters may differ more: once
    // they differ by rounding, pooling may take the other one of two nearly equal pixels.
    constexpr double limit = 1e-5, parameter_limit = 1e-4;
    const auto numbers = static_cast<std::ptrdiff_t>(one.outputs.size()) / item.batch;
    const std::vector<float> outputs(one.outputs.begin() + share.first * numbers,
                                     one.outputs.begin() + (share.first + share.count) * numbers);
    item.output_error = relative_l2<float>(found.outputs, outputs);
    item.gradient_error = worst_error(found.gradients, one.gradients.front());
    item.parameter_error = worst_error(found.parameters, one.parameters.front());
    if (*item.output_error <= limit && *item.gradient_error <= limit &&
        *item.parameter_error <= parameter_limit)
        return std::nullopt;
    return fmt::format(
        "differs from one GPU in L2: outputs {:.1e}, gradient {:.1e}, parameters after {} steps "
        "{:.1e}",
        *item.output_error, *item.gradient_error, verified_steps, *item.parameter_error);
}

Seconds time_of_step(cudaStream_t stream, const std::function<void()> &launch,
                     const std::function<void(const Event &)> &wait) {
    constexpr std::size_t warm_ups = 3, repetitions = 25;
    const std::vector<Event> events(repetitions + 1);
    for (std::size_t i = 0; i < warm_ups; ++i)
        launch();
    events.front().record(stream);
    for (std::size_t i = 1; i <= repetitions; ++i) {
        launch();
        events[i].record(stream);
    }
    wait(events.back());
    std::vector<double> seconds;
    for (std::size_t i = 1; i <= repetitions; ++i)
        seconds.push_back(events[i].since(events[i - 1]).value / static_cast<double>(timed_steps));
    return Seconds(upper_median(std::move(seconds)));
}

} // namespace convcast
