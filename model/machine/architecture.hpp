// What a compute capability fixes and no probe measures: sizes that the vendor publishes, and habits of the
// chip that were read off recorded calls. Each capability has a file in data/architectures;
// docs/architecture.md lists the fields. An integer capability is 90 for "9.0".
#pragma once

#include "model/base/checked.hpp"
#include "model/base/describe.hpp"
#include "model/machine/profile.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// The compute capability of a profile as a number: 90 for "9.0".
int capability_of(const GpuProfile &profile);

/// The name by which compilers and facts know the compute capability of a profile: "sm_90" for "9.0".
std::string architecture_of(const GpuProfile &profile);

/// `convcast measure` runs its probes from this compute capability on.
inline constexpr int least_measured_capability = 75;
/// Clusters of CTAs, which read each other's shared memory, exist from this compute capability on.
inline constexpr int least_cluster_capability = 90;

/// Where a number of an architecture comes from.
enum class Category {
    vendor,         ///< published by the vendor
    probe,          ///< measured by somebody's probe
    counted,        ///< read off hardware counters of recorded calls
    read_off_times, ///< read off times, stamps or clocks of recorded calls
    assumed
};
BOOST_DESCRIBE_ENUM(Category, vendor, probe, counted, read_off_times, assumed)

struct ArchitectureNumber {
    double value = 0.0;
    std::string unit;   ///< as in profiles: "1" is a plain number
    std::string source; ///< what it was read off, or the citation
    Category category = Category::assumed;
    CONVCAST_MEMBERS(ArchitectureNumber, value, unit, source, category)
};

/// Several numbers that belong together, such as the sizes that shared memory can have; ascending.
struct ArchitectureNumbers {
    std::vector<double> values;
    std::string unit, source;
    Category category = Category::assumed;
    CONVCAST_MEMBERS(ArchitectureNumbers, values, unit, source, category)
};

using OneNumber = std::optional<ArchitectureNumber>;
using SomeNumbers = std::optional<ArchitectureNumbers>;

/// What the driver says of every GPU of the capability; names as in GpuLimits. No time is computed from them,
/// as a profile has its own limits; a forecast warns where a profile's differ from these (odd_limits).
struct ArchitectureLimits {
    OneNumber cores_per_sm, schedulers_per_sm, shared_bytes_per_sm, shared_bytes_per_cta,
        shared_bytes_reserved_per_cta, registers_per_sm, max_threads_per_sm, max_threads_per_cta,
        max_ctas_per_sm;
    CONVCAST_MEMBERS(ArchitectureLimits, cores_per_sm, schedulers_per_sm, shared_bytes_per_sm,
                     shared_bytes_per_cta, shared_bytes_reserved_per_cta, registers_per_sm,
                     max_threads_per_sm, max_threads_per_cta, max_ctas_per_sm)
};

struct ArchitectureIdentity {
    std::string schema = "convcast/architecture/1";
    std::string compute_capability; ///< "9.0"
    ArchitectureLimits limits;
    CONVCAST_MEMBERS(ArchitectureIdentity, schema, compute_capability, limits)
};

// architecture_fields() has the meaning, the unit and the range of each field of the following structs.

struct IssueNumbers {
    OneNumber integer_lanes, dependent_instruction, ffma_latency, tensor_clock_share, tf32_mma_rate;
    CONVCAST_MEMBERS(IssueNumbers, integer_lanes, dependent_instruction, ffma_latency, tensor_clock_share,
                     tf32_mma_rate)
};

struct OnChipNumbers {
    OneNumber register_unit, shared_unit, never_shared;
    SomeNumbers shared_sizes;
    OneNumber shared_latency, uniform_wide_wavefronts, wide_copy_passes, narrow_copy_passes, wide_copy_clocks,
        row_copy_clocks, l1_random_fill, l1_set_conflicts, l1_lockstep_steps;
    CONVCAST_MEMBERS(OnChipNumbers, register_unit, shared_unit, never_shared, shared_sizes, shared_latency,
                     uniform_wide_wavefronts, wide_copy_passes, narrow_copy_passes, wide_copy_clocks,
                     row_copy_clocks, l1_random_fill, l1_set_conflicts, l1_lockstep_steps)
};

struct OffChipNumbers {
    OneNumber l2_copies, l2_losing, l2_lost, most_merged, merging_schedulers, merging_lockstep,
        merging_crowding, line_turn, dram_unit, partial_sector, knee_exponent;
    CONVCAST_MEMBERS(OffChipNumbers, l2_copies, l2_losing, l2_lost, most_merged, merging_schedulers,
                     merging_lockstep, merging_crowding, line_turn, dram_unit, partial_sector, knee_exponent)
};

struct LaunchNumbers {
    OneNumber gpcs, first_of_a_gpc, runs_before_its_rest, sms_of_small_gpc, sms_of_large_gpc,
        second_round_elsewhere, halves_apart, halves_together, turnover, early_gap, cluster_latency,
        cluster_bandwidth, cluster_room;
    CONVCAST_MEMBERS(LaunchNumbers, gpcs, first_of_a_gpc, runs_before_its_rest, sms_of_small_gpc,
                     sms_of_large_gpc, second_round_elsewhere, halves_apart, halves_together, turnover,
                     early_gap, cluster_latency, cluster_bandwidth, cluster_room)
};

/// All numbers of a capability. A file has those that are known; architecture_for fills in the others.
struct Architecture : ArchitectureIdentity, IssueNumbers, OnChipNumbers, OffChipNumbers, LaunchNumbers {
    BOOST_DESCRIBE_CLASS(Architecture,
                         (ArchitectureIdentity, IssueNumbers, OnChipNumbers, OffChipNumbers, LaunchNumbers),
                         (), (), ())

    void check(const FieldProblem &problem) const; ///< units, ranges and whole numbers of every field
};

/// What a field of an architecture is.
struct ArchitectureField {
    std::string name, unit;       ///< the names of limits begin with "limits/"
    double low = 0.0, high = 0.0; ///< between which each of its values lies, both included
    bool whole = false;           ///< whether it is a count, of whole numbers only
    std::string meaning;          ///< one line
    CONVCAST_MEMBERS(ArchitectureField, name, unit, low, high, whole, meaning)
};
/// All fields, in the order of data/architecture_fields.json. Every call returns the same object.
const std::vector<ArchitectureField> &architecture_fields();

/// An architecture with every field. A field that its file lacks comes from the nearest compute capability
/// whose file has it; if two are equally near, from the older one.
struct ResolvedArchitecture {
    Architecture numbers; ///< every field; limits are as in the file and may be absent
    int capability = 0;   ///< whose file it is
    std::map<int, std::vector<std::string>> borrowed; ///< names of fields, by the capability they come from
};

/// The architecture of a capability. If no file of it ships, that of the nearest capability with a file; if
/// two are equally near, of the older one. Of a capability older than all files, that of
/// least_measured_capability. Every call for a capability returns the same object.
const ResolvedArchitecture &architecture_for(int capability);

/// The shipped files' capabilities, ascending.
std::vector<int> shipped_architectures();

/// A GPU for which plans are counted and times computed: its profile, and the architecture that belongs to
/// it. It refers to the profile, which must outlive it, so it cannot be made of a temporary.
struct Gpu {
    Gpu(const GpuProfile &its); ///< implicit, as the profile determines all the rest
    Gpu(const GpuProfile &&) = delete;

    const GpuProfile &profile;
    const GpuLimits &limits;
    const Architecture &architecture;
};

/// A sentence for the assumptions of a forecast: how many numbers of the architecture were taken from which
/// other capability, and that registers and instructions are those of kernels compiled for 9.0. "" for a
/// capability whose file has every number.
std::string borrowed_constants(const GpuProfile &profile);

/// A sentence for the assumptions of a forecast that names the limits in which a profile differs from its
/// architecture's file. "" if it differs in none, or if no file of its capability ships.
std::string odd_limits(const GpuProfile &profile);

extern template const described::Type &described::type_of<Architecture>();

} // namespace convcast
