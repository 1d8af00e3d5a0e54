#include "microbench/runners/harness.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace convcast::probe {
Samples barrier_latency(ProbeContext &context, const Module &module) {
    constexpr unsigned threads = 256, iterations = 256, unrolled = 32;
    const auto rates_of = [&](const char *name) {
        const Kernel kernel = module.kernel(name);
        return rates(context, sms(context), short_warm_up, [&](Span *spans) {
            kernel.launch_with(dim3(sms(context)), dim3(threads), 0, context.watch.stream(), iterations,
                               spans);
        });
    };
    const std::vector<Rate> once = rates_of("barrier<1>"), twice = rates_of("barrier<2>");
    ProbeSamples samples{"barrier_latency",
                         "clk",
                         {{"threads", threads}, {"iterations", iterations}},
                         {},
                         {},
                         "64 barriers minus 32, by clock64 of the median SM, one CTA on each"};
    for (std::size_t i = 0; i < once.size(); ++i) {
        samples.values.push_back((twice[i].cycles_per_cta - once[i].cycles_per_cta) /
                                 (iterations * unrolled));
        samples.sm_clock_hz.push_back(twice[i].clock_hz);
    }
    return {samples};
}

Samples atomic_latency(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

Samples atomic_rate(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

Samples grid_sync(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

} // namespace convcast::probe
