#include "gpu/stopwatch.hpp"

#include "gpu/check.hpp"
#include "model/base/statistics.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr std::size_t max_batch = 64;                // samples between two reads of the activity records
constexpr std::uint64_t gate_timeout_ns = 5'000'000; // far above the host time to queue one call
constexpr std::uint64_t clock_window_ns =
    20'000;                              // 40 000 cycles at 2 GHz, and many ticks of the global timer
constexpr std::size_t flush_over_l2 = 2; // L2 halves may each keep a copy of a line
constexpr int flush_threads = 256;

using HostClock = std::chrono::steady_clock;

Seconds since(HostClock::time_point start) {
    return Seconds(std::chrono::duration<double>(HostClock::now() - start).count());
}

Frequency clock_of(const SampleSlot &slot) {
    return Frequency(1e9 * static_cast<double>(slot.probe_cycles) /
                     static_cast<double>(slot.probe_nanoseconds));
}

std::vector<double> times_of(const std::vector<Sample> &samples) {
    std::vector<double> times;
    for (const Sample &sample : samples)
        times.push_back(sample.time.value);
    return times;
}

} // namespace

CompileRequest gpu_kernels_request(int compute_capability) {
    return {.name = "gpu/kernels.cu",
            .source = gpu_sources.front().text(),
            .compute_capability = compute_capability};
}

double relative_error_of_median(std::vector<double> values) {
    if (values.size() < 3)
        return std::numeric_limits<double>::infinity();
    std::sort(values.begin(), values.end());
    // For a normal distribution sigma is the interquartile range / 1.349, and the standard error of the
    // median is sqrt(pi / 2) * sigma / sqrt(n).
    const double sigma = (interpolated_quantile(values, 0.75) - interpolated_quantile(values, 0.25)) / 1.349;
    return 1.2533 * sigma / std::sqrt(static_cast<double>(values.size())) /
           interpolated_quantile(values, 0.5);
}

Seconds SampleSeries::median_time() const {
    std::vector<double> times = times_of(samples);
    std::sort(times.begin(), times.end());
    return Seconds(times.empty() ? std::numeric_limits<double>::quiet_NaN()
                                 : interpolated_quantile(times, 0.5));
}

StopWatch::StopWatch(Compiler &compiler, const DeviceFacts &device)
    : device_(device), module_(compiler.compile(gpu_kernels_request(device.compute_capability()))),
      flush_(module_.kernel("convcast_flush")), gate_(module_.kernel("convcast_gate")),
      clock_probe_(module_.kernel("convcast_clock_probe")), flush_buffer_(flush_over_l2 * device.l2_bytes),
      slots_(max_batch), released_(1), begins_(max_batch), ends_(max_batch),
      why_events_(ActivityTrace::why_not_available()) {
    flush_buffer_.fill_bytes(0);
}

void StopWatch::flush_l2() {
    const auto *buffer = static_cast<const void *>(flush_buffer_.data());
    const unsigned long long count = flush_buffer_.bytes() / 16; // uint4
    unsigned *never = nullptr; // the buffer's zeros keep it from being written
    flush_.launch_with(dim3(static_cast<unsigned>(8 * device_.sm_count)), dim3(flush_threads), 0, stream(),
                       buffer, count, never);
}

Frequency StopWatch::sm_clock() {
    SampleSlot *const results = slots_.data();
    clock_probe_.launch_with(dim3(1), dim3(1), 0, stream(), clock_window_ns, results);
    check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize after a clock probe");
    return clock_of(slots_[0]);
}

void StopWatch::release_gate() {
    std::atomic_ref<unsigned>(released_[0]).store(ticket_, std::memory_order_release);
}

void StopWatch::warm_up(const Call &call, const StopWatchOptions &options) {
    const HostClock::time_point start = HostClock::now();
    do {
        call(stream());
        check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize after a warm-up call");
    } while (since(start) < options.warm_up);
    // Loads our own kernels too: a first launch loads code, which can wait for the device and so for the
    // gate.
    (void)run_batch(call, options.l2, 1);
}

Seconds StopWatch::rough_time(const Call &call) {
    constexpr double most_loading_seconds = 2.0; // of code: a longer call is long of itself
    Seconds time(0.0);
    for (const char *which : {"cudaStreamSynchronize after the call that loads code",
                              "cudaStreamSynchronize after a call that is timed roughly"}) {
        const HostClock::time_point start = HostClock::now();
        call(stream());
        check(cudaStreamSynchronize(stream()), which);
        time = since(start);
        if (time.value > most_loading_seconds)
            break;
    }
    return time;
}

void StopWatch::enqueue_sample(const Call &call, L2State l2, std::size_t slot) {
    if (l2 == L2State::cold)
        flush_l2();
    else
        call(stream());
    SampleSlot *const results = slots_.data() + slot;
    const unsigned *const released = released_.data();
    gate_.launch_with(dim3(1), dim3(1), 0, stream(), released, ++ticket_, gate_timeout_ns, results);
    try {
        begins_[slot].record(stream());
        call(stream());
        ends_[slot].record(stream());
        clock_probe_.launch_with(dim3(1), dim3(1), 0, stream(), clock_window_ns, results);
    } catch (...) {
        release_gate();
        throw;
    }
    release_gate();
}

std::vector<Sample> StopWatch::run_batch(const Call &call, L2State l2, std::size_t count) {
    for (std::size_t slot = 0; slot < count; ++slot)
        enqueue_sample(call, l2, slot);
    check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize after a batch of samples");
    std::vector<Sample> samples(count);
    for (std::size_t slot = 0; slot < count; ++slot) {
        const SampleSlot &seen = slots_[slot];
        Sample &sample = samples[slot];
        sample.event_time = ends_[slot].since(begins_[slot]);
        sample.time = sample.event_time;
        sample.sm_clock = clock_of(seen);
        sample.throttled = sample.sm_clock < device_.max_clock * throttle_threshold;
        sample.launch_gaps = seen.gate_timed_out != 0;
    }
    return samples;
}

/// A sample's records are those between its gate and its clock probe; flushes and warming calls lie outside.
void StopWatch::take_activity_times(std::vector<Sample> &samples, std::vector<ActivityRecord> records,
                                    std::vector<ActivityRecord> &last) {
    std::size_t complete = 0;
    bool inside = false;
    for (ActivityRecord &record : records) {
        if (record.name == "convcast_gate") {
            inside = true;
            last.clear();
        } else if (record.name == "convcast_clock_probe") {
            if (!inside || last.empty() || complete == samples.size())
                throw GpuError(
                    "the activity records of a sample are missing: " + std::to_string(records.size()) +
                    " records for " + std::to_string(samples.size()) + " samples");
            std::uint64_t end_ns = 0;
            for (const ActivityRecord &mine : last) {
                if (mine.start_ns == 0 || mine.end_ns == 0)
                    throw GpuError("CUPTI did not collect the times of kernel " + mine.name);
                end_ns = std::max(end_ns, mine.end_ns);
            }
            samples[complete++].time = Seconds(1e-9 * static_cast<double>(end_ns - last.front().start_ns));
            inside = false;
        } else if (inside) {
            last.push_back(std::move(record));
        }
    }
    if (complete != samples.size())
        throw GpuError("CUPTI recorded " + std::to_string(complete) + " of " +
                       std::to_string(samples.size()) + " samples");
}

std::vector<ActivityRecord> StopWatch::records_of(ActivityTrace &trace, const StopWatchOptions &options) {
    if (options.wait_for_others)
        options.wait_for_others();
    return trace.drain();
}

SampleSeries StopWatch::measure(const Call &call, const StopWatchOptions &options) {
    SampleSeries series;
    series.method = why_events_ ? "events" : "activity";
    std::optional<ActivityTrace> trace;
    if (!why_events_)
        trace.emplace().start();

    warm_up(call, options);
    if (trace)
        (void)records_of(*trace, options);

    const HostClock::time_point start = HostClock::now();
    std::size_t batch = 1; // the first tells how long a sample takes
    while (true) {
        std::vector<Sample> samples = run_batch(call, options.l2, batch);
        if (trace)
            take_activity_times(samples, records_of(*trace, options), series.activities);
        series.samples.insert(series.samples.end(), samples.begin(), samples.end());

        const std::size_t taken = series.samples.size();
        const Seconds spent = since(start);
        if (taken >= static_cast<std::size_t>(options.min_samples) &&
            relative_error_of_median(times_of(series.samples)) <= options.target_error)
            series.stop_reason = "precision";
        else if (taken >= static_cast<std::size_t>(options.max_samples))
            series.stop_reason = "count";
        else if (spent >= options.max_time)
            series.stop_reason = "time";
        else {
            // At most the wanted minimum at once, nor more than fits the remaining time.
            const double affordable = (options.max_time - spent) / spent * static_cast<double>(taken);
            const std::size_t left = static_cast<std::size_t>(options.max_samples) - taken;
            const std::size_t wanted =
                std::max<std::size_t>(static_cast<std::size_t>(options.min_samples), taken);
            batch = std::min(
                {wanted, left, max_batch, static_cast<std::size_t>(std::clamp(affordable, 1.0, 1e6))});
            continue;
        }
        break;
    }
    if (trace)
        trace->stop();
    return series;
}

} // namespace convcast
