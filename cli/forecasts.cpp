#include "cli/forecasts.hpp"

#include "cli/progress.hpp"
#include "cli/question.hpp"
#include "cli/terminal.hpp"
#include "model/base/errors.hpp"
#include "model/base/parallel.hpp"
#include "model/record/elsewhere.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {

void forecast_pieces(const Question &question, const Beside &beside,
                     const std::function<void(std::vector<Case>)> &take) {
    Progress progress("forecast", Progress::Where::terminal_after_a_while);
    predict_pieces(question, beside, take, [&](std::size_t done, const ConvShape &next) {
        progress.show(done, question.shapes.size(), next.id());
    });
}

std::vector<Case> held_cases(const Question &question, const Beside &beside, bool with_terms) {
    std::vector<Case> cases;
    forecast_pieces(question, beside, [&](std::vector<Case> piece) {
        for (Case &item : piece) {
            if (!with_terms && item.prediction)
                item.prediction->term.reset();
            cases.push_back(std::move(item));
        }
    });
    return cases;
}

std::vector<Case> predict_all(const Question &question, const Beside &beside) {
    // Cases that `beside` adds to each shape.
    const std::size_t of_a_shape = static_cast<std::size_t>(beside.best) +
                                   static_cast<std::size_t>(beside.drawn) * strategy_names().size();
    const std::size_t most = most_cases_of(question) + question.shapes.size() * of_a_shape;
    if (most > most_held)
        throw UsageError(
            fmt::format("up to {} cases are asked, more than the {} of a document that is held in "
                        "memory; name a strategy with --strategy, or give fewer shapes",
                        most, most_held));
    if (beside.best > 0)
        require_times(question.profile, "--choose");
    return held_cases(question, beside, most <= most_with_terms);
}

void forecast_again(Run &document, const GpuProfile &profile, const Knowledge &knowledge,
                    MeasuredCases measured, const ForecastAgain &how) {
    constexpr std::size_t at_once = 1024; // cases between two lines of progress
    Progress own("forecast", Progress::Where::terminal_after_a_while);
    std::vector<Case *> cases;
    for (Case &item : document.cases)
        if (!how.which || how.which(item))
            cases.push_back(&item);
    const bool with_terms = how.then || cases.size() <= most_with_terms;
    for (std::size_t begin = 0; begin < cases.size(); begin += at_once) {
        if (how.progress)
            how.progress(begin);
        else
            own.show(begin, cases.size(), cases[begin]->shape);
        in_parallel(std::min(at_once, cases.size() - begin), [&](std::size_t i) {
            Case &item = *cases[begin + i];
            item = convcast::forecast_again(std::move(item), document, profile, knowledge, measured);
            if (!with_terms && item.prediction)
                item.prediction->term.reset();
            if (how.then)
                how.then(item);
        });
    }
    if (!with_terms)
        note("terms are left out of documents of more than " + std::to_string(most_with_terms) + " cases");
}

void Refusals::add(const Question &question, const std::vector<Case> &cases) {
    std::map<std::string, bool> done; // by shape
    for (const Case &item : cases) {
        // `failed` in a forecast: an expression in the launch of a kernel of the user's own has no value.
        const bool refused = item.status == Status::infeasible || item.status == Status::unsupported ||
                             item.status == Status::failed;
        if (!is_elsewhere(item)) // a time alone does not say that a strategy does the shape
            done[item.shape] |= !refused;
        if (!refused)
            continue;
        // It is said of the strategy where the question names that, of the setting where it names knobs.
        const std::string text = item.called();
        std::string name = item.strategy ? text.substr(0, text.find(':')) : text;
        const auto &asked = question.strategies;
        const bool exactly = std::ranges::find(asked, name) != asked.end();
        const bool is_named = exactly || text.starts_with(own_prefix) ||
                              (item.strategy && std::ranges::any_of(asked, [&](const auto &other) {
                                   return other.substr(0, other.find(':')) == name;
                               }));
        if (!is_named)
            continue;
        if (!exactly)
            name = text;
        const std::string why = name_of(item.status) + ": " + item.reason.value_or("");
        const auto [place, is_new] = places_.try_emplace({name, why}, named_.size());
        if (is_new)
            named_.push_back({name, why, item.shape, 0});
        ++named_[place->second].cases;
    }
    for (const auto &[shape, is_done] : done)
        if (!is_done && known_.insert(shape).second)
            nothing_.push_back(shape);
}

void Refusals::say(bool named) const {
    constexpr std::size_t most_named = 100, most_said = 5; // reasons, shapes: chosen
    for (std::size_t i = 0; named && i < std::min(most_named, named_.size()); ++i) {
        const Named &refused = named_[i];
        note(refused.first_shape +
             (refused.cases > 1 ? " and " + std::to_string(refused.cases - 1) + " more" : "") + ": " +
             refused.text + " is " + refused.why);
    }
    if (named && named_.size() > most_named)
        note(fmt::format("and {} more reasons; the document has them", named_.size() - most_named));
    if (named_.empty() && !nothing_.empty()) // what is named has its reason already
        note(join_some(nothing_, most_said) + ": no strategy does this" +
             (named ? "; the document has the reasons" : ""));
}

} // namespace convcast::cli
