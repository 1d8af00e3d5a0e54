#include "executor/run_case.hpp"

#include "executor/baselines/names.hpp"
#include "executor/count/case_counts.hpp"
#include "executor/kept_run.hpp"
#include "executor/launch/kernel_source.hpp"
#include "gpu/metrics.hpp"
#include "model/base/hash.hpp"
#include "model/base/statistics.hpp"
#include "model/record/shards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {

/// A case that is verified and timed, and waits to be counted.
struct Executor::Timed {
    Case *item; ///< gets `done` when it is counted: a case without its counters is not finished
    Case done;
    CaseCall call;
};

namespace {

/// Cases that are counted together: enough to forget what switching the profiler on takes, few enough to be
/// on disk soon.
constexpr std::size_t most_timed = 24;

/// Instrumented code is tens of times slower: a shape with more is not counted so, nor is others' code.
constexpr double most_instrumented_fmas = 2e9;

/// A baseline's plan is out of the race where its rough time is so many times the fastest plan's, and more by
/// what the host takes for the call and for waiting.
constexpr double far_slower = 3.0, host_side_seconds = 200e-6;

/// Relative L2 error beyond which a result is wrong rather than inaccurate.
constexpr double roughly_right = 1e-2;

template <class Member> double median_of(const std::vector<Sample> &samples, Member member) {
    std::vector<double> values;
    for (const Sample &sample : samples)
        values.push_back((sample.*member).value);
    return values.empty() ? std::numeric_limits<double>::quiet_NaN() : middle_of(values);
}

std::uint64_t seed_for(std::uint64_t seed, const ConvShape &shape) {
    return std::stoull(content_hash({std::to_string(seed), shape.id()}).substr(0, 16), nullptr, 16);
}

} // namespace

Executor::Executor(Compiler &compiler, const Device &device, const GpuProfile &profile, RunOptions options)
    : device_(device.facts()), profile_(profile), options_(std::move(options)),
      kernels_(compiler, device_.compute_capability()), compiler_(compiler),
      reference_(compiler, device_.compute_capability()), watch_(compiler, device_),
      baselines_(compiler, device_.compute_capability()) {
    // It would decide for every library in what arithmetic a baseline computes.
    ::unsetenv("NVIDIA_TF32_OVERRIDE");
    if (const auto &why = watch_.why_events())
        say_once("times are by CUDA events, some microseconds too long: " + *why);
    if (options_.count) {
        const auto why = why_refused([&] {
            counters_.emplace(hardware_metric_names());
            if (options_.count_exact_fmas)
                instrumented_.emplace(metric_names(metrics::instrumented));
        });
        if (why)
            say_once("no counters, timing only: " + *why);
    }
}

Executor::~Executor() = default;

void Executor::say_once(const std::string &what) {
    if (!options_.say || std::find(said_.begin(), said_.end(), what) != said_.end())
        return;
    said_.push_back(what);
    options_.say(what);
}

ShapeData &Executor::data_for(const ConvShape &shape) {
    if (!data_ || data_->shape() != shape) {
        data_.reset(); // frees the last shape's memory first
        baselines_.forget();
        picked_.clear();
        auto made = std::make_unique<ShapeData>(shape, reference_, seed_for(options_.seed, shape));
        for (const Gate gate : {Gate::exact, Gate::rounding}) // now: not while a call is timed
            (void)made->tensors(gate);
        data_ = std::move(made);
    }
    return *data_;
}

MadeCall Executor::call_of(Case &item, const ConvShape &shape) {
    if (!item.baseline && !item.strategy)
        throw UsageError("a case has neither a strategy nor a baseline");
    if (!item.baseline)
        return strategy_call(item, shape, profile_, kernels_);
    if (is_own(*item.baseline)) {
        const OwnKernel *kernel = run_ ? run_->own_kernel(*item.baseline) : nullptr;
        if (kernel == nullptr)
            throw UsageError("the document does not hold the kernel of " + *item.baseline);
        return own_kernel_call(item, *kernel, shape, profile_, compiler_, device_.compute_capability());
    }
    ShapeData &data = data_for(shape); // before a workspace takes what is free
    const Layout layout = layout_of(*item.baseline);
    PlanTrial trial;
    trial.time = [&, layout](const ConvCall &call, Seconds fastest) {
        const auto once = [&](cudaStream_t stream) { data.run(call, Gate::rounding, layout, stream); };
        // A library has dozens of plans that launch a kernel for each group. Timing each finely takes
        // minutes.
        const Seconds rough = watch_.rough_time(once);
        if (rough.value > far_slower * fastest.value + host_side_seconds)
            return rough;
        return watch_
            .measure(once,
                     {.min_samples = 3, .max_samples = 3, .max_time = Seconds(0.05), .warm_up = Seconds(0.0)})
            .median_time();
    };
    trial.what_is_wrong = [&, layout](const ConvCall &call, Gate gate) {
        return data.verify(call, gate, layout, watch_.stream()).message;
    };
    return baseline_call(item, shape, baselines_, trial);
}

Measurement Executor::time(const CaseCall &call, L2State l2, ShapeData &data) {
    const auto on_data = [&](const ConvCall &its) {
        return [&call, &data, &its](cudaStream_t stream) {
            data.run(its, call.second_gate, call.layout, stream);
        };
    };
    StopWatchOptions how{.l2 = l2,
                         .min_samples = options_.min_samples,
                         .max_samples = options_.max_samples,
                         .max_time = options_.max_time};
    if (l2 != options_.l2.front())
        how.warm_up = Seconds(0.0); // the clocks rose for the first
    const SampleSeries series = watch_.measure(on_data(call.call), how);

    Measurement m;
    m.l2 = l2;
    m.time_s = series.median_time();
    for (const Sample &sample : series.samples)
        m.samples_s.push_back(sample.time);
    m.event_time_s = Seconds(median_of(series.samples, &Sample::event_time));
    m.sm_clock_hz = Frequency(median_of(series.samples, &Sample::sm_clock));
    m.throttled_samples = std::count_if(series.samples.begin(), series.samples.end(),
                                        [](const Sample &sample) { return sample.throttled; });
    m.method = series.method;
    m.stop_reason = series.stop_reason;
    const std::vector<ActivityRecord> &records = series.activities;
    if (!records.empty())
        m.kernels = static_cast<std::int64_t>(records.size());
    if (call.prepares_nothing && !call.is_baseline)
        m.prepared_time_s = m.time_s;
    else if (call.copies_filters_first && records.size() == 2 && records[0].kind == ActivityKind::memcpy)
        // The copy and the gap behind it, as long as in the last sample.
        m.prepared_time_s =
            m.time_s - Seconds(1e-9 * static_cast<double>(records[1].start_ns - records[0].start_ns));
    else if (call.prepared_call) {
        how.warm_up = Seconds(0.0);
        m.prepared_time_s = watch_.measure(on_data(call.prepared_call), how).median_time();
    }
    const auto with_gaps = std::count_if(series.samples.begin(), series.samples.end(),
                                         [](const Sample &sample) { return sample.launch_gaps; });
    if (with_gaps > 0) {
        m.host_time_samples = with_gaps;
        say_once(fmt::format("{} on {}: host time may be inside {} of {} samples", call.name,
                             data.shape().id(), with_gaps, series.samples.size()));
    }
    return m;
}

/// Of one call each of `which` of the cases, from a cold L2; none of a case whose call cannot be counted.
std::vector<std::optional<CounterSession::Values>>
Executor::counts_of(CounterSession &session, const std::vector<Timed> &cases,
                    const std::vector<std::size_t> &which) {
    std::vector<CounterSession::Work> calls;
    for (const std::size_t i : which)
        calls.emplace_back([this, &call = cases[i].call] {
            data_->run(call.call, call.second_gate, call.layout, watch_.stream());
        });
    const std::vector<CountedCall> counted = collect_calls(
        session, [&] { watch_.flush_l2(); }, calls);
    std::vector<std::optional<CounterSession::Values>> counters(counted.size());
    for (std::size_t i = 0; i < counted.size(); ++i)
        if (const auto *why = std::get_if<std::string>(&counted[i]))
            say_once(fmt::format("{} on {} has no counters: {}", cases[which[i]].call.name,
                                 cases[which[i]].done.shape, *why));
        else
            counters[i] = std::get<CounterSession::Values>(counted[i]);
    return counters;
}

/// Into the case's cold measurement, or why it cannot stand.
void Executor::note_counters(Timed &timed, const CounterSession::Values &counters) const {
    add_counts(cold_measurement(timed.done), counters, profile_);
    if (timed.call.true_fp32 && used_tensor_cores(counters)) {
        timed.done.status = Status::failed;
        timed.done.reason = "used tensor cores: not true FP32";
        timed.done.measurements.clear();
    }
}

/// Counts the cases that wait for it and finishes them. If the device is lost they stay open.
void Executor::count_timed() {
    std::vector<Timed> timed = std::exchange(timed_, {});
    if (timed.empty())
        return;
    std::vector<std::size_t> all, plain;
    for (std::size_t i = 0; i < timed.size(); ++i) {
        all.push_back(i);
        // The counter of FMAs knows floats only.
        if (instrumented_ && !timed[i].call.is_baseline && data_->shape().dtype != DataType::i8 &&
            data_->shape().fmas().value <= most_instrumented_fmas)
            plain.push_back(i);
    }
    try {
        std::vector<std::optional<CounterSession::Values>> counters = counts_of(*counters_, timed, all);
        if (!plain.empty()) {
            auto exact = counts_of(*instrumented_, timed, plain);
            for (std::size_t i = 0; i < plain.size(); ++i)
                if (exact[i] && counters[plain[i]])
                    counters[plain[i]]->merge(*exact[i]);
        }
        for (std::size_t i = 0; i < timed.size(); ++i)
            if (counters[i])
                note_counters(timed[i], *counters[i]);
    } catch (const CounterPermissionError &error) {
        say_once(std::string("no counters, timing only: ") + error.what());
        counters_.reset();
        instrumented_.reset();
    } catch (const DeviceLost &error) {
        for (const Timed &one : timed) {
            one.item->status = Status::not_run;
            one.item->reason = std::string("the device was lost before it was counted: ") + error.what();
        }
        throw;
    }
    for (Timed &one : timed) {
        if (!one.call.plan.empty() && one.call.true_fp32 && one.done.status == Status::ok)
            picked_.emplace(one.call.plan, one.done);
        *one.item = std::move(one.done);
    }
}

/// Verifies and times. What was run, if it is to be counted.
std::optional<CaseCall> Executor::measure(Case &item) {
    const ConvShape shape = ConvShape::parse(item.shape);
    MadeCall made = call_of(item, shape);
    if (const auto *why = std::get_if<std::string>(&made)) {
        item.status = Status::unsupported;
        item.reason = *why;
        return std::nullopt;
    }
    CaseCall &call = std::get<CaseCall>(made);
    if (std::any_of(timed_.begin(), timed_.end(),
                    [&](const Timed &timed) { return !call.plan.empty() && timed.call.plan == call.plan; }))
        count_timed();
    if (const auto same = picked_.find(call.plan); same != picked_.end()) {
        item.measurements = same->second.measurements;
        item.status = Status::ok;
        item.reason.reset();
        *item.detail += "; the same plan as " + *same->second.baseline + ", measured there";
        return std::nullopt;
    }
    ShapeData &data = data_for(shape);

    const auto wrong = [&](const std::string &message) {
        item.status = Status::wrong_result;
        item.reason = message;
        item.measurements.clear();
        return std::nullopt;
    };
    if (call.second_gate == Gate::rounding)
        if (const Verdict first = data.verify(call.call, Gate::exact, call.layout, watch_.stream());
            !first.passed)
            return wrong(first.message);
    const Verdict second = data.verify(call.call, call.second_gate, call.layout, watch_.stream());
    // A transform of others that loses too many digits is right, but not in the accuracy that is compared
    // here.
    if (!second.passed && call.is_baseline && second.not_a_number == 0 &&
        second.relative_l2_error < roughly_right) {
        item.status = Status::unsupported;
        item.reason = "not accurate enough to be compared: " + second.message;
        return std::nullopt;
    }
    if (!second.passed)
        return wrong(second.message);

    for (const L2State l2 : options_.l2) {
        Measurement &m = item.measurements.emplace_back(time(call, l2, data));
        m.relative_l2_error = second.relative_l2_error;
        m.max_error_ratio = second.max_error_ratio;
    }
    // Hundreds of calls later the output must still be right: a race does not show in every call.
    if (const Verdict after = data.verdict(call.second_gate, call.layout); !after.passed)
        return wrong("after timing, " + after.message);

    item.status = Status::ok;
    item.reason.reset();
    if (counters_ && std::any_of(item.measurements.begin(), item.measurements.end(),
                                 [](const Measurement &m) { return m.l2 == L2State::cold; }))
        return std::move(call);
    if (!call.plan.empty() && call.true_fp32)
        picked_.emplace(call.plan, item);
    return std::nullopt;
}

/// Verifies and times `item`, which is finished then or when count_timed() is called.
void Executor::start(Case &item) {
    Case done = item;
    const auto failed = [&](const char *why) {
        done.status = Status::failed;
        done.reason = why;
        done.measurements.clear();
    };
    done.measurements.clear();
    done.detail.reset();
    try {
        if (std::optional<CaseCall> call = measure(done)) {
            timed_.push_back({&item, std::move(done), std::move(*call)});
            return;
        }
    } catch (const DeviceLost &error) {
        failed(error.what());
        item = std::move(done);
        throw;
    } catch (const GpuError &error) {
        failed(error.what());
        (void)cudaGetLastError();       // not sticky: cleared, so that the next call does not report it again
    } catch (const UsageError &error) { // a shape or strategy text of the document
        failed(error.what());
    } catch (const std::bad_alloc &) {
        failed("out of host memory for its tensors or references");
    }
    item = std::move(done);
}

/// The cases that wait to be counted hold workspaces: they must go before the next may want one.
bool Executor::must_count_before(const Case &next) const {
    if (timed_.empty())
        return false;
    return timed_.size() >= most_timed || next.shape != timed_.back().done.shape || half_is_taken();
}

void Executor::note_conditions(Run &run) const {
    run.conditions["gpu"] = device_.name;
    run.conditions["driver_cuda"] = cuda_version_text(device_.driver_version);
    run.conditions["seed"] = std::to_string(options_.seed);
    run.conditions["time_by"] = watch_.why_events() ? "events: " + *watch_.why_events() : "activity records";
}

RunEnd Executor::run_all(Run &run, const std::function<void(const Run &, std::size_t)> &keep) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::seconds between_keeps(2);

    note_conditions(run);
    run_ = &run;
    const auto to_run = [&](const Case &item) {
        return is_open(item) &&
               !options_.settled.contains(static_cast<std::size_t>(&item - run.cases.data()));
    };
    std::vector<Plan> plans;
    for (const Case &item : run.cases)
        if (to_run(item) && item.prediction && item.prediction->plan)
            plans.push_back(*item.prediction->plan);
    if (std::any_of(plans.begin(), plans.end(), launches_added_kernel))
        run.conditions[added_code_condition] = added_code_hash();
    kernels_.compile_ahead(plans, options_.compile_threads);

    RunEnd end = RunEnd::finished;
    std::string why_not_run;
    std::size_t settled = 0;
    Clock::time_point kept = Clock::now();
    for (Case &item : run.cases) {
        if (end == RunEnd::finished && options_.interrupt && options_.interrupt->load()) {
            end = RunEnd::interrupted;
            why_not_run = "interrupted";
        } else if (end == RunEnd::finished && options_.until && Clock::now() >= *options_.until &&
                   to_run(item)) {
            end = RunEnd::incomplete;
            why_not_run = "the time given was over";
        }
        if (to_run(item)) {
            if (end == RunEnd::finished) {
                try {
                    if (must_count_before(item))
                        count_timed();
                    start(item);
                } catch (const DeviceLost &error) {
                    end = RunEnd::device_lost;
                    why_not_run = std::string("the device was lost in an earlier case: ") + error.what();
                }
            } else {
                item.status = Status::not_run;
                item.reason = why_not_run;
                continue;
            }
        }
        ++settled;
        if (Clock::now() - kept >= between_keeps) {
            keep(run, settled - timed_.size());
            kept = Clock::now();
        }
    }
    try {
        count_timed();
    } catch (const DeviceLost &) {
        end = RunEnd::device_lost;
    }
    for (const auto &[library, version] : baselines_.versions())
        run.conditions[library] = version;
    keep(run, settled);
    return end;
}

} // namespace convcast
