#include "cli/answers.hpp"
#include "cli/device.hpp"
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
#include "model/record/run_lines.hpp"
#include "model/record/shards.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

bool asks_shapes(const Arguments &arguments) {
    return arguments.has("shape") || arguments.has("study") || arguments.has("shapes");
}

/// Whether no case of the run is left to be measured.
bool settled(const Run &run) {
    return std::ranges::none_of(run.cases, [](const Case &item) { return is_open(item); });
}

/// The run that goes on with a document. Its cases are forecast again by this code, whose kernels a plan of
/// another version would not fit; but one that only gets exact counts stays as it is, and must have been
/// measured with these kernels. Fills in the profile and knowledge of the forecasts.
Run document_run(const std::string &file, const Arguments &arguments, GpuProfile &profile,
                 Knowledge &knowledge) {
    Run given = read_document(file);
    profile = document_profile(given, arguments, file);
    knowledge = read_knowledge(arguments, profile);
    if (arguments.has("exact-work") && !arguments.has("timeline") && settled(given)) {
        if (given.producer.device_code_hash != producer().device_code_hash)
            throw InputError(file, "was measured with other kernels (version " + given.producer.version +
                                       "): what these do would not be counted");
        return given;
    }
    Question asked;
    asked.profile = profile;
    asked.knowledge = knowledge;
    asked.own_kernels = std::move(given.own_kernels);
    Run run = new_run(asked, std::move(given.cases));
    run.conditions = given.conditions; // they say the number of SMs too
    note_knowledge(run, knowledge);
    run.unread = std::move(given.unread);
    if (measured(run))
        require_same_origin(given, run, file);
    forecast_again(run, profile, knowledge, MeasuredCases::keep);
    return run;
}

/// The run that the command line asks for: of a document, or of shapes. Fills in the profile and the
/// knowledge of its forecasts, and sets `sharded` where it holds only the shapes of the shard or of --only.
Run asked_run(const Arguments &arguments, GpuProfile &profile, Knowledge &knowledge, bool &sharded) {
    const bool asks = asks_shapes(arguments);
    const std::string output = arguments.text("output", "-");
    if (arguments.has("shard") &&
        (arguments.positional().empty() ? !asks && arguments.has("resume")
                                        : same_file(arguments.positional().front(), output)))
        arguments.refuse(
            "--shard would leave the other shards' cases out of the file that they are in; write to "
            "another file with -o, or ask for shapes and resume this shard's file");
    if (!arguments.positional().empty())
        return document_run(arguments.positional().front(), arguments, profile, knowledge);
    if (arguments.has("resume") && !asks)
        return document_run(arguments.text("resume", ""), arguments, profile, knowledge);
    const int device = arguments.integer("device");
    Question question = read_question(arguments, [&](int asked) { return sms_given(device, asked); });
    profile = question.profile;
    knowledge = question.knowledge;
    const std::optional<AskedPart> part = keep_part_of(question, arguments);
    sharded = part && part->kept;
    compile_for_forecasts(question.own_kernels, question.shapes, profile);
    return new_run(question,
                   predict_all(question, {.baselines = !arguments.has("no-baselines"),
                                          .best = arguments.integer("choose"),
                                          .drawn = arguments.integer("draw")}),
                   part);
}

/// One line of a reason: of many lines, as a compiler gives, the one with the first error, else the first.
std::string in_one_line(const std::string &reason) {
    const std::size_t error = std::min(reason.find(" error: "), reason.find("error : "));
    const std::size_t begin = error == std::string::npos ? std::string::npos : reason.rfind('\n', error);
    const std::size_t first = begin == std::string::npos ? 0 : begin + 1;
    return reason.substr(first, reason.find('\n', first) - first);
}

/// The table that `run` prints: forecast and measured times of every case.
std::string summary(const Run &run) {
    using Line = const Case &;
    const auto measured = [](Line item, L2State l2) {
        const Measurement *found = item.measured(l2);
        return found ? std::optional(found->time_s) : std::nullopt;
    };
    return table(table_of<Case>(
               run.cases,
               {{{"shape"}, &Case::shape},
                {{"status"}, [](Line item) { return name_of(item.status); }},
                {{"forecast", As::number, Keep::high},
                 [](Line item) { return time_cell(item.forecast_s()); }},
                {{"cold", As::number, Keep::must},
                 [&](Line item) { return time_cell(measured(item, L2State::cold)); }},
                {{"warm", As::number}, [&](Line item) { return time_cell(measured(item, L2State::warm)); }},
                {{"error", As::number, Keep::must},
                 [&](Line item) { return error_cell(item.forecast_s(), measured(item, L2State::cold)); }},
                {{"strategy", As::text, Keep::must, Fit::wrap},
                 [](Line item) {
                     return item.called() + (of_declared_work(item) ? " !" : "") +
                            (item.reason && item.status != Status::ok ? ": " + in_one_line(*item.reason)
                                                                      : "");
                 }}})) +
           (std::ranges::any_of(run.cases, of_declared_work) ? wrapped(declared_work_remark) : "");
}

std::string timelines(const Run &run) {
    std::string text;
    for (const Case &item : run.cases)
        if (const std::string lines = timeline_text(item); !lines.empty())
            text += "\n" + item.shape + "  " + item.strategy.value_or("") + "\n" + lines;
    return text;
}

/// Runs what is asked, writes the document to -o, and a table if `prints`. Returns the exit code.
int run_and_answer(const Arguments &arguments, bool prints) {
    refuse_overwriting(arguments, Documents::filled);
    if (arguments.has("network"))
        return run_network(arguments);
    GpuProfile profile;
    Knowledge knowledge;
    bool sharded = false;
    Run document = asked_run(arguments, profile, knowledge, sharded);
    if (arguments.has("try"))
        return try_own_on_device(document, profile, arguments.integer("device")), 0;
    add_external_times(document.cases, arguments, &profile);
    if (arguments.has("shard")) {
        const std::string shard = arguments.text("shard", "");
        if (!document.conditions.contains(question_condition)) {
            std::vector<std::string> cases;
            for (const Case &item : document.cases)
                cases.push_back(item.shape + " " + item.called());
            note_part(document, shard, cases);
        }
        if (!sharded)
            document.cases = cases_of(parse_shard(shard), std::move(document.cases));
        document.conditions["shard"] = shard;
        if (document.cases.empty())
            note("shard " + arguments.text("shard", "") + " has no case: there are fewer cases than shards");
    }
    if (arguments.has("resume") && asks_shapes(arguments)) {
        resume(document, arguments.text("resume", ""));
        note_knowledge(document, knowledge);
    }

    const std::string output = arguments.text("output", "");
    RunRequest request;
    request.device = arguments.integer("device");
    request.sms = sms_of(document, arguments.text("resume", "the document"));
    request.require_counters = arguments.has("require-counters");
    request.exact_fmas = !arguments.has("no-exact-fmas");
    request.no_counters = arguments.has("no-counters");
    request.timeline = arguments.has("timeline");
    request.trial_words = {"run", "-", "--try"};
    if (arguments.has("gpu"))
        request.trial_words.insert(request.trial_words.end(), {"--gpu", arguments.text("gpu", "")});
    if (request.timeline)
        add_forecast_timelines(document.cases, profile, knowledge, arguments);
    request.exact_work = arguments.has("exact-work");
    request.measure = !request.exact_work || !settled(document);
    if (request.exact_work && request.sms)
        arguments.refuse("--exact-work reads counters, which cannot be read on a part of the SMs");
    request.keep = [&](const Run &so_far) {
        if (!output.empty() && output != "-")
            write_run_file(output, so_far);
    };
    if (!output.empty())
        check_writable(output); // before the work, which would be lost
    const auto answer = [&](const Run &run) {
        if (!output.empty())
            write_run_file(output, run);
        if (prints && output != "-")
            write_file_atomically("-",
                                  arguments.has("json") ? write_run(run) : summary(run) + timelines(run));
    };
    request.last_words = [&](const Run &so_far) {
        note("interrupted; finished cases are kept, --resume goes on");
        answer(so_far);
    };
    const RunEnd end = run_on_device(document, profile, request);
    forecast_from_counters(document, profile, knowledge, arguments.has("counted"));
    answer(document);
    if (end == RunEnd::device_lost)
        throw GpuError("the GPU stopped answering; finished cases are kept, `convcast run --resume` goes on");
    return wrong_cases(document.cases) > 0 || end == RunEnd::incomplete ? 1 : code_of(document);
}

} // namespace

int run(const Arguments &arguments) {
    return run_and_answer(arguments, true);
}

int run_into_file(const Arguments &arguments) {
    return run_and_answer(arguments, false);
}

} // namespace convcast::cli
