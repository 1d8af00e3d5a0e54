#include "cli/sheet.hpp"

#include "cli/answers.hpp"
#include "cli/terminal.hpp"
#include "model/base/errors.hpp"
#include "model/base/readable.hpp"
#include "model/predict.hpp"

#include <boost/describe.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

namespace convcast::cli {
namespace {

std::string shortest(double number) {
    char text[64];
    const auto end = std::to_chars(text, text + sizeof text, number);
    return {text, end.ptr};
}

/// "time", "s" is time_s; "rate", "FLOP/s" is rate_flop_per_s.
std::string csv_name(const SheetColumn &column) {
    std::string unit;
    for (const char c : column.unit)
        unit += c == '/' ? std::string("_per_")
                         : std::string(1, c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
    return column.name + (unit.empty() ? "" : "_" + unit);
}

std::string csv_text(const std::string &text) {
    if (text.find_first_of(",\"\n\r") == std::string::npos)
        return text;
    std::string out = "\"";
    for (const char c : text)
        out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
}

std::string csv_cell(const SheetCell &held) {
    if (const auto *text = std::get_if<std::string>(&held))
        return csv_text(*text);
    if (const auto *integer = std::get_if<std::int64_t>(&held))
        return std::to_string(*integer);
    if (const auto *number = std::get_if<double>(&held))
        return std::isfinite(*number) ? shortest(*number) : "";
    return "";
}

/// Of a Markdown table: no character that ends a cell or a line.
std::string markdown_text(const std::string &text) {
    std::string out;
    for (const char c : text)
        out += c == '|' ? std::string("\\|") : std::string(1, c == '\n' || c == '\r' ? ' ' : c);
    return out;
}

bool is_empty(const Sheet &sheet, std::size_t column) {
    return std::all_of(sheet.rows.begin(), sheet.rows.end(), [&](const std::vector<SheetCell> &row) {
        return std::holds_alternative<std::monostate>(row[column]);
    });
}

bool is_text(const Sheet &sheet, std::size_t column) {
    return std::any_of(sheet.rows.begin(), sheet.rows.end(), [&](const std::vector<SheetCell> &row) {
        return std::holds_alternative<std::string>(row[column]);
    });
}

/// The unit of a column of seconds, by the shortest of all of them, so that columns can be compared.
TimeUnit unit_of_times(const Sheet &sheet) {
    double least = 1e300;
    for (const std::vector<SheetCell> &row : sheet.rows)
        for (std::size_t i = 0; i < row.size(); ++i)
            if (const auto *number = std::get_if<double>(&row[i]);
                number && sheet.columns[i].unit == "s" && *number > 0.0)
                least = std::min(least, *number);
    return time_unit(Seconds(least < 1e300 ? least : 1e-6));
}

std::string markdown_cell(const SheetCell &held, const SheetColumn &column, const TimeUnit &times) {
    if (const auto *text = std::get_if<std::string>(&held))
        return markdown_text(*text);
    if (const auto *integer = std::get_if<std::int64_t>(&held))
        return std::to_string(*integer);
    if (const auto *number = std::get_if<double>(&held))
        return !std::isfinite(*number) ? ""
               : column.unit == "s"    ? number_in(times, Seconds(*number))
                                       : short_number(*number);
    return "";
}

} // namespace

Format format_of(const std::string &verb, const Arguments &arguments, bool output_is_document) {
    const std::string output = output_is_document ? arguments.text("output", "-") : "";
    if (!arguments.has("format") && !arguments.has("json") &&
        (output.ends_with(".csv") || output.ends_with(".md")))
        return output.ends_with(".csv") ? Format::csv : Format::markdown;
    if (!arguments.has("format"))
        return arguments.has("json") || (output_is_document && arguments.has("output")) ? Format::json
                                                                                        : Format::text;
    const std::string text = arguments.text("format", "");
    std::vector<std::string> names = {"text", "json", "csv", "markdown"};
    if (arguments.has("network"))
        names.emplace_back("schedule");
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end())
        throw UsageError(verb + ": --format must be one of " + join(names) + ", got '" + shortened(text, 40) +
                         "'" + did_you_mean(text, names));
    return static_cast<Format>(found - names.begin());
}

SheetCell cell(const std::optional<Seconds> &time) {
    return time ? SheetCell(time->value) : SheetCell();
}

SheetCell cell(const std::optional<double> &number) {
    return number ? SheetCell(*number) : SheetCell();
}

SheetCell cell(const std::optional<std::string> &text) {
    return text && !text->empty() ? SheetCell(*text) : SheetCell();
}

std::string as_csv(const Sheet &sheet) {
    std::string out;
    for (std::size_t i = 0; i < sheet.columns.size(); ++i)
        out += (i == 0 ? "" : ",") + csv_text(csv_name(sheet.columns[i]));
    out += "\n";
    for (const std::vector<SheetCell> &row : sheet.rows) {
        for (std::size_t i = 0; i < row.size(); ++i)
            out += (i == 0 ? "" : ",") + csv_cell(row[i]);
        out += "\n";
    }
    return out;
}

std::string as_markdown(const Sheet &sheet) {
    const TimeUnit times = unit_of_times(sheet);
    std::string head = "|", line = "|";
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < sheet.columns.size(); ++i) {
        if (is_empty(sheet, i))
            continue;
        shown.push_back(i);
        const SheetColumn &column = sheet.columns[i];
        const std::string unit = column.unit == "s" ? times.name : column.unit;
        head += " " + markdown_text(column.name) + (unit.empty() ? "" : " (" + unit + ")") + " |";
        line += is_text(sheet, i) ? "---|" : "---:|";
    }
    std::string out = head + "\n" + line + "\n";
    for (const std::vector<SheetCell> &row : sheet.rows) {
        out += "|";
        for (const std::size_t i : shown)
            out += " " + markdown_cell(row[i], sheet.columns[i], times) + " |";
        out += "\n";
    }
    return shown.empty() ? "" : printable(out);
}

SheetRow sheet_row(const Case &item, const Question &question, const KnownTimes &known) {
    SheetRow row;
    row.item = &item;
    row.gpu = question.profile.id;
    row.variant = question.variant;
    if (const auto own = known.find(item.shape, item.strategy.value_or(item.baseline.value_or(""))))
        row.measured = own->time_s;
    if (item.study && !item.count) // a study's counts stand in its document
        for (const AskedShape &asked : question.shapes)
            if (asked.study == item.study && asked.count != 1 && asked.shape.id() == item.shape)
                row.count = asked.count;
    return row;
}

Sheet case_sheet(const std::vector<SheetRow> &rows) {
    Sheet sheet;
    sheet.columns = {{"gpu", ""},        {"variant", ""},   {"study", ""},     {"name", ""},
                     {"shape", ""},      {"count", ""},     {"rank", ""},      {"strategy", ""},
                     {"knobs", ""},      {"status", ""},    {"time", "s"},     {"time_low", "s"},
                     {"time_high", "s"}, {"over_best", ""}, {"measured", "s"}, {"speed_of_light", "s"},
                     {"rate", "FLOP/s"}, {"regime", ""},    {"limiter", ""},   {"reason", ""}};
    const auto number = [](const std::optional<std::int64_t> &n) { return n ? SheetCell(*n) : SheetCell(); };
    for (const SheetRow &row : rows) {
        const Case &item = *row.item;
        const Prediction *p = item.prediction ? &*item.prediction : nullptr;
        const std::string text = item.strategy.value_or(item.baseline.value_or(""));
        const std::size_t colon = item.strategy ? text.find(':') : std::string::npos;
        const Measurement *cold = item.measured(L2State::cold);
        const auto seconds = [&](std::optional<Seconds> Prediction::*field) {
            return p && p->time_s ? cell(p->*field) : SheetCell();
        };
        sheet.rows.push_back(
            {cell(std::optional(row.gpu)),
             cell(std::optional(row.variant)),
             cell(item.study),
             cell(item.name),
             item.shape,
             item.count.value_or(row.count.value_or(1)),
             number(row.rank),
             text.substr(0, colon),
             colon == std::string::npos ? SheetCell() : SheetCell(text.substr(colon + 1)),
             std::string(boost::describe::enum_to_string(item.status, "?")),
             seconds(&Prediction::time_s),
             seconds(&Prediction::time_low_s),
             seconds(&Prediction::time_high_s),
             cell(row.over_best),
             cold && item.status == Status::ok ? cell(std::optional(cold->time_s)) : cell(row.measured),
             p ? cell(p->times.tier0_s) : SheetCell(),
             p && p->rates ? cell(p->rates->flop_per_s) : SheetCell(),
             p && p->regimes && p->regimes->tier2
                 ? SheetCell(std::string(boost::describe::enum_to_string(*p->regimes->tier2, "?")))
                 : SheetCell(),
             p ? cell(p->limiter) : SheetCell(),
             item.reason              ? cell(item.reason)
             : of_declared_work(item) ? SheetCell(std::string(declared_work_assumption))
                                      : cell(p ? p->reason : std::optional<std::string>())});
    }
    return sheet;
}

} // namespace convcast::cli
