#include "cli/knowledge.hpp"

#include "cli/progress.hpp"
#include "cli/terminal.hpp"
#include "cli/version.hpp"
#include "model/base/errors.hpp"
#include "model/machine/assume.hpp"
#include "model/predict.hpp"

namespace convcast::cli {

Knowledge read_knowledge(const Arguments &arguments, const GpuProfile &profile) {
    Knowledge knowledge =
        knowledge_for(profile, arguments.text("facts", ""), arguments.text("calibration", ""));
    if (!knowledge.facts.kernels.empty() && knowledge.facts.device_code_hash != producer().device_code_hash)
        knowledge.assumptions.push_back("facts counted on kernels of another version, device code " +
                                        knowledge.facts.device_code_hash.substr(0, 8));
    return knowledge;
}

void supply_assumed(GpuProfile &profile, const Arguments &arguments) {
    for (const std::string &text : arguments.texts("assume"))
        assume(profile, text);
}

void require_times(const GpuProfile &profile, const std::string &what) {
    if (const std::string missing = missing_for_forecast(profile); !missing.empty())
        throw InputError("profile " + profile.id, what + " needs times; " + no_time(profile, missing));
}

void note_knowledge(Run &run, const Knowledge &knowledge) {
    for (auto &[name, text] : conditions_of(knowledge))
        run.conditions[name] = text;
}

std::string assumptions_text(const Knowledge &knowledge) {
    std::string text, numbers;
    for (const std::string &said : knowledge.assumptions) {
        // "NAME VALUE, in LOW to HIGH: assumed, REASON AND SOURCE", of which there may be many
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

void note_how_to_use(const std::string &option, const std::string &output) {
    const bool file = output != "-";
    note((file ? std::string("to use it: ") : "to use it, write it to a file with -o: ") +
         "convcast predict --" + option + " " + (file ? output : option + ".json") +
         " --shape n1c64h56w56k64r3s3; choose, run, report and compile take it too");
}

} // namespace convcast::cli
