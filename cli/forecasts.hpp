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

/// The most cases of a document with trees of terms, which say where a time goes: more would fill gigabytes.
constexpr std::size_t most_with_terms = 20000;

/// The most cases of an answer held in memory: chosen. More have to go into lines, written as they are made.
constexpr std::size_t most_held = 200000;

/// Forecasts the cases of a question, and what is asked beside it (model/question.hpp). Throws UsageError
/// where they may be more than `most_held`; more than `most_with_terms` come without their terms.
std::vector<Case> predict_all(const Question &question, const Beside &beside);

/// The same for any number of cases: `take` gets those of some shapes at a time, in order.
void forecast_pieces(const Question &question, const Beside &beside,
                     const std::function<void(std::vector<Case>)> &take);
/// The same with all cases at once, however many, without the trees of their terms unless `with_terms`.
std::vector<Case> held_cases(const Question &question, const Beside &beside, bool with_terms);

/// How cases of a document are forecast again. Each function may be empty.
struct ForecastAgain {
    std::function<bool(const Case &)> which{}; ///< only the cases that it returns true for; empty: all
    /// Gets each case when it is done, by several threads at once. Empty: large documents lose their terms.
    std::function<void(Case &)> then{};
    /// Gets the number of cases done, in the calling thread. Empty: a line of progress is shown.
    std::function<void(std::size_t done)> progress{};
};

/// Forecasts the cases of a document again (model/again.hpp), on all cores.
void forecast_again(Run &document, const GpuProfile &profile, const Knowledge &knowledge,
                    MeasuredCases measured, const ForecastAgain &how = {});

/// Collects what of a question has no answer: a strategy or kernel that it names does not do a shape, or no
/// strategy at all does it. The exit code of the verb is 1 then.
class Refusals {
  public:
    /// Cases of one question. All cases of a shape must come in the same call.
    void add(const Question &question, const std::vector<Case> &cases);

    bool any() const { return !named_.empty() || !nothing_.empty(); }

    /// Says it on standard error; what is common to many cases is said once. `named`: also what the question
    /// named, for answers that are documents: a text shows it already.
    void say(bool named) const;

  private:
    struct Named {
        std::string text, why, first_shape; ///< "winograd", "unsupported: the stride is 2", ...
        std::size_t cases = 0;              ///< with this text and reason
    };
    std::vector<Named> named_;
    std::map<std::pair<std::string, std::string>, std::size_t> places_; ///< in named_, by text and why
    std::vector<std::string> nothing_;                                  ///< shapes that no strategy does
    std::set<std::string> known_;                                       ///< the shapes of nothing_
};

} // namespace convcast::cli
