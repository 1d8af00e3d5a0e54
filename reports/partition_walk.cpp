#include "reports/partition_walk.hpp"
#include "model/base/divide.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace convcast {
namespace {

/// Rows of the map in shared memory, as wide as the map.
PixelTile band(const ConvShape &s, std::int64_t rows) {
    const std::int64_t own = std::min(rows, s.p());
    return {own + s.r - 1, s.w, own, s.q()};
}

Walk division_walk(const ConvShape &s, const Partition &launch) { // R, S, Rows, Group, Stages, Wide
    const auto &t = launch.template_arguments;
    const bool filters_stay = launch.kernel == "filter_split";
    const std::int64_t shares = ceil_div(launch.grid[0], launch.parts);
    Walk walk;
    walk.buffers = {{"filters", CopiedTensor::filters, launch.bank_floats * 4, filters_stay ? 1 : t[4]},
                    {"map", CopiedTensor::map, launch.band_floats * 4, filters_stay ? t[4] : 1}};
    walk.threads = {launch.threads, 1, t[2], 1, t[3]};
    walk.pixels = band(s, filters_stay ? ceil_div(ceil_div(s.p(), launch.pieces), shares)
                                       : ceil_div(s.p(), launch.parts));
    walk.remark = fmt::format("{} come in {}, and the {} of an SM share each piece.",
                              filters_stay ? "The filters stay on the SM; the rows of the map"
                                           : "The rows of the map stay on the SM; the filters",
                              count_text(launch.pieces, "piece") + (filters_stay ? " (P)" : " (Q)"),
                              count_text(shares, "CTA"));
    return walk;
}

Walk ring_walk(const ConvShape &s, const Partition &launch) { // R, S, Rounds, ByFilters, Wide
    const auto &t = launch.template_arguments;
    const bool by_filters = t[3] == 1;
    const std::int64_t unit = t[4] == 1 ? 4 : 1, columns = ceil_div(ceil_div(s.q(), 2), unit) * unit;
    const std::int64_t all = by_filters ? launch.tile_k : launch.tile_h, piece = ceil_div(all, launch.pieces);
    const std::int64_t rows = by_filters ? launch.tile_h : piece;
    Walk walk;
    walk.buffers = {{"filters", CopiedTensor::filters, launch.bank_floats * 4, 1},
                    {"map", CopiedTensor::map, launch.band_floats * 4, 1}};
    walk.threads = {launch.threads, 1, 1, 1, 1};
    walk.pixels = {rows + s.r - 1, std::min(columns, s.q()) + s.s - 1, rows, std::min(columns, s.q())};
    if (launch.pieces == 1) {
        walk.remark = "All that an SM needs moves at once and lies there once: the two CTAs of an SM halve "
                      "its columns.";
        return walk;
    }
    walk.rounds_resident = t[2];
    walk.remark =
        fmt::format("The {} stay on the SM. The {} come in {} ({}) through a ring that has room for one: "
                    "what a round has "
                    "used makes room for data of the next piece. The two CTAs of an SM halve its columns.",
                    by_filters ? "rows of the map" : "filters", by_filters ? "filters" : "rows of the map",
                    count_text(launch.pieces, "piece"), by_filters ? "Q" : "P");
    return walk;
}

Walk channel_split_walk(const ConvShape &s, const Partition &launch) { // R, S, W, Rows, Group, Stages, Wide
    const auto &t = launch.template_arguments;
    const std::int64_t channels = ceil_div(s.c, launch.parts);
    Walk walk;
    walk.buffers = {{"filters", CopiedTensor::filters, launch.bank_floats * 4, 1},
                    {"map", CopiedTensor::map, channels * launch.band_floats * 4, t[5]}};
    walk.threads = {launch.threads, 1, t[3], 1, t[4]};
    walk.pixels = band(s, launch.tile_h);
    walk.remark = fmt::format(
        "C' = {} an SM. The {} partial sums of each output go through global memory; a second launch "
        "adds them.",
        count_text(channels, "channel"), launch.parts);
    return walk;
}

Walk filter_stream_walk(const ConvShape &s,
                        const Partition &launch) { // R, S, W, Rows, Group, Channels, Stages
    const auto &t = launch.template_arguments;
    const std::int64_t positions = ceil_div(launch.tile_h, t[3]) * s.q();
    Walk walk;
    walk.step_channels = t[5];
    walk.buffers = {{"filters", CopiedTensor::filters, launch.bank_floats * 4, 1},
                    {"map", CopiedTensor::map, t[5] * launch.band_floats * 4, t[6]}};
    walk.threads = {positions, std::max<std::int64_t>(1, launch.threads / positions), t[3], 1, t[4]};
    walk.pixels = band(s, launch.tile_h);
    walk.remark =
        fmt::format("M' = {} of all channels stay on the SM. The map streams past, {} of {} a step.",
                    count_text(ceil_div(s.k, launch.parts), "filter"), count_text(t[5], "channel"),
                    count_text(walk.pixels.rows, "row"));
    return walk;
}

Walk map_stream_walk(const ConvShape &s, const Partition &launch) { // R, S, W, Columns, Group, Stages, Wide
    const auto &t = launch.template_arguments;
    const std::int64_t groups = std::max<std::int64_t>(1, launch.tile_k / t[4]);
    Walk walk;
    walk.buffers = {{"filters", CopiedTensor::filters, launch.bank_floats * 4, t[5]},
                    {"map", CopiedTensor::map, ceil_div(s.c, launch.pieces) * launch.band_floats * 4, 1}};
    walk.threads = {32 * std::max<std::int64_t>(1, launch.threads / 32 / groups), groups, 1, t[3], t[4], 32};
    walk.pixels = band(s, launch.tile_h);
    walk.remark = fmt::format(
        "Its rows of the map stay on the SM, in {} of channels. All filters stream past, {} a step.",
        count_text(launch.pieces, "piece"), launch.tile_k);
    return walk;
}

Walk stride_fixed_walk(const ConvShape &,
                       const Partition &launch) { // R, S, Segment, TileW, TileK, Stages, PerThread
    const auto &t = launch.template_arguments;
    const std::int64_t pitch = ceil_div(t[2], 4) * 4;
    const std::int64_t lines = t[2] % t[1] == 0 ? t[2] / t[1] : (t[2] + t[1] - 2) / t[1] + 1;
    Walk walk;
    walk.step_values = t[2];
    walk.buffers = {{"filters", CopiedTensor::filters, t[4] * pitch * 4, t[5]},
                    {"offsets", CopiedTensor::offsets, pitch * 4, t[5]},
                    {"map", CopiedTensor::map, lines * (t[3] + (t[1] + 2) / 4 * 4) * 4, t[5]}};
    walk.threads = {32, t[4] / t[6], 1, t[3] / 32, t[6], 32};
    walk.pixels = {lines, t[3] + t[1] - 1, lines, t[3]};
    walk.remark = fmt::format(
        "A step brings S = {} bytes of each of M' = {} filters, and W'x = {} pixels of the {} that they "
        "touch.",
        t[2] * 4, t[4], t[3], count_text(lines, "line"));
    return walk;
}

Walk row_register_walk(const ConvShape &s,
                       const Partition &launch) { // R, S, Threads, Unit, Units, WholeUnits
    const auto &t = launch.template_arguments;
    Walk walk;
    walk.buffers = {{"a row of the map", CopiedTensor::map, launch.shared_bytes, 1}};
    walk.threads = {launch.threads, 1, 1, t[3] * t[4], 1};
    walk.threads.unit = t[3];
    walk.threads.apart = t[4] > 1 ? t[2] * t[3] : 1;
    const std::int64_t columns = t[2] * t[3] * t[4];
    walk.pixels = {launch.tile_h + s.r - 1, columns + s.s - 1, launch.tile_h, columns};
    walk.remark = fmt::format(
        "The CTA walks down: K = {} of the map are in registers, the next one comes through shared "
        "memory. {} in constant memory ({} bytes) are used one after another.",
        count_text(s.r, "row"), count_text(launch.filter_count, "filter"),
        grouped_digits(launch.constant_bytes));
    return walk;
}

Walk block_register_walk(const ConvShape &s, const Partition &launch) {
    const auto &t = launch.template_arguments; // R, S, TileW, TileH, TileK, Width, Group, Channels, Unit
    const std::int64_t taps = t[7] * t[0] * t[1], element = s.element_bytes();
    const std::int64_t bank = ceil_div(taps * (t[4] + t[8]), 4) * 4, pitch = t[2] + (t[1] + 2) / 4 * 4;
    Walk walk;
    walk.step_channels = t[7];
    walk.buffers = {{"filters", CopiedTensor::filters, bank * element, 2},
                    {"map", CopiedTensor::map, t[7] * (t[3] + t[0] - 1) * pitch * element, 2}};
    walk.threads = {t[2] / t[5] * t[3], t[4] / t[6], 1, t[5], t[6]};
    walk.threads.warp_along_pixels = false;
    walk.threads.unit = t[8];
    walk.pixels = {t[3] + t[0] - 1, t[2] + t[1] - 1, t[3], t[2]};
    walk.remark = fmt::format(
        "A step brings C_SH = {} of a block of W x H = {} x {} pixels and of F_TB = {} filters, which are "
        "transposed, with {} of padding a row.",
        count_text(t[7], "channel"), t[2], t[3], t[4], count_text(t[8], "element"));
    return walk;
}

Walk naive_walk(const ConvShape &s, const Partition &launch) {
    const auto &t =
        launch.template_arguments; // naive_shared: R, S, TileW, TileH, StrideH, StrideW, SharedMap
    Walk walk;
    walk.threads = {launch.threads, 1, 1, 1, 1};
    walk.remark = "Each multiply-add takes two loads: nothing is reused in registers.";
    if (launch.kernel == "naive_shared")
        walk.buffers = {{"filter", CopiedTensor::filters, launch.bank_floats * 4, 1}};
    if (launch.band_floats > 0) {
        walk.buffers.push_back({"map", CopiedTensor::map, launch.band_floats * 4, 1});
        walk.pixels = {(t[3] - 1) * t[4] + s.r, (t[2] - 1) * t[5] + s.s, t[3] * t[4], t[2] * t[5]};
    }
    return walk;
}

} // namespace

std::string grouped_digits(std::int64_t value) {
    std::string text = std::to_string(value);
    for (auto i = static_cast<std::ptrdiff_t>(text.size()) - 3; i > 0; i -= 3)
        text.insert(static_cast<std::size_t>(i), ",");
    return text;
}

std::string count_text(std::int64_t count, const char *what) {
    return grouped_digits(count) + " " + what + (count == 1 ? "" : "s");
}

Walk walk_of(const ConvShape &shape, const Partition &launch) {
    if (launch.kernel == "filter_split" || launch.kernel == "map_split")
        return division_walk(shape, launch);
    if (launch.kernel == "split_walk")
        return ring_walk(shape, launch);
    if (launch.kernel == "channel_split")
        return channel_split_walk(shape, launch);
    if (launch.kernel == "filter_stream")
        return filter_stream_walk(shape, launch);
    if (launch.kernel == "map_stream")
        return map_stream_walk(shape, launch);
    if (launch.kernel == "stride_fixed_block")
        return stride_fixed_walk(shape, launch);
    if (launch.kernel == "row_register")
        return row_register_walk(shape, launch);
    if (launch.kernel == "block_register")
        return block_register_walk(shape, launch);
    return naive_walk(shape, launch);
}

} // namespace convcast
