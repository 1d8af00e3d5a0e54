#include "microbench/runners/harness.hpp"

#include <algorithm>
#include <utility>

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

/// As in l2_read.cu and l2_write.cu.
constexpr std::size_t ticket_bytes = 32 * 1024;

/// So many bytes stay in L2: where each half of it keeps a copy of its own, below half of it.
std::size_t resident_bytes(const ProbeContext &context, double part, std::size_t tile_bytes) {
    const double tiles =
        part * static_cast<double>(context.device.l2_bytes) / static_cast<double>(tile_bytes);
    return std::max<std::size_t>(static_cast<std::size_t>(tiles), 1) * tile_bytes;
}
constexpr double resident_part = 0.35;

/// A launch of CTAs whose warps draw tickets for tiles of a buffer, all of it `passes` times.
struct TicketGrid : Grid {
    unsigned ctas, tiles, passes;

    /// Every warp gets `each` tickets on average, so that the last ones are a small part of the time.
    TicketGrid(const ProbeContext &context, const Grid &grid, std::size_t buffer_bytes, unsigned each)
        : Grid(grid), ctas(all_ctas(context)), tiles(static_cast<unsigned>(buffer_bytes / ticket_bytes)),
          passes(1 + warps() * each / tiles) {}

    unsigned warps() const { return ctas * threads / 32; }
    unsigned tickets() const { return tiles * passes; }
    unsigned last_ticket() const { return tickets() + warps() - 1; }
    double bytes() const { return static_cast<double>(ticket_bytes) * tickets(); }
    Knobs knobs(const ProbeContext &context, const char *batch_knob) const {
        Knobs found = Grid::knobs(context, batch_knob, static_cast<double>(ticket_bytes) * tiles);
        found["passes"] = passes;
        return found;
    }
};

/// How the work of l2_read.cu is dealt out; the knob `dealt`.
constexpr double dealt_equally = 1, dealt_by_tickets = 2, dealt_by_ctas = 3;

ProbeSamples read_by_tickets(ProbeContext &context, const Module &module, const FilledBuffer &buffer,
                             const TicketGrid &grid, const StopWatchOptions &options) {
    const Kernel kernel = module.kernel("l2_read_tickets<" + std::to_string(grid.batch) + ">");
    DeviceBuffer<std::uint32_t> next = zeros(1), sink = zeros(std::size_t{grid.ctas} * grid.threads);
    Knobs knobs = grid.knobs(context, "loads");
    knobs["dealt"] = dealt_by_tickets;
    ProbeSamples samples = timed(
        context,
        [&](cudaStream_t stream) {
            kernel.launch_with(dim3(grid.ctas), dim3(grid.threads), 0, stream, buffer.data.data(), grid.tiles,
                               grid.tickets(), grid.last_ticket(), next.data(), sink.data());
        },
        options, std::move(knobs), grid.bytes());
    expect_sum(sink, buffer.sum * grid.passes, "l2_read_tickets");
    return samples;
}

ProbeSamples write_by_tickets(ProbeContext &context, const Module &module, DeviceBuffer<uint4> &buffer,
                              const TicketGrid &grid, bool fenced, const StopWatchOptions &options) {
    const Kernel kernel =
        module.kernel("l2_write<" + std::to_string(grid.batch) + ", " + (fenced ? "true" : "false") + ">");
    DeviceBuffer<std::uint32_t> next = zeros(1);
    Knobs knobs = grid.knobs(context, "stores");
    if (!fenced)
        knobs.erase("bytes_in_flight"); // not known
    buffer.fill_bytes(0);
    ProbeSamples samples = timed(
        context,
        [&](cudaStream_t stream) {
            kernel.launch_with(dim3(grid.ctas), dim3(grid.threads), 0, stream, buffer.data(), grid.tiles,
                               grid.tickets(), grid.last_ticket(), next.data());
        },
        options, std::move(knobs), grid.bytes());
    expect_written(context, buffer, buffer.size(), "wrong_quick_words", "l2_write");
    return samples;
}

ProbeSamples read_equally(ProbeContext &context, const Module &module) {
    constexpr unsigned threads = 512, ctas_per_sm = 2, loads = 4, passes = 3;
    constexpr std::size_t tile_bytes = std::size_t{threads} * loads * sizeof(uint4);
    const Kernel kernel = module.kernel("l2_read_all<" + std::to_string(loads) + ">");
    const unsigned ctas = ctas_per_sm * sms(context);
    const unsigned tiles =
        prime_at_most(static_cast<unsigned>(resident_bytes(context, resident_part, tile_bytes) / tile_bytes));
    const FilledBuffer buffer(context, tiles * tile_bytes);
    DeviceBuffer<std::uint32_t> sink = zeros(std::size_t{ctas} * threads);
    ProbeSamples samples = timed(
        context,
        [&](cudaStream_t stream) {
            kernel.launch_with(dim3(ctas), dim3(threads), 0, stream, buffer.data.data(), tiles, passes,
                               sink.data());
        },
        bandwidth_options(L2State::warm),
        {{"buffer_bytes", buffer.bytes()},
         {"ctas_per_sm", ctas_per_sm},
         {"threads", threads},
         {"loads", loads},
         {"passes", passes},
         {"dealt", dealt_equally}},
        buffer.bytes() * passes * ctas, "16 B a lane, past L1, L2 warm; every CTA reads all of the buffer");
    expect_sum(sink, buffer.sum * passes * ctas, "l2_read_all");
    return samples;
}

ProbeSamples read_by_ctas(ProbeContext &context, const Module &module, unsigned loads) {
    constexpr unsigned threads = 1024, elements = 64, ctas_per_slice = 400;
    constexpr std::size_t slice_bytes = std::size_t{threads} * elements * sizeof(uint2);
    const Kernel kernel = module.kernel("l2_read_slices<" + std::to_string(loads) + ">");
    const FilledBuffer buffer(context, resident_bytes(context, resident_part, slice_bytes));
    const auto slices = static_cast<unsigned>(buffer.data.bytes() / slice_bytes);
    DeviceBuffer<std::uint32_t> sink(slices);
    const auto call = [&](cudaStream_t stream) {
        kernel.launch_with(dim3(slices * ctas_per_slice), dim3(threads), 0, stream,
                           reinterpret_cast<const uint2 *>(buffer.data.data()), slices, sink.data());
    };
    ProbeSamples samples = timed(context, call, bandwidth_options(L2State::warm),
                                 {{"buffer_bytes", buffer.bytes()},
                                  {"threads", threads},
                                  {"loads", loads},
                                  {"slice_bytes", static_cast<double>(slice_bytes)},
                                  {"passes", ctas_per_slice},
                                  {"dealt", dealt_by_ctas}},
                                 buffer.bytes() * ctas_per_slice,
                                 "8 B a lane, past L1, L2 warm; each of many CTAs reads one slice");
    sink.fill_bytes(0); // the kernel adds to it
    call(context.watch.stream());
    wait(context, "cudaStreamSynchronize after l2_read_slices");
    expect_sum(sink, buffer.sum * ctas_per_slice, "l2_read_slices");
    return samples;
}

Samples l2_read_bandwidth(ProbeContext &context, const Module &module) {
    Samples all = {read_equally(context, module), read_by_ctas(context, module, 8),
                   read_by_ctas(context, module, 16)};
    for (const double part : {0.25, resident_part, 0.45}) {
        const FilledBuffer buffer(context, resident_bytes(context, part, ticket_bytes));
        for (const Grid &grid : {Grid{2, 512, 4}, {1, 1024, 8}, {1, 512, 8}})
            all.push_back(read_by_tickets(context, module, buffer,
                                          TicketGrid(context, grid, buffer.data.bytes(), 64),
                                          bandwidth_options(L2State::warm)));
    }
    return all;
}

Samples l2_read_curve(ProbeContext &context, const Module &module) {
    const FilledBuffer buffer(context, resident_bytes(context, resident_part, ticket_bytes));
    Samples all;
    for (const Grid &point : points_in_flight())
        all.push_back(read_by_tickets(context, module, buffer,
                                      TicketGrid(context, point, buffer.data.bytes(), 24),
                                      sweep_options(L2State::warm)));
    return all;
}

Samples l2_write_bandwidth(ProbeContext &context, const Module &module) {
    Samples all;
    for (const double part : {0.2, resident_part}) {
        DeviceBuffer<uint4> buffer(resident_bytes(context, part, ticket_bytes) / sizeof(uint4));
        for (const Grid &grid : {Grid{2, 512, 4}, {1, 1024, 4}, {1, 512, 4}})
            all.push_back(write_by_tickets(context, module, buffer,
                                           TicketGrid(context, grid, buffer.bytes(), 64), false,
                                           bandwidth_options(L2State::warm)));
    }
    return all;
}

Samples l2_write_curve(ProbeContext &context, const Module &module) {
    DeviceBuffer<uint4> buffer(resident_bytes(context, resident_part, ticket_bytes) / sizeof(uint4));
    Samples all;
    for (const Grid &point : points_in_flight())
        all.push_back(write_by_tickets(context, module, buffer,
                                       TicketGrid(context, point, buffer.bytes(), 24), true,
                                       sweep_options(L2State::warm)));
    return all;
}

} // namespace

ProbeRuns l2_runs() {
    return {{"l2_read_bandwidth", l2_read_bandwidth},
            {"l2_read_curve", l2_read_curve},
            {"l2_write_bandwidth", l2_write_bandwidth},
            {"l2_write_curve", l2_write_curve}};
}

} // namespace convcast::probe
