// FFMAs by registers, chains, warps and operands, FFMAs beside shared memory, and products in other types.
#include "microbench/curves.hpp"
#include "microbench/derived.hpp"
#include "microbench/patterns.hpp"
#include "microbench/probes/rows.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace convcast {
namespace {

constexpr unsigned rate_threads = 512, rate_ctas_per_sm = 2;
constexpr double ffmas_per_iteration =
    512.0; // of one thread: steps * accumulators of ffma.cu, half.cu and int8.cu

/// A kernel that leaves a word for each thread.
ClockedLaunch rate_launch(const char *kernel, unsigned iterations, double products) {
    return {.kernel = kernel,
            .amount = products * ffmas_per_iteration * iterations * rate_threads,
            .threads = rate_threads,
            .ctas_per_sm = rate_ctas_per_sm,
            .scalars = {iterations},
            .results = rate_threads};
}

ClockedLaunch ffma(const ProbePoint &at) {
    ClockedLaunch launch = rate_launch("ffma<{registers}>", at["iterations"], 1.0);
    launch.scalars.push_back(std::bit_cast<std::uint32_t>(0.001f)); // scale
    launch.right = [](std::size_t, std::uint32_t word) {
        const auto sum = std::bit_cast<float>(word); // all terms are positive
        return std::isfinite(sum) && sum > 0.0f;
    };
    return launch;
}

ClockedLaunch ffma_chain(const ProbePoint &at) {
    const unsigned hops = at["iterations"] * at["chain"];
    return {.kernel = "ffma_chain",
            .amount = 1.0 * hops,
            .threads = at["threads"],
            .scalars = {at["iterations"]},
            .spread = true,
            .results = at["threads"],
            .right = [hops](std::size_t thread, std::uint32_t word) {
                return std::bit_cast<float>(word) ==
                       static_cast<float>(hops * (1 + thread % 4) * (1 + thread % 2));
            }};
}

ClockedLaunch ffma_ilp(const ProbePoint &at) {
    constexpr unsigned ffmas = 512;
    const unsigned threads = 32 * at["warps"], iterations = at["iterations"];
    return {.kernel = "ffma_ilp<{ilp}>",
            .amount = 1.0 * iterations * ffmas * threads,
            .threads = threads,
            .scalars = {iterations},
            .spread = true,
            .results = threads,
            .sum = sum_over(threads, [&](unsigned thread) {
                return iterations * ffmas / 2 * (thread % 2 == 0 ? 1 + 4 : 4 + 9); // x * x of two x
            })};
}

/// What the operands of an outer product add up to, as ffma_outer.cu and ffma_shared.cu set them.
std::uint32_t sum_of_x(unsigned rows, unsigned thread) {
    return rows * (rows + 1) / 2 + rows * (thread % 2);
}
std::uint32_t sum_of_w(unsigned columns, unsigned thread) {
    return columns * (columns + 1) / 2 + columns * (thread % 3);
}

ClockedLaunch ffma_outer(const ProbePoint &at) {
    constexpr unsigned ffmas = 512, threads = 256;
    const unsigned rows = at["rows"], columns = at["columns"], iterations = at["iterations"];
    if (rows != columns && rows != 2 * columns)
        return {};
    const unsigned ctas_per_sm = rows * columns > 64 ? 1 : 2; // as in its launch bounds
    return {.kernel = "ffma_outer<{rows}, {columns}, {snake}>",
            .amount = 1.0 * iterations * ffmas * threads,
            .threads = threads,
            .ctas_per_sm = ctas_per_sm,
            .scalars = {iterations},
            .results = threads,
            .knobs = {{"threads_per_sm", threads * ctas_per_sm}},
            .sum = sum_over(threads, [&](unsigned thread) {
                return iterations * (ffmas / (rows * columns)) * sum_of_x(rows, thread) *
                       sum_of_w(columns, thread);
            })};
}

ClockedLaunch ffma_shared(const ProbePoint &at) {
    constexpr unsigned unrolled = 16, places = 8;
    const unsigned ffmas = at["ffmas"], loads = at["loads"], threads = at["threads"],
                   steps = at["iterations"];
    if (ffmas + loads == 0)
        return {};
    return {.kernel = "ffma_shared<{ffmas}, {loads}>",
            .amount = 1.0 * steps * (threads / 32),
            .threads = threads,
            .scalars = {steps / unrolled},
            .results = threads,
            .sum = sum_over(threads, [&](unsigned thread) {
                std::uint32_t sum = steps * ffmas / 16 * sum_of_x(4, thread) * sum_of_w(4, thread);
                for (unsigned place = 0; loads > 0 && place < places; ++place)
                    sum += word_at(128 * place + thread % 32);
                return sum;
            })};
}

ClockedLaunch half(const ProbePoint &at) {
    constexpr std::uint32_t two_and_two = 0x40004000; // where every accumulator comes to rest
    ClockedLaunch launch = rate_launch("half_rate", at["iterations"], 2.0);
    launch.sum = rate_threads * at["accumulators"] * two_and_two;
    return launch;
}

ClockedLaunch int8(const ProbePoint &at) {
    constexpr unsigned steps = 32;
    const unsigned accumulators = at["accumulators"], iterations = at["iterations"];
    const auto dot = [](std::uint32_t x, std::uint32_t w) {
        int sum = 0;
        for (int byte = 0; byte < 4; ++byte)
            sum += static_cast<std::int8_t>(x >> (8 * byte)) * static_cast<std::int8_t>(w >> (8 * byte));
        return static_cast<std::uint32_t>(sum);
    };
    ClockedLaunch launch = rate_launch("int8_rate", iterations, 4.0);
    launch.sum = sum_over(rate_threads, [&](unsigned thread) {
        const unsigned lane = thread % 32;
        return accumulators * (accumulators - 1) / 2 +
               accumulators * steps * iterations * dot(word_at(lane), word_at(32 + lane));
    });
    return launch;
}

ClockedLaunch tf32(const ProbePoint &at) {
    constexpr unsigned steps = 16, rows = 2, products = 8;
    constexpr double mma_fmas = 8 * 16.0 * 8.0 * 8.0,
                     wgmma_fmas = 64.0 * 128.0 * 8.0; // of a step, accumulators together
    const bool wgmma = at["wgmma"] == 1;
    const unsigned threads = wgmma ? 256 : 512,
                   ctas_per_sm = wgmma ? 1 : 2; // wgmma's accumulators take most registers
    const unsigned eights = wgmma ? 16 : 8, iterations = at["iterations"];
    return {.kernel = wgmma ? "tf32_wgmma" : "tf32_mma",
            .amount = (wgmma ? wgmma_fmas / 128.0 : mma_fmas / 32.0) * threads * steps * iterations,
            .threads = threads,
            .ctas_per_sm = ctas_per_sm,
            .scalars = {iterations},
            .results = threads,
            .capability = wgmma ? 90 : 0,
            .note = wgmma ? "wgmma m64n128k8, left factor in registers, by clock64 of the median SM" : "",
            .knobs = {{"threads_per_sm", threads * ctas_per_sm}},
            // A thread has rows lane / 4 and lane / 4 + 8 of two neighbouring columns of every eight; see
            // tf32_mma.cu.
            .sum = sum_over(threads, [&](unsigned thread) {
                std::uint32_t sum = 0;
                for (unsigned eight = 0; eight < eights; ++eight)
                    for (unsigned i = 0; i < 2; ++i)
                        sum += 1 + ((wgmma ? eight * 8 : 0) + thread % 4 * 2 + i) % 3;
                return rows * products * steps * iterations * (1 + thread % 32 / 4 % 2) * sum;
            })};
}

} // namespace

std::vector<Probe> arithmetic_probes() {
    constexpr CurveAxis ffma_rate("FFMA rate of an SM", "fma/clk", false);
    return {
        // 2000 iterations take about 4 ms: the tick of the timer is 1/4000 of it.
        Probe("sm_clock", "Which SM clock holds under FFMA load?", "ffma.cu", "Hz",
              "clock64 over globaltimer on the median SM while all SMs run FFMAs",
              {.fields = {{"sm_clock", Better::highest}}},
              {.axes = {{"registers", {3}}, {"iterations", {2000}}}, .launch = ffma}),
        Probe("ffma_latency", "How long does an FFMA take that needs the one before it?", "ffma_latency.cu",
              "clk", "clock64 of the median SM over a chain of dependent FFMAs, one warp on each SM",
              {.fields = {{"ffma_latency", Better::lowest}}},
              {.axes = {{"threads", {32}}, {"chain", {1024}}, {"iterations", {64}}}, .launch = ffma_chain}),
        Probe("ffma_rate", "How many FFMAs a clock does an SM sustain?", "ffma.cu", "fma/clk",
              "by clock64 of the median SM; registers: distinct ones that an FFMA reads",
              {.fields = {{"ffma_rate", Better::highest},
                          {"ffma_outer_rate", Better::highest, {{"registers", 3.0}}}}},
              {.axes = {{"registers", {2, 3}},
                        {"iterations", {500}},
                        {"threads_per_sm", {1024}},
                        {"accumulators", {16}}},
               .launch = ffma}),
        Probe("ffma_by_ilp", "How many with so many warps and so many independent FFMAs each?", "ffma_ilp.cu",
              "fma/clk", "by clock64 of the median SM, one CTA on each",
              {.curve = ProbeCurve(CurveAxis("warps", "1", true), ffma_rate, Better::highest, {"warps"},
                                   "ilp", "{} independent FFMAs")},
              {.axes = {{"ilp", {1, 2, 4, 8}},
                        {"warps", {1, 2, 4, 8, 16, 32}},
                        {"registers", {2}},
                        {"iterations", {100}}},
               .launch = ffma_ilp}),
        Probe(
            "ffma_by_operands",
            "How many when outer products of other sizes decide which registers they read?", "ffma_outer.cu",
            "fma/clk", "outer products; snake: every other row backwards; by clock64 of the median SM",
            {.curve = ProbeCurve(CurveAxis("products of an outer product", "1", true), ffma_rate,
                                 Better::highest, {"rows", "columns"})},
            {.axes =
                 {{"rows", {2, 4, 8, 16}}, {"columns", {2, 4, 8}}, {"snake", {0, 1}}, {"iterations", {500}}},
             .launch = ffma_outer}),
        Probe("ffma_beside_shared", "Do FFMAs and loads of shared memory overlap?", "ffma_shared.cu", "clk",
              "clocks of the median SM per iteration of one of its warps; LDS.32 without conflicts",
              {.fields = {{"ffma_shared_slowdown"}},
               .derive = derive_shared_slowdown,
               .draw = draw_beside_shared},
              {.axes = {{"ffmas", {32, 0}},
                        {"loads", {0, 32, 16, 8, 4, 2, 1}},
                        {"threads", {1024}},
                        {"iterations", {1024}}},
               .launch = ffma_shared}),
        Probe("half_rate", "How many FP16 products a clock does an SM sustain?", "half.cu", "fma/clk",
              "HFMA2, two products a lane, by clock64 of the median SM",
              {.fields = {{"half_rate", Better::highest}}},
              {.axes = {{"accumulators", {16}}, {"threads_per_sm", {1024}}, {"iterations", {500}}},
               .launch = half}),
        Probe("int8_rate", "How many 8-bit products a clock does an SM sustain?", "int8.cu", "fma/clk",
              "DP4A, four products a lane, by clock64 of the median SM",
              {.fields = {{"int8_rate", Better::highest}}},
              {.axes = {{"accumulators", {16}}, {"threads_per_sm", {1024}}, {"iterations", {500}}},
               .launch = int8}),
        Probe("tf32_mma_rate", "How many TF32 products a clock do the tensor cores of an SM sustain?",
              "tf32_mma.cu", "fma/clk", "mma m16n8k8, 8 accumulators a warp, by clock64 of the median SM",
              {.fields = {{"tf32_mma_rate", Better::highest}}},
              {.axes = {{"wgmma", {0, 1}}, {"iterations", {200}}},
               .launch = tf32,
               .least_capability = 80,
               .needs = "tensor cores multiply TF32 from compute capability 8.0 on",
               .wgmma = true}),
    };
}

} // namespace convcast
