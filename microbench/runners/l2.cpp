#include "microbench/runners/harness.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace convcast::probe {
namespace {

/// The largest prime up to `most`; 3 at least.
unsigned prime_at_most(unsigned most) {
    const auto is_prime = [](unsigned n) {
        for (unsigned d = 2; d * d <= n; ++d)
            if (n % d == 0)
                return false;
        return true;
    };
    unsigned n = std::max(most, 3u);
    while (!is_prime(n))
        --n;
    return n;
}

} // namespace

Samples l2_read_bandwidth(ProbeContext &context, const Module &module) {
    constexpr unsigned threads = 512, ctas_per_sm = 2, loads = 4, passes = 3;
    constexpr std::size_t tile_bytes = std::size_t{threads} * loads * sizeof(uint4);
    const Kernel kernel = module.kernel("l2_read");
    const unsigned ctas = ctas_per_sm * sms(context);
    // 0.35 of L2: twice that still fits where each half of L2 keeps a copy of its own.
    const unsigned tiles = prime_at_most(
        static_cast<unsigned>(0.35 * static_cast<double>(context.device.l2_bytes) / tile_bytes));
    const FilledBuffer buffer(context, tiles * tile_bytes);
    DeviceBuffer<std::uint32_t> sink(std::size_t{ctas} * threads);
    sink.fill_bytes(0);
    const uint4 *const data = buffer.data.data();
    std::uint32_t *const sink_data = sink.data();
    const SampleSeries series = context.watch.measure(
        [&](cudaStream_t stream) {
            kernel.launch_with(dim3(ctas), dim3(threads), 0, stream, data, tiles, passes, sink_data);
        },
        bandwidth_options(L2State::warm));
    expect_sum(sink, buffer.sum * passes * ctas, "l2_read");
    return {samples_from(series, "l2_read_bandwidth", "B/s",
                         {{"buffer_bytes", static_cast<double>(buffer.data.bytes())},
                          {"ctas_per_sm", ctas_per_sm},
                          {"threads", threads},
                          {"loads", loads},
                          {"passes", passes}},
                         "every CTA reads all of the buffer, past L1; L2 warm",
                         static_cast<double>(buffer.data.bytes()) * passes * ctas)};
}

Samples l2_write_bandwidth(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

Samples l2_read_curve(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

Samples l2_write_curve(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

} // namespace convcast::probe
