// How a claim stands, and the rules that say so.
#pragma once

#include <boost/describe.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// How a claim stands here, by the rules of verdicts_in_words(). The sentence beside it says by which
/// numbers.
enum class ClaimVerdict {
    holds,
    in_part,
    differs,
    follows, ///< a printed number that comes out of other printed ones: says nothing of a GPU
    open,    ///< what would decide it is not at hand
};
BOOST_DESCRIBE_ENUM(ClaimVerdict, holds, in_part, differs, follows, open)

/// A rule, which expressions call as a function of numbers.
struct VerdictRule {
    const char *name;
    std::size_t least, most; ///< arguments
    const char *says;        ///< what it allows
    int within_percent;      ///< how far a found number may be off where it is measured again
    /// Absent where the numbers say nothing, so that the claim is open.
    std::optional<ClaimVerdict> (*of)(const std::vector<double> &);
};
const std::vector<VerdictRule> &verdict_rules();

/// The rules in plain words.
std::string verdicts_in_words();

} // namespace convcast
