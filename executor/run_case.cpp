#include "executor/run_case.hpp"

#include "executor/baselines.hpp"
#include "executor/inputs.hpp"
#include "gpu/metrics.hpp"
#include "model/forecast.hpp"
#include "model/hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>

namespace convcast {

/// Inputs of one shape on the device, and what a convolution of them gives.
struct Executor::ShapeData {
    struct Set {
        DeviceBuffer<float> input, filters;
        DeviceReference reference;
    };

    ShapeData(const ConvShape &its_shape, const ReferenceKernels &kernels, std::uint64_t seed)
        : shape(its_shape), integers(make(integer_inputs(its_shape, seed), kernels, seed)),
          reals(make(real_inputs(its_shape, seed), kernels, seed)),
          output(static_cast<std::size_t>(its_shape.output_elements())) {}

    Set make(const Inputs &inputs, const ReferenceKernels &kernels, std::uint64_t seed) const {
        Set set{
            DeviceBuffer<float>(std::span(inputs.input)), DeviceBuffer<float>(std::span(inputs.filters)), {}};
        set.reference = kernels.compute(shape, set.input, set.filters);
        check_reference(shape, inputs.input, inputs.filters, set.reference, seed);
        return set;
    }

    ConvShape shape;
    Set integers, reals;
    GuardedBuffer<float> output;
};

/// What is run for a case.
struct Executor::Subject {
    std::string name;
    ConvCall call;
    ConvCall prepared_call; ///< without what is done once per filter set; empty if there is no such part
    Gate second_gate = Gate::rounding;
    bool copies_filters_first = false; ///< one launch, behind a copy of the filters to constant memory
    bool prepares_nothing = true;      ///< no part of a call could be done once per filter set
    bool is_baseline = false;
    bool true_fp32 = true; ///< using tensor cores makes it a failure
    std::string plan;      ///< of a baseline that was picked among several
};

namespace {

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

/// To be run now, or again on resuming.
bool is_open(const Case &item) {
    return item.measurements.empty() && item.status != Status::infeasible &&
           item.status != Status::unsupported;
}

} // namespace

Executor::Executor(Compiler &compiler, const Device &device, const GpuProfile &profile, RunOptions options)
    : device_(device.facts()), profile_(profile), options_(std::move(options)),
      kernels_(compiler, device_.compute_capability()), reference_(compiler, device_.compute_capability()),
      watch_(compiler, device_), baselines_(compiler, device_.compute_capability()) {
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
        return baseline_subject(item, shape);
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
    const std::vector<Partition> &launches = item.prediction->plan->launches;
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

std::variant<Executor::Subject, std::string> Executor::baseline_subject(Case &item, const ConvShape &shape) {
    ShapeData &data = data_for(shape); // before a workspace takes what is free
    PlanTrial trial;
    trial.time = [&](const ConvCall &call) {
        StopWatchOptions quick;
        quick.min_samples = quick.max_samples = 3;
        quick.max_time = Seconds(0.05);
        quick.warm_up = Seconds(0.0);
        const auto once = [&](cudaStream_t stream) {
            call(data.reals.input.data(), data.reals.filters.data(), data.output.data(), stream);
        };
        return watch_.measure(once, quick).median_time();
    };
    trial.what_is_wrong = [&](const ConvCall &call, Gate gate) {
        Subject subject;
        subject.name = *item.baseline;
        subject.call = call;
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
    subject.is_baseline = true;
    subject.true_fp32 = is_true_fp32(*item.baseline);
    subject.plan = std::move(ready.plan);
    return subject;
}

Verdict Executor::verify(const Subject &subject, Gate gate, ShapeData &data) {
    const ShapeData::Set &set = gate == Gate::exact ? data.integers : data.reals;
    data.output.poison();
    subject.call(set.input.data(), set.filters.data(), data.output.data(), watch_.stream());
    check(cudaStreamSynchronize(watch_.stream()), ("cudaStreamSynchronize after " + subject.name).c_str());
    const double bound = gate == Gate::exact ? 0.0 : rounding_bound(data.shape);
    Verdict verdict = judge(gate, data.shape, reference_.compare(data.output.data(), set.reference, bound));
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
        [&](cudaStream_t stream) {
            subject.call(data.reals.input.data(), data.reals.filters.data(), data.output.data(), stream);
        },
        how);

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
        m.prepared_time_s =
            watch_
                .measure(
                    [&](cudaStream_t stream) {
                        subject.prepared_call(data.reals.input.data(), data.reals.filters.data(),
                                              data.output.data(), stream);
                    },
                    how)
                .median_time();
    }
    const auto with_gaps = std::count_if(series.samples.begin(), series.samples.end(),
                                         [](const Sample &sample) { return sample.launch_gaps; });
    if (with_gaps > 0)
        say_once(fmt::format("{} on {}: host time may be inside {} of {} samples", subject.name,
                             data.shape.id(), with_gaps, series.samples.size()));
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

/// Reads the counters of one call from a cold L2 into `measurement`; why the result cannot stand, if it
/// cannot.
std::optional<std::string> Executor::count(const Subject &subject, ShapeData &data,
                                           Measurement &measurement) {
    const auto collect = [&](CounterSession &session) {
        return session.collect([&] { watch_.flush_l2(); },
                               [&] {
                                   subject.call(data.reals.input.data(), data.reals.filters.data(),
                                                data.output.data(), watch_.stream());
                               });
    };
    std::map<std::string, double> counters = collect(*counters_);
    const bool instrument =
        instrumented_ && !subject.is_baseline && data.shape.fmas().value <= most_instrumented_fmas;
    if (instrument)
        counters.merge(collect(*instrumented_));
    const auto value = [&](const Metric &metric) { return counters.at(metric.name); };
    constexpr double sector_bytes = 32.0;
    Work work;
    if (instrument)
        work.fmas = value(metrics::thread_ffma);
    work.instructions = value(metrics::instructions);
    work.shared_wavefronts = value(metrics::shared_wavefronts_load) + value(metrics::shared_wavefronts_store);
    work.shared_conflicts = value(metrics::shared_conflicts_load) + value(metrics::shared_conflicts_store);
    work.l2_read_bytes = value(metrics::l2_sectors_read) * sector_bytes;
    work.l2_write_bytes = value(metrics::l2_sectors_write) * sector_bytes;
    work.dram_read_bytes = value(metrics::dram_bytes_read);
    work.dram_write_bytes = value(metrics::dram_bytes_write);
    measurement.work = work;
    measurement.counters = counters;
    measurement.regime = regime_of(measurement);
    if (subject.true_fp32 &&
        value(metrics::instructions_tensor_pipe) > value(metrics::instructions_tensor_hfma2))
        return "used tensor cores: not true FP32";
    return std::nullopt;
}

void Executor::measure(Case &item) {
    const ConvShape shape = ConvShape::parse(item.shape);
    auto made = subject_of(item, shape);
    if (const auto *why = std::get_if<std::string>(&made)) {
        item.status = Status::unsupported;
        item.reason = *why;
        return;
    }
    const Subject &subject = std::get<Subject>(made);
    if (const auto same = picked_.find(subject.plan); same != picked_.end()) {
        item.measurements = same->second.measurements;
        item.status = Status::ok;
        item.reason.reset();
        *item.detail += "; the same plan as " + *same->second.baseline + ", measured there";
        return;
    }
    ShapeData &data = data_for(shape);

    const auto wrong = [&](const std::string &message) {
        item.status = Status::wrong_result;
        item.reason = message;
        item.measurements.clear();
    };
    if (subject.second_gate == Gate::rounding)
        if (const Verdict first = verify(subject, Gate::exact, data); !first.passed)
            return wrong(first.message);
    const Verdict second = verify(subject, subject.second_gate, data);
    // A transform of others that loses too many digits is right, but not in the accuracy that is compared
    // here.
    if (!second.passed && item.baseline && second.not_a_number == 0 &&
        second.relative_l2_error < roughly_right) {
        item.status = Status::unsupported;
        item.reason = "not accurate enough to be compared: " + second.message;
        return;
    }
    if (!second.passed)
        return wrong(second.message);

    for (const L2State l2 : options_.l2) {
        Measurement &m = item.measurements.emplace_back(time(subject, l2, data));
        m.relative_l2_error = second.relative_l2_error;
        m.max_error_ratio = second.max_error_ratio;
    }
    // Hundreds of calls later the output must still be right: a race does not show in every call.
    const Verdict after =
        judge(subject.second_gate, shape,
              reference_.compare(data.output.data(), data.reals.reference, rounding_bound(shape)));
    if (!after.passed || !data.output.guards_intact())
        return wrong("after timing, " +
                     (after.passed ? "memory outside the output is written" : after.message));

    const auto cold = std::find_if(item.measurements.begin(), item.measurements.end(),
                                   [](const Measurement &m) { return m.l2 == L2State::cold; });
    if (counters_ && cold != item.measurements.end()) {
        try {
            if (const std::optional<std::string> why = count(subject, data, *cold)) {
                item.status = Status::failed;
                item.reason = *why;
                item.measurements.clear();
                return;
            }
        } catch (const DeviceLost &) {
            throw;
        } catch (const CounterPermissionError &error) {
            say_once(std::string("no counters, timing only: ") + error.what());
            counters_.reset();
            instrumented_.reset();
        } catch (const GpuError &error) {
            say_once(fmt::format("{} on {} has no counters: {}", subject.name, item.shape, error.what()));
        }
    }
    item.status = Status::ok;
    item.reason.reset();
    if (!subject.plan.empty() && subject.true_fp32)
        picked_.emplace(subject.plan, item);
}

void Executor::run_case(Case &item) {
    const auto failed = [&](const char *why) {
        item.status = Status::failed;
        item.reason = why;
        item.measurements.clear();
    };
    item.measurements.clear();
    item.detail.reset();
    try {
        measure(item);
    } catch (const DeviceLost &error) {
        failed(error.what());
        throw;
    } catch (const GpuError &error) {
        failed(error.what());
        (void)cudaGetLastError();       // not sticky: cleared, so that the next call does not report it again
    } catch (const UsageError &error) { // a shape or strategy text of the document
        failed(error.what());
    } catch (const std::bad_alloc &) {
        failed("out of host memory for its tensors or references");
    }
}

RunEnd Executor::run_all(Run &run, const std::function<void(const Run &, std::size_t)> &keep) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::seconds between_keeps(2);

    run.conditions["gpu"] = device_.name;
    run.conditions["driver_cuda"] = cuda_version_text(device_.driver_version);
    run.conditions["seed"] = std::to_string(options_.seed);
    run.conditions["time_by"] = watch_.why_events() ? "events: " + *watch_.why_events() : "activity records";

    std::vector<Plan> plans;
    for (const Case &item : run.cases)
        if (is_open(item) && item.prediction && item.prediction->plan)
            plans.push_back(*item.prediction->plan);
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
                    run_case(item);
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
            keep(run, settled);
            kept = Clock::now();
        }
    }
    for (const auto &[library, version] : baselines_.versions())
        run.conditions[library] = version;
    keep(run, settled);
    return end;
}

} // namespace convcast
