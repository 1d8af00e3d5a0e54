// Parts of the answers of a paper's items.
#pragma once

#include "model/base/errors.hpp"
#include "model/network/network_run.hpp"
#include "model/record/paper.hpp"
#include "reports/papers/answer.hpp"
#include "reports/papers/context.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// A cell of the item; nullptr where it has none. `at` "" takes any.
const PublishedCell *cell_of(const PaperItem &item, const std::string &of, const std::string &at = "");

/// A finding of a claim that is one number which must come out the same.
ClaimAnswer exact(const PaperItem &item, const PublishedCell &cell, double found, const std::string &where);

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

/// Adds a problem for every name, function, list, time and published number that is not there. `place` is the
/// method's.
void check_names(const PaperItem &item, const PaperMethod &method, const std::string &place,
                 std::vector<InputProblem> &problems);

/// Adds the item's answer by a method. Throws InputError at `place`.
void add_answer(ItemAnswer &to, const PaperMethod &method, const PaperItem &item, const PaperContext &context,
                const std::string &place);

/// What was recorded of a network's ladder on a GPU; absent where nothing was.
std::optional<NetworkRun> recorded_ladder(const std::string &network, std::int64_t batch,
                                          const GpuProfile &gpu);

/// Images of a call that the studies of a network's paper are of: one, or the batch of a step of training.
std::int64_t batch_of_paper(const std::string &network);

} // namespace convcast
