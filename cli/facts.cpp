#include "model/machine/facts.hpp"
#include "cli/document.hpp"
#include "cli/progress.hpp"
#include "cli/question.hpp"
#include "cli/verbs.hpp"
#include "model/base/errors.hpp"
#include "model/fit/facts_of_counters.hpp"
#include "model/machine/architecture.hpp"
#include "model/record/measured_calls.hpp"
#include "model/work/l2_sectors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {

int facts(const Arguments &arguments) {
    refuse_overwriting(arguments);

    std::vector<CountedCall> calls;
    Facts facts;
    int code = 0, capability = 0;
    for (const std::string &file : arguments.positional()) {
        const Run run = read_document(file);
        code = std::max(code, code_of(run));
        const GpuProfile profile = document_profile(run, arguments, file);
        if (facts.architecture.empty()) {
            facts.device_code_hash = run.producer.device_code_hash;
            facts.architecture = architecture_of(profile);
            capability = capability_of(profile);
        } else if (facts.device_code_hash != run.producer.device_code_hash) {
            arguments.refuse(file + " was measured with other kernels than the documents before it");
        } else if (facts.architecture != architecture_of(profile)) {
            arguments.refuse(file + " was measured on " + architecture_of(profile) +
                             ", the documents before it on " + facts.architecture);
        }
        for (CountedCall &call :
             counted_calls(run, profile, arguments.has("all") ? WhichCalls::all : WhichCalls::training))
            calls.push_back(std::move(call));
    }
    Facts derived = derive_facts(calls, architecture_for(capability).numbers);
    derived.architecture = facts.architecture, derived.device_code_hash = facts.device_code_hash;
    facts = std::move(derived);
    const std::string shown = join(arguments.positional()); // the documents in messages
    if (facts.kernels.empty())
        throw InputError(
            shortened(shown),
            fmt::format("has no kernel that was counted in {} calls or more{}, so there "
                        "is nothing to derive facts from; count more of them, for "
                        "example: convcast run --study resnet50_b1 -o run.json",
                        least_cases,
                        arguments.has("all") ? "" : " of the training part (--all takes every call)"));
    const std::string text = write_facts(facts);
    (void)read_facts(text, "facts of " + shortened(shown)); // no file is written that could not be read
    note(fmt::format("all kernels: cold code {:.0f} clk, {:.2f} clk an instruction of a copy, drift {:.1f}",
                     facts.cold_clocks, facts.once_clocks, facts.drift));
    for (const CompiledWork &kernel : facts.kernels)
        note(fmt::format(
            "{:<34} {:>4} calls, instructions within {:.1f} % (median), {:.1f} % (p90); merging {:.2f}",
            kernel.variant.empty() ? kernel.kernel : kernel.kernel + ", " + kernel.variant, kernel.cases,
            100.0 * kernel.median_error, 100.0 * kernel.p90_error, kernel.merging));
    write_with_its_use(arguments, "facts", text);
    return code;
}

} // namespace convcast::cli
