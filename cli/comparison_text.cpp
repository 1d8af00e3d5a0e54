#include "cli/comparison_text.hpp"

#include "cli/terminal.hpp"
#include "model/base/document.hpp"
#include "model/base/readable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

namespace convcast::cli {
namespace {

using Row = const ComparedRow &;

/// What a row is of.
const char *noun_of(const ComparedFiles &comparison) {
    return comparison.of == Compared::profiles ? "number" : comparison.total ? "node" : "case";
}

/// In percent, or as a factor where percents mislead: "-98 %" and "-99 %" differ by two.
std::string change_of_row(Row row) {
    if (!row.ratio)
        return "";
    return *row.ratio < 0.5 || *row.ratio >= 2.0 ? fmt::format("x {:.3g}", *row.ratio)
                                                 : change_text(*row.ratio - 1.0, 1);
}

std::string interval_of_row(Row row) {
    return !row.ratio_low || *row.ratio_low == *row.ratio_high
               ? ""
               : fmt::format("{:+.1f} to {:+.1f}", 100.0 * (*row.ratio_low - 1.0),
                             100.0 * (*row.ratio_high - 1.0));
}

/// All values of a row in the unit of the first.
std::string value_text(Row row, std::size_t file, Compared kind) {
    const auto &first =
        std::ranges::find_if(row.values, [](const ComparedValue &value) { return value.value.has_value(); });
    if (!row.values[file].value)
        return "";
    if (row.unit == "s" && kind != Compared::profiles) // numbers of a profile go down to picoseconds
        return short_time(Seconds(*row.values[file].value));
    const ReadableUnit unit = readable_unit(*first->value, row.unit);
    const std::string number = short_number(*row.values[file].value / unit.size);
    return unit.text.empty() ? number : number + " " + unit.text;
}

/// What takes the time; of another strategy in each file, which, and of other knobs those of the last. A
/// network's nodes go without knobs: each has its own, and none of them is what is compared.
std::string by_of_row(Row row, Compared kind) {
    std::string before, after;
    for (const ComparedValue &value : row.values)
        if (value.by)
            before = before.empty() ? *value.by : before, after = *value.by;
    const auto name = [](const std::string &by) { return by.substr(0, by.find(':')); };
    const std::string last = kind == Compared::networks ? name(after) : after;
    return name(before) == name(after) ? last : name(before) + " -> " + last;
}

/// Whether a row stands in the table of a run: it changed, or its ratio did by more than the tolerance.
bool is_notable(Row row) {
    if (row.verdict == ComparedVerdict::same || row.verdict == ComparedVerdict::lacking ||
        row.verdict == ComparedVerdict::refused)
        return false;
    return row.verdict != ComparedVerdict::unsure || !row.ratio || *row.ratio > 1.0 + row.tolerance ||
           *row.ratio < 1.0 / (1.0 + row.tolerance);
}

std::vector<ComparedRow> shown_rows(const ComparedFiles &comparison, bool all) {
    std::vector<ComparedRow> rows;
    std::ranges::copy_if(comparison.rows, std::back_inserter(rows),
                         [&](Row row) { return all || is_notable(row); });
    if (comparison.total)
        rows.push_back(*comparison.total);
    return rows;
}

/// For a terminal: each row's values in a unit of its own.
Table table_for_people(const ComparedFiles &comparison, bool all) {
    const bool times = comparison.of != Compared::profiles;
    std::vector<Field<ComparedRow>> fields = {
        {{"verdict", As::text, Keep::must},
         [](Row row) {
             const bool worse = row.failed || row.verdict == ComparedVerdict::slower ||
                                row.verdict == ComparedVerdict::broken;
             return worse ? bold(name_of(row.verdict)) : name_of(row.verdict);
         }},
        {{"change", As::number, Keep::must}, change_of_row},
        {{noun_of(comparison), As::text, Keep::must,
          comparison.of == Compared::networks ? Fit::cut : Fit::whole},
         &ComparedRow::name},
        {{"95 %", As::number, Keep::low}, interval_of_row}};
    for (std::size_t file = 0; file < comparison.files.size(); ++file)
        fields.push_back(
            {{letter_of(file), As::number, comparison.of == Compared::runs ? Keep::normal : Keep::must},
             [file, &comparison](Row row) { return value_text(row, file, comparison.of); }});
    if (times)
        fields.push_back({{"by", As::text, comparison.of == Compared::runs ? Keep::must : Keep::high,
                           comparison.of == Compared::runs ? Fit::knobs : Fit::whole},
                          [&](Row row) { return by_of_row(row, comparison.of); }});
    if (comparison.of == Compared::networks)
        fields.push_back({{"shape", As::text, Keep::low}, &ComparedRow::shape});
    return without_empty_columns(table_of<ComparedRow>(shown_rows(comparison, all), fields));
}

/// For programs: bare numbers.
Table sheet_of(const ComparedFiles &comparison, bool all) {
    std::vector<Field<ComparedRow>> fields = {{{"verdict"}, [](Row row) { return name_of(row.verdict); }},
                                              {{"study"}, &ComparedRow::study},
                                              {{"name"}, &ComparedRow::name},
                                              {{"shape"}, &ComparedRow::shape},
                                              {{"unit"}, &ComparedRow::unit},
                                              {{"ratio", As::number}, &ComparedRow::ratio},
                                              {{"ratio_low", As::number}, &ComparedRow::ratio_low},
                                              {{"ratio_high", As::number}, &ComparedRow::ratio_high}};
    for (std::size_t file = 0; file < comparison.files.size(); ++file) {
        const auto add = [&](const std::string &title, As as, auto member) {
            fields.push_back({{letter_of(file) + title, as},
                              [file, member](Row row) { return Cell(row.values[file].*member); }});
        };
        add("", As::number, &ComparedValue::value);
        add("_low", As::number, &ComparedValue::low);
        add("_high", As::number, &ComparedValue::high);
        add("_samples", As::number, &ComparedValue::samples);
        add("_by", As::text, &ComparedValue::by);
    }
    fields.push_back({{"reason"}, &ComparedRow::reason});
    return table_of<ComparedRow>(shown_rows(comparison, all), fields);
}

std::string files_text(const ComparedFiles &comparison) {
    std::string text;
    for (std::size_t i = 0; i < comparison.files.size(); ++i) {
        const ComparedFile &file = comparison.files[i];
        text += headed(bold(letter_of(i)) + "  ",
                       file.file + ": " + file.what + (file.date.empty() ? "" : ", " + file.date), 3);
    }
    if (!comparison.values.empty())
        text += wrapped("times as " + comparison.values +
                        (comparison.by == "strategy" ? ", the fastest setting of each strategy"
                         : comparison.by == "shape"  ? ", the fastest FP32 setting of each shape"
                                                     : ""));
    return text;
}

std::string differences_text(const ComparedFiles &comparison) {
    if (comparison.differences.empty())
        return comparison.of == Compared::runs ? "same GPU, versions and conditions\n" : "";
    std::string text = bold("not made under the same conditions") + "\n";
    for (const Difference &difference : comparison.differences) {
        std::string all;
        for (std::size_t i = 0; i < difference.values.size(); ++i)
            all += (i == 0 ? "" : ", ") + letter_of(i) + " " +
                   (!difference.values[i].empty() ? difference.values[i]
                    : difference.name == "sms"    ? "all"
                                                  : "-");
        text += wrapped("  " + difference.name + ": " + all, 4);
    }
    return text;
}

/// Why rows are what the table says, those that have a reason.
std::string reasons_text(const ComparedFiles &comparison, bool all) {
    ByReason reasons;
    for (Row row : comparison.rows)
        if (row.reason && (all || is_notable(row)))
            add_to(reasons, name_of(row.verdict) + ": " + *row.reason,
                   row.name + (row.values.front().by ? " " + by_of_row(row, comparison.of) : ""));
    std::string text;
    for (const auto &[why, names] : reasons)
        text += headed("  ", why + ": " + join(names), 4);
    return text;
}

std::string curves_text(const ComparedFiles &comparison) {
    if (comparison.curves.empty())
        return "";
    using Curve = const ComparedCurve &;
    const std::vector<Field<ComparedCurve>> fields = {
        {{"curve"}, &ComparedCurve::name},
        {{"ratio", As::number, Keep::must},
         [](Curve c) { return c.largest_ratio ? Cell(fmt::format("{:.2f}", *c.largest_ratio)) : Cell(); }},
        {{"points", As::number, Keep::low}, &ComparedCurve::common_points},
        {{.title = "largest at", .fit = Fit::wrap}, [](Curve c) {
             return c.at_x ? readable(*c.at_x, c.x_unit) + (c.series.empty() ? "" : ", " + c.series)
                           : "no common x";
         }}};
    return "\n" + table(table_of<ComparedCurve>(comparison.curves, fields));
}

std::string checks_text(const ComparedFiles &comparison) {
    std::string text;
    for (const FailedCheck &check : comparison.failed_checks)
        text += wrapped(check.file + ": " + check.name + ": " + check.text);
    return text.empty() ? "" : "\n" + bold("checks that fail") + "\n" + text;
}

/// Rows that only one file has: how many and their time, or with `all` of runs which.
std::string only_text(const ComparedFiles &comparison, bool all, std::size_t width) {
    std::string text;
    for (std::size_t file = 0; file < comparison.files.size(); ++file) {
        std::vector<std::string> names;
        double sum = 0.0;
        for (Row row : comparison.rows)
            if (row.only && static_cast<std::size_t>(*row.only) == file) {
                names.push_back(row.name + "  " + row.values[file].by.value_or(""));
                sum += row.values[file].value.value_or(0.0);
            }
        if (names.empty())
            continue;
        std::string said = fmt::format("only in {}: {}", comparison.files[file].file,
                                       count_text(std::ssize(names), noun_of(comparison)));
        if (comparison.of == Compared::networks)
            said += ", " + short_time(Seconds(sum));
        if (comparison.hint)
            said += "; " + *comparison.hint;
        if (!all)
            said += names.size() == 1 ? "; --all names it" : "; --all names them";
        text += headed("  ", said, 4, width);
    }
    return text;
}

std::string outcome_text(const ComparedFiles &comparison, bool all, std::size_t width = terminal_width()) {
    if (comparison.rows.empty() && !comparison.curves.empty()) // only curves were asked for
        return "";
    std::string counts, text;
    std::size_t without = 0;
    for (const VerdictCount &count : comparison.counts) {
        counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count.rows, name_of(count.verdict));
        if (count.verdict == ComparedVerdict::lacking || count.verdict == ComparedVerdict::refused)
            without += static_cast<std::size_t>(count.rows);
    }
    text = fmt::format("compared {} of {}: {}", comparison.rows.size() - without,
                       count_text(std::ssize(comparison.rows), noun_of(comparison)),
                       counts.empty() ? "none in common" : counts);
    if (comparison.mean_ratio)
        text += fmt::format("; times {} in the geometric mean", change_text(*comparison.mean_ratio - 1.0, 1));
    text = wrapped(text, 0, width) + only_text(comparison, all, width);
    const auto unjudged = std::ranges::count_if(comparison.rows, [](Row row) {
        return row.ratio && !row.ratio_low && std::abs(*row.ratio - 1.0) > row.tolerance;
    });
    if (unjudged > 0)
        text += wrapped(fmt::format("{} of the unsure {} off by more than the tolerance; without intervals "
                                    "that is not held against them",
                                    unjudged, unjudged == 1 ? "is" : "are"),
                        0, width);
    if (comparison.why)
        text += wrapped(bold(comparison.passed ? "passed" : "failed") + ": " + *comparison.why, 0, width);
    return text;
}

std::string text_for_people(const ComparedFiles &comparison, bool all) {
    const std::string rows = table(table_for_people(comparison, all));
    return files_text(comparison) + differences_text(comparison) + (rows.empty() ? "" : "\n" + rows) +
           reasons_text(comparison, all) + curves_text(comparison) + checks_text(comparison) + "\n" +
           outcome_text(comparison, all);
}

/// A summary that can stand in a pull request.
std::string markdown_of(const ComparedFiles &comparison, bool all) {
    std::string text;
    for (std::size_t i = 0; i < comparison.files.size(); ++i)
        text += fmt::format("{}**{}** {}: {}", i == 0 ? "" : ", ", letter_of(i), comparison.files[i].file,
                            comparison.files[i].what);
    text += "\n\n";
    for (const Difference &difference : comparison.differences)
        text += "- " + difference.name + ": `" + join(difference.values, "` -> `") + "`\n";
    return text + (comparison.differences.empty() ? "" : "\n") + to_markdown(sheet_of(comparison, all)) +
           "\n" + outcome_text(comparison, all, std::string::npos);
}

} // namespace

std::string comparison_text(const ComparedFiles &comparison, Format format, bool all) {
    const bool every = all || comparison.of != Compared::runs;
    return format == Format::json       ? to_text(described::write(comparison))
           : format == Format::csv      ? to_csv(sheet_of(comparison, true))
           : format == Format::markdown ? printable(markdown_of(comparison, every))
                                        : printable(text_for_people(comparison, every));
}

} // namespace convcast::cli
