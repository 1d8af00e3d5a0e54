// Why one setting is forecast to be faster than another: the two trees side by side.
#pragma once

#include "model/base/describe.hpp"
#include "model/time/term.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace convcast {

/// What a leaf of the forecast adds to the time of this case and of the one it is compared with.
struct TermDifference {
    std::string name; ///< of the leaf
    Seconds here_s, there_s;
    CONVCAST_MEMBERS(TermDifference, name, here_s, there_s)
};

/// Why a case stands where it does in a ranking.
struct Margin {
    std::int64_t rank = 0;
    std::string best;                  ///< the strategy it is compared with: that of the first rank
    double factor = 1.0;               ///< its time over the best's
    std::string decides;               ///< the leaf that makes most of the difference
    std::vector<TermDifference> terms; ///< largest difference first; together they are the margin
    CONVCAST_MEMBERS(Margin, rank, best, factor, decides, terms)
};

/// Compares the waterfalls (V1) of two forecasts: `item`, of this rank, and `best`, of the first rank and the
/// strategy text `best_strategy`. A leaf that one of them lacks adds nothing there.
Margin margin_of(const Term &item, std::int64_t rank, const Term &best, const std::string &best_strategy);

/// What the best setting gains over that of `margin`, which the text calls `name`: "2.10x faster than
/// stride_fixed_block (rank 9): FMA 12 us against 30 us, ...". It names the leaves that make most of the
/// difference, and the largest that speaks against it. "slower" if the margin's setting is the faster one.
std::string why_text(const Margin &margin, const std::string &name);

} // namespace convcast
