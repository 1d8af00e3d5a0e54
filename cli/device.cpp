#include "cli/device.hpp"

#include "cli/interrupt.hpp"
#include "cli/progress.hpp"
#include "cli/timelines.hpp"
#include "cli/version.hpp"
#include "executor/baselines/cublas.hpp"
#include "executor/baselines/cudnn.hpp"
#include "executor/count/exact_counts.hpp"
#include "executor/count/exact_work.hpp"
#include "executor/kept_run.hpp"
#include "executor/network/devices_run.hpp"
#include "executor/network/run_ladder.hpp"
#include "executor/network/run_whole.hpp"
#include "executor/network/train.hpp"
#include "executor/run_case.hpp"
#include "executor/timeline/timeline.hpp"
#include "executor/try_own.hpp"
#include "gpu/activity.hpp"
#include "gpu/counters.hpp"
#include "gpu/device.hpp"
#include "gpu/green_context.hpp"
#include "gpu/other_load.hpp"
#include "microbench/measure.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/predict.hpp"
#include "model/record/shards.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace convcast::cli {
namespace {

/// What a thread was writing into the kernel cache when the program ends: gpu/compile.cpp names it so.
void remove_unfinished_kernels() {
    const std::string mine = "." + std::to_string(::getpid()) + ".";
    std::error_code failed;
    for (const auto &entry : std::filesystem::directory_iterator(default_cache_folder(), failed))
        if (entry.path().extension() == ".tmp" &&
            entry.path().filename().string().find(mine) != std::string::npos)
            std::filesystem::remove(entry.path(), failed);
}

struct Capability {
    int major, minor;
    const char *what; ///< that needs it
};
/// What NVRTC still compiles for.
constexpr Capability for_probes = {7, 5, "the probes need"};
/// The kernels copy to shared memory asynchronously (cp.async).
constexpr Capability for_kernels = {8, 0, "the kernels need"};

std::optional<std::string> why_too_old(const DeviceFacts &facts, const Capability &least) {
    if (facts.compute_major > least.major ||
        (facts.compute_major == least.major && facts.compute_minor >= least.minor))
        return std::nullopt;
    return fmt::format(
        "{} has compute capability {}.{}; {} {}.{} or newer. Predicting, choosing and reporting work for "
        "it all the same",
        facts.name, facts.compute_major, facts.compute_minor, least.what, least.major, least.minor);
}

Device usable_device(int ordinal, const Capability &least) {
    if (const std::optional<std::string> why = why_no_device())
        throw GpuError(*why + "; no GPU is needed by `convcast predict`, `choose`, `compile`, `report` and "
                              "`measure --from-raw SAMPLES`");
    Device device(ordinal);
    if (const std::optional<std::string> why = why_too_old(device.facts(), least))
        throw GpuError(*why);
    return device;
}

/// Keeps the document as it grows: on disk, and for an interrupt. Writing it writes all cases anew: no more
/// than a twentieth of the time goes into that, unless `now`.
class Keeper {
  public:
    Keeper(const Run &run, const RunRequest &request)
        : request_(request), kept_run_(run), on_interrupt_([this] { last_words(); }, grace) {}

    void operator()(const Run &run, bool now) {
        const std::scoped_lock lock(mutex_);
        kept_run_.update(run);
        write(run, now);
    }

    /// Of cases that were settled before and have more now.
    void changed(const Run &run, const Case &item) {
        const std::scoped_lock lock(mutex_);
        kept_run_.update(run, static_cast<std::size_t>(&item - run.cases.data()));
    }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds grace{1000}; ///< most cases take less

    void write(const Run &run, bool now) {
        const Clock::time_point begin = Clock::now();
        if (!request_.keep || (!now && begin - kept_ < 19 * last_))
            return;
        request_.keep(run);
        kept_ = Clock::now();
        last_ = kept_ - begin;
    }

    /// Nobody writes an older state behind it: the mutex stays with it until the program ends.
    void last_words() {
        mutex_.lock();
        remove_unfinished_kernels();
        if (request_.last_words)
            request_.last_words(kept_run_.interrupted());
    }

    const RunRequest &request_;
    std::mutex mutex_;
    KeptRun kept_run_;
    Clock::time_point kept_ = Clock::now();
    Clock::duration last_{};
    OnInterrupt on_interrupt_; ///< last: it may call as soon as it is there
};

/// Of every case that was measured and has none yet. False if one is missing that should be there.
bool add_measured_timelines(Run &run, Compiler &compiler, const Device &device, unsigned compile_threads,
                            Keeper &keep) {
    std::vector<Measurement *> open;
    std::vector<const Case *> cases;
    std::vector<TimelineTask> tasks;
    for (Case &item : run.cases) {
        if (item.status != Status::ok || !can_have_timeline(item))
            continue;
        for (Measurement &m : item.measurements)
            if (m.l2 == L2State::cold && !m.timeline) {
                open.push_back(&m);
                cases.push_back(&item);
                tasks.push_back({&*item.prediction->plan, ConvShape::parse(item.shape)});
            }
    }
    Progress progress("timelines");
    TimelineOptions options;
    options.compile_threads = compile_threads;
    options.progress = [&](std::size_t done, std::size_t total) { progress.show(done, total, ""); };
    auto timelines = record_timelines(compiler, device, tasks, options);
    bool all = true;
    for (std::size_t i = 0; i < timelines.size(); ++i)
        if (auto *timeline = std::get_if<Timeline>(&timelines[i])) {
            open[i]->timeline = std::move(*timeline);
            keep.changed(run, *cases[i]);
        } else {
            all = false;
            note(cases[i]->shape + " " + *cases[i]->strategy +
                 " has no measured timeline: " + std::get<std::string>(timelines[i]));
        }
    return all;
}

/// Of every case of a strategy that was measured and lacks them.
DeviceRunEnd add_exact_work(Run &run, const GpuProfile &profile, Compiler &compiler, const Device &device,
                            unsigned compile_threads, Keeper &keep) {
    std::map<std::string, std::vector<Case *>> by_shape;
    std::vector<std::string> shapes; // in order of appearance
    for (Case &item : run.cases)
        if (lacks_exact_counts(item)) {
            std::vector<Case *> &its = by_shape[item.shape];
            if (its.empty())
                shapes.push_back(item.shape);
            its.push_back(&item);
        }
    std::vector<Case *> open;
    std::vector<Plan> plans;
    bool all = true;
    const auto none = [&](const Case &item, const std::string &why) {
        all = false;
        note(item.shape + " " + *item.strategy + " has no exact counts: " + why);
    };
    for (const std::string &shape : shapes)
        for (Case *item : by_shape.at(shape)) {
            std::optional<Prediction> prediction; // a plan of this code: the document's may hold anything
            try {
                Case now = predict(parse_strategy(*item->strategy), ConvShape::parse(shape), profile);
                if (now.status != Status::ok)
                    none(*item, now.reason.value_or("this version has no plan for it"));
                prediction = std::move(now.prediction);
            } catch (const UsageError &error) { // a strategy's text in the document
                none(*item, error.what());
            }
            if (prediction && prediction->plan) {
                open.push_back(item);
                plans.push_back(std::move(*prediction->plan));
            }
        }
    std::vector<ExactTask> tasks;
    for (std::size_t i = 0; i < open.size(); ++i)
        tasks.push_back({&plans[i], ConvShape::parse(open[i]->shape)});
    Progress progress("exact work");
    ExactOptions options;
    options.compile_threads = compile_threads;
    options.interrupt = &OnInterrupt::flag();
    const bool finished = count_exactly(
        compiler, device, tasks, options,
        [&](std::size_t task, const ExactCounts &counts) {
            if (const auto *why = std::get_if<std::string>(&counts))
                none(*open[task], *why);
            else
                add_exact_counts(*open[task], std::get<CounterSession::Values>(counts));
            keep.changed(run, *open[task]);
        },
        [&](std::size_t settled) {
            const bool more = settled < tasks.size();
            progress.show(settled, tasks.size(),
                          more ? open[settled]->shape + " " + *open[settled]->strategy : "");
            keep(run, !more);
        });
    if (!finished)
        OnInterrupt::finish();
    return all ? DeviceRunEnd::finished : DeviceRunEnd::incomplete;
}

/// Measures the cases that are open.
RunEnd measure_open(Run &run, const GpuProfile &profile, Compiler &compiler, const Device &device,
                    RunOptions options, Keeper &keep) {
    Progress cases("cases");
    Executor executor(compiler, device, profile, std::move(options));
    const RunEnd end = executor.run_all(run, [&](const Run &so_far, std::size_t settled) {
        const bool more = settled < so_far.cases.size();
        cases.show(
            settled, so_far.cases.size(),
            more ? so_far.cases[settled].shape + " " +
                       so_far.cases[settled].strategy.value_or(so_far.cases[settled].baseline.value_or(""))
                 : "");
        keep(so_far, !more);
    });
    if (end == RunEnd::interrupted)
        OnInterrupt::finish(); // the executor's end would wait for the kernels that are being compiled
    return end;
}

} // namespace

RawSamples take_samples(const SamplesRequest &request) {
    const OtherLoad others = other_load(request.device); // while this process has no work there
    const Device device = usable_device(request.device, for_probes);
    if (others.busy)
        note("the GPU is in use (" + others.text + "): what is measured beside other work is worth little");
    Compiler compiler;
    const OnInterrupt on_interrupt(remove_unfinished_kernels,
                                   std::chrono::milliseconds(0)); // samples are kept
    Progress progress("probes");
    MeasureOptions options;
    options.only = request.only;
    options.resume = request.resume;
    options.progress = [&](const Probe &probe, std::size_t done, std::size_t total) {
        progress.show(done, total, std::string(probe.name) + ": " + std::string(probe.question));
    };
    options.keep = request.keep;
    options.conditions = {{"other_load", others.text}, {"producer", producer().version}};
    return measure(compiler, device, options);
}

std::optional<std::string> probes_hash() {
    return hash_of_probes();
}

std::optional<std::string> why_not_run(int device) {
    try {
        (void)usable_device(device, for_kernels);
        return std::nullopt;
    } catch (const GpuError &error) {
        return error.what();
    }
}

int sms_given(int device, int asked) {
    usable_device(device, for_kernels);
    return green_sm_count(device, asked);
}

namespace {

/// When and with which toolkit a network was run.
void note_run(std::map<std::string, std::string> &conditions, const Device &device, Compiler &compiler) {
    conditions["date"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    conditions["toolkit"] =
        "CUDA " + cuda_version_text(device.facts().runtime_version) + ", NVRTC " + compiler.nvrtc_version();
}

} // namespace

LadderRun run_ladder_on_device(const Ladder &ladder, const Network &network, std::int64_t batch,
                               int ordinal) {
    const Device device = usable_device(ordinal, for_kernels);
    Compiler compiler;
    LadderOptions options;
    options.batch = batch;
    options.done = [](const RungResult &rung) {
        note(rung.id + ": " + boost::describe::enum_to_string(rung.status, "?"));
    };
    LadderRun run = run_ladder(compiler, device, ladder, network, options);
    note_run(run.conditions, device, compiler);
    return run;
}

WholeRun run_whole_on_device(const PlannedNetwork &plan, int ordinal) {
    const Device device = usable_device(ordinal, for_kernels);
    Compiler compiler;
    WholeOptions options;
    options.compile_threads = std::max(1U, std::thread::hardware_concurrency());
    options.say = [](const std::string &what) { note(what); };
    WholeRun run = run_whole(compiler, device, plan, options);
    note_run(run.conditions, device, compiler);
    return run;
}

TrainingRun train_on_device(const Ladder &ladder, const Network &network, const LabelledImages &images,
                            const LabelledImages &tests, const TrainingOptions &options, int ordinal) {
    const Device device = usable_device(ordinal, for_kernels);
    Compiler compiler;
    TrainingRun run = train(compiler, device, ladder, network, images, tests, options);
    note_run(run.conditions, device, compiler);
    return run;
}

void run_scaling_on_devices(const Network &network, Scaling &scaling,
                            const std::function<void(const Scaling &)> &keep) {
    const DeviceGroup group(scaling.devices);
    const Device first = usable_device(group.ordinal(0), for_kernels);
    for (const std::string &said : group.notes())
        note(said);
    Compiler compiler;
    note_run(scaling.conditions, first, compiler);
    SplitRunOptions options;
    options.done = [&](const Scaling &so_far, const ScalingCase &item) {
        note(fmt::format("{} over {} GPUs, {} images: {}{}", to_text(item.split), item.devices, item.batch,
                         boost::describe::enum_to_string(item.status, "?"),
                         item.reason ? ", " + *item.reason : ""));
        keep(so_far);
    };
    run_scaling(compiler, group, network, scaling, options);
}

TrainingRun train_on_devices(const Ladder &ladder, const Network &network, const LabelledImages &images,
                             const LabelledImages &tests, const TrainingOptions &options,
                             const std::vector<int> &devices, DeviceSplit split) {
    const DeviceGroup group(devices);
    const Device first = usable_device(group.ordinal(0), for_kernels);
    for (const std::string &said : group.notes())
        note(said);
    Compiler compiler;
    TrainingRun trained;
    TrainingOptions classify = options;
    classify.start = train_split(compiler, group, network, split, images, options, trained);
    classify.epochs = 0;
    TrainingRun run = train(compiler, first, ladder, network, images, tests, classify);
    run.time_s = trained.time_s;
    run.step_s = trained.step_s;
    run.descent = trained.descent;
    run.steps = trained.steps;
    run.epochs = options.epochs;
    run.conditions.insert(trained.conditions.begin(), trained.conditions.end());
    run.weights.made_by = fmt::format("convcast, gradient descent at rate {} in batches of {}, {} epochs, "
                                      "seed {}, {}: {:.2f} % of {} test images",
                                      run.descent.rate, run.descent.batch, run.epochs, options.seed,
                                      run.conditions["split"], 100.0 * run.accuracy, run.test_images);
    note_run(run.conditions, first, compiler);
    return run;
}

namespace {

/// Own kernels that failed their first call: they are not called again, and get their status at the end.
std::vector<Case *> set_aside_failed(Run &run, const RunRequest &request) {
    std::vector<Case *> failed;
    const auto own = [](const Case &item) {
        return item.baseline && is_own(*item.baseline) && is_open(item);
    };
    if (std::none_of(run.cases.begin(), run.cases.end(), own))
        return failed;
    std::vector<std::string> words = request.trial_words;
    words.insert(words.end(), {"--device", std::to_string(request.device)});
    try_own_kernels_apart(run, "/proc/self/exe", words);
    for (Case &item : run.cases)
        if (own(item) && item.status == Status::failed) {
            item.status = Status::unsupported;
            failed.push_back(&item);
        }
    return failed;
}

} // namespace

void try_own_on_device(const Run &run, const GpuProfile &profile, int ordinal) {
    const Device device = usable_device(ordinal, for_kernels);
    Compiler compiler;
    try_own_kernels(run, compiler, device, profile, [](const std::string &line) {
        std::printf("%s\n", line.c_str());
        std::fflush(stdout);
    });
}

namespace {

DeviceRunEnd run_open(Run &run, const GpuProfile &profile, const RunRequest &request) {
    const Device device = usable_device(request.device, for_kernels);
    std::optional<GreenContext> some_sms;
    if (request.sms)
        some_sms.emplace(request.device, *request.sms);
    if (request.require_counters || request.exact_work)
        if (const std::optional<std::string> why = why_no_counters())
            throw CounterPermissionError(*why);
    const bool measured = std::any_of(run.cases.begin(), run.cases.end(),
                                      [](const Case &item) { return !item.measurements.empty(); });
    if (measured && run.conditions.contains("gpu") && run.conditions.at("gpu") != device.facts().name)
        throw UsageError("run: the document holds measurements of " + run.conditions.at("gpu") +
                         ", the GPU at hand is " + device.facts().name +
                         "; one document holds the numbers of one GPU");
    if (!profile.name.empty() && profile.name != device.facts().name)
        note("the forecast is for " + profile.name + ", the GPU at hand is " + device.facts().name +
             "; `convcast measure -o my_gpu.json` and --gpu my_gpu.json forecast for it");
    Compiler compiler;
    RunOptions options;
    options.count = !request.no_counters;
    options.count_exact_fmas = request.exact_fmas && !request.exact_work; // those count them too
    // One core stays with the thread that launches.
    options.compile_threads = std::max(2u, std::thread::hardware_concurrency()) - 1;
    options.say = note;
    options.interrupt = &OnInterrupt::flag();
    // What the document holds of earlier stays true of it.
    const std::string toolkit =
        "CUDA " + cuda_version_text(device.facts().runtime_version) + ", NVRTC " + compiler.nvrtc_version();
    for (const auto &[name, now] :
         {std::pair<std::string, std::string>{
              "date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
          {"gpu_uuid", device.facts().uuid},
          {"toolkit", toolkit}})
        run.conditions[name] = measured && run.conditions.contains(name)
                                   ? joined_condition(name, {run.conditions[name], now})
                                   : now;
    const unsigned compile_threads = options.compile_threads;
    mark_not_run(run);
    Keeper keep(run, request);
    const RunEnd end = request.measure
                           ? measure_open(run, profile, compiler, device, std::move(options), keep)
                           : RunEnd::finished;
    if (const std::string warning = compiler.take_warning(); !warning.empty())
        note(warning);
    switch (end) {
    case RunEnd::finished:
        try {
            bool all = true;
            if (request.timeline)
                all = add_measured_timelines(run, compiler, device, compile_threads, keep);
            if (!request.exact_work)
                return all ? DeviceRunEnd::finished : DeviceRunEnd::incomplete;
            const DeviceRunEnd exact = add_exact_work(run, profile, compiler, device, compile_threads, keep);
            return exact == DeviceRunEnd::finished && !all ? DeviceRunEnd::incomplete : exact;
        } catch (const DeviceLost &) {
            return DeviceRunEnd::device_lost;
        } catch (const GpuError &error) { // what was measured stays
            note(error.what());
            return DeviceRunEnd::incomplete;
        }
    case RunEnd::interrupted: // ended the program
    case RunEnd::device_lost:
        break;
    }
    return DeviceRunEnd::device_lost;
}

} // namespace

DeviceRunEnd run_on_device(Run &run, const GpuProfile &profile, const RunRequest &request) {
    if (const std::optional<std::string> why = why_no_device())
        throw GpuError(*why);
    for (Case &item : run.cases) // an earlier run's word on an own kernel may be out of date
        if (item.baseline && is_own(*item.baseline) && item.measurements.empty() &&
            item.status == Status::failed)
            item.status = Status::not_run, item.reason = "not run yet";
    const std::vector<Case *> failed = set_aside_failed(run, request);
    const DeviceRunEnd end = run_open(run, profile, request);
    for (Case *item : failed)
        item->status = Status::failed;
    return end;
}

std::vector<CheckedKernel> compile_own_kernels(const std::vector<OwnTask> &tasks, const Gpu &gpu,
                                               int compute_capability) {
    Compiler compiler;
    Progress progress("kernels", Progress::Where::terminal_after_a_while);
    std::vector<CheckedKernel> list;
    for (const OwnTask &task : tasks) {
        progress.show(list.size(), tasks.size(), own_prefix + task.kernel->name);
        const Patience patience(own_prefix + task.kernel->name + " is being compiled for " + task.shape.id());
        list.push_back(check_own_kernel(compiler, *task.kernel, task.shape, gpu, compute_capability));
    }
    if (const std::string warning = compiler.take_warning(); !warning.empty())
        note(warning);
    return list;
}

CompileReport compile_kernels(const std::vector<Plan> &plans, const Gpu &gpu, int compute_capability) {
    Compiler compiler;
    const OnInterrupt on_interrupt(remove_unfinished_kernels, std::chrono::milliseconds(0));
    Progress progress("kernels");
    CompileReport report;
    report.architecture = "sm_" + std::to_string(compute_capability);
    report.nvrtc = compiler.nvrtc_version();
    report.cache = default_cache_folder().string();
    report.kernels = check_kernels(
        compiler, plans, gpu, compute_capability, std::max(1u, std::thread::hardware_concurrency()),
        [&](std::size_t done, std::size_t total) { progress.show(done, total, ""); });
    if (const std::string warning = compiler.take_warning(); !warning.empty()) {
        note(warning);
        report.cache.clear();
    }
    return report;
}

std::vector<Finding> examine_device() {
    std::vector<Finding> findings;
    const auto examine = [&](const char *what, Health otherwise, const std::function<std::string()> &look) {
        try {
            findings.push_back({what, Health::works, look()});
        } catch (const std::exception &error) {
            findings.push_back({what, otherwise, error.what()});
        }
    };
    std::optional<Device> device;
    examine("GPU and driver", Health::absent, [&]() -> std::string {
        device.emplace(usable_device(0, for_probes));
        const DeviceFacts &f = device->facts();
        return fmt::format("{}, compute capability {}.{}, driver for CUDA {}", f.name, f.compute_major,
                           f.compute_minor, cuda_version_text(f.driver_version));
    });
    examine("NVRTC (compiles kernels)", Health::absent, [] { return "CUDA " + Compiler().nvrtc_version(); });
    examine("kernel cache", Health::absent, []() -> std::string {
        const std::filesystem::path folder = default_cache_folder();
        if (folder.empty())
            return "none: kernels are compiled anew";
        std::error_code failed;
        std::filesystem::create_directories(folder, failed);
        if (failed)
            throw GpuError(folder.string() + " cannot be made (" + failed.message() +
                           "): kernels are compiled anew");
        check_writable((folder / "probe").string());
        return folder.string();
    });
    if (!device)
        return findings;
    if (const std::optional<std::string> why = why_too_old(device->facts(), for_kernels))
        findings.push_back({"run", Health::absent, *why});
    examine("CUPTI activity (times)", Health::broken, []() -> std::string {
        if (const auto why = ActivityTrace::why_not_available())
            throw GpuError(*why + "; times come from events instead");
        return "available";
    });
    examine("CUPTI counters", Health::absent, []() -> std::string {
        if (const auto why = why_no_counters())
            throw GpuError(*why);
        return "permitted";
    });
    examine("cuDNN (baseline)", Health::absent, [] { return Cudnn().version(); });
    examine("cuBLAS (baseline)", Health::absent, [] { return Cublas().version(); });
    return findings;
}

} // namespace convcast::cli
