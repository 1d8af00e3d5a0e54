#include "cli/answers.hpp"

#include "cli/document.hpp"
#include "cli/terminal.hpp"
#include "executor/baselines/names.hpp"
#include "model/base/errors.hpp"
#include "model/machine/assume.hpp"
#include "model/predict.hpp"
#include "model/record/elsewhere.hpp"
#include "model/regime/rates.hpp"
#include "model/regime/words.hpp"
#include "model/strategies/list.hpp"

#include <boost/describe.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace convcast::cli {

const char *const tensor_core_remark = "* on tensor cores: FP32 accuracy by three TF32 products for one\n";
const char *const declared_work_remark =
    "! work declared by its author, not checked: where it is too little, so is the forecast\n";

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

bool is_from_elsewhere(const Case &item) {
    return item.baseline && is_elsewhere(*item.baseline);
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

bool of_declared_work(const Case &item) {
    return item.baseline && item.prediction && item.prediction->time_s &&
           std::find(item.prediction->assumptions.begin(), item.prediction->assumptions.end(),
                     declared_work_assumption) != item.prediction->assumptions.end();
}

std::string mark_of(const Case &item) {
    return item.strategy && on_tensor_cores(*item.strategy) ? " *" : of_declared_work(item) ? " !" : "";
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

namespace {

struct BusyShare {
    const char *name;
    double share;
};

/// A share beside the threshold that it is compared with: never rounded across it.
std::string share_beside(double share, double threshold) {
    constexpr double tenths = 1000.0;
    return share < threshold && percent(share) == percent(threshold)
               ? fmt::format("{:.1f} %", std::floor(tenths * share) / 10.0)
               : percent(share);
}

/// "issue slots 67 % busy, 60 % or more (FMA pipes 2 %)": those at the threshold of R5, then the others.
std::string busy_words(const std::vector<BusyShare> &shares, double threshold) {
    std::string at, below;
    for (const BusyShare &its : shares) {
        std::string &text = its.share >= threshold ? at : below;
        text +=
            (text.empty() ? "" : " and ") + std::string(its.name) + " " + share_beside(its.share, threshold);
    }
    return at + " busy, " + percent(threshold) + " or more" + (below.empty() ? "" : " (" + below + ")");
}

/// "DRAM 67 % and L2 13 % busy, less than 70 %"
std::string idle_words(const std::vector<BusyShare> &shares, double threshold) {
    std::string text;
    for (const BusyShare &its : shares)
        text +=
            (text.empty() ? "" : " and ") + std::string(its.name) + " " + share_beside(its.share, threshold);
    return text + " busy, less than " + percent(threshold);
}

} // namespace

std::string regime_words(const Prediction &p, const GpuProfile &profile) {
    if (!p.regimes || !p.regimes->tier2 || !p.plan || !p.work)
        return "";
    const Utilisation busy = utilisation_of(*p.plan, *p.work, *p.time_s, profile);
    const Regime regime = *p.regimes->tier2;
    const std::vector<BusyShare> arithmetic = {{"FMA pipes", busy.fma}, {"issue slots", busy.issue}},
                                 memory = {{"DRAM", busy.dram}, {"L2", busy.l2}};
    std::string text = std::string(words_of(regime)) + ": ";
    if (regime == Regime::compute_hidden)
        text += busy_words(arithmetic, busy_fma_share) + "; DRAM " + percent(busy.dram) + ", L2 " +
                percent(busy.l2);
    else if (regime == Regime::bulk_hidden)
        text += busy_words(memory, busy_memory_share) + "; " + idle_words(arithmetic, busy_fma_share);
    else
        text += idle_words(arithmetic, busy_fma_share) + "; " + idle_words(memory, busy_memory_share);
    text += "; " + launch_words(*p.plan, profile.limits.sm_count);
    if (p.regimes->paper && *p.regimes->paper != regime)
        text += std::string("; the paper's rule says ") + words_of(*p.regimes->paper);
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
        text += fmt::format(
            ", {:.0f} % of the FFMA peak{}", 100.0 * *rates.peak_share,
            strategy.starts_with("winograd") ? ", counted in multiply-adds of the direct convolution" : "");
    if (rates.fmas_per_l2_byte)
        text +=
            fmt::format("{}{:.3g} FMAs per byte of L2", text.empty() ? "" : "; ", *rates.fmas_per_l2_byte);
    if (rates.fmas_per_dram_byte)
        text += fmt::format("{}{:.3g} per byte of DRAM", text.empty() ? "" : ", ", *rates.fmas_per_dram_byte);
    return text;
}

std::string known_lines(const Case &item, const Question &question, const KnownTimes &known,
                        const std::function<bool(const std::string &)> &wanted) {
    std::string lines;
    const std::optional<KnownTime> own =
        known.find(item.shape, item.strategy.value_or(item.baseline.value_or("")));
    if (own) {
        const Rates rates =
            rates_of(ConvShape::parse(item.shape), std::nullopt, own->time_s, question.profile);
        lines += verdict_line("measured",
                              short_time(own->time_s) + ", " + rate_words(rates, item.strategy.value_or("")) +
                                  (item.prediction->time_s
                                       ? "; forecast " + error_of(*item.prediction->time_s, own->time_s)
                                       : "") +
                                  " (recording " + own->recording + ")");
    }
    const std::optional<Seconds> time = own ? std::optional(own->time_s) : item.prediction->time_s;
    if (const auto fastest = known.fastest_setting(item.shape, wanted);
        fastest && time && fastest->time_s < *time)
        lines += verdict_line("fastest ours",
                              fmt::format("{}{}, measured {}, {:.2f}x what is {} here (recording {})",
                                          fastest->name, on_tensor_cores(fastest->name) ? " *" : "",
                                          short_time(fastest->time_s), fastest->time_s / *time,
                                          own ? "measured" : "forecast", fastest->recording));
    std::string libraries;
    if (const auto other = known.fastest_baseline(item.shape, comparable))
        libraries =
            fmt::format("fastest in {} {} {}", type_of(other->name) == DataType::f16 ? "FP16" : "FP32",
                        other->name, short_time(other->time_s));
    if (const auto tf32 = known.find(item.shape, "cudnn:tf32"))
        libraries += fmt::format("{}in TF32, less exact and PyTorch's default, cudnn:tf32 {}",
                                 libraries.empty() ? "" : "; ", short_time(tf32->time_s));
    return lines + (libraries.empty() ? "" : verdict_line("libraries", libraries));
}

namespace {

/// What is said of a GPU or a setting of it, with its name before the first line unless that is empty.
std::string said_of(const std::string &variant, const std::string &said) {
    const std::size_t first = std::min(said.find('\n'), said.size() - 1) + 1;
    return variant.empty()
               ? said
               : wrapped(variant + ": " + said.substr(0, first), 0, terminal_width()) + said.substr(first);
}

} // namespace

std::string all_assumptions(const std::vector<const Question *> &questions, bool whole,
                            const std::string &where) {
    constexpr std::ptrdiff_t short_enough = 12; // lines
    std::string text;
    for (const Question *question : questions)
        if (const std::string said = assumptions_text(question->knowledge);
            !said.empty() && text.find(said) == std::string::npos)
            text += said_of(questions.size() > 1 ? question->variant : "", said);
    if (whole || questions.size() < 2 || std::count(text.begin(), text.end(), '\n') <= short_enough)
        return text;
    text = hanging("assumed of these forecasts, the first of each; all: " + where);
    for (const Question *question : questions) {
        const std::vector<std::string> &said = question->knowledge.assumptions;
        if (said.empty())
            continue;
        const std::string first = said.front().substr(0, said.front().find_first_of(";:"));
        text += hanging(question->variant + ": " + first +
                        (said.size() > 1 ? fmt::format("; and {} more", said.size() - 1) : ""));
    }
    return text;
}

std::string calls_words(const Case &item) {
    const std::int64_t calls = item.count.value_or(1);
    return calls < 2 || !item.prediction || !item.prediction->time_s
               ? ""
               : fmt::format("{} for {} calls",
                             short_time(Seconds(static_cast<double>(calls) * item.prediction->time_s->value)),
                             calls);
}

std::string hanging(const std::string &text) {
    return wrapped(text, 2, terminal_width()).substr(std::min<std::size_t>(2, text.size()));
}

std::string output_words(const std::string &shape) {
    const ConvShape parsed = ConvShape::parse(shape);
    return fmt::format("output {} x {}", parsed.p(), parsed.q());
}

std::string verdict_line(const std::string &label, const std::string &text) {
    constexpr std::size_t indent = 15;
    return headed("  " + label + std::string(indent - 2 - std::min(indent - 3, label.size()), ' '), text,
                  indent, terminal_width());
}

std::string verdict(const Case &item, const Question &question, const KnownTimes &known,
                    const std::optional<Case> &faster) {
    const auto none = [](const std::string &) { return false; };
    std::string out =
        bold(headed("",
                    (item.name ? *item.name + ", " : "") + item.shape + " (" + output_words(item.shape) +
                        ") on " + question.gpu + ", " + item.strategy.value_or(item.baseline.value_or("")),
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
               known_lines(item, question, known, none);
    if (!p.time_s)
        return out + verdict_line("time", "none: " + p.reason.value_or("no time")) +
               (p.regimes && p.regimes->paper ? verdict_line("regime", std::string("by the paper's rule ") +
                                                                           words_of(*p.regimes->paper))
                                              : "") +
               (p.rates && p.rates->fmas_per_l2_byte
                    ? verdict_line("rate", rate_words(*p.rates, item.strategy.value_or("")))
                    : "");
    out += verdict_line("time", time_words(p));
    if (const std::string regime = regime_words(p, question.profile); !regime.empty())
        out += verdict_line("regime", regime);
    else if (p.regimes && p.regimes->tier2)
        out += verdict_line("regime", words_of(*p.regimes->tier2));
    out += verdict_line("time goes to", largest_terms(*p.term, 4));
    if (p.rates)
        out += verdict_line("rate", rate_words(*p.rates, item.strategy.value_or("")));
    out += known_lines(item, question, known, none);
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
         interval = false, bound = false, elsewhere = false;
    TimeUnit unit;
    std::vector<const Question *> lettered; ///< whose names are too long for a column: the first is A
    /// Of a question, shapes and strategies that have several settings in the table.
    std::set<std::tuple<const Question *, std::string, std::string>> ambiguous;
    /// Of a question and a shape, which a time from elsewhere is held against.
    std::map<std::pair<const Question *, std::string>, Seconds> shortest;

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
        columns.elsewhere = columns.elsewhere || is_from_elsewhere(item);
        columns.bound = columns.bound || (!is_from_elsewhere(item) && !item.prediction->time_s &&
                                          item.baseline && item.prediction->times.tier0_s);
        if (const std::optional<Seconds> time = item.prediction->time_s) {
            columns.timed = true;
            columns.interval = columns.interval || item.prediction->times.fitted_s;
            shortest = std::min(shortest, time->value);
        }
        columns.measured = columns.measured || measured_time(item, *rows[i].known);
    }
    columns.lettered = lettered_questions(rows);
    columns.unit = time_unit(Seconds(columns.timed ? shortest : 1e-6));
    for (const Row &row : rows)
        if (columns.elsewhere && row.item->prediction && row.item->prediction->time_s) {
            Seconds &least =
                columns.shortest
                    .emplace(std::pair(row.question, row.item->shape), *row.item->prediction->time_s)
                    .first->second;
            least = std::min(least, *row.item->prediction->time_s);
        }
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
        titles.push_back({"shape", Align::left, Keep::must});
    if (columns.counts)
        titles.push_back({"calls", Align::right, Keep::high});
    if (columns.timed) {
        if (!columns.names)
            titles.push_back(time);
        titles.push_back({columns.interval ? "nine of ten" : "at most", Align::right});
        titles.push_back({"/ bound", Align::right});
    }
    if (columns.bound)
        titles.push_back({"bound" + unit, Align::right, Keep::high});
    titles.push_back({"regime"});
    if (columns.measured)
        titles.push_back({"measured" + unit, Align::right, Keep::high});
    if (columns.elsewhere)
        titles.push_back({"/ forecast", Align::right, Keep::high});
    if (columns.timed) {
        titles.push_back({"limiter", Align::left, Keep::low});
        titles.push_back({"GFLOP/s", Align::right, Keep::low});
    }
    titles.push_back({"strategy", Align::left, Keep::must, Fit::knobs});
    return titles;
}

std::string regime_cell(const Prediction &p) {
    if (!p.regimes)
        return "-";
    if (p.regimes->tier2)
        return words_of(*p.regimes->tier2);
    return p.regimes->paper ? std::string("paper ") + words_of(*p.regimes->paper) : "-";
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
                        : p.times.fitted_s
                            ? columns.seconds(*p.time_low_s) + " to " + columns.seconds(*p.time_high_s)
                        : columns.interval ? "-" // without a calibration there is no such interval
                                           : columns.seconds(*p.time_high_s));
        cells.push_back(p.time_s && p.times.tier0_s ? fmt::format("{:.2f}", *p.time_s / *p.times.tier0_s)
                                                    : "-");
    }
    if (columns.bound)
        cells.push_back(p.times.tier0_s ? columns.seconds(*p.times.tier0_s) : "-");
    cells.push_back(regime_cell(p));
    const std::optional<Seconds> measured = measured_time(item, *row.known);
    if (columns.measured)
        cells.push_back(measured ? columns.seconds(*measured) : "-");
    if (columns.elsewhere) {
        std::optional<Seconds> forecast = p.time_s;
        if (const auto least = columns.shortest.find({row.question, item.shape});
            !forecast && is_from_elsewhere(item) && least != columns.shortest.end())
            forecast = least->second;
        cells.push_back(measured && forecast ? fmt::format("{:.2f}", *measured / *forecast) : "-");
    }
    if (columns.timed) {
        cells.push_back(p.limiter.value_or("-"));
        cells.push_back(p.rates && p.rates->flop_per_s ? grouped(std::llround(*p.rates->flop_per_s / 1e9))
                                                       : "-");
    }
    const bool whole =
        !item.strategy || columns.ambiguous.count({row.question, item.shape, name_of(item)}) != 0;
    cells.push_back((whole ? item.strategy.value_or(item.baseline.value_or("")) : name_of(item)) +
                    mark_of(item));
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

namespace {

/// Shapes of a question's rows, also those without a time.
std::size_t asked_of(const Question &question, const std::vector<Row> &rows) {
    std::set<std::pair<std::string, std::string>> shapes;
    for (const Row &row : rows)
        if (row.question == &question)
            shapes.emplace(row.item->study.value_or(""), row.item->shape);
    return shapes.size();
}

/// Whether a total takes one case rather than another of its shape: what computes on tensor cores only where
/// nothing else is there, and the faster one.
bool goes_before(const Case &one, const Case &other) {
    const bool tensor = on_tensor_cores(*one.strategy);
    return tensor == on_tensor_cores(*other.strategy) ? *one.prediction->time_s < *other.prediction->time_s
                                                      : !tensor;
}

/// "conv1, conv2 and 3 more"
std::string some_of(const std::vector<std::string> &names) {
    constexpr std::size_t most = 8;
    return join({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(most, names.size()))}) +
           (names.size() > most ? fmt::format(" and {} more", names.size() - most) : "");
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
        std::map<std::pair<std::string, std::string>, Seconds> of_all;      // those on tensor cores too
        std::size_t timed = 0;
        for (const Row &row : rows)
            if (row.question == question && row.item->strategy && row.item->prediction &&
                row.item->prediction->time_s) {
                const std::pair layer(row.item->study.value_or(""), row.item->shape);
                const Row *&first = fastest[layer];
                if (!first || goes_before(*row.item, *first->item))
                    first = &row;
                Seconds &least = of_all.try_emplace(layer, *row.item->prediction->time_s).first->second;
                least = std::min(least, *row.item->prediction->time_s);
                ++timed;
            }
        double time = 0.0, bound = 0.0, with_tensor_cores = 0.0;
        std::int64_t calls = 0;
        for (const auto &[key, row] : fastest) {
            const Prediction &p = *row->item->prediction;
            const auto times = static_cast<double>(layers(*row));
            time += times * p.time_s->value;
            bound += times * p.times.tier0_s.value_or(Seconds(0.0)).value;
            with_tensor_cores += times * of_all.at(key).value;
            calls += layers(*row);
        }
        if (fastest.empty() || calls < 2)
            continue;
        const std::size_t shapes = asked_of(*question, rows);
        out +=
            hanging(fmt::format("total: {} for {} calls of {}{} shape{}{}{}; {:.2f}x the speed of light",
                                short_time(Seconds(time)), calls, fastest.size(),
                                shapes > fastest.size() ? fmt::format(" of {}", shapes) : "",
                                shapes == 1 ? "" : "s", timed > fastest.size() ? ", the fastest of each" : "",
                                questions.size() > 1 ? " on " + variant_of({nullptr, question, nullptr}) : "",
                                bound > 0.0 ? time / bound : 0.0) +
                    (with_tensor_cores < time
                         ? "; with those on tensor cores " + short_time(Seconds(with_tensor_cores))
                         : ""));
    }
    return out;
}

std::string case_table(const std::vector<Row> &rows, bool total) {
    const CaseColumns columns = columns_of(rows);
    std::vector<std::vector<std::string>> lines;
    std::vector<const Case *> refused, timeless;
    std::set<std::string> done;
    bool tensor = false, declared = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Case &item = *rows[i].item;
        if (item.status != Status::ok) {
            refused.push_back(&item);
            continue;
        }
        done.insert(item.shape);
        if (!item.prediction->time_s && item.prediction->reason && !is_from_elsewhere(item))
            timeless.push_back(&item);
        tensor = tensor || (item.strategy && on_tensor_cores(*item.strategy));
        declared = declared || of_declared_work(item);
        lines.push_back(cells_of(rows[i], columns));
    }
    std::string out =
        lines.empty() ? "" : table(titles(columns), lines, terminal_width()) + legend_of(columns);
    if (tensor)
        out += wrapped(tensor_core_remark, 0, terminal_width());
    if (declared)
        out += wrapped(declared_work_remark, 0, terminal_width());
    if (total)
        out += total_text(rows);
    if (!timeless.empty())
        out += hanging("no time for " + refused_words(timeless));
    if (!refused.empty()) {
        std::set<std::string> names;
        std::vector<std::string> without;
        for (const Case *item : refused) {
            names.insert(name_of(*item));
            if (const std::string layer = item->name.value_or(item->shape);
                done.count(item->shape) == 0 &&
                std::find(without.begin(), without.end(), layer) == without.end())
                without.push_back(layer);
        }
        if (columns.shapes && !without.empty())
            out += hanging("without a time: " + some_of(without));
        const bool aloud = !columns.shapes || !without.empty() || !rows.front().question->strategies.empty();
        out += hanging(
            fmt::format("{}{}: ", columns.shapes ? fmt::format("{} cases are ", refused.size()) : "",
                        status_words(refused)) +
            (aloud ? refused_words(refused) : join({names.begin(), names.end()}) + " (why: --explain)"));
    }
    return out;
}

namespace {

std::vector<const Question *> questions_of(const std::vector<Row> &rows) {
    std::vector<const Question *> questions;
    for (const Row &row : rows)
        if (std::find(questions.begin(), questions.end(), row.question) == questions.end())
            questions.push_back(row.question);
    return questions;
}

/// A layer, or a layer by one strategy, on each of the questions.
struct Layer {
    std::string name, shape, strategy;
    std::int64_t calls = 1;
    std::vector<std::optional<Seconds>> times; ///< by question
    std::vector<std::string> strategies;       ///< that these are of
};

/// Whether each question has one row of each shape, as the first of a ranking is.
bool one_row_a_shape(const std::vector<Row> &rows) {
    std::set<std::tuple<const Question *, std::string, std::string>> seen;
    return std::all_of(rows.begin(), rows.end(), [&](const Row &row) {
        return seen.emplace(row.question, row.item->study.value_or(""), row.item->shape).second;
    });
}

std::vector<Layer> layers_of(const std::vector<Row> &rows, const std::vector<const Question *> &questions,
                             const CaseColumns &columns) {
    const bool one = one_row_a_shape(rows);
    std::vector<Layer> all;
    std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places;
    for (const Row &row : rows) {
        const Case &item = *row.item;
        if (item.status != Status::ok)
            continue;
        const bool whole =
            item.strategy && columns.ambiguous.count({row.question, item.shape, name_of(item)});
        const std::string key = whole ? *item.strategy : name_of(item);
        const auto [place, fresh] =
            places.emplace(std::tuple(item.study.value_or(""), item.shape, one ? "" : key), all.size());
        if (fresh)
            all.push_back({item.name.value_or(""), item.shape, name_of(item), layers(row),
                           std::vector<std::optional<Seconds>>(questions.size()),
                           std::vector<std::string>(questions.size())});
        Layer &layer = all[place->second];
        const auto at = static_cast<std::size_t>(std::find(questions.begin(), questions.end(), row.question) -
                                                 questions.begin());
        layer.times[at] = item.prediction->time_s;
        layer.strategies[at] = (one ? name_of(item) : key) + mark_of(item);
    }
    return all;
}

/// The fastest of every shape, as often as it is asked; absent where a question lacks a time of one.
std::optional<Seconds> total_of(const std::vector<Layer> &layers, std::size_t question) {
    std::map<std::string, std::pair<std::int64_t, std::optional<Seconds>>> fastest;
    std::set<std::string> in_fp32; // shapes with a time without tensor cores
    for (const Layer &layer : layers)
        if (layer.times[question] && !on_tensor_cores(layer.strategy))
            in_fp32.insert(layer.shape);
    for (const Layer &layer : layers) {
        if (on_tensor_cores(layer.strategy) && in_fp32.contains(layer.shape))
            continue; // as in total_text
        auto &[calls, time] = fastest[layer.shape];
        calls = layer.calls;
        if (const auto other = layer.times[question]; other && (!time || *other < *time))
            time = other;
    }
    Seconds total(0.0);
    for (const auto &[shape, entry] : fastest) {
        if (!entry.second)
            return std::nullopt;
        total = total + Seconds(static_cast<double>(entry.first) * entry.second->value);
    }
    return total;
}

std::string change_of(const std::optional<Seconds> &time, const std::optional<Seconds> &first) {
    if (!time || !first)
        return "-";
    const double tenths = std::round(1000.0 * (*time / *first - 1.0));
    return tenths == 0.0 ? "0.0" : fmt::format("{:+.1f}", tenths / 10.0);
}

} // namespace

bool sets_side_by_side(const std::vector<Row> &rows) {
    constexpr std::size_t most_columns = 5;
    const std::size_t questions = questions_of(rows).size();
    return questions > 1 && questions <= most_columns &&
           std::any_of(rows.begin(), rows.end(),
                       [&](const Row &row) { return row.item->shape != rows.front().item->shape; });
}

std::string side_by_side(const std::vector<Row> &rows) {
    const std::vector<const Question *> questions = questions_of(rows);
    const CaseColumns columns = columns_of(rows);
    const std::vector<Layer> all = layers_of(rows, questions, columns);
    const auto title_of = [&](const Question *question) {
        return gpu_cell({nullptr, question, nullptr}, columns);
    };
    std::string out, shorter;
    std::vector<std::optional<Seconds>> totals;
    for (std::size_t i = 0; i < questions.size(); ++i) {
        totals.push_back(total_of(all, i));
        out += fmt::format("{}{} {}{}", i == 0 ? "total: " : ", ", title_of(questions[i]),
                           totals[i] ? short_time(*totals[i]) : "-",
                           i > 0 && totals[i] && totals[0] ? " (" + change_of(totals[i], totals[0]) + " %)"
                                                           : "");
    }
    out = hanging(out);
    std::vector<Column> titles;
    if (columns.names)
        titles.push_back({"name", Align::left, Keep::must});
    titles.push_back({"shape", Align::left, Keep::must});
    titles.push_back({"calls", Align::right});
    for (std::size_t i = 0; i < questions.size(); ++i) {
        titles.push_back({title_of(questions[i]) + (i == 0 ? " (" + columns.unit.name + ")" : ""),
                          Align::right, Keep::must});
        if (i > 0)
            titles.push_back({"%", Align::right, Keep::must});
    }
    titles.push_back({"strategy", Align::left, Keep::must, Fit::knobs});
    std::vector<std::vector<std::string>> lines;
    std::int64_t calls = 0;
    std::set<std::string> counted;
    const auto add = [&](std::vector<std::string> line, const std::vector<std::optional<Seconds>> &times,
                         const std::string &strategy) {
        for (std::size_t i = 0; i < questions.size(); ++i) {
            line.push_back(times[i] ? columns.seconds(*times[i]) : "-");
            if (i > 0)
                line.push_back(change_of(times[i], times[0]));
        }
        line.push_back(strategy);
        lines.push_back(std::move(line));
    };
    bool tensor = false, declared = false;
    for (const Layer &layer : all) {
        std::vector<std::string> line;
        if (columns.names)
            line.push_back(layer.name.empty() ? layer.shape : layer.name);
        line.push_back(layer.shape);
        line.push_back(std::to_string(layer.calls));
        std::vector<std::string> strategies;
        for (const std::string &strategy : layer.strategies)
            if (!strategy.empty() && (strategies.empty() || strategies.back() != strategy))
                strategies.push_back(strategy);
        const std::string text = join(strategies, " -> ");
        tensor = tensor || text.find(" *") != std::string::npos;
        declared = declared || text.find(" !") != std::string::npos;
        add(std::move(line), layer.times, text);
        calls += counted.insert(layer.shape).second ? layer.calls : 0;
    }
    std::vector<std::string> last = {"total"};
    if (columns.names)
        last.emplace_back("");
    last.push_back(std::to_string(calls));
    add(std::move(last), totals, one_row_a_shape(rows) ? "" : "the fastest of each");
    out += table(titles, lines, terminal_width()) + legend_of(columns);
    if (tensor)
        out += wrapped(tensor_core_remark, 0, terminal_width());
    if (declared)
        out += wrapped(declared_work_remark, 0, terminal_width());
    std::vector<const Case *> refused;
    for (const Row &row : rows)
        if (row.item->status != Status::ok)
            refused.push_back(row.item);
    if (!refused.empty())
        out += hanging(fmt::format("{}: ", status_words(refused)) + refused_words(refused));
    return out;
}

} // namespace convcast::cli
