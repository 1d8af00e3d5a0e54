#include "cli/measure.hpp"
#include "cli/arguments.hpp"
#include "cli/device.hpp"
#include "cli/progress.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "microbench/analysis.hpp"
#include "microbench/probe.hpp"
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/readable.hpp"
#include "model/machine/each_number.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

constexpr int not_trustworthy = 6; ///< exit code; main.cpp lists them all

/// What --list prints: each probe with its question and the numbers that it gives.
std::string probe_list() {
    std::size_t longest = 0;
    for (const Probe &probe : probes())
        longest = std::max(longest, probe.name.size());
    const std::size_t indent = longest + 2;
    std::string text;
    for (const Probe &probe : probes()) {
        text += headed(std::string(probe.name), std::string(probe.question), indent);
        text += wrapped("-> " + (probe.use.fields.empty() ? "a curve" : fields_text(probe)), indent);
    }
    return text;
}

/// A table of the profile's numbers with intervals, and below it those whose samples fall into groups.
std::string params_text(const GpuProfile &profile) {
    Table params{{{"number"}, {"value", As::number}, {"unit"}, {"95 % interval"}}, {}};
    std::string groups;
    for_each_param(profile, [&](const char *name, const auto &param) {
        if (!param)
            return;
        const ReadableUnit unit = readable_unit(param->value.value, UnitOf<decltype(param->value)>::text);
        const auto part = [&](double value) { return short_number(value / unit.size); };
        params.rows.push_back(
            {name, part(param->value.value), unit.text,
             param->interval ? part(param->interval->low) + " to " + part(param->interval->high) : "-"});
        std::vector<std::string> medians;
        for (const double population : param->populations)
            medians.push_back(part(population));
        if (!medians.empty())
            groups += wrapped(std::string(name) + ": groups of samples at " + join(medians, " and ") + " " +
                              unit.text);
    });
    return table(params, std::string::npos) + groups;
}

/// What `measure` prints of a profile: its numbers, checks, what is absent and why, notes.
std::string summary(const GpuProfile &profile) {
    std::string text = bold(profile.name) + "\n" + params_text(profile);
    if (!profile.checks.empty())
        text += "\n" + bold("checks") + "\n";
    for (const ProfileCheck &check : profile.checks)
        text += headed(check.passed ? "pass  " : bold("FAIL") + "  ", check.name + ": " + check.text, 6);
    ByReason reasons;
    for (const auto &[field, why] : profile.missing)
        add_name_for_reason(reasons, why, field);
    if (!reasons.empty())
        text += "\n" + bold("absent") + "\n";
    for (const auto &[why, fields] : reasons)
        text += wrapped(why + ":") + wrapped(join(fields), 4);
    if (!profile.notes.empty())
        text += "\n" + bold("notes") + "\n";
    for (const std::string &line : profile.notes)
        text += headed("- ", line, 2);
    return text;
}

/// A line of the answer where this program has other probes than those that took the samples; else "".
std::string other_probes(const RawSamples &raw) {
    const std::optional<std::string> here = probes_hash();
    const auto there = raw.conditions.find("probes");
    if (!here || there == raw.conditions.end() || there->second == *here)
        return "";
    return "\n" +
           wrapped("The samples were taken by other probes (" + there->second + ") than this program has (" +
                   *here + "); measure anew before comparing them with its own.");
}

/// What makes numbers untrustworthy: failed checks and probes, or probes of `only` without usable samples.
std::string doubts(const RawSamples &raw, const GpuProfile &profile, const std::vector<std::string> &only) {
    std::vector<std::string> failed;
    for (const ProfileCheck &check : profile.checks)
        if (!check.passed)
            failed.push_back("check " + check.name);
    for (const auto &[probe, why] : raw.failed)
        failed.push_back("probe " + probe);
    for (const Probe &probe : probes()) {
        const std::string name(probe.name);
        const bool asked = only.empty() || std::ranges::find(only, name) != only.end();
        const bool useful = std::ranges::any_of(raw.samples, [&](const ProbeSamples &samples) {
            return samples.probe == name && !samples.values.empty() &&
                   std::ranges::all_of(samples.values,
                                       [](double value) { return value > 0.0 && std::isfinite(value); });
        });
        if (asked && !useful && !raw.failed.contains(name) && !raw.skipped.contains(name))
            failed.push_back("probe " + name + " (nothing usable)");
    }
    return join(failed);
}

} // namespace

std::string profile_id_of(std::string name) {
    for (const std::string prefix : {"NVIDIA ", "GeForce ", "Tesla "})
        if (name.starts_with(prefix))
            name = name.substr(prefix.size());
    for (char &c : name)
        c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? static_cast<char>(std::tolower(c)) : '_';
    return name.empty() ? "gpu" : name;
}

RawSamples samples_of_file(const std::string &file) {
    return read_samples(read_file(file), shown_name(file));
}

RawSamples kept_samples(SamplesRequest request, const std::string &file) {
    const auto keep = [&](const RawSamples &so_far) {
        if (!file.empty())
            write_file_atomically(file, write_samples(so_far));
    };
    request.keep = keep;
    RawSamples raw = take_samples(request);
    keep(raw);
    return raw;
}

int measure(const Arguments &arguments) {
    if (arguments.has("list"))
        return write_file_atomically("-", probe_list()), 0;
    const std::vector<std::string> only = arguments.texts("only");
    const std::vector<std::string> known = probe_names();
    for (const std::string &name : only)
        if (std::ranges::find(known, name) == known.end())
            arguments.refuse("unknown probe '" + name + "'" + did_you_mean(name, known) +
                             " Probes: " + join(known));

    std::vector<std::string> inputs = arguments.texts("from-raw");
    if (arguments.has("raw"))
        inputs.push_back(arguments.text("raw", ""));
    for (const std::string &samples : inputs)
        if (arguments.has("output") && same_file(arguments.text("output", ""), samples))
            arguments.refuse("-o and --" + std::string(arguments.has("raw") ? "raw" : "from-raw") +
                             " name one file; the profile would take the place of the samples");
    for (const char *option : {"output", "raw"}) // found before the work
        if (arguments.has(option))
            check_writable(arguments.text(option, ""));
    RawSamples raw;
    std::string said_of_probes;
    if (arguments.has("from-raw")) {
        std::vector<RawSamples> documents;
        for (const std::string &file : arguments.texts("from-raw"))
            documents.push_back(samples_of_file(file));
        raw = joined(documents, arguments.texts("from-raw"));
        said_of_probes = other_probes(raw);
    } else {
        const std::string keep_file = arguments.text("raw", "");
        SamplesRequest request;
        request.device = arguments.integer("device");
        request.only = only;
        if (arguments.has("resume"))
            request.resume = samples_of_file(keep_file);
        raw = kept_samples(std::move(request), keep_file);
    }
    const GpuProfile profile = analyze(raw, arguments.text("id", profile_id_of(raw.name)));
    if (arguments.has("output"))
        write_file_atomically(arguments.text("output", ""), write_profile(profile));
    if (!arguments.has("output") || arguments.text("output", "") != "-")
        write_file_atomically("-", arguments.has("json") ? write_profile(profile)
                                                         : printable(summary(profile) + said_of_probes));
    if (const std::string why = doubts(raw, profile, only); arguments.has("strict") && !why.empty())
        return note("not trustworthy, by --strict: these failed: " + why), not_trustworthy;
    return 0;
}

} // namespace convcast::cli
