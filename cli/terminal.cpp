#include "cli/terminal.hpp"

#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace convcast::cli {
namespace {

/// Three significant digits, no exponent.
std::string three_digits(double value) {
    const int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    return fmt::format("{:.{}f}", value, digits);
}

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
    bool escape = false;
    for (const char c : text) {
        if (c == '\x1b')
            escape = true;
        else if (escape)
            escape = c != 'm';
        else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80)
            ++width;
    }
    return width;
}

namespace {

/// Whether somebody looks through a window of this width; a pipe that nobody gave a width gets whole lines.
bool width_is_known() {
    const char *columns = std::getenv("COLUMNS");
    return isatty(STDOUT_FILENO) != 0 || (columns != nullptr && std::atoi(columns) > 0);
}

/// A text in pieces of at most `width` columns, cut behind blanks and commas.
std::vector<std::string> cut(const std::string &text, std::size_t width) {
    std::vector<std::string> parts(1);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find_first_of(" ,", at), text.size() - 1) + 1;
        const std::string word = text.substr(at, end - at);
        if (!parts.back().empty() && shown_width(parts.back()) + shown_width(word) > width)
            parts.emplace_back();
        parts.back() += word;
        at = end;
    }
    for (std::string &part : parts)
        part.erase(part.find_last_not_of(' ') + 1);
    return parts;
}

} // namespace

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
            const std::vector<std::string> parts = cut(word, width - std::min(width, indent));
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
    if (room > indent || rest.empty())
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
    constexpr std::size_t least_text = 24, below_a_name = 8;
    std::string out, paragraph;
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
        else
            out += headed(line.substr(0, gap), line.substr(text),
                          text + least_text <= width ? text : below_a_name, width);
    }
    flush();
    return out;
}

std::string short_time(Seconds time) {
    const double us = time.value * 1e6;
    if (us < 999.5)
        return three_digits(us) + " us";
    return us < 999.5e3 ? three_digits(us / 1e3) + " ms" : three_digits(us / 1e6) + " s";
}

TimeUnit time_unit(Seconds shortest) {
    return shortest.value < 1e-3  ? TimeUnit{1e-6, "us"}
           : shortest.value < 1.0 ? TimeUnit{1e-3, "ms"}
                                  : TimeUnit{1.0, "s"};
}

std::string number_in(const TimeUnit &unit, Seconds time) {
    const double value = time.value / unit.seconds;
    return value < 99.95 ? three_digits(value) : grouped(std::llround(value));
}

std::string short_bytes(double bytes) {
    constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    while (bytes >= 999.5 && unit < 4) {
        bytes /= 1024.0;
        ++unit;
    }
    return unit == 0 ? fmt::format("{:.0f} B", bytes) : three_digits(bytes) + " " + units[unit];
}

std::string grouped(long long number) {
    std::string digits = std::to_string(std::llabs(number));
    for (std::size_t at = digits.size(); at > 3; at -= 3)
        digits.insert(at - 3, ",");
    return number < 0 ? "-" + digits : digits;
}

std::string table(const std::vector<Column> &columns, const std::vector<std::vector<std::string>> &rows,
                  std::size_t width) {
    std::vector<std::size_t> widths;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        widths.push_back(shown_width(columns[c].title));
        for (const auto &row : rows)
            widths[c] = std::max(widths[c], shown_width(row.at(c)));
    }
    // A last column of numbers needs its own width; text, a strategy's, may be cut and has half of the
    // window.
    const std::size_t of_numbers = columns.back().align == Align::right ? widths.back() + 2 : 0;
    const std::size_t before_last =
        of_numbers == 0
            ? std::max<std::size_t>(width - std::min(width, std::min(widths.back(), width / 2) + 2), 24)
            : width - std::min(width, of_numbers);
    std::vector<std::size_t> shown;
    std::string hidden;
    std::size_t used = 0;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        const bool last = c + 1 == columns.size();
        if (last || shown.empty() || used + widths[c] <= before_last) {
            shown.push_back(c);
            used += widths[c] + 2;
        } else {
            hidden += (hidden.empty() ? "" : ", ") + columns[c].title;
        }
    }
    // Text of the last column that is wider than what is left of a known window goes on below.
    const std::size_t start = used - widths.back() - 2;
    const bool wraps = width_is_known() && columns.back().align == Align::left;
    const auto line = [&](const auto &cell_of) {
        std::string text, below;
        for (const std::size_t c : shown) {
            std::string cell = cell_of(c);
            if (wraps && c + 1 == columns.size() && start + 20 < width) {
                std::vector<std::string> parts = cut(cell, width - start);
                cell = parts.front();
                for (std::size_t i = 1; i < parts.size(); ++i)
                    below += std::string(start, ' ') + parts[i] + "\n";
            }
            const std::string padding(widths[c] - shown_width(cell), ' ');
            text += (text.empty() ? "" : "  ") +
                    (columns[c].align == Align::right ? padding + cell : cell + padding);
        }
        return text.substr(0, text.find_last_not_of(' ') + 1) + "\n" + below;
    };
    std::string text = bold(line([&](std::size_t c) { return columns[c].title; }));
    for (const auto &row : rows)
        text += line([&](std::size_t c) { return row[c]; });
    if (!hidden.empty())
        text += wrapped("(a wider terminal also shows: " + hidden + ")", 0, width);
    return text;
}

std::string bold(const std::string &text) {
    if (!use_colour())
        return text;
    const bool newline = text.ends_with('\n');
    return "\x1b[1m" + text.substr(0, text.size() - (newline ? 1 : 0)) + "\x1b[0m" + (newline ? "\n" : "");
}

} // namespace convcast::cli
