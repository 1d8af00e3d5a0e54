#include "executor/count/exact_work.hpp"

#include "executor/count/case_counts.hpp"
#include "executor/launch/kernel_cache.hpp"
#include "executor/verify/tensors.hpp"
#include "gpu/stream.hpp"
#include "model/choose/setting.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

/// Few enough to be on disk soon: switching the profiler on takes as long as patching the code of one to two.
constexpr std::size_t most_at_once = 24;

/// A plan that gave the right result.
struct Verified {
    std::size_t task;
    PreparedPlan prepared; ///< holds its workspace
};

/// Why `part` cannot be done for one shape or task; absent if it was done.
template <class Part> std::optional<std::string> what_is_wrong(const Part &part) {
    try {
        return why_refused<CounterPermissionError>(part);
    } catch (const std::bad_alloc &) {
        return "out of host memory for its tensors or reference";
    }
}

class ExactCounter {
  public:
    ExactCounter(Compiler &compiler, const Device &device, std::span<const PlanTask> tasks,
                 const ExactOptions &options)
        : tasks_(tasks), options_(options), kernels_(compiler, device.facts().compute_capability()),
          reference_(compiler, device.facts().compute_capability()), session_(exact_metric_names()) {
        std::vector<Plan> plans;
        for (const PlanTask &task : tasks)
            plans.push_back(*task.plan);
        kernels_.compile_ahead(plans, options.compile_threads);
    }

    /// Of tasks `first` and up to as many of the same shape behind it as are counted together.
    std::vector<CountedCall> counts_from(std::size_t first) {
        const ConvShape &shape = tasks_[first].shape;
        std::size_t end = first;
        while (end < tasks_.size() && end - first < most_at_once && tasks_[end].shape == shape)
            ++end;
        if (!data_ || data_->shape() != shape) {
            data_.reset(); // frees the last shape's memory first
            const auto why = what_is_wrong([&] {
                data_ = std::make_unique<ShapeData>(shape, reference_, options_.seed);
                (void)data_->tensors(Gate::rounding);
            });
            if (why) {
                data_.reset();
                return std::vector<CountedCall>(end - first, *why);
            }
        }
        std::vector<CountedCall> counts;
        std::vector<Verified> verified;
        for (std::size_t task = first; task < end; ++task) {
            if (!verified.empty() && half_is_taken())
                break; // by workspaces of those before
            const auto why = what_is_wrong([&] { verified.push_back(verify(task)); });
            counts.emplace_back(why.value_or("not counted"));
        }
        std::vector<CountedCall> collected = collect(verified);
        for (std::size_t i = 0; i < verified.size(); ++i)
            counts[verified[i].task - first] = std::move(collected[i]);
        return counts;
    }

  private:
    Verified verify(std::size_t task) {
        const Plan &plan = *tasks_[task].plan;
        Verified made{task, prepare(kernels_, plan, data_->shape())};
        const Verdict verdict =
            data_->verify(made.prepared.call, plan.transformed_fmas ? Gate::transformed : Gate::rounding,
                          Layout::channels_first, stream_.handle());
        if (!verdict.passed)
            throw GpuError("its result is wrong: " + verdict.message);
        return made;
    }

    std::vector<CountedCall> collect(const std::vector<Verified> &verified) {
        std::vector<CounterSession::Work> calls;
        for (const Verified &one : verified)
            calls.emplace_back([this, &one] {
                data_->run(one.prepared.call, Gate::rounding, Layout::channels_first, stream_.handle());
            });
        return collect_calls(session_, {}, calls);
    }

    std::span<const PlanTask> tasks_;
    const ExactOptions &options_;
    KernelCache kernels_;
    ReferenceKernels reference_;
    CounterSession session_;
    Stream stream_{Stream::Kind::ordered};
    std::unique_ptr<ShapeData> data_;
};

} // namespace

bool count_exactly(Compiler &compiler, const Device &device, std::span<const PlanTask> tasks,
                   const ExactOptions &options,
                   const std::function<void(std::size_t, const CountedCall &)> &counted,
                   const std::function<void(std::size_t)> &progress) {
    if (tasks.empty())
        return true;
    ExactCounter counter(compiler, device, tasks, options);
    for (std::size_t task = 0; task < tasks.size();) {
        if (options.interrupt && options.interrupt->load())
            return false;
        for (const CountedCall &counts : counter.counts_from(task))
            counted(task++, counts);
        progress(task);
    }
    return true;
}

namespace {

/// A case with the plan that is counted for it.
struct OpenCase {
    Case *item;
    ConvShape shape;
    Plan plan;
};

/// Those of one shape behind each other.
std::vector<OpenCase>
open_cases(Run &run, const GpuProfile &profile,
           const std::function<void(const Case &, const std::string *why_none)> &settled) {
    const Gpu gpu(profile);
    std::map<std::string, std::size_t> order; // of shapes, as they appear
    std::vector<OpenCase> open;
    for (Case &item : run.cases) {
        if (!lacks_exact_counts(item))
            continue;
        order.try_emplace(item.shape, order.size());
        const auto none = [&](const std::string &why) { settled(item, &why); };
        try {
            const ConvShape shape = ConvShape::parse(item.shape);
            auto planned = plan(parse_strategy(*item.strategy), shape, gpu);
            if (const auto *why = std::get_if<Infeasible>(&planned))
                none(why->why);
            else
                open.push_back({&item, shape, std::move(std::get<PlannedStrategy>(planned).feasible.plan)});
        } catch (const UsageError &error) { // a strategy's text in the document
            none(error.what());
        }
    }
    std::stable_sort(open.begin(), open.end(), [&](const OpenCase &a, const OpenCase &b) {
        return order.at(a.item->shape) < order.at(b.item->shape);
    });
    return open;
}

} // namespace

ExactEnd
add_exact_work(Run &run, const GpuProfile &profile, Compiler &compiler, const Device &device,
               const ExactOptions &options,
               const std::function<void(const Case &, const std::string *why_none)> &settled,
               const std::function<void(std::size_t done, std::size_t total, const Case *next)> &progress) {
    bool all = true;
    const auto settle = [&](const Case &item, const std::string *why_none) {
        all = all && why_none == nullptr;
        settled(item, why_none);
    };
    const std::vector<OpenCase> open = open_cases(run, profile, settle);
    std::vector<PlanTask> tasks;
    for (const OpenCase &one : open)
        tasks.push_back({&one.plan, one.shape});
    const bool finished = count_exactly(
        compiler, device, tasks, options,
        [&](std::size_t task, const CountedCall &counts) {
            Case &item = *open[task].item;
            if (const auto *values = std::get_if<CounterSession::Values>(&counts))
                add_exact_counts(item, *values);
            settle(item, std::get_if<std::string>(&counts));
        },
        [&](std::size_t done) {
            progress(done, tasks.size(), done < tasks.size() ? open[done].item : nullptr);
        });
    return !finished ? ExactEnd::interrupted : all ? ExactEnd::all : ExactEnd::some;
}

} // namespace convcast
