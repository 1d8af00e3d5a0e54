#include "microbench/runners/harness.hpp"

#include <algorithm>

namespace convcast::probe {
namespace {

Samples read_with(ProbeContext &context, const Module &module, const std::vector<Grid> &grids) {
    const FilledBuffer buffer(context, dram_bytes(context));
    Samples all;
    for (const Grid &grid : grids) {
        const Kernel kernel = module.kernel("dram_read<" + std::to_string(grid.batch) + ">");
        DeviceBuffer<std::uint32_t> sink = zeros(std::size_t{grid.all_ctas(context)} * grid.threads);
        const unsigned long long count = buffer.data.size();
        all.push_back(timed(
            context,
            [&](cudaStream_t stream) {
                kernel.launch_with(dim3(grid.all_ctas(context)), dim3(grid.threads), 0, stream,
                                   buffer.data.data(), count, sink.data());
            },
            bandwidth_options(L2State::cold), grid.knobs(context, "loads", buffer.bytes()), buffer.bytes()));
        expect_sum(sink, buffer.sum, "dram_read");
    }
    return all;
}

/// Of a buffer, in vectors of 16 bytes: with little in flight a part of it takes long enough, and is still
/// far beyond L2.
struct DramPart {
    std::size_t all, least;

    explicit DramPart(const ProbeContext &context)
        : all(dram_bytes(context) / sizeof(uint4)),
          least(std::max(all / 4, 4 * context.device.l2_bytes / sizeof(uint4))) {}

    std::size_t count_for(const Grid &point) const {
        return point.bytes_per_sm() < 8.0 * 1024.0 ? least : all;
    }
};

/// Warm, which is: the same writes ran right before. They leave L2 full of lines to be written back, as many
/// as this call itself leaves behind, so the bytes written to DRAM in its time are those it stores.
ProbeSamples write_with(ProbeContext &context, const Module &module, DeviceBuffer<uint4> &buffer,
                        std::size_t size, const Grid &grid, bool fenced) {
    const Kernel kernel =
        module.kernel(fenced ? "dram_write_fenced<" + std::to_string(grid.batch) + ">" : "dram_write");
    const unsigned long long count = size;
    const double bytes = 16.0 * static_cast<double>(count);
    Knobs knobs = grid.knobs(context, "stores", bytes);
    if (!fenced)
        knobs = {{"ctas_per_sm", grid.ctas_per_sm}, {"threads", grid.threads}, {"buffer_bytes", bytes}};
    buffer.fill_bytes(0);
    ProbeSamples samples = timed(
        context,
        [&](cudaStream_t stream) {
            kernel.launch_with(dim3(grid.all_ctas(context)), dim3(grid.threads), 0, stream, buffer.data(),
                               count);
        },
        fenced ? sweep_options(L2State::warm) : bandwidth_options(L2State::warm), knobs, bytes);
    expect_written(context, buffer, size, fenced ? "wrong_quick_words" : "wrong_words",
                   fenced ? "dram_write_fenced" : "dram_write");
    return samples;
}

/// Warm for the same reason. Of what is read, the last copy left the end in L2, and this one evicts that
/// before it comes there.
ProbeSamples copy_with(ProbeContext &context, const Module &module, const FilledBuffer &source,
                       DeviceBuffer<uint4> &target, std::size_t size, const Grid &grid, bool streaming,
                       bool fenced) {
    const auto text = [](bool value) { return std::string(value ? "true" : "false"); };
    const Kernel kernel = module.kernel("dram_copy<" + std::to_string(grid.batch) + ", " + text(streaming) +
                                        ", " + text(fenced) + ">");
    const unsigned long long count = size;
    const double bytes = 16.0 * static_cast<double>(count);
    Knobs knobs = grid.knobs(context, "loads", bytes);
    knobs["streaming"] = streaming;
    target.fill_bytes(0);
    ProbeSamples samples = timed(
        context,
        [&](cudaStream_t stream) {
            kernel.launch_with(dim3(grid.all_ctas(context)), dim3(grid.threads), 0, stream,
                               source.data.data(), target.data(), count);
        },
        fenced ? sweep_options(L2State::warm) : bandwidth_options(L2State::warm), std::move(knobs),
        2.0 * bytes);
    expect_written(context, target, size, "wrong_words", "dram_copy");
    return samples;
}

Samples dram_read_bandwidth(ProbeContext &context, const Module &module) {
    return read_with(context, module, {{2, 512, 4}, {4, 256, 4}, {4, 512, 4}, {2, 512, 8}});
}

Samples dram_read_curve(ProbeContext &context, const Module &module) {
    return read_with(context, module, points_in_flight());
}

Samples dram_write_bandwidth(ProbeContext &context, const Module &module) {
    DeviceBuffer<uint4> buffer(dram_bytes(context) / sizeof(uint4));
    Samples all;
    for (const Grid &grid : {Grid{4, 256, 1}, {2, 512, 1}, {8, 256, 1}})
        all.push_back(write_with(context, module, buffer, buffer.size(), grid, false));
    return all;
}

Samples dram_write_curve(ProbeContext &context, const Module &module) {
    const DramPart part(context);
    DeviceBuffer<uint4> buffer(part.all);
    Samples all;
    for (const Grid &point : points_in_flight())
        all.push_back(write_with(context, module, buffer, part.count_for(point), point, true));
    return all;
}

Samples dram_copy_bandwidth(ProbeContext &context, const Module &module) {
    const FilledBuffer from(context, dram_bytes(context));
    DeviceBuffer<uint4> to(from.data.size());
    Samples all;
    const auto take = [&](const Grid &grid, bool streaming) {
        all.push_back(copy_with(context, module, from, to, to.size(), grid, streaming, false));
    };
    for (const unsigned batch : {4u, 8u})
        for (const bool streaming : {false, true})
            take({2, 512, batch}, streaming);
    take({4, 256, 8}, true);
    take({1, 512, 8}, true);
    return all;
}

Samples dram_copy_curve(ProbeContext &context, const Module &module) {
    const DramPart part(context);
    const FilledBuffer from(context, part.all * sizeof(uint4));
    DeviceBuffer<uint4> to(part.all);
    Samples all;
    for (const Grid &point : points_in_flight())
        all.push_back(copy_with(context, module, from, to, part.count_for(point), point, false, true));
    return all;
}

} // namespace

ProbeRuns dram_runs() {
    return {{"dram_read_bandwidth", dram_read_bandwidth}, {"dram_write_bandwidth", dram_write_bandwidth},
            {"dram_copy_bandwidth", dram_copy_bandwidth}, {"dram_read_curve", dram_read_curve},
            {"dram_write_curve", dram_write_curve},       {"dram_copy_curve", dram_copy_curve}};
}

} // namespace convcast::probe
