#include "executor/count/exact_work.hpp"

#include "executor/count/exact_counts.hpp"
#include "executor/launch/kernel_cache.hpp"
#include "executor/launch/prepare.hpp"
#include "executor/verify/tensors.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
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

struct Stream {
    Stream() { check(cudaStreamCreate(&handle), "cudaStreamCreate"); }
    ~Stream() { (void)cudaStreamDestroy(handle); }
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;
    cudaStream_t handle = nullptr;
};

/// What one shape's tasks are run on.
struct ShapeData {
    ShapeData(const ConvShape &its_shape, const ReferenceKernels &kernels, std::uint64_t seed)
        : shape(its_shape), tensors(on_device(shape, real_inputs(shape, seed), kernels, seed)),
          output(static_cast<std::size_t>(shape.output_bytes()), poison_of(shape)) {}

    ConvShape shape;
    Tensors tensors;
    GuardedBuffer<std::byte> output;
};

/// A plan that gave the right result.
struct Verified {
    std::size_t task;
    PreparedPlan prepared; ///< holds its workspace
};

bool is_fatal(const GpuError &error) {
    return dynamic_cast<const DeviceLost *>(&error) != nullptr ||
           dynamic_cast<const CounterPermissionError *>(&error) != nullptr;
}

/// What `make` gives, or what it says is wrong.
template <class T, class Make> std::variant<T, std::string> unless_wrong(const Make &make) {
    try {
        return make();
    } catch (const GpuError &error) {
        if (is_fatal(error))
            throw;
        (void)cudaGetLastError(); // not sticky: cleared, so that the next call does not report it again
        return std::string(error.what());
    } catch (const std::bad_alloc &) {
        return std::string("out of host memory for its tensors or reference");
    }
}

class ExactCounter {
  public:
    ExactCounter(Compiler &compiler, const Device &device, std::span<const ExactTask> tasks,
                 const ExactOptions &options)
        : tasks_(tasks), options_(options), kernels_(compiler, device.facts().compute_capability()),
          reference_(compiler, device.facts().compute_capability()), session_(exact_metric_names()) {
        std::vector<Plan> plans;
        for (const ExactTask &task : tasks)
            plans.push_back(*task.plan);
        kernels_.compile_ahead(plans, options.compile_threads);
    }

    /// Of tasks `first` and up to as many of the same shape behind it as are counted together.
    std::vector<ExactCounts> counts_from(std::size_t first) {
        const ConvShape &shape = tasks_[first].shape;
        std::size_t end = first;
        while (end < tasks_.size() && end - first < most_at_once && tasks_[end].shape == shape)
            ++end;
        if (!data_ || data_->shape != shape) {
            data_.reset(); // frees the last shape's memory first
            auto made = unless_wrong<std::optional<ShapeData>>(
                [&] { return std::optional<ShapeData>(std::in_place, shape, reference_, options_.seed); });
            if (const auto *why = std::get_if<std::string>(&made))
                return std::vector<ExactCounts>(end - first, *why);
            data_ = std::move(std::get<std::optional<ShapeData>>(made));
        }
        std::vector<ExactCounts> counts;
        std::vector<Verified> verified;
        for (std::size_t task = first; task < end; ++task) {
            if (!verified.empty() && short_of_memory())
                break; // workspaces of those before
            auto made = unless_wrong<Verified>([&] { return verify(task); });
            counts.emplace_back("not counted");
            if (const auto *why = std::get_if<std::string>(&made))
                counts.back() = *why;
            else
                verified.push_back(std::move(std::get<Verified>(made)));
        }
        for (auto &[task, its] : collect(verified))
            counts[task - first] = std::move(its);
        return counts;
    }

  private:
    static bool short_of_memory() {
        std::size_t free = 0, total = 0;
        check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
        return free < total / 2;
    }

    void run(const PreparedPlan &prepared) {
        prepared.call(data_->tensors.input.data(), data_->tensors.filters.data(), data_->output.data(),
                      stream_.handle);
    }

    Verified verify(std::size_t task) {
        const Plan &plan = *tasks_[task].plan;
        Verified made{task, prepare(kernels_, plan, data_->shape)};
        data_->output.poison();
        run(made.prepared);
        check(cudaStreamSynchronize(stream_.handle), "cudaStreamSynchronize before counting");
        const Gate gate = plan.transformed_fmas ? Gate::transformed : Gate::rounding;
        const Verdict verdict =
            judge(gate, data_->shape,
                  reference_.compare(data_->shape, data_->output.data(), Layout::channels_first,
                                     data_->tensors.reference, rounding_bound(data_->shape)));
        if (!verdict.passed)
            throw GpuError("its result is wrong: " + verdict.message);
        if (!data_->output.guards_intact())
            throw GpuError("it writes outside its output");
        return made;
    }

    /// By task.
    std::vector<std::pair<std::size_t, ExactCounts>> collect(const std::vector<Verified> &verified) {
        const auto values_of = [&](std::span<const Verified> some) {
            std::vector<CounterSession::Work> calls;
            for (const Verified &one : some)
                calls.emplace_back([this, &one] { run(one.prepared); });
            return session_.collect_each({}, calls);
        };
        std::vector<std::pair<std::size_t, ExactCounts>> counts;
        const auto together =
            unless_wrong<std::vector<CounterSession::Values>>([&] { return values_of(verified); });
        const auto *values = std::get_if<std::vector<CounterSession::Values>>(&together);
        for (std::size_t i = 0; i < verified.size(); ++i)
            counts.emplace_back(verified[i].task, values ? ExactCounts((*values)[i])
                                                         : unless_wrong<CounterSession::Values>([&] {
                                                               return values_of({&verified[i], 1}).front();
                                                           })); // one of them is to blame
        return counts;
    }

    std::span<const ExactTask> tasks_;
    const ExactOptions &options_;
    KernelCache kernels_;
    ReferenceKernels reference_;
    CounterSession session_;
    Stream stream_;
    std::optional<ShapeData> data_;
};

} // namespace

bool count_exactly(Compiler &compiler, const Device &device, std::span<const ExactTask> tasks,
                   const ExactOptions &options,
                   const std::function<void(std::size_t, const ExactCounts &)> &counted,
                   const std::function<void(std::size_t)> &progress) {
    if (tasks.empty())
        return true;
    ExactCounter counter(compiler, device, tasks, options);
    for (std::size_t task = 0; task < tasks.size();) {
        if (options.interrupt && options.interrupt->load())
            return false;
        for (const ExactCounts &counts : counter.counts_from(task))
            counted(task++, counts);
        progress(task);
    }
    return true;
}

} // namespace convcast
