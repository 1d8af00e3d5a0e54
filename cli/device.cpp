#include "cli/device.hpp"

#include "cli/document.hpp"
#include "cli/interrupt.hpp"
#include "cli/progress.hpp"
#include "cli/terminal.hpp"
#include "cli/timelines.hpp"
#include "cli/version.hpp"
#include "executor/baselines/cublas.hpp"
#include "executor/baselines/cudnn.hpp"
#include "executor/count/exact_work.hpp"
#include "executor/kept_run.hpp"
#include "executor/network/rank.hpp"
#include "executor/network/run_network.hpp"
#include "executor/run_case.hpp"
#include "executor/timeline/timeline.hpp"
#include "executor/try_own.hpp"
#include "gpu/activity.hpp"
#include "gpu/check.hpp"
#include "gpu/counters.hpp"
#include "gpu/device.hpp"
#include "gpu/green_context.hpp"
#include "gpu/other_load.hpp"
#include "microbench/measure.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/text.hpp"
#include "model/record/shards.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

/// Removes what a thread of this process was writing into the kernel cache when the program ends.
/// gpu/compile.cpp writes a kernel to NAME.PID.*.tmp first and renames it when it is whole.
void remove_unfinished_kernels() {
    const std::string mine = "." + std::to_string(::getpid()) + ".";
    std::error_code failed;
    for (const auto &entry : std::filesystem::directory_iterator(default_cache_folder(), failed))
        if (entry.path().extension() == ".tmp" &&
            entry.path().filename().string().find(mine) != std::string::npos)
            std::filesystem::remove(entry.path(), failed);
}

/// Says the compiler's warning, for example that its cache cannot be written. Returns whether it had one.
bool say_warning(Compiler &compiler) {
    const std::string warning = compiler.take_warning();
    if (!warning.empty())
        note(warning);
    return !warning.empty();
}

/// A compute capability that is the least for something.
struct Capability {
    int major, minor;
    const char *what; ///< begins the words of a refusal: "the kernels need"
};
/// What NVRTC still compiles for.
constexpr Capability for_probes = {7, 5, "the probes need"};
/// The kernels copy to shared memory asynchronously (cp.async).
constexpr Capability for_kernels = {8, 0, "the kernels need"};

/// A sentence for the user; absent where the GPU is new enough.
std::optional<std::string> why_too_old(const DeviceFacts &facts, const Capability &least) {
    if (facts.compute_major > least.major ||
        (facts.compute_major == least.major && facts.compute_minor >= least.minor))
        return std::nullopt;
    return fmt::format(
        "{} has compute capability {}.{}; {} {}.{} or newer. Predicting, choosing and reporting work for "
        "it all the same",
        facts.name, facts.compute_major, facts.compute_minor, least.what, least.major, least.minor);
}

/// Throws GpuError where there is no driver or no such GPU, or where it is too old.
Device usable_device(int ordinal, const Capability &least) {
    if (const std::optional<std::string> why = why_no_device())
        throw GpuError(*why + "; no GPU is needed by `convcast predict`, `choose`, `compile`, `report` and "
                              "`measure --from-raw SAMPLES`");
    Device device(ordinal);
    if (const std::optional<std::string> why = why_too_old(device.facts(), least))
        throw GpuError(*why);
    return device;
}

/// Keeps the document as it grows: on disk by RunRequest::keep, and in memory for RunRequest::last_words.
class Keeper {
  public:
    Keeper(const Run &run, const RunRequest &request)
        : request_(request), kept_run_(run), on_interrupt_([this] { last_words(); }, grace) {}

    /// Writes the document if enough time has passed since the last write, and with `now` in any case.
    void operator()(const Run &run, bool now) {
        const std::scoped_lock lock(mutex_);
        kept_run_.update(run);
        write(run, now);
    }

    /// For a case of `run` that was settled before and has got a timeline or counts. Writes nothing.
    void changed(const Run &run, const Case &item) {
        const std::scoped_lock lock(mutex_);
        kept_run_.update(run, static_cast<std::size_t>(&item - run.cases.data()));
    }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds grace{1000}; ///< most cases take less
    /// Between two writes so many times the length of the first passes: writing takes 1/20 of the time.
    static constexpr int least_pause = 19; ///< of the time that the last write took

    void write(const Run &run, bool now) {
        const Clock::time_point begin = Clock::now();
        if (!request_.keep || (!now && begin - kept_ < least_pause * last_))
            return;
        request_.keep(run);
        kept_ = Clock::now();
        last_ = kept_ - begin;
    }

    /// Called by the thread of OnInterrupt.
    void last_words() {
        mutex_.lock(); // until the program ends, so that no thread writes an older state afterwards
        remove_unfinished_kernels();
        if (request_.last_words)
            request_.last_words(kept_run_.interrupted());
    }

    const RunRequest &request_;
    std::mutex mutex_;
    KeptRun kept_run_;
    Clock::time_point kept_ = Clock::now(); ///< when the last write ended
    Clock::duration last_{};                ///< how long it took
    OnInterrupt on_interrupt_; ///< the last member: it may call last_words as soon as it is constructed
};

/// A callback for add_timelines and add_exact_work: keeps a case that got `what`, or says why it got none.
auto keep_or_say_why(const Run &run, Keeper &keep, const char *what) {
    return [&run, &keep, what](const Case &item, const std::string *why_none) {
        if (why_none != nullptr)
            note(item.shape + " " + *item.strategy + " has no " + what + ": " + *why_none);
        else
            keep.changed(run, item);
    };
}

/// Finds out when each CTA runs, case by case. Returns whether every case that can have a timeline got one.
bool add_measured_timelines(Run &run, Compiler &compiler, const Device &device, unsigned compile_threads,
                            Keeper &keep) {
    Progress progress("timelines");
    TimelineOptions options;
    options.compile_threads = compile_threads;
    options.progress = [&](std::size_t done, std::size_t total) { progress.show(done, total, ""); };
    return add_timelines(run, compiler, device, options, can_have_timeline,
                         keep_or_say_why(run, keep, "measured timeline"));
}

/// Counts work by instrumented code. Returns whether every case got counts; not after an interrupt.
bool add_exact_counts(Run &run, const GpuProfile &profile, Compiler &compiler, const Device &device,
                      unsigned compile_threads, Keeper &keep) {
    Progress progress("exact work");
    ExactOptions options;
    options.compile_threads = compile_threads;
    options.interrupt = &OnInterrupt::flag();
    const ExactEnd end =
        add_exact_work(run, profile, compiler, device, options, keep_or_say_why(run, keep, "exact counts"),
                       [&](std::size_t done, std::size_t total, const Case *next) {
                           progress.show(done, total, next ? next->shape + " " + *next->strategy : "");
                           keep(run, next == nullptr);
                       });
    if (end == ExactEnd::interrupted)
        OnInterrupt::finish();
    return end == ExactEnd::all;
}

/// Measures the cases that are not settled, with a line of progress. After an interrupt it does not return.
RunEnd measure_open(Run &run, const GpuProfile &profile, Compiler &compiler, const Device &device,
                    RunOptions options, Keeper &keep) {
    Progress cases("cases");
    Executor executor(compiler, device, profile, std::move(options));
    const RunEnd end = executor.run_all(run, [&](const Run &so_far, std::size_t settled) {
        const bool more = settled < so_far.cases.size();
        cases.show(settled, so_far.cases.size(),
                   more ? so_far.cases[settled].shape + " " + so_far.cases[settled].called() : "");
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
    const OnInterrupt on_interrupt(remove_unfinished_kernels); // samples are kept
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
    return why_not([&] { (void)usable_device(device, for_kernels); });
}

std::map<std::string, std::string> gpu_at_hand(int device) {
    const DeviceFacts facts = usable_device(device, for_probes).facts();
    return {{"name", facts.name},
            {"gpu", facts.uuid},
            {"driver", "CUDA " + cuda_version_text(facts.driver_version)},
            {"probes", hash_of_probes()}};
}

int sms_given(int device, int asked) {
    usable_device(device, for_kernels);
    return green_sm_count(device, asked);
}

namespace {

/// The conditions "date", now in UTC, and "toolkit" of what is run.
std::map<std::string, std::string> toolkit_conditions(const Device &device, const Compiler &compiler) {
    return {{"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
            {"toolkit", "CUDA " + cuda_version_text(device.facts().runtime_version) + ", NVRTC " +
                            compiler.nvrtc_version()}};
}

void note_toolkit(NetworkRun &run, const Device &device, const Compiler &compiler) {
    for (const auto &[name, value] : toolkit_conditions(device, compiler))
        run.conditions[name] = value;
}

} // namespace

NetworkRun run_ladder_on_device(const Ladder &ladder, const Network &network, std::int64_t batch,
                                int ordinal) {
    CaseOptions options;
    options.done = [](const NetworkRun &, const NetworkCase &rung) {
        note(rung.name() + ": " + name_of(rung.status));
    };
    const Device device = usable_device(ordinal, for_kernels);
    Compiler compiler;
    NetworkRun run = run_ladder(compiler, device, ladder, network, batch, options);
    note_toolkit(run, device, compiler);
    return run;
}

NetworkRun run_whole_on_device(const PlannedNetwork &plan, int ordinal, const std::string &save_tensors) {
    WholeOptions options;
    options.save_tensors = save_tensors;
    options.compile_threads = std::max(1U, std::thread::hardware_concurrency());
    options.say = note;
    const Device device = usable_device(ordinal, for_kernels);
    Compiler compiler;
    NetworkRun run = run_whole(compiler, device, plan, options);
    note_toolkit(run, device, compiler);
    return run;
}

namespace {

/// Opens the GPUs together, and says on standard error what is to note of them.
DeviceGroup group_of(const std::vector<int> &devices) {
    DeviceGroup group(devices);
    for (const std::string &said : group.notes())
        note(said);
    return group;
}

/// Where a rank stands among the ranks.
struct RankHosts {
    int local = 0; ///< how many ranks of the same host come before this one
    int hosts = 1; ///< that the ranks are on
};

/// Every rank of the meeting has to call this: all send the names of their hosts to rank 0 and get the list.
RankHosts hosts_of(Meeting &meeting) {
    std::array<char, 256> host{}; // Linux has at most 64 characters; the last stays 0
    (void)::gethostname(host.data(), host.size() - 1);
    const std::vector<std::string> names =
        split(meeting.from_first(join(meeting.to_first(host.data()), "\n")), '\n');
    const auto mine = names.begin() + meeting.rank();
    return {.local = static_cast<int>(std::count(names.begin(), mine, *mine)),
            .hosts = static_cast<int>(std::set(names.begin(), names.end()).size())};
}

/// The ordinal of a rank's GPU: the one that is asked for, or else the GPU number `local`, how many ranks of
/// this host come before it. A rank that sees one GPU takes that: launchers often show each rank its own
/// alone. Throws UsageError where there are more ranks than GPUs.
int device_of(const TrainedOn &on, int local) {
    if (!on.devices.empty())
        return on.devices.front();
    int count = 0;
    if (!why_no_device() && cudaGetDeviceCount(&count) == cudaSuccess && local >= count && count > 1)
        throw UsageError(
            fmt::format("run: {0} ranks came before this one on this host, which has {1} GPUs: start "
                        "at most {1} ranks a host, or say which GPU by --device",
                        local, count));
    return count > 1 ? local : 0;
}

/// Meets the other ranks and calls `part` as the rank `on.rank`, which must be there, on its GPU. Tells the
/// others why where this rank has no usable GPU, so that they do not wait, and throws.
void as_rank_here(const TrainedOn &on,
                  const std::function<void(Rank &, const Device &, Compiler &, int hosts)> &part) {
    Meeting meeting(*on.rank, on.asked);
    const RankHosts hosts = hosts_of(meeting);
    std::optional<Device> device;
    try {
        device.emplace(usable_device(device_of(on, hosts.local), for_kernels));
    } catch (const std::exception &error) {
        meeting.leave(fmt::format("rank {} ended: {}", meeting.rank(), error.what()));
        throw;
    }
    Compiler compiler;
    as_rank(meeting, device->facts().ordinal,
            [&](Rank &rank) { part(rank, *device, compiler, hosts.hosts); });
}

} // namespace

void run_scaling_on(const TrainedOn &on, const Network &network, NetworkRun &run,
                    const std::function<void(const NetworkRun &)> &keep) {
    CaseOptions options;
    if (!on.rank || on.rank->rank == 0)
        options.done = [&](const NetworkRun &so_far, const NetworkCase &item) {
            note(fmt::format("{}: {}{}", item.name(), name_of(item.status),
                             item.reason ? ", " + *item.reason : ""));
            keep(so_far);
        };
    if (on.rank)
        return as_rank_here(on, [&](Rank &rank, const Device &device, Compiler &compiler, int hosts) {
            note_toolkit(run, device, compiler);
            run.conditions["hosts"] = std::to_string(hosts);
            run_ranks(compiler, device, rank, network, run, options);
        });
    const DeviceGroup group = group_of(on.devices);
    const Device first = usable_device(group.ordinal(0), for_kernels);
    Compiler compiler;
    note_toolkit(run, first, compiler);
    run_scaling(compiler, group, network, run, options);
}

TrainedNetwork train_on(const TrainedOn &on, const Ladder &ladder, const Network &network,
                        const LabelledImages &images, const LabelledImages &tests,
                        const TrainingOptions &options,
                        const std::function<void(const Weights &, std::int64_t)> &keep) {
    TrainedNetwork trained;
    if (on.rank) {
        as_rank_here(on, [&](Rank &rank, const Device &device, Compiler &compiler, int hosts) {
            try {
                trained = train(compiler, device, ladder, network, images, tests, options, &rank);
            } catch (const TrainingCut &cut) {
                if (cut.epochs > 0 && (rank.index() == 0 || rank.meeting().first_ended()))
                    keep(weights_of(rounded(cut.parameters), network,
                                    fmt::format("convcast, {} of {} epochs over {} ranks, cut off: {}",
                                                cut.epochs, options.epochs, rank.count(), cut.what())),
                         cut.epochs);
                throw;
            }
            note_toolkit(trained.run, device, compiler);
            trained.run.conditions["hosts"] = std::to_string(hosts);
        });
        return trained;
    }
    std::optional<DeviceGroup> group; // there exactly where on.split is
    if (on.split)
        group.emplace(group_of(on.devices));
    const Device first = usable_device(group ? group->ordinal(0) : on.devices.front(), for_kernels);
    Compiler compiler;
    trained = group ? train_over(compiler, first, *group, *on.split, ladder, network, images, tests, options)
                    : train(compiler, first, ladder, network, images, tests, options);
    note_toolkit(trained.run, first, compiler);
    return trained;
}

void try_own_on_device(const Run &run, const GpuProfile &profile, int ordinal) {
    const Device device = usable_device(ordinal, for_kernels);
    Compiler compiler;
    try_own_kernels(run, compiler, device, profile, [](const std::string &line) {
        std::printf("%s\n", line.c_str());
        std::fflush(stdout);
    });
}

namespace {

/// Has a process of its own call each of the user's kernels once, since a kernel that fails may leave the
/// GPU unusable for the process that called it. Those that fail are settled as failed in `run`; returns their
/// places in run.cases. Must be called before this process has work on the GPU.
std::set<std::size_t> try_own_first(Run &run, const RunRequest &request) {
    std::vector<std::string> words = request.trial_words;
    words.insert(words.end(), {"--device", std::to_string(request.device)});
    return try_own_kernels_apart(run, "/proc/self/exe", words);
}

/// Throws UsageError if the document has measurements and these are of a GPU of another name than the GPU at
/// hand. Says on standard error if the profile that the forecasts were made from is of another one.
void require_same_gpu(const Run &run, bool has_measurements, const GpuProfile &profile,
                      const Device &device) {
    const std::string &name = device.facts().name;
    if (has_measurements && run.conditions.contains("gpu") && run.conditions.at("gpu") != name)
        throw UsageError(
            "run: the document holds measurements of " + run.conditions.at("gpu") + ", the GPU at hand is " +
            name +
            "; one document holds the numbers of one GPU; write to another file: -o FILE, without --resume");
    if (!profile.name.empty() && profile.name != name) // a profile has to have an id, but no name
        note("the forecast is for " + profile.name + ", the GPU at hand is " + name +
             "; `convcast measure -o my_gpu.json` and --gpu my_gpu.json forecast for it");
}

/// Notes date, toolkit and GPU, joined with those of measurements that the document has already.
void note_conditions(Run &run, bool has_measurements, const Device &device, const Compiler &compiler) {
    std::map<std::string, std::string> conditions = toolkit_conditions(device, compiler);
    conditions["gpu_uuid"] = device.facts().uuid;
    for (const auto &[name, now] : conditions)
        run.conditions[name] = has_measurements && run.conditions.contains(name)
                                   ? joined_condition(name, {run.conditions[name], now})
                                   : now;
}

} // namespace

RunEnd run_on_device(Run &run, const GpuProfile &profile, const RunRequest &request) {
    if (const std::optional<std::string> why = why_no_device())
        throw GpuError(*why);
    RunOptions options;
    options.settled = try_own_first(run, request);
    const Device device = usable_device(request.device, for_kernels);
    std::optional<GreenContext> some_sms;
    if (request.sms)
        some_sms.emplace(request.device, *request.sms);
    if (request.require_counters || request.exact_work)
        if (const std::optional<std::string> why = why_no_counters())
            throw CounterPermissionError(*why);
    const bool has_measurements = measured(run); // here, not by another program
    require_same_gpu(run, has_measurements, profile, device);
    Compiler compiler;
    options.count = !request.no_counters;
    options.count_exact_fmas = request.exact_fmas && !request.exact_work; // exact work has the FMAs too
    // One core stays with the thread that launches.
    const unsigned compile_threads = std::max(2u, std::thread::hardware_concurrency()) - 1;
    options.compile_threads = compile_threads;
    options.say = note;
    options.interrupt = &OnInterrupt::flag();
    options.until = request.until;
    note_conditions(run, has_measurements, device, compiler);
    mark_not_run(run);
    Keeper keep(run, request);
    const RunEnd end = request.measure
                           ? measure_open(run, profile, compiler, device, std::move(options), keep)
                           : RunEnd::finished;
    say_warning(compiler);
    if (end != RunEnd::finished) // device_lost or incomplete; after an interrupt the program has ended
        return end;
    try {
        bool all = !request.timeline || add_measured_timelines(run, compiler, device, compile_threads, keep);
        if (request.exact_work)
            all = add_exact_counts(run, profile, compiler, device, compile_threads, keep) && all;
        return all ? RunEnd::finished : RunEnd::incomplete;
    } catch (const DeviceLost &) {
        return RunEnd::device_lost;
    } catch (const GpuError &error) { // what was measured stays
        note(error.what());
        return RunEnd::incomplete;
    }
}

CompileReport compile_kernels(const std::vector<Plan> &plans, const std::vector<OwnTask> &own, const Gpu &gpu,
                              int compute_capability) {
    Compiler compiler;
    const OnInterrupt on_interrupt(remove_unfinished_kernels);
    CompileReport report;
    report.architecture = "sm_" + std::to_string(compute_capability);
    report.nvrtc = compiler.nvrtc_version();
    report.cache = default_cache_folder().string();
    if (!plans.empty() || own.empty()) {
        Progress progress("kernels");
        report.kernels = check_kernels(
            compiler, plans, gpu, compute_capability, std::max(1u, std::thread::hardware_concurrency()),
            [&](std::size_t done, std::size_t total) { progress.show(done, total, ""); });
    }
    Progress progress("kernels", Progress::Where::terminal_after_a_while);
    for (std::size_t i = 0; i < own.size(); ++i) {
        const OwnKernel &kernel = *own[i].kernel;
        progress.show(i, own.size(), own_prefix + kernel.name);
        const Patience patience(own_prefix + kernel.name + " is being compiled for " + own[i].shape.id());
        report.kernels.push_back(check_own_kernel(compiler, kernel, own[i].shape, gpu, compute_capability));
    }
    if (say_warning(compiler))
        report.cache.clear();
    return report;
}

std::vector<Finding> examine_device() {
    std::vector<Finding> findings;
    // `otherwise`: the state where `look` throws; the message of the exception is the detail then.
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
    examine("cuDNN (baseline)", Health::absent, [] { return open_cudnn()->version(); });
    examine("cuBLAS (baseline)", Health::absent, [] { return open_cublas()->version(); });
    return findings;
}

} // namespace convcast::cli
