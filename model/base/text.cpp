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

std::size_t character_bytes(std::string_view text) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned lead = byte(0);
    const std::size_t bytes = lead < 0x80                   ? 1
                              : lead >= 0xC2 && lead < 0xE0 ? 2
                              : lead >= 0xE0 && lead < 0xF0 ? 3
                              : lead >= 0xF0 && lead < 0xF5 ? 4
                                                            : 0;
    if (bytes > text.size())
        return 0;
    for (std::size_t i = 1; i < bytes; ++i)
        if ((byte(i) & 0xC0) != 0x80)
            return 0;
    const bool beyond = bytes > 2 && ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F) ||
                                      (lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F));
    return beyond ? 0 : bytes; // overlong, surrogates, beyond Unicode
}

bool is_utf8(std::string_view text) {
    while (!text.empty() && character_bytes(text) > 0)
        text.remove_prefix(character_bytes(text));
    return text.empty();
}

} // namespace convcast
