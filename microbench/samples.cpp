#include "microbench/samples.hpp"

#include "microbench/probe.hpp"

#include "model/base/described.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {
namespace {

bool has_samples(const RawSamples &raw, std::string_view probe) {
    return std::any_of(raw.samples.begin(), raw.samples.end(),
                       [&](const ProbeSamples &samples) { return samples.probe == probe; });
}

} // namespace

RawSamples joined(const std::vector<RawSamples> &documents, const std::vector<std::string> &files) {
    RawSamples raw = documents.front();
    for (std::size_t i = 1; i < documents.size(); ++i) {
        const RawSamples &later = documents[i];
        if (later.name != raw.name || later.compute_capability != raw.compute_capability ||
            to_text(described::write(later.limits)) != to_text(described::write(raw.limits)))
            throw InputError(files[i],
                             "these samples are of another GPU (" + later.name + ", compute capability " +
                                 later.compute_capability + ", " + std::to_string(later.limits.sm_count) +
                                 " SMs) than those of " + files.front() + " (" + raw.name + ", " +
                                 raw.compute_capability + ", " + std::to_string(raw.limits.sm_count) +
                                 " SMs); a profile is of one model, for example the same one measured "
                                 "again with --only");
        std::vector<std::string> added;
        for (const std::string &name : probe_names()) {
            if (has_samples(raw, name))
                continue;
            if (!has_samples(later, name)) { // its reason for having none is better than no reason
                if (const auto failed = later.failed.find(name); failed != later.failed.end())
                    raw.failed.insert(*failed);
                if (const auto skipped = later.skipped.find(name); skipped != later.skipped.end())
                    raw.skipped.insert(*skipped);
                continue;
            }
            for (const ProbeSamples &samples : later.samples)
                if (samples.probe == name)
                    raw.samples.push_back(samples);
            raw.failed.erase(name);
            raw.skipped.erase(name);
            added.push_back(name);
        }
        if (added.empty())
            continue;
        const auto condition = [&](const char *what) {
            const auto found = later.conditions.find(what);
            return found == later.conditions.end() ? std::string("not known") : found->second;
        };
        std::string &text = raw.conditions["added"];
        text += (text.empty() ? "" : "; ") + join(added) + " on " + condition("date") + ", GPU " +
                condition("gpu") + ", probes " + condition("probes");
    }
    return raw;
}

bool is_open(const RawSamples &raw, std::string_view probe) {
    return !raw.skipped.contains(std::string(probe)) && !has_samples(raw, probe);
}

void ProbeSamples::check(const FieldProblem &problem) const {
    if (const std::vector<std::string> known = probe_names();
        std::find(known.begin(), known.end(), probe) == known.end())
        problem("probe", "unknown probe \"" + shortened(probe) + "\"" + did_you_mean(probe, known));
    if (sm_clock_hz.size() != values.size())
        problem("sm_clock_hz", "expected one clock per value: " + std::to_string(values.size()) + ", got " +
                                   std::to_string(sm_clock_hz.size()));
}

void RawSamples::check(const FieldProblem &problem) const {
    if (!is_compute_capability(compute_capability))
        problem("compute_capability",
                "expected a version such as \"9.0\", got \"" + shortened(compute_capability) + "\"");
}

RawSamples read_samples(const std::string &text, const std::string &file) {
    return described::read_document<RawSamples>(text, file);
}

std::string write_samples(const RawSamples &raw) {
    return to_text(described::write(raw));
}

std::optional<int> cores_per_sm(int compute_major, int compute_minor) {
    switch (compute_major) {
    case 3:
        return 192;
    case 5:
        return 128;
    case 6:
        return compute_minor == 0 ? 64 : 128;
    case 7:
        return 64;
    case 8:
        return compute_minor == 0 ? 64 : 128;
    case 9:
    case 10:
    case 12:
        return 128;
    default:
        return std::nullopt;
    }
}

} // namespace convcast
