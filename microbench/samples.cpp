#include "microbench/samples.hpp"

#include "model/base/described.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

bool is_open(const RawSamples &raw, std::string_view probe) {
    return !raw.skipped.contains(std::string(probe)) &&
           std::none_of(raw.samples.begin(), raw.samples.end(),
                        [&](const ProbeSamples &samples) { return samples.probe == probe; });
}

void ProbeSamples::check(const FieldProblem &problem) const {
    if (std::none_of(probes.begin(), probes.end(), [&](const ProbeInfo &p) { return p.name == probe; })) {
        std::vector<std::string> known;
        for (const ProbeInfo &info : probes)
            known.emplace_back(info.name);
        problem("probe", "unknown probe \"" + shortened(probe) + "\"" + did_you_mean(probe, known));
    }
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
    return described::read_document<RawSamples>(text, file, RawSamples{}.schema);
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
