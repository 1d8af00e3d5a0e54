#include "cli/answers.hpp"

#include "cli/terminal.hpp"
#include "executor/baselines/names.hpp"
#include "model/base/errors.hpp"
#include "model/choose/ranking.hpp"
#include "model/predict.hpp"
#include "model/regime/rates.hpp"
#include "model/regime/words.hpp"
#include "model/strategies/list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace convcast::cli {

const char *const tensor_core_remark = "* on tensor cores: FP32 accuracy by three TF32 products for one\n";
const char *const declared_work_remark =
    "! work declared by its author, not checked: where it is too little, so is the forecast\n";

namespace {

/// "34 %", whole percent and 100 % at most.
std::string percent(double share) {
    return percent_text(std::min(share, 1.0), 0);
}

/// Whether a time, by its strategy or baseline, may be compared with ours, which are of FP32 on NCHW tensors:
/// ours, a library's in true FP32 and that layout, or cuDNN in halves, which only shapes in halves have.
bool comparable(const std::string &baseline) {
    return !is_baseline(baseline) || baseline == "cudnn:half" ||
           (is_true_fp32(baseline) && layout_of(baseline) == Layout::channels_first);
}

/// "128 CTAs on 128 of 132 SMs, 1 wave", of the plan's main launch on a GPU with `sms` SMs.
std::string launch_words(const Plan &plan, int sms) {
    const Partition &main = main_launch(plan);
    return fmt::format("{} CTA{} on {} of {} SMs, {} wave{}", grouped(main.ctas), main.ctas == 1 ? "" : "s",
                       std::min<std::int64_t>(main.ctas, sms), sms, main.waves, main.waves == 1 ? "" : "s");
}

/// "nine of ten from 9.10 us to 12.3 us" by a calibration, else "nothing overlapped 14.0 us".
std::string interval_words(const Prediction &p) {
    return p.times.fitted_s ? fmt::format("nine of ten from {} to {}", short_time(*p.time_low_s),
                                          short_time(*p.time_high_s))
                            : "nothing overlapped " + short_time(*p.time_high_s);
}

/// The share of the time in which a unit of the GPU is busy.
struct BusyShare {
    const char *name;
    double share; ///< 1.0 is 100 %
};

/// A share in percent; "69.9 %" where whole percent would round it up to the threshold that it is below.
std::string share_beside(double share, double threshold) {
    return share < threshold && percent(share) == percent(threshold)
               ? fmt::format("{:.1f} %", std::floor(1000.0 * share) / 10.0)
               : percent(share);
}

/// "DRAM 67 % and L2 13 %"
std::string shares_words(const std::vector<BusyShare> &shares, double threshold) {
    std::vector<std::string> words;
    for (const BusyShare &unit : shares)
        words.push_back(unit.name + (" " + share_beside(unit.share, threshold)));
    return join(words, " and ");
}

/// "issue slots 67 % busy, 60 % or more (FMA pipes 2 %)": those that reach the threshold of R5, then others.
std::string busy_words(std::vector<BusyShare> shares, double threshold) {
    const auto below =
        std::ranges::stable_partition(shares, [&](const BusyShare &unit) { return unit.share >= threshold; });
    const std::vector<BusyShare> others(below.begin(), below.end());
    shares.erase(below.begin(), below.end());
    return shares_words(shares, threshold) + " busy, " + percent(threshold) + " or more" +
           (others.empty() ? "" : " (" + shares_words(others, threshold) + ")");
}

/// "DRAM 67 % and L2 13 % busy, less than 70 %"
std::string idle_words(const std::vector<BusyShare> &shares, double threshold) {
    return shares_words(shares, threshold) + " busy, less than " + percent(threshold);
}

/// "+9 %": by how much a forecast is off.
std::string error_words(Seconds forecast, Seconds measured) {
    const double error = std::round(100.0 * (forecast / measured - 1.0));
    return error == 0.0 ? "0 %" : fmt::format("{:+.0f} %", error);
}

/// "22.2 TFLOP/s, 34 % of the FFMA peak; 10.4 FMAs per byte of L2, 124 per byte of DRAM", of a strategy or
/// baseline by its text. Winograd multiplies less: its rate counts the direct convolution's, and says so.
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

/// "10.4 us, nine of ten from 9.10 us to 12.3 us; 2.66x the speed of light": time, interval, distance from
/// the bound, and what ties and assumed numbers make of it. The prediction must have a time.
std::string time_words(const Prediction &p) {
    std::string text = short_time(*p.time_s) + ", " + interval_words(p);
    if (p.times.tier0_s)
        text += fmt::format("; {:.2f}x the speed of light ({})", *p.time_s / *p.times.tier0_s,
                            short_time(*p.times.tier0_s));
    if (p.tied_s && *p.tied_s > *p.time_s)
        text += fmt::format("; {} in the mean of the settings within {:.0f} % of it", short_time(*p.tied_s),
                            100.0 * (tie_of(*p.time_s) - 1.0));
    if (p.assumed_low_s && p.assumed_high_s)
        text += fmt::format("; {} to {} as the numbers that were assumed lie in their ranges",
                            short_time(*p.assumed_low_s), short_time(*p.assumed_high_s));
    return text;
}

/// "exposed: FMA pipes 17 % and issue slots 32 % busy, less than 60 %; ...": the regime, which comes with a
/// time, and the busy shares that decide it by rule R5, each group beside its threshold. "" without a regime.
std::string regime_words(const Prediction &p, const GpuProfile &profile) {
    if (!p.regimes || !p.regimes->tier2)
        return "";
    const Regime regime = *p.regimes->tier2;
    if (!p.plan || !p.work)
        return words_of(regime);
    const Utilisation busy = utilisation_of(*p.plan, *p.work, *p.time_s, profile);
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

/// "shared memory 4.31 us, FMA 3.02 us": the `most` leaves of the tree that add most to its time (V1).
std::string largest_terms(const Term &term, std::size_t most) {
    std::vector<Bar> bars = waterfall(term);
    std::ranges::stable_sort(bars, std::ranges::greater(), &Bar::added_s);
    std::string text;
    for (std::size_t i = 0; i < std::min(most, bars.size()) && bars[i].added_s.value > 0.0; ++i)
        text += (text.empty() ? "" : ", ") + bars[i].name + " " + short_time(bars[i].added_s);
    return text;
}

/// What all forecasts made with this knowledge assume, a paragraph each, for a terminal. The numbers that
/// were assumed come together in one paragraph, without their sources.
std::string assumptions_text(const Knowledge &knowledge) {
    std::string text, numbers;
    for (const std::string &said : knowledge.assumptions) {
        // A number reads "NAME VALUE, in LOW to HIGH: assumed, REASON AND SOURCE", or ": published, ".
        const std::size_t reason = std::min(said.find(": assumed, "), said.find(": published, "));
        if (reason == std::string::npos || said.find(", in ") > reason)
            text += headed("  - ", said, 4);
        else
            numbers += (numbers.empty() ? "" : "; ") + said.substr(0, reason);
    }
    if (!numbers.empty())
        text += headed("  - ",
                       numbers + "; where each comes from: the page that `convcast report` makes of the "
                                 "profile, or --json",
                       4);
    return text.empty() ? text : "assumed of all these forecasts:\n" + text;
}

/// Lines of text with the name of a GPU or setting before the first; as they are where `variant` is "".
std::string with_name(const std::string &variant, const std::string &lines) {
    const std::size_t first = std::min(lines.find('\n'), lines.size() - 1) + 1; // end of the first line
    return variant.empty() ? lines : wrapped(variant + ": " + lines.substr(0, first)) + lines.substr(first);
}

} // namespace

bool on_tensor_cores(const std::string &strategy) {
    return uses_tensor_cores(strategy.substr(0, strategy.find(':')));
}

std::string marked(const std::string &strategy) {
    return strategy + (on_tensor_cores(strategy) ? " *" : "");
}

bool of_declared_work(const Case &item) {
    return item.baseline && item.prediction && item.prediction->time_s &&
           std::ranges::find(item.prediction->assumptions, declared_work_assumption) !=
               item.prediction->assumptions.end();
}

std::string mark_of(const Case &item) {
    return item.strategy && on_tensor_cores(*item.strategy) ? " *" : of_declared_work(item) ? " !" : "";
}

Cell error_cell(const std::optional<Seconds> &forecast, const std::optional<Seconds> &measured) {
    return forecast && measured ? Cell(error_words(*forecast, *measured)) : Cell();
}

Cell time_cell(const std::optional<Seconds> &time) {
    return time ? Cell(short_time(*time)) : Cell();
}

std::string time_lines(const Prediction &p, const GpuProfile &profile, std::size_t terms) {
    return verdict_line("time", time_words(p)) + verdict_line("regime", regime_words(p, profile)) +
           (p.term ? verdict_line("time goes to", largest_terms(*p.term, terms)) : "");
}

std::string known_lines(const Case &item, const Question &question,
                        const std::function<bool(const std::string &)> &wanted) {
    std::string lines;
    const KnownTimes &known = *question.known; // every question that read_questions makes has it
    const std::optional<KnownTime> of_case = known.find(item.shape, item.called());
    if (of_case) {
        const Rates rates =
            rates_of(ConvShape::parse(item.shape), std::nullopt, of_case->time_s, question.profile);
        lines += verdict_line(
            "measured", short_time(of_case->time_s) + ", " + rate_words(rates, item.strategy.value_or("")) +
                            (item.prediction->time_s
                                 ? "; forecast " + error_words(*item.prediction->time_s, of_case->time_s)
                                 : "") +
                            " (recording " + of_case->recording + ")");
    }
    const std::optional<Seconds> time = of_case ? std::optional(of_case->time_s) : item.prediction->time_s;
    if (const auto fastest = known.fastest(KnownTimes::Of::settings, item.shape, wanted);
        fastest && time && fastest->time_s < *time)
        lines += verdict_line("fastest ours",
                              fmt::format("{}, measured {}, {:.2f}x what is {} here (recording {})",
                                          marked(fastest->name), short_time(fastest->time_s),
                                          fastest->time_s / *time, of_case ? "measured" : "forecast",
                                          fastest->recording));
    std::string libraries;
    if (const auto other = known.fastest(KnownTimes::Of::baselines, item.shape, comparable))
        libraries =
            fmt::format("fastest in {} {} {}", type_of(other->name) == DataType::f16 ? "FP16" : "FP32",
                        other->name, short_time(other->time_s));
    if (const auto tf32 = known.find(item.shape, "cudnn:tf32"))
        libraries += fmt::format("{}in TF32, less exact and PyTorch's default, cudnn:tf32 {}",
                                 libraries.empty() ? "" : "; ", short_time(tf32->time_s));
    return lines + verdict_line("libraries", libraries);
}

std::string all_assumptions(const std::vector<Row> &rows, bool whole, const std::string &where) {
    constexpr std::ptrdiff_t short_enough = 12; // lines
    std::vector<const Question *> questions;
    for (const Row &row : rows)
        if (row.item->forecast_s() && std::ranges::find(questions, row.question) == questions.end())
            questions.push_back(row.question);
    std::string text;
    for (const Question *question : questions)
        if (const std::string said = assumptions_text(question->knowledge);
            !said.empty() && text.find(said) == std::string::npos)
            text += with_name(questions.size() > 1 ? question->variant : "", said);
    if (whole || questions.size() < 2 || std::ranges::count(text, '\n') <= short_enough)
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
    const std::optional<Seconds> time = item.forecast_s();
    return calls < 2 || !time
               ? ""
               : fmt::format("{} for {} calls", short_time(static_cast<double>(calls) * *time), calls);
}

std::string hanging(const std::string &text) {
    return wrapped(text, 2).substr(std::min<std::size_t>(2, text.size()));
}

std::string shape_words(const std::string &name, const std::string &shape) {
    const ConvShape parsed = ConvShape::parse(shape);
    return fmt::format("{}{} (output {} x {})", name.empty() ? "" : name + ", ", shape, parsed.p(),
                       parsed.q());
}

std::string verdict_line(const std::string &label, const std::string &text) {
    return text.empty() ? "" : headed("  " + label, text, 15);
}

std::string refusal_line(const Case &item) {
    return wrapped(name_of(item.status) + ": " + item.reason.value_or(""), 2);
}

std::string verdict(const Case &item, const Question &question, const std::optional<Case> &faster) {
    const auto none = [](const std::string &) { return false; }; // the setting is given: no other is wanted
    std::string out = bold(wrapped(shape_words(item.name.value_or(""), item.shape) + " on " + question.title +
                                   ", " + item.called()));
    if (item.status != Status::ok)
        return out + refusal_line(item);
    const Prediction &p = *item.prediction;
    if (item.baseline && !p.time_s)
        return out +
               verdict_line("bound", (p.times.tier0_s ? short_time(*p.times.tier0_s) + ": " : "") +
                                         p.reason.value_or("")) +
               known_lines(item, question, none);
    if (!p.time_s)
        return out + verdict_line("time", "none: " + p.reason.value_or("no time")) +
               (p.regimes && p.regimes->paper ? verdict_line("regime", std::string("by the paper's rule ") +
                                                                           words_of(*p.regimes->paper))
                                              : "") +
               (p.rates && p.rates->fmas_per_l2_byte
                    ? verdict_line("rate", rate_words(*p.rates, item.strategy.value_or("")))
                    : "");
    out += time_lines(p, question.profile, 4);
    if (p.rates)
        out += verdict_line("rate", rate_words(*p.rates, item.strategy.value_or("")));
    out += known_lines(item, question, none);
    if (const std::optional<Seconds> time = faster ? faster->forecast_s() : std::nullopt)
        out +=
            verdict_line("faster", fmt::format("{}{}, {} ({:.2f}x)",
                                               on_tensor_cores(*faster->strategy) ? "on tensor cores " : "",
                                               *faster->strategy, short_time(*time), *p.time_s / *time));
    else if (faster)
        out += verdict_line("faster", "nothing that `convcast choose` tries");
    return out;
}

} // namespace convcast::cli
