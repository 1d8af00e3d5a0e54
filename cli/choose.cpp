#include "cli/device.hpp"
#include "cli/document.hpp"
#include "cli/network.hpp"
#include "cli/progress.hpp"
#include "cli/question.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "executor/baselines/names.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/choose/why.hpp"
#include "model/predict.hpp"

#include <boost/describe.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

constexpr std::size_t all_ranks = std::numeric_limits<std::size_t>::max();

std::string name_in(const Case &item) {
    return item.strategy->substr(0, item.strategy->find(':'));
}

/// A shape's ranking as far as it is shown: `ranked` in order with their ranks, and strategies that do not do
/// it.
struct Ranking {
    AskedShape asked;
    std::vector<Case> ranked, refused;
    std::vector<std::int64_t> ranks;
    std::int64_t settings = 0;  ///< that were ranked, where all are known
    bool named_refused = false; ///< a strategy that --strategy names does not do it
};

/// What of the ranking is shown beside the `top` first.
struct Extent {
    std::size_t top = 0;
    bool why = false;                ///< the best of every further strategy, and margins
    std::vector<std::string> placed; ///< settings that are given a place
    bool document = false;           ///< the answer is a document, which has the first ones only
};

/// Inserts a setting where its time places it, unless it is there; tensor cores are ranked behind all others.
void place(Ranking &ranking, Case item, const std::vector<Case> &all) {
    item.study = ranking.asked.study;
    if (item.status != Status::ok) {
        if (std::none_of(ranking.refused.begin(), ranking.refused.end(),
                         [&](const Case &other) { return name_in(other) == name_in(item); }))
            ranking.refused.push_back(std::move(item));
        return;
    }
    if (!item.prediction->time_s)
        return;
    if (std::any_of(ranking.ranked.begin(), ranking.ranked.end(),
                    [&](const Case &other) { return other.strategy == item.strategy; }))
        return;
    const auto behind = [&](const Case &other) {
        const bool apart = uses_tensor_cores(name_in(item));
        return std::pair(uses_tensor_cores(name_in(other)), other.prediction->time_s->value) <
               std::pair(apart, item.prediction->time_s->value);
    };
    const std::int64_t rank = 1 + std::count_if(all.begin(), all.end(), [&](const Case &other) {
                                  return other.status == Status::ok && behind(other);
                              });
    const auto at =
        std::upper_bound(ranking.ranks.begin(), ranking.ranks.end(), rank) - ranking.ranks.begin();
    ranking.ranks.insert(ranking.ranks.begin() + at, rank);
    ranking.ranked.insert(ranking.ranked.begin() + at, std::move(item));
}

Ranking rank(const AskedShape &asked, const Question &question, const Extent &extent) {
    Ranking out{asked, {}, {}, {}, 0, false};
    std::set<std::string> shown;
    const bool whole = extent.why || !extent.placed.empty();
    const std::vector<Case> all = convcast::choose(asked.shape, question.profile, question.knowledge,
                                                   question.strategies, whole ? all_ranks : extent.top);
    for (const Case &item : all) {
        if (item.status != Status::ok) {
            out.refused.push_back(item);
        } else if (++out.settings;
                   out.settings <= static_cast<std::int64_t>(extent.top) ||
                   (extent.why && item.prediction->time_s && shown.count(name_in(item)) == 0)) {
            shown.insert(name_in(item));
            out.ranks.push_back(out.settings);
            out.ranked.push_back(item);
            out.ranked.back().study = asked.study;
        }
    }
    out.named_refused = named_refused(question, out.refused, extent.document);
    for (const std::string &text : extent.placed)
        place(out, predict(parse_strategy(text), asked.shape, question.profile, question.knowledge), all);
    if (whole)
        for (std::size_t i = 1; i < out.ranked.size(); ++i)
            if (Prediction &forecast = *out.ranked[i].prediction; forecast.time_s) {
                const Case &best = out.ranked.front();
                forecast.margin =
                    margin_of(*forecast.term, out.ranks[i], *best.prediction->term, *best.strategy);
            }
    return out;
}

bool rankable(const Ranking &ranking) {
    return !ranking.ranked.empty() && ranking.ranked.front().prediction->time_s.has_value();
}

/// A row of `columns` for a strategy that does not do the shape.
std::vector<std::string> refused_row(const Case &item, std::size_t columns) {
    std::vector<std::string> row(columns, "-");
    row[columns - 2] = boost::describe::enum_to_string(item.status, "?");
    // which setting was refused says nothing: all were
    row[columns - 1] = name_in(item) + ": " + item.reason.value_or("");
    return row;
}

std::string forecast_table(const Ranking &ranking) {
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < ranking.ranked.size(); ++i) {
        const Case &item = ranking.ranked[i];
        const bool timed = item.prediction->time_s.has_value();
        rows.push_back({rankable(ranking) ? std::to_string(ranking.ranks[i]) : "-",
                        timed ? short_time(*item.prediction->time_s) : "-",
                        timed ? fmt::format("{:.2f}", *item.prediction->time_s /
                                                          *ranking.ranked.front().prediction->time_s)
                              : "-",
                        item.prediction->limiter.value_or("-"), *item.strategy});
    }
    for (const Case &item : ranking.refused)
        rows.push_back(refused_row(item, 5));
    return table(
        {{"rank", Align::right}, {"time", Align::right}, {"/ best", Align::right}, {"limiter"}, {"strategy"}},
        rows, terminal_width());
}

std::string reasons(const Ranking &ranking) {
    std::string text;
    for (const Case &item : ranking.ranked)
        if (item.prediction->margin)
            text += headed("  ", why_text(*item.prediction->margin, name_in(item)), 4, terminal_width());
    return text.empty() ? "" : "why " + *ranking.ranked.front().strategy + " is first: it is\n" + text;
}

/// Over all shapes: how far the settings that were placed are from the first of each ranking.
std::string places_text(const std::vector<Ranking> &rankings, const std::vector<std::string> &placed,
                        const Question &question) {
    std::string text;
    for (const std::string &asked : placed) {
        double logs = 0.0, worst = 1.0;
        std::int64_t shapes = 0, first = 0, better = 0, settings = 0;
        for (const Ranking &ranking : rankings) {
            const Case item =
                predict(parse_strategy(asked), ranking.asked.shape, question.profile, question.knowledge);
            for (std::size_t i = 0; i < ranking.ranked.size(); ++i) {
                if (ranking.ranked[i].strategy != item.strategy || !rankable(ranking))
                    continue;
                const double factor =
                    *ranking.ranked[i].prediction->time_s / *ranking.ranked.front().prediction->time_s;
                ++shapes;
                first += i == 0;
                better += ranking.ranks[i] - 1;
                settings += ranking.settings;
                logs += std::log(factor);
                worst = std::max(worst, factor);
            }
        }
        const double count = static_cast<double>(shapes);
        text +=
            shapes == 0
                ? asked + " has no place\n"
                : fmt::format("{}: first in {} of {} shapes; {:.2f}x the time of the first in the geometric "
                              "mean, {:.2f}x at most; {:.1f} of {:.1f} settings before it\n",
                              asked, first, shapes, std::exp(logs / count), worst,
                              static_cast<double>(better) / count, static_cast<double>(settings) / count);
    }
    return text;
}

/// The `count` first of every ranking, timed as `run` times them; counters are not read. `conditions` are of
/// the measurement. An interrupt ends the program after `answer`, with what was timed until then.
DeviceRunEnd time_best(std::vector<Ranking> &rankings, const Question &question, std::int64_t count,
                       int device, std::map<std::string, std::string> &conditions,
                       const std::function<void()> &answer) {
    std::vector<Case *> timed;
    for (Ranking &ranking : rankings)
        for (std::size_t i = 0; i < ranking.ranked.size(); ++i)
            if (ranking.ranks[i] <= count)
                timed.push_back(&ranking.ranked[i]);
    std::vector<Case> cases;
    cases.reserve(timed.size());
    for (const Case *item : timed)
        cases.push_back(*item);
    Run document = new_run(question.profile, question.knowledge, question.sms, std::move(cases));
    RunRequest request;
    request.device = device;
    request.sms = question.sms;
    request.no_counters = true;
    const auto take = [&](Run &from) {
        for (std::size_t i = 0; i < timed.size(); ++i)
            *timed[i] = std::move(from.cases[i]);
        conditions = std::move(from.conditions);
    };
    request.last_words = [&](Run so_far) {
        take(so_far);
        note("interrupted; what was not timed has no place");
        answer();
    };
    const DeviceRunEnd end = run_on_device(document, question.profile, request);
    take(document);
    return end;
}

/// What was measured beside what was forecast, in the order of the forecast, and whose time was the shortest.
std::string measured_table(const Ranking &ranking, std::int64_t count) {
    std::vector<std::pair<double, std::size_t>> order; // measured time, index
    for (std::size_t i = 0; i < ranking.ranked.size(); ++i)
        if (const Measurement *cold = ranking.ranked[i].measured(L2State::cold);
            cold && ranking.ranked[i].status == Status::ok)
            order.emplace_back(cold->time_s.value, i);
    std::sort(order.begin(), order.end());
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < ranking.ranked.size() && ranking.ranks[i] <= count; ++i) {
        const Case &item = ranking.ranked[i];
        const std::optional<Seconds> forecast = item.prediction->time_s;
        const auto place =
            std::find_if(order.begin(), order.end(), [&](const auto &entry) { return entry.second == i; });
        const bool there = place != order.end();
        rows.push_back({std::to_string(ranking.ranks[i]), forecast ? short_time(*forecast) : "-",
                        there ? short_time(Seconds(place->first)) : "-",
                        there && forecast
                            ? fmt::format("{:+.0f} %", 100.0 * (forecast->value / place->first - 1.0))
                            : "-",
                        there ? std::to_string(place - order.begin() + 1)
                              : boost::describe::enum_to_string(item.status, "?"),
                        *item.strategy + (there || !item.reason ? "" : ": " + *item.reason)});
    }
    for (const Case &item : ranking.refused)
        rows.push_back(refused_row(item, 6));
    std::string text = table({{"rank", Align::right},
                              {"forecast", Align::right},
                              {"measured", Align::right},
                              {"error", Align::right},
                              {"place", Align::right},
                              {"strategy"}},
                             rows, terminal_width());
    if (order.empty())
        return text;
    const auto &[fastest, at] = order.front();
    text += "fastest measured: " + *ranking.ranked[at].strategy;
    const Measurement *first = ranking.ranked.front().measured(L2State::cold);
    if (at == 0)
        text += ", the first of the forecast";
    else if (first && ranking.ranked.front().status == Status::ok)
        text += fmt::format(", rank {}; the first of the forecast takes {:.1f} % longer", ranking.ranks[at],
                            100.0 * (first->time_s.value / fastest - 1.0));
    return text + "\n";
}

} // namespace

int choose(const Words &words) {
    std::vector<Option> options = question_options();
    options.push_back({"top", Option::text});
    options.push_back({"why", Option::flag});
    options.push_back({"measure", Option::text});
    options.push_back({"device", Option::text});
    options.push_back({"place", Option::texts});
    for (const Option &option : network_options())
        options.push_back(option);
    const Arguments arguments("choose", words, options, 0);
    if (arguments.has("help"))
        return write_file_atomically("-", help_text("choose")), 0;
    refuse_overwriting("choose", arguments);
    if (asks_network("choose", arguments))
        return choose_network(arguments);
    const int device = arguments.integer("device", 0, 0, 1023);
    Question question =
        arguments.has("measure")
            ? read_question("choose", arguments, [&](int asked) { return sms_given(device, asked); })
            : read_question("choose", arguments);
    require_times(question.profile, "choose");
    if (arguments.has("top") && arguments.has("measure"))
        throw UsageError("choose: --measure K shows the K that it times; --top has nothing to add");
    if (arguments.has("device") && !arguments.has("measure"))
        throw UsageError("choose: --device is the GPU that --measure times on; without it no GPU is used");
    const int measured = arguments.integer("measure", 0, 1, 1000);
    const int top = measured > 0 ? measured : arguments.integer("top", 5, 1, 100000);
    const Extent extent{static_cast<std::size_t>(top), arguments.has("why"), arguments.texts("place"),
                        arguments.has("json") || arguments.has("output")};
    for (const std::string &text : extent.placed)
        parse_strategy(text); // refuse early, before any work
    for (const std::string &text : question.strategies)
        if (is_baseline(text) || text.find(':') != std::string::npos)
            throw UsageError(
                "choose: it tries the knobs itself; --strategy takes a strategy's name, one of " +
                join(strategy_names()) + ", got '" + text + "'");
    const std::string output = arguments.text("output", "-");
    if (measured > 0 && output != "-")
        check_writable(output); // found before the work

    std::vector<Ranking> rankings;
    bool refused = false;
    for (const AskedShape &asked : question.shapes) {
        Ranking &ranking = rankings.emplace_back(rank(asked, question, extent));
        refused = refused || ranking.named_refused;
        if (!ranking.ranked.empty() && !rankable(ranking))
            note("not ranked: " + ranking.ranked.front().prediction->reason.value_or("no times"));
    }
    std::map<std::string, std::string> conditions;
    const std::string places = places_text(rankings, extent.placed, question);
    bool wrong = false;
    const auto answer = [&] {
        std::string text;
        std::vector<Case> chosen;
        for (Ranking &ranking : rankings) {
            text += bold(ranking.asked.shape.id()) + " on " + question.profile.name + "\n";
            text += measured > 0 ? measured_table(ranking, measured) : forecast_table(ranking);
            text += (extent.why ? reasons(ranking) : "") + "\n";
            for (Case &item : ranking.ranked) {
                wrong = wrong || item.status == Status::wrong_result || item.status == Status::failed;
                chosen.push_back(std::move(item));
            }
        }
        text += places;
        text = printable(text + assumptions_text(question.knowledge));
        if (arguments.has("json") || arguments.has("output")) {
            Run document = new_run(question.profile, question.knowledge, question.sms, std::move(chosen));
            document.conditions.merge(conditions);
            text = write_run(document);
        }
        write_file_atomically(output, text);
    };
    DeviceRunEnd end = DeviceRunEnd::finished;
    if (measured > 0)
        end = time_best(rankings, question, measured, device, conditions, answer);
    answer();
    if (end == DeviceRunEnd::device_lost)
        throw GpuError("the GPU stopped answering; what was not timed has no place");
    return wrong || refused ? 1 : 0;
}

} // namespace convcast::cli
