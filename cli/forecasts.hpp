// The forecasts of a question or of a document, with progress shown, and what of them has no answer.
#pragma once

#include "model/again.hpp"
#include "model/question.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {

/// A document with more cases says no more where its times go: the terms would fill gigabytes.
constexpr std::size_t most_with_terms = 20000;

/// More cases are written as they come, into a document of lines, and not held in memory.
constexpr std::size_t most_held = 200000;

/// The cases of a question, and what is asked beside it (model/question.hpp). Throws UsageError where they
/// may be more than `most_held`; more than `most_with_terms` come without their terms.
std::vector<Case> predict_all(const Question &question, const Beside &beside);

/// The same, however many: some shapes at a time,
void forecast_pieces(const Question &question, const Beside &beside,
                     const std::function<void(std::vector<Case>)> &take);
/// or all of them, without their terms where these are not wanted.
std::vector<Case> held_cases(const Question &question, const Beside &beside, bool with_terms);

/// How cases of a document are forecast again.
struct ForecastAgain {
    std::function<bool(const Case &)> which{}; ///< only those that it takes
    /// Takes each when it is done, several at a time; without it documents that are large lose their terms.
    std::function<void(Case &)> then{};
    std::function<void(std::size_t done)> progress{}; ///< by this thread; without it a line is shown
};

/// Forecasts the cases of a document again (model/again.hpp).
void forecast_again(Run &document, const GpuProfile &profile, const Knowledge &knowledge,
                    MeasuredCases measured, const ForecastAgain &how = {});

/// What of a question has no answer: a strategy or a kernel that it names does not do a shape, or nothing
/// does it. The exit code of the verb is 1 then.
class Refusals {
  public:
    /// Cases of one question, all that there are of each of their shapes.
    void add(const Question &question, const std::vector<Case> &cases);

    bool any() const { return !named_.empty() || !nothing_.empty(); }

    /// On standard error, what is common to many cases once. `named`: also what the question names, which
    /// only answers that are documents do not show themselves.
    void say(bool named) const;

  private:
    struct Named {
        std::string text, why, first_shape; ///< "winograd", "unsupported: the stride is 2"
        std::size_t cases = 0;
    };
    std::vector<Named> named_;
    std::map<std::pair<std::string, std::string>, std::size_t> places_; ///< in named_, by text and why
    std::vector<std::string> nothing_;                                  ///< shapes that nothing does
    std::set<std::string> known_;                                       ///< of nothing_
};

} // namespace convcast::cli
