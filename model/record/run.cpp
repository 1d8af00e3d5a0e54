#include "model/record/run.hpp"

#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/text.hpp"
#include "model/record/run_lines.hpp"
#include "model/shape/conv_shape.hpp"
#include "model/strategies/list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

void check_timeline(const std::optional<Timeline> &timeline, const FieldProblem &problem) {
    if (timeline)
        for (const std::string &sentence : problems_of(*timeline))
            problem("timeline", sentence);
}

/// The index of the case that a problem is about, 3 of its place "run.json:12: /cases/3/status"; absent where
/// it is about the document. `file` may have a colon itself, so that it is skipped first.
std::optional<std::size_t> case_of(const InputProblem &problem, const std::string &file) {
    constexpr std::string_view cases = ": /cases/";
    std::string_view path = problem.place;
    path.remove_prefix(std::min(path.find(": ", file.size()), path.size()));
    if (!path.starts_with(cases))
        return std::nullopt;
    path.remove_prefix(cases.size());
    return number_of<std::size_t>(path.substr(0, path.find('/')));
}

/// Tells `reader` of a strategy, or a baseline, of the case at `path` that does not exist.
void check_names(const Case &item, const std::string &path, const BaselineCheck &check_baseline,
                 described::Reader &reader) {
    const FieldProblem problem = [&](const std::string &field, const std::string &message) {
        reader.problem(path + "/" + field, message);
    };
    if (item.strategy)
        or_problem(problem, "strategy", [&] { parse_strategy(*item.strategy); });
    if (item.baseline && check_baseline)
        or_problem(problem, "baseline", [&] { check_baseline(*item.baseline); });
}

/// Moves the cases that `problems` are about from Run::cases to Run::unread, as they stand in `text`. Throws
/// InputError with all problems where one is about the document, or none of the cases is left.
void put_aside(Run &run, const std::string &text, std::vector<InputProblem> problems,
               const std::string &file) {
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
    std::vector<std::string> paths;
    for (const auto &[index, its] : by_case)
        paths.push_back("/cases/" + std::to_string(index));
    const std::vector<std::string> texts = parts_of_json(text, file, {}, paths).texts;
    std::vector<Case> readable;
    for (std::size_t i = 0; i < run.cases.size(); ++i)
        if (const auto found = by_case.find(i); found != by_case.end())
            run.unread.push_back({readable.size(), texts[run.unread.size()], std::move(found->second)});
        else
            readable.push_back(std::move(run.cases[i]));
    run.cases = std::move(readable);
}

/// Adds what earlier versions did not write: that the kernel of a launch on tensor cores is compiled with the
/// instructions that only its architecture has.
void complete(Case &item) {
    if (!item.prediction || !item.prediction->plan)
        return;
    for (Partition &launch : item.prediction->plan->launches)
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
    or_problem(problem, "shape", [&] { ConvShape::parse(shape); });
    if (strategy.has_value() == baseline.has_value())
        problem("", "expected either \"strategy\" or \"baseline\"");
}

const OwnKernel *Run::own_kernel(const std::string &baseline) const {
    for (const OwnKernel &kernel : own_kernels)
        if (is_own(baseline) && baseline.substr(std::string_view(own_prefix).size()) == kernel.name)
            return &kernel;
    return nullptr;
}

std::variant<Case, UnreadCase> read_case(std::string_view text, const std::string &file, int line,
                                         std::size_t index, const BaselineCheck &check_baseline) {
    const std::string path = "/cases/" + std::to_string(index);
    try {
        Case item;
        described::Reader reader(item, file, path);
        parse_json(text, file, std::ref(reader), line);
        check_names(item, path, check_baseline, reader);
        std::vector<InputProblem> problems = reader.problems(text, line);
        if (problems.empty()) {
            complete(item);
            return item;
        }
        return UnreadCase{0, parts_of_json(text, file, {}, {""}, line).texts.front(), std::move(problems)};
    } catch (const InputError &error) { // no JSON
        std::vector<InputProblem> problems = error.problems;
        for (InputProblem &problem : problems)
            problem.place += ": " + path;
        return UnreadCase{0, std::string(text), std::move(problems)};
    }
}

Run read_run(const std::string &text, const std::string &file, const BaselineCheck &check_baseline) {
    if (are_run_lines(text))
        return read_run_lines(text, file, check_baseline);
    Run run;
    described::Reader reader(run, file);
    parse_json(text, file, std::ref(reader));
    reader.require_schema(Run().schema);
    for (std::size_t i = 0; i < run.cases.size() && !reader.full(); ++i)
        check_names(run.cases[i], "/cases/" + std::to_string(i), check_baseline, reader);
    std::vector<InputProblem> problems = reader.problems(text);
    if (reader.full()) // what comes behind was not read
        throw InputError(std::move(problems));
    put_aside(run, text, std::move(problems), file);
    std::for_each(run.cases.begin(), run.cases.end(), complete);
    return run;
}

template const described::Type &described::type_of<Run>();
template const described::Type &described::type_of<Case>();

} // namespace convcast
