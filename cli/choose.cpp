#include "cli/answers.hpp"
#include "cli/device.hpp"
#include "cli/document.hpp"
#include "cli/forecasts.hpp"
#include "cli/interrupt.hpp"
#include "cli/network.hpp"
#include "cli/progress.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "cli/version.hpp"
#include "executor/baselines/names.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/parallel.hpp"
#include "model/base/text.hpp"
#include "model/choose/why.hpp"
#include "model/record/run_lines.hpp"
#include "model/regime/words.hpp"
#include "model/shape/shape_range.hpp"
#include "reports/choice_figure.hpp"
#include "reports/paper_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

/// What to take for a shape on one GPU. It points at the question and its shape.
struct RankedShape {
    const Question *question = nullptr;
    const AskedShape *shape = nullptr;
    Choice choice;
};

/// What the command line asks for, checked.
struct Asked {
    Extent extent;
    std::int64_t measured = 0;        ///< how many settings of each ranking are timed; 0: none
    bool blocks = false;              ///< a ranking for each shape, not a line
    std::optional<std::size_t> sweep; ///< how many values the last --sweep has
    int device = 0;
    std::string no_gpu; ///< why nothing can be timed although it is asked; "" where it can
    Format format = Format::text;
    std::string output;
};

// ---- what the answer says ----

/// The knobs in a strategy's text, in their order: {"tile_k=64", "split=2"}; none where it names none.
std::vector<std::string> knobs_of(const std::string &text) {
    const std::size_t colon = text.find(':');
    return colon == std::string::npos ? std::vector<std::string>() : split(text.substr(colon + 1), ',');
}

/// Whether the setting at this place of the ranking is not the first, but of the first one's strategy.
bool is_of_the_first(const Choice &choice, std::size_t at) {
    return at > 0 && choice.ranked[at].kernel() == choice.ranked.front().kernel();
}

/// The strategy of a setting in the table. The first has its name alone, since the verdict above has its
/// knobs; another setting of that strategy has the knobs that differ; one of another strategy has all knobs.
std::string strategy_cell(const Choice &choice, std::size_t at) {
    const std::string &text = *choice.ranked[at].strategy, name = choice.ranked[at].kernel(); // no baselines
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

/// A row for each case of a ranking, with its rank and, where there are times, the time of the first.
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

std::vector<Row> rows_of(const std::vector<RankedShape> &answers) {
    std::vector<Row> rows;
    for (const RankedShape &answer : answers)
        std::ranges::copy(rows_of(answer), std::back_inserter(rows));
    return rows;
}

/// The ranking as a table, and below it what a mark in it means.
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

/// A line of the strategies that do not do the shape, or "". With their reasons if `why`, if the question
/// names strategies, or if nothing is ranked; else their names alone.
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

/// How safe it is that the first is the fastest: the other strategies that tie with it, since their best time
/// lies inside its interval, and the next one, which does not. The first must have a time.
std::string safety(const Choice &choice) {
    const Prediction &first = *choice.ranked.front().prediction;
    if (!first.times.fitted_s)
        return choice.best.size() < 2
                   ? "no other strategy is in the ranking"
                   : fmt::format("not known: without a calibration there is no interval; {} is next, {:.2f}x",
                                 choice.best[1].name, choice.best[1].time / *first.time_s);
    std::string ties, slower; // `slower`: the next one for sure
    for (std::size_t i = 1; i < choice.best.size(); ++i) {
        const BestOf &other = choice.best[i];
        const std::string text =
            fmt::format("{} {:.2f}x (rank {})", marked(other.name), other.time / *first.time_s, other.rank);
        if (other.time <= *first.time_high_s)
            ties += (ties.empty() ? "" : ", ") + text;
        else if (slower.empty())
            slower = text;
    }
    if (ties.empty())
        return slower.empty() ? "no other strategy is in the ranking"
                              : "by interval no other strategy ties; next " + slower;
    return "a tie by interval with " + ties +
           (slower.empty() ? "; nothing else is slower for sure" : "; slower for sure from " + slower) +
           "; --measure K tells on the GPU";
}

/// Whether a setting is of a strategy that is ranked: a named one, or any that --tensor-cores lets in.
bool is_ranked(const std::string &text, const Question &question, const Extent &extent) {
    const std::vector<std::string> &names = question.strategies;
    return (extent.tensor_cores || !names.empty() || !on_tensor_cores(text)) &&
           (names.empty() || std::ranges::find(names, text.substr(0, text.find(':'))) != names.end());
}

/// Lines above the table: what to take, its time, how safe it is, what is measured. `brief` leaves out the
/// time, and how safe it is where one strategy is ranked. The ranking must not be empty.
std::string verdict_of(const Choice &choice, const Question &question, const Extent &extent, bool brief) {
    const Case &best = choice.ranked.front();
    const Prediction &p = *best.prediction;
    std::string out = verdict_line("take", marked(*best.strategy));
    if (!p.time_s)
        return out;
    if (!brief)
        out += time_lines(p, question.profile, 3);
    if (!brief || choice.best.size() > 1)
        out += verdict_line("how safe", safety(choice));
    if (on_tensor_cores(*best.strategy))
        for (const BestOf &other : choice.best)
            if (!on_tensor_cores(other.name)) {
                out += verdict_line("otherwise", fmt::format("without tensor cores {}, {:.2f}x (rank {})",
                                                             other.name, other.time / *p.time_s, other.rank));
                break;
            }
    if (choice.left_out)
        out +=
            verdict_line("otherwise", fmt::format("on tensor cores {}, {:.2f}x; --tensor-cores ranks it too",
                                                  choice.left_out->name, choice.left_out->time / *p.time_s));
    return out + known_lines(best, question,
                             [&](const std::string &text) { return is_ranked(text, question, extent); });
}

/// A line on strategies on tensor cores that were not ranked: for how many shapes one would be first, and
/// with `total` the time of all shapes then. "" where none was left out.
std::string what_is_left_out(const std::vector<RankedShape> &answers, bool total) {
    std::size_t shapes = 0, first = 0; // with one left out; where that would be first
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

/// The answer with a line for each shape, the first of its ranking. `total` adds up all shapes.
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

/// The GPUs of the answers for a title; "NVIDIA H200 with 66 and 132 SMs" where all are settings of one.
std::string gpus_of(const std::vector<RankedShape> &answers) {
    std::vector<std::string> names, variants;
    std::set<int> sms;
    for (const RankedShape &answer : answers) {
        const Question &question = *answer.question;
        add_once(names, question.variant.empty() ? question.title : question.profile.name);
        add_once(variants, question.variant);
        sms.insert(question.profile.limits.sm_count);
    }
    const auto listed = [](const std::vector<std::string> &of) {
        constexpr std::size_t most = 4; // chosen, so that a title stays short
        return of.size() == 1     ? of.front()
               : of.size() > most ? join_some(of, most)
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

/// Where along the lines of a sweep another strategy becomes the first for sure, and where the regime turns.
/// A line is the answers for the values of the last --sweep, `length` in number, on one GPU.
std::string turns(const std::vector<RankedShape> &answers, std::size_t length) {
    const auto regime_of = [](const Case &item) -> std::string {
        const auto &regimes = item.prediction->regimes;
        return regimes && regimes->tier2 ? words_of(*regimes->tier2) : "";
    };
    // Whether a strategy's best setting lies inside the interval of the first.
    const auto ties = [](const Choice &choice, const std::string &name) {
        const Prediction &first = *choice.ranked.front().prediction;
        return first.times.fitted_s && std::ranges::any_of(choice.best, [&](const BestOf &best) {
                   return best.name == name && best.time <= *first.time_high_s;
               });
    };
    std::string out;
    std::string first, regime; // the last strategy that was first for sure, and its regime
    std::string tied;          // the strategy that ties with `first`; "" where none does
    std::size_t in_line = 0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const auto &[question, shape, choice] = answers[i];
        if (i == 0 || question != answers[i - 1].question || in_line == length) {
            first = regime = tied = "";
            in_line = 0;
        }
        ++in_line;
        if (choice.ranked.empty())
            continue;
        const std::string name = choice.ranked.front().kernel(), now = regime_of(choice.ranked.front());
        std::string what;
        if (!first.empty() && name != first && ties(choice, first)) {
            if (tied != name) // the old first lies inside the interval of the new one: neither takes over
                what = "a tie of " + name + " and " + first;
            tied = name;
        } else {
            if (!first.empty() && name != first)
                what = name + " takes over from " + first;
            if (name != first || !ties(choice, tied))
                tied.clear();
            if (!first.empty() && now != regime)
                what += (what.empty() ? "" : "; ") + now + " instead of " + regime;
            first = name;
            regime = now;
        }
        if (!what.empty())
            out += headed("  ",
                          shape->shape.id() + (question->variant.empty() ? "" : " on " + question->variant) +
                              ": " + what,
                          4);
    }
    return out.empty() ? "" : bold("where it turns, line by line") + "\n" + out;
}

/// Lines for --why: what makes the first faster than each other case; "" where nothing is compared.
std::string reasons(const Choice &choice) {
    std::string text;
    for (const Case &item : choice.ranked)
        if (item.prediction->margin)
            text += headed("  ", why_text(*item.prediction->margin, item.kernel()), 4);
    return text.empty() ? "" : hanging("why " + *choice.ranked.front().strategy + " is first: it is") + text;
}

/// A line for each setting of --place: how far it is from the first of the rankings, over all shapes. The
/// settings are as they were given; Choice::placed has them, in the same order, with every knob.
std::string places_text(const std::vector<RankedShape> &answers, const std::vector<std::string> &placed) {
    std::string text;
    for (std::size_t p = 0; p < placed.size(); ++p) {
        const std::string &asked = placed[p];
        double logs = 0.0, worst = 1.0; // sum of the logarithms of times over the first's; the largest
        // Shapes whose ranking has it; of these where it is first; settings before it; settings in all.
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

/// The measured times of the `count` first of the ranking, in its order, and which setting was fastest.
std::string measured_table(const RankedShape &answer, std::int64_t count) {
    using Line = const Row &;
    const Choice &choice = answer.choice;
    const auto measured_time = [](const Case &item) {
        const Measurement *cold = item.status == Status::ok ? item.measured(L2State::cold) : nullptr;
        return cold ? std::optional(cold->time_s) : std::nullopt;
    };
    std::vector<std::pair<Seconds, std::size_t>> order; // measured time, index
    for (std::size_t i = 0; i < choice.ranked.size(); ++i)
        if (const std::optional<Seconds> time = measured_time(choice.ranked[i]))
            order.emplace_back(*time, i);
    std::sort(order.begin(), order.end());
    std::vector<Row> rows = rows_of(answer);
    std::erase_if(rows, [&](Line row) { return *row.rank > count; });
    const auto place_of = [&](Line row) -> Cell { // by the measured time; the status where there is none
        const std::optional<Seconds> time = measured_time(*row.item);
        const auto index = static_cast<std::size_t>(row.item - choice.ranked.data());
        return !time ? Cell(name_of(row.item->status))
                     : Cell(std::to_string(std::ranges::lower_bound(order, std::pair(*time, index)) -
                                           order.begin() + 1));
    };
    std::string text = table(table_of<Row>(
        rows,
        {{{"rank", As::number}, &Row::rank},
         {{"forecast", As::number, Keep::must}, [](Line row) { return time_cell(row.item->forecast_s()); }},
         {{"measured", As::number, Keep::must},
          [&](Line row) { return time_cell(measured_time(*row.item)); }},
         {{"error", As::number, Keep::must},
          [&](Line row) { return error_cell(row.item->forecast_s(), measured_time(*row.item)); }},
         {{"place", As::number, Keep::high}, place_of},
         {{"strategy", As::text, Keep::must, Fit::wrap}, [&](Line row) {
              const bool says_why = !measured_time(*row.item) && row.item->reason;
              return *row.item->strategy + (says_why ? ": " + *row.item->reason : "");
          }}}));
    text += refused_line(choice, *answer.question, false);
    if (order.empty())
        return text;
    const auto &[fastest, at] = order.front();
    text += "fastest measured: " + *choice.ranked[at].strategy;
    if (at == 0)
        text += ", the first of the forecast";
    else if (const std::optional<Seconds> first = measured_time(choice.ranked.front()))
        text += fmt::format(", rank {}; the first of the forecast takes {:.1f} % longer", choice.ranks[at],
                            100.0 * (*first / fastest - 1.0));
    return text + "\n";
}

/// The answer for a terminal: a line for each shape, or a ranking for each.
std::string text_of(const std::vector<RankedShape> &answers, const Asked &asked) {
    std::string text;
    if (answers.size() > 1 && !asked.blocks) {
        text = bold(wrapped("what to take, the first of each ranking on " + gpus_of(answers) +
                            answers.front().question->images)) +
               compact(answers, !asked.sweep);
        if (asked.sweep)
            text += turns(answers, *asked.sweep);
        return text + "knobs: --top 1, or --json\n";
    }
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const auto &[question, shape, choice] = answers[i];
        text += bold(shape_words(shape->name, shape->shape.id()) + " on " +
                     (question->variant.empty() ? question->title : question->variant)) +
                "\n";
        if (asked.measured > 0) {
            text += measured_table(answers[i], asked.measured);
        } else {
            if (!choice.ranked.empty())
                text += verdict_of(choice, *question, asked.extent, answers.size() > 1) +
                        verdict_line("total", calls_words(choice.ranked.front()));
            text += forecast_table(answers[i]) + refused_line(choice, *question, asked.extent.why);
        }
        text += (asked.extent.why ? reasons(choice) : "") + (i + 1 < answers.size() ? "\n" : "");
    }
    const bool shortened = std::ranges::any_of(answers, [](const RankedShape &answer) {
        for (std::size_t i = 1; i < answer.choice.ranked.size(); ++i)
            if (is_of_the_first(answer.choice, i))
                return true;
        return false;
    });
    if (shortened && asked.measured == 0)
        text += wrapped("Of further settings of rank 1's strategy the table shows only the knobs that differ "
                        "from rank 1.");
    return text + places_text(answers, asked.extent.placed);
}

// ---- what is asked, and how it is answered ----

/// Adds what is refused of a shape, and one case that is not, which shows that something does the shape.
void add_refusals(Refusals &refusals, const RankedShape &answer) {
    std::vector<Case> cases = answer.choice.refused;
    if (!answer.choice.ranked.empty())
        cases.push_back(answer.choice.ranked.front());
    refusals.add(*answer.question, cases);
}

/// Writes the figure of --figure. Throws UsageError where fewer than two rankings have times.
void write_choice_figure(const std::vector<RankedShape> &answers, const Arguments &arguments) {
    std::vector<ChoiceAnswer> drawn;
    for (const auto &[question, shape, choice] : answers) {
        if (!has_times(choice))
            continue;
        const Prediction &first = *choice.ranked.front().prediction;
        ChoiceAnswer &answer = drawn.emplace_back();
        answer.shape = shape->shape;
        answer.gpu = question->variant.empty() ? question->profile.name : question->variant;
        answer.longest_tie = first.times.fitted_s ? first.time_high_s : std::nullopt;
        answer.fastest = choice.best;
    }
    if (drawn.size() < 2)
        arguments.refuse(
            "--figure draws how the choice changes and needs two answers at least: run a size "
            "through values with --sweep, or name several --shape, --gpu or --sms, for example: convcast "
            "choose --shape n1c64h56w56k64r3s3 --sweep h=w=28:224:28 --figure who_wins.svg");
    const ChoiceFigure figure = who_wins(drawn);
    const FigureFiles written =
        write_paper_figure(figure.figure, figure.cases, PaperWidth::parse(arguments.text("width")),
                           arguments.text("figure", ""), "Forecast by convcast " + producer().version);
    say_what_is_written(written);
}

/// Times the `count` first of every ranking on the GPU as `run` does, without counters. Writes the results
/// into `answers`, and under which conditions they were measured into `conditions`. An interrupt writes what
/// was timed until then, calls `answer`, which is to print it, and ends the program.
RunEnd time_best(std::vector<RankedShape> &answers, const Question &question, std::int64_t count, int device,
                 std::map<std::string, std::string> &conditions, const std::function<void()> &answer) {
    std::vector<Case *> timed;
    for (auto &[question_of_it, shape, choice] : answers)
        for (std::size_t i = 0; i < choice.ranked.size(); ++i)
            if (choice.ranks[i] <= count)
                timed.push_back(&choice.ranked[i]);
    std::vector<Case> cases;
    cases.reserve(timed.size());
    for (const Case *item : timed)
        cases.push_back(*item);
    Run document = new_run(question, std::move(cases));
    RunRequest request;
    request.device = device;
    request.sms = question.sms;
    request.no_counters = true;
    const auto take_results = [&](Run &from) {
        for (std::size_t i = 0; i < timed.size(); ++i)
            *timed[i] = std::move(from.cases[i]);
        conditions = std::move(from.conditions);
    };
    request.last_words = [&](Run so_far) {
        take_results(so_far);
        note("interrupted; what was not timed has no place");
        answer();
    };
    const RunEnd end = run_on_device(document, question.profile, request);
    take_results(document);
    return end;
}

/// Reads and checks what `choose` is asked, but for GPUs and shapes. Throws UsageError.
Asked asked_choice(const Arguments &arguments) {
    Asked asked;
    asked.device = arguments.integer("device");
    asked.measured = arguments.integer("measure");
    const auto top = asked.measured > 0 ? asked.measured : arguments.integer("top");
    asked.extent = {.top = static_cast<std::size_t>(top),
                    .why = arguments.has("why"),
                    .placed = arguments.texts("place"),
                    .tensor_cores = arguments.has("tensor-cores"),
                    .regimes = arguments.has("figure")};
    asked.blocks =
        arguments.has("top") || arguments.has("why") || arguments.has("place") || asked.measured > 0;
    if (arguments.has("sweep"))
        asked.sweep = ShapeRange::parse(arguments.texts("sweep").back()).values.size();
    for (const std::string &text : asked.extent.placed)
        parse_strategy(text); // refuse early, before any work
    for (const std::string &text : arguments.texts("strategy"))
        if (is_baseline(text) || text.find(':') != std::string::npos)
            arguments.refuse("it tries the knobs itself; --strategy takes a strategy's name, one of " +
                             join(strategy_names()) + ", got '" + text + "'");
    asked.format = format_of(arguments, true);
    asked.output = arguments.text("output", "-");
    if (asked.measured > 0) {
        if (asked.output != "-")
            check_writable(asked.output); // found before the work
        asked.no_gpu = why_not_run(asked.device).value_or("");
    }
    return asked;
}

/// The questions, one where settings are timed. Throws UsageError, InputError for a profile without times.
std::vector<Question> questions_of(const Arguments &arguments, const Asked &asked) {
    std::vector<Question> questions;
    if (asked.measured > 0)
        questions = {read_question(
            arguments, [&](int sms) { return asked.no_gpu.empty() ? sms_given(asked.device, sms) : sms; })};
    else
        questions = read_questions(arguments, asked.format != Format::json);
    for (const Question &question : questions)
        require_times(question.profile, "choose");
    return questions;
}

/// Ranks one shape. The first `with_terms` cases keep their trees of terms: more would fill the memory.
RankedShape answer_of(const AskedShape &shape, const Question &question, const Extent &extent,
                      std::size_t with_terms) {
    RankedShape answer{
        &question, &shape,
        choice_of(shape.shape, question.profile, question.knowledge, question.strategies, extent)};
    for (std::vector<Case> *cases : {&answer.choice.ranked, &answer.choice.refused})
        for (Case &item : *cases)
            label(item, shape);
    for (std::size_t i = with_terms; i < answer.choice.ranked.size(); ++i)
        if (std::optional<Prediction> &forecast = answer.choice.ranked[i].prediction)
            forecast->term.reset();
    return answer;
}

/// Ranks a question's shapes and gives the answers to `take`, some at a time and in order. Where there are at
/// least as many shapes as cores, each core ranks shapes of its own; fewer are ranked one after another, each
/// by all cores. `with_terms` as in answer_of. Progress shows `total` shapes, of which `done` were ranked
/// before this call; `ranked_one` is called after each shape, perhaps by several threads at once.
void rank_pieces(const Question &question, const Extent &extent, std::size_t with_terms, std::size_t done,
                 std::size_t total, const std::function<void()> &ranked_one,
                 const std::function<void(std::vector<RankedShape>)> &take) {
    constexpr std::size_t piece = 256; // shapes that are written at a time
    const std::vector<AskedShape> &shapes = question.shapes;
    const bool many = shapes.size() >= usable_cores();
    const std::size_t at_once = many ? std::max(piece, usable_cores()) : 1;
    Progress progress("choose", Progress::Where::terminal_after_a_while);
    for (std::size_t begin = 0; begin < shapes.size(); begin += at_once) {
        progress.show(done + begin, total, shapes[begin].shape.id());
        std::vector<RankedShape> answers(std::min(at_once, shapes.size() - begin));
        const auto find_answer = [&](std::size_t i) {
            answers[i] = answer_of(shapes[begin + i], question, extent, with_terms);
            ranked_one();
        };
        if (answers.size() >= usable_cores())
            in_parallel(answers.size(), find_answer);
        else
            for (std::size_t i = 0; i < answers.size(); ++i)
                find_answer(i);
        for (const RankedShape &answer : answers)
            if (const std::vector<Case> &ranked = answer.choice.ranked;
                !ranked.empty() && !has_times(answer.choice))
                note("not ranked: " + ranked.front().prediction->reason.value_or("no times"));
        take(std::move(answers));
    }
}

/// Ranks the shapes of all questions, held in memory. Where the answer has a line for each shape, only the
/// first of each ranking is made. Throws UsageError for more than most_held cases.
std::vector<RankedShape> rank_all(const std::vector<Question> &questions, Asked &asked,
                                  const Arguments &arguments) {
    std::vector<RankedShape> answers;
    std::size_t total = 0;
    for (const Question &question : questions)
        total += question.shapes.size();
    if (total > 1 && !asked.blocks && asked.format != Format::json)
        asked.extent.top = 1; // a line for each shape
    if (total * asked.extent.top > most_held)
        arguments.refuse(fmt::format(
            "{} shapes with the first {} of each are asked, and an answer as a "
            "table or as JSON has at most {} cases; ask for --top 1, or write lines{}, "
            "of which there may be any number: -o chosen.jsonl",
            total, asked.extent.top, most_held, questions.size() > 1 ? " for one GPU at a time" : ""));
    constexpr std::size_t most_trees = 2000; // cases; the trees of more would fill the memory
    const std::size_t with_terms = asked.extent.why || total * asked.extent.top <= most_trees
                                       ? std::string::npos
                                   : asked.format == Format::text && total == 1 ? 1 // the verdict's
                                                                                : 0;
    std::atomic<std::size_t> ranked = 0;
    const OnInterrupt on_interrupt([&] {
        note(fmt::format("interrupted after {} of {} shapes; nothing is kept{}", ranked.load(), total,
                         asked.output == "-" ? "" : ", and " + asked.output + " is as it was before"));
    });
    for (const Question &question : questions)
        rank_pieces(
            question, asked.extent, with_terms, answers.size(), total, [&] { ++ranked; },
            [&](std::vector<RankedShape> piece) {
                std::move(piece.begin(), piece.end(), std::back_inserter(answers));
            });
    return answers;
}

/// Copies the cases of the interrupted answer that --resume names into `writer`, and removes their shapes
/// from the question. Throws UsageError where that answer was made with other knowledge than `head` says.
void go_on_with(const Arguments &arguments, const Run &head, RunLineWriter &writer, Question &question) {
    const std::string file = arguments.text("resume");
    std::set<std::pair<std::string, std::string>> answered; // shapes and their studies
    read_document_pieces(file, [&](Run piece, std::size_t) {
        if (piece.profile_hash != head.profile_hash || piece.conditions != head.conditions)
            arguments.refuse(file + " was chosen with another profile, other facts or another "
                                    "calibration; give what it was made with, or leave out --resume");
        for (const Case &item : piece.cases)
            answered.emplace(item.shape, item.study.value_or(""));
        writer.add(piece);
    });
    std::erase_if(question.shapes, [&](const AskedShape &asked) {
        return answered.contains({asked.shape.id(), asked.study.value_or("")});
    });
}

/// Ranks into a document of lines, some shapes at a time: only these are in memory, however many there are,
/// and an interrupt keeps the pieces written before it. Returns the exit code.
int choose_lines(Question question, const Asked &asked, const Arguments &arguments) {
    Run piece = new_run(question, {});
    const std::size_t all = question.shapes.size();
    RunLineWriter writer(asked.output, piece);
    if (arguments.has("resume"))
        go_on_with(arguments, piece, writer, question);
    std::atomic<std::size_t> kept = all - question.shapes.size();
    std::mutex writing; // guards `writer` and `finished`
    bool finished = false;
    const OnInterrupt keep([&] {
        writing.lock(); // for good: the program ends
        if (finished)
            return;
        if (kept > 0)
            writer.finish();
        note(fmt::format("interrupted after {} of {} shapes; {}", kept.load(), all,
                         kept > 0 ? asked.output + " has them, and the same question with --resume " +
                                        asked.output + " goes on"
                                  : "nothing is kept, and " + asked.output + " is as it was before"));
    });
    Refusals refusals;
    const auto write = [&](std::vector<RankedShape> answers) {
        for (RankedShape &answer : answers) {
            add_refusals(refusals, answer);
            std::move(answer.choice.ranked.begin(), answer.choice.ranked.end(),
                      std::back_inserter(piece.cases));
        }
        const std::scoped_lock lock(writing);
        writer.add(piece);
        kept += answers.size();
        piece.cases.clear();
    };
    rank_pieces(
        question, asked.extent, 0, kept, all, [] {}, write);
    const std::scoped_lock lock(writing);
    writer.finish();
    finished = true;
    refusals.say(true);
    return refusals.any() ? 1 : 0;
}

} // namespace

int choose(const Arguments &arguments) {
    refuse_overwriting(arguments, Documents::filled);
    (void)PaperWidth::parse(arguments.text("width")); // found before the work
    if (arguments.has("network"))
        return choose_network(arguments);
    Asked asked = asked_choice(arguments);
    const std::vector<Question> questions = questions_of(arguments, asked);
    if (asked.format == Format::json && names_lines(asked.output) && questions.size() == 1 &&
        asked.measured == 0 && !asked.extent.regimes)
        return choose_lines(questions.front(), asked, arguments);
    if (arguments.has("resume"))
        arguments.refuse("--resume goes on with a document of lines of one GPU; give -o FILE.jsonl too");
    std::vector<RankedShape> answers = rank_all(questions, asked, arguments);
    if (asked.extent.regimes)
        write_choice_figure(answers, arguments);
    std::map<std::string, std::string> conditions; // of the measurement; empty without one
    const auto write = [&] {
        const std::vector<Row> rows = rows_of(answers);
        if (asked.format != Format::json || questions.size() > 1)
            return write_cases(asked.output, asked.format, rows, !asked.sweep, [&] {
                return text_of(answers, asked) + all_assumptions(rows, false, "--json, or one GPU alone");
            });
        std::vector<Case> chosen;
        for (const Row &row : rows)
            chosen.push_back(*row.item);
        Run document = new_run(questions.front(), std::move(chosen));
        document.conditions.insert(conditions.begin(), conditions.end());
        write_run_file(asked.output, document);
    };
    RunEnd end = RunEnd::finished;
    if (!asked.no_gpu.empty())
        asked.measured = 0; // the forecast's ranking is the answer
    else if (asked.measured > 0)
        end = time_best(answers, questions.front(), asked.measured, asked.device, conditions, write);
    write();
    if (end == RunEnd::device_lost)
        throw GpuError("the GPU stopped answering; what was not timed has no place");
    if (!asked.no_gpu.empty())
        throw GpuError(
            "nothing was measured, so the ranking is the forecast's; this command times its first on "
            "a machine with a usable GPU: " +
            asked.no_gpu);
    Refusals refusals;
    for (const RankedShape &answer : answers)
        add_refusals(refusals, answer);
    refusals.say(asked.format != Format::text);
    const bool failed = refusals.any() || std::ranges::any_of(answers, [](const RankedShape &answer) {
                            return wrong_cases(answer.choice.ranked) > 0;
                        });
    return failed ? 1 : 0;
}

} // namespace convcast::cli
