// Settings of the sweep that the forecast is held against, drawn at random, the same on every machine. Its
// shapes are in data/studies; tests/unit/model_sweep_test.cpp draws them.
#pragma once

#include "model/choose/setting.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace convcast {

/// Up to `count` distinct feasible settings of a strategy for a shape, as canonical texts, drawn at random
/// from its candidates without the default. Seeded by shape and strategy: every machine draws the same.
std::vector<std::string> sweep_settings(const std::string &strategy_name, const ConvShape &shape,
                                        const GpuProfile &profile, const Facts &facts, std::size_t count);

} // namespace convcast
