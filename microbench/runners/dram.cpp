#include "microbench/runners/harness.hpp"

#include <algorithm>
#include <utility>

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

/// Of a buffer, in vectors of 16 bytes: with little in flight a part of it takes long enough, and is still
/// far beyond L2.
struct DramPart {
    std::size_t all, least;

    explicit DramPart(const ProbeContext &context)
        : all(dram_bytes(context) / sizeof(uint4)),
          least(std::max(all / 4, 4 * context.device.l2_bytes / sizeof(uint4))) {}

    std::size_t count_for(const InFlight &point) const {
        return point.bytes_per_sm() < 8.0 * 1024.0 ? least : all;
    }
};

struct CopyGrid {
    unsigned ctas_per_sm, threads, loads;
    bool streaming, fenced = false;
};

ProbeSamples dram_copy(ProbeContext &context, const Module &module, const DeviceBuffer<uint4> &source,
                       DeviceBuffer<uint4> &target, std::size_t size, const char *probe, const CopyGrid &grid,
                       const StopWatchOptions &options) {
    const auto text = [](bool value) { return std::string(value ? "true" : "false"); };
    const Kernel kernel = module.kernel("dram_copy<" + std::to_string(grid.loads) + ", " +
                                        text(grid.streaming) + ", " + text(grid.fenced) + ">");
    const uint4 *const from = source.data();
    uint4 *const to = target.data();
    const unsigned long long count = size;
    target.fill_bytes(0);
    // Warm for the same reason as in dram_write_bandwidth. Of what is read, the last copy left the end in L2,
    // and this one evicts that before it comes there.
    const SampleSeries series = context.watch.measure(
        [&](cudaStream_t stream) {
            kernel.launch_with(dim3(grid.ctas_per_sm * sms(context)), dim3(grid.threads), 0, stream, from, to,
                               count);
        },
        options);
    expect_written(context, target, size, "wrong_words", "dram_copy");
    const double bytes = 16.0 * static_cast<double>(count);
    return samples_from(
        series, probe, "B/s",
        {{"ctas_per_sm", grid.ctas_per_sm},
         {"threads", grid.threads},
         {"loads", grid.loads},
         {"streaming", grid.streaming ? 1.0 : 0.0},
         {"bytes_in_flight", 16.0 * grid.threads * grid.loads * grid.ctas_per_sm * sms(context)},
         {"buffer_bytes", bytes}},
        std::string("16 B a lane, bytes read and bytes written together; ") +
            (grid.fenced ? "a thread waits by __threadfence after each batch of stores; " : "") +
            "the same copy ran right before",
        2.0 * bytes);
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
    for (const InFlight &point : points_in_flight())
        all.push_back(dram_read(context, module, buffer, "dram_read_curve", {1, point.threads, point.batch}));
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
        expect_written(context, buffer, buffer.size(), "wrong_words", "dram_write");
        const auto bytes = static_cast<double>(buffer.bytes());
        all.push_back(
            samples_from(series, "dram_write_bandwidth", "B/s",
                         {{"ctas_per_sm", ctas_per_sm}, {"threads", threads}, {"buffer_bytes", bytes}},
                         "16 B a lane, write only, the same writes ran right before", bytes));
    }
    return all;
}

Samples dram_write_curve(ProbeContext &context, const Module &module) {
    const DramPart part(context);
    DeviceBuffer<uint4> buffer(part.all);
    uint4 *const data = buffer.data();
    Samples all;
    for (const InFlight &point : points_in_flight()) {
        const Kernel kernel = module.kernel("dram_write_fenced<" + std::to_string(point.batch) + ">");
        const unsigned long long count = part.count_for(point);
        buffer.fill_bytes(0);
        const SampleSeries series = context.watch.measure(
            [&](cudaStream_t stream) {
                kernel.launch_with(dim3(sms(context)), dim3(point.threads), 0, stream, data, count);
            },
            sweep_options(L2State::warm));
        expect_written(context, buffer, count, "wrong_quick_words", "dram_write_fenced");
        const double bytes = 16.0 * static_cast<double>(count);
        all.push_back(samples_from(series, "dram_write_curve", "B/s",
                                   {{"ctas_per_sm", 1},
                                    {"threads", point.threads},
                                    {"stores", point.batch},
                                    {"bytes_in_flight", point.bytes_per_sm() * sms(context)},
                                    {"buffer_bytes", bytes}},
                                   "16 B a lane; a thread waits by __threadfence after each batch of stores; "
                                   "the same writes ran right before",
                                   bytes));
    }
    return all;
}

Samples dram_copy_bandwidth(ProbeContext &context, const Module &module) {
    const FilledBuffer from(context, dram_bytes(context));
    DeviceBuffer<uint4> to(from.data.size());
    Samples all;
    for (const CopyGrid &grid : {CopyGrid{2, 512, 4, false},
                                 {2, 512, 4, true},
                                 {2, 512, 8, false},
                                 {2, 512, 8, true},
                                 {4, 256, 8, true},
                                 {1, 512, 8, true}})
        all.push_back(dram_copy(context, module, from.data, to, to.size(), "dram_copy_bandwidth", grid,
                                bandwidth_options(L2State::warm)));
    return all;
}

Samples dram_copy_curve(ProbeContext &context, const Module &module) {
    const DramPart part(context);
    const FilledBuffer from(context, part.all * sizeof(uint4));
    DeviceBuffer<uint4> to(part.all);
    Samples all;
    for (const InFlight &point : points_in_flight())
        all.push_back(dram_copy(context, module, from.data, to, part.count_for(point), "dram_copy_curve",
                                {1, point.threads, point.batch, false, true}, sweep_options(L2State::warm)));
    return all;
}

} // namespace convcast::probe
