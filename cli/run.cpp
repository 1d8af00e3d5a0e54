#include "cli/device.hpp"
#include "cli/progress.hpp"
#include "cli/question.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "model/errors.hpp"
#include "model/files.hpp"

#include <fmt/format.h>

#include <boost/describe.hpp>

#include <algorithm>

namespace convcast::cli {
namespace {

Run asked_run(const Arguments &arguments, GpuProfile &profile) {
    if (arguments.positional().empty()) {
        const Question question = read_question("run", arguments);
        profile = question.profile;
        return new_run(profile, predict_all(question, true, arguments.integer("choose", 0, 0, 1000)));
    }
    for (const char *other : {"shape", "study", "strategy", "choose"})
        if (arguments.has(other))
            throw UsageError(std::string("convcast run: a Run document and --") + other +
                             " were both given; the document already says what to run");
    const std::string file = arguments.positional().front();
    Run run = read_run(read_file(file), file == "-" ? "standard input" : file);
    profile = find_profile(arguments.text("gpu", run.profile_id.empty() ? "h200" : run.profile_id));
    return run;
}

/// Takes over what an earlier run measured for the same case. Its numbers count only if the same code made them.
void resume(Run &run, const std::string &file) {
    Run earlier = read_run(read_file(file), file);
    if (earlier.producer.device_code_hash != run.producer.device_code_hash ||
        earlier.producer.measuring_code_hash != run.producer.measuring_code_hash)
        throw InputError(file, "was recorded by other code (version " + earlier.producer.version +
                                   "); one document holds the numbers of one version. Run it anew without --resume");
    std::size_t kept = 0;
    for (Case &item : run.cases)
        for (Case &old : earlier.cases)
            if (old.shape == item.shape && old.strategy == item.strategy && old.baseline == item.baseline &&
                old.status != Status::not_run && old.status != Status::failed && item.measurements.empty()) {
                item.status = old.status;
                item.reason = old.reason;
                item.measurements = std::move(old.measurements);
                ++kept;
                break;
            }
    note(fmt::format("{} finished cases of {} taken over from {}", kept, run.cases.size(), file));
}

std::string summary(const Run &run) {
    std::vector<std::vector<std::string>> rows;
    for (const Case &item : run.cases) {
        const Measurement *cold = item.measured(L2State::cold), *warm = item.measured(L2State::warm);
        const bool forecast = item.prediction && item.prediction->time_s;
        rows.push_back({item.shape, boost::describe::enum_to_string(item.status, "?"),
                        forecast ? short_time(*item.prediction->time_s) : "-", cold ? short_time(cold->time_s) : "-",
                        warm ? short_time(warm->time_s) : "-",
                        forecast && cold
                            ? fmt::format("{:+.0f} %", 100.0 * (*item.prediction->time_s / cold->time_s - 1.0))
                            : "-",
                        item.strategy.value_or(item.baseline.value_or("")) +
                            (item.reason && item.status != Status::ok ? ": " + *item.reason : "")});
    }
    return table({{"shape"}, {"status"}, {"forecast", Align::right}, {"cold", Align::right}, {"warm", Align::right},
                  {"error", Align::right}, {"strategy"}},
                 rows, terminal_width() * 2);
}

} // namespace

int run(const Words &words) {
    std::vector<Option> options = question_options();
    options.push_back({"choose", Option::text});
    options.push_back({"resume", Option::text});
    options.push_back({"device", Option::text});
    options.push_back({"require-counters", Option::flag});
    const Arguments arguments("run", words, options, 1);
    if (arguments.has("help"))
        return write_file_atomically("-", help_text("run")), 0;
    GpuProfile profile;
    Run document = asked_run(arguments, profile);
    document.producer = new_run(profile, {}).producer;
    if (arguments.has("resume"))
        resume(document, arguments.text("resume", ""));

    const std::string output = arguments.text("output", "");
    RunRequest request;
    request.device = arguments.integer("device", 0, 0, 1023);
    request.require_counters = arguments.has("require-counters");
    request.keep = [&](const Run &so_far) {
        if (!output.empty() && output != "-")
            write_file_atomically(output, write_run(so_far));
    };
    if (!output.empty() && output != "-")
        write_file_atomically(output, write_run(document)); // an unwritable output is found before the work
    const DeviceRunEnd end = run_on_device(document, profile, request);

    const std::string text = write_run(document);
    if (!output.empty())
        write_file_atomically(output, text);
    if (output != "-")
        write_file_atomically("-", arguments.has("json") ? text : summary(document));
    if (end == DeviceRunEnd::interrupted)
        return note("interrupted; finished cases are kept, --resume goes on"), 130;
    if (end == DeviceRunEnd::device_lost)
        throw GpuError("the GPU stopped answering; finished cases are kept, `convcast run --resume` goes on");
    const bool wrong = std::any_of(document.cases.begin(), document.cases.end(), [](const Case &item) {
        return item.status == Status::wrong_result || item.status == Status::failed;
    });
    return wrong ? 1 : 0;
}

} // namespace convcast::cli
