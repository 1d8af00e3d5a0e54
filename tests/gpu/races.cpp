// Every kernel for compute-sanitizer: small programs that it can watch. tests/gpu/session (phase races) runs
// them all.
#include "executor/gates.hpp"
#include "executor/inputs.hpp"
#include "executor/kernel_source.hpp"
#include "executor/launch.hpp"
#include "executor/tensors.hpp"
#include "gpu/device.hpp"
#include "model/errors.hpp"
#include "model/files.hpp"
#include "model/strategies.hpp"
#include "tests/gpu/race_cases.hpp"
#include "tests/gpu/race_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
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
       races report LOG...       what compute-sanitizer said of the parts, by strategy and case; exit status 1:
                                 it found something, or did not see the end of a part
)";

constexpr int compute_capability = 90;
constexpr std::uint64_t seed = 20240601;
constexpr int ok = 0, check_failed = 1;

int number(const std::string &text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < 1)
        throw UsageError("expected a number from 1 on, got '" + text + "'");
    return value;
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
    explicit KernelsWithLines(Compiler &compiler)
        : KernelCache(compiler, compute_capability), compiler_(compiler) {}
    const CompiledModule &compiled(const Partition &partition) override {
        const std::string key = name_expression(partition) + " " + std::to_string(partition.register_cap);
        auto found = modules_.find(key);
        if (found == modules_.end())
            found =
                modules_
                    .emplace(key, compiler_.compile(with_lines(request_for(partition, compute_capability))))
                    .first;
        return found->second;
    }

  private:
    Compiler &compiler_;
    std::map<std::string, CompiledModule> modules_;
};

// ---- the ring ----

/// Template arguments of race_ring.cu.
struct Ring {
    const char *name;
    int copy, read, sums, unrolled, barrier, racy;
};

constexpr std::array rings = {
    // How a buffer is filled, by whom it is read, what then lies over the ring; the loop is not unrolled.
    Ring{"stored", 0, 0, 0, 0, 0, 0},
    Ring{"copied", 1, 0, 0, 0, 0, 0},
    Ring{"bulk", 2, 0, 0, 0, 0, 0},
    Ring{"bulk-wgmma", 2, 1, 0, 0, 0, 0},
    Ring{"stored-sums", 0, 0, 1, 0, 0, 0},
    Ring{"copied-sums", 1, 0, 1, 0, 0, 0},
    Ring{"bulk-sums", 2, 0, 1, 0, 0, 0},
    Ring{"bulk-wgmma-sums", 2, 1, 1, 0, 0, 0},
    Ring{"stored-cluster", 0, 0, 2, 0, 0, 0},
    Ring{"copied-cluster", 1, 0, 2, 0, 0, 0},
    Ring{"bulk-wgmma-cluster", 2, 1, 2, 0, 0, 0},
    // The same, unrolled: each step's barrier is an instruction of its own.
    Ring{"copied-cluster-unrolled", 1, 0, 2, 1, 0, 0},
    Ring{"bulk-wgmma-cluster-unrolled", 2, 1, 2, 1, 0, 0},
    // The same, all threads meeting at a named barrier in each step.
    Ring{"stored-cluster-barrier", 0, 0, 2, 0, 1, 0},
    Ring{"copied-cluster-barrier", 1, 0, 2, 0, 1, 0},
    Ring{"bulk-barrier", 2, 0, 0, 0, 1, 0},
    Ring{"bulk-wgmma-cluster-barrier", 2, 1, 2, 0, 1, 0},
    // A race: the tool must find it.
    Ring{"stored-sums-race", 0, 0, 1, 0, 0, 1},
    Ring{"bulk-wgmma-cluster-race", 2, 1, 2, 0, 0, 1},
};

/// The texts of device code that race_ring.cu stands on, and its own.
std::string ring_source() {
    std::string source;
    for (const char *name : {"executor/kernels/conv_args.hpp", "executor/kernels/common.cuh",
                             "executor/kernels/tensor.cuh", "tests/gpu/race_ring.cu"}) {
        const EmbeddedFile *file = find_embedded(kernel_sources, name);
        std::string_view rest = (file ? *file : race_sources.front()).text;
        while (!rest.empty()) {
            const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
            const std::string_view line = rest.substr(0, end);
            if (!line.starts_with("#include") && !line.starts_with("#pragma once"))
                source += line;
            rest.remove_prefix(end);
        }
    }
    return source;
}

CompileRequest request_for(const Ring &ring) {
    CompileRequest request;
    request.name = "race_ring.cu";
    request.source = ring_source();
    request.name_expressions = {fmt::format("race_ring<{}, {}, {}, {}, {}, {}>", ring.copy, ring.read,
                                            ring.sums, ring.unrolled, ring.barrier, ring.racy)};
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
    Lab() : device_(0), kernels_(compiler_), reference_(compiler_, device_.facts().compute_capability()) {
        if (device_.facts().compute_capability() != compute_capability)
            throw GpuError(fmt::format("the cases are planned for compute capability 9.0; {} has {}.{}",
                                       device_.facts().name, device_.facts().compute_major,
                                       device_.facts().compute_minor));
    }

    /// What is wrong with the result; empty if nothing is.
    std::string run(const RaceCase &item) {
        const bool transforms = item.plan.transformed_fmas.has_value();
        Tensors &tensors = tensors_for(item.shape, transforms);
        GuardedBuffer<std::byte> output(static_cast<std::size_t>(item.shape.output_bytes()),
                                        poison_of(item.shape));
        const PreparedPlan ready = prepare(kernels_, item.plan, item.shape);
        ready.call(tensors.input.data(), tensors.filters.data(), output.data(), nullptr);
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        if (!output.guards_intact())
            return "memory outside the output is written";
        const Gate gate = transforms ? Gate::transformed : Gate::exact;
        return judge(gate, item.shape,
                     reference_.compare(item.shape, output.data(), Layout::channels_first, tensors.reference,
                                        transforms ? rounding_bound(item.shape) : 0.0))
            .message;
    }

  private:
    Tensors &tensors_for(const ConvShape &shape, bool reals) {
        const std::string key = shape.id() + (reals ? " reals" : "");
        auto found = tensors_.find(key);
        if (found == tensors_.end())
            found = tensors_
                        .emplace(key, on_device(shape, (reals ? real_inputs : integer_inputs)(shape, seed),
                                                reference_, seed))
                        .first;
        return found->second;
    }

    Device device_;
    Compiler compiler_;
    KernelsWithLines kernels_;
    ReferenceKernels reference_;
    std::map<std::string, Tensors> tensors_;
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
    auto planned = plan(parse_strategy(strategy), shape, find_profile("h200"));
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
    constexpr std::size_t steps = 8, stage = 256, ctas = 4, readers = 128, results = 17;
    const CompileRequest request = request_for(*ring);
    const std::string &expression = request.name_expressions.front();
    Compiler compiler;
    const Module module(compiler.compile(request));
    const Kernel kernel = module.kernel(expression);

    std::vector<float> input(steps * stage);
    for (std::size_t i = 0; i < input.size(); ++i)
        input[i] = static_cast<float>(i * i % 7) - 3.0F; // sums are exact
    std::vector<float> columns(32);
    for (std::size_t i = 0; i < input.size(); ++i) // eight columns' values 0 to 3, then 4 to 7
        columns[i % stage / 64 * 8 + i % 32 / 4] += input[i];
    const auto sum_of = [&](std::size_t thread, std::size_t i) {
        return columns[i / 4 * 8 + thread % 4 * 2 + i % 2];
    };
    const DeviceBuffer<float> on_device{std::span<const float>(input)};
    DeviceBuffer<float> output(ctas * readers * results);
    long long wrong = 0;
    for (int time = 0; time < times; ++time) {
        output.fill_bytes(0xFF);
        const float *from = on_device.data();
        float *to = output.data();
        int asked = static_cast<int>(steps);
        std::array<void *, 3> arguments = {static_cast<void *>(&from), static_cast<void *>(&to),
                                           static_cast<void *>(&asked)};
        kernel.launch(dim3(ctas), dim3(readers + 32), 0, nullptr, arguments.data(), ring->sums == 2 ? 2 : 1);
        const std::vector<float> seen = output.to_host();
        for (std::size_t thread = 0; thread < ctas * readers; ++thread) {
            for (std::size_t i = 0; i < results - 1; ++i)
                wrong += seen[thread * results + i] != sum_of(thread, i);
            const float next = sum_of(thread + 1, 0);
            if (ring->sums != 0)
                wrong += seen[thread * results + results - 1] != (ring->sums == 2 ? 2.0F * next : next);
        }
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

int report(const std::vector<std::string> &files) {
    std::set<std::string> ran, wrong;
    std::vector<std::string> incomplete;
    std::map<std::string, std::map<std::string, std::int64_t>> by_kernel; // kernel -> text -> hazards
    for (const std::string &file : files) {
        const std::string log = read_file(file);
        for (std::size_t at = 0; at < log.size();) {
            const std::size_t end = std::min(log.find('\n', at), log.size());
            const std::string line = log.substr(at, end - at);
            at = end + 1;
            if (line.starts_with("right ") || line.starts_with("wrong "))
                ran.insert(line.substr(6, line.find(')') - 5));
            if (line.starts_with("wrong "))
                wrong.insert(line.substr(6, line.find(')') - 5));
        }
        const ToolLog read = read_tool_log(log);
        if (!read.ended)
            incomplete.push_back(file);
        for (const Finding &finding : read.findings)
            by_kernel[finding.kernel][finding.text] += finding.hazards;
    }
    std::map<std::string, Tally> tallies;
    std::set<std::string> known;
    for (const RaceCase &item : all_cases()) {
        Tally &tally = tallies[item.strategy.substr(0, item.strategy.find(':'))];
        ++tally.cases;
        tally.ran += ran.contains(title(item));
        tally.wrong += wrong.contains(title(item));
        bool found = false;
        for (const std::string &kernel : kernels_of(item.plan)) {
            known.insert(kernel);
            tally.kernels.insert(kernel);
            if (const auto its = by_kernel.find(kernel); its != by_kernel.end()) {
                if (tally.kernels_with_findings.insert(kernel).second)
                    for (const auto &[text, hazards] : its->second)
                        tally.hazards += hazards;
                found = true;
            }
        }
        if (found) {
            ++tally.with_findings;
            say("found in " + title(item));
        }
    }
    for (const auto &[kernel, texts] : by_kernel)
        for (const auto &[text, hazards] : texts)
            say(fmt::format("{}{}: {} [{}]", kernel.empty() ? "no kernel" : kernel,
                            known.contains(kernel) ? "" : ", of no case", text, hazards));
    say(fmt::format("{:<22} {:>6} {:>6} {:>6} {:>8} {:>15} {:>17} {:>9}", "strategy", "cases", "ran", "wrong",
                    "kernels", "cases reported", "kernels reported", "hazards"));
    Tally all;
    for (const auto &[name, tally] : tallies) {
        say(fmt::format("{:<22} {:>6} {:>6} {:>6} {:>8} {:>15} {:>17} {:>9}", name, tally.cases, tally.ran,
                        tally.wrong, tally.kernels.size(), tally.with_findings,
                        tally.kernels_with_findings.size(), tally.hazards));
        all.cases += tally.cases, all.ran += tally.ran, all.wrong += tally.wrong;
    }
    for (const std::string &file : incomplete)
        say(file + ": the tool did not see the end");
    say(fmt::format("{} of {} cases ran, {} wrong; {} kernels reported; {} of {} logs are whole", all.ran,
                    all.cases, all.wrong, by_kernel.size(), files.size() - incomplete.size(), files.size()));
    return by_kernel.empty() && incomplete.empty() && all.wrong == 0 && all.ran == all.cases ? ok
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
