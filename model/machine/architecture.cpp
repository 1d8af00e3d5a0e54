#include "model/machine/architecture.hpp"

#include "model/base/described.hpp"
#include "model/base/embedded.hpp"
#include "model/base/readable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> shipped_architecture_files;

namespace {

constexpr const char *plain = "1";

/// Calls `use(name, field)` for each number, and each list of numbers, of an architecture or of its limits.
template <class Part, class Object, class Use> void for_each_number(Object &object, Use use) {
    boost::mp11::mp_for_each<described::Members<Part>>([&](auto member) {
        auto &field = object.*member.pointer;
        if constexpr (described::IsOptional<std::decay_t<decltype(field)>>::value)
            use(member.name, field);
    });
}

template <class Object, class Use> void for_each_field(Object &object, Use use) {
    for_each_number<ArchitectureLimits>(
        object.limits, [&](const char *name, auto &field) { use(std::string("limits/") + name, field); });
    for_each_number<Architecture>(object,
                                  [&](const char *name, auto &field) { use(std::string(name), field); });
}

const ArchitectureField &field_of(const std::string &name) {
    return *std::find_if(architecture_fields().begin(), architecture_fields().end(),
                         [&](const ArchitectureField &field) { return name == field.name; });
}

std::vector<double> values_of(const ArchitectureNumber &number) {
    return {number.value};
}
std::vector<double> values_of(const ArchitectureNumbers &numbers) {
    return numbers.values;
}

/// Fields that its file lacks, and the nearest capability whose file has each.
ResolvedArchitecture resolved(const Architecture &own, int capability,
                              const std::map<int, Architecture> &files) {
    ResolvedArchitecture out{own, capability, {}};
    std::vector<std::pair<int, const Architecture *>> nearest;
    // What GPUs before the first that probes run on have in common, such as copies through registers, later
    // ones have not.
    for (const auto &[other, architecture] : files)
        if (other >= least_measured_capability || capability < least_measured_capability)
            nearest.emplace_back(other, &architecture);
    std::stable_sort(nearest.begin(), nearest.end(), [&](const auto &a, const auto &b) {
        return std::abs(a.first - capability) < std::abs(b.first - capability);
    });
    boost::mp11::mp_for_each<described::Members<Architecture>>([&](auto member) {
        auto &field = out.numbers.*member.pointer;
        if constexpr (described::IsOptional<std::decay_t<decltype(field)>>::value)
            for (const auto &[other, architecture] : nearest)
                if (!field && architecture->*member.pointer) {
                    field = architecture->*member.pointer;
                    out.borrowed[other].emplace_back(member.name);
                }
    });
    return out;
}

int number_of(std::string capability) {
    std::erase(capability, '.');
    int number = 0;
    std::from_chars(capability.data(), capability.data() + capability.size(), number);
    return number;
}

std::string version_of(int capability) {
    return fmt::format("{}.{}", capability / 10, capability % 10);
}

const std::map<int, ResolvedArchitecture> &shipped() {
    static const std::map<int, ResolvedArchitecture> all = [] {
        std::map<int, Architecture> files;
        for (const EmbeddedFile &file : shipped_architecture_files) {
            Architecture read = read_architecture(file.text, file.path);
            const int capability = number_of(read.compute_capability);
            files.emplace(capability, std::move(read));
        }
        std::map<int, ResolvedArchitecture> out;
        for (const auto &[capability, architecture] : files)
            out.emplace(capability, resolved(architecture, capability, files));
        return out;
    }();
    return all;
}

} // namespace

int capability_of(const GpuProfile &profile) {
    return number_of(profile.compute_capability);
}

std::string architecture_of(const GpuProfile &profile) {
    std::string digits = profile.compute_capability;
    std::erase(digits, '.');
    return "sm_" + digits;
}

const std::vector<ArchitectureField> &architecture_fields() {
    constexpr Range lanes{8, 4096}, bytes{0, 1 << 24}, clocks{1, 1e5}, passes{0, 100}, share{0, 1};
    static const std::vector<ArchitectureField> all = {
        {"limits/cores_per_sm", plain, lanes, true, 1, "FP32 lanes of an SM"},
        {"limits/schedulers_per_sm", plain, {1, 16}, true, 1, "warp schedulers of an SM"},
        {"limits/shared_bytes_per_sm", "B", bytes, true, 1, "shared memory of an SM at most"},
        {"limits/shared_bytes_per_cta", "B", bytes, true, 1, "shared memory of a CTA at most, with opt-in"},
        {"limits/shared_bytes_reserved_per_cta", "B", bytes, true, 1,
         "shared memory that the system takes of each CTA"},
        {"limits/registers_per_sm", plain, {8192, 1 << 24}, true, 1, "32-bit registers of an SM"},
        {"limits/max_threads_per_sm", plain, {512, 1 << 16}, true, 1, "resident threads of an SM"},
        {"limits/max_threads_per_cta", plain, {512, 1 << 16}, true, 1, "threads of a CTA"},
        {"limits/max_ctas_per_sm", plain, {1, 1024}, true, 1, "resident CTAs of an SM"},

        {"integer_lanes", plain, lanes, true, 1,
         "additions of 32-bit integers per clock and SM: lanes of the pipe of integers and logic"},
        {"dependent_instruction", "clk", clocks, false, 1,
         "from an instruction of the transforms to one that needs its result"},
        {"ffma_latency", "clk", clocks, false, 1,
         "from an FFMA to one that needs its result, where the profile has none"},
        {"tensor_clock_share", plain, {0.1, 1}, false, 1, "of the SM clock, what is left while wgmma runs"},
        {"tf32_mma_rate",
         "fma/clk",
         {1, 1e6},
         false,
         1,
         "TF32 products per clock of an SM; compares settings where the profile has none"},

        {"register_unit", plain, {1, 4096}, true, 1, "registers that a warp gets are multiples of it"},
        {"shared_unit", "B", {1, 65536}, true, 1, "shared memory that a CTA gets is a multiple of it"},
        {"never_shared",
         "B",
         {1024, 1 << 24},
         true,
         1,
         "part of the L1 and shared memory of an SM that is never shared"},
        {"shared_sizes", "B", bytes, true, 0, "sizes that the driver divides shared memory from L1 at"},
        {"shared_latency", "clk", clocks, false, 1,
         "from a load of shared memory to its use, where the profile has none"},
        {"uniform_wide_wavefronts", plain, passes, false, 1,
         "wavefronts of a 128-bit load of shared memory at one address for the whole warp"},
        {"wide_copy_passes", plain, passes, false, 1,
         "wavefronts of 128 bytes copied asynchronously, 16 bytes a lane"},
        {"narrow_copy_passes", plain, passes, false, 1,
         "wavefronts of 128 bytes copied asynchronously, 4 bytes a lane"},
        {"wide_copy_clocks",
         "clk",
         {0.1, 1000},
         false,
         1,
         "of shared memory for a warp's copy of 16 bytes a lane into the tiles of a GEMM"},
        {"row_copy_clocks",
         "clk",
         {0.1, 1000},
         false,
         1,
         "of shared memory for a warp's copy of 4 bytes a lane along rows"},
        {"l1_random_fill",
         plain,
         {0.1, 100},
         false,
         1,
         "L1 loses lines as if so many times the bytes had passed that evict at random"},
        {"l1_set_conflicts", plain, share, false, 1, "share of lines that L1 loses although it has room"},
        {"l1_lockstep_steps",
         plain,
         {0, 1e6},
         false,
         1,
         "steps in which resident CTAs of an SM read the same at the same time"},

        {"l2_copies", plain, {1, 16}, true, 1, "copies of a line that L2 keeps"},
        {"l2_losing",
         plain,
         {0, 10},
         false,
         1,
         "fill of L2, over what it holds of distinct lines, from which data read again are lost"},
        {"l2_lost", plain, {0.001, 10}, false, 1, "further fill by which all are lost"},
        {"most_merged", plain, {1, 64}, true, 1, "requests of a GPC's SMs that L2 sees as one at most"},
        {"merging_schedulers", plain, {1, 64}, true, 1, "schedulers that issue while SMs desynchronise"},
        {"merging_lockstep", "clk", {1, 1e9}, false, 1, "issuing after which SMs desynchronise"},
        {"merging_crowding",
         plain,
         {0, 2},
         false,
         1,
         "exponent by which more resident warps merge fewer requests"},
        {"dram_unit", "B", {4, 4096}, true, 1, "bytes that DRAM delivers together"},
        {"partial_sector",
         plain,
         {1, 100},
         false,
         1,
         "time of a sector written in part over a whole one's, where the profile has none"},
        {"knee_exponent",
         plain,
         {0.1, 100},
         false,
         1,
         "of bandwidth against bytes in flight (M1), where the profile has none"},

        {"gpcs", plain, {1, 15}, true, 1, "GPCs"},
        {"first_of_a_gpc", plain, {0, 1024}, true, 1, "CTAs of a launch that go to half of one GPC first"},
        {"runs_before_its_rest",
         plain,
         {0, 64},
         false,
         1,
         "other GPCs' runs of CTAs before the other half of that GPC gets its own"},
        {"sms_of_small_gpc", plain, {1, 1024}, true, 1, "SMs of the smallest GPC"},
        {"sms_of_large_gpc", plain, {1, 1024}, true, 1, "SMs of the largest GPC"},
        {"second_round_elsewhere",
         plain,
         {0, 1024},
         true,
         1,
         "CTAs of a second round that start on other SMs than those of the first"},
        {"halves_apart",
         plain,
         {0, 1024},
         true,
         1,
         "shares of a division, from the first, whose halves lie on different SMs"},
        {"halves_together", plain, {0, 4096}, true, 1, "shares behind them whose halves lie on one SM"},
        {"turnover", "clk", {0, 1e6}, false, 1, "from a CTA's end to the start of the next in its place"},
        {"early_gap",
         "s",
         {0, 1},
         false,
         1,
         "from the end of a launch to the work of one that started early"},
        {"cluster_latency", "clk", clocks, false, 1,
         "of a load of another CTA's shared memory, where the profile has none"},
        {"cluster_bandwidth",
         "B/clk",
         {0.1, 1e5},
         false,
         1,
         "of an SM from other CTAs' shared memory, where the profile has none"},
        {"cluster_room",
         plain,
         {0.1, 1},
         false,
         1,
         "share of the SMs on which clusters of more than two CTAs run, where the profile has none"},
    };
    return all;
}

void Architecture::check(const FieldProblem &problem) const {
    if (!is_compute_capability(compute_capability))
        problem("compute_capability", "expected a version, for example \"9.0\"");
    for_each_field(*this, [&](const std::string &name, const auto &field) {
        if (!field)
            return;
        const ArchitectureField &is = field_of(name);
        constexpr bool list = std::is_same_v<std::decay_t<decltype(*field)>, ArchitectureNumbers>;
        const std::string value = name + (list ? "/values" : "/value");
        if (field->unit != is.unit)
            problem(name + "/unit", fmt::format("expected unit \"{}\", got \"{}\"; for example \"unit\": "
                                                "\"{}\"",
                                                is.unit, shortened(field->unit), is.unit));
        if (field->source.empty() || !is_printable(field->source))
            problem(name + "/source",
                    "expected a text of one line that says what the value was read off, for "
                    "example \"CTA stamps of an H200\"");
        const std::vector<double> values = values_of(*field);
        for (const double number : values)
            if (!(number >= is.range.low && number <= is.range.high) ||
                (is.whole && number != std::floor(number)))
                problem(value, fmt::format("expected {} from {:g} to {:g} {}, got {:g}; for example {:g}",
                                           is.whole ? "a whole number" : "a number", is.range.low,
                                           is.range.high, is.unit, number, is.range.low));
        if (is.values > 1 && static_cast<int>(values.size()) != is.values)
            problem(value, fmt::format("expected {} numbers, got {}", is.values, values.size()));
        if (is.values == 0 && (values.empty() || std::adjacent_find(values.begin(), values.end(),
                                                                    std::greater_equal<>()) != values.end()))
            problem(value, "expected ascending numbers, for example [0, 8192, 16384]");
    });
    if (sms_of_small_gpc && sms_of_large_gpc && sms_of_small_gpc->value > sms_of_large_gpc->value)
        problem("sms_of_small_gpc/value", "expected at most sms_of_large_gpc");
}

Architecture read_architecture(const std::string &text, const std::string &file) {
    return described::read_document<Architecture>(text, file, Architecture().schema);
}

std::string write_architecture(const Architecture &architecture) {
    return to_text(described::write(architecture));
}

const ResolvedArchitecture &architecture_for(int capability) {
    if (capability < shipped().begin()->first) // of no GPU that anything is known of
        capability = least_measured_capability;
    const auto *best = &*shipped().begin();
    for (const auto &each : shipped())
        if (std::abs(each.first - capability) < std::abs(best->first - capability))
            best = &each;
    return best->second;
}

std::vector<int> shipped_architectures() {
    std::vector<int> capabilities;
    for (const auto &each : shipped())
        capabilities.push_back(each.first);
    return capabilities;
}

Gpu::Gpu(const GpuProfile &its)
    : profile(its), limits(its.limits), architecture(architecture_for(capability_of(its)).numbers) {}

std::string borrowed_constants(const GpuProfile &profile) {
    const int capability = capability_of(profile);
    const ResolvedArchitecture &taken = architecture_for(capability);
    std::size_t all = 0, borrowed = 0;
    for_each_number<Architecture>(taken.numbers, [&](const char *, const auto &) { ++all; });
    std::map<int, std::size_t> counts;
    for (const auto &[from, fields] : taken.borrowed)
        borrowed += counts[from] = fields.size();
    if (taken.capability != capability)
        counts[taken.capability] += all - borrowed;
    if (counts.empty())
        return {};
    std::vector<std::string> from;
    std::size_t unknown = 0;
    for (const auto &[other, count] : counts) {
        unknown += count;
        from.push_back(
            fmt::format("{} {} taken from {}", count, count == 1 ? "is" : "are", version_of(other)));
    }
    return fmt::format("{} of compute capability {} {} not known: {}; kernels are assumed to have the "
                       "registers and instructions that they have on 9.0",
                       unknown == 1 ? "1 architecture number"
                                    : fmt::format("{} architecture numbers", unknown),
                       profile.compute_capability, unknown == 1 ? "is" : "are", join(from));
}

std::string odd_limits(const GpuProfile &profile) {
    const int capability = capability_of(profile);
    const ResolvedArchitecture &of = architecture_for(capability);
    if (of.capability != capability)
        return {};
    std::vector<std::string> odd;
    boost::mp11::mp_for_each<described::Members<GpuLimits>>([&](auto member) {
        const auto its = static_cast<double>(profile.limits.*member.pointer);
        for_each_number<ArchitectureLimits>(
            of.numbers.limits, [&](const std::string &name, const auto &field) {
                if (name == member.name && field && field->value != its)
                    odd.push_back(fmt::format("{} {:g} ({:g})", name, its, field->value));
            });
    });
    return odd.empty() ? std::string()
                       : fmt::format("the profile's limits are not those of compute capability {}: {}",
                                     profile.compute_capability, join(odd));
}

} // namespace convcast
