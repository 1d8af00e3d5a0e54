#include "cli/compare_runs.hpp"

#include "cli/document.hpp"
#include "cli/progress.hpp"
#include "cli/sheet.hpp"
#include "cli/terminal.hpp"
#include "executor/baselines/names.hpp"
#include "model/base/document.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/record/compare_runs.hpp"

#include <boost/describe.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

CompareRunsOptions options_of(const Arguments &arguments) {
    if (arguments.has("only"))
        throw UsageError("compare: --only is a number of profiles, and these are Run documents");
    CompareRunsOptions options;
    options.tolerance = arguments.share("tolerance").value_or(options.tolerance);
    options.fail_over = arguments.share("fail-over");
    const std::string l2 = arguments.text("l2", "cold");
    if (!boost::describe::enum_from_string(l2.c_str(), options.l2))
        throw UsageError("compare: --l2 must be cold or warm, got '" + shortened(l2, 40) + "'");
    const std::string by = arguments.text("by", "setting");
    if (!boost::describe::enum_from_string(by.c_str(), options.by))
        throw UsageError("compare: --by must be setting, strategy or shape, got '" + shortened(by, 40) + "'");
    return options;
}

std::string name_of(CaseVerdict verdict) {
    return boost::describe::enum_to_string(verdict, "?");
}

std::string interval_text(const ComparedCase &item) {
    if (!item.ratio_low)
        return "-";
    return fmt::format("{:+.1f} to {:+.1f}", 100.0 * (*item.ratio_low - 1.0),
                       100.0 * (*item.ratio_high - 1.0));
}

std::string differences_text(const RunComparison &comparison, std::size_t width) {
    std::string text;
    for (const RunDifference &difference : comparison.differences) {
        const auto shown = [&](const std::string &value) {
            return !value.empty() ? value : difference.what == "sms" ? std::string("all") : std::string("-");
        };
        text += headed("  ",
                       difference.what + ": " + shown(difference.before) + "  ->  " + shown(difference.after),
                       4, width);
    }
    return text.empty() ? "same GPU, versions and conditions\n"
                        : bold("not made under the same conditions") + "\n" + text;
}

/// The option by which cases that one document lacks would find others; "" if none would.
std::string remedy_for(const std::vector<std::string> &lacking, const std::vector<std::string> &others,
                       const RunComparison &comparison) {
    const auto wider = [](const std::string &key, CompareBy by) {
        return key.substr(0, by == CompareBy::strategy ? key.find(':') : key.find("  "));
    };
    for (const CompareBy by : {CompareBy::strategy, CompareBy::shape}) {
        if (by <= comparison.by)
            continue;
        std::set<std::string> known;
        for (const std::string &key : others)
            known.insert(wider(key, by));
        for (const ComparedCase &item : comparison.cases)
            known.insert(wider(item.shape + "  " + item.strategy.value_or(item.baseline.value_or("")), by));
        if (std::any_of(lacking.begin(), lacking.end(), [&](const std::string &key) {
                const std::size_t blanks = key.find("  ");
                const bool library = blanks != std::string::npos && is_baseline(key.substr(blanks + 2));
                return !library && known.count(wider(key, by)) != 0;
            }))
            return by == CompareBy::strategy ? "--by strategy compares the fastest setting of each strategy"
                                             : "--by shape compares the fastest FP32 setting of each shape";
    }
    return "";
}

/// Cases that only one document has: how many, or with `all` which.
std::string dropped_text(const RunComparison &comparison, bool all, std::size_t width) {
    std::string text;
    const auto add = [&](const std::string &file, const std::vector<std::string> &names,
                         const std::vector<std::string> &others) {
        if (names.empty())
            return;
        const std::string remedy = remedy_for(names, others, comparison);
        text += headed("  ",
                       fmt::format("only in {}: {} case{}{}{}", file, names.size(),
                                   names.size() == 1 ? "" : "s", remedy.empty() ? "" : "; ", remedy) +
                           (all                 ? ""
                            : names.size() == 1 ? "; --all names it"
                                                : "; --all names them"),
                       4, width);
        for (std::size_t i = 0; all && i < names.size(); ++i)
            text += headed("    ", names[i], 6, width);
    };
    add(comparison.before, comparison.only_before, comparison.only_after);
    add(comparison.after, comparison.only_after, comparison.only_before);
    return text;
}

std::string passed_text(const RunComparison &comparison) {
    const double percent = 100.0 * *comparison.fail_over;
    if (comparison.passed)
        return fmt::format(": no kernel of {} is surely slower by more than {:.3g} %, or broken\n",
                           comparison.timed, percent);
    const bool broken =
        std::any_of(comparison.counts.begin(), comparison.counts.end(),
                    [](const VerdictCount &count) { return count.verdict == CaseVerdict::broken; });
    if (comparison.timed == 0 && !broken)
        return ": no case has a time in both\n";
    if (2 * comparison.timed < comparison.comparable && !broken)
        return fmt::format(
            ": only {} of the {} timed cases of the smaller document found a partner, fewer than half\n",
            comparison.timed, comparison.comparable);
    return fmt::format(": there are kernels that are surely slower by more than {:.3g} %, or broken\n",
                       percent);
}

std::string outcome_text(const RunComparison &comparison, bool all, std::size_t width) {
    std::string text;
    std::int64_t untimed = 0;
    for (const VerdictCount &count : comparison.counts) {
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count.cases, name_of(count.verdict));
        if (count.verdict == CaseVerdict::untimed || count.verdict == CaseVerdict::refused)
            untimed += count.cases;
    }
    text = fmt::format("compared {} of {} cases: {}", std::ssize(comparison.cases) - untimed,
                       comparison.cases.size() + comparison.only_before.size() + comparison.only_after.size(),
                       text.empty() ? "none in common" : text);
    if (comparison.mean_ratio)
        text += fmt::format("; times {} in the geometric mean", change_text(*comparison.mean_ratio - 1.0, 1));
    text = wrapped(text, 0, width) + dropped_text(comparison, all, width);
    if (comparison.fail_over)
        text += bold(comparison.passed ? "passed" : "failed") + passed_text(comparison);
    return text;
}

/// Whether a case stands in the table: it changed, or its median did by more than the tolerance.
bool is_notable(const ComparedCase &item, double tolerance) {
    if (item.verdict == CaseVerdict::same || item.verdict == CaseVerdict::untimed ||
        item.verdict == CaseVerdict::refused)
        return false;
    return item.verdict != CaseVerdict::unsure || !item.ratio || *item.ratio > 1.0 + tolerance ||
           *item.ratio < 1.0 / (1.0 + tolerance);
}

/// Which setting a case is of, and where another strategy was the fastest before, which.
std::string strategy_text(const ComparedCase &item) {
    const std::string text = item.strategy.value_or(item.baseline.value_or(""));
    if (!item.strategy_before)
        return text;
    const auto name = [](const std::string &of) { return of.substr(0, of.find(':')); };
    return name(*item.strategy_before) == name(text) ? text : name(*item.strategy_before) + " -> " + text;
}

/// Why cases are what the table says, those that have a reason.
std::string reasons_text(const RunComparison &comparison, bool all, std::size_t width) {
    std::string text;
    for (const ComparedCase &item : comparison.cases)
        if (item.reason && (all || is_notable(item, comparison.tolerance)))
            text += headed("  ",
                           name_of(item.verdict) + ", " + item.name.value_or(item.shape) + " " +
                               strategy_text(item) + ": " + *item.reason,
                           4, width);
    return text;
}

/// Cases that changed, or all of them.
std::vector<ComparedCase> shown_cases(const RunComparison &comparison, bool all) {
    std::vector<ComparedCase> cases = comparison.cases;
    if (!all)
        std::erase_if(cases,
                      [&](const ComparedCase &item) { return !is_notable(item, comparison.tolerance); });
    return cases;
}

std::string cases_text(const RunComparison &comparison, bool all, std::size_t width) {
    using Item = const ComparedCase &;
    const auto median = [](std::optional<MedianTime> ComparedCase::*time) {
        return [time](Item item) { return item.*time ? Cell(short_time((item.*time)->median_s)) : Cell(); };
    };
    const std::string text = table(
        table_of<ComparedCase>(
            shown_cases(comparison, all),
            {{{"verdict"},
              [](Item item) {
                  const bool worse =
                      item.verdict == CaseVerdict::slower || item.verdict == CaseVerdict::broken;
                  return worse ? bold(name_of(item.verdict)) : name_of(item.verdict);
              }},
             {{"change", As::number, Keep::must},
              [](Item item) { return item.ratio ? Cell(change_text(*item.ratio - 1.0, 1)) : Cell(); }},
             {{"shape", As::text, Keep::must}, [](Item item) { return item.name.value_or(item.shape); }},
             {{"95 %", As::number, Keep::low}, interval_text},
             {{"before", As::number}, median(&ComparedCase::before)},
             {{"after", As::number}, median(&ComparedCase::after)},
             {{"strategy", As::text, Keep::must, Fit::knobs}, strategy_text}}),
        width);
    return text.empty() ? "" : "\n" + text + reasons_text(comparison, all, width) + "\n";
}

Table sheet_of(const RunComparison &comparison, bool all) {
    using Item = const ComparedCase &;
    const auto of = [](std::optional<MedianTime> ComparedCase::*time, auto member) {
        return [time, member](Item item) { return item.*time ? Cell((*(item.*time)).*member) : Cell(); };
    };
    std::vector<Field<ComparedCase>> fields = {
        {{"verdict"}, [](Item item) { return name_of(item.verdict); }},
        {{"study"}, &ComparedCase::study},
        {{"name"}, &ComparedCase::name},
        {{"shape"}, &ComparedCase::shape},
        {{"strategy"}, [](Item item) { return item.strategy.value_or(item.baseline.value_or("")); }},
        {{"strategy_before"}, &ComparedCase::strategy_before},
        {{"ratio", As::number}, &ComparedCase::ratio},
        {{"ratio_low", As::number}, &ComparedCase::ratio_low},
        {{"ratio_high", As::number}, &ComparedCase::ratio_high}};
    for (const auto &[name, time] :
         {std::pair{"before", &ComparedCase::before}, {"after", &ComparedCase::after}}) {
        const std::string lead = name;
        fields.push_back({{lead, As::time}, of(time, &MedianTime::median_s)});
        fields.push_back({{lead + "_low", As::time}, of(time, &MedianTime::low_s)});
        fields.push_back({{lead + "_high", As::time}, of(time, &MedianTime::high_s)});
        fields.push_back({{lead + "_samples", As::number}, of(time, &MedianTime::samples)});
    }
    fields.push_back({{"reason"}, &ComparedCase::reason});
    return table_of<ComparedCase>(shown_cases(comparison, all), fields);
}

std::string as_text(const RunComparison &comparison, bool all) {
    const std::size_t width = terminal_width();
    return headed("",
                  bold(comparison.before + " -> " + comparison.after) + ": times as " + comparison.times +
                      (comparison.by == CompareBy::setting    ? ""
                       : comparison.by == CompareBy::strategy ? ", the fastest setting of each strategy"
                                                              : ", the fastest FP32 setting of each shape"),
                  2, width) +
           differences_text(comparison, width) + cases_text(comparison, all, width) +
           outcome_text(comparison, all, width);
}

/// A summary that can stand in a pull request.
std::string markdown_of(const RunComparison &comparison, bool all) {
    std::string text =
        "**" + comparison.before + " -> " + comparison.after + "**, times as " + comparison.times + "\n\n";
    for (const RunDifference &difference : comparison.differences)
        text += "- " + difference.what + ": `" + difference.before + "` -> `" + difference.after + "`\n";
    text += (comparison.differences.empty() ? "" : "\n") + to_markdown(sheet_of(comparison, all)) + "\n";
    return printable(text + outcome_text(comparison, all, std::string::npos));
}

} // namespace

int compare_run_documents(const Arguments &arguments, const Run &first, const Run &second) {
    const CompareRunsOptions options = options_of(arguments);
    const auto shown = [&](std::size_t i) {
        const std::string &name = arguments.positional()[i];
        return shown_name(name);
    };
    const RunComparison comparison = compare_runs(first, shown(0), second, shown(1), options);
    const Format format = format_of("compare", arguments, true);
    const bool all = arguments.has("all");
    std::string text;
    if (format == Format::json)
        text = to_text(described::write(comparison));
    else if (format == Format::csv)
        text = to_csv(sheet_of(comparison, true));
    else if (format == Format::markdown)
        text = markdown_of(comparison, all);
    else
        text = printable(as_text(comparison, all));
    write_file_atomically(arguments.text("output", "-"), text);
    const bool unread = code_of(first) != 0 || code_of(second) != 0, compared = !comparison.cases.empty();
    if (!compared)
        note(fmt::format(
            "compare: {} and {} have no case in common, so nothing was compared{}", shown(0), shown(1),
            options.by == CompareBy::setting
                ? "; --by strategy and --by shape compare the fastest settings, whatever their knobs"
                : ""));
    return comparison.passed && compared && !unread ? 0 : 1;
}

} // namespace convcast::cli
