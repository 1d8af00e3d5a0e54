#include "cli/own_kernels.hpp"

#include "cli/progress.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/predict.hpp"
#include "model/record/elsewhere.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

/// Kernels times shapes; compiling more would take minutes.
constexpr std::size_t most_compiled_for_forecasts = 50;

} // namespace

std::vector<OwnKernel> read_own_kernels(const Arguments &arguments, const std::vector<AskedShape> &shapes,
                                        const GpuProfile &profile) {
    std::vector<OwnKernel> kernels;
    const std::vector<std::string> files = arguments.texts("kernel"), launches = arguments.texts("launch");
    std::size_t next = 0; // the launch of the next FILE.cu; a launch file FILE.json has its own
    for (const std::string &file : files) {
        const bool is_launch_file = file.ends_with(".json");
        const std::string launch = !is_launch_file && next < launches.size() ? launches[next++] : "";
        OwnKernel kernel = read_own_kernel(file, launch);
        for (const OwnKernel &other : kernels)
            if (other.name == kernel.name)
                throw UsageError("--kernel " + file + ": " + kernel.file + " and " + other.file +
                                 " are both named " + kernel.name +
                                 "; give one another \"name\" in its launch");
        try {
            const Gpu gpu(profile);
            for (const AskedShape &asked : shapes)
                (void)own_launch(kernel, asked.shape, gpu); // throws where it has no value
        } catch (const UsageError &error) {
            throw UsageError("--kernel " + file + ": " + error.what());
        }
        kernels.push_back(std::move(kernel));
    }
    if (next < launches.size())
        throw UsageError("--launch was given " + std::to_string(launches.size()) +
                         " times, --kernel FILE.cu " + std::to_string(next) +
                         " times; give each file and its launch together, for example: --kernel mine.cu "
                         "--launch 'grid=ceil_div(p * q, 128),k,n; block=128'");
    return kernels;
}

std::vector<OwnTask> own_tasks(const std::vector<OwnKernel> &kernels, const std::vector<AskedShape> &shapes) {
    std::vector<OwnTask> tasks;
    for (const AskedShape &asked : shapes)
        for (const OwnKernel &kernel : kernels)
            tasks.push_back({&kernel, asked.shape});
    return tasks;
}

bool compile_for_forecasts(std::vector<OwnKernel> &kernels, const std::vector<AskedShape> &shapes,
                           const GpuProfile &profile) {
    const int capability = capability_of(profile);
    if (kernels.empty() || kernels.size() * shapes.size() > most_compiled_for_forecasts ||
        capability < least_compute_major * 10)
        return true;
    std::vector<std::string> problems;
    try {
        const std::vector<OwnTask> tasks = own_tasks(kernels, shapes);
        const std::vector<CheckedKernel> checked = compile_kernels({}, tasks, profile, capability).kernels;
        for (std::size_t i = 0; i < tasks.size(); ++i) {
            OwnKernel &kernel = kernels[static_cast<std::size_t>(tasks[i].kernel - kernels.data())];
            if (checked[i].registers)
                kernel.compiled[tasks[i].shape.id()] = {*checked[i].registers,
                                                        checked[i].static_shared_bytes.value_or(0)};
            else if (checked[i].threads &&
                     checked[i].problem && // without threads there is no launch: its forecast says why
                     std::ranges::find(problems, *checked[i].problem) == problems.end())
                note(problems.emplace_back(*checked[i].problem));
        }
    } catch (const GpuError &) { // no NVRTC here: the forecast says what it assumes instead
    }
    return problems.empty();
}

void forecast_from_counters(Run &run, const GpuProfile &profile, const Knowledge &knowledge, bool all) {
    for (Case &item : run.cases) {
        const OwnKernel *kernel = item.baseline ? run.own_kernel(*item.baseline) : nullptr;
        const Measurement *cold = item.measured(L2State::cold);
        if (kernel == nullptr || cold == nullptr || !cold->work || (kernel->work && !all))
            continue;
        Case now = predict_own(*kernel, ConvShape::parse(item.shape), profile, knowledge, &*cold->work);
        if (now.prediction)
            item.prediction = std::move(now.prediction);
    }
}

namespace {

/// Removes the times of shapes that were not asked, and says so on standard error.
void keep_asked(std::vector<Case> &added, const std::vector<AskedShape> &asked) {
    std::vector<std::string> shapes, strangers;
    for (const AskedShape &one : asked)
        shapes.push_back(one.shape.id());
    std::erase_if(added, [&](const Case &item) {
        const auto layer = std::ranges::find(shapes, item.shape);
        if (layer == shapes.end())
            strangers.push_back(item.shape);
        return layer == shapes.end();
    });
    if (strangers.empty())
        return;
    note(fmt::format("no such layer was asked: {}{}; {} left out{}", strangers.front(),
                     strangers.size() > 1 ? fmt::format(" and {} more", strangers.size() - 1) : "",
                     strangers.size() > 1 ? "their times are" : "its time is",
                     did_you_mean(strangers.front(), shapes)));
}

/// Inserts a time behind the other cases of its shape, or at the end, with its layer's name and count.
void insert_beside(std::vector<Case> &cases, Case item, const std::vector<AskedShape> &asked) {
    for (const AskedShape &one : asked)
        if (one.shape.id() == item.shape) {
            label(item, one);
            break;
        }
    const auto last = std::find_if(cases.rbegin(), cases.rend(),
                                   [&](const Case &other) { return other.shape == item.shape; });
    cases.insert(last.base() == cases.begin() ? cases.end() : last.base(), std::move(item));
}

} // namespace

void add_external_times(std::vector<Case> &cases, const Arguments &arguments, const GpuProfile *profile,
                        const std::vector<AskedShape> *asked) {
    std::vector<Case> added;
    for (const std::string &text : arguments.texts("time"))
        added.push_back(parse_elsewhere(text, "--time"));
    for (const std::string &file : arguments.texts("times"))
        for (Case &item : read_elsewhere(read_file(file), shown_name(file)))
            added.push_back(std::move(item));
    if (asked != nullptr)
        keep_asked(added, *asked);
    if (added.empty())
        return;
    // A case of a time measured elsewhere is a baseline: `baseline` is there for all that are dereferenced.
    if (profile != nullptr)
        for (Case &item : added)
            item.prediction =
                predict_baseline(*item.baseline, ConvShape::parse(item.shape), *profile).prediction;
    if (asked != nullptr) {
        for (Case &item : added) {
            std::erase_if(cases, [&](const Case &other) { // replaced
                return other.shape == item.shape && other.baseline == item.baseline;
            });
            insert_beside(cases, std::move(item), *asked);
        }
        return;
    }
    // A document may have very many cases: here a map finds the one that is replaced, in its place.
    std::map<std::pair<std::string, std::string>, std::size_t> places;
    for (std::size_t i = 0; i < cases.size(); ++i)
        if (is_elsewhere(cases[i]))
            places.emplace(std::pair(cases[i].shape, *cases[i].baseline), i);
    for (Case &item : added) {
        const auto [place, is_new] = places.emplace(std::pair(item.shape, *item.baseline), cases.size());
        if (is_new)
            cases.push_back(std::move(item));
        else
            cases[place->second] = std::move(item);
    }
}

} // namespace convcast::cli
