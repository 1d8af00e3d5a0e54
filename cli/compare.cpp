#include "model/machine/compare.hpp"

#include "cli/arguments.hpp"
#include "cli/compare_runs.hpp"
#include "cli/document.hpp"
#include "cli/sheet.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "model/base/document.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/readable.hpp"

#include <boost/describe.hpp>
#include <boost/mp11.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

std::string letter(std::size_t file) {
    return std::string(1, static_cast<char>('A' + file));
}

/// In percent, or as a factor where percents mislead: "-98 %" and "-99 %" differ by two.
std::string off_text(const ComparedParam &param) {
    if (!param.deviation)
        return "-";
    if (*param.ratio < 0.5 || *param.ratio >= 2.0)
        return fmt::format("x {:.3g}", *param.ratio);
    const double percent = 100.0 * *param.deviation;
    return fmt::format("{:+.{}f} %", percent, std::abs(percent) < 9.95 ? 1 : 0);
}

std::string verdict_text(const ComparedParam &param) {
    const std::string name = boost::describe::enum_to_string(param.verdict, "?");
    return param.failed ? bold(name) : name;
}

ReadableUnit unit_of(const ComparedParam &param) {
    for (const ComparedValue &value : param.values)
        if (value.value)
            return readable_unit(*value.value, param.unit);
    return {1.0, param.unit};
}

/// Each number with its values in one unit.
Table param_table(const ProfileComparison &comparison) {
    std::vector<Field<ComparedParam>> fields = {{{"number"}, &ComparedParam::name}};
    for (std::size_t file = 0; file < comparison.files.size(); ++file)
        fields.push_back({{letter(file), As::number, Keep::must}, [file](const ComparedParam &param) {
                              const std::optional<double> &value = param.values[file].value;
                              return value ? Cell(*value / unit_of(param).size) : Cell();
                          }});
    fields.push_back(
        {{"unit", As::text, Keep::must}, [](const ComparedParam &param) { return unit_of(param).text; }});
    fields.push_back({{"off", As::number, Keep::must}, off_text});
    fields.push_back({{"verdict", As::text, Keep::must}, verdict_text});
    return table_of<ComparedParam>(comparison.params, fields);
}

std::string files_text(const ProfileComparison &comparison, std::size_t width) {
    std::string text;
    for (std::size_t i = 0; i < comparison.files.size(); ++i) {
        const ComparedFile &file = comparison.files[i];
        text += headed(bold(letter(i)) + "  ",
                       file.file + ": " + file.name + ", compute capability " + file.compute_capability +
                           (file.date.empty() ? "" : ", " + file.date),
                       3, width);
    }
    return text + "\n";
}

/// Fields that a file lacks for the same reason, together.
std::string lacking_text(const ProfileComparison &comparison, std::size_t width) {
    std::string text;
    for (std::size_t file = 0; file < comparison.files.size(); ++file) {
        ByReason reasons;
        for (const ComparedParam &param : comparison.params)
            if (const std::optional<std::string> &why = param.values[file].missing)
                add_to(reasons, *why, param.name);
        for (const auto &[why, names] : reasons)
            text += headed(letter(file) + "  ", join(names) + ": " + why, 3, width);
    }
    return text.empty() ? "" : "\n" + bold("lacking") + "\n" + text;
}

std::string surroundings_text(const ProfileComparison &comparison, std::size_t width) {
    std::string text;
    const auto title = [&](const char *name) { text += "\n" + bold(name) + "\n"; };
    const auto line = [&](const std::string &name, const auto &values, auto text_of) {
        std::string all;
        for (std::size_t i = 0; i < values.size(); ++i)
            all += (i == 0 ? "" : ", ") + letter(i) + " " + text_of(values[i]);
        text += wrapped(name + ": " + all, 0, width);
    };
    if (!comparison.limits.empty()) {
        title("limits that differ");
        for (const ComparedLimit &limit : comparison.limits)
            line(limit.name, limit.values, [](std::int64_t value) { return grouped(value); });
    }
    if (!comparison.conditions.empty()) {
        title("conditions that differ");
        for (const ComparedCondition &condition : comparison.conditions)
            line(condition.name, condition.values,
                 [](const std::string &value) { return value.empty() ? std::string("-") : value; });
    }
    if (!comparison.failed_checks.empty()) {
        title("checks that fail");
        for (const FailedCheck &check : comparison.failed_checks)
            text += wrapped(check.file + ": " + check.name + ": " + check.text, 0, width);
    }
    return text;
}

std::string curves_text(const ProfileComparison &comparison, std::size_t width) {
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
    return "\n" + table(table_of<ComparedCurve>(comparison.curves, fields), width);
}

std::string outcome_text(const ProfileComparison &comparison, std::size_t width) {
    std::string counts;
    std::vector<std::string> lacking, differing;
    std::size_t unjudged = 0;
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<Agreement>>([&](auto enumerator) {
        const auto count =
            std::count_if(comparison.params.begin(), comparison.params.end(),
                          [&](const ComparedParam &param) { return param.verdict == enumerator.value; });
        if (count > 0)
            counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, enumerator.name);
    });
    for (const ComparedParam &param : comparison.params) {
        if (param.failed)
            (param.verdict == Agreement::differs ? differing : lacking).push_back(param.name);
        if (param.verdict == Agreement::unknown && std::abs(*param.deviation) > param.tolerance)
            ++unjudged;
    }
    std::string text = "\n" + wrapped(fmt::format("{} number{}: {}", comparison.params.size(),
                                                  comparison.params.size() == 1 ? "" : "s", counts),
                                      0, width);
    if (unjudged > 0)
        text += wrapped(fmt::format("{} of the unknown are off by more than the tolerance; without intervals "
                                    "that is not held against them",
                                    unjudged),
                        0, width);
    if (!differing.empty())
        text += wrapped(bold("differs") + ": " + join(differing), 0, width);
    if (!lacking.empty())
        text += wrapped(bold("lacking") + " in a later file: " + join(lacking), 0, width);
    return text;
}

/// One row a number, the values in its bare unit.
Table param_sheet(const ProfileComparison &comparison) {
    std::vector<Field<ComparedParam>> fields = {{{"number"}, &ComparedParam::name},
                                                {{"unit"}, &ComparedParam::unit}};
    for (std::size_t file = 0; file < comparison.files.size(); ++file)
        fields.push_back({{comparison.files[file].file, As::number},
                          [file](const ComparedParam &param) { return param.values[file].value; }});
    fields.push_back({{"ratio", As::number}, &ComparedParam::ratio});
    fields.push_back({{"deviation", As::number}, &ComparedParam::deviation});
    fields.push_back({{"verdict"}, [](const ComparedParam &param) {
                          return boost::describe::enum_to_string(param.verdict, "?");
                      }});
    return table_of<ComparedParam>(comparison.params, fields);
}

/// Whether two Run documents are given. Throws UsageError where one stands among other files, and for other
/// documents of convcast.
bool are_runs(const std::vector<NamedDocument> &given) {
    const auto runs = std::count_if(given.begin(), given.end(), [](const NamedDocument &one) {
        return one.schema.starts_with("convcast/run/");
    });
    for (const NamedDocument &one : given)
        if (one.schema.starts_with("convcast/") && !one.schema.starts_with("convcast/run/") &&
            !one.schema.starts_with("convcast/profile/"))
            throw UsageError("compare: " + one.shown + " is a document of " + one.schema +
                             "; expected two Run documents (convcast/run/1), or two or more profiles");
    if (runs != 0 && (runs != 2 || given.size() != 2))
        throw UsageError("compare: expected two Run documents, or two or more profiles, got " +
                         std::to_string(runs) + " Run documents among " + std::to_string(given.size()) +
                         " files");
    return runs == 2;
}

/// Options that only Run documents know.
void refuse_run_options(const Arguments &arguments) {
    for (const char *option : {"fail-over", "by", "l2", "all"})
        if (arguments.has(option))
            throw UsageError(std::string("compare: --") + option +
                             " is of two Run documents, and these are profiles of GPUs");
}

} // namespace

int compare(const Arguments &arguments) {
    refuse_overwriting("compare", arguments);
    const std::vector<std::string> &names = arguments.positional();
    if (names.size() < 2)
        throw UsageError("compare: expected two Run documents, or two or more profiles, got " +
                         std::to_string(names.size()) +
                         ", for example: convcast compare before.json after.json");
    if (std::count(names.begin(), names.end(), "-") > 1)
        throw UsageError("compare: standard input (-) can be only one of the files");
    const Format format = format_of("compare", arguments, false);
    std::vector<NamedDocument> given;
    for (const std::string &name : names)
        given.push_back(look_at(name));
    if (are_runs(given))
        return compare_run_documents(arguments, given[0].run(), given[1].run());
    refuse_run_options(arguments);
    CompareOptions options;
    options.tolerance = arguments.share("tolerance");
    options.only = arguments.texts("only");
    std::vector<NamedProfile> profiles;
    for (const NamedDocument &one : given)
        profiles.push_back({one.shown, one.profile()});
    const std::vector<std::string> known = comparable_names(profiles);
    for (const std::string &name : options.only)
        if (std::find(known.begin(), known.end(), name) == known.end())
            throw UsageError("compare: no number or curve is named '" + name + "'" +
                             did_you_mean(name, known) +
                             " See docs/profile.md or convcast list --schema profile");

    const std::string output = arguments.text("output", "");
    const ProfileComparison comparison = compare_profiles(profiles, options);
    const std::string json = to_text(described::write(comparison));
    if (!output.empty())
        write_file_atomically(output, json);
    if (output != "-") {
        const std::size_t width = terminal_width();
        std::string text;
        if (format == Format::json)
            text = json;
        else if (format == Format::csv)
            text = to_csv(param_sheet(comparison));
        else if (format == Format::markdown)
            text = to_markdown(param_sheet(comparison)) + outcome_text(comparison, std::string::npos);
        else
            text = printable(files_text(comparison, width) + table(param_table(comparison), width) +
                             lacking_text(comparison, width) + surroundings_text(comparison, width) +
                             curves_text(comparison, width) + outcome_text(comparison, width));
        write_file_atomically("-", text);
    }
    return comparison.passed ? 0 : 1;
}

} // namespace convcast::cli
