// A table as data. Whoever answers says once what the columns are and how a row fills them; each way to print
// it has one writer: to_csv and to_markdown here, cli/terminal.hpp for a terminal, reports/html.hpp for a
// page.
//
//     const Table table = table_of<RankingAccuracy>(
//         accuracy.rankings, {{{"ranking by"}, &RankingAccuracy::model},
//                             {{"shapes", As::number}, &RankingAccuracy::shapes},
//                             {{"mean regret", As::share, Keep::must}, &RankingAccuracy::mean_regret},
//                             {{"time", As::time}, [](const RankingAccuracy &) { return Seconds(1e-6); }}});
//
// A cell holds a bare value (seconds, a share of 1); its column says how people read it. What is absent is an
// empty cell. A mark stands behind a text and never in its value; `under`, `link` and `look` are of pages
// alone.
#pragma once

#include "model/base/readable.hpp"
#include "model/base/units.hpp"

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {

/// What the cells of a column hold, and so how each writer prints them and to which side they lie.
enum class As {
    text,   ///< to the left; all others to the right
    number, ///< a count as it is, another number with four digits
    ratio,  ///< "0.987"
    factor, ///< "1.39x"
    share,  ///< of 1, "98.7 %"
    time,   ///< seconds: one unit for the column, on pages µs
};
/// How long a column stays when a window is too narrow for all: `low` goes first, `must` never.
enum class Keep { low, normal, high, must };
/// What a cell may lose: nothing; `knobs`: a strategy its knobs, but not its name; `cut`: a text its end;
/// `wrap`: nothing, but it goes on in lines below. An ellipsis stands for what is lost; a page shows knobs
/// where the pointer rests on the name.
enum class Fit { whole, knobs, cut, wrap };

struct Column {
    std::string title;
    As as = As::text;
    Keep keep = Keep::normal;
    Fit fit = Fit::whole;
    std::string full{}; ///< the title where there is room, on pages; "": `title`
    std::string unit{}; ///< of numbers: "FLOP/s"
};

/// Two ends of an interval.
struct Between {
    double low = 0.0, high = 0.0;
};

struct Cell {
    std::variant<std::monostate, std::string, std::int64_t, double, Between> value;
    std::string mark{};  ///< behind the text: "*"
    std::string under{}; ///< in small print below it
    std::string link{};  ///< where it leads to: "#case=7"
    std::string look{};  ///< a class of page.css

    Cell() = default;
    Cell(std::string text) : value(std::move(text)) {}
    Cell(const char *text) : value(std::string(text)) {}
    Cell(std::integral auto number) : value(static_cast<std::int64_t>(number)) {}
    Cell(double number) : value(number) {}
    Cell(Seconds time) : value(time.value) {}
    Cell(Between ends) : value(ends) {}
    template <class T> Cell(const std::optional<T> &held) {
        if (held)
            *this = Cell(*held);
    }
    bool is_empty() const { // also a text of nothing
        const auto *text = std::get_if<std::string>(&value);
        return text != nullptr ? text->empty() : std::holds_alternative<std::monostate>(value);
    }
};

/// A cell's value in words: `text` and `number` write a std::string and a double; `absent` stands for none.
std::string cell_text(const Cell &cell, const char *absent, const auto &text, const auto &number) {
    if (const auto *its = std::get_if<std::string>(&cell.value))
        return text(*its);
    if (const auto *its = std::get_if<std::int64_t>(&cell.value))
        return std::to_string(*its);
    if (const auto *its = std::get_if<double>(&cell.value))
        return number(*its);
    if (const auto *its = std::get_if<Between>(&cell.value))
        return number(its->low) + " to " + number(its->high);
    return absent;
}

struct Table {
    std::vector<Column> columns;
    std::vector<std::vector<Cell>> rows{};
    std::optional<Seconds>
        unit_of{}; ///< the time that the unit of all times fits; absent: the shortest of them
};

/// A column and its cell of a row: a pointer to a member, or a function.
template <class Row> struct Field {
    Column column;
    std::function<Cell(const Row &)> of;
};

template <class Row> Table table_of(const auto &rows, const std::vector<Field<Row>> &fields) {
    Table table;
    for (const Field<Row> &field : fields)
        table.columns.push_back(field.column);
    for (const auto &row : rows) {
        std::vector<Cell> &cells = table.rows.emplace_back();
        for (const Field<Row> &field : fields)
            cells.push_back(field.of(row));
    }
    return table;
}

/// The table without columns that are empty in every row; only those with these titles, if any are given.
Table without_empty_columns(Table table, const std::vector<std::string> &titles = {});

/// The unit of the table's times.
TimeUnit time_unit(const Table &table);

/// A line of RFC 4180 with its end. Numbers in their shortest exact form; a line break within a text becomes
/// a space.
std::string csv_line(const std::vector<Cell> &cells);

/// RFC 4180 but for line ends, which are \n: a header with units in the names, "time_s", and each row.
std::string to_csv(const Table &table);

/// to_csv of a table that is never held as a whole, because it has many rows.
template <class Row> std::string csv_of(const auto &rows, const std::vector<Field<Row>> &fields) {
    std::string out = to_csv(table_of<Row>(std::vector<Row>(), fields));
    std::vector<Cell> cells;
    for (const auto &row : rows) {
        cells.clear();
        for (const Field<Row> &field : fields)
            cells.push_back(field.of(row));
        out += csv_line(cells);
    }
    return out;
}

/// A table as GitHub and others draw it, numbers with four digits, units in the head; columns that are empty
/// in every row are left out. "" of a table without rows.
std::string to_markdown(const Table &table);

/// A text in a cell of such a table: no character that ends a cell or a line.
std::string markdown_text(const std::string &text);

} // namespace convcast
