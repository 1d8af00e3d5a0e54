// Why one setting is forecast to be faster than another: the two trees side by side.
#pragma once

#include "model/run.hpp"

#include <string>

namespace convcast {

/// What the waterfall of docs/model.md gives each leaf in the two forecasts, which must both have a time.
/// Leaves that one of them lacks add nothing there.
Margin margin_of(const Case &item, const Case &best, std::int64_t rank);

/// "2.10x faster than stride_fixed_block (rank 9): FMA 12 us against 30 us, ...": the leaves that make
/// most of the difference, and the largest that speaks against it.
std::string why_text(const Margin &margin, const std::string &name);

} // namespace convcast
