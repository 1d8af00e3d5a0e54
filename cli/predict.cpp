#include "model/predict.hpp"
#include "cli/document.hpp"
#include "cli/network.hpp"
#include "cli/question.hpp"
#include "cli/terminal.hpp"
#include "cli/timelines.hpp"
#include "cli/verbs.hpp"
#include "cli/version.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/time/term.hpp"

#include <fmt/format.h>

#include <boost/describe.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace convcast::cli {
namespace {

template <class E> std::string name_of_value(const std::optional<E> &value) {
    return value ? boost::describe::enum_to_string(*value, "?") : "-";
}

void append_term(std::string &out, const Term &term, int depth) {
    out += fmt::format(
        "    {:<{}}{:>10}  {}{}\n", std::string(static_cast<std::size_t>(depth) * 2, ' ') + term.name, 34,
        short_time(term.value_s), term.formula,
        term.kind == TermKind::leaf       ? ""
        : term.kind == TermKind::pipeline ? fmt::format("fill + ({:.0f} - 1) * step + drain", *term.count)
        : term.kind == TermKind::schedule ? fmt::format("{:.0f} * wave + tail", *term.count)
        : term.kind == TermKind::queue
            ? fmt::format("{:.1f} share the first{}", *term.count, term.children.size() > 2 ? " two" : "")
        : term.kind == TermKind::pnorm ? fmt::format("{:.2f}-norm", *term.exponent)
                                       : boost::describe::enum_to_string(term.kind, ""));
    for (const Term &child : term.children)
        append_term(out, child, depth + 1);
}

void append_rules(std::string &out, const Rules &rules) {
    const auto line = [&](const char *name, const auto &value, const char *unit) {
        if (value)
            out += fmt::format("    {:<34}{:>12} {}\n", name, grouped(static_cast<long long>(*value)), unit);
    };
    line("N_FMA", rules.n_fma, "FMAs per SM hide the latency");
    line("V_s", rules.v_s_bytes, "bytes in flight hide the latency");
    line("threads per SM", rules.threads_per_sm, "");
    line("warps per SM", rules.warps_per_sm, "");
    line("division", rules.method, "(1: filters over SMs, 2: map over SMs)");
    line("P", rules.pieces_p, "");
    line("Q", rules.pieces_q, "");
    line("D1", rules.d1_bytes, "bytes");
    line("D2", rules.d2_bytes, "bytes");
    line("Th1", rules.th1, "FMAs");
    line("Th2", rules.th2, "FMAs");
    line("pieces that run", rules.run_pieces, "");
    line("S", rules.segment_bytes, "bytes a segment");
    line("W'x", rules.tile_w, "pixels");
    line("least M'", rules.tile_k_min, "filters (rule 3)");
    line("FMAs a step", rules.step_fma, "");
    if (rules.bank_ratio)
        out += fmt::format("    {:<34}{:>12}\n", "n = W_SMB / W_CD", *rules.bank_ratio);
    for (const std::string &remark : rules.remarks)
        out += "    note: " + remark + "\n";
}

/// Without the assumptions of `knowledge`, which stand once below all cases.
std::string explain(const Case &item, const Knowledge &knowledge) {
    std::string out = bold(item.shape + "  " + item.strategy.value_or(item.baseline.value_or(""))) + "\n";
    if (item.status != Status::ok)
        return out + "  " + boost::describe::enum_to_string(item.status, "?") + ": " +
               item.reason.value_or("") + "\n\n";
    const Prediction &p = *item.prediction;
    if (item.baseline) {
        out += "  speed of light " + (p.times.tier0_s ? short_time(*p.times.tier0_s) : "-") + ": " +
               p.reason.value_or("") + "\n";
        return out + "\n";
    }
    if (p.time_s) {
        // With a calibration the range is where nine of ten lie, else what the structure bounds.
        const std::string range = p.times.fitted_s
                                      ? fmt::format("nine of ten from {} to {}", short_time(*p.time_low_s),
                                                    short_time(*p.time_high_s))
                                      : "nothing overlapped " + short_time(*p.time_high_s);
        out += fmt::format("  time {}  (speed of light {}; {})  limiter: {}\n", short_time(*p.time_s),
                           short_time(*p.times.tier0_s), range, p.limiter.value_or("-"));
    } else
        out += "  " + p.reason.value_or("no time") + "\n";
    if (p.regimes)
        out += fmt::format("  regime: paper {}, physical {}, tier 2 {}\n", name_of_value(p.regimes->paper),
                           name_of_value(p.regimes->physical), name_of_value(p.regimes->tier2));
    if (p.plan) {
        const Partition &launch = main_launch(*p.plan);
        out += fmt::format("  launch: grid {} x {} x {}, {} threads, {} shared, {} CTAs an SM, {} wave{}\n",
                           launch.grid[0], launch.grid[1], launch.grid[2], launch.threads,
                           short_bytes(static_cast<double>(launch.shared_bytes)), launch.ctas_per_sm,
                           launch.waves, launch.waves == 1 ? "" : "s");
    }
    if (p.work && p.work->fmas && p.work->l2_read_bytes)
        out += fmt::format(
            "  work: {} FMAs, L2 reads {}, DRAM reads {}\n", grouped(static_cast<long long>(*p.work->fmas)),
            short_bytes(*p.work->l2_read_bytes), short_bytes(p.work->dram_read_bytes.value_or(0.0)));
    if (p.rules) {
        out += "  the papers' rules:\n";
        append_rules(out, *p.rules);
    }
    if (p.term) {
        out += "  time, term by term:\n";
        append_term(out, *p.term, 0);
    }
    out += timeline_text(item);
    const std::vector<std::string> &common = knowledge.assumptions;
    for (const std::string &assumption : p.assumptions)
        if (std::find(common.begin(), common.end(), assumption) == common.end())
            out += "  assumed: " + assumption + "\n";
    return out + "\n";
}

void add_timelines(std::vector<Case> &cases, const GpuProfile &profile, const Knowledge &knowledge) {
    check_timeline_count("predict", cases);
    for (Case &item : cases)
        add_forecast_timeline(item, profile, knowledge);
}

/// A document with today's forecasts beside what was measured.
Run forecast_of(const std::string &file, const Arguments &arguments) {
    Run given = read_document(file);
    const GpuProfile profile = document_profile("predict", given, arguments, file);
    const Knowledge knowledge = read_knowledge(arguments, profile);
    given.profile_id = profile.id;
    given.profile_hash = profile_hash(profile);
    given.conditions["forecast"] = "again, by version " + producer().version;
    const bool given_work = arguments.has("given");
    if (given_work && arguments.text("given", "") != "work")
        throw UsageError("predict: --given " + arguments.text("given", "") +
                         ": expected 'work', the counters of a document's cases");
    if (given_work)
        given.conditions["given"] = "work as counted";
    note_knowledge(given, knowledge);
    forecast_again(given, profile, knowledge,
                   given_work ? MeasuredCases::renew_given_work : MeasuredCases::renew);
    if (arguments.has("timeline"))
        add_timelines(given.cases, profile, knowledge);
    return given;
}

} // namespace

int predict(const Words &words) {
    std::vector<Option> options = question_options();
    options.push_back({"given", Option::text});
    options.push_back({"timeline", Option::flag});
    for (const Option &option : network_options())
        options.push_back(option);
    const Arguments arguments("predict", words, options, 1);
    if (arguments.has("help"))
        return write_file_atomically("-", help_text("predict")), 0;
    refuse_overwriting("predict", arguments);
    if (asks_network("predict", arguments) && arguments.positional().empty())
        return predict_network(arguments);
    if (!arguments.positional().empty()) {
        refuse_question_beside_document("predict", arguments);
        const Run document = forecast_of(arguments.positional().front(), arguments);
        write_file_atomically(arguments.text("output", "-"), write_run(document));
        return code_of(document);
    }
    if (arguments.has("given"))
        throw UsageError("predict: --given needs a Run document with counters, for example "
                         "`convcast predict run.json --given work`");
    const Question question = read_question("predict", arguments);
    std::vector<Case> cases = predict_all(question, false);
    if (arguments.has("timeline"))
        add_timelines(cases, question.profile, question.knowledge);
    std::string text;
    if (arguments.has("json") || arguments.has("output")) {
        text = write_run(new_run(question.profile, question.knowledge, question.sms, cases));
    } else {
        for (const Case &item : cases)
            text += printable(explain(item, question.knowledge));
        const bool timed = std::any_of(cases.begin(), cases.end(), [](const Case &item) {
            return item.prediction && item.prediction->time_s;
        });
        if (timed)
            text += printable(assumptions_text(question.knowledge));
    }
    write_file_atomically(arguments.text("output", "-"), text);
    return named_refused(question, cases, arguments.has("json") || arguments.has("output")) ? 1 : 0;
}

} // namespace convcast::cli
