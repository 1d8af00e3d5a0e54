#include "reports/papers/verdicts.hpp"

#include <cmath>

namespace convcast {
namespace {

constexpr double no_change = 0.02; ///< a ratio so close to 1 says neither faster nor slower
constexpr double close = 0.1, factor_in_part = 2.0;

int direction_of(double ratio) {
    return std::abs(ratio - 1.0) <= no_change ? 0 : ratio > 1.0 ? 1 : -1;
}

bool within_a_tenth(double published, double found) {
    return std::abs(found - published) <= close * std::abs(published);
}

} // namespace

std::string verdict_rules() {
    return "Verdicts. A ratio of times holds where it goes the published way and is within a tenth of the "
           "published number; in part where it goes the same way with another size; it differs where it goes "
           "the other way. A ratio within 0.02 of 1 goes no way. Where the paper prints no number, the "
           "direction decides. A number that is no ratio holds within a tenth and in part within a factor of "
           "two. A claim about all shapes holds on all, in part on more than half. A best setting holds "
           "where "
           "no other setting that was tried is faster in the geometric mean, in part where the best other "
           "takes less than a tenth less time. A claim of several parts holds in part where only some do. "
           "Follows: a printed number that comes out of other printed numbers, and says nothing of a GPU. "
           "Open: what would decide it is not at hand.";
}

ClaimVerdict verdict_of_ratio(double published, double found) {
    if (direction_of(published) != direction_of(found))
        return ClaimVerdict::differs;
    return within_a_tenth(published, found) ? ClaimVerdict::holds : ClaimVerdict::in_part;
}

ClaimVerdict verdict_of_gain(double found) {
    return direction_of(found) > 0 ? ClaimVerdict::holds : ClaimVerdict::differs;
}

ClaimVerdict verdict_of_number(double published, double found) {
    if (within_a_tenth(published, found))
        return ClaimVerdict::holds;
    const bool near = found <= factor_in_part * published && published <= factor_in_part * found;
    return near ? ClaimVerdict::in_part : ClaimVerdict::differs;
}

ClaimVerdict verdict_of_all(std::size_t so, std::size_t all) {
    return so == all ? ClaimVerdict::holds : 2 * so > all ? ClaimVerdict::in_part : ClaimVerdict::differs;
}

ClaimVerdict verdict_of_best(double over_best_other) {
    constexpr double rounding = 1e-6;
    return over_best_other <= 1.0 + rounding       ? ClaimVerdict::holds
           : over_best_other < 1.0 / (1.0 - close) ? ClaimVerdict::in_part
                                                   : ClaimVerdict::differs;
}

} // namespace convcast
