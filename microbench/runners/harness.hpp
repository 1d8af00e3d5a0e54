// What the runners of all probes share: launching, sampling, proving that a kernel did its work.
#pragma once

#include "gpu/check.hpp"
#include "gpu/memory.hpp"
#include "microbench/runners.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>

namespace convcast::probe {

using Samples = std::vector<ProbeSamples>;

inline constexpr std::size_t sample_count =
    15; // of probes that count cycles; a stop-watch decides for itself

/// As in probes/common.cuh.
struct Span {
    std::uint64_t start_cycles, end_cycles;
    std::uint64_t start_ns, end_ns;
    std::uint32_t sm, padding;
};
static_assert(sizeof(Span) == 40);

/// As in probes/common.cuh.
std::uint32_t word_at(std::uint32_t i);

inline unsigned sms(const ProbeContext &context) {
    return static_cast<unsigned>(context.device.sm_count);
}

inline void wait(const ProbeContext &context, const char *for_what) {
    check(cudaStreamSynchronize(context.watch.stream()), for_what);
}

/// What the calling thread's device can still give; DeviceFacts knows what it could at the start.
std::size_t free_device_bytes();

/// Dynamic shared memory a CTA, in bytes, with which `ctas` CTAs of so many threads fit on an SM and no more,
/// so that a grid of `ctas` for each SM that stays long enough is spread evenly. Absent if so many do not
/// fit.
std::optional<std::size_t> shared_to_hold(const ProbeContext &context, const Kernel &kernel, unsigned threads,
                                          unsigned ctas);

std::uint32_t sum_of(const DeviceBuffer<std::uint32_t> &sink);

/// Throws GpuError if the sums of all threads do not add up to `expected` modulo 2^32.
void expect_sum(const DeviceBuffer<std::uint32_t> &sink, std::uint32_t expected, const std::string &kernel);

// ---- probes that count cycles ----

struct Rate {
    double cycles_per_cta = 0.0; ///< on the median SM; CTAs that share an SM divide its time
    double clock_hz = 0.0;
};

Rate rate_of(const std::vector<Span> &spans);

inline constexpr Seconds short_warm_up(0.05);
/// An idle GPU takes that long to raise its clocks, seen from nvbench's practice.
inline constexpr Seconds wake_up(0.4);

/// Of a probe's next configuration: the first one has woken the clocks.
inline Seconds warm_up_after(const Samples &earlier) {
    return earlier.empty() ? short_warm_up : Seconds(0.002);
}

/// Repeats a launch that writes one Span per CTA: for at least `warm_up` unseen, then `sample_count` times.
template <class Launch>
std::vector<Rate> rates(const ProbeContext &context, std::size_t ctas, Seconds warm_up,
                        const Launch &launch) {
    DeviceBuffer<Span> spans(ctas);
    const auto once = [&] {
        spans.fill_bytes(0);
        launch(spans.data());
        wait(context, "cudaStreamSynchronize after a probe");
    };
    const auto start = std::chrono::steady_clock::now();
    do
        once();
    while (std::chrono::steady_clock::now() - start < std::chrono::duration<double>(warm_up.value));
    std::vector<Rate> found;
    while (found.size() < sample_count) {
        once();
        found.push_back(rate_of(spans.to_host()));
    }
    return found;
}

/// `value` makes a sample of a Rate.
template <class Value>
ProbeSamples samples_from(const std::vector<Rate> &rates, const char *probe, const char *unit,
                          std::map<std::string, double> knobs, const char *note, const Value &value) {
    ProbeSamples samples{probe, unit, std::move(knobs), {}, {}, note};
    for (const Rate &rate : rates) {
        samples.values.push_back(value(rate));
        samples.sm_clock_hz.push_back(rate.clock_hz);
    }
    return samples;
}

// ---- probes that take a kernel's time ----

/// `amount` / time of each sample: bytes / s with the bytes that one call moves; with 0, the time itself.
ProbeSamples samples_from(const SampleSeries &series, const char *probe, const char *unit,
                          std::map<std::string, double> knobs, const std::string &note, double amount);

StopWatchOptions bandwidth_options(L2State l2);
/// For one of many points: fewer samples, less time.
StopWatchOptions sweep_options(L2State l2);

/// One CTA on each SM whose threads have `batch` accesses of 16 bytes each under way.
struct InFlight {
    unsigned threads, batch;
    double bytes_per_sm() const { return 16.0 * threads * batch; }
};
/// From a fraction to several times (latency x bandwidth) of any GPU since Volta, which is 2 to 20 KiB an SM.
/// One CTA on each SM, so that the load is the same everywhere.
std::vector<InFlight> points_in_flight();

/// Vectors of 16 bytes with word_at(), and what all their words add up to.
struct FilledBuffer {
    DeviceBuffer<uint4> data;
    std::uint32_t sum = 0;

    FilledBuffer(ProbeContext &context, std::size_t bytes);
};

/// Throws GpuError unless the first `count` vectors of `data` are as the kernel was to write them: by
/// `check`, "wrong_words" or "wrong_quick_words" of fill.cu.
void expect_written(const ProbeContext &context, const DeviceBuffer<uint4> &data, std::size_t count,
                    const char *check, const std::string &kernel);

/// Far beyond L2, so that what is left there from before counts for little; less where memory is short.
std::size_t dram_bytes(const ProbeContext &context);

/// Throws ProbeSkipped with the reason if times are by events.
void need_activity_records(const ProbeContext &context);

} // namespace convcast::probe
