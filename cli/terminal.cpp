#include "cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace convcast::cli {
namespace {

/// Whether bold() writes escape sequences: https://no-color.org and https://bixense.com/clicolors.
bool use_colour() {
    const char *no_colour = std::getenv("NO_COLOR");
    if (no_colour != nullptr && *no_colour != '\0')
        return false;
    const char *force = std::getenv("CLICOLOR_FORCE");
    if (force != nullptr && std::strcmp(force, "0") != 0)
        return true;
    const char *terminal = std::getenv("TERM");
    return isatty(STDOUT_FILENO) != 0 && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

} // namespace

std::size_t shown_width(const std::string &text) {
    std::size_t width = 0;
    bool escape = false; // inside a sequence such as "\x1b[1m", which ends with m
    for (const char c : text) {
        if (c == '\x1b')
            escape = true;
        else if (escape)
            escape = c != 'm';
        else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) // 10xxxxxx continues a character of UTF-8
            ++width;
    }
    return width;
}

bool width_is_known() {
    const char *columns = std::getenv("COLUMNS");
    return isatty(STDOUT_FILENO) != 0 || (columns != nullptr && std::atoi(columns) > 0);
}

std::vector<std::string> pieces(const std::string &text, std::size_t width) {
    std::vector<std::string> parts(1);
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = std::min(text.find_first_of(" ,:", at), text.size() - 1) + 1;
        if (text.size() == end + 1 && (text[end] == '*' || text[end] == '!'))
            end = text.size(); // a mark at the end stays with its word
        std::string word = text.substr(at, end - at);
        if (!parts.back().empty() &&
            shown_width(parts.back()) + shown_width(word) > width + word.ends_with(' '))
            parts.emplace_back();
        parts.back() += word;
        at = end;
    }
    for (std::string &part : parts)
        part.erase(part.find_last_not_of(' ') + 1);
    return parts;
}

std::string wrapped(const std::string &text, std::size_t indent, std::size_t width) {
    const std::string margin(indent, ' ');
    std::string out, line;
    const auto flush = [&] {
        out += margin + line + "\n";
        line.clear();
    };
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
        const std::string word = text.substr(at, end - at);
        if (!line.empty() && indent + shown_width(line) + 1 + shown_width(word) > width)
            flush();
        if (line.empty() && indent + shown_width(word) > width && width_is_known()) {
            const std::vector<std::string> parts = pieces(word, width - std::min(width, indent));
            for (std::size_t i = 0; i + 1 < parts.size(); ++i)
                out += margin + parts[i] + "\n";
            line = parts.back();
        } else if (!word.empty()) {
            line += (line.empty() ? "" : " ") + word;
        }
        if (end < text.size() && text[end] == '\n')
            flush();
        at = end + 1;
    }
    if (!line.empty())
        flush();
    return out;
}

std::string headed(const std::string &lead, const std::string &text, std::size_t indent, std::size_t width) {
    const std::string rest = wrapped(text, indent, width);
    const std::size_t room = shown_width(lead);
    const bool touches = room > 0 && room == indent && !lead.ends_with(' ');
    if (room > indent || touches || rest.empty())
        return lead + "\n" + rest;
    return lead + rest.substr(room);
}

std::size_t terminal_width() {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    if (const char *columns = std::getenv("COLUMNS"); columns != nullptr && std::atoi(columns) > 0)
        return static_cast<std::size_t>(std::atoi(columns));
    return 100;
}

std::size_t page_width() {
    return std::max<std::size_t>(40, terminal_width());
}

std::string fitted(const std::string &page, std::size_t width) {
    std::vector<std::string> lines;
    std::size_t widest = 0;
    for (std::size_t at = 0; at < page.size();) {
        const std::size_t end = std::min(page.find('\n', at), page.size());
        lines.push_back(page.substr(at, end - at));
        widest = std::max(widest, shown_width(lines.back()));
        at = end + 1;
    }
    if (widest <= width)
        return page;
    constexpr std::size_t least_text = 24; // columns that a text beside a name has at least: chosen
    constexpr std::size_t below_a_name =
        8;                      // indent of a text below a name; texts are indented by more in a page
    std::string out, paragraph; // the text that is being collected, without its line ends
    const auto flush = [&] {
        out += wrapped(paragraph, 0, width);
        paragraph.clear();
    };
    for (const std::string &line : lines) {
        const std::size_t margin = std::min(line.find_first_not_of(' '), line.size());
        if (line.empty() || (margin > 0 && paragraph.empty())) {
            flush();
        } else if (margin == 0 || margin > below_a_name) {
            paragraph += (paragraph.empty() ? "" : " ") + line.substr(margin);
            continue;
        } else {
            flush();
        }
        if (line.empty()) {
            out += "\n";
            continue;
        }
        const std::size_t gap = line.find("  ", margin), text = line.find_first_not_of(' ', gap);
        if (gap == std::string::npos || text == std::string::npos)
            out += wrapped(line.substr(margin), margin, width);
        else if (shown_width(line.substr(0, gap)) > width) // a command that is wider than the window
            out += wrapped(line.substr(margin, gap - margin), margin, width) +
                   wrapped(line.substr(text), below_a_name, width);
        else
            out += headed(line.substr(0, gap), line.substr(text),
                          text + least_text <= width ? text : below_a_name, width);
    }
    flush();
    return out;
}

void add_once(std::vector<std::string> &names, const std::string &name) {
    if (std::ranges::find(names, name) == names.end())
        names.push_back(name);
}

void add_name_for_reason(ByReason &reasons, const std::string &reason, const std::string &name) {
    auto same = std::ranges::find_if(reasons, [&](const auto &entry) { return entry.first == reason; });
    if (same == reasons.end())
        same = reasons.insert(reasons.end(), {reason, {}});
    add_once(same->second, name);
}

std::string bold(const std::string &text) {
    if (!use_colour())
        return text;
    const bool newline = text.ends_with('\n');
    return "\x1b[1m" + text.substr(0, text.size() - (newline ? 1 : 0)) + "\x1b[0m" + (newline ? "\n" : "");
}

} // namespace convcast::cli
