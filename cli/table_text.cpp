#include "cli/terminal.hpp"
#include "model/base/errors.hpp"
#include "reports/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

const std::string ellipsis = "\u2026";
constexpr std::size_t gap = 2;            ///< blanks between two columns
constexpr std::size_t least_of_text = 16; ///< columns that a text which is cut or wrapped keeps: chosen

/// The mark behind a strategy on tensor cores; it stays when knobs are cut.
const std::string mark = " *";
bool is_marked(const std::string &text) {
    return text.ends_with(mark);
}

/// The first `width` columns of a text. Bytes 10xxxxxx of UTF-8 continue a character and take no column.
std::string first_columns(const std::string &text, std::size_t width) {
    std::size_t end = 0;
    for (std::size_t shown = 0; end < text.size(); ++end)
        if ((static_cast<unsigned char>(text[end]) & 0xC0) != 0x80 && shown++ == width)
            break;
    return text.substr(0, end);
}

/// The place of the colon before a strategy's knobs; npos where it has none, as in elsewhere:mine.
std::size_t knobs_at(const std::string &text) {
    const std::size_t colon = text.find(':');
    return colon != std::string::npos && text.find('=', colon) != std::string::npos ? colon
                                                                                    : std::string::npos;
}

/// A strategy's name with as many whole knobs as fit into `width`, but at least the name, and with its mark.
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

/// A text in at most `width` columns: without its last knobs, or cut, with an ellipsis at the end.
std::string abridged(const std::string &text, std::size_t width, Fit fit) {
    if (shown_width(text) <= width)
        return text;
    return fit == Fit::knobs ? with_fewer_knobs(text, width) : first_columns(text, width - 1) + ellipsis;
}

/// The columns that a cell needs: all, those of a strategy without knobs, or least_of_text of a text.
std::size_t least_width(const std::string &cell, Fit fit) {
    const std::size_t whole = shown_width(cell), colon = knobs_at(cell);
    if (fit == Fit::whole || (fit == Fit::knobs && colon == std::string::npos))
        return whole;
    return fit == Fit::knobs ? colon + (is_marked(cell) ? mark.size() : 0) : std::min(whole, least_of_text);
}

/// A text in pieces of at most `width` columns, cut between words, else behind one of /_.+-, else anywhere.
std::vector<std::string> cell_pieces(const std::string &text, std::size_t width) {
    std::vector<std::string> out;
    for (std::string part : pieces(text, width)) {
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

/// A number as a terminal shows it; `times` is the unit that all times of the table have.
std::string number_text(double number, As as, const TimeUnit &times) {
    switch (as) {
    case As::ratio:
        return fmt::format("{:.3f}", number);
    case As::factor:
        return fmt::format("{:.2f}x", number);
    case As::share:
        return percent_text(number, 1);
    case As::time:
        return number_in(times, Seconds(number));
    default:
        return short_number(number);
    }
}

/// The cells of a table as texts with their marks, "-" for empty ones.
std::vector<std::vector<std::string>> cell_texts(const Table &of) {
    const TimeUnit times = time_unit(of);
    std::vector<std::vector<std::string>> rows;
    for (const std::vector<Cell> &row : of.rows) {
        std::vector<std::string> &texts = rows.emplace_back();
        for (std::size_t c = 0; c < row.size(); ++c)
            texts.push_back(
                cell_text(row[c], "-", std::identity(),
                          [&](double number) { return number_text(number, of.columns[c].as, times); }) +
                (row[c].mark.empty() ? "" : " " + row[c].mark));
    }
    return rows;
}

/// A table fitted into a window. A row's line has as many columns as fit; those that must be shown and do not
/// fit stand in lines below it, and others are hidden.
class TableText {
  public:
    /// `width` npos: everything fits.
    TableText(const Table &of, std::size_t width)
        : columns_(of.columns), rows_(cell_texts(of)), width_(width) {
        for (std::size_t c = 0; c < columns_.size(); ++c) {
            if (columns_[c].as == As::time)
                columns_[c].title += " (" + time_unit(of).name + ")";
            whole_.push_back(shown_width(columns_[c].title));
            least_.push_back(whole_.back());
            for (const auto &row : rows_) {
                whole_[c] = std::max(whole_[c], shown_width(row.at(c)));
                least_[c] = std::max(least_[c], least_width(row[c], columns_[c].fit));
            }
            if (must(c))
                first_line().push_back(c);
        }
        // In this order: what takes least from the reader comes first.
        move_below(Moved::texts);
        cut_texts();
        move_below(Moved::numbers);
        add_optional();
        for (std::size_t line = 0; line < lines_.size(); ++line)
            widen(line);
    }

    std::string text() {
        std::string text = bold(row_text([&](std::size_t c) { return columns_[c].title; }, true));
        for (const auto &row : rows_)
            text += row_text([&](std::size_t c) { return row[c]; }, false);
        return text;
    }

    /// The titles of what only a wider window shows; text() must have been called.
    std::vector<std::string> hidden() const {
        std::vector<std::string> titles;
        for (std::size_t c = 0; c < columns_.size(); ++c)
            if (widths_[c] == 0 && !columns_[c].title.empty())
                titles.push_back(columns_[c].title);
        if (knobs_cut_)
            titles.emplace_back("all knobs");
        return titles;
    }

  private:
    std::vector<std::size_t> &first_line() { return lines_.front(); }
    static std::size_t indent_of(std::size_t line) { return line == 0 ? 0 : 2; }

    /// The first column names the row, so it always stays.
    bool must(std::size_t c) const { return c == 0 || columns_[c].keep == Keep::must; }

    /// The columns of the window that a line takes if each column has its width in `widths`.
    std::size_t used(const std::vector<std::size_t> &line, const std::vector<std::size_t> &widths) const {
        std::size_t sum = 0;
        for (const std::size_t c : line)
            sum += widths[c] + (sum == 0 ? 0 : gap);
        return sum;
    }

    bool is_too_wide() { return used(first_line(), least_) > width_; }

    enum class Moved { texts, numbers };
    /// Moves columns of texts, or of numbers, to lines below until the others fit, from the second one on.
    void move_below(Moved moved) {
        std::vector<std::size_t> below;
        for (std::size_t at = 1; at < first_line().size() && is_too_wide();)
            if ((columns_[first_line()[at]].as == As::text) == (moved == Moved::texts)) {
                below.push_back(first_line()[at]);
                first_line().erase(first_line().begin() + static_cast<std::ptrdiff_t>(at));
            } else {
                ++at;
            }
        for (const std::size_t c : below) {
            std::vector<std::size_t> together = lines_.back();
            together.push_back(c);
            if (lines_.size() > 1 && used(together, whole_) + indent_of(1) <= width_)
                lines_.back() = together;
            else
                lines_.push_back({c});
        }
    }

    /// Where the first line is still too wide, texts that may lose their end lose more of it.
    void cut_texts() {
        constexpr std::size_t least_in_need = 6; // columns that they keep: five letters and the ellipsis
        for (const std::size_t c : first_line())
            if (is_too_wide() && columns_[c].fit == Fit::cut && least_[c] > least_in_need)
                least_[c] -= std::min(used(first_line(), least_) - width_, least_[c] - least_in_need);
    }

    /// Adds the columns that need not be shown and fit, the most wanted first, each in its place.
    void add_optional() {
        for (const Keep keep : {Keep::high, Keep::normal, Keep::low})
            for (std::size_t c = 0; c < columns_.size(); ++c)
                if (!must(c) && columns_[c].keep == keep &&
                    used(first_line(), least_) + gap + least_[c] <= width_)
                    first_line().insert(std::ranges::lower_bound(first_line(), c), c);
    }

    /// Gives each column of a line what it needs at least, and from the left more where there is room.
    void widen(std::size_t line) {
        widths_.resize(columns_.size());
        const std::size_t room = width_ - std::min(width_, indent_of(line));
        for (const std::size_t c : lines_[line])
            widths_[c] = lines_[line].size() == 1 ? std::min(least_[c], room) : least_[c];
        for (const std::size_t c : lines_[line])
            if (const std::size_t taken = used(lines_[line], widths_); taken < room)
                widths_[c] += std::min(whole_[c] - widths_[c], room - taken);
    }

    /// A line of a row, and more where its cells need them.
    template <class CellOf> std::string row_text(const CellOf &cell_of, bool is_title) {
        std::string text;
        for (std::size_t line = 0; line < lines_.size(); ++line) {
            const bool says_nothing = std::ranges::all_of(
                lines_[line], [&](std::size_t c) { return cell_of(c).empty() || cell_of(c) == "-"; });
            if (line == 0 || !says_nothing)
                text += line_text(lines_[line], indent_of(line), cell_of, is_title);
        }
        return text;
    }

    /// One line of a row; what does not fit into wrapped cells follows in lines below, at the same place.
    template <class CellOf>
    std::string line_text(const std::vector<std::size_t> &columns, std::size_t indent, const CellOf &cell_of,
                          bool is_title) {
        std::string text(indent, ' '), below;
        std::size_t start = indent; // of the column in the line
        for (const std::size_t c : columns) {
            const std::size_t room = widths_[c];
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
            text += (start == indent ? "" : std::string(gap, ' ')) +
                    (columns_[c].as != As::text && columns.size() > 1 ? padding + cell : cell + padding);
            start += room + gap;
        }
        return text.substr(0, text.find_last_not_of(' ') + 1) + "\n" + below;
    }

    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
    std::size_t width_;
    // The width that each column would take, that it needs at least, and that it gets (0: hidden).
    std::vector<std::size_t> whole_, least_, widths_;
    std::vector<std::vector<std::size_t>> lines_{
        {}};                 ///< the columns of a row's line, and of the lines below it
    bool knobs_cut_ = false; ///< text() left out knobs
};

} // namespace

std::string table(const Table &of, std::size_t width) {
    if (of.rows.empty())
        return "";
    TableText whole(of, width_is_known() ? width : std::string::npos);
    const std::string text = whole.text();
    const std::vector<std::string> hidden = whole.hidden();
    return text +
           (hidden.empty() ? "" : wrapped("(a wider terminal also shows: " + join(hidden) + ")", 0, width));
}

} // namespace convcast::cli
