#include "cli/predict_text.hpp"

#include "cli/answers.hpp"
#include "cli/terminal.hpp"
#include "cli/timelines.hpp"
#include "model/paper/papers.hpp"
#include "model/predict.hpp"
#include "model/regime/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

// ---- what stands behind an answer: the time term by term, and the papers' rules with their numbers ----

std::string words_or_dash(const std::optional<Regime> &regime) {
    return regime ? words_of(*regime) : "-";
}

std::string how(const Term &term) {
    switch (term.kind) {
    case TermKind::leaf:
        return "";
    case TermKind::pipeline:
        return fmt::format("fill + ({:.0f} - 1) * step + drain", *term.count);
    case TermKind::schedule:
        return fmt::format("{:.0f} * wave + tail", *term.count);
    case TermKind::scaled:
        return fmt::format("{:.3f} times", *term.count);
    case TermKind::queue:
    case TermKind::alike:
        return fmt::format("{:.1f} share the first{}", *term.count, term.children.size() > 2 ? " two" : "");
    case TermKind::pnorm:
        return fmt::format("{:.2f}-norm", *term.exponent);
    case TermKind::sum:
    case TermKind::max:
        break;
    }
    return name_of(term.kind);
}

/// Columns that the names of a tree take, indented by their depth.
std::size_t name_width(const Term &term, int depth, int most) {
    std::size_t width = static_cast<std::size_t>(depth) * 2 + shown_width(term.name);
    if (depth + 1 < most)
        for (const Term &child : term.children)
            width = std::max(width, name_width(child, depth + 1, most));
    return width;
}

void append_term(std::string &out, const Term &term, int depth, int most, std::size_t names) {
    const std::string lead =
        fmt::format("    {:<{}}{:>10}  ", std::string(static_cast<std::size_t>(depth) * 2, ' ') + term.name,
                    names, short_time(term.value_s));
    out += headed(lead, term.formula + how(term), std::min<std::size_t>(shown_width(lead), 58));
    if (depth + 1 >= most)
        return;
    for (const Term &child : term.children)
        append_term(out, child, depth + 1, most, names);
}

/// A rule, its number in the paper's terms, and what the chip does instead.
struct RuleLine {
    std::string name, value, instead;
};

std::string count(double number) {
    return grouped(std::llround(number));
}

std::vector<RuleLine> table1_lines(const Rules &rules, const GpuProfile &profile) {
    const GpuLimits &limits = profile.limits;
    const double bytes = rules.hardware_bytes.value_or(0.0);
    const auto number = [](const auto &value) { return count(static_cast<double>(value.value_or(0))); };
    const auto of_chip = [](const std::optional<double> &known, double value, const std::string &what) {
        return known ? count(value) + what : "";
    };
    return {
        {"FMAs a core and clock", std::to_string(papers::fmas_per_core_and_clock),
         profile.ffma_rate ? fmt::format("{:.3g}, {}", profile.ffma_rate->value.value / limits.cores_per_sm,
                                         name_of(profile.ffma_rate->source))
                           : "1, what a core retires"},
        {"N_FMA, FMAs of an SM", number(rules.n_fma),
         of_chip(rules.hardware_n_fma, rules.hardware_n_fma.value_or(0.0),
                 fmt::format(" in {:.0f} clk", profile.dram_latency->value.value))},
        {"bytes a clock", number(rules.bytes_per_clock),
         fmt::format("{:.4g}, not cut to a whole number",
                     profile.dram_read_bandwidth->value.value / profile.sm_clock->value.value)},
        {"data in flight, bytes", number(rules.data_bytes),
         of_chip(rules.hardware_bytes, bytes,
                 profile.dram_read_curve && profile.dram_read_curve->fit ? " for 90 % of the bandwidth"
                                                                         : " by Little's law")},
        {"threads, 4 bytes each", number(rules.threads),
         of_chip(rules.hardware_bytes, std::ceil(bytes / 16.0), " that copy 16 bytes each")},
        {"threads of an SM", number(rules.threads_per_sm),
         count(limits.max_threads_per_sm) + " resident at most"},
        {"warps of an SM", number(rules.warps_per_sm),
         count(limits.max_threads_per_sm / papers::warp_threads) + " resident at most"},
        {"bytes of an SM", number(rules.bytes_per_sm),
         of_chip(rules.hardware_bytes, bytes / limits.sm_count, "")},
        {"V_s, bytes of all SMs", number(rules.v_s_bytes), of_chip(rules.hardware_bytes, bytes, "")},
    };
}

std::vector<RuleLine> case_lines(const Rules &rules) {
    std::vector<RuleLine> lines;
    const auto line = [&](const char *name, const auto &value, const char *what) {
        if (value)
            lines.push_back({name, count(static_cast<double>(*value)), what});
    };
    line("division", rules.method, "1: filters over SMs, 2: map over SMs");
    line("P", rules.pieces_p, "pieces of the map");
    line("Q", rules.pieces_q, "pieces of the filters");
    line("D1", rules.d1_bytes, "bytes");
    line("D2", rules.d2_bytes, "bytes");
    line("Th1", rules.th1, "FMAs");
    line("Th2", rules.th2, "FMAs");
    if (rules.redivided_bytes)
        lines.push_back({"step 4 of 2.2", grouped(*rules.redivided_bytes),
                         fmt::format("bytes move to all SMs: filters in {} parts, map in {}",
                                     *rules.redivided_filters, *rules.redivided_map)});
    line("pieces that run", rules.run_pieces, "");
    line("S", rules.segment_bytes, "bytes a segment");
    line("W'x", rules.tile_w, "pixels");
    line("W'y", rules.step_lines, "lines of the map for a segment");
    line("least M'", rules.tile_k_min, "filters (rule 3)");
    line("FMAs a step", rules.step_fma, "S / 4 * M' * W'x");
    line("bytes a step", rules.step_bytes, "S * M' + W'y * W'x * 4 (rule 4)");
    if (rules.bank_ratio)
        lines.push_back({"n = W_SMB / W_CD", fmt::format("{:g}", *rules.bank_ratio), "elements of a bank"});
    line("K * K * F", rules.pixel_uses, "uses of a pixel of the input at most");
    const auto share = [&](const char *name, const std::optional<double> &value, const char *meaning) {
        if (value)
            lines.push_back({name, fmt::format("{:.3f}", *value), meaning});
    };
    share("(W_T + K - 1) / (W_T * K)", rules.shared_reads,
          "of the reads of pixels from shared memory are left");
    share("1 / K", rules.global_reads, "of the reads of pixels from global memory are left");
    const auto round = [&](const char *name, const auto &value, const char *limit, const auto &least) {
        if (value && least)
            lines.push_back({name, count(*value),
                             (*value >= static_cast<double>(*least) ? "no less than " : "less than ") +
                                 std::string(limit)});
    };
    round("FMAs a round", rules.round_fmas, "N_FMA", rules.n_fma);
    round("bytes a round", rules.round_bytes, "V_s", rules.v_s_bytes);
    return lines;
}

std::string aligned(const std::vector<RuleLine> &lines) {
    constexpr std::size_t names = 24, numbers = 12;
    std::string out;
    for (const RuleLine &line : lines)
        out += headed(fmt::format("    {:<{}}{:>{}}  ", line.name, names, line.value, numbers), line.instead,
                      names + numbers + 6, std::max<std::size_t>(terminal_width(), 60));
    return out;
}

/// Launch, work, opinions on the regime, and the tree of terms to `depth` levels; of a refused case nothing.
std::string explained(const Case &item, int depth) {
    if (item.status != Status::ok || !item.prediction)
        return "";
    const Prediction &p = *item.prediction;
    std::string out;
    if (p.regimes)
        out += fmt::format("  regime: by the forecast {}, by the physical rule {}, by the paper's rule {}\n",
                           words_or_dash(p.regimes->tier2), words_or_dash(p.regimes->physical),
                           words_or_dash(p.regimes->paper));
    if (p.plan) {
        const Partition &launch = main_launch(*p.plan);
        out += headed("  launch: ",
                      fmt::format("grid {} x {} x {}, {} threads, {} shared, {} CTAs an SM, {} wave{}",
                                  launch.grid[0], launch.grid[1], launch.grid[2], launch.threads,
                                  short_bytes(static_cast<double>(launch.shared_bytes)), launch.ctas_per_sm,
                                  launch.waves, launch.waves == 1 ? "" : "s"),
                      10);
    }
    if (p.work && p.work->fmas && p.work->l2_read_bytes)
        out += headed("  work: ",
                      fmt::format("{} FMAs, L2 reads {}, DRAM reads {}",
                                  grouped(static_cast<long long>(*p.work->fmas)),
                                  short_bytes(*p.work->l2_read_bytes),
                                  short_bytes(p.work->dram_read_bytes.value_or(0.0))),
                      8);
    if (p.term) {
        out += "  time, term by term:\n";
        append_term(out, *p.term, 0, depth, std::min<std::size_t>(name_width(*p.term, 0, depth), 40));
    }
    return out;
}

/// Chang's Table 1 step by step with what the chip does instead, then the rules of the case: the division of
/// a single channel, the block of several, the banks. Says what the profile lacks where there is no Table 1.
std::string rules_text(const Rules &rules, const GpuProfile &profile) {
    std::string out;
    if (rules.n_fma && rules.v_s_bytes) {
        out +=
            fmt::format("  {:<26}{:>12}  {}\n", "the papers' rules", "paper", "what the chip does instead");
        out += aligned(table1_lines(rules, profile));
    } else {
        out += headed("  the papers' rules: ",
                      "no Table 1, as the profile lacks " + papers::missing_for_table1(profile), 4);
    }
    if (const std::vector<RuleLine> lines = case_lines(rules); !lines.empty())
        out += "  of this case\n" + aligned(lines);
    if (rules.round_fmas && rules.n_fma)
        if (const std::optional<Regime> regime = paper_regime(rules))
            out += "    by the paper's rule: " + words_or_dash(regime) + "\n";
    for (const std::string &remark : rules.remarks)
        out += headed("    note: ", remark, 10);
    return out;
}

// ---- answers ----

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
    const std::optional<Rules> &rules = item.prediction ? item.prediction->rules : item.rules;
    if (asked.terms)
        out += explained(item, asked.depth);
    if (rules && (asked.rules || (!item.forecast_s() && !item.baseline && item.status == Status::ok)))
        out += rules_text(*rules, question.profile);
    out += timeline_text(item);
    if (!item.prediction)
        return out;
    const std::vector<std::string> &common = question.knowledge.assumptions;
    for (const std::string &assumption : item.prediction->assumptions)
        if (std::ranges::find(common, assumption) == common.end())
            out += headed("  assumed: ", assumption, 11);
    return out;
}

/// The first of the ranking, where its forecast is shorter by more than a little; else an empty case. Absent
/// where there is no time to compare.
std::optional<Case> faster_than(const Case &item, const Question &question) {
    constexpr double little = 1.02;
    if (!item.forecast_s() || !item.strategy)
        return std::nullopt;
    std::vector<Case> first =
        choose(ConvShape::parse(item.shape), question.profile, question.knowledge, {}, 1);
    if (!first.empty() && first.front().forecast_s() &&
        *item.forecast_s() / *first.front().forecast_s() > little)
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
                       bold(wrapped(item.shape + " on " +
                                    (question.variant.empty() ? question.profile.id : question.variant) +
                                    ", " + item.called())) +
                       block;
        }
    return out;
}

std::string many(const std::vector<ForecastCases> &answers, const Arguments &arguments, const Behind &asked) {
    const std::vector<Row> rows = rows_of(answers);
    const Question &first = *answers.front().question;
    const bool one_shape = std::ranges::all_of(
        rows, [&](const Row &row) { return row.item->shape == rows.front().item->shape; });
    std::string out =
        rows.empty()
            ? ""
            : bold((one_shape ? shape_words("", rows.front().item->shape) + " on " : std::string("on ")) +
                   (answers.size() > 1 ? std::to_string(answers.size()) + " GPUs or settings of one"
                                       : first.gpu) +
                   first.images + "\n");
    const bool total = !arguments.has("sweep");
    out += cases_text(rows, total);
    out += blocks(answers, asked);
    const bool timed =
        std::ranges::any_of(rows, [](const Row &row) { return row.item->forecast_s().has_value(); });
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
    out += verdict_line("total", calls_words(item));
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
        if (std::ranges::any_of(answer.cases, [](const Case &item) { return item.forecast_s().has_value(); }))
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
