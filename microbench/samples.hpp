// What the probes saw, before any judgement: kept so that a profile can be made again from it. Pure data, no
// CUDA.
#pragma once

#include "model/machine/profile.hpp"

#include <boost/describe.hpp>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

/// What a probe asks and which fields of GpuProfile its samples become, beside the curve of its name if it
/// sweeps.
struct ProbeInfo {
    std::string_view name;
    std::string_view question;
    std::string_view fields; ///< separated by spaces; empty: only a curve
};

/// Every probe there is, in the order in which they run: the clock first, since it also wakes the device.
inline constexpr std::array probes = {
    ProbeInfo{"sm_clock", "Which SM clock holds under FFMA load?", "sm_clock"},
    ProbeInfo{"ffma_latency", "How long does an FFMA take that needs the one before it?", "ffma_latency"},
    ProbeInfo{"ffma_rate", "How many FFMAs a clock does an SM sustain?", "ffma_rate ffma_outer_rate"},
    ProbeInfo{"ffma_by_ilp", "How many with so many warps and so many independent FFMAs each?", ""},
    ProbeInfo{"ffma_by_operands",
              "How many when outer products of other sizes decide which registers they read?", ""},
    ProbeInfo{"ffma_beside_shared", "Do FFMAs and loads of shared memory overlap?", "ffma_shared_slowdown"},
    ProbeInfo{"half_rate", "How many FP16 products a clock does an SM sustain?", "half_rate"},
    ProbeInfo{"int8_rate", "How many 8-bit products a clock does an SM sustain?", "int8_rate"},
    ProbeInfo{"tf32_mma_rate", "How many TF32 products a clock do the tensor cores of an SM sustain?",
              "tf32_mma_rate"},
    ProbeInfo{"shared_latency", "How long does one dependent load of shared memory take?", "shared_latency"},
    ProbeInfo{"l1_latency", "How long does one dependent load take that hits L1?", "l1_latency"},
    ProbeInfo{"l2_latency", "How long does one dependent load take that hits L2, from each SM?",
              "l2_latency"},
    ProbeInfo{"latency_by_footprint", "How long does a load take when so many bytes are in use?",
              "l2_far_latency l1_seen_bytes l2_seen_bytes"},
    ProbeInfo{"dram_latency", "How long does one dependent load take that misses L2?", "dram_latency"},
    ProbeInfo{"tlb_latency", "How much longer does it take when its page is not known?", "dram_tlb_latency"},
    ProbeInfo{"constant_latency", "How long does a dependent load of constant memory take?",
              "constant_l1_latency constant_l2_latency constant_l1_seen_bytes"},
    ProbeInfo{"dram_read_bandwidth", "How fast can DRAM be read?", "dram_read_bandwidth"},
    ProbeInfo{"dram_write_bandwidth", "How fast can DRAM be written?", "dram_write_bandwidth"},
    ProbeInfo{"dram_copy_bandwidth", "How fast can DRAM be read and written at once?", "dram_copy_bandwidth"},
    ProbeInfo{"dram_read_curve", "How fast is DRAM read with so many bytes in flight?",
              "dram_read_curve knee_exponent"},
    ProbeInfo{"dram_write_curve", "How fast is DRAM written with so many bytes in flight?",
              "dram_write_curve"},
    ProbeInfo{"dram_copy_curve", "How fast is DRAM copied with so many bytes in flight?", "dram_copy_curve"},
    ProbeInfo{"l2_read_bandwidth", "How fast can all SMs read from L2?", "l2_read_bandwidth"},
    ProbeInfo{"l2_write_bandwidth", "How fast can all SMs write to L2?", "l2_write_bandwidth"},
    ProbeInfo{"l2_read_curve", "How fast is L2 read with so many bytes in flight?", "l2_read_curve"},
    ProbeInfo{"l2_write_curve", "How fast is L2 written with so many bytes in flight?", "l2_write_curve"},
    ProbeInfo{"store_sectors", "What does a store take that fills sectors, and one that does not?",
              "sector_store_time partial_sector_store_time"},
    ProbeInfo{"l1_bandwidth", "How many bytes that hit L1 does an SM read a clock?", "l1_bandwidth"},
    ProbeInfo{"shared_bandwidth", "How many bytes of shared memory does an SM read a clock?",
              "shared_bandwidth"},
    ProbeInfo{"shared_broadcast", "What does a shared load cost when lanes share addresses?", ""},
    ProbeInfo{"banks", "How many banks has shared memory, and how wide are they?", "bank_width bank_count"},
    ProbeInfo{"conflicts", "What does a shared load cost when so many lanes meet in one bank?",
              "conflict_cost"},
    ProbeInfo{
        "element_width", "How many elements of 1, 2, 4 or 8 bytes must a lane load at once?",
        "matched_elements_1_byte matched_elements_2_byte matched_elements_4_byte matched_elements_8_byte"},
    ProbeInfo{"stride_granularity", "What moves when lanes read 4 bytes at a stride?", "sector_bytes"},
    ProbeInfo{"segment_granularity", "What moves when segments of some bytes are read from random places?",
              "dram_granule_bytes"},
    ProbeInfo{"barrier_latency", "How long does __syncthreads take, by warps and CTAs?", "barrier_latency"},
    ProbeInfo{"atomic_latency", "How long does an atomic add take whose result is needed?", "atomic_latency"},
    ProbeInfo{"atomic_rate", "How fast are atomic adds to one address and to many?",
              "atomic_same_address_time"},
    ProbeInfo{"float_adds", "How fast are atomic adds of floats to so many lines?", ""},
    ProbeInfo{"grid_sync", "How long does a barrier of the whole grid take?", "grid_sync_time"},
    ProbeInfo{"cluster_latency", "How long does one dependent load of another CTA's shared memory take?",
              "cluster_latency"},
    ProbeInfo{"cluster_bandwidth", "How many bytes of others' shared memory does an SM read a clock?",
              "cluster_bandwidth"},
    ProbeInfo{"cluster_barrier", "How long does a barrier of a cluster take?", "cluster_barrier_latency"},
    ProbeInfo{"cluster_room", "On how many SMs do clusters run at once?",
              "clusters_of_4_sms clusters_of_8_sms"},
    ProbeInfo{"launch_floor", "How long does an empty kernel take?", "launch_floor"},
    ProbeInfo{"launch_gap", "How long after one kernel does the next of a stream start?", "launch_gap"},
    ProbeInfo{"launch_period", "How often can kernels be launched, from a stream and from a graph?",
              "stream_launch_period graph_launch_period"},
    ProbeInfo{"launch_by_grid", "How long does an empty kernel of so many CTAs take?", "cta_launch_time"},
    ProbeInfo{"graph_meets", "How often can streams of a graph start a kernel each and wait for each other?",
              ""},
    ProbeInfo{"stream_meets", "How often can streams that the host launches on?", ""},
    ProbeInfo{"shared_capacity", "How much shared memory can CTAs get?",
              "shared_per_sm_seen_bytes shared_per_cta_seen_bytes"},
    ProbeInfo{"host_copy", "How fast are copies from and to the host?",
              "host_to_device_bandwidth device_to_host_bandwidth host_both_ways_bandwidth"},
    ProbeInfo{"peer_copy", "How fast are copies between each two GPUs?", "peers"},
    ProbeInfo{"peer_meets", "How often can GPUs send each other a little and wait for each other?", ""},
    ProbeInfo{"peer_all_pairs", "How fast are copies when every GPU copies to every other?",
              "peer_all_pairs_bandwidth"},
};

/// One configuration of one probe.
struct ProbeSamples {
    std::string probe;
    std::string unit;                    ///< of the values, as in UnitOf
    std::map<std::string, double> knobs; ///< every choice that could have been another one
    std::vector<double> values;
    std::vector<double> sm_clock_hz; ///< during or right after each sample
    std::string note;                ///< how they were taken
    BOOST_DESCRIBE_CLASS(ProbeSamples, (), (probe, unit, knobs, values, sm_clock_hz, note), (), ())

    /// What a sample that went wrong looks like the analysis says; null is one that is not finite.
    static constexpr Range range_of(std::string_view field) {
        return field == "sm_clock_hz" ? Range{0.0, 1e12, true} : Range{-1e30, 1e30, true};
    }
    void check(const FieldProblem &problem) const; ///< a known probe, one clock a value
};

struct RawSamples {
    std::string schema = "convcast/samples/1";
    std::string name;               ///< "NVIDIA H200"
    std::string compute_capability; ///< "9.0"
    GpuLimits limits;
    double max_sm_clock_hz = 0.0;
    double memory_clock_hz = 0.0; ///< two transfers a cycle; 0 where the driver does not tell
    int memory_bus_bits = 0;
    std::map<std::string, std::string> conditions; ///< driver, toolkit, date, hash of the probes ...
    std::vector<ProbeSamples> samples;
    std::map<std::string, std::string> failed;  ///< probe -> why
    std::map<std::string, std::string> skipped; ///< probe -> what this GPU or machine lacks for it
    BOOST_DESCRIBE_CLASS(RawSamples, (),
                         (schema, name, compute_capability, limits, max_sm_clock_hz, memory_clock_hz,
                          memory_bus_bits, conditions, samples, failed, skipped),
                         (), ())

    static constexpr Range range_of(std::string_view field) {
        return field == "memory_bus_bits" ? Range{0, 1 << 20} : Range{0.0, 1e12};
    }
    void check(const FieldProblem &problem) const;
};

/// The samples of several sittings with the same GPU model, one document for each: those of a probe come from
/// the first document that has them. The conditions are the first one's; "added" says what the others gave,
/// when and with which probes. Throws InputError where a document is of another GPU model than the first, and
/// names its file. At least one of each.
RawSamples joined(const std::vector<RawSamples> &documents, const std::vector<std::string> &files);

/// Whether a probe needs to run (again) to complete `raw`: it gave no samples, and was not skipped.
bool is_open(const RawSamples &raw, std::string_view probe);

/// Throws InputError with every problem of the text at once. `file` only names it in messages.
RawSamples read_samples(const std::string &text, const std::string &file);
std::string write_samples(const RawSamples &raw);

/// FP32 lanes of an SM: the one limit that no driver call tells. Absent for an unknown architecture. Source:
/// CUDA C++ Programming Guide, "Arithmetic Instructions", row of 32-bit floating-point multiply-add.
std::optional<int> cores_per_sm(int compute_major, int compute_minor);

} // namespace convcast
