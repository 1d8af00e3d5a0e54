#include "microbench/runners/harness.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace convcast::probe {
namespace {

struct ReadGrid {
    unsigned ctas_per_sm, threads, loads;
    double bytes_per_sm() const { return 16.0 * ctas_per_sm * threads * loads; }
};

ProbeSamples dram_read(ProbeContext &context, const Module &module, const FilledBuffer &buffer,
                       const char *probe, const ReadGrid &grid) {
    const Kernel kernel = module.kernel("dram_read<" + std::to_string(grid.loads) + ">");
    const unsigned ctas = grid.ctas_per_sm * sms(context);
    DeviceBuffer<std::uint32_t> sink(std::size_t{ctas} * grid.threads);
    sink.fill_bytes(0);
    const uint4 *const data = buffer.data.data();
    const unsigned long long count = buffer.data.size();
    std::uint32_t *const sink_data = sink.data();
    const SampleSeries series = context.watch.measure(
        [&](cudaStream_t stream) {
            kernel.launch_with(dim3(ctas), dim3(grid.threads), 0, stream, data, count, sink_data);
        },
        bandwidth_options(L2State::cold));
    expect_sum(sink, buffer.sum, "dram_read");
    const auto bytes = static_cast<double>(buffer.data.bytes());
    return samples_from(series, probe, "B/s",
                        {{"ctas_per_sm", grid.ctas_per_sm},
                         {"threads", grid.threads},
                         {"loads", grid.loads},
                         {"bytes_in_flight", grid.bytes_per_sm() * sms(context)},
                         {"buffer_bytes", bytes}},
                        "16 B a lane, read only, L2 flushed before", bytes);
}

} // namespace

Samples dram_read_bandwidth(ProbeContext &context, const Module &module) {
    const FilledBuffer buffer(context, dram_bytes(context));
    Samples all;
    for (const ReadGrid &grid :
         {ReadGrid{2, 512, 4}, ReadGrid{4, 256, 4}, ReadGrid{4, 512, 4}, ReadGrid{2, 512, 8}})
        all.push_back(dram_read(context, module, buffer, "dram_read_bandwidth", grid));
    return all;
}

Samples dram_read_curve(ProbeContext &context, const Module &module) {
    const FilledBuffer buffer(context, dram_bytes(context));
    Samples all;
    // From a fraction to several times (latency x bandwidth) of any GPU since Volta, which is 2 to 20 KiB an
    // SM. One CTA on each SM, so that the load is the same everywhere.
    for (const unsigned kib : {1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u, 24u, 32u, 48u, 64u, 96u, 128u}) {
        const unsigned warp_loads = kib * 2; // of 512 bytes
        unsigned loads = 1;
        while (loads < 8 && warp_loads / loads > 16)
            loads *= 2;
        all.push_back(
            dram_read(context, module, buffer, "dram_read_curve", {1, 32 * warp_loads / loads, loads}));
    }
    return all;
}

Samples dram_write_bandwidth(ProbeContext &context, const Module &module) {
    const Kernel kernel = module.kernel("dram_write");
    DeviceBuffer<uint4> buffer(dram_bytes(context) / sizeof(uint4));
    uint4 *const data = buffer.data();
    const unsigned long long count = buffer.size();
    Samples all;
    for (const auto &[ctas_per_sm, threads] : {std::pair{4u, 256u}, {2u, 512u}, {8u, 256u}}) {
        buffer.fill_bytes(0);
        // Warm, which is: the same writes ran right before. They leave L2 full of lines to be written back,
        // as many as this call itself leaves behind, so the bytes written to DRAM in its time are those it
        // stores.
        const SampleSeries series = context.watch.measure(
            [&](cudaStream_t stream) {
                kernel.launch_with(dim3(ctas_per_sm * sms(context)), dim3(threads), 0, stream, data, count);
            },
            bandwidth_options(L2State::warm));
        std::vector<std::uint32_t> seen(4);
        for (const std::size_t at : {std::size_t{0}, buffer.size() / 2, buffer.size() - 1}) {
            check(cudaMemcpy(seen.data(), data + at, sizeof(uint4), cudaMemcpyDeviceToHost), "cudaMemcpy");
            for (std::size_t i = 0; i < seen.size(); ++i)
                if (seen[i] != word_at(static_cast<std::uint32_t>(4 * at + i)))
                    throw GpuError("dram_write did not write what it was to write");
        }
        const auto bytes = static_cast<double>(buffer.bytes());
        all.push_back(
            samples_from(series, "dram_write_bandwidth", "B/s",
                         {{"ctas_per_sm", ctas_per_sm}, {"threads", threads}, {"buffer_bytes", bytes}},
                         "16 B a lane, write only, the same writes ran right before", bytes));
    }
    return all;
}

Samples dram_copy_bandwidth(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

Samples dram_write_curve(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

Samples dram_copy_curve(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

} // namespace convcast::probe
