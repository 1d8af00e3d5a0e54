#include "cli/device.hpp"
#include "cli/document.hpp"
#include "cli/forecasts.hpp"
#include "cli/own_kernels.hpp"
#include "cli/progress.hpp"
#include "cli/question.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast::cli {
namespace {

/// 90 for "sm_90" or "9.0". Throws UsageError for less than kernels need; `what` names the text in it.
int capability_of(const Arguments &arguments, const std::string &text, const std::string &what) {
    std::string digits = text.starts_with("sm_") ? text.substr(3) : text;
    std::erase(digits, '.');
    const std::optional<int> number = number_of<int>(digits);
    if (!number || *number < 0 || *number > 999)
        arguments.refuse(what + " must name an architecture like sm_90, got '" + text + "'");
    if (*number < least_compute_major * 10)
        arguments.refuse(fmt::format("{} is {}; the kernels need sm_{}0 or newer, for example --arch sm_90",
                                     what, text, least_compute_major));
    return *number;
}

/// The run whose plans are to be compiled: that of a document, or of the shapes of the options. Fills in its
/// profile, the user's own kernels, and the shapes for which these are compiled. With --kernel the run has
/// cases of our strategies only if --strategy names some.
Run asked_run(const Arguments &arguments, GpuProfile &profile, std::vector<OwnKernel> &own,
              std::vector<AskedShape> &shapes) {
    if (arguments.positional().empty()) {
        Question question = read_question(arguments);
        profile = question.profile;
        own = question.own_kernels;
        shapes = question.shapes;
        if (!own.empty() && question.strategies.empty())
            question.strategies.emplace_back(own_word);
        question.own_kernels.clear();
        return new_run(question, predict_all(question, {.best = arguments.integer("choose")}));
    }
    const std::string &file = arguments.positional().front();
    Run document = read_document(file);
    own = document.own_kernels;
    for (const Case &item : document.cases)
        if (item.baseline && document.own_kernel(*item.baseline))
            shapes.push_back({ConvShape::parse(item.shape)});
    profile = document_profile(document, arguments, file);
    for (Case &item : document.cases)
        item.measurements.clear(); // forecast_again would keep the plans of measured cases, perhaps old ones
    forecast_again(document, profile, read_knowledge(arguments, profile), MeasuredCases::keep);
    return document;
}

/// "40 of 48": the number that the compiler gives, and the planned one if there is one.
std::string beside_plan(const std::optional<std::int64_t> &number,
                        const std::optional<std::int64_t> &planned) {
    const auto text = [](const std::optional<std::int64_t> &of) { return of ? std::to_string(*of) : "-"; };
    return text(number) + (planned ? " of " + text(planned) : "");
}

/// A table, and below it whole logs of the compiler. What has registers has all numbers of the compiler.
std::string as_text(const CompileReport &report, std::size_t problems) {
    using Checked = const CheckedKernel &;
    std::string text = table(table_of<CheckedKernel>(
        report.kernels,
        {{{"registers", As::number}, [](Checked k) { return beside_plan(k.registers, k.register_cap); }},
         {{"shared, B", As::number},
          [](Checked k) {
              return k.registers ? Cell(*k.static_shared_bytes + k.dynamic_shared_bytes.value_or(0)) : Cell();
          }},
         {{"spills, B", As::number, Keep::high},
          [](Checked k) { return k.registers ? Cell(*k.spill_store_bytes + *k.spill_load_bytes) : Cell(); }},
         {{"stack, B", As::number, Keep::low}, &CheckedKernel::stack_bytes},
         {{"CTAs/SM", As::number, Keep::high},
          [](Checked k) { return beside_plan(k.ctas_per_sm, k.planned_ctas_per_sm); }},
         {{"kernel", As::text, Keep::must, Fit::wrap}, [](Checked k) {
              return k.kernel + (k.problem ? ": " + k.problem->substr(0, k.problem->find('\n')) : "");
          }}}));
    text += fmt::format("\n{} kernel{} for {} by NVRTC {}, {}{}\n", report.kernels.size(),
                        report.kernels.size() == 1 ? "" : "s", report.architecture, report.nvrtc,
                        problems == 0 ? "none with a problem" : fmt::format("{} with a problem", problems),
                        report.cache.empty() ? "" : "; kept in " + report.cache);
    for (const CheckedKernel &k : report.kernels) // a compiler's log has many lines
        if (k.problem && k.problem->find('\n') != std::string::npos)
            text += "\n" + k.kernel + ": " + *k.problem + "\n";
    return text;
}

} // namespace

int compile(const Arguments &arguments) {
    refuse_overwriting(arguments);
    GpuProfile profile;
    std::vector<OwnKernel> own;
    std::vector<AskedShape> shapes;
    const Run asked = asked_run(arguments, profile, own, shapes);
    const int capability = arguments.has("arch")
                               ? capability_of(arguments, arguments.text("arch", ""), "--arch")
                               : capability_of(arguments, profile.compute_capability,
                                               "the compute capability of '" + profile.id + "'");
    std::vector<Plan> plans;
    for (const Case &item : asked.cases)
        if (item.prediction && item.prediction->plan)
            plans.push_back(*item.prediction->plan);
    if (plans.empty() && own.empty())
        note("no strategy that was asked has a plan for these shapes; only what verifies is compiled");
    const CompileReport report = compile_kernels(plans, own_tasks(own, shapes), profile, capability);
    const auto problems = static_cast<std::size_t>(std::ranges::count_if(
        report.kernels, [](const CheckedKernel &kernel) { return kernel.problem.has_value(); }));
    const bool json = arguments.has("json") || arguments.has("output");
    write_file_atomically(arguments.text("output", "-"),
                          json ? to_text(described::write(report)) : printable(as_text(report, problems)));
    return problems == 0 ? code_of(asked) : 1;
}

} // namespace convcast::cli
