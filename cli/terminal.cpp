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

/// A text in pieces of at most `width` columns, cut behind blanks, commas and the colon of a strategy.
std::vector<std::string> cut(const std::string &text, std::size_t width) {
    std::vector<std::string> parts(1);
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = std::min(text.find_first_of(" ,:", at), text.size() - 1) + 1;
        if (text.size() == end + 1 && (text[end] == '*' || text[end] == '!'))
            end = text.size(); // a mark stays behind what it is of
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

std::string short_time(Seconds time) {
    const double us = time.value / 1e-6, ms = time.value / 1e-3; // as number_in has them
    if (us < 999.5)
        return three_digits(us) + " us";
    return ms < 999.5 ? three_digits(ms) + " ms" : three_digits(time.value) + " s";
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

namespace {

const std::string ellipsis = "\u2026";
constexpr std::size_t gap = 2, least_of_text = 16;

/// Behind a strategy on tensor cores; it stays when knobs are cut.
const std::string mark = " *";
bool is_marked(const std::string &text) {
    return text.ends_with(mark);
}

/// The first `width` columns of a text.
std::string first_columns(const std::string &text, std::size_t width) {
    std::size_t end = 0;
    for (std::size_t shown = 0; end < text.size(); ++end)
        if ((static_cast<unsigned char>(text[end]) & 0xC0) != 0x80 && shown++ == width)
            break;
    return text.substr(0, end);
}

/// Where the knobs of a strategy begin; npos: it has none, as elsewhere:mine.
std::size_t knobs_at(const std::string &text) {
    const std::size_t colon = text.find(':');
    return colon != std::string::npos && text.find('=', colon) != std::string::npos ? colon
                                                                                    : std::string::npos;
}

/// A strategy's name with as many whole knobs as fit, at least the name.
std::string with_fewer_knobs(const std::string &text, std::size_t width) {
    if (shown_width(text) <= width)
        return text;
    if (is_marked(text) && width > mark.size())
        return with_fewer_knobs(text.substr(0, text.size() - mark.size()), width - mark.size()) + mark;
    const std::size_t colon = std::min(knobs_at(text), text.size());
    const std::size_t comma = width < 2 ? std::string::npos : text.rfind(',', width - 2);
    return comma == std::string::npos || comma < colon ? text.substr(0, colon)
                                                       : text.substr(0, comma + 1) + ellipsis;
}

std::string abridged(const std::string &text, std::size_t width, Fit fit) {
    if (shown_width(text) <= width)
        return text;
    return fit == Fit::knobs ? with_fewer_knobs(text, width) : first_columns(text, width - 1) + ellipsis;
}

/// The least that a cell needs of a column that gives way.
std::size_t least_width(const std::string &cell, Fit fit) {
    const std::size_t whole = shown_width(cell), colon = knobs_at(cell);
    if (fit == Fit::whole || (fit == Fit::knobs && colon == std::string::npos))
        return whole;
    return fit == Fit::knobs ? colon + (is_marked(cell) ? mark.size() : 0) : std::min(whole, least_of_text);
}

/// A text in pieces of at most `width` columns: cut where words end, else inside a word where its parts do.
std::vector<std::string> cell_pieces(const std::string &text, std::size_t width) {
    std::vector<std::string> out;
    for (std::string part : cut(text, width)) {
        while (shown_width(part) > width) {
            const std::string head = first_columns(part, width);
            const std::size_t end = head.find_last_of("/_.+-");
            const std::size_t taken = end == std::string::npos || end == 0 ? head.size() : end + 1;
            out.push_back(part.substr(0, taken));
            part.erase(0, taken);
        }
        out.push_back(part);
    }
    return out;
}

/// Where the columns of a table stand in a window.
struct Layout {
    std::vector<std::size_t> widths;             ///< 0: not shown
    std::vector<std::vector<std::size_t>> lines; ///< columns of a row's line, and of those below it
    std::string hidden;                          ///< titles of columns that are left out
};

constexpr std::size_t indent_below = 2; ///< of the lines below a row's first

class LayoutMaker {
  public:
    LayoutMaker(const std::vector<Column> &columns, const std::vector<std::vector<std::string>> &rows,
                std::size_t width)
        : columns_(columns), width_(width), layout_{std::vector<std::size_t>(columns.size()), {{}}, ""} {
        for (std::size_t c = 0; c < columns.size(); ++c) {
            whole_.push_back(shown_width(columns[c].title));
            least_.push_back(whole_.back());
            for (const auto &row : rows) {
                whole_[c] = std::max(whole_[c], shown_width(row.at(c)));
                least_[c] = std::max(least_[c], least_width(row[c], columns[c].fit));
            }
        }
    }

    Layout make() && {
        for (std::size_t c = 0; c < columns_.size(); ++c)
            if (must(c))
                layout_.lines.front().push_back(c);
        move_below(Align::left);
        cut_texts();
        move_below(Align::right);
        add_optional();
        for (std::size_t line = 0; line < layout_.lines.size(); ++line)
            widen(line);
        for (std::size_t c = 0; c < columns_.size(); ++c)
            if (layout_.widths[c] == 0 && !columns_[c].title.empty())
                layout_.hidden += (layout_.hidden.empty() ? "" : ", ") + columns_[c].title;
        return std::move(layout_);
    }

  private:
    /// The first says what a row is of.
    bool must(std::size_t c) const { return c == 0 || columns_[c].keep == Keep::must; }

    std::size_t used(const std::vector<std::size_t> &line, const std::vector<std::size_t> &widths) const {
        std::size_t sum = 0;
        for (const std::size_t c : line)
            sum += widths[c] + (sum == 0 ? 0 : gap);
        return sum;
    }

    bool is_too_wide() const { return used(layout_.lines.front(), least_) > width_; }

    /// Columns of this side go to lines below, from the left, until the others fit.
    void move_below(Align side) {
        std::vector<std::size_t> &first = layout_.lines.front();
        std::vector<std::size_t> below;
        for (std::size_t at = 1; at < first.size() && is_too_wide();)
            if (columns_[first[at]].align == side) {
                below.push_back(first[at]);
                first.erase(first.begin() + static_cast<std::ptrdiff_t>(at));
            } else {
                ++at;
            }
        for (const std::size_t c : below) {
            std::vector<std::size_t> together = layout_.lines.back();
            together.push_back(c);
            if (layout_.lines.size() > 1 && used(together, whole_) + indent_below <= width_)
                layout_.lines.back() = together;
            else
                layout_.lines.push_back({c});
        }
    }

    /// Texts that may lose their end lose more of it.
    void cut_texts() {
        constexpr std::size_t least_in_need = 6;
        for (const std::size_t c : layout_.lines.front())
            if (is_too_wide() && columns_[c].fit == Fit::cut && least_[c] > least_in_need)
                least_[c] -=
                    std::min(used(layout_.lines.front(), least_) - width_, least_[c] - least_in_need);
    }

    void add_optional() {
        std::vector<std::size_t> &first = layout_.lines.front();
        for (const Keep keep : {Keep::high, Keep::normal, Keep::low})
            for (std::size_t c = 0; c < columns_.size(); ++c) {
                if (must(c) || columns_[c].keep != keep || used(first, least_) + gap + least_[c] > width_)
                    continue;
                first.insert(std::lower_bound(first.begin(), first.end(), c), c);
            }
    }

    /// Gives the columns of a line the room that is left.
    void widen(std::size_t line) {
        const std::vector<std::size_t> &columns = layout_.lines[line];
        const std::size_t room = width_ - std::min(width_, line == 0 ? 0 : indent_below);
        for (const std::size_t c : columns)
            layout_.widths[c] = columns.size() == 1 ? std::min(least_[c], room) : least_[c];
        for (const std::size_t c : columns)
            if (const std::size_t taken = used(columns, layout_.widths); taken < room)
                layout_.widths[c] += std::min(whole_[c] - layout_.widths[c], room - taken);
    }

    const std::vector<Column> &columns_;
    std::size_t width_;
    std::vector<std::size_t> whole_, least_;
    Layout layout_;
};

/// A line of a row, and more where its cells need them.
class LinePrinter {
  public:
    LinePrinter(const std::vector<Column> &columns, const Layout &layout)
        : columns_(columns), layout_(layout) {}

    template <class CellOf> std::string operator()(const CellOf &cell_of, bool is_title) {
        std::string text;
        for (std::size_t line = 0; line < layout_.lines.size(); ++line) {
            const std::vector<std::size_t> &columns = layout_.lines[line];
            const bool says_nothing = std::all_of(columns.begin(), columns.end(), [&](std::size_t c) {
                return cell_of(c).empty() || cell_of(c) == "-";
            });
            if (line == 0 || !says_nothing)
                text += one(columns, line == 0 ? 0 : indent_below, cell_of, is_title);
        }
        return text;
    }

    bool knobs_cut() const { return knobs_cut_; }

  private:
    template <class CellOf>
    std::string one(const std::vector<std::size_t> &columns, std::size_t indent, const CellOf &cell_of,
                    bool is_title) {
        std::string text(indent, ' '), below;
        std::size_t start = indent;
        for (const std::size_t c : columns) {
            const std::size_t room = layout_.widths[c];
            std::string cell = cell_of(c);
            const bool alone = columns.size() == 1 && columns_[c].fit == Fit::whole;
            if (shown_width(cell) > room && is_title) {
                cell = first_columns(cell, room);
            } else if (shown_width(cell) > room && (columns_[c].fit == Fit::wrap || alone)) {
                const std::vector<std::string> parts = cell_pieces(cell, room);
                cell = parts.front();
                for (std::size_t i = 1; i < parts.size(); ++i)
                    below += std::string(start, ' ') + parts[i] + "\n";
            } else if (shown_width(cell) > room) {
                knobs_cut_ = knobs_cut_ || columns_[c].fit == Fit::knobs;
                cell = abridged(cell, room, columns_[c].fit);
            }
            const std::string padding(room - std::min(room, shown_width(cell)), ' ');
            text +=
                (start == indent ? "" : std::string(gap, ' ')) +
                (columns_[c].align == Align::right && columns.size() > 1 ? padding + cell : cell + padding);
            start += room + gap;
        }
        return text.substr(0, text.find_last_not_of(' ') + 1) + "\n" + below;
    }

    const std::vector<Column> &columns_;
    const Layout &layout_;
    bool knobs_cut_ = false;
};

} // namespace

std::string table(const std::vector<Column> &columns, const std::vector<std::vector<std::string>> &rows,
                  std::size_t width) {
    const Layout layout = LayoutMaker(columns, rows, width_is_known() ? width : std::string::npos).make();
    LinePrinter line(columns, layout);
    std::string text = bold(line([&](std::size_t c) { return columns[c].title; }, true));
    for (const auto &row : rows)
        text += line([&](std::size_t c) { return row[c]; }, false);
    const std::string more = layout.hidden + (line.knobs_cut() ? (layout.hidden.empty() ? "" : ", ") : "") +
                             (line.knobs_cut() ? std::string("all knobs") : "");
    if (!more.empty())
        text += wrapped("(a wider terminal also shows: " + more + ")", 0, width);
    return text;
}

std::string bold(const std::string &text) {
    if (!use_colour())
        return text;
    const bool newline = text.ends_with('\n');
    return "\x1b[1m" + text.substr(0, text.size() - (newline ? 1 : 0)) + "\x1b[0m" + (newline ? "\n" : "");
}

} // namespace convcast::cli
