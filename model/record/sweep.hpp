// The sweep that the forecast is held against: shapes and settings drawn at random, the same on every
// machine.
#pragma once

#include "model/choose/setting.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace convcast {

/// What a drawn shape may cost at most: input, filters and output together, and its FMAs.
inline constexpr double sweep_most_bytes = 400e6, sweep_most_fmas = 5e10;

/// `count` distinct shapes, canonical texts: sizes log-uniform over n 1 to 64, c and k 1 to 1024, maps 7 to
/// 1024 (some not square), filters 1, 3, 5 or 7 (some not square), a quarter with one channel; a sixth
/// padded, a twelfth with stride 2. data/studies/sweep.json holds sweep_shapes(1, 200),
/// data/studies/sweep_unseen.json sweep_shapes(2, 60).
std::vector<std::string> sweep_shapes(std::uint64_t seed, std::size_t count);

/// Up to `count` distinct feasible settings of a strategy for a shape, drawn from its candidates other than
/// the default, as canonical texts; the same for the same shape.
std::vector<std::string> sweep_settings(const std::string &strategy_name, const ConvShape &shape,
                                        const GpuProfile &profile, const Facts &facts, std::size_t count);

} // namespace convcast
