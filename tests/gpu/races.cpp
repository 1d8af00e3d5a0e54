// Every kernel for compute-sanitizer: small programs that it can watch. tests/gpu/session (phase races) runs
// them all.
#include "executor/launch/kernel_cache.hpp"
#include "executor/launch/kernel_source.hpp"
#include "executor/launch/prepare.hpp"
#include "executor/verify/gates.hpp"
#include "executor/verify/inputs.hpp"
#include "executor/verify/tensors.hpp"
#include "gpu/device.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/text.hpp"
#include "model/choose/setting.hpp"
#include "tests/gpu/false_alarm.hpp"
#include "tests/gpu/race_cases.hpp"
#include "tests/gpu/race_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> race_sources; ///< race_ring.cu

namespace {

constexpr const char *usage =
    R"(usage: races list                print the cases: shape, strategy, why, kernels
       races compile [THREADS]   compile their kernels into the cache (CONVCAST_CACHE); needs no GPU
       races run I/N [SECONDS]   run part I of N, from SECONDS on no further case; exit status 1: a wrong result
       races only SHAPE STRATEGY run one case, of the list or not
       races rings               print the ring's variants
       races ring VARIANT TIMES  launch one TIMES times; exit status 1: a wrong value
       races report LOG...       what compute-sanitizer said of the parts, by strategy and case, and of the
                                 rings; exit status 1: it found something besides the false alarm that the
                                 rings show, or did not see the end of a part
)";

constexpr int compute_capability = 90;
constexpr std::uint64_t seed = 20240601;
constexpr int ok = 0, check_failed = 1;

int number(const std::string &text) {
    const std::optional<int> value = number_of<int>(text);
    if (value.value_or(0) < 1)
        throw UsageError("expected a number from 1 on, got '" + text + "'");
    return *value;
}

/// Printed at once: the tool's words about a case follow its name.
void say(const std::string &line) {
    std::fputs((line + "\n").c_str(), stdout);
    std::fflush(stdout);
}

std::string title(const RaceCase &item) {
    return item.shape.id() + " " + item.strategy + " (" + item.why + ")";
}

/// As they are measured, and with the lines of their source, which the tool then names.
CompileRequest with_lines(CompileRequest request) {
    request.options.push_back("-lineinfo");
    return request;
}

class KernelsWithLines : public KernelCache {
  public:
    using KernelCache::KernelCache;

  private:
    CompileRequest request_of(const Partition &partition, const ConvEnd &end) const override {
        return with_lines(KernelCache::request_of(partition, end));
    }
};

// ---- the ring ----

/// The texts of device code that race_ring.cu stands on, and its own.
std::string ring_source() {
    std::string source;
    for (const char *name : {"executor/kernels/conv_args.hpp", "executor/kernels/common.cuh",
                             "executor/kernels/tensor.cuh", "tests/gpu/race_ring.cu"}) {
        const EmbeddedFile *file = find_embedded(kernel_sources, name);
        for (const std::string_view line : lines_of((file ? *file : race_sources.front()).bytes))
            if (!line.starts_with("#include") && !line.starts_with("#pragma once"))
                source += std::string(line) + "\n";
    }
    return source;
}

CompileRequest request_for(const Ring &ring) {
    CompileRequest request;
    request.name = "race_ring.cu";
    request.source = ring_source();
    request.name_expressions = {fmt::format("race_ring<{}, {}, {}>", ring.by_lane, ring.barrier, ring.racy)};
    request.compute_capability = compute_capability;
    request.architecture_features = true;
    request.options = {"-lineinfo"};
    return request;
}

// ---- the cases ----

std::vector<RaceCase> all_cases() {
    return race_cases(find_profile("h200"));
}

std::vector<CompileRequest> requests_of(const std::vector<RaceCase> &cases) {
    std::vector<Plan> plans;
    for (const RaceCase &item : cases)
        plans.push_back(item.plan);
    std::vector<CompileRequest> requests = requests_for(plans, compute_capability);
    for (CompileRequest &request : requests)
        request = with_lines(std::move(request));
    return requests;
}

int list() {
    const std::vector<RaceCase> cases = all_cases();
    std::set<std::string> kernels;
    for (const RaceCase &item : cases) {
        const std::vector<std::string> its = kernels_of(item.plan);
        kernels.insert(its.begin(), its.end());
        say(title(item) + ": " + join(its));
    }
    say(fmt::format("{} cases, {} shapes, {} kernels", cases.size(), race_shapes().size(),
                    requests_of(cases).size()));
    return ok;
}

int compile(unsigned threads) {
    Compiler compiler;
    std::vector<CompileRequest> requests = requests_of(all_cases());
    requests.push_back(reference_request(compute_capability));
    for (const Ring &ring : rings)
        requests.push_back(request_for(ring));
    if (compiler.cache_file(requests.front()).empty())
        throw UsageError("there is no cache to compile into: set CONVCAST_CACHE to a folder");
    int failed = 0;
    const std::vector<Compiler::Outcome> outcomes =
        compiler.compile_all(requests, threads, [&](std::size_t done, std::size_t total) {
            if (done % 100 == 0 || done == total)
                say(fmt::format("{} of {} kernels", done, total));
        });
    for (const Compiler::Outcome &outcome : outcomes)
        if (const auto *why = std::get_if<std::string>(&outcome)) {
            say(*why);
            ++failed;
        }
    if (const std::string warning = compiler.take_warning(); !warning.empty()) {
        say(warning);
        ++failed;
    }
    return failed == 0 ? ok : check_failed;
}

class Lab {
  public:
    Lab()
        : device_(0), kernels_(compiler_, compute_capability),
          reference_(compiler_, device_.facts().compute_capability()) {
        if (device_.facts().compute_capability() != compute_capability)
            throw GpuError(fmt::format("the cases are planned for compute capability 9.0; {} has {}.{}",
                                       device_.facts().name, device_.facts().compute_major,
                                       device_.facts().compute_minor));
    }

    /// What is wrong with the result; empty if nothing is.
    std::string run(const RaceCase &item) {
        const auto [data, first] = data_.try_emplace(item.shape.id(), item.shape, reference_, seed);
        return data->second
            .verify(prepare(kernels_, item.plan, item.shape).call,
                    item.plan.transformed_fmas ? Gate::transformed : Gate::exact, Layout::channels_first,
                    nullptr)
            .message;
    }

  private:
    Device device_;
    Compiler compiler_;
    KernelsWithLines kernels_;
    ReferenceKernels reference_;
    std::map<std::string, ShapeData> data_; ///< by shape
};

int run_all(const std::vector<const RaceCase *> &cases, std::chrono::seconds limit) {
    const auto start = std::chrono::steady_clock::now();
    Lab lab;
    std::size_t done = 0, wrong = 0;
    for (const RaceCase *item : cases) {
        if (std::chrono::steady_clock::now() - start >= limit)
            break;
        say("case " + title(*item));
        if (const std::string why = lab.run(*item); !why.empty()) {
            say("wrong " + title(*item) + ": " + why);
            ++wrong;
        } else {
            say("right " + title(*item));
        }
        ++done;
    }
    say(fmt::format("{} of {} cases ran, {} wrong", done, cases.size(), wrong));
    return wrong == 0 ? ok : check_failed;
}

int run_part(const std::string &part, std::chrono::seconds limit) {
    const std::size_t slash = std::min(part.find('/'), part.size() - 1);
    const int which = number(part.substr(0, slash)), parts = number(part.substr(slash + 1));
    if (which > parts)
        throw UsageError("there is no part " + part);
    const std::vector<RaceCase> cases = all_cases();
    std::vector<const RaceCase *> its;
    for (std::size_t i = static_cast<std::size_t>(which - 1); i < cases.size();
         i += static_cast<std::size_t>(parts))
        its.push_back(&cases[i]);
    return run_all(its, limit);
}

int run_only(const std::string &shape_text, const std::string &strategy) {
    const ConvShape shape = ConvShape::parse(shape_text);
    const GpuProfile h200 = find_profile("h200");
    auto planned = plan(parse_strategy(strategy), shape, h200);
    if (const auto *why = std::get_if<Infeasible>(&planned))
        throw UsageError(strategy + " cannot do " + shape_text + ": " + why->why);
    auto &good = std::get<PlannedStrategy>(planned);
    const RaceCase item{shape, to_text(good.strategy), "asked for", std::move(good.feasible.plan)};
    return run_all({&item}, std::chrono::hours(1));
}

int run_ring(const std::string &name, int times) {
    const auto *const ring = std::find_if(rings.begin(), rings.end(),
                                          [&](const Ring &candidate) { return candidate.name == name; });
    if (ring == rings.end())
        throw UsageError("there is no ring '" + name + "'");
    constexpr std::size_t steps = 8, ctas = 4, readers = 128, stage = 2 * readers;
    const CompileRequest request = request_for(*ring);
    const std::string &expression = request.name_expressions.front();
    Compiler compiler;
    const Module module(compiler.compile(request));
    const Kernel kernel = module.kernel(expression);

    std::vector<float> input(steps * stage), sums(readers);
    for (std::size_t i = 0; i < input.size(); ++i) {
        input[i] = static_cast<float>(i * i % 7) - 3.0F; // sums are exact
        sums[i % stage / 2] += input[i];
    }
    const DeviceBuffer<float> on_device{std::span<const float>(input)};
    DeviceBuffer<float> output(ctas * readers * 2);
    long long wrong = 0;
    for (int time = 0; time < times; ++time) {
        output.fill_bytes(0xFF);
        const float *from = on_device.data();
        float *to = output.data();
        int asked = static_cast<int>(steps);
        std::array<void *, 3> arguments = {static_cast<void *>(&from), static_cast<void *>(&to),
                                           static_cast<void *>(&asked)};
        kernel.launch(dim3(ctas), dim3(readers + 32), 0, nullptr, arguments.data(), 1);
        const std::vector<float> seen = output.to_host();
        for (std::size_t thread = 0; thread < ctas * readers; ++thread)
            wrong += (seen[2 * thread] != sums[thread % readers]) +
                     (seen[2 * thread + 1] != sums[(thread + 1) % readers]);
    }
    say(fmt::format("ring {}: {}, {} launches, {} wrong values", name, expression, times, wrong));
    return wrong == 0 ? ok : check_failed;
}

// ---- the report ----

struct Tally {
    std::size_t cases = 0, ran = 0, wrong = 0, with_findings = 0;
    std::set<std::string> kernels, kernels_with_findings;
    std::int64_t hazards = 0;
};

/// All that the tool said of one kernel.
struct Reported {
    std::map<std::string, std::int64_t> hazards_by_text;
    std::int64_t hazards = 0;
    std::int64_t false_alarms = 0; ///< that its launches in the cases that ran have by mistake
    bool all_pixels = true;        ///< each finding is of the accesses of which there is a false alarm
    bool known = false;            ///< a case has the kernel
};

int report(const std::vector<std::string> &files) {
    const std::string source = kernel_source("implicit_gemm_3xtf32");
    std::set<std::string> ran, wrong;
    std::vector<std::string> incomplete;
    std::map<std::string, Reported> by_kernel;
    std::map<std::string, ToolLog> by_ring;
    for (const std::string &file : files) {
        const std::string log = read_file(file);
        std::string ring;
        for (const std::string_view line : lines_of(log)) {
            if (line.starts_with("ring "))
                ring = line.substr(5, line.find(':') - 5);
            if (line.starts_with("right ") || line.starts_with("wrong "))
                ran.emplace(line.substr(6, line.find(')') - 5));
            if (line.starts_with("wrong "))
                wrong.emplace(line.substr(6, line.find(')') - 5));
        }
        ToolLog read = read_tool_log(log);
        if (!read.ended)
            incomplete.push_back(file);
        if (!ring.empty()) {
            by_ring[ring] = std::move(read);
            continue;
        }
        for (const Finding &finding : read.findings) {
            Reported &reported = by_kernel[finding.kernel];
            reported.hazards_by_text[finding.text] += finding.hazards;
            reported.hazards += finding.hazards;
            reported.all_pixels = reported.all_pixels && is_pixels_alarm(finding, source);
        }
    }
    const RingsSeen rings_seen = judge_rings(by_ring);

    const std::vector<RaceCase> cases = all_cases();
    for (const RaceCase &item : cases)
        each_launch(item.plan, [&](const Partition &part) {
            if (const auto its = by_kernel.find(name_expression(part)); its != by_kernel.end()) {
                its->second.known = true;
                if (ran.contains(title(item)))
                    its->second.false_alarms += pixels_alarm_hazards(part);
            }
        });
    const auto excepted = [&](const Reported &reported) {
        return rings_seen.false_alarm && reported.known && reported.all_pixels &&
               reported.hazards == reported.false_alarms;
    };
    std::map<std::string, Tally> tallies;
    for (const RaceCase &item : cases) {
        Tally &tally = tallies[item.strategy.substr(0, item.strategy.find(':'))];
        ++tally.cases;
        tally.ran += ran.contains(title(item));
        tally.wrong += wrong.contains(title(item));
        bool found = false, all_excepted = true;
        for (const std::string &kernel : kernels_of(item.plan)) {
            tally.kernels.insert(kernel);
            if (const auto its = by_kernel.find(kernel); its != by_kernel.end()) {
                if (tally.kernels_with_findings.insert(kernel).second)
                    tally.hazards += its->second.hazards;
                found = true;
                all_excepted = all_excepted && excepted(its->second);
            }
        }
        if (found) {
            ++tally.with_findings;
            say((all_excepted ? "false alarm in " : "found in ") + title(item));
        }
    }
    std::size_t kernels_excepted = 0;
    std::int64_t hazards_excepted = 0;
    for (const auto &[kernel, reported] : by_kernel) {
        if (excepted(reported)) {
            ++kernels_excepted;
            hazards_excepted += reported.hazards;
            continue;
        }
        for (const auto &[text, hazards] : reported.hazards_by_text)
            say(fmt::format("{}{}: {} [{}]", kernel.empty() ? "no kernel" : kernel,
                            reported.known ? "" : ", of no case", text, hazards));
        if (reported.all_pixels)
            say(fmt::format("{}: {} hazards in all; {} would be a false alarm, if the rings show it", kernel,
                            reported.hazards, reported.false_alarms));
    }
    say(fmt::format("{:<22} {:>6} {:>6} {:>6} {:>8} {:>15} {:>17} {:>9}", "strategy", "cases", "ran", "wrong",
                    "kernels", "cases reported", "kernels reported", "hazards"));
    Tally all;
    for (const auto &[name, tally] : tallies) {
        say(fmt::format("{:<22} {:>6} {:>6} {:>6} {:>8} {:>15} {:>17} {:>9}", name, tally.cases, tally.ran,
                        tally.wrong, tally.kernels.size(), tally.with_findings,
                        tally.kernels_with_findings.size(), tally.hazards));
        all.cases += tally.cases, all.ran += tally.ran, all.wrong += tally.wrong;
    }
    for (const std::string &line : rings_seen.lines)
        say(line);
    if (kernels_excepted > 0)
        say(fmt::format(
            "excepted: {} hazards of {} kernels of implicit_gemm_3xtf32, all of them loads of pixels "
            "by lanes 1 to 31 before the copies that fill the buffer again: ordered by __syncwarp "
            "and an mbarrier, of which the tool does not follow the first "
            "(tests/gpu/false_alarm.hpp)",
            hazards_excepted, kernels_excepted));
    for (const std::string &file : incomplete)
        say(file + ": the tool did not see the end");
    say(fmt::format("{} of {} cases ran, {} wrong; {} kernels reported, {} of them by a false alarm; "
                    "{} of {} logs are whole",
                    all.ran, all.cases, all.wrong, by_kernel.size(), kernels_excepted,
                    files.size() - incomplete.size(), files.size()));
    return by_kernel.size() == kernels_excepted && rings_seen.good && incomplete.empty() && all.wrong == 0 &&
                   all.ran == all.cases
               ? ok
               : check_failed;
}

int main_of(const std::vector<std::string> &words) {
    const std::string verb = words.empty() ? "" : words.front();
    const std::size_t given = words.size() - (words.empty() ? 0 : 1);
    if (verb == "list" && given == 0)
        return list();
    if (verb == "compile" && given <= 1)
        return compile(given == 1 ? static_cast<unsigned>(number(words[1]))
                                  : std::max(1U, std::thread::hardware_concurrency()));
    if (verb == "run" && (given == 1 || given == 2))
        return run_part(words[1], std::chrono::seconds(given == 2 ? number(words[2]) : 1'000'000));
    if (verb == "only" && given == 2)
        return run_only(words[1], words[2]);
    if (verb == "rings" && given == 0) {
        for (const Ring &ring : rings)
            say(ring.name);
        return ok;
    }
    if (verb == "ring" && given == 2)
        return run_ring(words[1], number(words[2]));
    if (verb == "report" && given >= 1)
        return report({words.begin() + 1, words.end()});
    throw UsageError(usage);
}

} // namespace
} // namespace convcast

int main(int argc, char **argv) {
    try {
        return convcast::main_of({argv + 1, argv + argc});
    } catch (const convcast::UsageError &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    } catch (const convcast::InputError &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 3;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 4;
    }
}
