#include "microbench/runners/harness.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

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

Samples ffma_latency(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

Samples ffma_by_ilp(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

Samples ffma_by_operands(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

Samples ffma_beside_shared(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

Samples half_rate(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

Samples int8_rate(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

} // namespace convcast::probe
