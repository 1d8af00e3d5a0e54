// What the race checker is shown: 60 awkward shapes, and of every strategy its default setting, each knob at
// its least and its greatest value, and all knobs there at once.
#pragma once

#include "model/machine/profile.hpp"
#include "model/record/run.hpp"
#include "model/shape/conv_shape.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace convcast {

struct RaceCase {
    ConvShape shape;
    std::string strategy; ///< canonical text, every knob resolved
    std::string why;      ///< "default", "stages least", "all knobs greatest", "reported"
    Plan plan;
};

/// Shapes small enough for a tool that follows every access to shared memory, and awkward: odd sizes, maps of
/// a single pixel, tall and wide ones, one filter, channels and filters that fill no tile, filters from 1x1
/// to 7x7, some not square, stride, padding, dilation, groups, halves and 8-bit integers. Canonical texts.
const std::vector<std::string> &race_shapes();

/// The same list on every machine, no launch twice. Every strategy that does a shape runs it at its default;
/// every extreme of every knob, the others at their default, runs on `shapes_per_extreme` of the shapes that
/// it can do, or all if they are fewer, not always the same ones; likewise all knobs at their least and
/// greatest.
std::vector<RaceCase> race_cases(const GpuProfile &profile, std::size_t shapes_per_extreme = 6);

/// "implicit_gemm_3xtf32<3, 33, ...>": the distinct kernels of a plan.
std::vector<std::string> kernels_of(const Plan &plan);

} // namespace convcast
