#include "cli/answers.hpp"

#include "cli/document.hpp"
#include "cli/terminal.hpp"
#include "executor/baselines/names.hpp"
#include "model/base/errors.hpp"
#include "model/machine/assume.hpp"
#include "model/regime/rates.hpp"
#include "model/strategies/list.hpp"

#include <boost/describe.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace convcast::cli {

const char *const tensor_core_remark = "* on tensor cores: FP32 accuracy by three TF32 products for one\n";

namespace {

std::string name_of(const Case &item) {
    const std::string text = item.strategy.value_or(item.baseline.value_or(""));
    return item.strategy ? text.substr(0, text.find(':')) : text;
}

/// What was measured of a case: its own time where it has one, as one measured elsewhere does, or a
/// recording's.
std::optional<Seconds> measured_time(const Case &item, const KnownTimes &known) {
    if (const Measurement *cold = item.measured(L2State::cold))
        return cold->time_s;
    if (const std::optional<KnownTime> own =
            known.find(item.shape, item.strategy.value_or(item.baseline.value_or(""))))
        return own->time_s;
    return std::nullopt;
}

std::string percent(double share) {
    return fmt::format("{:.0f} %", 100.0 * std::min(share, 1.0));
}

std::string error_of(Seconds forecast, Seconds measured) {
    const double error = std::round(100.0 * (forecast / measured - 1.0));
    return error == 0.0 ? "0 %" : fmt::format("{:+.0f} %", error);
}

bool comparable(const std::string &baseline) {
    return !is_baseline(baseline) || baseline == "cudnn:half" ||
           (is_true_fp32(baseline) && layout_of(baseline) == Layout::channels_first);
}

std::string launch_words(const Plan &plan, int sms) {
    const Partition &main = main_launch(plan);
    return fmt::format("{} CTA{} on {} of {} SMs, {} wave{}", grouped(main.ctas), main.ctas == 1 ? "" : "s",
                       std::min<std::int64_t>(main.ctas, sms), sms, main.waves, main.waves == 1 ? "" : "s");
}

std::string interval_words(const Prediction &p) {
    return p.times.fitted_s ? fmt::format("nine of ten from {} to {}", short_time(*p.time_low_s),
                                          short_time(*p.time_high_s))
                            : "nothing overlapped " + short_time(*p.time_high_s);
}

} // namespace

Option recorded_option() {
    return {"recorded", Option::texts};
}

KnownTimes known_times(const Arguments &arguments, const Question &question) {
    KnownTimes known(question.profile);
    if (is_supposed(question.profile))
        return known; // nobody has measured a GPU that does not exist
    for (const std::string &file : arguments.texts("recorded")) {
        const Run run = read_document(file);
        const auto gpu = run.conditions.find("gpu");
        if (gpu == run.conditions.end())
            throw UsageError("--recorded " + file +
                             ": nothing in it was measured; it takes what `convcast run` "
                             "wrote");
        if (gpu->second != question.profile.name)
            throw UsageError("--recorded " + file + " was measured on " + gpu->second +
                             ", the forecast is for " + question.profile.name);
        if (sms_of(run, file).value_or(question.profile.limits.sm_count) == question.profile.limits.sm_count)
            known.add(run, std::filesystem::path(file).filename().string());
    }
    return known;
}

bool on_tensor_cores(const std::string &strategy) {
    return uses_tensor_cores(strategy.substr(0, strategy.find(':')));
}

std::string time_words(const Prediction &p) {
    std::string text = short_time(*p.time_s) + ", " + interval_words(p);
    if (p.times.tier0_s)
        text += fmt::format("; {:.2f}x the speed of light ({})", *p.time_s / *p.times.tier0_s,
                            short_time(*p.times.tier0_s));
    if (p.assumed_low_s && p.assumed_high_s)
        text += fmt::format("; {} to {} as the numbers that were assumed lie in their ranges",
                            short_time(*p.assumed_low_s), short_time(*p.assumed_high_s));
    return text;
}

std::string regime_words(const Prediction &p, const GpuProfile &profile) {
    if (!p.regimes || !p.regimes->tier2 || !p.plan || !p.work)
        return "";
    const Utilisation busy = utilisation_of(*p.plan, *p.work, *p.time_s, profile);
    const std::string arithmetic = "FMA pipes " + percent(busy.fma) + ", issue slots " + percent(busy.issue),
                      memory = "DRAM " + percent(busy.dram) + ", L2 " + percent(busy.l2);
    const Regime regime = *p.regimes->tier2;
    std::string text = boost::describe::enum_to_string(regime, "?");
    if (regime == Regime::compute_hidden)
        text += ": arithmetic is busy (" + arithmetic + "), memory waits for it (" + memory + ")";
    else if (regime == Regime::bulk_hidden)
        text += ": memory is busy (" + memory + "), arithmetic waits for it (" + arithmetic + ")";
    else
        text += ": neither arithmetic (" + arithmetic + ") nor memory (" + memory + ") is busy";
    text += "; " + launch_words(*p.plan, profile.limits.sm_count);
    if (p.regimes->paper && *p.regimes->paper != regime)
        text +=
            std::string("; the paper's rule says ") + boost::describe::enum_to_string(*p.regimes->paper, "?");
    return text;
}

std::string largest_terms(const Term &term, std::size_t most) {
    std::vector<Bar> bars = waterfall(term);
    std::stable_sort(bars.begin(), bars.end(),
                     [](const Bar &a, const Bar &b) { return a.added_s > b.added_s; });
    std::string text;
    for (std::size_t i = 0; i < std::min(most, bars.size()) && bars[i].added_s.value > 0.0; ++i)
        text += (text.empty() ? "" : ", ") + bars[i].name + " " + short_time(bars[i].added_s);
    return text;
}

std::string rate_words(const Rates &rates, const std::string &strategy) {
    std::string text;
    if (rates.flop_per_s)
        text = fmt::format("{:.3g} GFLOP/s", *rates.flop_per_s / 1e9);
    if (rates.flop_per_s && *rates.flop_per_s >= 1e12)
        text = fmt::format("{:.3g} TFLOP/s", *rates.flop_per_s / 1e12);
    if (rates.peak_share)
        text += fmt::format(", {:.0f} % of the FFMA peak{}", 100.0 * *rates.peak_share,
                            strategy.starts_with("winograd") ? ", counted as direct products" : "");
    if (rates.fmas_per_l2_byte)
        text +=
            fmt::format("{}{:.3g} FMAs per byte of L2", text.empty() ? "" : "; ", *rates.fmas_per_l2_byte);
    if (rates.fmas_per_dram_byte)
        text += fmt::format("{}{:.3g} per byte of DRAM", text.empty() ? "" : ", ", *rates.fmas_per_dram_byte);
    return text;
}

std::string known_words(const Case &item, const Question &question, const KnownTimes &known) {
    std::string text;
    if (const std::optional<KnownTime> own =
            known.find(item.shape, item.strategy.value_or(item.baseline.value_or("")))) {
        const Rates rates =
            rates_of(ConvShape::parse(item.shape), std::nullopt, own->time_s, question.profile);
        text =
            short_time(own->time_s) + ", " + rate_words(rates, item.strategy.value_or("")) +
            (item.prediction->time_s ? "; forecast " + error_of(*item.prediction->time_s, own->time_s) : "") +
            " (recording " + own->recording + ")";
    }
    if (const std::optional<KnownTime> other = known.fastest_baseline(item.shape, comparable))
        text += (text.empty() ? "not this setting; " : "; ") + std::string("fastest library ") + other->name +
                " " + short_time(other->time_s);
    return text;
}

std::string said_of(const std::string &variant, const std::string &said) {
    const std::size_t first = std::min(said.find('\n'), said.size() - 1) + 1;
    return variant.empty()
               ? said
               : wrapped(variant + ": " + said.substr(0, first), 0, terminal_width()) + said.substr(first);
}

std::string hanging(const std::string &text) {
    return wrapped(text, 2, terminal_width()).substr(std::min<std::size_t>(2, text.size()));
}

std::string verdict_line(const std::string &label, const std::string &text) {
    constexpr std::size_t indent = 15;
    return headed("  " + label + std::string(indent - 2 - std::min(indent - 3, label.size()), ' '), text,
                  indent, terminal_width());
}

std::string verdict(const Case &item, const Question &question, const KnownTimes &known,
                    const std::optional<Case> &faster) {
    std::string out = bold(headed("",
                                  item.shape + " on " + question.profile.name + ", " +
                                      item.strategy.value_or(item.baseline.value_or("")),
                                  0, terminal_width()));
    if (item.status != Status::ok)
        return out + headed("  ",
                            std::string(boost::describe::enum_to_string(item.status, "?")) + ": " +
                                item.reason.value_or(""),
                            2, terminal_width());
    const Prediction &p = *item.prediction;
    if (item.baseline && !p.time_s)
        return out +
               verdict_line("bound", (p.times.tier0_s ? short_time(*p.times.tier0_s) + ": " : "") +
                                         p.reason.value_or("")) +
               (known_words(item, question, known).empty()
                    ? ""
                    : verdict_line("measured", known_words(item, question, known)));
    if (!p.time_s)
        return out + verdict_line("time", "none: " + p.reason.value_or("no time")) +
               (p.regimes && p.regimes->paper
                    ? verdict_line("regime", std::string("by the paper's rule ") +
                                                 boost::describe::enum_to_string(*p.regimes->paper, "?"))
                    : "") +
               (p.rates && p.rates->fmas_per_l2_byte
                    ? verdict_line("rate", rate_words(*p.rates, item.strategy.value_or("")))
                    : "");
    out += verdict_line("time", time_words(p));
    if (const std::string regime = regime_words(p, question.profile); !regime.empty())
        out += verdict_line("regime", regime);
    else if (p.regimes && p.regimes->tier2)
        out += verdict_line("regime", boost::describe::enum_to_string(*p.regimes->tier2, "?"));
    out += verdict_line("time goes to", largest_terms(*p.term, 4));
    if (p.rates)
        out += verdict_line("rate", rate_words(*p.rates, item.strategy.value_or("")));
    if (const std::string measured = known_words(item, question, known); !measured.empty())
        out += verdict_line("measured", measured);
    if (faster && faster->prediction && faster->prediction->time_s)
        out +=
            verdict_line("faster", fmt::format("{}{}, {} ({:.2f}x)",
                                               on_tensor_cores(*faster->strategy) ? "on tensor cores " : "",
                                               *faster->strategy, short_time(*faster->prediction->time_s),
                                               *p.time_s / *faster->prediction->time_s));
    else if (faster)
        out += verdict_line("faster", "nothing that `convcast choose` tries");
    return out;
}

std::string refused_words(const std::vector<const Case *> &refused) {
    std::vector<std::pair<std::string, std::vector<std::string>>> by_reason;
    for (const Case *item : refused) {
        const std::string reason = item->prediction ? item->prediction->reason.value_or("")
                                                    : item->reason.value_or(""),
                          name = name_of(*item);
        auto same = std::find_if(by_reason.begin(), by_reason.end(),
                                 [&](const auto &entry) { return entry.first == reason; });
        if (same == by_reason.end())
            same = by_reason.insert(by_reason.end(), {reason, {}});
        if (std::find(same->second.begin(), same->second.end(), name) == same->second.end())
            same->second.push_back(name);
    }
    std::string text;
    for (const auto &[reason, names] : by_reason)
        text += (text.empty() ? "" : "; ") + join(names) + ": " + reason;
    return text;
}

namespace {

/// The columns of a table of cases, and which of them say something.
struct CaseColumns {
    bool variants = false, names = false, shapes = false, counts = false, timed = false, measured = false,
         interval = false;
    TimeUnit unit;
    std::vector<const Question *> lettered; ///< whose names are too long for a column: the first is A
    /// Of a question, shapes and strategies that have several settings in the table.
    std::set<std::tuple<const Question *, std::string, std::string>> ambiguous;

    std::string seconds(Seconds time) const { return number_in(unit, time); }
};

std::string variant_of(const Row &row) {
    return row.question->variant.empty() ? row.question->profile.id : row.question->variant;
}

/// "A", "B", ..., "Z", "A2", ...
std::string letter_of(std::size_t at) {
    return std::string(1, static_cast<char>('A' + at % 26)) + (at < 26 ? "" : std::to_string(at / 26 + 1));
}

/// The questions in their order, if the name of one is too long for a column.
std::vector<const Question *> lettered_questions(const std::vector<Row> &rows) {
    constexpr std::size_t longest_name = 20;
    std::vector<const Question *> questions;
    bool is_long = false;
    for (const Row &row : rows)
        if (std::find(questions.begin(), questions.end(), row.question) == questions.end()) {
            questions.push_back(row.question);
            is_long = is_long || shown_width(variant_of(row)) > longest_name;
        }
    return is_long && questions.size() > 1 ? questions : std::vector<const Question *>();
}

std::string gpu_cell(const Row &row, const CaseColumns &columns) {
    const auto found = std::find(columns.lettered.begin(), columns.lettered.end(), row.question);
    return found == columns.lettered.end()
               ? variant_of(row)
               : letter_of(static_cast<std::size_t>(found - columns.lettered.begin()));
}

std::string legend_of(const CaseColumns &columns) {
    std::string text;
    for (std::size_t i = 0; i < columns.lettered.size(); ++i) {
        const std::string letter = letter_of(i);
        text += headed(letter + "  ", variant_of({nullptr, columns.lettered[i], nullptr}), letter.size() + 2,
                       terminal_width());
    }
    return text;
}

CaseColumns columns_of(const std::vector<Row> &rows) {
    CaseColumns columns;
    std::map<std::tuple<const Question *, std::string, std::string>, std::set<std::string>> settings;
    double shortest = 1e300;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Case &item = *rows[i].item;
        columns.shapes = columns.shapes || item.shape != rows.front().item->shape;
        columns.variants = columns.variants || rows[i].question != rows.front().question;
        columns.names = columns.names || item.name;
        columns.counts = columns.counts || item.count;
        if (item.status != Status::ok)
            continue;
        if (item.strategy)
            settings[{rows[i].question, item.shape, name_of(item)}].insert(*item.strategy);
        if (const std::optional<Seconds> time = item.prediction->time_s) {
            columns.timed = true;
            columns.interval = columns.interval || item.prediction->times.fitted_s;
            shortest = std::min(shortest, time->value);
        }
        columns.measured = columns.measured || measured_time(item, *rows[i].known);
    }
    columns.lettered = lettered_questions(rows);
    columns.unit = time_unit(Seconds(columns.timed ? shortest : 1e-6));
    for (const auto &[key, texts] : settings)
        if (texts.size() > 1)
            columns.ambiguous.insert(key);
    return columns;
}

std::vector<Column> titles(const CaseColumns &columns) {
    const std::string unit = " (" + columns.unit.name + ")";
    std::vector<Column> titles;
    if (columns.variants)
        titles.push_back({"GPU", Align::left, Keep::must});
    const Column time = {"time" + unit, Align::right, Keep::must};
    if (columns.names) {
        titles.push_back({"name", Align::left, Keep::high});
        if (columns.timed)
            titles.push_back(time);
    }
    if (columns.shapes)
        titles.push_back({"shape", Align::left, columns.names ? Keep::high : Keep::must});
    if (columns.counts)
        titles.push_back({"calls", Align::right, Keep::high});
    if (columns.timed) {
        if (!columns.names)
            titles.push_back(time);
        titles.push_back({columns.interval ? "nine of ten" : "at most", Align::right});
        titles.push_back({"x light", Align::right});
    }
    titles.push_back({"regime"});
    if (columns.measured)
        titles.push_back({"measured" + unit, Align::right, Keep::high});
    if (columns.timed) {
        titles.push_back({"limiter", Align::left, Keep::low});
        titles.push_back({"GFLOP/s", Align::right, Keep::low});
    }
    titles.push_back({"strategy", Align::left, Keep::last, Fit::knobs}); // what a row is of, or what to take
    return titles;
}

std::string regime_cell(const Prediction &p) {
    if (!p.regimes)
        return "-";
    if (p.regimes->tier2)
        return boost::describe::enum_to_string(*p.regimes->tier2, "?");
    return p.regimes->paper ? std::string("paper ") + boost::describe::enum_to_string(*p.regimes->paper, "?")
                            : "-";
}

std::vector<std::string> cells_of(const Row &row, const CaseColumns &columns) {
    const Case &item = *row.item;
    const Prediction &p = *item.prediction;
    std::vector<std::string> cells;
    if (columns.variants)
        cells.push_back(gpu_cell(row, columns));
    const std::string time = p.time_s ? columns.seconds(*p.time_s) : "-";
    if (columns.names) {
        cells.push_back(item.name.value_or(item.shape));
        if (columns.timed)
            cells.push_back(time);
    }
    if (columns.shapes)
        cells.push_back(item.shape);
    if (columns.counts)
        cells.push_back(std::to_string(item.count.value_or(1)));
    if (columns.timed) {
        if (!columns.names)
            cells.push_back(time);
        cells.push_back(!p.time_s ? "-"
                        : columns.interval && p.times.fitted_s
                            ? columns.seconds(*p.time_low_s) + " to " + columns.seconds(*p.time_high_s)
                            : columns.seconds(*p.time_high_s));
        cells.push_back(p.time_s && p.times.tier0_s ? fmt::format("{:.2f}", *p.time_s / *p.times.tier0_s)
                                                    : "-");
    }
    cells.push_back(regime_cell(p));
    if (columns.measured) {
        const std::optional<Seconds> measured = measured_time(item, *row.known);
        cells.push_back(measured ? columns.seconds(*measured) : "-");
    }
    if (columns.timed) {
        cells.push_back(p.limiter.value_or("-"));
        cells.push_back(p.rates && p.rates->flop_per_s ? grouped(std::llround(*p.rates->flop_per_s / 1e9))
                                                       : "-");
    }
    const bool whole =
        !item.strategy || columns.ambiguous.count({row.question, item.shape, name_of(item)}) != 0;
    cells.push_back((whole ? item.strategy.value_or(item.baseline.value_or("")) : name_of(item)) +
                    (item.strategy && on_tensor_cores(*item.strategy) ? " *" : ""));
    return cells;
}

std::int64_t layers(const Row &row) {
    if (row.item->count)
        return *row.item->count;
    for (const AskedShape &asked : row.question->shapes)
        if (asked.study == row.item->study && asked.shape.id() == row.item->shape)
            return asked.count;
    return 1;
}

/// "unsupported", "infeasible", or both.
std::string status_words(const std::vector<const Case *> &refused) {
    std::set<std::string> words;
    for (const Case *item : refused)
        words.insert(boost::describe::enum_to_string(item->status, "?"));
    return join({words.begin(), words.end()}, " or ");
}

} // namespace

std::string total_text(const std::vector<Row> &rows) {
    std::vector<const Question *> questions;
    for (const Row &row : rows)
        if (std::find(questions.begin(), questions.end(), row.question) == questions.end())
            questions.push_back(row.question);
    std::string out;
    for (const Question *question : questions) {
        std::map<std::pair<std::string, std::string>, const Row *> fastest; // by study and shape
        std::set<std::string> names;
        for (const Row &row : rows)
            if (row.question == question && row.item->strategy && row.item->prediction &&
                row.item->prediction->time_s) {
                const Row *&first = fastest[{row.item->study.value_or(""), row.item->shape}];
                if (!first || *row.item->prediction->time_s < *first->item->prediction->time_s)
                    first = &row;
                names.insert(*row.item->strategy);
            }
        double time = 0.0, bound = 0.0;
        std::int64_t calls = 0;
        for (const auto &[key, row] : fastest) {
            const Prediction &p = *row->item->prediction;
            const auto times = static_cast<double>(layers(*row));
            time += times * p.time_s->value;
            bound += times * p.times.tier0_s.value_or(Seconds(0.0)).value;
            calls += layers(*row);
        }
        if (fastest.size() < 2)
            continue;
        out += hanging(fmt::format(
            "total: {} for {} calls of {} shapes{}{}; {:.2f}x the speed of light", short_time(Seconds(time)),
            calls, fastest.size(), rows.size() > fastest.size() ? ", the fastest of each" : "",
            questions.size() > 1 ? " on " + variant_of({nullptr, question, nullptr}) : "",
            bound > 0.0 ? time / bound : 0.0));
    }
    return out;
}

std::string case_table(const std::vector<Row> &rows, bool total) {
    const CaseColumns columns = columns_of(rows);
    std::vector<std::vector<std::string>> lines;
    std::vector<const Case *> refused, timeless;
    std::set<std::string> done;
    bool tensor = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Case &item = *rows[i].item;
        if (item.status != Status::ok) {
            refused.push_back(&item);
            continue;
        }
        done.insert(item.shape);
        if (!item.prediction->time_s && item.prediction->reason)
            timeless.push_back(&item);
        tensor = tensor || (item.strategy && on_tensor_cores(*item.strategy));
        lines.push_back(cells_of(rows[i], columns));
    }
    std::string out =
        lines.empty() ? "" : table(titles(columns), lines, terminal_width()) + legend_of(columns);
    if (tensor)
        out += wrapped(tensor_core_remark, 0, terminal_width());
    if (total)
        out += total_text(rows);
    if (!timeless.empty())
        out += hanging("no time for " + refused_words(timeless));
    if (!refused.empty()) {
        std::set<std::string> names, without;
        for (const Case *item : refused) {
            names.insert(name_of(*item));
            if (done.count(item->shape) == 0)
                without.insert(item->shape);
        }
        const bool aloud = !columns.shapes || !without.empty() || !rows.front().question->strategies.empty();
        out += hanging(
            fmt::format("{}{}: ", columns.shapes ? fmt::format("{} cases are ", refused.size()) : "",
                        status_words(refused)) +
            (aloud ? refused_words(refused) : join({names.begin(), names.end()}) + " (why: --explain)"));
    }
    return out;
}

} // namespace convcast::cli
