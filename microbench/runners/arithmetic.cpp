#include "microbench/runners/harness.hpp"

#include <cmath>
#include <utility>

namespace convcast::probe {
namespace {

constexpr unsigned ffma_threads = 512, ffma_ctas_per_sm = 2;
constexpr double ffmas_per_iteration = 512.0; // of one thread: steps * 16 in ffma.cu

std::vector<Rate> ffma_rates(const ProbeContext &context, const Module &module, int registers,
                             unsigned iterations, Seconds warm_up) {
    const Kernel kernel = module.kernel("ffma<" + std::to_string(registers) + ">");
    const unsigned ctas = ffma_ctas_per_sm * sms(context);
    DeviceBuffer<float> sink(std::size_t{ctas} * ffma_threads);
    sink.fill_bytes(0);
    float *const sink_data = sink.data();
    constexpr float scale = 0.001f;
    std::vector<Rate> found = rates(context, ctas, warm_up, [&](Span *spans) {
        kernel.launch_with(dim3(ctas), dim3(ffma_threads), 0, context.watch.stream(), iterations, scale,
                           sink_data, spans);
    });
    for (const float value : sink.to_host())
        if (!(std::isfinite(value) && value > 0.0f)) // all terms are positive
            throw GpuError("ffma computed " + std::to_string(value) + ", expected a number above zero");
    return found;
}

struct CountedLaunch {
    const Kernel &kernel;
    unsigned threads, ctas_per_sm, iterations;
    std::size_t dynamic_shared_bytes = 0;
};

/// Of a kernel whose threads each leave an unsigned, `expected(thread of its CTA)`.
template <class Expected>
std::vector<Rate> counted_rates(const ProbeContext &context, const CountedLaunch &launch, Seconds warm_up,
                                const Expected &expected) {
    const unsigned ctas = launch.ctas_per_sm * sms(context);
    DeviceBuffer<std::uint32_t> sink(std::size_t{ctas} * launch.threads);
    sink.fill_bytes(0);
    std::uint32_t *const sink_data = sink.data();
    std::vector<Rate> found = rates(context, ctas, warm_up, [&](Span *spans) {
        launch.kernel.launch_with(dim3(ctas), dim3(launch.threads), launch.dynamic_shared_bytes,
                                  context.watch.stream(), launch.iterations, sink_data, spans);
    });
    std::uint32_t sum = 0;
    for (unsigned thread = 0; thread < launch.threads; ++thread)
        sum += expected(thread);
    expect_sum(sink, sum * ctas, launch.kernel.name());
    return found;
}

/// Permits and returns the dynamic shared memory with which no second CTA fits on an SM, however small.
std::size_t alone_on_sm(const ProbeContext &context, const Kernel &kernel) {
    kernel.allow_shared(context.device.shared_per_block_bytes);
    return context.device.shared_per_block_bytes;
}

/// What the operands of an outer product add up to, as ffma_outer.cu and ffma_shared.cu set them.
std::uint32_t sum_of_x(unsigned rows, unsigned thread) {
    return rows * (rows + 1) / 2 + rows * (thread % 2);
}
std::uint32_t sum_of_w(unsigned columns, unsigned thread) {
    return columns * (columns + 1) / 2 + columns * (thread % 3);
}

} // namespace

Samples sm_clock(ProbeContext &context, const Module &module) {
    constexpr unsigned iterations = 2000; // about 4 ms at 128 lanes a SM: the timer's tick is 1/4000 of it
    constexpr int registers = 3;
    return {samples_from(ffma_rates(context, module, registers, iterations, wake_up), "sm_clock", "Hz",
                         {{"registers", registers}, {"iterations", iterations}},
                         "clock64 over globaltimer on the median SM while all SMs run FFMAs",
                         [](const Rate &rate) { return rate.clock_hz; })};
}

Samples ffma_rate(ProbeContext &context, const Module &module) {
    constexpr unsigned iterations = 500;
    Samples all;
    for (const int registers : {2, 3})
        all.push_back(samples_from(
            ffma_rates(context, module, registers, iterations, short_warm_up), "ffma_rate", "fma/clk",
            {{"registers", registers},
             {"iterations", iterations},
             {"threads_per_sm", ffma_threads * ffma_ctas_per_sm},
             {"accumulators", 16}},
            "by clock64 of the median SM; registers: distinct ones that an FFMA reads", [](const Rate &rate) {
                return ffmas_per_iteration * iterations * ffma_threads / rate.cycles_per_cta;
            }));
    return all;
}

Samples ffma_latency(ProbeContext &context, const Module &module) {
    constexpr unsigned threads = 32, iterations = 64, chain = 1024;
    const Kernel kernel = module.kernel("ffma_chain");
    DeviceBuffer<float> sink(std::size_t{sms(context)} * threads);
    sink.fill_bytes(0);
    float *const sink_data = sink.data();
    const std::vector<Rate> found = rates(context, sms(context), short_warm_up, [&](Span *spans) {
        kernel.launch_with(dim3(sms(context)), dim3(threads), alone_on_sm(context, kernel),
                           context.watch.stream(), iterations, sink_data, spans);
    });
    const std::vector<float> sums = sink.to_host();
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const std::size_t thread = i % threads;
        const auto expected = static_cast<float>(iterations * chain * (1 + thread % 4) * (1 + thread % 2));
        if (sums[i] != expected)
            throw GpuError("ffma_chain computed " + std::to_string(sums[i]) + ", expected " +
                           std::to_string(expected));
    }
    return {samples_from(found, "ffma_latency", "clk",
                         {{"threads", threads}, {"chain", chain}, {"iterations", iterations}},
                         "clock64 of the median SM over a chain of dependent FFMAs, one warp on each SM",
                         [](const Rate &rate) { return rate.cycles_per_cta / (iterations * chain); })};
}

Samples ffma_by_ilp(ProbeContext &context, const Module &module) {
    constexpr unsigned iterations = 100, ffmas = 512;
    Samples all;
    for (const unsigned ilp : {1u, 2u, 4u, 8u}) {
        const Kernel kernel = module.kernel("ffma_ilp<" + std::to_string(ilp) + ">");
        for (const unsigned warps : {1u, 2u, 4u, 8u, 16u, 32u}) {
            const CountedLaunch launch{kernel, 32 * warps, 1, iterations, alone_on_sm(context, kernel)};
            const std::vector<Rate> found =
                counted_rates(context, launch, warm_up_after(all), [](unsigned thread) {
                    return iterations * ffmas / 2 * (thread % 2 == 0 ? 1 + 4 : 4 + 9); // x * x of two x
                });
            all.push_back(samples_from(
                found, "ffma_by_ilp", "fma/clk",
                {{"ilp", ilp}, {"warps", warps}, {"registers", 2}, {"iterations", iterations}},
                "by clock64 of the median SM, one CTA on each", [&](const Rate &rate) {
                    return static_cast<double>(iterations * ffmas * launch.threads) / rate.cycles_per_cta;
                }));
        }
    }
    return all;
}

Samples ffma_by_operands(ProbeContext &context, const Module &module) {
    constexpr unsigned iterations = 500, ffmas = 512, threads = 256;
    Samples all;
    for (const auto &[rows, columns] : {std::pair{2u, 2u}, {4u, 2u}, {4u, 4u}, {8u, 4u}, {8u, 8u}, {16u, 8u}})
        for (const unsigned snake : {0u, 1u}) {
            const unsigned ctas_per_sm = rows * columns > 64 ? 1 : 2; // as in its launch bounds
            const Kernel kernel = module.kernel("ffma_outer<" + std::to_string(rows) + ", " +
                                                std::to_string(columns) + ", " + std::to_string(snake) + ">");
            const std::vector<Rate> found =
                counted_rates(context, {kernel, threads, ctas_per_sm, iterations}, warm_up_after(all),
                              [rows = rows, columns = columns](unsigned thread) {
                                  return iterations * (ffmas / (rows * columns)) * sum_of_x(rows, thread) *
                                         sum_of_w(columns, thread);
                              });
            all.push_back(samples_from(
                found, "ffma_by_operands", "fma/clk",
                {{"rows", rows},
                 {"columns", columns},
                 {"snake", snake},
                 {"threads_per_sm", threads * ctas_per_sm},
                 {"iterations", iterations}},
                "outer products; snake: every other row backwards; by clock64 of the median SM",
                [](const Rate &rate) { return 1.0 * iterations * ffmas * threads / rate.cycles_per_cta; }));
        }
    return all;
}

Samples ffma_beside_shared(ProbeContext &context, const Module &module) {
    constexpr unsigned iterations = 64, unrolled = 16, threads = 1024, places = 8;
    Samples all;
    const auto take = [&](unsigned ffmas, unsigned loads) {
        const Kernel kernel =
            module.kernel("ffma_shared<" + std::to_string(ffmas) + ", " + std::to_string(loads) + ">");
        const std::vector<Rate> found = counted_rates(
            context, {kernel, threads, 1, iterations}, warm_up_after(all), [&](unsigned thread) {
                std::uint32_t sum =
                    iterations * unrolled * ffmas / 16 * sum_of_x(4, thread) * sum_of_w(4, thread);
                if (loads > 0)
                    for (unsigned place = 0; place < places; ++place)
                        sum += word_at(128 * place + thread % 32);
                return sum;
            });
        all.push_back(samples_from(
            found, "ffma_beside_shared", "clk",
            {{"ffmas", ffmas}, {"loads", loads}, {"threads", threads}, {"iterations", iterations * unrolled}},
            "clocks of the median SM per iteration of one of its warps; LDS.32 without conflicts",
            [&](const Rate &rate) {
                return rate.cycles_per_cta / (iterations * unrolled * (threads / 32));
            }));
    };
    constexpr unsigned ffmas = 32;
    take(ffmas, 0);
    for (const unsigned loads : {32u, 16u, 8u, 4u, 2u, 1u}) {
        take(0, loads);
        take(ffmas, loads);
    }
    return all;
}

Samples half_rate(ProbeContext &context, const Module &module) {
    constexpr unsigned iterations = 500, accumulators = 16;
    constexpr std::uint32_t two_and_two = 0x40004000; // where every accumulator comes to rest
    const std::vector<Rate> found =
        counted_rates(context, {module.kernel("half_rate"), ffma_threads, ffma_ctas_per_sm, iterations},
                      short_warm_up, [](unsigned) { return accumulators * two_and_two; });
    return {samples_from(found, "half_rate", "fma/clk",
                         {{"accumulators", accumulators},
                          {"threads_per_sm", ffma_threads * ffma_ctas_per_sm},
                          {"iterations", iterations}},
                         "HFMA2, two products a lane, by clock64 of the median SM", [](const Rate &rate) {
                             return 2.0 * ffmas_per_iteration * iterations * ffma_threads /
                                    rate.cycles_per_cta;
                         })};
}

Samples int8_rate(ProbeContext &context, const Module &module) {
    constexpr unsigned iterations = 500, accumulators = 16, steps = 32;
    const auto dot = [](std::uint32_t x, std::uint32_t w) {
        int sum = 0;
        for (int byte = 0; byte < 4; ++byte)
            sum += static_cast<std::int8_t>(x >> (8 * byte)) * static_cast<std::int8_t>(w >> (8 * byte));
        return static_cast<std::uint32_t>(sum);
    };
    const std::vector<Rate> found =
        counted_rates(context, {module.kernel("int8_rate"), ffma_threads, ffma_ctas_per_sm, iterations},
                      short_warm_up, [&](unsigned thread) {
                          const unsigned lane = thread % 32;
                          return accumulators * (accumulators - 1) / 2 +
                                 accumulators * steps * iterations * dot(word_at(lane), word_at(32 + lane));
                      });
    return {samples_from(found, "int8_rate", "fma/clk",
                         {{"accumulators", accumulators},
                          {"threads_per_sm", ffma_threads * ffma_ctas_per_sm},
                          {"iterations", iterations}},
                         "DP4A, four products a lane, by clock64 of the median SM", [](const Rate &rate) {
                             return 4.0 * ffmas_per_iteration * iterations * ffma_threads /
                                    rate.cycles_per_cta;
                         })};
}

Samples tf32_mma_rate(ProbeContext &context, const Module &module) {
    const int capability = context.device.compute_capability();
    if (capability < 80)
        throw ProbeSkipped("tensor cores multiply TF32 from compute capability 8.0 on");
    constexpr unsigned iterations = 200, steps = 16;
    // A thread has rows lane / 4 and lane / 4 + 8 of two neighbouring columns of every eight; see
    // tf32_mma.cu.
    const auto sum_of = [](unsigned thread, unsigned eights, bool same_eight) {
        std::uint32_t sum = 0;
        for (unsigned eight = 0; eight < eights; ++eight)
            for (unsigned i = 0; i < 2; ++i)
                sum += 1 + ((same_eight ? 0 : eight * 8) + thread % 4 * 2 + i) % 3;
        const unsigned rows = 2, products = 8, row = thread % 32 / 4;
        return rows * products * steps * iterations * (1 + row % 2) * sum;
    };
    Samples all;
    const auto take = [&](const char *kernel, unsigned threads, double fmas_of_step, bool wgmma,
                          unsigned eights) {
        const unsigned ctas_per_sm = wgmma ? 1 : 2; // wgmma's accumulators take most registers
        const std::vector<Rate> found =
            counted_rates(context, {module.kernel(kernel), threads, ctas_per_sm, iterations}, short_warm_up,
                          [&](unsigned thread) { return sum_of(thread, eights, !wgmma); });
        all.push_back(samples_from(
            found, "tf32_mma_rate", "fma/clk",
            {{"wgmma", wgmma}, {"threads_per_sm", threads * ctas_per_sm}, {"iterations", iterations}},
            wgmma ? "wgmma m64n128k8, left factor in registers, by clock64 of the median SM"
                  : "mma m16n8k8, 8 accumulators a warp, by clock64 of the median SM",
            [&](const Rate &rate) { return fmas_of_step * steps * iterations / rate.cycles_per_cta; }));
    };
    constexpr unsigned mma_threads = 512, wgmma_threads = 256;
    constexpr double mma_fmas = 16.0 * 8.0 * 8.0, wgmma_fmas = 64.0 * 128.0 * 8.0;
    constexpr unsigned accumulators = 8;
    take("tf32_mma", mma_threads, mma_fmas * accumulators * mma_threads / 32.0, false, accumulators);
    constexpr int has_wgmma = 90;
    if (capability == has_wgmma)
        take("tf32_wgmma", wgmma_threads, wgmma_fmas * wgmma_threads / 128.0, true, 16);
    return all;
}

} // namespace convcast::probe
