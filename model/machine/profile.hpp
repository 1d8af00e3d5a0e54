// What a GPU can do, as data: limits the driver tells and numbers that probes measure or papers publish.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/describe.hpp"
#include "model/base/param.hpp"
#include "model/base/units.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace convcast {

/// What the driver or the vendor states about the chip; integers, never measured.
struct GpuLimits {
    int sm_count = 0;
    int cores_per_sm = 0; ///< FP32 lanes
    int shared_bytes_per_sm = 0;
    int shared_bytes_per_cta = 0; ///< with opt-in
    int shared_bytes_reserved_per_cta = 0;
    int registers_per_sm = 0;
    int max_threads_per_sm = 0;
    int max_threads_per_cta = 0;
    int max_ctas_per_sm = 0;
    std::int64_t l2_bytes = 0;
    int schedulers_per_sm = 4; ///< each issues one warp instruction per clock
    CONVCAST_MEMBERS(GpuLimits, sm_count, cores_per_sm, shared_bytes_per_sm, shared_bytes_per_cta,
                     shared_bytes_reserved_per_cta, registers_per_sm, max_threads_per_sm, max_threads_per_cta,
                     max_ctas_per_sm, l2_bytes, schedulers_per_sm)

    /// From the smallest GPU that CUDA ever ran on to far above any: no product of two leaves an int64.
    static constexpr Range range_of(std::string_view field) {
        return field == "sm_count"                        ? Range{1, 4096}
               : field == "cores_per_sm"                  ? Range{8, 4096}
               : field == "shared_bytes_per_sm"           ? Range{16384, 1 << 24}
               : field == "shared_bytes_per_cta"          ? Range{16384, 1 << 24}
               : field == "shared_bytes_reserved_per_cta" ? Range{0, 1 << 16}
               : field == "registers_per_sm"              ? Range{8192, 1 << 24}
               : field == "max_threads_per_sm"            ? Range{512, 1 << 16}
               : field == "max_threads_per_cta"           ? Range{512, 1 << 16}
               : field == "max_ctas_per_sm"               ? Range{1, 1024}
               : field == "l2_bytes"                      ? Range{1024, 1e12}
                                                          : Range{1, 16}; // schedulers_per_sm
    }
    void check(const FieldProblem &problem) const; ///< that an SM has room for the largest CTA
};

/// Equation M1, T = (L0^p + (V/BW)^p)^(1/p) for V bytes in flight, with L0, BW and p fitted to a curve.
struct FlightFit {
    double latency_s = 0.0;   ///< L0
    double bandwidth = 0.0;   ///< BW, the asymptote, B/s
    double exponent = 0.0;    ///< p; the larger, the harder the knee
    double worst_error = 0.0; ///< largest |fitted / measured - 1| over the points
    double paper_bytes = 0.0; ///< V_s by the paper's rule, L0 * BW: what a hard knee would need
    double bytes_for_90 = 0.0, bytes_for_95 = 0.0; ///< in flight for 90 and 95 % of the asymptote, by the fit
    CONVCAST_MEMBERS(FlightFit, latency_s, bandwidth, exponent, worst_error, paper_bytes, bytes_for_90,
                     bytes_for_95)

    static constexpr Range range_of(std::string_view field) {
        return field == "worst_error" ? Range{0.0, 1e6} : Range{1e-18, 1e18};
    }
};

/// Bandwidth against bytes in flight (equation M1).
struct FlightCurve {
    std::vector<double> bytes_in_flight; ///< whole GPU, ascending
    std::vector<double> bandwidth;       ///< B/s, same length
    std::optional<FlightFit> fit;
    CONVCAST_MEMBERS(FlightCurve, bytes_in_flight, bandwidth, fit)

    static constexpr Range range_of(std::string_view) { return {1e-18, 1e18}; }
    void check(const FieldProblem &problem) const; ///< ascending, one bandwidth a point
};

/// One line of a curve: medians with their 5th and 95th percentiles, all of one length, by ascending x.
struct CurveSeries {
    std::string name; ///< what this line holds fixed: "8 independent FFMAs"
    std::vector<double> x, y, low, high;
    CONVCAST_MEMBERS(CurveSeries, name, x, y, low, high)

    static constexpr Range range_of(std::string_view field) {
        return field == "x" ? Range{0.0, 1e18} : Range{1e-18, 1e18};
    }
    void check(const FieldProblem &problem) const; ///< x ascending, low <= y <= high, all of one length
};

/// What a sweep measured: the picture behind some of the numbers, for reading and for reports. Forecasts read
/// one point of one curve, `ffma_by_operands` (serpentine_rate_of).
struct Curve {
    std::string x_name, x_unit, y_name, y_unit; ///< "footprint", "B"; "latency", "clk"
    bool x_logarithmic = false, y_logarithmic = false;
    std::vector<CurveSeries> series;
    CONVCAST_MEMBERS(Curve, x_name, x_unit, y_name, y_unit, x_logarithmic, y_logarithmic, series)
};

/// Whether two numbers, or a number and a limit, agree as they must. Without one of them there is no check.
struct ProfileCheck {
    std::string name; ///< "little_law"
    bool passed = false;
    std::string text; ///< both numbers with units, and why they must agree
    CONVCAST_MEMBERS(ProfileCheck, name, passed, text)

    void check(const FieldProblem &problem) const; ///< has a name
};

/// How slow and how fast copies from one GPU to another may be where nobody measured them.
struct PeerRange {
    Bandwidth least_bytes_per_s, most_bytes_per_s; ///< one way
    Seconds least_latency_s, most_latency_s;
    CONVCAST_MEMBERS(PeerRange, least_bytes_per_s, most_bytes_per_s, least_latency_s, most_latency_s)

    static constexpr Range range_of(std::string_view field) {
        return field.ends_with("latency_s") ? Range{1e-12, 1.0} : Range{1e6, 1e17};
    }
};

/// Copies from one GPU of a host to another. What is not known is absent.
struct PeerLink {
    int from = 0, to = 0;                           ///< CUDA ordinals
    bool direct = false;                            ///< peer access, no detour through the host
    std::optional<Bandwidth> bandwidth_bytes_per_s; ///< one way, nothing else running
    std::optional<Bandwidth> both_ways_bytes_per_s; ///< sum of both directions at once
    std::optional<Seconds> latency_s;               ///< one dependent load of the other GPU's memory
    std::optional<Source> source{};                 ///< absent: the probe peer_copy measured the link
    std::optional<std::string> by{};                ///< the citation; absent for a measured link
    /// The slowest and the fastest link that it may be; absent for a measured link.
    std::optional<PeerRange> range{};
    CONVCAST_MEMBERS(PeerLink, from, to, direct, bandwidth_bytes_per_s, both_ways_bytes_per_s, latency_s,
                     source, by, range)

    static constexpr Range range_of(std::string_view field) {
        return field == "from" || field == "to" ? Range{0, 1023}
               : field == "latency_s"           ? Range{1e-12, 1.0}
                                                : Range{1e6, 1e17};
    }
    void
    check(const FieldProblem &problem) const; ///< between two GPUs; what no probe measured names its source
};

/// Which GPU a profile is of, and its limits.
struct GpuIdentity {
    std::string schema = "convcast/profile/1";
    std::string id;                 ///< "h200": the name on the command line
    std::string name;               ///< "NVIDIA H200"
    std::string compute_capability; ///< "9.0"
    GpuLimits limits;
    CONVCAST_MEMBERS(GpuIdentity, schema, id, name, compute_capability, limits)
};

/// Arithmetic of one SM.
struct ArithmeticParams {
    std::optional<Param<Frequency>> sm_clock;           ///< seen under FFMA load; base clock where published
    std::optional<Param<Cycles>> ffma_latency;          ///< from an FFMA to one that needs its result
    std::optional<Param<FmasPerCycle>> ffma_rate;       ///< sustained, operand ports no limit
    std::optional<Param<FmasPerCycle>> ffma_outer_rate; ///< of an outer product: three registers an FFMA
    std::optional<Param<FmasPerCycle>> half_rate;       ///< FP16 products by HFMA2, two an instruction
    std::optional<Param<FmasPerCycle>> int8_rate;       ///< 8-bit products by DP4A, four an instruction
    std::optional<Param<FmasPerCycle>> tf32_mma_rate;   ///< TF32 products of tensor cores, added in FP32
    /// FFMAs beside shared loads that alone take as long: the time of both over that of one; 1 overlaps, 2
    /// adds.
    std::optional<Param<Plain>> ffma_shared_slowdown;
    CONVCAST_MEMBERS(ArithmeticParams, sm_clock, ffma_latency, ffma_rate, ffma_outer_rate, half_rate,
                     int8_rate, tf32_mma_rate, ffma_shared_slowdown)
};

/// Latencies of a load whose address comes from the load before it.
struct LatencyParams {
    std::optional<Param<Cycles>> shared_latency;
    std::optional<Param<Cycles>> l1_latency;
    std::optional<Param<Cycles>> l2_latency;          ///< hits L2, footprint small enough for its near half
    std::optional<Param<Cycles>> l2_far_latency;      ///< hits L2, footprint three quarters of it
    std::optional<Param<Cycles>> dram_latency;        ///< misses L2, its page known to the TLBs
    std::optional<Param<Cycles>> dram_tlb_latency;    ///< misses L2 and the TLBs
    std::optional<Param<Cycles>> constant_l1_latency; ///< hits the first constant cache
    std::optional<Param<Cycles>> constant_l2_latency; ///< misses it, hits the second ("L1.5")
    /// How long an SM's constant cache is busy with each address that a warp reads; not by a probe.
    std::optional<Param<Cycles>> constant_address_time;
    CONVCAST_MEMBERS(LatencyParams, shared_latency, l1_latency, l2_latency, l2_far_latency, dram_latency,
                     dram_tlb_latency, constant_l1_latency, constant_l2_latency, constant_address_time)
};

/// Bandwidths: of the whole GPU in B/s, of one SM in B/clk.
struct BandwidthParams {
    std::optional<Param<Bandwidth>> dram_read_bandwidth;
    std::optional<Param<Bandwidth>> dram_write_bandwidth;
    std::optional<Param<Bandwidth>> dram_copy_bandwidth; ///< read plus written
    std::optional<Param<Bandwidth>> l2_read_bandwidth;
    std::optional<Param<Bandwidth>> l2_write_bandwidth;
    std::optional<Param<Cycles>> sector_store_time; ///< per sector that an SM writes whole, all SMs storing
    std::optional<Param<Cycles>> partial_sector_store_time; ///< per sector that an SM writes in part
    std::optional<Param<BytesPerCycle>> l1_bandwidth;       ///< loads that hit L1
    std::optional<Param<BytesPerCycle>> shared_bandwidth;   ///< free of conflicts
    std::optional<Param<Plain>> knee_exponent; ///< p of eq. M1 for DRAM reads, its L0 and BW as above
    CONVCAST_MEMBERS(BandwidthParams, dram_read_bandwidth, dram_write_bandwidth, dram_copy_bandwidth,
                     l2_read_bandwidth, l2_write_bandwidth, sector_store_time, partial_sector_store_time,
                     l1_bandwidth, shared_bandwidth, knee_exponent)
};

/// Banks of shared memory, and the fewest bytes that memories move at once.
struct SharedParams {
    std::optional<Param<Bytes>> bank_width;
    std::optional<Param<Plain>> bank_count;
    std::optional<Param<Cycles>> conflict_cost; ///< by which one more way of conflict prolongs a warp's load
    // Fewest elements of 1, 2, 4 and 8 bytes that a lane has to load at once for the full shared bandwidth:
    // Chen's n (docs/equations.md, C1).
    std::optional<Param<Plain>> matched_elements_1_byte;
    std::optional<Param<Plain>> matched_elements_2_byte;
    std::optional<Param<Plain>> matched_elements_4_byte;
    std::optional<Param<Plain>> matched_elements_8_byte;
    std::optional<Param<Bytes>> sector_bytes;       ///< least that moves between L2 and an SM
    std::optional<Param<Bytes>> dram_granule_bytes; ///< least that moves between DRAM and L2
    CONVCAST_MEMBERS(SharedParams, bank_width, bank_count, conflict_cost, matched_elements_1_byte,
                     matched_elements_2_byte, matched_elements_4_byte, matched_elements_8_byte, sector_bytes,
                     dram_granule_bytes)
};

/// Synchronisation and launches.
struct LaunchParams {
    std::optional<Param<Cycles>> barrier_latency;           ///< __syncthreads of a 256-thread CTA
    std::optional<Param<Cycles>> atomic_latency;            ///< of an add in L2 whose result is needed
    std::optional<Param<Seconds>> atomic_same_address_time; ///< per add when all SMs add to one address
    std::optional<Param<Seconds>>
        float_add_time; ///< per add of all SMs to many lines, where the curve float_adds was not measured
    std::optional<Param<Seconds>> grid_sync_time;     ///< barrier of all CTAs of a cooperative launch
    std::optional<Param<Seconds>> launch_floor;       ///< an empty kernel, by its activity record
    std::optional<Param<Seconds>> smallest_copy_time; ///< a kernel that loads a number and stores it, in L2
    std::optional<Param<Seconds>> launch_gap;         ///< end of one kernel to start of the next in a stream
    std::optional<Param<Seconds>> stream_launch_period; ///< per empty kernel of many in a stream
    std::optional<Param<Seconds>> graph_launch_period;  ///< per empty kernel of many in a graph
    std::optional<Param<Seconds>>
        early_launch_period; ///< likewise, each started early and waiting for the one before
    std::optional<Param<Seconds>> cta_launch_time; ///< per further CTA of an empty kernel
    CONVCAST_MEMBERS(LaunchParams, barrier_latency, atomic_latency, atomic_same_address_time, float_add_time,
                     grid_sync_time, launch_floor, smallest_copy_time, launch_gap, stream_launch_period,
                     graph_launch_period, early_launch_period, cta_launch_time)
};

/// Clusters of CTAs, of four CTAs if nothing else is said.
struct ClusterParams {
    std::optional<Param<Cycles>> cluster_latency; ///< of a dependent load of another CTA's shared memory
    std::optional<Param<BytesPerCycle>> cluster_bandwidth; ///< of others' memory
    std::optional<Param<Cycles>> cluster_barrier_latency; ///< behind stores to shared memory that others read
    std::optional<Param<Plain>> clusters_of_4_sms;        ///< SMs on which clusters run at once
    std::optional<Param<Plain>> clusters_of_8_sms;
    CONVCAST_MEMBERS(ClusterParams, cluster_latency, cluster_bandwidth, cluster_barrier_latency,
                     clusters_of_4_sms, clusters_of_8_sms)
};

/// Capacities as probes see them in use; GpuLimits has what the driver says.
struct CapacityParams {
    std::optional<Param<Bytes>> l1_seen_bytes; ///< where latency leaves that of L1
    std::optional<Param<Bytes>> l2_seen_bytes; ///< where latency leaves that of L2
    std::optional<Param<Bytes>> constant_l1_seen_bytes;
    std::optional<Param<Bytes>> shared_per_sm_seen_bytes;  ///< what resident CTAs of an SM got together
    std::optional<Param<Bytes>> shared_per_cta_seen_bytes; ///< what one CTA got
    CONVCAST_MEMBERS(CapacityParams, l1_seen_bytes, l2_seen_bytes, constant_l1_seen_bytes,
                     shared_per_sm_seen_bytes, shared_per_cta_seen_bytes)
};

/// Copies to and from pinned memory of the host, and to other GPUs.
struct LinkParams {
    std::optional<Param<Bandwidth>> host_to_device_bandwidth;
    std::optional<Param<Bandwidth>> device_to_host_bandwidth;
    std::optional<Param<Bandwidth>> host_both_ways_bandwidth; ///< both directions at once, their sum
    std::optional<Param<Bandwidth>> peer_all_pairs_bandwidth; ///< all GPUs to all others at once, their sum
    CONVCAST_MEMBERS(LinkParams, host_to_device_bandwidth, device_to_host_bandwidth, host_both_ways_bandwidth,
                     peer_all_pairs_bandwidth)
};

/// What is known of a GPU. All members, inherited ones too, are members of one JSON object. A Param that is
/// not known is absent, never 0, and `missing` has its name with the reason.
struct GpuProfile : GpuIdentity,
                    ArithmeticParams,
                    LatencyParams,
                    BandwidthParams,
                    SharedParams,
                    LaunchParams,
                    ClusterParams,
                    CapacityParams,
                    LinkParams {
    std::optional<FlightCurve> dram_read_curve, dram_write_curve, dram_copy_curve, l2_read_curve,
        l2_write_curve;
    std::map<std::string, Curve> curves; ///< by the name of the probe that swept
    std::vector<PeerLink> peers;

    std::map<std::string, std::string> missing;    ///< field -> why
    std::map<std::string, std::string> conditions; ///< driver, toolkit, date, version and hash of the probes
    std::vector<ProfileCheck> checks;
    std::vector<std::string> notes;
    /// The folder that it was read from, which may have facts and calibration of its own (FolderOfGpu); ""
    /// for a profile from elsewhere. It is in no document.
    std::string folder;

    BOOST_DESCRIBE_CLASS(GpuProfile,
                         (GpuIdentity, ArithmeticParams, LatencyParams, BandwidthParams, SharedParams,
                          LaunchParams, ClusterParams, CapacityParams, LinkParams),
                         (dram_read_curve, dram_write_curve, dram_copy_curve, l2_read_curve, l2_write_curve,
                          curves, peers, missing, conditions, checks, notes),
                         (), ())

    /// Ranges of Params for which plausible() of their unit is too wide; absent for the others.
    static constexpr std::optional<Range> range_of(std::string_view field) {
        if (field == "bank_width")
            return Range{1.0, 64.0};
        if (field == "knee_exponent")
            return Range{0.1, 100.0};
        return std::nullopt;
    }
    void check(const FieldProblem &problem) const; ///< identity, and no link twice
};

/// Whether a curve can be drawn of a value: 0, or 1e-18 to 1e18 of either sign, far beyond measurements.
bool drawable(double value);

/// Whether a text is a compute capability as the driver tells it: "9.0", "12.1".
bool is_compute_capability(const std::string &text);

/// Reads a profile. Throws InputError with every problem at once; `file` only names the text in messages.
GpuProfile read_profile(const std::string &text, const std::string &file);
std::string write_profile(const GpuProfile &profile);

/// Paths of what `convcast adapt` writes into a folder. If --gpu names the folder, forecasts take its profile
/// and, if the files exist, its facts and its calibration.
struct FolderOfGpu {
    std::string folder;
    std::string samples() const { return folder + "/samples.json.gz"; }
    std::string profile() const { return folder + "/profile.json"; }
    std::string run() const { return folder + "/run.json.gz"; }
    std::string facts() const { return folder + "/facts.json"; }
    std::string calibration() const { return folder + "/calibration.json"; }
    std::string readme() const { return folder + "/README.md"; }
};

/// The profile that --gpu names: a shipped one by id or printed name, a file by its path ("-": standard
/// input), or that of a folder of `convcast adapt`. Throws UsageError (unknown id, with the closest one and
/// the list) or InputError (a file that cannot be read).
GpuProfile find_profile(const std::string &name_or_file);
/// The ids of the profiles that ship.
std::vector<std::string> shipped_profiles();

/// The same GPU with only `sms` SMs, but all of L2 and DRAM. Throws UsageError if the profile has fewer.
GpuProfile with_sms(GpuProfile profile, int sms);

/// The first line of the curve of that name, which the profile owns; nullptr if it has none with points.
const CurveSeries *line_of(const GpuProfile &profile, const std::string &curve);

/// The y of a line at x: between its points straight on logarithmic axes, beyond them that of the nearest
/// point. The line has points; x is above 0.
double value_at(const CurveSeries &line, double x);

/// XXH3-128 of the profile's canonical text, as hex.
std::string profile_hash(const GpuProfile &profile);

extern template const described::Type &described::type_of<GpuProfile>();

} // namespace convcast
