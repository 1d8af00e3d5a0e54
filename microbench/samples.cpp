#include "microbench/samples.hpp"

#include "model/described.hpp"

#include <algorithm>

namespace convcast {

bool is_open(const RawSamples &raw, std::string_view probe) {
    return !raw.skipped.contains(std::string(probe)) &&
           std::none_of(raw.samples.begin(), raw.samples.end(),
                        [&](const ProbeSamples &samples) { return samples.probe == probe; });
}

RawSamples read_samples(const std::string &text, const std::string &file) {
    RawSamples raw = described::read_document<RawSamples>(text, file, RawSamples{}.schema);
    std::vector<InputProblem> problems;
    if (!is_compute_capability(raw.compute_capability))
        problems.push_back({file + ": /compute_capability",
                            "expected a version such as \"9.0\", got \"" + raw.compute_capability + "\""});
    for (std::size_t i = 0; i < raw.samples.size(); ++i) {
        const ProbeSamples &samples = raw.samples[i];
        const std::string place = file + ": /samples/" + std::to_string(i);
        if (std::none_of(probes.begin(), probes.end(),
                         [&](const ProbeInfo &p) { return p.name == samples.probe; })) {
            std::vector<std::string> known;
            for (const ProbeInfo &probe : probes)
                known.emplace_back(probe.name);
            problems.push_back({place + "/probe", "unknown probe \"" + samples.probe + "\"" +
                                                      did_you_mean(samples.probe, known)});
        }
        if (samples.sm_clock_hz.size() != samples.values.size())
            problems.push_back({place + "/sm_clock_hz",
                                "expected one clock per value: " + std::to_string(samples.values.size()) +
                                    ", got " + std::to_string(samples.sm_clock_hz.size())});
    }
    if (!problems.empty())
        throw InputError(std::move(problems));
    return raw;
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
