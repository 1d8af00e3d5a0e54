// Which part of the output each CTA of a plan computes, and what it reads for it: the addresses of the
// kernels in executor/kernels, as ranges. The diagrams are drawn from them.
#pragma once

#include "model/plan/plan.hpp"
#include "model/shape/conv_shape.hpp"

#include <cstdint>
#include <vector>

namespace convcast {

/// From `begin` up to but without `end`.
struct IndexRange {
    std::int64_t begin = 0, end = 0;
    std::int64_t size() const { return end > begin ? end - begin : 0; }
    bool operator==(const IndexRange &) const = default;
};

/// A block of outputs, and the channels that a CTA sums for them: all of the filter's, unless the strategy
/// divides channels.
struct OutputBox {
    IndexRange images, filters, rows, columns, channels;
    std::int64_t size() const {
        return images.size() * filters.size() * rows.size() * columns.size() * channels.size();
    }
};

/// Whether the launches of a plan can be drawn: those of the papers' strategies and of the naive ones.
bool has_regions(const Plan &plan);

/// The launches that compute outputs from the map: without preparations and sums of parts.
std::vector<const Partition *> computing_launches(const Plan &plan);

std::int64_t cta_count(const Partition &launch);

/// What a CTA of the launch computes, in the order in which it does, without empty boxes. CTAs are counted
/// along x, then y, then z. Throws std::invalid_argument for a launch that has no regions.
std::vector<OutputBox> outputs_of(const ConvShape &shape, const Partition &launch, std::int64_t cta);

/// Rows and columns of the map under a range of output rows and columns, inside the map.
IndexRange map_rows(const ConvShape &shape, IndexRange rows);
IndexRange map_columns(const ConvShape &shape, IndexRange columns);

} // namespace convcast
