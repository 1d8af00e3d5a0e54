#include "reports/table.hpp"

#include "model/base/errors.hpp"
#include "model/base/readable.hpp"
#include "model/base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <variant>
#include <vector>

namespace convcast {
namespace {

/// The shortest digits that give the same double; "" if it is not finite.
std::string shortest(double number) {
    char text[64];
    return std::isfinite(number) ? std::string(text, std::to_chars(text, text + sizeof text, number).ptr)
                                 : "";
}

/// The column's title with its unit: "time" in seconds is time_s, "rate" in FLOP/s is rate_flop_per_s.
std::string csv_name(const Column &column) {
    std::string unit;
    for (const char c : lower(column.as == As::time ? "s" : column.unit))
        unit += c == '/' ? std::string("_per_") : std::string(1, c);
    return column.title + (unit.empty() ? "" : "_" + unit);
}

std::string csv_text(const std::string &text) {
    std::string out;
    bool quoted = false;
    for (const char c : text) {
        quoted = quoted || c == ',' || c == '"';
        out += c == '"' ? "\"\"" : std::string(1, static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
    }
    return quoted ? '"' + out + '"' : out;
}

/// A number as a column of a Markdown table shows it, times in the unit `times`.
std::string markdown_number(double number, const Column &column, const TimeUnit &times) {
    return !std::isfinite(number)   ? ""
           : column.as == As::time  ? number_in(times, Seconds(number))
           : column.as == As::share ? short_number(100.0 * number)
                                    : short_number(number);
}

} // namespace

TimeUnit time_unit(const Table &table) {
    double least = 1e300; // s; longer than any time. Without times the unit is µs.
    for (const std::vector<Cell> &row : table.rows)
        for (std::size_t i = 0; i < row.size(); ++i)
            if (const auto *number = std::get_if<double>(&row[i].value);
                number && table.columns[i].as == As::time && *number > 0.0)
                least = std::min(least, *number);
    return time_unit(table.unit_of.value_or(Seconds(least < 1e300 ? least : 1e-6)));
}

std::string csv_line(const std::vector<Cell> &cells) {
    std::string out;
    for (const Cell &cell : cells)
        out += (&cell == cells.data() ? "" : ",") + cell_text(cell, "", csv_text, shortest);
    return out + "\n";
}

std::string to_csv(const Table &table) {
    std::string out;
    for (const Column &column : table.columns)
        out += (&column == table.columns.data() ? "" : ",") + csv_text(csv_name(column));
    out += "\n";
    for (const std::vector<Cell> &row : table.rows)
        out += csv_line(row);
    return out;
}

std::string markdown_text(const std::string &text) {
    std::string out;
    for (const char c : text)
        out += c == '|' ? std::string("\\|") : std::string(1, c == '\n' || c == '\r' ? ' ' : c);
    return out;
}

Table without_empty_columns(Table table, const std::vector<std::string> &titles) {
    for (std::size_t i = table.columns.size(); i-- > 0;) {
        const bool may_go =
            titles.empty() || std::ranges::find(titles, table.columns[i].title) != titles.end();
        if (!may_go || !std::ranges::all_of(table.rows, [&](const auto &row) { return row[i].is_empty(); }))
            continue;
        const auto place = static_cast<std::ptrdiff_t>(i);
        table.columns.erase(table.columns.begin() + place);
        for (std::vector<Cell> &row : table.rows)
            row.erase(row.begin() + place);
    }
    return table;
}

std::string to_markdown(const Table &every) {
    const Table table = without_empty_columns(every);
    const TimeUnit times = time_unit(table);
    std::string head = "|", line = "|";
    for (const Column &column : table.columns) {
        const std::string unit = column.as == As::time    ? times.name
                                 : column.as == As::share ? "%"
                                                          : column.unit;
        head += " " + markdown_text(column.title) + (unit.empty() ? "" : " (" + unit + ")") + " |";
        line += column.as == As::text ? "---|" : "---:|";
    }
    std::string out = head + "\n" + line + "\n";
    for (const std::vector<Cell> &row : table.rows) {
        out += "|";
        for (std::size_t i = 0; i < row.size(); ++i)
            out +=
                " " +
                cell_text(row[i], "", markdown_text,
                          [&](double number) { return markdown_number(number, table.columns[i], times); }) +
                " |";
        out += "\n";
    }
    return table.columns.empty() ? "" : printable(out);
}

} // namespace convcast
