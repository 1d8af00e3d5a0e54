#include "executor/run_case.hpp"

#include "executor/baselines/names.hpp"
#include "executor/kept_run.hpp"
#include "executor/launch/kernel_source.hpp"
#include "executor/launch/own_call.hpp"
#include "executor/launch/prepare.hpp"
#include "executor/verify/inputs.hpp"
#include "gpu/metrics.hpp"
#include "model/base/hash.hpp"
#include "model/predict.hpp"
#include "model/record/shards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
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

/// Inputs of one shape on the device, and what a convolution of them gives.
struct Executor::ShapeData {
    using Numbers = Inputs (*)(const ConvShape &, std::uint64_t seed);

    /// In the shape's data type.
    struct Tensors {
        DeviceBuffer<std::byte> input, filters;
    };
    struct Set {
        Numbers numbers;
        std::map<Layout, Tensors> tensors;
        DeviceReference reference;
    };

    ShapeData(const ConvShape &its_shape, const ReferenceKernels &kernels, std::uint64_t its_seed)
        : shape(its_shape), seed(its_seed), integers(make(integer_inputs, kernels)),
          reals(make(real_inputs, kernels)),
          output(static_cast<std::size_t>(its_shape.output_bytes()), poison_of(its_shape)) {}

    Set make(Numbers numbers, const ReferenceKernels &kernels) const {
        const Inputs inputs = numbers(shape, seed);
        Set set{numbers, {}, {}};
        set.reference = kernels.compute(shape, DeviceBuffer<float>(std::span(inputs.input)),
                                        DeviceBuffer<float>(std::span(inputs.filters)));
        check_reference(shape, inputs.input, inputs.filters, set.reference, seed);
        set.tensors.emplace(Layout::channels_first, on_device(inputs));
        return set;
    }

    Tensors on_device(const Inputs &inputs) const {
        const std::vector<std::byte> input = stored(inputs.input, shape.dtype),
                                     filters = stored(inputs.filters, shape.dtype);
        return {DeviceBuffer<std::byte>(std::span(input)), DeviceBuffer<std::byte>(std::span(filters))};
    }

    /// Made when first asked for.
    const Tensors &in(Set &set, Layout layout) const {
        auto found = set.tensors.find(layout);
        if (found == set.tensors.end())
            found = set.tensors.emplace(layout, on_device(laid_out(set.numbers(shape, seed), shape, layout)))
                        .first;
        return found->second;
    }

    void run(const ConvCall &call, Set &set, Layout layout, cudaStream_t stream) {
        const Tensors &tensors = in(set, layout);
        call(tensors.input.data(), tensors.filters.data(), output.data(), stream);
    }

    ConvShape shape;
    std::uint64_t seed;
    Set integers, reals;
    GuardedBuffer<std::byte> output;
};

/// What is run for a case.
struct Executor::Subject {
    std::string name;
    ConvCall call;
    ConvCall prepared_call; ///< without what is done once per filter set; empty if there is no such part
    Gate second_gate = Gate::rounding;
    Layout layout = Layout::channels_first;
    bool copies_filters_first = false; ///< one launch, behind a copy of the filters to constant memory
    bool prepares_nothing = true;      ///< no part of a call could be done once per filter set
    bool is_baseline = false;
    bool true_fp32 = true; ///< using tensor cores makes it a failure
    std::string plan;      ///< of a baseline that was picked among several
};

/// A case that is verified and timed, and waits to be counted.
struct Executor::Timed {
    Case *item; ///< gets `done` when it is counted: a case without its counters is not finished
    Case done;
    Subject subject;

    Measurement &cold() {
        return *std::find_if(done.measurements.begin(), done.measurements.end(),
                             [](const Measurement &m) { return m.l2 == L2State::cold; });
    }
};

namespace {

/// Cases that are counted together: enough to forget what switching the profiler on takes, few enough to be
/// on disk soon.
constexpr std::size_t most_timed = 24;

/// Instrumented code is tens of times slower: a shape with more is not counted so, nor is others' code.
constexpr double most_instrumented_fmas = 2e9;

/// Relative L2 error beyond which a result is wrong rather than inaccurate.
constexpr double roughly_right = 1e-2;

double median(std::vector<double> values) {
    if (values.empty())
        return std::numeric_limits<double>::quiet_NaN();
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2.0;
}

template <class Member> double median_of(const std::vector<Sample> &samples, Member member) {
    std::vector<double> values;
    for (const Sample &sample : samples)
        values.push_back((sample.*member).value);
    return median(std::move(values));
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
        try {
            counters_.emplace(hardware_metric_names());
            if (options_.count_exact_fmas)
                instrumented_.emplace(metric_names(metrics::instrumented));
        } catch (const DeviceLost &) {
            throw;
        } catch (const GpuError &error) {
            say_once(std::string("no counters, timing only: ") + error.what());
        }
    }
}

Executor::~Executor() = default;

void Executor::say_once(const std::string &what) {
    if (!options_.say || std::find(said_.begin(), said_.end(), what) != said_.end())
        return;
    said_.push_back(what);
    options_.say(what);
}

Executor::ShapeData &Executor::data_for(const ConvShape &shape) {
    if (!data_ || data_->shape != shape) {
        data_.reset(); // frees the last shape's memory first
        baselines_.forget();
        picked_.clear();
        data_ = std::make_unique<ShapeData>(shape, reference_, seed_for(options_.seed, shape));
    }
    return *data_;
}

/// What to run, or why it is not supported. Throws GpuError if it cannot be made.
std::variant<Executor::Subject, std::string> Executor::subject_of(Case &item, const ConvShape &shape) {
    if (item.baseline)
        return is_own(*item.baseline) ? own_subject(item, shape) : baseline_subject(item, shape);
    Subject subject;
    if (!item.strategy)
        throw UsageError("a case has neither a strategy nor a baseline");
    subject.name = *item.strategy;
    if (!item.prediction || !item.prediction->plan) { // a document may name strategies only
        Case predicted = predict(parse_strategy(*item.strategy), shape, profile_);
        if (predicted.status != Status::ok)
            return predicted.reason.value_or("no feasible plan");
        item.strategy = predicted.strategy;
        item.prediction = std::move(predicted.prediction);
    }
    subject.true_fp32 = !uses_tensor_cores(*item.prediction->plan);
    const std::vector<Partition> &launches = item.prediction->plan->launches;
    if (item.prediction->plan->transformed_fmas)
        subject.second_gate = Gate::transformed;
    PreparedPlan prepared = prepare(kernels_, *item.prediction->plan, shape);
    subject.call = std::move(prepared.call);
    subject.prepared_call = std::move(prepared.prepared_call);
    subject.prepares_nothing =
        !subject.prepared_call && std::none_of(launches.begin(), launches.end(),
                                               [](const Partition &part) { return part.constant_bytes > 0; });
    subject.copies_filters_first =
        launches.size() == 1 && launches[0].constant_bytes > 0 && !subject.prepared_call;
    std::vector<std::string> &assumptions = item.prediction->assumptions;
    for (std::string &note : prepared.notes)
        if (std::find(assumptions.begin(), assumptions.end(), note) == assumptions.end())
            assumptions.push_back(std::move(note));
    return subject;
}

/// A kernel of the user's own.
std::variant<Executor::Subject, std::string> Executor::own_subject(Case &item, const ConvShape &shape) {
    const OwnKernel *kernel = run_ ? run_->own_kernel(*item.baseline) : nullptr;
    if (kernel == nullptr)
        throw UsageError("the document does not hold the kernel of " + *item.baseline);
    const Gpu gpu(profile_);
    auto launch = own_launch(*kernel, shape, gpu);
    if (auto *why = std::get_if<std::string>(&launch))
        return std::move(*why);
    const OwnLaunch &made = std::get<OwnLaunch>(launch);
    const CompiledModule compiled =
        compiler_.compile(own_request(*kernel, made, shape, gpu, device_.compute_capability()));
    const KernelFacts &facts = compiled.facts(made.expression);
    item.detail = fmt::format("{} of {}, {} registers, {} bytes of shared memory", made.expression,
                              kernel->file, facts.registers, made.shared_bytes + facts.static_shared_bytes);
    if (facts.spill_store_bytes + facts.spill_load_bytes > 0)
        *item.detail += fmt::format(", spills {} bytes stored, {} loaded", facts.spill_store_bytes,
                                    facts.spill_load_bytes);
    Subject subject;
    subject.name = *item.baseline;
    subject.call = own_call(compiled, *kernel, made, shape, gpu);
    const Arithmetic arithmetic = kernel->arithmetic.value_or(Arithmetic::direct);
    subject.second_gate = arithmetic == Arithmetic::direct        ? Gate::rounding
                          : arithmetic == Arithmetic::transformed ? Gate::transformed
                                                                  : Gate::tf32;
    subject.true_fp32 = arithmetic != Arithmetic::tf32;
    return subject;
}

std::variant<Executor::Subject, std::string> Executor::baseline_subject(Case &item, const ConvShape &shape) {
    ShapeData &data = data_for(shape); // before a workspace takes what is free
    PlanTrial trial;
    trial.time = [&](const ConvCall &call) {
        StopWatchOptions quick;
        quick.min_samples = quick.max_samples = 3;
        quick.max_time = Seconds(0.05);
        quick.warm_up = Seconds(0.0);
        const auto once = [&](cudaStream_t stream) {
            data.run(call, data.reals, layout_of(*item.baseline), stream);
        };
        return watch_.measure(once, quick).median_time();
    };
    trial.what_is_wrong = [&](const ConvCall &call, Gate gate) {
        Subject subject;
        subject.name = *item.baseline;
        subject.call = call;
        subject.layout = layout_of(*item.baseline);
        return verify(subject, gate, data).message;
    };
    auto made = baselines_.make(*item.baseline, shape, trial);
    if (auto *why = std::get_if<std::string>(&made))
        return std::move(*why);
    ReadyBaseline &ready = std::get<ReadyBaseline>(made);
    item.detail = std::move(ready.run.detail);
    Subject subject;
    subject.name = *item.baseline;
    subject.call = std::move(ready.run.call);
    subject.second_gate = ready.second_gate;
    subject.layout = layout_of(*item.baseline);
    subject.is_baseline = true;
    subject.true_fp32 = is_true_fp32(*item.baseline);
    subject.plan = std::move(ready.plan);
    return subject;
}

Verdict Executor::verify(const Subject &subject, Gate gate, ShapeData &data) {
    ShapeData::Set &set = gate == Gate::exact ? data.integers : data.reals;
    data.output.poison();
    data.run(subject.call, set, subject.layout, watch_.stream());
    check(cudaStreamSynchronize(watch_.stream()), ("cudaStreamSynchronize after " + subject.name).c_str());
    const double bound = gate == Gate::exact ? 0.0 : rounding_bound(data.shape);
    Verdict verdict =
        judge(gate, data.shape,
              reference_.compare(data.shape, data.output.data(), subject.layout, set.reference, bound));
    if (!data.output.guards_intact()) {
        verdict.passed = false;
        verdict.message =
            "writes outside the output" + (verdict.message.empty() ? "" : "; " + verdict.message);
    }
    return verdict;
}

Measurement Executor::time(const Subject &subject, L2State l2, ShapeData &data) {
    StopWatchOptions how;
    how.l2 = l2;
    how.min_samples = options_.min_samples;
    how.max_samples = options_.max_samples;
    how.max_time = options_.max_time;
    if (l2 != options_.l2.front())
        how.warm_up = Seconds(0.0); // the clocks rose for the first
    const SampleSeries series = watch_.measure(
        [&](cudaStream_t stream) { data.run(subject.call, data.reals, subject.layout, stream); }, how);

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
    if (subject.prepares_nothing && !subject.is_baseline)
        m.prepared_time_s = m.time_s;
    else if (subject.copies_filters_first && records.size() == 2 && records[0].kind == ActivityKind::memcpy)
        // The copy and the gap behind it, as long as in the last sample.
        m.prepared_time_s =
            m.time_s - Seconds(1e-9 * static_cast<double>(records[1].start_ns - records[0].start_ns));
    else if (subject.prepared_call) {
        how.warm_up = Seconds(0.0);
        m.prepared_time_s = watch_
                                .measure(
                                    [&](cudaStream_t stream) {
                                        data.run(subject.prepared_call, data.reals, subject.layout, stream);
                                    },
                                    how)
                                .median_time();
    }
    const auto with_gaps = std::count_if(series.samples.begin(), series.samples.end(),
                                         [](const Sample &sample) { return sample.launch_gaps; });
    if (with_gaps > 0) {
        m.host_time_samples = with_gaps;
        say_once(fmt::format("{} on {}: host time may be inside {} of {} samples", subject.name,
                             data.shape.id(), with_gaps, series.samples.size()));
    }
    return m;
}

Regime Executor::regime_of(const Measurement &m) const {
    const auto counter = [&](const Metric &metric) { return m.counters->at(metric.name); };
    const double seconds = m.time_s.value;
    const Work &work = *m.work;
    double dram = counter(metrics::dram_busy) / 100.0, l2 = 0.0;
    if (profile_.dram_read_bandwidth) {
        const double read = profile_.dram_read_bandwidth->value.value;
        const double write =
            profile_.dram_write_bandwidth ? profile_.dram_write_bandwidth->value.value : read;
        dram = (*work.dram_read_bytes / read + *work.dram_write_bytes / write) / seconds;
    }
    if (profile_.l2_read_bandwidth)
        l2 = (*work.l2_read_bytes + *work.l2_write_bytes) / profile_.l2_read_bandwidth->value.value / seconds;
    return measured_regime(counter(metrics::fma_pipe_busy) / 100.0, counter(metrics::issue_busy) / 100.0,
                           dram, l2);
}

/// The counters of one call of each of `cases` from a cold L2; none of a case whose call cannot be counted.
std::vector<std::optional<CounterSession::Values>>
Executor::collect(CounterSession &session, const std::vector<const Timed *> &cases) {
    const auto collect_some = [&](const std::vector<const Timed *> &some) {
        std::vector<CounterSession::Work> calls;
        for (const Timed *timed : some)
            calls.emplace_back([this, &subject = timed->subject] {
                data_->run(subject.call, data_->reals, subject.layout, watch_.stream());
            });
        return session.collect_each([&] { watch_.flush_l2(); }, calls);
    };
    std::vector<std::optional<CounterSession::Values>> counters;
    const auto fatal = [](const GpuError &error) {
        return dynamic_cast<const DeviceLost *>(&error) ||
               dynamic_cast<const CounterPermissionError *>(&error);
    };
    try {
        for (CounterSession::Values &values : collect_some(cases))
            counters.emplace_back(std::move(values));
        return counters;
    } catch (const GpuError &error) {
        if (fatal(error))
            throw;
        (void)cudaGetLastError();
    }
    counters.clear(); // one of them is to blame
    for (const Timed *timed : cases) {
        try {
            counters.emplace_back(collect_some({timed}).front());
        } catch (const GpuError &error) {
            if (fatal(error))
                throw;
            (void)cudaGetLastError();
            say_once(fmt::format("{} on {} has no counters: {}", timed->subject.name, timed->done.shape,
                                 error.what()));
            counters.emplace_back();
        }
    }
    return counters;
}

/// Into the case's cold measurement, or why it cannot stand.
void Executor::note_counters(Timed &timed, const CounterSession::Values &counters) const {
    const auto value = [&](const Metric &metric) { return counters.at(metric.name); };
    constexpr double sector_bytes = 32.0;
    Work work;
    if (counters.contains(metrics::thread_ffma.name))
        work.fmas = value(metrics::thread_ffma);
    work.instructions = value(metrics::instructions);
    work.shared_wavefronts = value(metrics::shared_wavefronts_load) + value(metrics::shared_wavefronts_store);
    work.shared_conflicts = value(metrics::shared_conflicts_load) + value(metrics::shared_conflicts_store);
    work.l2_read_bytes = value(metrics::l2_sectors_read) * sector_bytes;
    work.l2_write_bytes = value(metrics::l2_sectors_write) * sector_bytes;
    work.dram_read_bytes = value(metrics::dram_bytes_read);
    work.dram_write_bytes = value(metrics::dram_bytes_write);
    Measurement &measurement = timed.cold();
    measurement.work = work;
    measurement.counters = counters;
    measurement.regime = regime_of(measurement);
    if (timed.subject.true_fp32 &&
        value(metrics::instructions_tensor_pipe) > value(metrics::instructions_tensor_hfma2)) {
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
    std::vector<const Timed *> all, plain;
    std::vector<std::size_t> plain_index;
    for (std::size_t i = 0; i < timed.size(); ++i) {
        all.push_back(&timed[i]);
        // The counter of FMAs knows floats only.
        if (instrumented_ && !timed[i].subject.is_baseline && data_->shape.dtype != DataType::i8 &&
            data_->shape.fmas().value <= most_instrumented_fmas) {
            plain.push_back(&timed[i]);
            plain_index.push_back(i);
        }
    }
    try {
        auto counters = collect(*counters_, all);
        if (!plain.empty()) {
            auto exact = collect(*instrumented_, plain);
            for (std::size_t i = 0; i < plain.size(); ++i)
                if (exact[i] && counters[plain_index[i]])
                    counters[plain_index[i]]->merge(*exact[i]);
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
        if (!one.subject.plan.empty() && one.subject.true_fp32 && one.done.status == Status::ok)
            picked_.emplace(one.subject.plan, one.done);
        *one.item = std::move(one.done);
    }
}

/// Verifies and times. What was run, if it is to be counted.
std::optional<Executor::Subject> Executor::measure(Case &item) {
    const ConvShape shape = ConvShape::parse(item.shape);
    auto made = subject_of(item, shape);
    if (const auto *why = std::get_if<std::string>(&made)) {
        item.status = Status::unsupported;
        item.reason = *why;
        return std::nullopt;
    }
    Subject &subject = std::get<Subject>(made);
    if (std::any_of(timed_.begin(), timed_.end(), [&](const Timed &timed) {
            return !subject.plan.empty() && timed.subject.plan == subject.plan;
        }))
        count_timed();
    if (const auto same = picked_.find(subject.plan); same != picked_.end()) {
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
    if (subject.second_gate == Gate::rounding)
        if (const Verdict first = verify(subject, Gate::exact, data); !first.passed)
            return wrong(first.message);
    const Verdict second = verify(subject, subject.second_gate, data);
    // A transform of others that loses too many digits is right, but not in the accuracy that is compared
    // here.
    if (!second.passed && subject.is_baseline && second.not_a_number == 0 &&
        second.relative_l2_error < roughly_right) {
        item.status = Status::unsupported;
        item.reason = "not accurate enough to be compared: " + second.message;
        return std::nullopt;
    }
    if (!second.passed)
        return wrong(second.message);

    for (const L2State l2 : options_.l2) {
        Measurement &m = item.measurements.emplace_back(time(subject, l2, data));
        m.relative_l2_error = second.relative_l2_error;
        m.max_error_ratio = second.max_error_ratio;
    }
    // Hundreds of calls later the output must still be right: a race does not show in every call.
    const Verdict after = judge(subject.second_gate, shape,
                                reference_.compare(shape, data.output.data(), subject.layout,
                                                   data.reals.reference, rounding_bound(shape)));
    if (!after.passed || !data.output.guards_intact())
        return wrong("after timing, " +
                     (after.passed ? "memory outside the output is written" : after.message));

    item.status = Status::ok;
    item.reason.reset();
    if (counters_ && std::any_of(item.measurements.begin(), item.measurements.end(),
                                 [](const Measurement &m) { return m.l2 == L2State::cold; }))
        return std::move(subject);
    if (!subject.plan.empty() && subject.true_fp32)
        picked_.emplace(subject.plan, item);
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
        if (std::optional<Subject> subject = measure(done)) {
            timed_.push_back({&item, std::move(done), std::move(*subject)});
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

void Executor::run_case(Case &item) {
    start(item);
    count_timed();
}

/// The cases that wait to be counted hold workspaces: they must go before the next may want one.
bool Executor::must_count_before(const Case &next) const {
    if (timed_.empty())
        return false;
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return timed_.size() >= most_timed || next.shape != timed_.back().done.shape || free < total / 2;
}

RunEnd Executor::run_all(Run &run, const std::function<void(const Run &, std::size_t)> &keep) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::seconds between_keeps(2);

    run.conditions["gpu"] = device_.name;
    run.conditions["driver_cuda"] = cuda_version_text(device_.driver_version);
    run.conditions["seed"] = std::to_string(options_.seed);
    run.conditions["time_by"] = watch_.why_events() ? "events: " + *watch_.why_events() : "activity records";

    run_ = &run;
    std::vector<Plan> plans;
    for (const Case &item : run.cases)
        if (is_open(item) && item.prediction && item.prediction->plan)
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
        }
        if (is_open(item)) {
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
