#include "tests/gpu/false_alarm.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

namespace convcast {
namespace {

constexpr std::string_view kernel = "implicit_gemm_3xtf32";

/// Counted from 1; empty if there is no such line.
std::string_view line_of(std::string_view text, int number) {
    for (; number > 1; --number) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos)
            return {};
        text.remove_prefix(end + 1);
    }
    return number == 1 ? text.substr(0, text.find('\n')) : std::string_view{};
}

bool loads_pixels(const Access &access, std::string_view source) {
    return access.kind == "Read" &&
           line_of(source, access.line).find("*reinterpret_cast<const float2 *>(of_pixels ") !=
               std::string_view::npos;
}

/// Inside the function that makes asynchronous copies.
bool copies(const Access &access, std::string_view source) {
    constexpr std::string_view head = "void copy_async_unless(", last = "\n}\n";
    const std::size_t begin = source.find(head),
                      end = begin == std::string_view::npos ? begin : source.find(last, begin);
    if (access.kind != "Write" || !access.function.starts_with("convcast::copy_async_unless<") ||
        end == std::string_view::npos)
        return false;
    const auto lines_before = [&](std::size_t at) {
        return std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    };
    return access.line > lines_before(begin) && access.line <= lines_before(end) + 1;
}

} // namespace

RingsSeen judge_rings(const std::map<std::string, ToolLog> &logs) {
    RingsSeen seen;
    if (logs.empty()) {
        seen.lines.push_back("no ring was watched: nothing is excepted");
        return seen;
    }
    bool alarm = false;
    for (const Ring &ring : rings) {
        const auto found = logs.find(ring.name);
        const bool watched = found != logs.end() && found->second.ended;
        std::int64_t hazards = 0;
        if (watched)
            for (const Finding &finding : found->second.findings)
                hazards += finding.hazards;
        std::string line = std::string("ring ") + ring.name + ": ";
        if (!watched) {
            line += "not watched to its end";
            seen.good = false;
        } else {
            const bool reported = hazards > 0;
            line += reported ? std::to_string(hazards) + " hazards reported" : "nothing reported";
            if (ring.shown == Shown::false_alarm) {
                alarm = reported;
                line += reported ? ", though it has no race: the tool's false alarm"
                                 : ": the tool no longer has this false alarm, and its exception "
                                   "(tests/gpu/false_alarm.hpp) can be deleted";
            } else if (reported == (ring.shown == Shown::race)) {
                line += reported ? ", as it should: it has a race" : ", as it should: it has no race";
            } else {
                line += reported ? ", and it has no race: the false alarm is not understood"
                                 : ", and it has a race: the tool is blind to it";
                seen.good = false;
            }
        }
        seen.lines.push_back(std::move(line));
    }
    seen.false_alarm = seen.good && alarm;
    return seen;
}

bool is_pixels_alarm(const Finding &finding, std::string_view source) {
    const auto in_kernel = [&](const Access &access) {
        return access.file == std::string(kernel) + ".cu" &&
               (loads_pixels(access, source) || copies(access, source));
    };
    const auto any = [&](const char *kind) {
        return std::any_of(finding.accesses.begin(), finding.accesses.end(),
                           [&](const Access &access) { return access.kind == kind; });
    };
    return finding.kernel.starts_with(std::string(kernel) + "<") &&
           finding.text.starts_with("Error: Race reported between ") && any("Read") && any("Write") &&
           std::all_of(finding.accesses.begin(), finding.accesses.end(), in_kernel);
}

std::int64_t pixels_alarm_hazards(const Partition &launch) {
    if (launch.kernel != kernel)
        return 0;
    // In the order of the kernel's template parameters.
    const auto argument = [&](std::size_t index) { return launch.template_arguments.at(index); };
    const std::int64_t values = argument(1) * argument(6) * argument(7), tile_pixels = argument(15),
                       depth = argument(16), stages = argument(17), split = argument(18);
    constexpr std::int64_t row_values = 8, lanes_of_warp = 32;
    const std::int64_t rows = (values + row_values - 1) / row_values, steps = (rows + depth - 1) / depth;
    std::int64_t filled_again = 0; // buffers, by the CTAs that share one tile
    for (std::int64_t part = 0; part < split; ++part)
        filled_again += std::max<std::int64_t>(0, steps * (part + 1) / split - steps * part / split - stages);
    const std::int64_t tiles =
        std::accumulate(launch.grid.begin(), launch.grid.end(), std::int64_t{1}, std::multiplies<>()) / split;
    const std::int64_t bytes = depth * row_values * tile_pixels * std::int64_t{sizeof(float)};
    return tiles * filled_again * (bytes / lanes_of_warp * (lanes_of_warp - 1));
}

} // namespace convcast
