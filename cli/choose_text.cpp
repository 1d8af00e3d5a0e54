#include "cli/choose_text.hpp"

#include "cli/terminal.hpp"
#include "model/base/errors.hpp"
#include "model/base/text.hpp"
#include "model/choose/why.hpp"
#include "model/regime/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

/// Knobs of a strategy's text, in order: "tile_k=64".
std::vector<std::string> knobs_of(const std::string &text) {
    const std::size_t colon = text.find(':');
    return colon == std::string::npos ? std::vector<std::string>() : split(text.substr(colon + 1), ',');
}

/// Whether a setting is another one of the first's strategy.
bool is_of_the_first(const Choice &choice, std::size_t at) {
    return at > 0 && choice.ranked[at].kernel() == choice.ranked.front().kernel();
}

/// A strategy in a table: of the first, whose knobs the verdict has, its name; of its strategy's other
/// settings the knobs that differ from the first's; of other strategies all.
std::string strategy_cell(const Choice &choice, std::size_t at) {
    const std::string &text = *choice.ranked[at].strategy, name = choice.ranked[at].kernel();
    if (at == 0)
        return name;
    if (!is_of_the_first(choice, at))
        return text;
    const std::vector<std::string> own = knobs_of(text), other = knobs_of(*choice.ranked.front().strategy);
    std::string changed;
    for (std::size_t i = 0; i < own.size(); ++i)
        if (own.size() != other.size() || own[i] != other[i])
            changed += (changed.empty() ? "" : ",") + own[i];
    return name + (changed.empty() ? "" : ": " + changed);
}

/// Its cases with their ranks and the time of the first; neither without times.
std::vector<Row> rows_of(const RankedShape &answer) {
    const Choice &choice = answer.choice;
    std::vector<Row> rows;
    add_rows(rows, *answer.question, choice.ranked);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i].rank = choice.ranks[i];
        if (has_times(choice))
            rows[i].best = choice.ranked.front().prediction->time_s;
    }
    return rows;
}

std::string forecast_table(const RankedShape &answer) {
    using Line = const Row &;
    const Choice &choice = answer.choice;
    const std::vector<Row> rows = rows_of(answer);
    const auto is_marked = [](Line row) { return on_tensor_cores(*row.item->strategy); };
    std::vector<Field<Row>> fields = {
        {{"rank", As::number}, [](Line row) { return row.best ? Cell(row.rank) : Cell(); }},
        {{"time", As::time, Keep::must}, [](Line row) { return row.item->forecast_s(); }},
        {{"/ best", As::number, Keep::high},
         [](Line row) { return row.over_best() ? Cell(fmt::format("{:.2f}", *row.over_best())) : Cell(); }}};
    if (std::ranges::any_of(rows, [](Line row) { return row.measured().has_value(); }))
        fields.push_back({{"measured", As::time, Keep::high}, &Row::measured});
    fields.push_back({{"limiter"}, [](Line row) { return row.item->prediction->limiter; }});
    fields.push_back({{"strategy", As::text, Keep::must, Fit::wrap}, [&](Line row) {
                          return strategy_cell(choice, static_cast<std::size_t>(&row - rows.data())) +
                                 (is_marked(row) ? " *" : "");
                      }});
    Table ranking = table_of<Row>(rows, fields);
    ranking.unit_of = rows.empty() ? std::nullopt : rows.front().best;
    return table(ranking) + (std::ranges::any_of(rows, is_marked) ? wrapped(tensor_core_remark) : "");
}

/// What is refused, in a line of names; `why`: with the reasons, also where nothing else is left to say.
std::string refused_line(const Choice &choice, const Question &question, bool why) {
    if (choice.refused.empty())
        return "";
    std::vector<const Case *> cases;
    std::vector<std::string> names;
    for (const Case &item : choice.refused) {
        cases.push_back(&item);
        names.push_back(item.kernel());
    }
    const bool reasons = why || !question.strategies.empty() || choice.ranked.empty();
    return hanging(std::string(reasons ? name_of(cases.front()->status) : "not possible") + ": " +
                   (reasons ? refused_words(cases) : join(names) + " (--why has the reasons)"));
}

/// By how much the first is safe: which other strategies tie with it, and the first that does not.
std::string safety(const Choice &choice) {
    const Prediction &first = *choice.ranked.front().prediction;
    if (!first.times.fitted_s)
        return choice.best.size() < 2
                   ? "no other strategy is in the ranking"
                   : fmt::format("not known: without a calibration there is no interval; {} is next, {:.2f}x",
                                 choice.best[1].name, choice.best[1].time / *first.time_s);
    std::string ties, clear;
    for (std::size_t i = 1; i < choice.best.size(); ++i) {
        const BestOf &other = choice.best[i];
        const std::string text =
            fmt::format("{} {:.2f}x (rank {})", marked(other.name), other.time / *first.time_s, other.rank);
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

/// Whether a setting is of the strategies that were ranked: what is named is taken.
bool is_ranked(const std::string &text, const Question &question, const Extent &extent) {
    const std::vector<std::string> &names = question.strategies;
    return (extent.tensor_cores || !names.empty() || !on_tensor_cores(text)) &&
           (names.empty() || std::ranges::find(names, text.substr(0, text.find(':'))) != names.end());
}

/// What to take. `brief`: that alone, and whether another strategy ties.
std::string verdict_of(const Choice &choice, const Question &question, const Extent &extent, bool brief) {
    const Case &best = choice.ranked.front();
    const Prediction &p = *best.prediction;
    std::string out = verdict_line("take", marked(*best.strategy));
    if (!p.time_s)
        return out;
    if (!brief) {
        out += verdict_line("time", time_words(p));
        out += verdict_line("regime", regime_words(p, question.profile));
        if (p.term)
            out += verdict_line("time goes to", largest_terms(*p.term, 3));
    }
    if (!brief || choice.best.size() > 1)
        out += verdict_line("how safe", safety(choice));
    if (on_tensor_cores(*best.strategy))
        for (const BestOf &other : choice.best)
            if (!on_tensor_cores(other.name)) {
                out += verdict_line("else", fmt::format("without tensor cores {}, {:.2f}x (rank {})",
                                                        other.name, other.time / *p.time_s, other.rank));
                break;
            }
    if (choice.left_out)
        out += verdict_line("else", fmt::format("on tensor cores {}, {:.2f}x; --tensor-cores ranks it too",
                                                choice.left_out->name, choice.left_out->time / *p.time_s));
    return out + known_lines(best, question,
                             [&](const std::string &text) { return is_ranked(text, question, extent); });
}

/// What tensor cores would change, where strategies on them were left out; "" where nothing was. `total`: of
/// all shapes together.
std::string what_is_left_out(const std::vector<RankedShape> &answers, bool total) {
    std::size_t shapes = 0, first = 0;
    double time = 0.0;
    for (const RankedShape &answer : answers) {
        const Choice &choice = answer.choice;
        if (!has_times(choice))
            continue;
        Seconds least = *choice.ranked.front().prediction->time_s;
        if (choice.left_out) {
            ++shapes;
            first += choice.left_out->time < least;
            least = std::min(least, choice.left_out->time);
        }
        time += static_cast<double>(answer.shape->count) * least.value;
    }
    if (shapes == 0)
        return "";
    return hanging(
        fmt::format("strategies on tensor cores are left out, of which one would be first {} of {} "
                    "times{}; with them: --tensor-cores",
                    first, answers.size(), total && first > 0 ? ", total " + short_time(Seconds(time)) : ""));
}

/// `total`: of all shapes together, which a sweep does not ask for.
std::string compact(const std::vector<RankedShape> &answers, bool total) {
    std::vector<Row> rows;
    std::string refused;
    for (const auto &[question, shape, choice] : answers) {
        if (!choice.ranked.empty())
            rows.push_back({&choice.ranked.front(), question});
        if (!choice.refused.empty() && (choice.ranked.empty() || !question->strategies.empty()))
            refused += shape->shape.id() + " " + refused_line(choice, *question, true);
    }
    const bool one_gpu = std::ranges::all_of(
        answers, [&](const RankedShape &answer) { return answer.question == answers.front().question; });
    return cases_text(rows, total) + what_is_left_out(answers, total && one_gpu) + refused;
}

/// The GPUs, and where all are settings of one what these are: "NVIDIA H200 with 66 and 132 SMs".
std::string gpus_of(const std::vector<RankedShape> &answers) {
    std::vector<std::string> names, variants;
    std::set<int> sms;
    const auto add = [](std::vector<std::string> &to, const std::string &name) {
        if (std::ranges::find(to, name) == to.end())
            to.push_back(name);
    };
    for (const RankedShape &answer : answers) {
        add(names, answer.question->variant.empty() ? answer.question->gpu : answer.question->profile.name);
        add(variants, answer.question->variant);
        sms.insert(answer.question->profile.limits.sm_count);
    }
    const auto listed = [](const std::vector<std::string> &of) {
        constexpr std::size_t most = 4;
        if (of.size() == 1)
            return of.front();
        return of.size() > most ? join_some(of, most)
                                : join({of.begin(), of.end() - 1}) + " and " + of.back();
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
    std::string at(const Choice &choice) {
        if (choice.ranked.empty())
            return "";
        const Case &item = choice.ranked.front();
        const std::string name = item.kernel(), regime = regime_of(item);
        std::string what;
        const bool is_tie = !first_.empty() && name != first_ && ties(choice, first_);
        if (is_tie) { // whichever is before the other by a little: neither takes over
            if (tied_ != name)
                what = "a tie of " + name + " and " + first_;
            tied_ = name;
            return what;
        }
        if (!first_.empty() && name != first_)
            what = name + " takes over from " + first_;
        if (name != first_ || !ties(choice, tied_))
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
    static bool ties(const Choice &choice, const std::string &name) {
        const Prediction &first = *choice.ranked.front().prediction;
        return first.times.fitted_s && std::ranges::any_of(choice.best, [&](const BestOf &best) {
                   return best.name == name && best.time <= *first.time_high_s;
               });
    }

    std::string first_, regime_, tied_; ///< the last that was first for sure, and what ties with it
};

/// Where the answers of a sweep turn. A line of it is `length` answers, or those of one GPU.
std::string turns(const std::vector<RankedShape> &answers, std::size_t length) {
    std::string out;
    Turns line;
    std::size_t in_line = 0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const RankedShape &now = answers[i];
        if (i == 0 || now.question != answers[i - 1].question || in_line == length) {
            line = {};
            in_line = 0;
        }
        ++in_line;
        if (const std::string what = line.at(now.choice); !what.empty())
            out += headed("  ",
                          now.shape->shape.id() +
                              (now.question->variant.empty() ? "" : " on " + now.question->variant) + ": " +
                              what,
                          4);
    }
    return out.empty() ? "" : bold("where it turns, line by line") + "\n" + out;
}

std::string reasons(const Choice &choice) {
    std::string text;
    for (const Case &item : choice.ranked)
        if (item.prediction->margin)
            text += headed("  ", why_text(*item.prediction->margin, item.kernel()), 4);
    return text.empty() ? "" : hanging("why " + *choice.ranked.front().strategy + " is first: it is") + text;
}

/// Over all shapes: how far the settings that were placed are from the first of each ranking.
std::string places_text(const std::vector<RankedShape> &answers, const std::vector<std::string> &placed) {
    std::string text;
    for (std::size_t p = 0; p < placed.size(); ++p) {
        const std::string &asked = placed[p];
        double logs = 0.0, worst = 1.0;
        std::int64_t shapes = 0, first = 0, better = 0, settings = 0;
        for (const auto &[question, shape, choice] : answers) {
            for (std::size_t i = 0; i < choice.ranked.size(); ++i) {
                if (choice.ranked[i].strategy != choice.placed[p] || !has_times(choice))
                    continue;
                const double factor =
                    *choice.ranked[i].prediction->time_s / *choice.ranked.front().prediction->time_s;
                ++shapes;
                first += i == 0;
                better += choice.ranks[i] - 1;
                settings += choice.settings;
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

/// What was measured beside what was forecast, in the order of the forecast, and whose time was the shortest.
std::string measured_table(const RankedShape &answer, std::int64_t count) {
    using Line = const Row &;
    const Choice &choice = answer.choice;
    const auto time_of = [](const Case &item) { // measured
        const Measurement *cold = item.measured(L2State::cold);
        return cold && item.status == Status::ok ? std::optional(cold->time_s) : std::nullopt;
    };
    std::vector<std::pair<Seconds, std::size_t>> order; // measured time, index
    for (std::size_t i = 0; i < choice.ranked.size(); ++i)
        if (const std::optional<Seconds> time = time_of(choice.ranked[i]))
            order.emplace_back(*time, i);
    std::sort(order.begin(), order.end());
    std::vector<Row> rows = rows_of(answer);
    std::erase_if(rows, [&](Line row) { return *row.rank > count; });
    const auto place_of = [&](Line row) -> Cell {
        const std::optional<Seconds> time = time_of(*row.item);
        const auto index = static_cast<std::size_t>(row.item - choice.ranked.data());
        return !time ? Cell(name_of(row.item->status))
                     : Cell(std::to_string(std::ranges::lower_bound(order, std::pair(*time, index)) -
                                           order.begin() + 1));
    };
    std::string text = table(table_of<Row>(
        rows,
        {{{"rank", As::number}, &Row::rank},
         {{"forecast", As::number, Keep::must}, [](Line row) { return time_cell(row.item->forecast_s()); }},
         {{"measured", As::number, Keep::must}, [&](Line row) { return time_cell(time_of(*row.item)); }},
         {{"error", As::number, Keep::must},
          [&](Line row) { return error_cell(row.item->forecast_s(), time_of(*row.item)); }},
         {{"place", As::number, Keep::high}, place_of},
         {{"strategy", As::text, Keep::must, Fit::wrap}, [&](Line row) {
              const bool says_why = !time_of(*row.item) && row.item->reason;
              return *row.item->strategy + (says_why ? ": " + *row.item->reason : "");
          }}}));
    text += refused_line(choice, *answer.question, false);
    if (order.empty())
        return text;
    const auto &[fastest, at] = order.front();
    text += "fastest measured: " + *choice.ranked[at].strategy;
    const Measurement *first = choice.ranked.front().measured(L2State::cold);
    if (at == 0)
        text += ", the first of the forecast";
    else if (first && choice.ranked.front().status == Status::ok)
        text += fmt::format(", rank {}; the first of the forecast takes {:.1f} % longer", choice.ranks[at],
                            100.0 * (first->time_s / fastest - 1.0));
    return text + "\n";
}

} // namespace

std::string choice_text(const std::vector<RankedShape> &answers, const ChoiceView &view) {
    std::string text;
    if (answers.size() > 1 && !view.blocks) {
        text = bold(wrapped("what to take, the first of each ranking on " + gpus_of(answers) +
                            answers.front().question->images)) +
               compact(answers, !view.sweep);
        if (view.sweep)
            text += turns(answers, *view.sweep);
        return text + "knobs: --top 1, or --json\n";
    }
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const auto &[question, shape, choice] = answers[i];
        text += bold(shape_words(shape->name, shape->shape.id()) + " on " +
                     (question->variant.empty() ? question->gpu : question->variant)) +
                "\n";
        if (view.measured > 0) {
            text += measured_table(answers[i], view.measured);
        } else {
            if (!choice.ranked.empty())
                text += verdict_of(choice, *question, view.extent, answers.size() > 1) +
                        verdict_line("total", calls_words(choice.ranked.front()));
            text += forecast_table(answers[i]) + refused_line(choice, *question, view.extent.why);
        }
        text += (view.extent.why ? reasons(choice) : "") + (i + 1 < answers.size() ? "\n" : "");
    }
    const bool shortened = std::ranges::any_of(answers, [](const RankedShape &answer) {
        for (std::size_t i = 1; i < answer.choice.ranked.size(); ++i)
            if (is_of_the_first(answer.choice, i))
                return true;
        return false;
    });
    if (shortened && view.measured == 0)
        text += wrapped("Of further settings of rank 1's strategy the table shows only the knobs that differ "
                        "from rank 1.");
    return text + places_text(answers, view.extent.placed);
}

std::vector<Row> choice_rows(const std::vector<RankedShape> &answers) {
    std::vector<Row> rows;
    for (const RankedShape &answer : answers)
        for (Row &row : rows_of(answer))
            rows.push_back(row);
    return rows;
}

} // namespace convcast::cli
