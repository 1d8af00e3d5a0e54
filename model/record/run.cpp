#include "model/record/run.hpp"

#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/record/run_lines.hpp"
#include "model/shape/conv_shape.hpp"
#include "model/strategies/list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace convcast {
namespace {

void check_timeline(const std::optional<Timeline> &timeline, const FieldProblem &problem) {
    if (timeline)
        for (const std::string &sentence : problems_of(*timeline))
            problem("timeline", sentence);
}

/// Which case a problem is about, of its place "run.json:12: /cases/3/status"; none where it is about the
/// document.
std::optional<std::size_t> case_of(const InputProblem &problem, const std::string &file) {
    constexpr std::string_view cases = "/cases/";
    const std::size_t colon = problem.place.find(": ", file.size()); // behind the line
    const std::string_view path =
        std::string_view(problem.place).substr(std::min(colon, problem.place.size() - 2) + 2);
    if (!path.starts_with(cases))
        return std::nullopt;
    std::size_t index = 0;
    return std::from_chars(path.data() + cases.size(), path.data() + path.size(), index).ec == std::errc{}
               ? std::optional(index)
               : std::nullopt;
}

/// Moves the cases that problems are about to Run::unread. Throws InputError with all problems where one is
/// about the document, or none of the cases is left.
void put_aside(Run &run, const JsonValue &json, std::vector<InputProblem> problems, const std::string &file) {
    std::map<std::size_t, std::vector<InputProblem>> by_case;
    for (const InputProblem &problem : problems) {
        const std::optional<std::size_t> index = case_of(problem, file);
        if (!index || *index >= run.cases.size())
            throw InputError(std::move(problems));
        by_case[*index].push_back(problem);
    }
    if (by_case.empty())
        return;
    if (by_case.size() == run.cases.size())
        throw InputError(std::move(problems));
    const JsonArray &texts = *json.find("cases")->array();
    std::vector<Case> readable;
    for (std::size_t i = 0; i < run.cases.size(); ++i)
        if (const auto found = by_case.find(i); found != by_case.end())
            run.unread.push_back({readable.size(), to_text(texts[i]), std::move(found->second)});
        else
            readable.push_back(std::move(run.cases[i]));
    run.cases = std::move(readable);
}

/// Earlier versions did not write of a launch what its kernel is compiled with: of one on tensor cores, the
/// instructions that only its architecture has.
void complete(Prediction &prediction) {
    if (!prediction.plan)
        return;
    for (Partition &launch : prediction.plan->launches)
        if (launch.step.tensor_fmas)
            launch.architecture_features = true;
}

} // namespace

void check_error_of_status(Status status, std::optional<double> error, const std::string &field,
                           const FieldProblem &problem) {
    if (status == Status::ok && error && !(*error <= most_error_of_right_results))
        problem(field, fmt::format("expected at most {} of a result whose status is ok; another is "
                                   "\"wrong_result\"",
                                   most_error_of_right_results));
}

void Prediction::check(const FieldProblem &problem) const {
    if (time_low_s && time_high_s && !(*time_low_s <= *time_high_s))
        problem("time_low_s", "expected at most time_high_s");
    check_timeline(timeline, problem);
}

void Measurement::check(const FieldProblem &problem) const {
    if (!(time_s.value > 0.0))
        problem("time_s", "expected a time above zero, in seconds");
    check_timeline(timeline, problem);
}

void Case::check(const FieldProblem &problem) const {
    try {
        ConvShape::parse(shape);
    } catch (const UsageError &error) {
        problem("shape", error.what());
    }
    if (strategy.has_value() == baseline.has_value())
        problem("", "expected either \"strategy\" or \"baseline\"");
}

const OwnKernel *Run::own_kernel(const std::string &baseline) const {
    for (const OwnKernel &kernel : own_kernels)
        if (is_own(baseline) && baseline.substr(std::string_view(own_prefix).size()) == kernel.name)
            return &kernel;
    return nullptr;
}

Run read_run(const std::string &text, const std::string &file,
             const std::function<void(const std::string &)> &check_baseline) {
    constexpr std::size_t large = 32 << 20;
    if (are_run_lines(text))
        return read_run_lines(text, file, check_baseline);
    if (text.size() > large)
        if (std::optional<Run> run = read_in_pieces(text, file, check_baseline))
            return std::move(*run);
    return read_whole_run(text, file, check_baseline);
}

Run read_whole_run(const std::string &text, const std::string &file, const BaselineCheck &check_baseline) {
    const JsonValue json = parse_json(text, file);
    described::require_schema(json, file, "convcast/run/1");
    described::Reader reader(file);
    Run run;
    reader.read(json, "", run);
    if (reader.full()) // what comes behind was not read
        reader.finish();
    std::vector<InputProblem> problems = reader.take_problems();
    std::set<std::optional<std::size_t>> broken; // cases with fields that are not what they should be
    for (const InputProblem &problem : problems)
        broken.insert(case_of(problem, file));
    for (std::size_t i = 0; i < run.cases.size(); ++i) {
        if (broken.contains(i))
            continue;
        const Case &item = run.cases[i];
        const JsonValue &its = (*json.find("cases")->array())[i];
        const std::string place = "/cases/" + std::to_string(i);
        const auto problem = [&](const std::string &where, const std::string &what) {
            const JsonValue *field = its.find(where.substr(std::min<std::size_t>(1, where.size())));
            problems.push_back(
                {file + ":" + std::to_string((field == nullptr ? its : *field).line()) + ": " + place + where,
                 what});
        };
        const auto check_name = [&](const std::string &where, const auto &parse) {
            try {
                parse();
            } catch (const UsageError &error) {
                problem(where, error.what());
            }
        };
        if (item.strategy)
            check_name("/strategy", [&] { parse_strategy(*item.strategy); });
        if (item.baseline && check_baseline)
            check_name("/baseline", [&] { check_baseline(*item.baseline); });
    }
    put_aside(run, json, std::move(problems), file);
    for (Case &item : run.cases)
        if (item.prediction)
            complete(*item.prediction);
    return run;
}

} // namespace convcast
