// How a finding becomes a verdict: one set of rules for all papers, which every page prints.
#pragma once

#include "reports/papers/answer.hpp"

#include <cstddef>
#include <string>

namespace convcast {

/// The rules below in plain words.
std::string verdict_rules();

/// Of a ratio of times, which says faster (above 1), slower or no change.
ClaimVerdict verdict_of_ratio(double published, double found);

/// Of a ratio that is published without a number, only as more than 1.
ClaimVerdict verdict_of_gain(double found);

/// Of a number that is no ratio: a latency, a rate, a share.
ClaimVerdict verdict_of_number(double published, double found);

/// Of what is claimed of every shape and found on some of them.
ClaimVerdict verdict_of_all(std::size_t so, std::size_t all);

/// Of a setting that is claimed to be the best: its time over that of the best other one.
ClaimVerdict verdict_of_best(double over_best_other);

} // namespace convcast
