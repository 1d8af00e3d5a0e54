#include "model/machine/profile.hpp"

#include "model/base/described.hpp"
#include "model/base/embedded.hpp"
#include "model/base/files.hpp"
#include "model/base/hash.hpp"
#include "model/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> shipped_profile_files;

namespace {

/// Whether each value is above the one before.
bool ascending(const std::vector<double> &values) {
    return std::adjacent_find(values.begin(), values.end(), std::greater_equal<>()) == values.end();
}

} // namespace

bool is_compute_capability(const std::string &text) {
    const std::size_t dot = text.find('.');
    const auto digits = [](std::string_view part, std::size_t most) {
        return !part.empty() && part.size() <= most &&
               std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    };
    const bool padded = dot == 2 && text[0] == '0'; // "09.0" would be another name of 9.0
    return dot != std::string::npos && !padded && digits(std::string_view(text).substr(0, dot), 2) &&
           digits(std::string_view(text).substr(dot + 1), 1);
}

bool drawable(double value) {
    const double size = std::abs(value);
    return value == 0.0 || (size >= 1e-18 && size <= 1e18);
}

void GpuLimits::check(const FieldProblem &problem) const {
    constexpr int warp = 32;
    if (max_threads_per_cta > max_threads_per_sm)
        problem("max_threads_per_cta", fmt::format("expected at most max_threads_per_sm, {}, got {}",
                                                   max_threads_per_sm, max_threads_per_cta));
    for (const auto &[name, threads] : {std::pair{"max_threads_per_sm", max_threads_per_sm},
                                        std::pair{"max_threads_per_cta", max_threads_per_cta}})
        if (threads % warp != 0)
            problem(name, fmt::format("expected whole warps of {} threads, for example 1024, got {}", warp,
                                      threads));
    if (shared_bytes_per_cta + shared_bytes_reserved_per_cta > shared_bytes_per_sm)
        problem("shared_bytes_per_cta",
                fmt::format(
                    "expected that one CTA finds room: at most shared_bytes_per_sm less what a CTA reserves, "
                    "{}, got {}",
                    shared_bytes_per_sm - shared_bytes_reserved_per_cta, shared_bytes_per_cta));
    if (registers_per_sm < max_threads_per_cta * 8)
        problem("registers_per_sm",
                fmt::format("expected 8 registers or more for each thread of the largest CTA, {}, got {}",
                            8 * max_threads_per_cta, registers_per_sm));
}

void FlightCurve::check(const FieldProblem &problem) const {
    if (bytes_in_flight.empty())
        problem("", "expected at least one point");
    if (bytes_in_flight.size() != bandwidth.size())
        problem("bandwidth", fmt::format("expected as many bandwidths as bytes_in_flight, {}, got {}",
                                         bytes_in_flight.size(), bandwidth.size()));
    if (!ascending(bytes_in_flight))
        problem("bytes_in_flight", "expected numbers in ascending order, for example [1024, 2048]");
}

void CurveSeries::check(const FieldProblem &problem) const {
    for (const auto &[field, values] : {std::pair{"y", &y}, std::pair{"low", &low}, std::pair{"high", &high}})
        if (values->size() != x.size())
            return problem(field, fmt::format("expected as many numbers as x has, {}, got {}", x.size(),
                                              values->size()));
    if (!ascending(x))
        problem("x", "expected numbers in ascending order, for example [1024, 2048]");
    for (std::size_t i = 0; i < x.size(); ++i)
        if (!(low[i] <= y[i] && y[i] <= high[i]))
            return problem(
                "y/" + std::to_string(i),
                fmt::format("expected low <= y <= high, got {:g}, {:g} and {:g}", low[i], y[i], high[i]));
}

void ProfileCheck::check(const FieldProblem &problem) const {
    if (name.empty())
        problem("name", "expected a name such as \"little_law\"");
}

void PeerLink::check(const FieldProblem &problem) const {
    if (from == to)
        problem("to", fmt::format("expected another GPU than that of \"from\", {}", from));
    if (source && *source != Source::measured && (!by || by->empty()))
        problem("source",
                "expected \"by\" beside it, where the numbers are from, for example \"data sheet: NVLink 4, "
                "900 GB/s both ways\"");
    if (!range)
        return;
    const auto within = [&](const auto &least, const auto &value, const auto &most, const char *what) {
        if (!value || !(least <= *value && *value <= most))
            problem("range",
                    fmt::format("expected the {} of the link between the least and the most of it", what));
    };
    within(range->least_bytes_per_s, bandwidth_bytes_per_s, range->most_bytes_per_s, "bandwidth");
    within(range->least_latency_s, latency_s, range->most_latency_s, "latency");
    if (source.value_or(Source::measured) == Source::measured)
        problem("range", "a link that was measured has no range; leave it out, or name another \"source\"");
}

void GpuProfile::check(const FieldProblem &problem) const {
    if (!is_compute_capability(compute_capability))
        problem("compute_capability",
                "expected a version such as \"9.0\", got \"" + shortened(compute_capability) + "\"");
    if (id.empty())
        problem("id", "expected a name such as \"h200\"");
    std::set<std::pair<int, int>> links;
    for (std::size_t i = 0; i < peers.size(); ++i)
        if (!links.emplace(peers[i].from, peers[i].to).second)
            problem("peers/" + std::to_string(i),
                    fmt::format("the link from {} to {} is there twice", peers[i].from, peers[i].to));
}

GpuProfile read_profile(const std::string &text, const std::string &file) {
    return described::read_document<GpuProfile>(text, file);
}

std::string write_profile(const GpuProfile &profile) {
    return to_text(described::write(profile));
}

std::vector<std::string> shipped_profiles() {
    return names_of(shipped_profile_files);
}

namespace {

/// A name in small letters and without blanks, so that "GTX 1080 Ti" and "gtx1080ti" are one.
std::string in_small_letters(const std::string &name) {
    std::string out = lower(name);
    std::erase(out, ' ');
    return out;
}

/// The part of a printed name that tells GPUs apart: "gtx1080ti" for "NVIDIA GeForce GTX 1080 Ti", without
/// vendor, family, - and _, and without what stands in parentheses.
std::string core_of(const std::string &name) {
    std::string out = in_small_letters(name.substr(0, name.find(" (")));
    std::erase_if(out, [](char c) { return c == '-' || c == '_'; });
    for (const std::string word : {"nvidia", "geforce", "tesla", "quadro"})
        if (const std::size_t at = out.find(word); at != std::string::npos)
            out.erase(at, word.size());
    return out;
}

/// The shipped profile whose file or GPU has the same name by core_of; nullptr if there is none.
const EmbeddedFile *shipped_by_name(const std::string &name) {
    const std::string core = core_of(name);
    for (const EmbeddedFile &file : shipped_profile_files)
        if (core == core_of(std::filesystem::path(file.path).stem().string()) ||
            core == core_of(read_profile(file.text(), file.path).name))
            return &file;
    return nullptr;
}

} // namespace

GpuProfile find_profile(const std::string &name_or_file) {
    const std::string name = file_exists(name_or_file) ? name_or_file : in_small_letters(name_or_file);
    if (const EmbeddedFile *file = find_embedded(shipped_profile_files, name + ".json");
        file != nullptr && name.find('/') == std::string::npos)
        return read_profile(file->text(), file->path);
    if (std::error_code none; std::filesystem::is_directory(name_or_file, none)) {
        const std::string file = FolderOfGpu{name_or_file}.profile();
        if (!file_exists(file))
            throw InputError(name_or_file, "is a folder without profile.json; `convcast adapt -o " +
                                               name_or_file + "` makes it, on a machine with the GPU");
        GpuProfile profile = read_profile(read_file(file), file);
        profile.folder = name_or_file;
        return profile;
    }
    const bool looks_like_a_file = name_or_file == "-" || name_or_file.find('/') != std::string::npos ||
                                   name_or_file.ends_with(".json") || file_exists(name_or_file);
    if (!looks_like_a_file) {
        if (const EmbeddedFile *file = shipped_by_name(name_or_file))
            return read_profile(file->text(), file->path);
        const std::string core = core_of(name).empty() ? name : core_of(name);
        std::vector<std::string> alike = shipped_profiles(); // an A100 is no misspelt H200
        std::erase_if(alike, [&](const std::string &known) {
            return !core.starts_with(known.front()) && known.find(core) == std::string::npos;
        });
        throw UsageError(
            "unknown GPU '" + name_or_file + "'" + did_you_mean(core, alike) +
            " Known: " + join(shipped_profiles()) +
            "; of any other GPU, a profile file that `convcast measure` writes there, for example "
            "--gpu my_gpu.json");
    }
    return read_profile(read_file(name_or_file), name_or_file == "-" ? "standard input" : name_or_file);
}

GpuProfile with_sms(GpuProfile profile, int sms) {
    if (sms < 1 || sms > profile.limits.sm_count)
        throw UsageError(std::to_string(sms) + " SMs of the GPU '" + profile.id +
                         "' were asked for, which has " + std::to_string(profile.limits.sm_count));
    profile.limits.sm_count = sms;
    return profile;
}

const CurveSeries *line_of(const GpuProfile &profile, const std::string &curve) {
    const auto found = profile.curves.find(curve);
    return found == profile.curves.end() || found->second.series.empty() ||
                   found->second.series.front().x.empty()
               ? nullptr
               : &found->second.series.front();
}

double value_at(const CurveSeries &line, double x) {
    if (x <= line.x.front())
        return line.y.front();
    if (x >= line.x.back())
        return line.y.back();
    std::size_t i = 1;
    while (line.x[i] < x)
        ++i;
    const double share = std::log(x / line.x[i - 1]) / std::log(line.x[i] / line.x[i - 1]);
    return line.y[i - 1] * std::pow(line.y[i] / line.y[i - 1], share);
}

std::string profile_hash(const GpuProfile &profile) {
    return content_hash({write_profile(profile)});
}

template const described::Type &described::type_of<GpuProfile>();

} // namespace convcast
