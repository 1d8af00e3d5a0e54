#include "model/predict.hpp"
#include "cli/answers.hpp"
#include "cli/document.hpp"
#include "cli/forecasts.hpp"
#include "cli/network.hpp"
#include "cli/own_kernels.hpp"
#include "cli/progress.hpp"
#include "cli/question.hpp"
#include "cli/terminal.hpp"
#include "cli/timelines.hpp"
#include "cli/verbs.hpp"
#include "cli/version.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/paper/papers.hpp"
#include "model/record/run_lines.hpp"
#include "model/record/shards.hpp"
#include "model/regime/words.hpp"
#include "reports/paper_figure.hpp"
#include "reports/partition_diagram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
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

/// How the children of a term are combined, to stand behind its formula: "fill + (9 - 1) * step + drain",
/// "2.00-norm", "sum"; "" of a leaf. A queue and one of jobs that are alike read the same; their formulas
/// tell them apart. A term has the `count` or `exponent` that its kind needs.
std::string combination_text(const Term &term) {
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
        return fmt::format("{:.1f} share the first{}", *term.count,
                           term.children.size() == 2   ? ""
                           : term.children.size() == 3 ? " two"
                                                       : fmt::format(" {}", term.children.size() - 1));
    case TermKind::pnorm:
        return fmt::format("{:.2f}-norm", *term.exponent);
    case TermKind::sum:
    case TermKind::max:
        break;
    }
    return name_of(term.kind);
}

/// Columns that the widest name of a tree takes, with an indent of two for each level. `depth` is the level
/// of `term`, and levels from `most` on are not shown.
std::size_t name_width(const Term &term, int depth, int most) {
    std::size_t width = static_cast<std::size_t>(depth) * 2 + shown_width(term.name);
    if (depth + 1 < most)
        for (const Term &child : term.children)
            width = std::max(width, name_width(child, depth + 1, most));
    return width;
}

/// Appends a line for the term and, indented below it, lines for its children: name, time, formula. `names`
/// is the width of the column of names; `depth` and `most` are as above.
void append_term(std::string &out, const Term &term, int depth, int most, std::size_t names) {
    constexpr std::size_t widest_lead = 58; // leaves formulas 42 of the 100 columns that a page has
    const std::string lead =
        fmt::format("    {:<{}}{:>10}  ", std::string(static_cast<std::size_t>(depth) * 2, ' ') + term.name,
                    names, short_time(term.value_s));
    out += headed(lead, term.formula + combination_text(term),
                  std::min<std::size_t>(shown_width(lead), widest_lead));
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

/// Chang's Table 1 with this GPU's numbers. The rules must have N_FMA and V_s; the profile has the latency,
/// the bandwidth and the clock that they were made of.
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

/// The numbers that the papers' rules give for one case, each with its meaning; absent ones have no line.
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
    constexpr std::size_t names = 24, numbers = 12; // columns of each
    std::string out;
    for (const RuleLine &line : lines)
        out += headed(fmt::format("    {:<{}}{:>{}}  ", line.name, names, line.value, numbers), line.instead,
                      names + numbers + 6, std::max<std::size_t>(terminal_width(), 60));
    return out;
}

/// What --explain prints: regimes, launch, work, and the tree of terms to `depth` levels; "" if refused.
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

/// What stands below a case's verdict: terms by --explain, the papers' rules by --rules or where there is no
/// forecast, its timeline, and assumptions. Those that all cases share stand once, below all cases.
std::string details_of(const Case &item, const Question &question, const Arguments &arguments) {
    std::string out;
    const std::optional<Rules> &rules = item.prediction ? item.prediction->rules : item.rules;
    if (arguments.has("explain"))
        out += explained(item, arguments.integer("explain"));
    if (rules &&
        (arguments.has("rules") || (!item.forecast_s() && !item.baseline && item.status == Status::ok)))
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

/// The first case of the ranking that `choose` makes of the shape, if the forecast of `item` is more than
/// `little` times as long; an empty case if not. Absent where `item` has no forecast time or is a baseline.
std::optional<Case> faster_than(const Case &item, const Question &question) {
    constexpr double little = 1.02; // chosen: a smaller gain is not worth naming another setting
    if (!item.forecast_s() || !item.strategy)
        return std::nullopt;
    std::vector<Case> first =
        choose(ConvShape::parse(item.shape), question.profile, question.knowledge, {}, 1);
    if (!first.empty() && first.front().forecast_s() &&
        *item.forecast_s() / *first.front().forecast_s() > little)
        return std::move(first.front());
    return Case{};
}

/// The details of each row, below a heading where --explain or --rules asked for them; "" without these.
std::string blocks(const std::vector<Row> &rows, const Arguments &arguments) {
    std::string out;
    for (const Row &row : rows) {
        std::string block = details_of(*row.item, *row.question, arguments);
        if (row.item->status != Status::ok)
            block = refusal_line(*row.item) + block;
        if ((arguments.has("explain") || arguments.has("rules")) && !block.empty())
            out += "\n" +
                   bold(wrapped(row.item->shape + " on " + variant_of(*row.question) + ", " +
                                row.item->called())) +
                   block;
    }
    return out;
}

/// The answer for several cases: a heading, a table, details, and what to type next.
std::string many(const std::vector<Row> &rows, const std::vector<Question> &questions,
                 const Arguments &arguments) {
    const Question &first = questions.front();
    const bool one_shape = std::ranges::all_of(
        rows, [&](const Row &row) { return row.item->shape == rows.front().item->shape; });
    std::string out =
        rows.empty()
            ? ""
            : bold((one_shape ? shape_words("", rows.front().item->shape) + " on " : std::string("on ")) +
                   (questions.size() > 1 ? std::to_string(questions.size()) + " GPUs or settings of one"
                                         : first.title) +
                   first.images + "\n");
    const bool total = !arguments.has("sweep");
    out += cases_text(rows, total) + blocks(rows, arguments);
    const bool timed =
        std::ranges::any_of(rows, [](const Row &row) { return row.item->forecast_s().has_value(); });
    if (timed && one_shape && questions.size() == 1 && !arguments.has("explain"))
        out += hanging("more: --strategy NAME for one of them; `convcast choose` searches their knobs too");
    if (timed && !one_shape && total)
        out += hanging("knobs are those that each strategy takes of itself; `convcast choose` searches them");
    return out;
}

/// The answer for a single case: its verdict, details, and what to type next.
std::string one(const Case &item, const Question &question, const Arguments &arguments) {
    std::string out =
        verdict(item, question, item.status == Status::ok ? faster_than(item, question) : std::nullopt);
    out += details_of(item, question, arguments);
    out += verdict_line("total", calls_words(item));
    if (item.status == Status::ok && item.prediction->time_s && !arguments.has("explain") &&
        !arguments.has("rules"))
        out += verdict_line("more", "--explain: the time term by term; --rules: the papers' rules");
    return out;
}

std::string text_of(const std::vector<Row> &rows, const std::vector<Question> &questions,
                    const Arguments &arguments) {
    return (questions.size() == 1 && rows.size() == 1 ? one(*rows.front().item, questions.front(), arguments)
                                                      : many(rows, questions, arguments)) +
           all_assumptions(rows, arguments.has("explain"), "--explain, --json, or one GPU alone");
}

// ---- what is asked, and how it is answered ----

/// Replaces the forecasts of a document, or of a piece of it, by this code's, and adds times measured
/// elsewhere. `file` names it in messages; `progress` gets the number of cases done, or a line is shown.
void forecast_document(Run &given, const std::string &file, const Arguments &arguments,
                       const std::function<void(std::size_t)> &progress = {}) {
    const GpuProfile profile = document_profile(given, arguments, file);
    const Knowledge knowledge = read_knowledge(arguments, profile);
    given.profile_id = profile.id;
    given.profile_hash = profile_hash(profile);
    given.conditions["forecast"] = "again, by version " + producer().version;
    const bool given_work = arguments.has("given");
    if (given_work)
        given.conditions["given"] = "work as counted";
    note_knowledge(given, knowledge);
    add_external_times(given.cases, arguments, &profile);
    forecast_again(given, profile, knowledge,
                   given_work ? MeasuredCases::renew_given_work : MeasuredCases::renew,
                   {.progress = progress});
    if (arguments.has("timeline"))
        add_forecast_timelines(given.cases, profile, knowledge, arguments);
}

/// Forecasts a document of lines into another one, with only a piece in memory. Returns the exit code.
int forecast_lines(const std::string &file, const std::string &output, const Arguments &arguments) {
    Progress progress("forecast", Progress::Where::terminal_after_a_while);
    std::optional<RunLineWriter> writer;
    std::size_t done = 0;
    int code = 0;
    read_document_pieces(file, [&](Run piece, std::size_t of) {
        forecast_document(piece, file, arguments, [&](std::size_t in_piece) {
            progress.show(std::min(done + in_piece, of), of, "cases");
        });
        for (Case &item : piece.cases) // a document of lines has no terms
            if (item.prediction)
                item.prediction->term.reset();
        if (!writer)
            writer.emplace(output, piece);
        writer->add(piece);
        done += piece.cases.size();
        code = std::max(code, code_of(piece));
    });
    writer->finish(); // it is there: a document of lines has one piece at least
    return code;
}

/// Forecasts into a document of lines, some shapes at a time. Returns the exit code.
int predict_lines(Question &question, const std::string &output, const std::optional<AskedPart> &part) {
    const bool compiled = compile_for_forecasts(question.own_kernels, question.shapes, question.profile);
    Run piece = new_run(question, {}, part);
    RunLineWriter writer(output, piece);
    Refusals refusals;
    forecast_pieces(question, {}, [&](std::vector<Case> cases) {
        refusals.add(question, cases);
        piece.cases = std::move(cases);
        writer.add(piece);
    });
    writer.finish();
    refusals.say(true);
    return refusals.any() || !compiled ? 1 : 0;
}

/// An upper bound on the cases of the questions. Throws UsageError for more than are held in memory.
std::size_t most_cases_held(const std::vector<Question> &questions, const Arguments &arguments) {
    std::size_t cases = 0;
    for (const Question &question : questions)
        cases += most_cases_of(question);
    if (cases > most_held)
        arguments.refuse(fmt::format("up to {} forecasts are asked, and an answer as a table or as JSON "
                                     "has at most {}; name a strategy with --strategy, or write lines{}, of "
                                     "which there may be any number: -o forecast.jsonl",
                                     cases, most_held, questions.size() > 1 ? " for one GPU at a time" : ""));
    return cases;
}

/// Sorts cases of one shape by time, the forecast's or, of times measured elsewhere, the measured one; those
/// without come last. Cases of several shapes keep their order.
void sort_by_time(std::vector<Case> &cases) {
    const bool one_shape =
        std::ranges::all_of(cases, [&](const Case &item) { return item.shape == cases.front().shape; });
    const auto time = [](const Case &item) {
        const Measurement *cold = item.measured(L2State::cold);
        return item.prediction && item.prediction->time_s ? item.prediction->time_s->value
               : cold                                     ? cold->time_s.value
                                                          : std::numeric_limits<double>::infinity();
    };
    if (one_shape)
        std::ranges::stable_sort(cases, [&](const Case &a, const Case &b) { return time(a) < time(b); });
}

/// Writes the diagram of the one case, forecast for `profile`, to the file of --diagram, as wide as --width
/// says, with its caption and the references beside it. Throws UsageError where there is not one case with a
/// plan that can be drawn.
void write_diagram(const std::vector<Case> &cases, const GpuProfile &profile, const Arguments &arguments) {
    if (cases.size() != 1 || !cases.front().strategy)
        arguments.refuse("--diagram draws one shape by one strategy, for example: convcast predict "
                         "--shape n1c64h56w56k64r3s3 --strategy stride_fixed_block --diagram partition.svg");
    const Case &item = cases.front();
    if (!item.prediction || !item.prediction->plan)
        arguments.refuse("nothing to draw of " + item.shape + " by " + *item.strategy + ": " +
                         item.reason.value_or("it has no plan"));
    if (const std::string problem = cannot_draw(*item.strategy); !problem.empty())
        arguments.refuse("--diagram: " + problem);
    const PaperWidth width = PaperWidth::parse(arguments.text("width"));
    const FigureFiles written = write_paper_drawing(partition_diagram(item, profile, width), "partition",
                                                    partition_caption(item), arguments.text("diagram", ""));
    say_what_is_written(written);
}

} // namespace

int predict(const Arguments &arguments) {
    refuse_overwriting(arguments);
    const Format format = format_of(arguments, true);
    if (arguments.has("network"))
        return predict_network(arguments);
    const std::string output = arguments.text("output", "-");
    const bool adds = arguments.has("time") || arguments.has("times");
    if (!arguments.positional().empty()) {
        const bool as_sheet = format == Format::csv || format == Format::markdown;
        const std::string &file = arguments.positional().front();
        if (!file_exists(file) && names_shape(file))
            arguments.refuse("a shape stands behind --shape: predict --shape " + file);
        if (names_lines(output) && file_holds_lines(file) && !adds && !as_sheet)
            return forecast_lines(file, output, arguments);
        Run document = read_document(file);
        forecast_document(document, file, arguments);
        if (as_sheet) {
            Question asked; // a row needs one; of it only the GPU is known
            asked.profile.id = document.profile_id;
            std::vector<Row> rows;
            add_rows(rows, asked, document.cases);
            write_cases(output, format, rows, false, {});
        } else {
            write_run_file(output, document);
        }
        return code_of(document);
    }
    const bool document = format == Format::json;
    std::vector<Question> questions = read_questions(arguments, !document);
    const bool drawn = arguments.has("timeline") || arguments.has("diagram"), one = questions.size() == 1;
    std::optional<AskedPart> part;
    if (arguments.has("shard") || arguments.has("only")) {
        if (!one || !document)
            arguments.refuse("--shard and --only take a part of a document for one GPU; add -o FILE to write "
                             "it, or --json to print it, and give --gpu once at most");
        part = keep_part_of(questions.front(), arguments);
        if (!part->kept)
            arguments.refuse(
                "--shard " + part->shard +
                ": there are fewer shapes than shards; take a smaller number of shards, for example 1/2");
    }
    if (document && names_lines(output) && one && !drawn && !adds)
        return predict_lines(questions.front(), output, part);
    const bool with_terms = most_cases_held(questions, arguments) <= most_with_terms;
    if (!with_terms && (document || arguments.has("explain")))
        note("terms are left out of answers of more than " + std::to_string(most_with_terms) + " cases");
    std::vector<std::vector<Case>> answers; // of each question
    Refusals refusals;
    bool compiled = true;
    for (Question &question : questions) {
        compiled = compile_for_forecasts(question.own_kernels, question.shapes, question.profile) && compiled;
        std::vector<Case> &cases = answers.emplace_back(held_cases(question, {}, with_terms));
        add_external_times(cases, arguments, &question.profile, &question.shapes);
        if (arguments.has("timeline"))
            add_forecast_timelines(cases, question.profile, question.knowledge, arguments);
        if (arguments.has("diagram"))
            write_diagram(cases, question.profile, arguments);
        refusals.add(question, cases);
        if (!document && !cases.empty())
            sort_by_time(cases);
    }
    refusals.say(format != Format::text);
    if (document && one) {
        write_run_file(output, new_run(questions.front(), std::move(answers.front()), part));
    } else {
        std::vector<Row> rows;
        for (std::size_t i = 0; i < answers.size(); ++i)
            add_rows(rows, questions[i], answers[i]);
        write_cases(output, format, rows, !arguments.has("sweep"),
                    [&] { return text_of(rows, questions, arguments); });
    }
    return refusals.any() || !compiled ? 1 : 0;
}

} // namespace convcast::cli
