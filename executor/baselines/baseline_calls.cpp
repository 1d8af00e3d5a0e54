#include "executor/baselines/baseline_calls.hpp"

#include "executor/baselines/cublas.hpp"
#include "executor/baselines/cudnn.hpp"
#include "executor/baselines/cudnn_graph.hpp"
#include "executor/baselines/im2col.hpp"
#include "gpu/check.hpp"
#include "model/base/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

/// Opened when first asked for; why it is not there is asked once only.
template <auto open_library> struct Lazy {
    decltype(open_library()) library;
    std::optional<std::string> why_not;

    const auto &open() {
        if (!library && !why_not)
            why_not = why_refused([&] { library = open_library(); });
        return library;
    }
};

/// Where a plan takes so many times as long as the fastest one, other knobs of its engine are not tried. On
/// layers of many groups most engines launch a kernel for each group.
constexpr double hopeless_times = 30.0;

std::string microseconds(Seconds time) {
    return fmt::format("{:.1f} us", time.value * 1e6);
}

} // namespace

struct BaselineCalls::Libraries {
    Lazy<open_cudnn> cudnn;
    Lazy<open_cudnn_graph> graph;
    Lazy<open_cublas> cublas;
};

/// The plans of one shape after a quick look at each, fastest first.
struct BaselineCalls::Timed {
    struct Plan {
        GraphPlan plan;
        Seconds time;
    };

    ConvShape shape;
    std::string listed_for; ///< the baseline whose notes allow these plans
    std::vector<Plan> plans;
    std::size_t refused = 0;  ///< by cuDNN, when built or run
    std::size_t left_out = 0; ///< not tried: their engine is hopeless_times slower with other knobs
    std::string why_none;     ///< of the last refusal when run
};

BaselineCalls::BaselineCalls(Compiler &compiler, int compute_capability)
    : compiler_(compiler), compute_capability_(compute_capability),
      libraries_(std::make_unique<Libraries>()) {}

BaselineCalls::~BaselineCalls() = default;

void BaselineCalls::forget() {
    timed_.reset();
}

std::map<std::string, std::string> BaselineCalls::versions() const {
    std::map<std::string, std::string> versions;
    if (libraries_->cudnn.library)
        versions["cudnn"] = libraries_->cudnn.library->version();
    if (libraries_->graph.library)
        versions["cudnn"] = libraries_->graph.library->version();
    if (libraries_->cublas.library)
        versions["cublas"] = libraries_->cublas.library->version();
    return versions;
}

std::variant<BaselineCall, std::string> BaselineCalls::make(const std::string &baseline,
                                                            const ConvShape &shape, const PlanTrial &trial) {
    if (shape.dtype != type_of(baseline))
        return std::string(type_of(baseline) == DataType::f16
                               ? "for halves only: the shape has another type"
                               : "computes in FP32: the shape has another type");
    if (is_picked_plan(baseline))
        return pick(baseline, shape, trial);
    std::variant<BaselineCall, std::string> made;
    if (baseline == "cublas" && !is_its_own_columns(shape))
        return std::string("a matrix product only where filters are 1 x 1, at stride 1 and without padding");
    if (baseline == "im2col_cublas" || baseline == "cublas") {
        const std::shared_ptr<const Cublas> &cublas = libraries_->cublas.open();
        if (!cublas)
            return *libraries_->cublas.why_not;
        made = im2col_cublas(cublas, compiler_, compute_capability_, shape);
    } else {
        const std::shared_ptr<const Cudnn> &cudnn = libraries_->cudnn.open();
        if (!cudnn)
            return *libraries_->cudnn.why_not;
        made = cudnn->call(baseline, shape);
    }
    if (auto *call = std::get_if<BaselineCall>(&made))
        call->second_gate = second_gate(baseline);
    return made;
}

std::variant<BaselineCall, std::string> BaselineCalls::pick(const std::string &baseline,
                                                            const ConvShape &shape, const PlanTrial &trial) {
    const std::shared_ptr<const CudnnGraph> &graph = libraries_->graph.open();
    if (!graph)
        return *libraries_->graph.why_not;
    // The plans in true FP32 and NCHW are listed once for all baselines that are picked from them.
    const bool common = is_true_fp32(baseline) && layout_of(baseline) == Layout::channels_first;
    const std::string listed_for = common ? "cudnn:graph" : baseline;
    if (!timed_ || timed_->shape != shape || timed_->listed_for != listed_for) {
        timed_.reset(); // frees its workspace first
        auto timed = std::make_unique<Timed>();
        timed->shape = shape;
        timed->listed_for = listed_for;
        GraphPlans found = graph->plans(shape, listed_for);
        timed->refused = found.refused;
        Seconds fastest(std::numeric_limits<double>::infinity());
        std::set<std::int64_t> hopeless; // engines
        for (GraphPlan &plan : found.plans) {
            if (hopeless.contains(plan.engine)) {
                ++timed->left_out;
                continue;
            }
            const auto why = why_refused([&] {
                const Seconds time = trial.time(plan.call, fastest);
                fastest = Seconds(std::min(fastest.value, time.value));
                if (time.value > hopeless_times * fastest.value)
                    hopeless.insert(plan.engine);
                timed->plans.push_back({std::move(plan), time});
            });
            if (why) { // built, but not run
                ++timed->refused;
                timed->why_none = ": " + *why;
            }
        }
        std::stable_sort(
            timed->plans.begin(), timed->plans.end(),
            [](const Timed::Plan &a, const Timed::Plan &b) { return a.time.value < b.time.value; });
        timed_ = std::move(timed);
    }

    std::string left_out;
    for (std::size_t i = 0; i < timed_->plans.size(); ++i) {
        const auto &[plan, time] = timed_->plans[i];
        if (!plan_allowed(baseline, plan.notes))
            continue;
        const Gate gate = second_gate(plan.notes);
        std::string wrong = gate == Gate::rounding ? trial.what_is_wrong(plan.call, Gate::exact) : "";
        if (wrong.empty())
            wrong = trial.what_is_wrong(plan.call, gate);
        if (!wrong.empty()) {
            left_out +=
                fmt::format("; {} ({}) was faster, but not right: {}", plan.name, microseconds(time), wrong);
            continue;
        }
        const std::string untried =
            timed_->left_out == 0
                ? ""
                : fmt::format(", {} not tried, as their engines are over {:.0f} times slower",
                              timed_->left_out, hopeless_times);
        std::string detail =
            fmt::format("{}; notes {}; workspace {} bytes; {} of {} plans in a first look{}", plan.name,
                        plan.note_names.empty() ? "none" : join(plan.note_names), plan.workspace_bytes,
                        microseconds(time), timed_->plans.size(), untried);
        return BaselineCall{plan.call, detail + left_out, gate, listed_for + " " + plan.name};
    }
    return fmt::format("cuDNN's graph interface has no such plan that runs here; it refused {} settings{}{}",
                       timed_->refused, timed_->why_none, left_out);
}

} // namespace convcast
