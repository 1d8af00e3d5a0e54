// What the runners of all probes share: launching, sampling, proving that a kernel did its work.
#pragma once

#include "gpu/check.hpp"
#include "gpu/memory.hpp"
#include "microbench/patterns.hpp"
#include "microbench/runners.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace convcast::probe {

using Samples = std::vector<ProbeSamples>;
using Knobs = std::map<std::string, double>;

inline constexpr std::size_t sample_count =
    15; // of probes that count cycles; a stop-watch decides for itself
inline constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// As in probes/common.cuh.
struct Span {
    std::uint64_t start_cycles, end_cycles;
    std::uint64_t start_ns, end_ns;
    std::uint32_t sm, padding;
};
static_assert(sizeof(Span) == 40);

inline unsigned sms(const ProbeContext &context) {
    return static_cast<unsigned>(context.device.sm_count);
}

inline void wait(const ProbeContext &context, const char *for_what) {
    check(cudaStreamSynchronize(context.watch.stream()), for_what);
}

/// Dynamic shared memory a CTA, in bytes, with which `ctas` CTAs of so many threads fit on an SM and no more,
/// so that a grid of `ctas` for each SM that stays long enough is spread evenly. Absent if so many do not
/// fit.
std::optional<std::size_t> shared_to_hold(const ProbeContext &context, const Kernel &kernel, unsigned threads,
                                          unsigned ctas);

/// CTAs, in whole clusters, of which surely all run at once with one on an SM: GPCs have SMs left over.
unsigned resident_ctas(const ProbeContext &context, unsigned cluster);

/// A configuration of the running probe, as yet without samples. The row has the unit, and the note unless
/// another is given.
ProbeSamples configuration(const ProbeContext &context, Knobs knobs, const std::string &note = "");

void add_sample(ProbeSamples &samples, double value, double clock_hz);

// ---- probes that count cycles ----

struct Rate {
    double cycles_per_cta = 0.0; ///< on the median SM; CTAs that share an SM divide its time
    double clock_hz = 0.0;
};

Rate rate_of(const std::vector<Span> &spans);

// ---- probes that take a kernel's time ----

StopWatchOptions bandwidth_options(L2State l2);
/// For one of many points: fewer samples, less time.
StopWatchOptions sweep_options(L2State l2);

/// `amount` over the time of a call where the probe's unit is a bandwidth, else the time.
ProbeSamples timed(ProbeContext &context, const StopWatch::Call &call, const StopWatchOptions &options,
                   Knobs knobs, double amount = 1.0, const std::string &note = "");

/// CTAs on each SM whose threads have `batch` accesses of 16 bytes each under way.
struct Grid {
    unsigned ctas_per_sm, threads, batch;

    unsigned all_ctas(const ProbeContext &context) const { return ctas_per_sm * sms(context); }
    double bytes_per_sm() const { return 16.0 * ctas_per_sm * threads * batch; }
    /// `batch_knob`: what the accesses are called.
    Knobs knobs(const ProbeContext &context, const char *batch_knob, double buffer_bytes) const {
        return {{"ctas_per_sm", ctas_per_sm},
                {"threads", threads},
                {batch_knob, batch},
                {"bytes_in_flight", bytes_per_sm() * sms(context)},
                {"buffer_bytes", buffer_bytes}};
    }
};
/// From a fraction to several times (latency x bandwidth) of any GPU since Volta, which is 2 to 20 KiB an SM.
/// One CTA on each SM, so that the load is the same everywhere.
std::vector<Grid> points_in_flight();

// ---- what kernels read and write ----

/// Vectors of 16 bytes with word_at(), and what all their words add up to.
struct FilledBuffer {
    DeviceBuffer<uint4> data;
    std::uint32_t sum = 0;

    FilledBuffer(ProbeContext &context, std::size_t bytes);
    double bytes() const { return static_cast<double>(data.bytes()); }
};

/// Words that are all zero.
DeviceBuffer<std::uint32_t> zeros(std::size_t count);

/// Throws GpuError if the sums of all threads do not add up to `expected` modulo 2^32.
void expect_sum(const DeviceBuffer<std::uint32_t> &sink, std::uint32_t expected, const std::string &kernel);

/// Throws GpuError unless the first `count` vectors of `data` are as the kernel was to write them: by
/// `check`, "wrong_words" or "wrong_quick_words" of fill.cu.
void expect_written(const ProbeContext &context, const DeviceBuffer<uint4> &data, std::size_t count,
                    const char *check, const std::string &kernel);

/// Far beyond L2, so that what is left there from before counts for little; less where memory is short.
std::size_t dram_bytes(const ProbeContext &context);

/// Throws ProbeSkipped with the reason if times are by events.
void need_activity_records(const ProbeContext &context);

} // namespace convcast::probe
