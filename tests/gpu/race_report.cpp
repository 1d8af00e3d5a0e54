#include "tests/gpu/race_report.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

namespace convcast {
namespace {

constexpr std::string_view prefix = "========= ";

std::string without_casts(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        for (const std::string_view cast : {"(int)", "(bool)"})
            if (text.substr(i).starts_with(cast))
                i += cast.size();
        out += text[i];
    }
    return out;
}

/// "+0x430 in ring.cu:46": what follows the kernel's name.
std::string place_in(std::string_view text) {
    const std::size_t at = text.rfind("+0x");
    if (at == std::string_view::npos)
        return {};
    const std::string_view rest = text.substr(at);
    return std::string(rest.substr(0, rest.find(" [")));
}

std::int64_t hazards_in(std::string_view text) {
    const std::size_t end = text.find(" hazards]"), begin = text.rfind('[', end);
    if (end == std::string_view::npos || begin == std::string_view::npos)
        return 0;
    std::int64_t count = 0;
    std::from_chars(text.data() + begin + 1, text.data() + end, count);
    return count;
}

bool begins_finding(std::string_view line) {
    for (const std::string_view start :
         {"Error: ", "Warning: ", "ERROR: ", "WARNING: ", "Potential ", "Barrier error", "Deadlock",
          "Warpgroup MMA", "Invalid ", "Internal Sanitizer Error", "Program hit"})
        if (line.starts_with(start))
            return true;
    return false;
}

std::string_view first_words(std::string_view line) {
    return line.substr(0, std::min(line.find(" at "), line.size()));
}

} // namespace

std::string kernel_in(std::string_view text) {
    constexpr std::string_view at = "at ", type = "void ";
    const std::size_t offset = text.rfind("+0x");
    std::size_t begin = offset == std::string_view::npos ? offset : text.rfind(at, offset);
    for (; begin != std::string_view::npos && begin > 0 && text[begin - 1] != ' ';)
        begin = text.rfind(at, begin - 1); // the end of another word
    if (begin == std::string_view::npos)
        return {};
    std::string_view rest = text.substr(begin + at.size());
    if (rest.starts_with(type))
        rest.remove_prefix(type.size());
    std::size_t end = 0;
    for (int depth = 0; end < rest.size(); ++end) {
        const char c = rest[end];
        depth += c == '<' ? 1 : c == '>' ? -1 : 0;
        if (depth == 0 && (c == '(' || c == '+'))
            break;
    }
    return without_casts(rest.substr(0, end));
}

ToolLog read_tool_log(std::string_view log) {
    ToolLog result;
    std::vector<Finding> findings;
    bool open = false;
    for (std::size_t at = 0; at < log.size();) {
        const std::size_t end = std::min(log.find('\n', at), log.size());
        std::string_view line = log.substr(at, end - at);
        at = end + 1;
        if (const std::size_t mark = line.find(prefix); mark != std::string_view::npos)
            line = line.substr(mark + prefix.size());
        else {
            open = open && !line.empty();
            continue;
        }
        line = line.substr(std::min(line.find_first_not_of(' '), line.size()));
        if (line.starts_with("RACECHECK SUMMARY") || line.starts_with("ERROR SUMMARY")) {
            result.ended = true;
            open = false;
        } else if (begins_finding(line)) {
            findings.push_back({kernel_in(line), std::string(first_words(line)) + " " + place_in(line), 0});
            open = true;
        } else if (line.empty()) {
            open = false;
        } else if (open) {
            Finding &last = findings.back();
            if (last.kernel.empty() && line.find("+0x") != std::string_view::npos)
                last.kernel = kernel_in(line);
            if (const std::string place = place_in(line); !place.empty())
                last.text += ", " + std::string(first_words(line)) + " " + place;
            last.hazards += hazards_in(line);
        }
    }
    std::map<std::pair<std::string, std::string>, std::int64_t> sums;
    for (const Finding &finding : findings)
        sums[{finding.kernel, finding.text}] += std::max<std::int64_t>(1, finding.hazards);
    for (const auto &[which, hazards] : sums)
        result.findings.push_back({which.first, which.second, hazards});
    return result;
}

} // namespace convcast
