#include "cli/answers.hpp"
#include "cli/choice_figure.hpp"
#include "cli/device.hpp"
#include "cli/document.hpp"
#include "cli/interrupt.hpp"
#include "cli/network.hpp"
#include "cli/progress.hpp"
#include "cli/question.hpp"
#include "cli/sheet.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "cli/what_if.hpp"
#include "executor/baselines/names.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/parallel.hpp"
#include "model/choose/ranking.hpp"
#include "model/choose/why.hpp"
#include "model/predict.hpp"
#include "model/record/run_lines.hpp"
#include "model/regime/words.hpp"
#include "model/shape/shape_range.hpp"

#include <boost/describe.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
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

/// The fastest setting of a strategy, by its forecast time alone.
struct BestOf {
    std::string name;
    std::int64_t rank = 0;
    Seconds time;
    std::string setting;
    std::optional<Regime> regime; ///< where a figure shows it
};

/// A shape's ranking as far as it is shown: `ranked` in order with their ranks, and strategies that do not do
/// it.
struct Ranking {
    AskedShape asked;
    std::optional<BestOf> left_out; ///< the fastest on tensor cores, where these are not ranked
    std::vector<Case> ranked, refused;
    std::vector<std::int64_t> ranks;
    std::int64_t settings = 0; ///< that were ranked
    std::vector<BestOf> best;  ///< of every strategy, fastest first
};

/// What of the ranking is shown beside the `top` first.
struct Extent {
    std::size_t top = 0;
    bool why = false;                ///< the best of every further strategy, and margins
    std::vector<std::string> placed; ///< settings that are given a place
    bool tensor_cores = false;       ///< strategies on tensor cores are ranked too
    bool figure = false;             ///< the regime of every strategy's best setting is asked for
};

/// Whether strategies on tensor cores are ranked: what is named is taken.
bool ranks_tensor_cores(const Question &question, const Extent &extent) {
    return extent.tensor_cores || !question.strategies.empty();
}

/// Takes what computes on tensor cores out of a ranking in order; returns its fastest setting, if there is
/// one.
std::optional<BestOf> take_out_tensor_cores(convcast::Ranking &all) {
    const auto is_out = [](const RankedSetting &setting) {
        return on_tensor_cores(to_text(setting.planned.strategy));
    };
    std::optional<BestOf> fastest;
    if (const auto first = std::find_if(all.settings.begin(), all.settings.end(), is_out);
        first != all.settings.end() && first->time) {
        const std::string text = to_text(first->planned.strategy);
        fastest = BestOf{text.substr(0, text.find(':')), 0, *first->time, text, {}};
    }
    std::erase_if(all.settings, is_out);
    std::erase_if(all.refused,
                  [](const RefusedStrategy &refused) { return on_tensor_cores(to_text(refused.setting)); });
    return fastest;
}

std::optional<Regime> regime_in(const Case &item) {
    const std::optional<Prediction> &forecast = item.prediction;
    return forecast && forecast->regimes ? forecast->regimes->tier2 : std::nullopt;
}

/// Inserts a setting where its time places it, unless it is there.
void place(Ranking &ranking, Case item, const convcast::Ranking &all) {
    label(item, ranking.asked);
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
    const std::int64_t rank =
        1 + std::count_if(all.settings.begin(), all.settings.end(), [&](const RankedSetting &other) {
            return other.time && *other.time < *item.prediction->time_s;
        });
    const auto at =
        std::upper_bound(ranking.ranks.begin(), ranking.ranks.end(), rank) - ranking.ranks.begin();
    ranking.ranks.insert(ranking.ranks.begin() + at, rank);
    ranking.ranked.insert(ranking.ranked.begin() + at, std::move(item));
}

void add_margins(Ranking &ranking) {
    const Case &best = ranking.ranked.front();
    for (std::size_t i = 1; i < ranking.ranked.size(); ++i)
        if (Prediction &forecast = *ranking.ranked[i].prediction; forecast.time_s)
            forecast.margin =
                margin_of(*forecast.term, ranking.ranks[i], *best.prediction->term, *best.strategy);
}

Ranking ranking_of(const AskedShape &asked, const Question &question, const Extent &extent) {
    Ranking out;
    out.asked = asked;
    const auto forecast = [&](const Strategy &setting) {
        Case item = predict(setting, asked.shape, question.profile, question.knowledge);
        label(item, asked);
        return item;
    };
    convcast::Ranking all = rank(asked.shape, question.profile, question.knowledge, question.strategies,
                                 all_ranks, TensorCores::in_order);
    if (!ranks_tensor_cores(question, extent))
        out.left_out = take_out_tensor_cores(all);
    out.settings = std::ssize(all.settings);
    for (std::size_t i = 0; i < all.settings.size(); ++i) {
        const RankedSetting &setting = all.settings[i];
        const std::string text = to_text(setting.planned.strategy), name = text.substr(0, text.find(':'));
        const bool first = std::none_of(out.best.begin(), out.best.end(),
                                        [&](const BestOf &best) { return best.name == name; });
        const auto rank_here = static_cast<std::int64_t>(i) + 1;
        if (first) {
            out.best.push_back({name, rank_here, setting.time.value_or(Seconds(0.0)), text, {}});
            if (extent.figure)
                out.best.back().regime = regime_in(forecast(setting.planned.strategy));
        }
        if (i < extent.top || (extent.why && setting.time && first)) {
            out.ranks.push_back(rank_here);
            out.ranked.push_back(forecast(setting.planned.strategy));
        }
    }
    for (const RefusedStrategy &refused : all.refused)
        out.refused.push_back(forecast(refused.setting));
    for (const std::string &text : extent.placed)
        place(out, forecast(parse_strategy(text)), all);
    if ((extent.why || !extent.placed.empty()) && !out.ranked.empty())
        add_margins(out);
    return out;
}

bool rankable(const Ranking &ranking) {
    return !ranking.ranked.empty() && ranking.ranked.front().prediction->time_s.has_value();
}

/// Knobs of a strategy's text, in order: "tile_k=64".
std::vector<std::string> knobs_of(const std::string &text) {
    std::vector<std::string> knobs;
    for (std::size_t at = std::min(text.find(':'), text.size()); at < text.size();) {
        const std::size_t end = std::min(text.find(',', at + 1), text.size());
        knobs.push_back(text.substr(at + 1, end - at - 1));
        at = end;
    }
    return knobs;
}

/// Whether a setting is another one of the first's strategy.
bool is_of_the_first(const Ranking &ranking, std::size_t at) {
    return at > 0 && name_in(ranking.ranked[at]) == name_in(ranking.ranked.front());
}

/// A strategy in a table: of the first, whose knobs the verdict has, its name; of its strategy's other
/// settings the knobs that differ from the first's; of other strategies all.
std::string strategy_cell(const Ranking &ranking, std::size_t at) {
    const std::string &text = *ranking.ranked[at].strategy, name = name_in(ranking.ranked[at]);
    if (at == 0)
        return name;
    if (!is_of_the_first(ranking, at))
        return text;
    const std::vector<std::string> own = knobs_of(text), other = knobs_of(*ranking.ranked.front().strategy);
    std::string changed;
    for (std::size_t i = 0; i < own.size(); ++i)
        if (own.size() != other.size() || own[i] != other[i])
            changed += (changed.empty() ? "" : ",") + own[i];
    return name + (changed.empty() ? "" : ": " + changed);
}

std::string forecast_table(const Ranking &ranking, const KnownTimes &known) {
    const bool timed = rankable(ranking);
    const TimeUnit unit = time_unit(timed ? *ranking.ranked.front().prediction->time_s : Seconds(1e-6));
    bool measured = false, tensor = false;
    for (const Case &item : ranking.ranked) {
        measured = measured || known.find(item.shape, *item.strategy);
        tensor = tensor || on_tensor_cores(*item.strategy);
    }
    std::vector<Column> columns = {{"rank", Align::right},
                                   {"time (" + unit.name + ")", Align::right, Keep::must},
                                   {"/ best", Align::right, Keep::high}};
    if (measured)
        columns.push_back({"measured", Align::right, Keep::high});
    columns.insert(columns.end(), {{"limiter"}, {"strategy", Align::left, Keep::must, Fit::wrap}});
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < ranking.ranked.size(); ++i) {
        const Case &item = ranking.ranked[i];
        const std::optional<Seconds> time = item.prediction->time_s;
        const std::optional<KnownTime> own = known.find(item.shape, *item.strategy);
        std::vector<std::string> row = {
            timed ? std::to_string(ranking.ranks[i]) : "-", time ? number_in(unit, *time) : "-",
            time && timed ? fmt::format("{:.2f}", *time / *ranking.ranked.front().prediction->time_s) : "-"};
        if (measured)
            row.push_back(own ? number_in(unit, own->time_s) : "-");
        row.push_back(item.prediction->limiter.value_or("-"));
        row.push_back(strategy_cell(ranking, i) + (on_tensor_cores(*item.strategy) ? " *" : ""));
        rows.push_back(std::move(row));
    }
    return (rows.empty() ? "" : table(columns, rows, terminal_width())) +
           (tensor ? wrapped(tensor_core_remark, 0, terminal_width()) : "");
}

/// What is refused, in a line of names; `why`: with the reasons, also where nothing else is left to say.
std::string refused_line(const Ranking &ranking, const Question &question, bool why) {
    if (ranking.refused.empty())
        return "";
    std::vector<const Case *> cases;
    std::vector<std::string> names;
    for (const Case &item : ranking.refused) {
        cases.push_back(&item);
        names.push_back(name_in(item));
    }
    const bool reasons = why || !question.strategies.empty() || ranking.ranked.empty();
    return hanging(
        std::string(reasons ? boost::describe::enum_to_string(cases.front()->status, "?") : "not possible") +
        ": " + (reasons ? refused_words(cases) : join(names) + " (--why has the reasons)"));
}

/// By how much the first is safe: which other strategies tie with it, and the first that does not.
std::string safety(const Ranking &ranking) {
    const Prediction &first = *ranking.ranked.front().prediction;
    if (!first.times.fitted_s)
        return ranking.best.size() < 2
                   ? "no other strategy is in the ranking"
                   : fmt::format("not known: without a calibration there is no interval; {} is next, {:.2f}x",
                                 ranking.best[1].name, ranking.best[1].time / *first.time_s);
    std::string ties, clear;
    for (std::size_t i = 1; i < ranking.best.size(); ++i) {
        const BestOf &other = ranking.best[i];
        const std::string text =
            fmt::format("{}{} {:.2f}x (rank {})", other.name, on_tensor_cores(other.name) ? " *" : "",
                        other.time / *first.time_s, other.rank);
        if (other.time <= *first.time_high_s)
            ties += (ties.empty() ? "" : ", ") + text;
        else if (clear.empty())
            clear = text;
    }
    if (ties.empty())
        return clear.empty() ? "no other strategy is in the ranking"
                             : "by interval no other strategy ties; next " + clear;
    return "a tie by interval with " + ties +
           (clear.empty() ? "; nothing else is slower for sure" : "; slower for sure from " + clear) +
           "; --measure K tells on the GPU";
}

/// Whether a setting is of the strategies that were ranked.
bool is_ranked(const std::string &text, const Question &question, const Extent &extent) {
    const std::vector<std::string> &names = question.strategies;
    return (ranks_tensor_cores(question, extent) || !on_tensor_cores(text)) &&
           (names.empty() ||
            std::find(names.begin(), names.end(), text.substr(0, text.find(':'))) != names.end());
}

/// What to take. `brief`: that alone, and whether another strategy ties.
std::string choice(const Ranking &ranking, const Question &question, const KnownTimes &known,
                   const Extent &extent, bool brief) {
    const Case &best = ranking.ranked.front();
    const Prediction &p = *best.prediction;
    std::string out = verdict_line("take", *best.strategy + (on_tensor_cores(*best.strategy) ? " *" : ""));
    if (!p.time_s)
        return out;
    if (!brief) {
        out += verdict_line("time", time_words(p));
        out += verdict_line("regime", regime_words(p, question.profile));
        if (p.term)
            out += verdict_line("time goes to", largest_terms(*p.term, 3));
    }
    if (!brief || ranking.best.size() > 1)
        out += verdict_line("how safe", safety(ranking));
    if (on_tensor_cores(*best.strategy))
        for (const BestOf &other : ranking.best)
            if (!on_tensor_cores(other.name)) {
                out += verdict_line("else", fmt::format("without tensor cores {}, {:.2f}x (rank {})",
                                                        other.name, other.time / *p.time_s, other.rank));
                break;
            }
    if (ranking.left_out)
        out += verdict_line("else", fmt::format("on tensor cores {}, {:.2f}x; --tensor-cores ranks it too",
                                                ranking.left_out->name, ranking.left_out->time / *p.time_s));
    return out + known_lines(best, question, known,
                             [&](const std::string &text) { return is_ranked(text, question, extent); });
}

/// Of many shapes or GPUs: what to take for each, in a line.
struct Answer {
    const Question *question = nullptr;
    Ranking ranking;
    const KnownTimes *known = nullptr; ///< of the question's GPU
};

void add_refusals(Refusals &refusals, const Answer &answer) {
    std::vector<Case> cases = answer.ranking.refused;
    if (!answer.ranking.ranked.empty())
        cases.push_back(answer.ranking.ranked.front());
    refusals.add(*answer.question, cases);
}

/// What --figure draws of each ranking that has times.
std::vector<ChoiceAnswer> drawn_answers(const std::vector<Answer> &answers) {
    std::vector<ChoiceAnswer> out;
    for (const auto &[question, ranking, known] : answers) {
        if (!rankable(ranking))
            continue;
        const Prediction &first = *ranking.ranked.front().prediction;
        ChoiceAnswer &answer = out.emplace_back();
        answer.shape = ranking.asked.shape;
        answer.gpu = question->variant.empty() ? question->profile.name : question->variant;
        answer.longest_tie = first.times.fitted_s ? first.time_high_s : std::nullopt;
        for (const BestOf &best : ranking.best)
            answer.fastest.push_back({best.setting, best.time, best.regime});
    }
    return out;
}

/// What tensor cores would change, where strategies on them were left out; "" where nothing was. `total`: of
/// all shapes together.
std::string what_is_left_out(const std::vector<Answer> &answers, bool total) {
    std::size_t shapes = 0, first = 0;
    double time = 0.0;
    for (const Answer &answer : answers) {
        const Ranking &ranking = answer.ranking;
        if (!rankable(ranking))
            continue;
        Seconds least = *ranking.ranked.front().prediction->time_s;
        if (ranking.left_out) {
            ++shapes;
            first += ranking.left_out->time < least;
            least = std::min(least, ranking.left_out->time);
        }
        time += static_cast<double>(ranking.asked.count) * least.value;
    }
    if (shapes == 0)
        return "";
    return hanging(
        fmt::format("strategies on tensor cores are left out, of which one would be first {} of {} "
                    "times{}; with them: --tensor-cores",
                    first, answers.size(), total && first > 0 ? ", total " + short_time(Seconds(time)) : ""));
}

/// `total`: of all shapes together, which a sweep does not ask for.
std::string compact(const std::vector<Answer> &answers, bool total) {
    std::vector<Row> rows;
    std::string refused;
    for (const auto &[question, ranking, known] : answers) {
        if (!ranking.ranked.empty())
            rows.push_back({&ranking.ranked.front(), question, known});
        if (!ranking.refused.empty() && (ranking.ranked.empty() || !question->strategies.empty()))
            refused += ranking.asked.shape.id() + " " + refused_line(ranking, *question, true);
    }
    const bool one_gpu = std::all_of(answers.begin(), answers.end(), [&](const Answer &answer) {
        return answer.question == answers.front().question;
    });
    return cases_text(rows, total) +
           what_is_left_out(answers, total && one_gpu) + refused;
}

/// The GPUs, and where all are settings of one what these are: "NVIDIA H200 with 66 and 132 SMs".
std::string gpus_of(const std::vector<Answer> &answers) {
    std::vector<std::string> names, variants;
    std::set<int> sms;
    const auto add = [](std::vector<std::string> &to, const std::string &name) {
        if (std::find(to.begin(), to.end(), name) == to.end())
            to.push_back(name);
    };
    for (const Answer &answer : answers) {
        add(names, answer.question->variant.empty() ? answer.question->gpu : answer.question->profile.name);
        add(variants, answer.question->variant);
        sms.insert(answer.question->profile.limits.sm_count);
    }
    const auto listed = [](const std::vector<std::string> &of) {
        constexpr std::size_t most = 4;
        if (of.size() == 1)
            return of.front();
        if (of.size() > most)
            return join({of.begin(), of.begin() + most}) + fmt::format(" and {} more", of.size() - most);
        return join({of.begin(), of.end() - 1}) + " and " + of.back();
    };
    if (names.size() > 1 || variants.size() == 1)
        return listed(names);
    if (sms.size() != variants.size())
        return fmt::format("{} with {} settings", names.front(), variants.size());
    std::vector<std::string> counts;
    for (const int count : sms)
        counts.push_back(std::to_string(count));
    return names.front() + " with " + listed(counts) + " SMs";
}

/// Where along a line of a sweep another strategy becomes the first for sure, and where the regime turns.
class Turns {
  public:
    /// What is to be said of the next answer of the line; "" if nothing.
    std::string at(const Ranking &ranking) {
        if (ranking.ranked.empty())
            return "";
        const Case &item = ranking.ranked.front();
        const std::string name = name_in(item), regime = regime_of(item);
        std::string what;
        const bool is_tie = !first_.empty() && name != first_ && ties(ranking, first_);
        if (is_tie) { // whichever is before the other by a little: neither takes over
            if (tied_ != name)
                what = "a tie of " + name + " and " + first_;
            tied_ = name;
            return what;
        }
        if (!first_.empty() && name != first_)
            what = name + " takes over from " + first_;
        if (name != first_ || !ties(ranking, tied_))
            tied_.clear();
        if (!first_.empty() && regime != regime_)
            what += std::string(what.empty() ? "" : "; ") + regime + " instead of " + regime_;
        first_ = name;
        regime_ = regime;
        return what;
    }

  private:
    static std::string regime_of(const Case &item) {
        const auto &regimes = item.prediction->regimes;
        return regimes && regimes->tier2 ? words_of(*regimes->tier2) : "";
    }

    /// Whether a strategy's best setting lies inside the interval of the first.
    static bool ties(const Ranking &ranking, const std::string &name) {
        const Prediction &first = *ranking.ranked.front().prediction;
        return first.times.fitted_s &&
               std::any_of(ranking.best.begin(), ranking.best.end(), [&](const BestOf &best) {
                   return best.name == name && best.time <= *first.time_high_s;
               });
    }

    std::string first_, regime_, tied_; ///< the last that was first for sure, and what ties with it
};

/// Where the answers of a sweep turn. A line of it is `length` answers, or those of one GPU.
std::string turns(const std::vector<Answer> &answers, std::size_t length) {
    std::string out;
    Turns line;
    std::size_t in_line = 0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const Answer &now = answers[i];
        if (i == 0 || now.question != answers[i - 1].question || in_line == length) {
            line = {};
            in_line = 0;
        }
        ++in_line;
        if (const std::string what = line.at(now.ranking); !what.empty())
            out += headed("  ",
                          now.ranking.asked.shape.id() +
                              (now.question->variant.empty() ? "" : " on " + now.question->variant) + ": " +
                              what,
                          4, terminal_width());
    }
    return out.empty() ? "" : bold("where it turns, line by line") + "\n" + out;
}

std::string reasons(const Ranking &ranking) {
    std::string text;
    for (const Case &item : ranking.ranked)
        if (item.prediction->margin)
            text += headed("  ", why_text(*item.prediction->margin, name_in(item)), 4, terminal_width());
    return text.empty() ? "" : hanging("why " + *ranking.ranked.front().strategy + " is first: it is") + text;
}

/// Over all shapes: how far the settings that were placed are from the first of each ranking.
std::string places_text(const std::vector<Answer> &answers, const std::vector<std::string> &placed) {
    std::string text;
    for (const std::string &asked : placed) {
        double logs = 0.0, worst = 1.0;
        std::int64_t shapes = 0, first = 0, better = 0, settings = 0;
        for (const auto &[question, ranking, known] : answers) {
            const Case item =
                predict(parse_strategy(asked), ranking.asked.shape, question->profile, question->knowledge);
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
DeviceRunEnd time_best(std::vector<Answer> &answers, const Question &question, std::int64_t count, int device,
                       std::map<std::string, std::string> &conditions, const std::function<void()> &answer) {
    std::vector<Case *> timed;
    for (auto &[question_of_it, ranking, known] : answers)
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
std::string measured_table(const Ranking &ranking, const Question &question, std::int64_t count) {
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
    std::string text = table({{"rank", Align::right},
                              {"forecast", Align::right, Keep::must},
                              {"measured", Align::right, Keep::must},
                              {"error", Align::right, Keep::must},
                              {"place", Align::right, Keep::high},
                              {"strategy", Align::left, Keep::must, Fit::wrap}},
                             rows, terminal_width());
    text += refused_line(ranking, question, false);
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

/// What the command line asks for, checked.
struct Asked {
    Extent extent;
    std::int64_t measured = 0; ///< settings to time; 0: none
    int device = 0;
    std::string no_gpu;  ///< why nothing can be timed, where that is asked; "" where it can
    bool blocks = false; ///< a ranking for each shape, not a line
    Format format = Format::text;
    std::string output;
};

Asked asked_choice(const Arguments &arguments) {
    Asked asked;
    asked.device = arguments.integer("device", 0, 0, 1023);
    if (arguments.has("top") && arguments.has("measure"))
        throw UsageError("choose: --measure K shows the K that it times; --top has nothing to add");
    if (arguments.has("device") && !arguments.has("measure"))
        throw UsageError("choose: --device is the GPU that --measure times on; without it no GPU is used");
    asked.measured = arguments.integer("measure", 0, 1, 1000);
    const int top =
        asked.measured > 0 ? static_cast<int>(asked.measured) : arguments.integer("top", 5, 1, 100000);
    asked.format = format_of("choose", arguments, true);
    asked.extent = {static_cast<std::size_t>(top), arguments.has("why"), arguments.texts("place"),
                    arguments.has("tensor-cores"), arguments.has("figure")};
    asked.blocks =
        arguments.has("top") || arguments.has("why") || arguments.has("place") || asked.measured > 0;
    for (const std::string &text : asked.extent.placed)
        parse_strategy(text); // refuse early, before any work
    for (const std::string &text : arguments.texts("strategy"))
        if (is_baseline(text) || text.find(':') != std::string::npos)
            throw UsageError(
                "choose: it tries the knobs itself; --strategy takes a strategy's name, one of " +
                join(strategy_names()) + ", got '" + text + "'");
    asked.output = arguments.text("output", "-");
    if (asked.measured > 0 && asked.output != "-")
        check_writable(asked.output); // found before the work
    return asked;
}

std::vector<Question> questions_of(const Arguments &arguments, const Asked &asked) {
    std::vector<Question> questions;
    if (asked.measured > 0)
        questions = {read_question("choose", arguments, [&](int sms) {
            return asked.no_gpu.empty() ? sms_given(asked.device, sms) : sms;
        })};
    else
        questions = read_questions("choose", arguments, asked.format != Format::json);
    for (const Question &question : questions)
        require_times(question.profile, "choose");
    return questions;
}

std::size_t shapes_of(const std::vector<Question> &questions) {
    std::size_t total = 0;
    for (const Question &question : questions)
        total += question.shapes.size();
    return total;
}

/// The cases of a ranking that keep the tree of terms: trees of very many cases would fill the memory.
enum class Terms { of_all, of_the_first, of_none };

Answer answer_of(const AskedShape &shape, const Question &question, const KnownTimes &known,
                 const Extent &extent, Terms terms) {
    Answer answer{&question, ranking_of(shape, question, extent), &known};
    for (std::size_t i = 0; i < answer.ranking.ranked.size() && terms != Terms::of_all; ++i)
        if (Case &item = answer.ranking.ranked[i]; item.prediction && (i > 0 || terms == Terms::of_none))
            item.prediction->term.reset();
    return answer;
}

/// Says on an interrupt how far the ranking came, and that nothing of it is kept.
class SaysHowFar {
  public:
    SaysHowFar(std::size_t total, const std::string &output)
        : on_interrupt_([this, total, output] { say(total, output); }, std::chrono::milliseconds(0)) {}
    void ranked_one() { ++done_; }

  private:
    void say(std::size_t total, const std::string &output) const {
        note(fmt::format("interrupted after {} of {} shapes; nothing is kept{}", done_.load(), total,
                         output == "-" ? "" : ", and " + output + " is as it was before"));
    }
    std::atomic<std::size_t> done_ = 0;
    OnInterrupt on_interrupt_;
};

/// The answers for some of a question's shapes, in order. Where there are as many of them as cores, each core
/// has shapes of its own; fewer are ranked one after another, each by all cores.
std::vector<Answer> answers_of(const Question &question, std::size_t begin, std::size_t count,
                               const KnownTimes &known, const Extent &extent, Terms terms,
                               SaysHowFar *how_far = nullptr) {
    std::vector<Answer> answers(count);
    const auto answer = [&](std::size_t i) {
        answers[i] = answer_of(question.shapes[begin + i], question, known, extent, terms);
        if (how_far != nullptr)
            how_far->ranked_one();
    };
    if (count >= usable_cores())
        in_parallel(count, answer);
    else
        for (std::size_t i = 0; i < count; ++i)
            answer(i);
    for (const auto &[of, ranking, times] : answers)
        if (!ranking.ranked.empty() && !rankable(ranking))
            note("not ranked: " + ranking.ranked.front().prediction->reason.value_or("no times"));
    return answers;
}

/// Of a question's shapes those that are ranked before the progress is shown again.
std::size_t at_once(std::size_t shapes) {
    constexpr std::size_t piece = 256;
    return shapes >= usable_cores() ? std::max(piece, usable_cores()) : 1;
}

std::vector<Answer> rank_all(const std::vector<Question> &questions, const std::vector<KnownTimes> &known,
                             Asked &asked) {
    std::vector<Answer> answers;
    const std::size_t total = shapes_of(questions);
    if (total > 1 && !asked.blocks && asked.format != Format::json)
        asked.extent.top = 1; // a line for each shape
    if (total * asked.extent.top > most_held)
        throw UsageError(fmt::format(
            "choose: {} shapes with the first {} of each are asked, and an answer as a "
            "table or as JSON has at most {} cases; ask for --top 1, or write lines{}, "
            "of which there may be any number: -o chosen.jsonl",
            total, asked.extent.top, most_held, questions.size() > 1 ? " for one GPU at a time" : ""));
    constexpr std::size_t most_trees = 2000; // cases
    const Terms terms = asked.extent.why || total * asked.extent.top <= most_trees ? Terms::of_all
                        : asked.format == Format::text && total == 1 ? Terms::of_the_first // the verdict's
                                                                     : Terms::of_none;
    Progress progress("choose", Progress::Where::terminal_after_a_while);
    SaysHowFar how_far(total, asked.output);
    for (std::size_t i = 0; i < questions.size(); ++i) {
        const std::vector<AskedShape> &shapes = questions[i].shapes;
        for (std::size_t begin = 0; begin < shapes.size(); begin += at_once(shapes.size())) {
            progress.show(answers.size(), total, shapes[begin].shape.id());
            const std::size_t count = std::min(at_once(shapes.size()), shapes.size() - begin);
            for (Answer &answer :
                 answers_of(questions[i], begin, count, known[i], asked.extent, terms, &how_far))
                answers.push_back(std::move(answer));
        }
    }
    return answers;
}

/// Writes what an earlier, interrupted answer to the same question has, and takes its shapes from the
/// question.
void go_on_with(const std::string &file, const Run &head, RunLineWriter &writer, Question &question) {
    std::set<std::pair<std::string, std::string>> there; // shapes and their studies
    read_document_pieces(file, [&](Run piece, std::size_t) {
        if (piece.profile_hash != head.profile_hash || piece.conditions != head.conditions)
            throw UsageError("choose: " + file +
                             " was chosen with another profile, other facts or another "
                             "calibration; give what it was made with, or leave out --resume");
        for (const Case &item : piece.cases)
            there.emplace(item.shape, item.study.value_or(""));
        writer.add(piece);
    });
    std::erase_if(question.shapes, [&](const AskedShape &asked) {
        return there.contains({asked.shape.id(), asked.study.value_or("")});
    });
}

/// Into a document of lines, some shapes at a time: however many there are, a piece is in memory, and an
/// interrupt keeps the pieces before it. `resume`: such a document, or "". Returns the exit code.
int choose_lines(Question question, const KnownTimes &known, const Asked &asked, const std::string &resume) {
    Run piece = new_run(question.profile, question.knowledge, question.sms, {});
    const std::size_t all = question.shapes.size();
    RunLineWriter writer(asked.output, piece);
    if (!resume.empty())
        go_on_with(resume, piece, writer, question);
    const std::size_t left = question.shapes.size();
    std::atomic<std::size_t> kept = all - left;
    std::mutex writing; // guards the writer and whether it is done
    bool finished = false;
    const OnInterrupt keep(
        [&] {
            writing.lock(); // for good: the program ends
            if (finished)
                return;
            if (kept > 0)
                writer.finish();
            note(fmt::format("interrupted after {} of {} shapes; {}", kept.load(), all,
                             kept > 0 ? asked.output + " has them, and the same question with --resume " +
                                            asked.output + " goes on"
                                      : "nothing is kept, and " + asked.output + " is as it was before"));
        },
        std::chrono::milliseconds(0));
    Refusals refusals;
    Progress progress("choose", Progress::Where::terminal_after_a_while);
    for (std::size_t begin = 0; begin < left; begin += at_once(left)) {
        progress.show(all - left + begin, all, question.shapes[begin].shape.id());
        const std::size_t count = std::min(at_once(left), left - begin);
        for (Answer &answer : answers_of(question, begin, count, known, asked.extent, Terms::of_none)) {
            add_refusals(refusals, answer);
            std::move(answer.ranking.ranked.begin(), answer.ranking.ranked.end(),
                      std::back_inserter(piece.cases));
        }
        const std::scoped_lock lock(writing);
        writer.add(piece);
        kept += count;
        piece.cases.clear();
    }
    const std::scoped_lock lock(writing);
    writer.finish();
    finished = true;
    refusals.say(true);
    return refusals.any() ? 1 : 0;
}

std::string text_of(const std::vector<Answer> &answers, const Arguments &arguments, const Asked &asked) {
    std::string text;
    if (answers.size() > 1 && !asked.blocks) {
        const bool sweep = arguments.has("sweep");
        text = bold(wrapped("what to take, the first of each ranking on " + gpus_of(answers) +
                                answers.front().question->images,
                            0, terminal_width())) +
               compact(answers, !sweep);
        if (sweep)
            text += turns(answers, ShapeRange::parse(arguments.texts("sweep").back()).values.size());
        return text + "knobs: --top 1, or --json\n";
    }
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const auto &[question, ranking, known] = answers[i];
        text += bold((ranking.asked.name.empty() ? "" : ranking.asked.name + ", ") +
                     ranking.asked.shape.id() + " (" + output_words(ranking.asked.shape.id()) + ") on " +
                     (question->variant.empty() ? question->gpu : question->variant)) +
                "\n";
        if (asked.measured > 0 && asked.no_gpu.empty()) {
            text += measured_table(ranking, *question, asked.measured);
        } else {
            text += ranking.ranked.empty()
                        ? ""
                        : choice(ranking, *question, *known, asked.extent, answers.size() > 1);
            if (const std::string calls = ranking.ranked.empty() ? "" : calls_words(ranking.ranked.front());
                !calls.empty())
                text += verdict_line("total", calls);
            text += forecast_table(ranking, *known) + refused_line(ranking, *question, asked.extent.why);
        }
        text += (asked.extent.why ? reasons(ranking) : "") + (i + 1 < answers.size() ? "\n" : "");
    }
    const bool shortened = std::any_of(answers.begin(), answers.end(), [](const Answer &answer) {
        for (std::size_t i = 1; i < answer.ranking.ranked.size(); ++i)
            if (is_of_the_first(answer.ranking, i))
                return true;
        return false;
    });
    if (shortened && (asked.measured == 0 || !asked.no_gpu.empty()))
        text += wrapped("Of further settings of rank 1's strategy the table shows only the knobs that differ "
                        "from rank 1.",
                        0, terminal_width());
    return text + places_text(answers, asked.extent.placed);
}

std::string assumptions_of(const std::vector<Question> &questions) {
    std::vector<const Question *> all;
    for (const Question &question : questions)
        all.push_back(&question);
    return all_assumptions(all, false, "--json, or one GPU alone");
}

/// The rankings as a table for other programs or for texts.
std::string sheet_text(const std::vector<Answer> &answers, Format format, bool total_asked) {
    std::vector<SheetRow> rows;
    std::vector<Row> firsts;
    for (const auto &[question, ranking, known] : answers)
        for (std::size_t i = 0; i < ranking.ranked.size(); ++i) {
            const Case &item = ranking.ranked[i];
            SheetRow &row = rows.emplace_back(sheet_row(item, *question, *known));
            row.rank = ranking.ranks[i];
            if (rankable(ranking) && item.prediction->time_s)
                row.over_best = *item.prediction->time_s / *ranking.ranked.front().prediction->time_s;
            firsts.push_back({&item, question, known});
        }
    if (format == Format::csv)
        return to_csv(case_sheet(rows));
    const std::string total = total_asked ? total_text(firsts) : "";
    return to_markdown(case_sheet(rows)) + (total.empty() ? "" : "\n" + total);
}

/// The answer as a document: a Run of one profile, or rows of many.
std::string document_of(const std::vector<Answer> &answers, const std::vector<Question> &questions,
                        const std::map<std::string, std::string> &conditions, const std::string &output) {
    std::vector<Case> chosen;
    WhatIf rows;
    for (const Answer &answer : answers)
        for (const Case &item : answer.ranking.ranked)
            if (questions.size() > 1)
                rows.rows.push_back(what_if_row(item, *answer.question));
            else
                chosen.push_back(item);
    if (questions.size() > 1)
        return write_what_if(rows);
    const Question &question = questions.front();
    Run document = new_run(question.profile, question.knowledge, question.sms, std::move(chosen));
    document.conditions.insert(conditions.begin(), conditions.end());
    return names_lines(output) ? write_run_lines(document) : write_run(document);
}

} // namespace

int choose(const Words &words) {
    std::vector<Option> options = what_if_options();
    options.push_back({"top", Option::text});
    options.push_back({"why", Option::flag});
    options.push_back({"measure", Option::text});
    options.push_back({"device", Option::text});
    options.push_back({"place", Option::texts});
    options.push_back({"resume", Option::text});
    options.push_back({"figure", Option::text});
    options.push_back({"width", Option::text});
    options.push_back(recorded_option());
    options.push_back(format_option());
    for (const Option &option : network_options())
        options.push_back(option);
    const Arguments arguments("choose", words, options, 0);
    if (arguments.has("help"))
        return write_file_atomically("-", help_text("choose")), 0;
    refuse_overwriting("choose", arguments, Documents::filled);
    check_choice_figure_options(arguments);
    if (asks_network("choose", arguments))
        return choose_network(arguments);
    Asked asked = asked_choice(arguments);
    if (asked.measured > 0)
        asked.no_gpu = why_not_run(asked.device).value_or("");
    const std::vector<Question> questions = questions_of(arguments, asked);
    std::vector<KnownTimes> known;
    for (const Question &question : questions)
        known.push_back(known_times(arguments, question));
    if (asked.format == Format::json && names_lines(asked.output) && questions.size() == 1 &&
        asked.measured == 0 && !asked.extent.figure)
        return choose_lines(questions.front(), known.front(), asked, arguments.text("resume", ""));
    if (arguments.has("resume"))
        throw UsageError(
            "choose: --resume goes on with a document of lines of one GPU; give -o FILE.jsonl too");
    std::vector<Answer> answers = rank_all(questions, known, asked);
    if (asked.extent.figure)
        write_choice_figure(drawn_answers(answers), arguments);
    std::map<std::string, std::string> conditions;
    const auto write_answer = [&] {
        std::string text;
        if (asked.format == Format::json)
            text = document_of(answers, questions, conditions, asked.output);
        else if (asked.format == Format::text)
            text = printable(text_of(answers, arguments, asked) + assumptions_of(questions));
        else
            text = sheet_text(answers, asked.format, !arguments.has("sweep"));
        write_file_atomically(asked.output, text);
    };
    DeviceRunEnd end = DeviceRunEnd::finished;
    if (asked.measured > 0 && asked.no_gpu.empty())
        end = time_best(answers, questions.front(), asked.measured, asked.device, conditions, write_answer);
    write_answer();
    if (end == DeviceRunEnd::device_lost)
        throw GpuError("the GPU stopped answering; what was not timed has no place");
    if (!asked.no_gpu.empty())
        throw GpuError(
            "nothing was measured, so the ranking is the forecast's; this command times its first on "
            "a machine with a usable GPU: " +
            asked.no_gpu);
    Refusals refusals;
    for (const Answer &answer : answers)
        add_refusals(refusals, answer);
    refusals.say(asked.format != Format::text);
    const bool failed =
        refusals.any() || std::any_of(answers.begin(), answers.end(), [](const Answer &answer) {
            return std::any_of(
                answer.ranking.ranked.begin(), answer.ranking.ranked.end(), [](const Case &item) {
                    return item.status == Status::wrong_result || item.status == Status::failed;
                });
        });
    return failed ? 1 : 0;
}

} // namespace convcast::cli
