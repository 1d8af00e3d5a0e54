#include "microbench/runners/harness.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace convcast::probe {
Samples shared_bandwidth(ProbeContext &context, const Module &module) {
    constexpr unsigned threads = 1024, iterations = 2000, loads = 8;
    Samples all;
    for (const unsigned width : {1u, 4u}) { // words a lane
        const Kernel kernel = module.kernel("shared_read<" + std::to_string(width) + ">");
        DeviceBuffer<std::uint32_t> sink(std::size_t{sms(context)} * threads);
        sink.fill_bytes(0);
        std::uint32_t *const sink_data = sink.data();
        const std::vector<Rate> found = rates(context, sms(context), short_warm_up, [&](Span *spans) {
            kernel.launch_with(dim3(sms(context)), dim3(threads), 0, context.watch.stream(), iterations,
                               sink_data, spans);
        });
        std::uint32_t expected = 0;
        for (unsigned warp = 0; warp < threads / 32; ++warp)
            for (unsigned load = 0; load < loads; ++load)
                for (unsigned word = 0; word < 32 * width; ++word)
                    expected += word_at(128 * (warp % 24 + load) + word);
        expect_sum(sink, expected * iterations * sms(context), "shared_read");
        all.push_back(samples_from(found, "shared_bandwidth", "B/clk",
                                   {{"bytes_per_lane", 4.0 * width}, {"threads", threads}, {"loads", loads}},
                                   "conflict-free, by clock64 of the median SM", [&](const Rate &rate) {
                                       return 4.0 * width * loads * threads * iterations /
                                              rate.cycles_per_cta;
                                   }));
    }
    return all;
}

Samples banks(ProbeContext &context, const Module &module) {
    constexpr unsigned threads = 1024, iterations = 512, loads = 8;
    const Kernel kernel = module.kernel("shared_stride");
    Samples all;
    for (const unsigned stride : {1u, 2u, 3u, 4u, 8u, 16u, 32u, 64u}) {
        DeviceBuffer<std::uint32_t> sink(std::size_t{sms(context)} * threads);
        sink.fill_bytes(0);
        std::uint32_t *const sink_data = sink.data();
        const std::vector<Rate> found = rates(context, sms(context), short_warm_up, [&](Span *spans) {
            kernel.launch_with(dim3(sms(context)), dim3(threads), 0, context.watch.stream(), stride,
                               iterations, sink_data, spans);
        });
        std::uint32_t expected = 0;
        for (unsigned load = 0; load < loads; ++load)
            for (unsigned lane = 0; lane < 32; ++lane)
                expected += word_at(128 * load + stride * lane);
        expect_sum(sink, expected * (threads / 32) * iterations * sms(context), "shared_stride");
        all.push_back(samples_from(found, "banks", "clk", {{"stride_words", stride}, {"threads", threads}},
                                   "clocks of the median SM per LDS.32 of a warp", [&](const Rate &rate) {
                                       return rate.cycles_per_cta / (threads / 32 * loads * iterations);
                                   }));
    }
    return all;
}

Samples l1_bandwidth(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

Samples shared_broadcast(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

Samples conflicts(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

Samples element_width(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

} // namespace convcast::probe
