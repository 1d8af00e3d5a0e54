#include "microbench/measure.hpp"

#include "gpu/check.hpp"
#include "gpu/stopwatch.hpp"
#include "microbench/runners.hpp"
#include "model/base/hash.hpp"

#include <algorithm>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <variant>

namespace convcast {

/// The host code that decides what the samples mean; its hash tells old samples from new ones.
extern const std::vector<EmbeddedFile> probe_runner_sources;

namespace {

std::string now_utc() {
    const std::time_t now = std::time(nullptr);
    std::tm fields{};
    gmtime_r(&now, &fields);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &fields);
    return text;
}

RawSamples facts_of(const DeviceFacts &device, const Compiler &compiler) {
    RawSamples raw;
    raw.name = device.name;
    raw.compute_capability =
        std::to_string(device.compute_major) + "." + std::to_string(device.compute_minor);
    raw.max_sm_clock_hz = device.max_clock.value;
    raw.memory_clock_hz = device.memory_clock.value;
    raw.memory_bus_bits = device.memory_bus_bits;
    const std::optional<int> cores = cores_per_sm(device.compute_major, device.compute_minor);
    raw.limits = {device.sm_count,
                  cores.value_or(128),
                  static_cast<int>(device.shared_per_sm_bytes),
                  static_cast<int>(device.shared_per_block_bytes),
                  static_cast<int>(device.shared_reserved_bytes),
                  device.registers_per_sm,
                  device.max_threads_per_sm,
                  device.max_threads_per_block,
                  device.max_ctas_per_sm,
                  static_cast<std::int64_t>(device.l2_bytes)};
    if (!cores)
        raw.conditions["cores_per_sm"] =
            "assumed; compute capability " + raw.compute_capability + " is not known";
    raw.conditions["gpu"] = device.uuid;
    raw.conditions["driver"] = "CUDA " + cuda_version_text(device.driver_version);
    raw.conditions["runtime"] = "CUDA " + cuda_version_text(device.runtime_version);
    raw.conditions["nvrtc"] = compiler.nvrtc_version();
    raw.conditions["date"] = now_utc();
    raw.conditions["probes"] = hash_of_probes();
    return raw;
}

std::vector<const Probe *> chosen_probes(const std::vector<std::string> &only) {
    const std::vector<std::string> known = probe_names();
    for (const std::string &name : only)
        if (std::find(known.begin(), known.end(), name) == known.end())
            throw UsageError("unknown probe '" + name + "'" + did_you_mean(name, known) +
                             " Known: " + join(known));
    std::vector<const Probe *> chosen;
    for (const Probe &probe : probes())
        if (only.empty() || std::find(only.begin(), only.end(), probe.name) != only.end())
            chosen.push_back(&probe);
    return chosen;
}

std::string request_name(std::string_view file) {
    return "microbench/probes/" + std::string(file);
}

/// All device code, compiled at once; a file that does not compile fails only the probes that need it.
class ProbeModules {
  public:
    ProbeModules(Compiler &compiler, int compute_capability) {
        const std::vector<CompileRequest> requests = probe_requests(compute_capability);
        const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
        std::vector<Compiler::Outcome> outcomes = compiler.compile_all(requests, threads);
        for (std::size_t i = 0; i < requests.size(); ++i)
            outcomes_.emplace(requests[i].name, std::move(outcomes[i]));
    }

    /// Throws GpuError if the file did not compile.
    Module load(std::string_view file) const {
        const Compiler::Outcome &outcome = outcomes_.at(request_name(file));
        if (const std::string *why = std::get_if<std::string>(&outcome))
            throw GpuError(*why);
        return Module(std::get<CompiledModule>(outcome));
    }

  private:
    std::map<std::string, Compiler::Outcome> outcomes_;
};

/// `earlier` with the conditions of `now`; throws UsageError if they are not of the same GPU and probes.
RawSamples continued(const RawSamples &now, const RawSamples &earlier) {
    for (const char *what : {"gpu", "probes", "driver"}) {
        const auto then = earlier.conditions.find(what);
        const std::string was = then == earlier.conditions.end() ? "not known" : then->second;
        if (was != now.conditions.at(what))
            throw UsageError(std::string("measure: cannot resume: \"") + what + "\" was " + was + ", is " +
                             now.conditions.at(what) + "; measure anew, without --resume");
    }
    RawSamples raw = earlier;
    raw.conditions["resumed"] = now.conditions.at("date");
    return raw;
}

} // namespace

std::string hash_of_probes() {
    std::vector<std::string> texts;
    for (const auto *files : {&probe_sources, &probe_runner_sources})
        for (const EmbeddedFile &file : *files)
            texts.push_back(hashed_text(file.bytes));
    return content_hash(texts);
}

ProbeRuns probe_runs() {
    ProbeRuns runs;
    for (ProbeRuns family :
         {probe::latency_runs(), probe::dram_runs(), probe::l2_runs(), probe::granularity_runs(),
          probe::synchronisation_runs(), probe::launch_runs(), probe::transfer_runs()})
        runs.merge(family);
    for (const Probe &probe : probes())
        if (probe.how.launch != nullptr)
            runs.emplace(probe.name, probe::clocked);
    return runs;
}

std::vector<CompileRequest> probe_requests(int compute_capability) {
    constexpr int has_wgmma = 90;
    const std::string common = find_embedded(probe_sources, "common.cuh")->text();
    std::vector<CompileRequest> requests;
    std::map<std::string, std::vector<std::string>> files = probe_files();
    files["fill.cu"]; // of all probes
    for (const auto &[file, templates] : files) {
        CompileRequest &request = requests.emplace_back();
        request.name = request_name(file);
        // The line directive makes the log speak of the file's own lines.
        request.source =
            common + "#line 1 \"" + request.name + "\"\n" + find_embedded(probe_sources, file)->text();
        request.name_expressions = templates;
        request.compute_capability = compute_capability;
        request.architecture_features =
            compute_capability == has_wgmma &&
            std::any_of(probes().begin(), probes().end(),
                        [&](const Probe &probe) { return probe.how.wgmma && probe.file == file; });
    }
    return requests;
}

RawSamples measure(Compiler &compiler, const Device &device, const MeasureOptions &options) {
    RawSamples raw = facts_of(device.facts(), compiler);
    if (options.resume)
        raw = continued(raw, *options.resume);
    std::vector<const Probe *> chosen = chosen_probes(options.only);
    std::erase_if(chosen, [&](const Probe *probe) { return !is_open(raw, probe->name); });
    for (const auto &[what, how] : options.conditions)
        raw.conditions[what] = how;
    const ProbeModules modules(compiler, device.facts().compute_capability());
    const Module fill = modules.load("fill.cu");
    StopWatch watch(compiler, device.facts());
    raw.conditions["times"] = watch.why_events() ? "events: " + *watch.why_events() : "activity records";
    const ProbeRuns runs = probe_runs();

    for (std::size_t done = 0; done < chosen.size(); ++done) {
        const Probe &probe = *chosen[done];
        const std::string name(probe.name);
        raw.failed.erase(name);
        if (options.progress)
            options.progress(probe, done, chosen.size());
        try {
            if (device.facts().compute_capability() < probe.how.least_capability)
                throw ProbeSkipped(probe.how.needs);
            const std::optional<Module> module =
                probe.file.empty() ? std::nullopt : std::optional<Module>(modules.load(probe.file));
            ProbeContext context{device.facts(), watch, fill, &probe};
            for (ProbeSamples &samples : runs.at(probe.name)(context, module ? *module : fill))
                raw.samples.push_back(std::move(samples));
        } catch (const DeviceLost &lost) {
            raw.failed[name] = lost.what();
            for (std::size_t rest = done + 1; rest < chosen.size(); ++rest)
                raw.failed[std::string(chosen[rest]->name)] = "not run: the device was lost in probe " + name;
            if (options.keep)
                options.keep(raw);
            throw;
        } catch (const ProbeSkipped &skipped) {
            raw.skipped[name] = skipped.what();
        } catch (const std::exception &error) {
            raw.failed[name] = error.what();
        }
        if (options.keep)
            options.keep(raw);
    }
    return raw;
}

} // namespace convcast
