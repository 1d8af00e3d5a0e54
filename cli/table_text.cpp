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

/// Where the columns of a table stand in a window.
struct TableLayout {
    std::vector<std::size_t> widths;             ///< 0: not shown
    std::vector<std::vector<std::size_t>> lines; ///< columns of a row's line, and of those below it
    std::vector<std::string> hidden;             ///< titles of columns that are left out
};

constexpr std::size_t indent_below = 2; ///< of the lines below a row's first

class LayoutMaker {
  public:
    LayoutMaker(const std::vector<Column> &columns, const std::vector<std::vector<std::string>> &rows,
                std::size_t width)
        : columns_(columns), width_(width), layout_{std::vector<std::size_t>(columns.size()), {{}}, {}} {
        for (std::size_t c = 0; c < columns.size(); ++c) {
            whole_.push_back(shown_width(columns[c].title));
            least_.push_back(whole_.back());
            for (const auto &row : rows) {
                whole_[c] = std::max(whole_[c], shown_width(row.at(c)));
                least_[c] = std::max(least_[c], least_width(row[c], columns[c].fit));
            }
        }
    }

    TableLayout make() && {
        for (std::size_t c = 0; c < columns_.size(); ++c)
            if (must(c))
                layout_.lines.front().push_back(c);
        move_below(true);
        cut_texts();
        move_below(false);
        add_optional();
        for (std::size_t line = 0; line < layout_.lines.size(); ++line)
            widen(line);
        for (std::size_t c = 0; c < columns_.size(); ++c)
            if (layout_.widths[c] == 0 && !columns_[c].title.empty())
                layout_.hidden.push_back(columns_[c].title);
        return std::move(layout_);
    }

  private:
    /// The first column names the row, so it always stays.
    bool must(std::size_t c) const { return c == 0 || columns_[c].keep == Keep::must; }

    std::size_t used(const std::vector<std::size_t> &line, const std::vector<std::size_t> &widths) const {
        std::size_t sum = 0;
        for (const std::size_t c : line)
            sum += widths[c] + (sum == 0 ? 0 : gap);
        return sum;
    }

    bool is_too_wide() const { return used(layout_.lines.front(), least_) > width_; }

    /// Columns of texts, or of numbers, go to lines below, from the left, until the others fit.
    void move_below(bool texts) {
        std::vector<std::size_t> &first = layout_.lines.front();
        std::vector<std::size_t> below;
        for (std::size_t at = 1; at < first.size() && is_too_wide();)
            if ((columns_[first[at]].as == As::text) == texts) {
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
                first.insert(std::ranges::lower_bound(first, c), c);
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
    TableLayout layout_;
};

/// A line of a row, and more where its cells need them.
class LinePrinter {
  public:
    LinePrinter(const std::vector<Column> &columns, const TableLayout &layout)
        : columns_(columns), layout_(layout) {}

    template <class CellOf> std::string operator()(const CellOf &cell_of, bool is_title) {
        std::string text;
        for (std::size_t line = 0; line < layout_.lines.size(); ++line) {
            const std::vector<std::size_t> &columns = layout_.lines[line];
            const bool says_nothing = std::ranges::all_of(
                columns, [&](std::size_t c) { return cell_of(c).empty() || cell_of(c) == "-"; });
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
            text += (start == indent ? "" : std::string(gap, ' ')) +
                    (columns_[c].as != As::text && columns.size() > 1 ? padding + cell : cell + padding);
            start += room + gap;
        }
        return text.substr(0, text.find_last_not_of(' ') + 1) + "\n" + below;
    }

    const std::vector<Column> &columns_;
    const TableLayout &layout_;
    bool knobs_cut_ = false;
};

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

/// Its cells as a terminal has them, "-" for those that are empty.
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

} // namespace

std::string table(const Table &of, std::size_t width) {
    if (of.rows.empty())
        return "";
    std::vector<Column> columns = of.columns;
    for (Column &column : columns)
        if (column.as == As::time)
            column.title += " (" + time_unit(of).name + ")";
    const std::vector<std::vector<std::string>> rows = cell_texts(of);
    const TableLayout layout =
        LayoutMaker(columns, rows, width_is_known() ? width : std::string::npos).make();
    LinePrinter line(columns, layout);
    std::string text = bold(line([&](std::size_t c) { return columns[c].title; }, true));
    for (const auto &row : rows)
        text += line([&](std::size_t c) { return row[c]; }, false);
    std::vector<std::string> more = layout.hidden;
    if (line.knobs_cut())
        more.emplace_back("all knobs");
    if (!more.empty())
        text += wrapped("(a wider terminal also shows: " + join(more) + ")", 0, width);
    return text;
}

} // namespace convcast::cli
