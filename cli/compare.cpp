#include "model/machine/compare.hpp"
#include "cli/answers.hpp"
#include "cli/arguments.hpp"
#include "cli/document.hpp"
#include "cli/network.hpp"
#include "cli/progress.hpp"
#include "cli/question.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "cli/version.hpp"
#include "model/base/comparison.hpp"
#include "model/base/document.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/readable.hpp"
#include "model/network/compare_networks.hpp"
#include "model/record/compare_runs.hpp"

#include <boost/describe.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

using Line = const ComparedRow &;

/// The word for a row: a number of profiles, a node of networks (which alone have a total), a case of runs.
const char *noun_of(const ComparedFiles &comparison) {
    return comparison.of == Compared::profiles ? "number" : comparison.total ? "node" : "case";
}

/// The ratio in percent, or as a factor below half and from twice: "-98 %" and "-99 %" look alike. "": none.
std::string change_of_row(Line row) {
    if (!row.ratio)
        return "";
    return *row.ratio < 0.5 || *row.ratio >= 2.0 ? fmt::format("x {:.3g}", *row.ratio)
                                                 : change_text(*row.ratio - 1.0, 1);
}

/// "+1.2 to +3.4", the 95 % interval of the ratio in percent; "" where there is none.
std::string interval_of_row(Line row) {
    return !row.ratio_low || *row.ratio_low == *row.ratio_high
               ? ""
               : fmt::format("{:+.1f} to {:+.1f}", 100.0 * (*row.ratio_low - 1.0),
                             100.0 * (*row.ratio_high - 1.0));
}

/// The value that a row has of a file, "" for none. All values of a row get the unit that suits the first.
std::string value_text(Line row, std::size_t file, Compared kind) {
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

/// The strategy that a row's times are of, with the knobs of the last file: "winograd:tile=4", or "winograd
/// -> implicit_gemm" where the files have different ones. Nodes of a network go without knobs: each node has
/// its own, and they are not what is compared.
std::string by_of_row(Line row, Compared kind) {
    std::string before, after;
    for (const ComparedValue &value : row.values)
        if (value.by)
            before = before.empty() ? *value.by : before, after = *value.by;
    const auto name = [](const std::string &by) { return by.substr(0, by.find(':')); };
    const std::string last = kind == Compared::networks ? name(after) : after;
    return name(before) == name(after) ? last : name(before) + " -> " + last;
}

/// Whether a row stands in the table of two runs without --all. Left out are those that are the same, lacking
/// or refused, and those that are unsure and off by no more than the tolerance.
bool is_notable(Line row) {
    if (row.verdict == ComparedVerdict::same || row.verdict == ComparedVerdict::lacking ||
        row.verdict == ComparedVerdict::refused)
        return false;
    return row.verdict != ComparedVerdict::unsure || !row.ratio || *row.ratio > 1.0 + row.tolerance ||
           *row.ratio < 1.0 / (1.0 + row.tolerance);
}

/// The rows of the table, `all` or the notable ones, and the total of networks behind them.
std::vector<ComparedRow> shown_rows(const ComparedFiles &comparison, bool all) {
    std::vector<ComparedRow> rows;
    std::ranges::copy_if(comparison.rows, std::back_inserter(rows),
                         [&](Line row) { return all || is_notable(row); });
    if (comparison.total)
        rows.push_back(*comparison.total);
    return rows;
}

/// The table for a terminal: each row has its values in a unit of its own.
Table table_for_people(const ComparedFiles &comparison, bool all) {
    const bool times = comparison.of != Compared::profiles;
    std::vector<Field<ComparedRow>> fields = {
        {{"verdict", As::text, Keep::must},
         [](Line row) {
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
             [file, &comparison](Line row) { return value_text(row, file, comparison.of); }});
    if (times)
        fields.push_back({{"by", As::text, comparison.of == Compared::runs ? Keep::must : Keep::high,
                           comparison.of == Compared::runs ? Fit::knobs : Fit::whole},
                          [&](Line row) { return by_of_row(row, comparison.of); }});
    if (comparison.of == Compared::networks)
        fields.push_back({{"shape", As::text, Keep::low}, &ComparedRow::shape});
    return without_empty_columns(table_of<ComparedRow>(shown_rows(comparison, all), fields));
}

/// The table for CSV and Markdown: bare numbers.
Table sheet_of(const ComparedFiles &comparison, bool all) {
    std::vector<Field<ComparedRow>> fields = {{{"verdict"}, [](Line row) { return name_of(row.verdict); }},
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
                              [file, member](Line row) { return Cell(row.values[file].*member); }});
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

/// A line for each file: its letter, what it is, its date; then which times are compared.
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

/// The conditions in which the files differ.
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

/// The reasons of verdicts, each with the rows that have it. Rows without a reason are not named.
std::string reasons_text(const ComparedFiles &comparison, bool all) {
    ByReason reasons;
    for (Line row : comparison.rows)
        if (row.reason && (all || is_notable(row)))
            add_name_for_reason(reasons, name_of(row.verdict) + ": " + *row.reason,
                                row.name +
                                    (row.values.front().by ? " " + by_of_row(row, comparison.of) : ""));
    std::string text;
    for (const auto &[why, names] : reasons)
        text += headed("  ", why + ": " + join(names), 4);
    return text;
}

/// A table of the curves of profiles: where and by how much they differ most; "" without curves.
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

/// A line for each file with rows that the others lack: how many, of networks their time, how to see them.
std::string only_text(const ComparedFiles &comparison, bool all, std::size_t width) {
    std::string text;
    for (std::size_t file = 0; file < comparison.files.size(); ++file) {
        std::vector<std::string> names;
        double sum = 0.0; // s, where the rows are times
        for (Line row : comparison.rows)
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

/// How many rows have which verdict, what only one file has, and whether --fail-over is passed.
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
    const auto unjudged = std::ranges::count_if(comparison.rows, [](Line row) {
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

/// `all`: also the rows in which nothing changed, and those that only one file has.
std::string comparison_text(const ComparedFiles &comparison, Format format, bool all) {
    const bool every = all || comparison.of != Compared::runs;
    return format == Format::json       ? to_text(described::write(comparison))
           : format == Format::csv      ? to_csv(sheet_of(comparison, true))
           : format == Format::markdown ? printable(markdown_of(comparison, every))
                                        : printable(text_for_people(comparison, every));
}

/// The kind of thing that a word names. Throws UsageError for a document that cannot be compared.
Compared kind_of(const NamedDocument &one) {
    if (one.is_a("run"))
        return Compared::runs;
    if (one.schema == "onnx" || one.is_a("network") || one.is_a("network_run"))
        return Compared::networks;
    if (one.schema.starts_with("convcast/") && !one.is_a("profile"))
        throw UsageError("compare: " + one.shown + " is a document of " + one.schema +
                         "; expected two Run documents (convcast/run/1), two networks or their runs, or two "
                         "or more profiles");
    return Compared::profiles;
}

/// The kind that all words name. Throws UsageError where they are of several kinds, too many or too few. A
/// single network is enough with `two_gpus`: it is compared on these.
Compared kind_of(const std::vector<NamedDocument> &given, bool two_gpus) {
    const Compared kind = kind_of(given.front());
    const auto alike =
        std::ranges::count_if(given, [&](const NamedDocument &one) { return kind_of(one) == kind; });
    const std::size_t least = kind == Compared::networks && two_gpus ? 1 : 2;
    if (static_cast<std::size_t>(alike) < given.size() || given.size() < least ||
        (kind != Compared::profiles && given.size() > 2))
        throw UsageError(
            fmt::format("compare: expected two Run documents, two networks, or two or more profiles, got {} "
                        "among {} file{}, for example: convcast compare before.json after.json",
                        count_text(alike, kind == Compared::runs       ? "Run document"
                                          : kind == Compared::networks ? "network"
                                                                       : "profile"),
                        given.size(), given.size() == 1 ? "" : "s"));
    return kind;
}

/// `unread`: whether a case of one of the documents cannot be read.
ComparedFiles of_runs(const Arguments &arguments, const std::vector<NamedDocument> &given, bool &unread) {
    CompareRunsOptions options;
    options.tolerance = arguments.share("tolerance").value_or(options.tolerance);
    options.fail_over = arguments.share("fail-over");
    (void)boost::describe::enum_from_string(arguments.text("l2", "cold").c_str(), options.l2);
    (void)boost::describe::enum_from_string(arguments.text("by", "setting").c_str(), options.by);
    const Run before = given[0].run(), after = given[1].run();
    unread = code_of(before) != 0 || code_of(after) != 0;
    return compare_runs(before, given[0].shown, after, given[1].shown, options);
}

ComparedFiles of_profiles(const Arguments &arguments, const std::vector<NamedDocument> &given) {
    CompareOptions options;
    options.tolerance = arguments.share("tolerance");
    options.only = arguments.texts("only");
    std::vector<NamedProfile> profiles;
    for (const NamedDocument &one : given)
        profiles.push_back({one.shown, one.profile()});
    const std::vector<std::string> known = comparable_names(profiles);
    for (const std::string &name : options.only)
        if (std::ranges::find(known, name) == known.end())
            arguments.refuse("no number or curve is named '" + name + "'" + did_you_mean(name, known) +
                             " See docs/profile.md or convcast list --schema profile");
    return compare_profiles(profiles, options);
}

/// The recorded run that `one` is, or the forecast for a GPU of the network that it names.
NetworkRun network_run(const NamedDocument &one, const std::string &gpu, const Arguments &arguments) {
    if (one.is_a("network_run"))
        return described::read_document<NetworkRun>(*one.text, one.shown);
    AskedNetwork asked;
    asked.network =
        without_losses(one.text ? network_of_text(*one.text, one.shown, arguments) : find_network(one.name));
    asked.profile = find_profile(gpu);
    require_times(asked.profile, "compare");
    asked.question.what_if = false;
    asked.question.batch = asked_images(arguments, asked.network);
    asked.knowledge = knowledge_for(asked.profile);
    return asked.documented(asked.plan().forecast);
}

/// Compares two networks on one GPU, two on a GPU each, or one network on two GPUs.
ComparedFiles of_networks(const Arguments &arguments, std::vector<NamedDocument> given) {
    std::vector<std::string> gpus = arguments.texts("gpu");
    const auto recorded =
        std::ranges::find_if(given, [](const NamedDocument &one) { return one.is_a("network_run"); });
    if (gpus.size() > 2)
        arguments.refuse(fmt::format("networks are compared on one GPU or two, got {} --gpu", gpus.size()));
    if (given.size() == 1 && recorded != given.end())
        arguments.refuse(recorded->shown +
                         " is a run on one GPU; give its network's name with two --gpu, or another run");
    if (std::ranges::all_of(given, [](const NamedDocument &one) { return one.is_a("network_run"); }))
        arguments.refuse_options_of("recorded networks", given.front().shown);
    if (gpus.empty())
        gpus = {"h200"};
    if (given.size() == 1)
        given.push_back(given.front());
    const NetworkRun before = network_run(given.front(), gpus.front(), arguments),
                     after = network_run(given.back(), gpus.back(), arguments);
    return compare_networks(before, given.front().shown, after, given.back().shown,
                            arguments.share("tolerance").value_or(default_tolerance));
}

} // namespace

int compare(const Arguments &arguments) {
    refuse_overwriting(arguments);
    const std::vector<std::string> &names = arguments.positional();
    if (std::ranges::count(names, "-") > 1)
        arguments.refuse("standard input (-) can be only one of the files");
    std::vector<NamedDocument> given;
    for (const std::string &name : names)
        given.push_back(look_at(name));
    const Compared kind = kind_of(given, arguments.texts("gpu").size() > 1);
    arguments.refuse_options_of(name_of(kind));
    const Format format = format_of(arguments, true);
    bool unread = false;
    const ComparedFiles comparison = kind == Compared::runs       ? of_runs(arguments, given, unread)
                                     : kind == Compared::profiles ? of_profiles(arguments, given)
                                                                  : of_networks(arguments, std::move(given));
    write_file_atomically(arguments.text("output", "-"),
                          comparison_text(comparison, format, arguments.has("all")));
    const bool compared =
        comparison.total ||
        std::ranges::any_of(comparison.rows, [](const ComparedRow &row) { return !row.only; });
    if (kind != Compared::profiles && !compared)
        note(fmt::format(
            "compare: {} and {} have no case in common, so nothing was compared{}", comparison.files[0].file,
            comparison.files[1].file,
            comparison.by == "setting"
                ? "; --by strategy and --by shape compare the fastest settings, whatever their knobs"
                : ""));
    return comparison.passed && (compared || kind == Compared::profiles) && !unread ? 0 : 1;
}

} // namespace convcast::cli
