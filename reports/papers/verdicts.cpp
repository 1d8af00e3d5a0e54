#include "reports/papers/verdicts.hpp"

#include "model/base/errors.hpp"
#include "reports/explained.hpp"

#include <cmath>

namespace convcast {

/// The rules by their names in expressions; `n` has their arguments.
namespace rule {
namespace {

using enum ClaimVerdict;
using Numbers = const std::vector<double> &;
using Verdict = std::optional<ClaimVerdict>;

constexpr double close = 0.1; ///< a share; chosen, as are the limits below, which every page prints

/// 1 faster, -1 slower; 0: a ratio so close to 1 says neither.
int direction_of(double ratio) {
    constexpr double no_change = 0.02;
    return std::abs(ratio - 1.0) <= no_change ? 0 : ratio > 1.0 ? 1 : -1;
}

bool within_a_tenth(double published, double found) {
    return std::abs(found - published) <= close * std::abs(published);
}

/// A ratio of times: published, found. It holds in part where both are on the same side of 1.
Verdict ratio(Numbers n) {
    return direction_of(n[0]) != direction_of(n[1]) ? differs : within_a_tenth(n[0], n[1]) ? holds : in_part;
}

/// A ratio of times that is published without a number, only as more than 1: found.
Verdict gain(Numbers n) {
    return direction_of(n[0]) > 0 ? holds : differs;
}

/// A number that is no ratio of times, as a latency, a rate or a share: published, found.
Verdict number(Numbers n) {
    constexpr double factor_in_part = 2.0;
    const bool near = n[1] <= factor_in_part * n[0] && n[0] <= factor_in_part * n[1];
    return within_a_tenth(n[0], n[1]) ? holds : near ? in_part : differs;
}

/// What is claimed of every shape: on how many shapes it is found, of how many. Of no shape nothing is known.
Verdict all(Numbers n) {
    if (n[1] <= 0.0)
        return std::nullopt;
    return n[0] == n[1] ? holds : 2.0 * n[0] > n[1] ? in_part : differs;
}

/// A setting that is claimed to be the best: its time over that of the best other one. Where only some other
/// settings were run, two further numbers: on how many shapes the setting that `convcast choose` ranks first
/// was run, and of how many. As long as that one, the fastest by forecast, was not run on all shapes, a
/// faster setting may be missing, so that the claim is open unless a setting that was run refutes it.
Verdict best(Numbers n) {
    if (n.size() == 2)
        throw UsageError("best is of 1 value or of 3: over the best other, firsts that were run, of");
    constexpr double rounding = 1e-6; // by which the ratio of two equal times may be off 1
    if (n[0] >= 1.0 / (1.0 - close))
        return differs;
    return n.size() == 3 && n[1] < n[2] ? open : n[0] <= 1.0 + rounding ? holds : in_part;
}

/// A rule that sorts cases into classes, against what was counted: Cohen's kappa of the two, which is 0 for
/// chance and 1 for full agreement. The limits are those of Fleiss.
Verdict beyond_chance(Numbers n) {
    constexpr double excellent = 0.75, poor = 0.4;
    return n[0] >= excellent ? holds : n[0] >= poor ? in_part : differs;
}

} // namespace
} // namespace rule

const std::vector<VerdictRule> &verdict_rules() {
    using namespace rule;
    static const std::vector<VerdictRule> rules = {
        {"ratio", 2, 2,
         "a ratio of times holds within 10 % of the published one, in part where the direction is the same",
         10, ratio},
        {"gain", 1, 1, "holds where the ratio of times is above 1.02", 10, gain},
        {"number", 2, 2, "a number holds within 10 %, in part within a factor of two", 10, number},
        {"all", 2, 2, "holds on all, in part on more than half", 10, all},
        {"best", 1, 3,
         "holds where no other is faster, in part where the best other takes less than 10 % less time", 10,
         best},
        {"beyond_chance", 1, 1, "holds where Cohen's kappa is 0.75 or more, in part from 0.4", 10,
         beyond_chance},
        {"holds", 1, 1, "holds where the condition of the sentence is so", 10,
         [](Numbers n) -> Verdict { return n[0] != 0.0 ? holds : differs; }},
        {"follows", 1, 1, "follows where the printed numbers give it", 0,
         [](Numbers n) -> Verdict { return n[0] != 0.0 ? follows : differs; }},
        {"exact", 0, 0, "follows where the last printed digit is the same", 0, nullptr}};
    return rules;
}

std::string verdicts_in_words() {
    return remark("verdicts");
}

} // namespace convcast
