#include "model/base/text.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

std::string lower(std::string_view text) {
    std::string out(text);
    for (char &c : out)
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    return out;
}

std::vector<std::string> split(std::string_view text, std::string_view separator) {
    std::vector<std::string> parts;
    for (std::size_t end; (end = text.find(separator)) != std::string_view::npos;
         text.remove_prefix(end + separator.size()))
        parts.emplace_back(text.substr(0, end));
    parts.emplace_back(text);
    return parts;
}

std::vector<std::string> split(std::string_view text, char separator) {
    return split(text, std::string_view(&separator, 1));
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::string_view trimmed(std::string_view text) {
    constexpr const char *blanks = " \t\r\n";
    const std::size_t first = text.find_first_not_of(blanks);
    return first == std::string_view::npos ? std::string_view()
                                           : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string> split_outside(std::string_view text, char separator, bool also_inside) {
    std::vector<std::string> parts(1);
    bool code = false;
    int depth = 0;
    for (const char letter : text) {
        code = letter == '`' ? !code : code;
        depth += letter == '(' ? 1 : letter == ')' && depth > 0 ? -1 : 0;
        if (letter == separator && !code && (depth == 0 || also_inside))
            parts.emplace_back();
        else
            parts.back() += letter;
    }
    for (std::string &part : parts)
        part = std::string(trimmed(part));
    return parts;
}

} // namespace convcast
