#include "model/work/walk.hpp"

#include "model/base/divide.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// Cuts a span of positions, which are counted along rows of `width`, into rectangles, as an OutputBox holds
/// nothing else: the rest of the row in which the span begins, whole rows, and the beginning of its last row.
/// Calls put(rows, columns) for each that is not empty, in this order.
template <class Put> void blocks_of_span(IndexRange span, std::int64_t width, Put put) {
    std::int64_t at = span.begin;
    if (at >= span.end)
        return;
    if (at % width != 0) {
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

/// Appends to `out` the blocks of a span of positions along walk.flat[axis] and the axes behind it. Other
/// axes are those of `box`. Positions past the end of an axis are no outputs and are left out.
void unfold(const Walk &walk, std::size_t axis, IndexRange span, OutputBox box, std::vector<OutputBox> &out) {
    const auto [innermost, pitch] = walk.flat[axis];
    if (axis + 1 == walk.flat.size()) {
        box.*innermost = span;
        out.push_back(box);
        return;
    }
    blocks_of_span(span, pitch, [&](IndexRange outer, IndexRange inner) {
        box.*innermost = {inner.begin, std::min(inner.end, (walk.outputs.*innermost).end)};
        unfold(walk, axis + 1, outer, box, out);
    });
}

/// Appends to `out` what the CTA at `place` of the grid takes of a box by one cut.
void take(const Walk &walk, const Cut &cut, const std::array<std::int64_t, 3> &place, const OutputBox &box,
          std::vector<OutputBox> &out) {
    const IndexRange all = cut.axis == nullptr ? IndexRange{0, walk.positions} : box.*cut.axis;
    std::int64_t first = 0, end = ceil_div(all.size(), cut.share);
    if (cut.along != Cut::loop) {
        first = place[static_cast<std::size_t>(cut.along)] / cut.apart;
        if (cut.shares > 0)
            first %= cut.shares;
        end = std::min(end, first + 1);
    }
    for (std::int64_t i = first; i < end; ++i) {
        const IndexRange share{all.begin + i * cut.share, std::min(all.begin + (i + 1) * cut.share, all.end)};
        if (cut.axis == nullptr) {
            unfold(walk, 0, share, box, out);
            continue;
        }
        out.push_back(box);
        out.back().*cut.axis = share;
    }
}

/// The indices of an axis of the map, of `size`, that the taps of a range of outputs reach.
IndexRange under(IndexRange outputs, std::int64_t stride, std::int64_t pad, std::int64_t taps,
                 std::int64_t dilation, std::int64_t size) {
    const std::int64_t begin = outputs.begin * stride - pad;
    const std::int64_t end = (outputs.end - 1) * stride - pad + (taps - 1) * dilation + 1;
    return {std::clamp<std::int64_t>(begin, 0, size), std::clamp<std::int64_t>(end, 0, size)};
}

} // namespace

Walk::Walk(const ConvShape &s, const Partition &launch)
    : outputs{{0, s.n}, {0, s.k}, {0, s.p()}, {0, s.q()}, {0, s.c / s.groups}}, grid(launch.grid) {}

std::vector<OutputBox> outputs_of(const Walk &walk, std::int64_t cta) {
    const std::array<std::int64_t, 3> place = {cta % walk.grid[0], cta / walk.grid[0] % walk.grid[1],
                                               cta / walk.grid[0] / walk.grid[1]};
    std::vector<OutputBox> boxes = {walk.outputs};
    for (const Cut &cut : walk.cuts) {
        std::vector<OutputBox> parts;
        for (const OutputBox &box : boxes)
            take(walk, cut, place, box, parts);
        boxes = std::move(parts);
    }
    std::erase_if(boxes, [](const OutputBox &box) { return box.size() == 0; });
    return boxes;
}

bool has_partial_sums(const Walk &walk) {
    return std::any_of(walk.cuts.begin(), walk.cuts.end(), [](const Cut &cut) {
        return cut.axis == &OutputBox::channels && cut.along != Cut::loop;
    });
}

IndexRange map_rows(const ConvShape &shape, IndexRange rows) {
    return under(rows, shape.stride_h, shape.pad_h, shape.r, shape.dilation_h, shape.h);
}

IndexRange map_columns(const ConvShape &shape, IndexRange columns) {
    return under(columns, shape.stride_w, shape.pad_w, shape.s, shape.dilation_w, shape.w);
}

} // namespace convcast
