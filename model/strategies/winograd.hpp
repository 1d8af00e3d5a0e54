// Winograd's minimal filtering: fewer multiplications, for additions and more data in between.
#pragma once

#include "model/strategies/strategy.hpp"

namespace convcast {

/// F(tile x tile, r x r) for r = s = 3 or 5 and stride 1, in launches of their own: pixels are transformed to
/// (tile + r - 1)^2 points of overlapping tiles, filters likewise (once per filter set); at every point a
/// matrix product of filters and tiles over the channels; then back. A CTA of the product computes `tile_k`
/// filters for `tile_pixels` tiles, a thread `thread_k` x `thread_pixels` of them in registers. `chunks`
/// divides the batch's tiles, so that what lies between the launches stays in L2.
struct Winograd {
    static constexpr const char *name = "winograd";
    static constexpr const char *doc =
        "Winograd's F(2x2), F(4x4), F(6x6) of 3x3 and F(2x2), F(4x4) of 5x5 filters; stride 1";

    int tile = 0;
    int tile_k = 0;
    int tile_pixels = 0;
    int thread_k = 0;
    int thread_pixels = 0;
    int slice_channels = 0;
    int stages = 0;
    int chunks = 0;

    static const std::vector<Knob<Winograd>> &knobs();
    /// The settings to compare, each with every knob: of a knob that is 0 the values that fit, others as they
    /// stand.
    Settings<Winograd> settings(const ConvShape &shape, const Gpu &gpu) const;
    /// The plan of one of these settings.
    PlanResult<Winograd> plan(const ConvShape &shape, const Gpu &gpu) const;
    bool operator==(const Winograd &) const = default;
};

} // namespace convcast
