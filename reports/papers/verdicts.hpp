// How a claim stands, and the rules that say so.
#pragma once

#include <boost/describe.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// How a claim stands here, by the rules of verdicts_in_words().
enum class ClaimVerdict {
    holds,
    in_part,
    differs,
    follows, ///< a printed number that comes out of other printed ones: says nothing of a GPU
    open,    ///< what would decide it is not at hand
};
BOOST_DESCRIBE_ENUM(ClaimVerdict, holds, in_part, differs, follows, open)

/// A rule that judges a claim: expressions in data/papers call it as a function of numbers.
struct VerdictRule {
    const char *name;
    std::size_t least, most; ///< arguments
    const char *says;        ///< what it allows
    int within_percent;      ///< how far a number that is measured again may be off the one here
    /// The verdict; absent where the numbers decide nothing: the claim is open. nullptr of "exact" (exact()).
    std::optional<ClaimVerdict> (*of)(const std::vector<double> &);
};
const std::vector<VerdictRule> &verdict_rules();

/// The rules in plain words.
std::string verdicts_in_words();

} // namespace convcast
