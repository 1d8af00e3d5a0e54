#include "cli/predict_text.hpp"

#include "cli/answers.hpp"
#include "cli/forecast_text.hpp"
#include "cli/terminal.hpp"
#include "cli/timelines.hpp"
#include "model/predict.hpp"

#include <boost/describe.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

/// What of the answer is asked for besides the verdict or the table.
struct Behind {
    bool terms = false, rules = false;
    int depth = 0;

    explicit Behind(const Arguments &arguments)
        : terms(arguments.has("explain")), rules(arguments.has("rules")),
          depth(arguments.integer("explain")) {}
};

/// Without the assumptions that all cases have in common, which stand once below them.
std::string behind(const Case &item, const Question &question, const Behind &asked) {
    std::string out;
    const bool timed = item.prediction && item.prediction->time_s;
    const std::optional<Rules> &rules = item.prediction ? item.prediction->rules : item.rules;
    if (asked.terms)
        out += explained(item, asked.depth);
    if (rules && (asked.rules || (!timed && !item.baseline && item.status == Status::ok)))
        out += rules_text(*rules, question.profile);
    out += timeline_text(item);
    if (!item.prediction)
        return out;
    const std::vector<std::string> &common = question.knowledge.assumptions;
    for (const std::string &assumption : item.prediction->assumptions)
        if (std::find(common.begin(), common.end(), assumption) == common.end())
            out += headed("  assumed: ", assumption, 11, terminal_width());
    return out;
}

/// The first of the ranking, where its forecast is shorter by more than a little; else an empty case. Absent
/// where there is no time to compare.
std::optional<Case> faster_than(const Case &item, const Question &question) {
    constexpr double little = 1.02;
    if (!item.prediction || !item.prediction->time_s || !item.strategy)
        return std::nullopt;
    std::vector<Case> first =
        choose(ConvShape::parse(item.shape), question.profile, question.knowledge, {}, 1);
    if (!first.empty() && first.front().status == Status::ok && first.front().prediction->time_s &&
        *item.prediction->time_s / *first.front().prediction->time_s > little)
        return std::move(first.front());
    return Case{};
}

std::string blocks(const std::vector<ForecastCases> &answers, const Behind &asked) {
    std::string out;
    for (const ForecastCases &answer : answers)
        for (const Case &item : answer.cases) {
            const Question &question = *answer.question;
            std::string block = behind(item, question, asked);
            if (item.status != Status::ok)
                block = refusal_line(item) + block;
            if ((asked.terms || asked.rules) && !block.empty())
                out += "\n" +
                       bold(headed("",
                                   item.shape + " on " +
                                       (question.variant.empty() ? question.profile.id : question.variant) +
                                       ", " + item.called(),
                                   0, terminal_width())) +
                       block;
        }
    return out;
}

std::string many(const std::vector<ForecastCases> &answers, const Arguments &arguments, const Behind &asked) {
    const std::vector<Row> rows = rows_of(answers);
    const Question &first = *answers.front().question;
    const bool one_shape = std::all_of(rows.begin(), rows.end(), [&](const Row &row) {
        return row.item->shape == rows.front().item->shape;
    });
    std::string out =
        rows.empty()
            ? ""
            : bold((one_shape
                        ? rows.front().item->shape + " (" + output_words(rows.front().item->shape) + ") on "
                        : std::string("on ")) +
                   (answers.size() > 1 ? std::to_string(answers.size()) + " GPUs or settings of one"
                                       : first.gpu) +
                   first.images + "\n");
    const bool total = !arguments.has("sweep");
    out += cases_text(rows, total);
    out += blocks(answers, asked);
    const bool timed = std::any_of(rows.begin(), rows.end(), [](const Row &row) {
        return row.item->prediction && row.item->prediction->time_s;
    });
    if (timed && one_shape && answers.size() == 1 && !asked.terms)
        out += hanging("more: --strategy NAME for one of them; `convcast choose` searches their knobs too");
    if (timed && !one_shape && total)
        out += hanging("knobs are those that each strategy takes of itself; `convcast choose` searches them");
    return out;
}

std::string one(const Case &item, const Question &question, const Behind &asked) {
    std::string out =
        verdict(item, question, item.status == Status::ok ? faster_than(item, question) : std::nullopt);
    out += behind(item, question, asked);
    if (const std::string calls = calls_words(item); !calls.empty())
        out += verdict_line("total", calls);
    if (item.status == Status::ok && item.prediction->time_s && !asked.terms && !asked.rules)
        out += verdict_line("more", "--explain: the time term by term; --rules: the papers' rules");
    return out;
}

} // namespace

std::string forecasts_text(const std::vector<ForecastCases> &answers, const Arguments &arguments) {
    const Behind asked(arguments);
    std::string out;
    if (answers.size() == 1 && answers.front().cases.size() == 1)
        out = one(answers.front().cases.front(), *answers.front().question, asked);
    else
        out = many(answers, arguments, asked);
    std::vector<const Question *> timed;
    for (const ForecastCases &answer : answers)
        if (std::any_of(answer.cases.begin(), answer.cases.end(),
                        [](const Case &item) { return item.prediction && item.prediction->time_s; }))
            timed.push_back(answer.question);
    return printable(out + all_assumptions(timed, asked.terms, "--explain, --json, or one GPU alone"));
}

std::vector<Row> rows_of(const std::vector<ForecastCases> &answers) {
    std::vector<Row> rows;
    for (const ForecastCases &answer : answers)
        add_rows(rows, *answer.question, answer.cases);
    return rows;
}

} // namespace convcast::cli
