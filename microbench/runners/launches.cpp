#include "microbench/runners/harness.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace convcast::probe {
namespace {

constexpr unsigned empty_threads = 128; // a CTA on each SM

} // namespace

Samples launch_floor(ProbeContext &context, const Module &module) {
    need_activity_records(context);
    const Kernel kernel = module.kernel("empty");
    StopWatchOptions options;
    options.l2 = L2State::warm;
    options.min_samples = 50;
    const SampleSeries series = context.watch.measure(
        [&](cudaStream_t stream) { kernel.launch_with(dim3(sms(context)), dim3(empty_threads), 0, stream); },
        options);
    ProbeSamples samples{"launch_floor",
                         "s",
                         {{"ctas_per_sm", 1}, {"threads", empty_threads}},
                         {},
                         {},
                         "end minus start of the activity record of an empty kernel"};
    for (const Sample &sample : series.samples) {
        samples.values.push_back(sample.time.value);
        samples.sm_clock_hz.push_back(sample.sm_clock.value);
    }
    return {samples};
}

Samples launch_gap(ProbeContext &context, const Module &module) {
    need_activity_records(context);
    constexpr int kernels = 20, series_count = 5;
    const Kernel kernel = module.kernel("empty");
    ProbeSamples samples{
        "launch_gap", "s", {{"ctas_per_sm", 1}, {"threads", empty_threads}, {"kernels", kernels}},
        {},           {},  "start of an empty kernel minus end of the one before it, all queued ahead"};
    for (int i = 0; i < series_count; ++i) {
        StopWatchOptions options;
        options.l2 = L2State::warm;
        options.min_samples = options.max_samples = 3; // the records are those of the last
        const SampleSeries series = context.watch.measure(
            [&](cudaStream_t stream) {
                for (int j = 0; j < kernels; ++j)
                    kernel.launch_with(dim3(sms(context)), dim3(empty_threads), 0, stream);
            },
            options);
        if (series.samples.back().launch_gaps)
            continue; // the host's time may be inside
        for (std::size_t j = 1; j < series.activities.size(); ++j) {
            const std::uint64_t start = series.activities[j].start_ns, end = series.activities[j - 1].end_ns;
            if (start < end)
                throw GpuError("two kernels of one stream overlap in their activity records");
            samples.values.push_back(1e-9 * static_cast<double>(start - end));
            samples.sm_clock_hz.push_back(series.samples.back().sm_clock.value);
        }
    }
    return {samples};
}

Samples launch_period(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

Samples launch_by_grid(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

Samples shared_capacity(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

} // namespace convcast::probe
