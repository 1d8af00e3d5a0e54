#include "model/fit/fit.hpp"
#include "cli/document.hpp"
#include "cli/progress.hpp"
#include "cli/question.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/fit/adapted.hpp"
#include "model/machine/calibration.hpp"
#include "model/machine/facts.hpp"
#include "model/record/measured_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

/// What --leave-one-out prints: the errors of each strategy's calls, by how much the forecast knew of it.
std::string left_out_text(const std::vector<LeftOut> &rows) {
    return "mean |forecast / measured - 1| outside the training part, by what the forecast knew\n" +
           table(table_of<LeftOut>(rows, {{{"strategy"}, &LeftOut::strategy},
                                          {{"cases", As::number, Keep::low}, &LeftOut::test},
                                          {{"no counters", As::share}, &LeftOut::without_counters},
                                          {{"counters", As::share}, &LeftOut::probes_and_counters},
                                          {{"fitted", As::share}, &LeftOut::fitted},
                                          {{"without it", As::share, Keep::must}, &LeftOut::left_out},
                                          {{"bias", As::ratio}, &LeftOut::new_kernel_bias},
                                          {{"new kernel", As::share, Keep::must}, &LeftOut::new_kernel}}));
}

} // namespace

int fit(const Arguments &arguments) {
    refuse_overwriting(arguments);
    const bool all = arguments.has("leave-one-out");
    int code = 0;
    std::vector<MeasuredCall> calls; // to fit: the training part, or with `all` every call
    std::vector<MeasuredCall> test;  // the others
    GpuProfile profile;
    Knowledge knowledge;
    for (const std::string &file : arguments.positional()) {
        const Run run = read_document(file);
        code = std::max(code, code_of(run));
        profile = document_profile(run, arguments, file);
        knowledge = knowledge_for(profile, arguments.text("facts", ""), "none");
        for (MeasuredCall &call : measured_calls(run, profile, knowledge.facts, WhichCalls::all))
            (all || call.training ? calls : test).push_back(std::move(call));
    }
    if (calls.empty())
        throw InputError(shortened(join(arguments.positional())),
                         "has no measured call of our own strategies" +
                             std::string(all ? "" : " in the training part") +
                             "; measure some, for example: convcast run --study resnet50_b1 -o run.json");
    if (all) {
        const std::vector<LeftOut> rows = leave_one_out(calls, profile, knowledge.facts).strategies;
        write_file_atomically(arguments.text("output", "-"),
                              arguments.has("json") ? to_text(described::write(rows)) : left_out_text(rows));
        return code;
    }
    Calibration calibration = fit_calibration(calls, profile);
    if (const std::vector<std::string> files = arguments.texts("interval"); !files.empty()) {
        for (const std::string &file : files) {
            const Run run = read_document(file);
            code = std::max(code, code_of(run));
            for (MeasuredCall &call : measured_calls(run, profile, knowledge.facts, WhichCalls::all))
                calls.push_back(std::move(call));
        }
        fit_interval(calibration, calls, profile);
    }
    calibration.facts_hash = facts_hash(knowledge.facts);
    if (!test.empty())
        calibration.test = TestErrors{std::ssize(test), mean_error(test, profile, calibration),
                                      mean_error(test, profile, {}),
                                      mean_error(test, profile, {}, &MeasuredCall::uncounted)};
    note(fmt::format(
        "{} calls of the training part: first wave misses {:.3f}, cold share {:.3f}, steps overlap {:.2f}, "
        "units overlap {:.2f}; measured over forecast {:.3f} to {:.3f}",
        calibration.cases, calibration.fitted.first_wave_miss, calibration.fitted.cold_share,
        calibration.fitted.steps_overlap, calibration.fitted.units_overlap, calibration.ratio_p05,
        calibration.ratio_p95));
    if (const std::optional<TestErrors> &errors = calibration.test)
        note(fmt::format(
            "{} calls outside it: mean error {:.1f} %, with the assumed numbers {:.1f} %, without "
            "counters {:.1f} %",
            errors->cases, 100.0 * errors->fitted, 100.0 * errors->assumed,
            100.0 * errors->without_counters));
    const std::string text = write_calibration(calibration);
    // No file is written that could not be read.
    (void)read_calibration(text, "calibration of " + shortened(join(arguments.positional())));
    write_with_its_use(arguments, "calibration", text);
    return code;
}

} // namespace convcast::cli
