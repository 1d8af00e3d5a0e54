#include "reports/partition_regions.hpp"
#include "model/base/divide.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {
namespace {

/// The i-th share of `size` where each has `share`.
IndexRange share_of(std::int64_t i, std::int64_t share, std::int64_t size) {
    return {std::min(i * share, size), std::min((i + 1) * share, size)};
}

/// The `half`-th part of a piece of `size` that is divided into pieces, each piece into `shares`.
IndexRange part_of_piece(std::int64_t piece, std::int64_t pieces, std::int64_t half, std::int64_t shares,
                         std::int64_t size) {
    const std::int64_t all = ceil_div(size, pieces), part = ceil_div(all, shares);
    const std::int64_t begin = piece * all + half * part;
    const std::int64_t end = std::min({(piece + 1) * all, size, begin + part});
    return {begin, std::max(begin, end)};
}

struct Place {
    std::int64_t x, y, z;
};

std::int64_t argument(const Partition &launch, std::size_t place) {
    if (place >= launch.template_arguments.size())
        throw std::invalid_argument("a launch of " + launch.kernel + " has no template argument " +
                                    std::to_string(place));
    return launch.template_arguments[place];
}

using Boxes = std::vector<OutputBox>;

Boxes filter_split(const ConvShape &s, const Partition &launch, Place at) {
    const std::int64_t part = at.x % launch.parts, half = at.x / launch.parts;
    const std::int64_t shares = ceil_div(launch.grid[0], launch.parts);
    const IndexRange filters = share_of(part, ceil_div(s.k, launch.parts), s.k);
    Boxes boxes;
    for (std::int64_t piece = 0; piece < launch.pieces; ++piece)
        boxes.push_back({{at.y, at.y + 1},
                         filters,
                         part_of_piece(piece, launch.pieces, half, shares, s.p()),
                         {0, s.q()},
                         {0, s.c}});
    return boxes;
}

Boxes map_split(const ConvShape &s, const Partition &launch, Place at) {
    const std::int64_t part = at.x % launch.parts, half = at.x / launch.parts;
    const std::int64_t shares = ceil_div(launch.grid[0], launch.parts);
    const IndexRange rows = share_of(part, ceil_div(s.p(), launch.parts), s.p());
    Boxes boxes;
    for (std::int64_t piece = 0; piece < launch.pieces; ++piece)
        boxes.push_back({{at.y, at.y + 1},
                         part_of_piece(piece, launch.pieces, half, shares, s.k),
                         rows,
                         {0, s.q()},
                         {0, s.c}});
    return boxes;
}

/// Rows or filters pass through a ring in rounds; the two CTAs of an SM halve the columns of its share.
Boxes split_walk(const ConvShape &s, const Partition &launch, Place at) {
    const bool by_filters = argument(launch, 3) == 1;
    const std::int64_t rounds = argument(launch, 2), unit = argument(launch, 4) == 1 ? 4 : 1;
    const std::int64_t part = at.x % launch.parts, half = at.x / launch.parts,
                       map_shares = ceil_div(s.p(), launch.tile_h);
    const IndexRange filters = share_of(part / map_shares, launch.tile_k, s.k),
                     rows = share_of(part % map_shares, launch.tile_h, s.p());
    const std::int64_t half_columns = ceil_div(ceil_div(s.q(), 2), unit) * unit;
    const IndexRange columns = share_of(half, half_columns, s.q());
    const IndexRange all = by_filters ? filters : rows;
    const std::int64_t piece = ceil_div(by_filters ? launch.tile_k : launch.tile_h, launch.pieces),
                       round = launch.pieces == 1 ? piece : std::max<std::int64_t>(1, piece / rounds);
    Boxes boxes;
    for (std::int64_t begin = all.begin; begin < all.end; begin += round) {
        const IndexRange now{begin, std::min(begin + round, all.end)};
        boxes.push_back(
            {{at.y, at.y + 1}, by_filters ? now : filters, by_filters ? rows : now, columns, {0, s.c}});
    }
    return boxes;
}

/// Bands of rows, one after another.
Boxes bands_of(const ConvShape &s, const Partition &launch, Place at, IndexRange filters,
               IndexRange channels) {
    Boxes boxes;
    for (std::int64_t band = 0; band * launch.tile_h < s.p(); ++band)
        boxes.push_back(
            {{at.y, at.y + 1}, filters, share_of(band, launch.tile_h, s.p()), {0, s.q()}, channels});
    return boxes;
}

Boxes channel_split(const ConvShape &s, const Partition &launch, Place at) {
    const IndexRange channels = share_of(at.x, ceil_div(s.c, launch.parts), s.c);
    Boxes boxes;
    for (std::int64_t piece = 0; piece * launch.tile_k < s.k; ++piece)
        for (const OutputBox &box : bands_of(s, launch, at, share_of(piece, launch.tile_k, s.k), channels))
            boxes.push_back(box);
    return boxes;
}

Boxes filter_stream(const ConvShape &s, const Partition &launch, Place at) {
    return bands_of(s, launch, at, share_of(at.x, ceil_div(s.k, launch.parts), s.k), {0, s.c});
}

/// Pieces of the channels add to the same outputs one after another.
Boxes map_stream(const ConvShape &s, const Partition &launch, Place at) {
    Boxes boxes;
    for (std::int64_t piece = 0; piece < launch.pieces; ++piece)
        for (std::int64_t step = 0; step * launch.tile_k < s.k; ++step)
            boxes.push_back({{at.y, at.y + 1},
                             share_of(step, launch.tile_k, s.k),
                             share_of(at.x, launch.tile_h, s.p()),
                             {0, s.q()},
                             share_of(piece, ceil_div(s.c, launch.pieces), s.c)});
    return boxes;
}

/// A span of positions counted along rows of `width`, as up to three boxes: the end of a row, whole rows, the
/// begin of a row. `put(rows, columns)`.
template <class Put> void rows_of_span(IndexRange span, std::int64_t width, Put put) {
    std::int64_t at = span.begin;
    if (at >= span.end)
        return;
    if (at % width != 0 || span.end - at < width) {
        const std::int64_t end = std::min(span.end, (at / width + 1) * width);
        put(IndexRange{at / width, at / width + 1}, IndexRange{at % width, end - at / width * width});
        at = end;
    }
    if (const std::int64_t whole = span.end / width * width; whole > at) {
        put(IndexRange{at / width, whole / width}, IndexRange{0, width});
        at = whole;
    }
    if (at < span.end)
        put(IndexRange{at / width, at / width + 1}, IndexRange{0, span.end - at});
}

Boxes stride_fixed_block(const ConvShape &s, const Partition &launch, Place at) {
    const std::int64_t tile_w = argument(launch, 3), tile_k = argument(launch, 4);
    const std::int64_t positions = (s.p() - 1) * s.w + s.q(); // the last row needs no more
    Boxes boxes;
    rows_of_span(share_of(at.x, tile_w, positions), s.w, [&](IndexRange rows, IndexRange columns) {
        columns.end = std::min(columns.end, s.q()); // positions past the output's width are thrown away
        boxes.push_back({{at.z, at.z + 1}, share_of(at.y, tile_k, s.k), rows, columns, {0, s.c}});
    });
    return boxes;
}

Boxes row_register(const ConvShape &s, const Partition &launch, Place at) {
    const std::int64_t tile_w = argument(launch, 2) * argument(launch, 3) * argument(launch, 4);
    const std::int64_t tiles = ceil_div(launch.filter_count, launch.tile_k), image = at.z / tiles;
    IndexRange filters = share_of(at.z % tiles, launch.tile_k, launch.filter_count);
    filters = {filters.begin + launch.filter_begin, filters.end + launch.filter_begin};
    return {{{image, image + 1},
             filters,
             share_of(at.y, launch.tile_h, s.p()),
             share_of(at.x, tile_w, s.q()),
             {0, s.c}}};
}

Boxes tiles_of(const ConvShape &s, Place at, std::int64_t tile_w, std::int64_t tile_h, IndexRange filters) {
    const std::int64_t tiles_x = ceil_div(s.q(), tile_w);
    return {{{at.z, at.z + 1},
             filters,
             share_of(at.x / tiles_x, tile_h, s.p()),
             share_of(at.x % tiles_x, tile_w, s.q()),
             {0, s.c / s.groups}}};
}

Boxes block_register(const ConvShape &s, const Partition &launch, Place at) {
    return tiles_of(s, at, argument(launch, 2), argument(launch, 3),
                    share_of(at.y, argument(launch, 4), s.k));
}

Boxes naive_shared(const ConvShape &s, const Partition &launch, Place at) {
    return tiles_of(s, at, argument(launch, 2), argument(launch, 3), {at.y, at.y + 1});
}

/// Outputs counted through (n, k, p, q).
Boxes naive_global(const ConvShape &s, const Partition &launch, Place at) {
    const std::int64_t threads = argument(launch, 2);
    Boxes boxes;
    rows_of_span(share_of(at.x, threads, s.n * s.k * s.p() * s.q()), s.q(),
                 [&](IndexRange rows, IndexRange columns) {
                     rows_of_span(rows, s.p(), [&](IndexRange planes, IndexRange inner) {
                         rows_of_span(planes, s.k, [&](IndexRange images, IndexRange filters) {
                             boxes.push_back({images, filters, inner, columns, {0, s.c / s.groups}});
                         });
                     });
                 });
    return boxes;
}

struct Kernel {
    std::string_view name;
    Boxes (*boxes)(const ConvShape &, const Partition &, Place);
};
constexpr std::array<Kernel, 11> kernels = {{{"filter_split", filter_split},
                                             {"map_split", map_split},
                                             {"split_walk", split_walk},
                                             {"channel_split", channel_split},
                                             {"filter_stream", filter_stream},
                                             {"map_stream", map_stream},
                                             {"stride_fixed_block", stride_fixed_block},
                                             {"row_register", row_register},
                                             {"block_register", block_register},
                                             {"naive_shared", naive_shared},
                                             {"naive_global", naive_global}}};

const Kernel *kernel_of(const Partition &launch) {
    const auto *found = std::find_if(kernels.begin(), kernels.end(),
                                     [&](const Kernel &kernel) { return kernel.name == launch.kernel; });
    return found == kernels.end() ? nullptr : found;
}

IndexRange under(IndexRange outputs, std::int64_t stride, std::int64_t pad, std::int64_t taps,
                 std::int64_t dilation, std::int64_t size) {
    const std::int64_t begin = outputs.begin * stride - pad;
    const std::int64_t end = (outputs.end - 1) * stride - pad + (taps - 1) * dilation + 1;
    return {std::clamp<std::int64_t>(begin, 0, size), std::clamp<std::int64_t>(end, 0, size)};
}

} // namespace

std::vector<const Partition *> computing_launches(const Plan &plan) {
    std::vector<const Partition *> launches;
    for (const Partition &launch : plan.launches)
        if (kernel_of(launch) != nullptr)
            launches.push_back(&launch);
    return launches;
}

bool has_regions(const Plan &plan) {
    return !computing_launches(plan).empty();
}

std::int64_t cta_count(const Partition &launch) {
    return launch.grid[0] * launch.grid[1] * launch.grid[2];
}

std::vector<OutputBox> outputs_of(const ConvShape &shape, const Partition &launch, std::int64_t cta) {
    const Kernel *kernel = kernel_of(launch);
    if (kernel == nullptr)
        throw std::invalid_argument("no regions are known of " + launch.kernel);
    const Place at{cta % launch.grid[0], cta / launch.grid[0] % launch.grid[1],
                   cta / launch.grid[0] / launch.grid[1]};
    Boxes boxes = kernel->boxes(shape, launch, at);
    std::erase_if(boxes, [](const OutputBox &box) { return box.size() == 0; });
    return boxes;
}

IndexRange map_rows(const ConvShape &shape, IndexRange rows) {
    return under(rows, shape.stride_h, shape.pad_h, shape.r, shape.dilation_h, shape.h);
}

IndexRange map_columns(const ConvShape &shape, IndexRange columns) {
    return under(columns, shape.stride_w, shape.pad_w, shape.s, shape.dilation_w, shape.w);
}

} // namespace convcast
