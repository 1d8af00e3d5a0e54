#include "tests/gpu/race_report.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// "Error: Race reported between Read access at void k<(int)3>(int)+0x430 in k.cu:46"; without a kind if the
/// line names no access.
Access access_in(std::string_view text) {
    constexpr std::string_view access = " access at ", in = " in ";
    Access result;
    const std::size_t at = text.find(access);
    if (at == std::string_view::npos)
        return result;
    result.kind = text.substr(0, at).substr(text.substr(0, at).rfind(' ') + 1);
    result.function = kernel_in(text);
    const std::string place = place_in(text);
    const std::size_t file = place.find(in), colon = place.rfind(':');
    if (file == std::string::npos || colon == std::string::npos || colon < file)
        return result;
    result.file = place.substr(file + in.size(), colon - file - in.size());
    result.file.erase(0, result.file.rfind('/') + 1);
    std::from_chars(place.data() + colon + 1, place.data() + place.size(), result.line);
    return result;
}

/// The kernel has its file's name; functions that it calls have others.
std::string kernel_of(const Finding &finding) {
    for (const Access &access : finding.accesses)
        if (access.function.substr(0, access.function.find('<')) + ".cu" == access.file)
            return access.function;
    return finding.kernel;
}

bool begins_finding(std::string_view line) {
    for (const std::string_view start :
         {"Error: ", "Warning: ", "ERROR: ", "WARNING: ", "Potential ", "Barrier error", "Deadlock",
          "Warpgroup MMA", "Invalid ", "Internal Sanitizer Error", "Program hit"})
        if (line.starts_with(start))
            return true;
    return false;
}

void add_access(Finding &finding, std::string_view line) {
    if (Access access = access_in(line); !access.kind.empty())
        finding.accesses.push_back(std::move(access));
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
            findings.push_back(
                {kernel_in(line), std::string(first_words(line)) + " " + place_in(line), 0, {}});
            add_access(findings.back(), line);
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
            add_access(last, line);
        }
    }
    std::map<std::pair<std::string, std::string>, Finding> sums;
    for (Finding &finding : findings) {
        finding.kernel = kernel_of(finding);
        finding.hazards = std::max<std::int64_t>(1, finding.hazards);
        const auto [sum, first] = sums.try_emplace({finding.kernel, finding.text}, finding);
        if (!first)
            sum->second.hazards += finding.hazards;
    }
    for (auto &[which, finding] : sums)
        result.findings.push_back(std::move(finding));
    return result;
}

} // namespace convcast
