// Settings of the sweep that the forecast is held against, drawn at random, the same on every machine. Its
// shapes are in data/studies; tests/unit/model_sweep_test.cpp draws them.
#pragma once

#include "model/choose/setting.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace convcast {

/// Up to `count` distinct feasible settings of a strategy for a shape, drawn from its candidates other than
/// the default, as canonical texts; the same for the same shape.
std::vector<std::string> sweep_settings(const std::string &strategy_name, const ConvShape &shape,
                                        const GpuProfile &profile, const Facts &facts, std::size_t count);

} // namespace convcast
