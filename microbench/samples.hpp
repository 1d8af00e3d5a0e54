// What the probes saw, before any judgement: kept so that a profile can be made again from it. Pure data, no
// CUDA.
#pragma once

#include "model/profile.hpp"

#include <boost/describe.hpp>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

/// What a probe asks and which fields of GpuProfile its samples become.
struct ProbeInfo {
    std::string_view name;
    std::string_view question;
    std::array<std::string_view, 2> fields; ///< the second may be empty
};

/// Every probe there is, in the order in which they run: the clock first, since it also wakes the device.
inline constexpr std::array probes = {
    ProbeInfo{"sm_clock", "Which SM clock holds under FFMA load?", {"sm_clock"}},
    ProbeInfo{"ffma_rate", "How many FFMAs a clock does an SM sustain?", {"ffma_rate", "ffma_outer_rate"}},
    ProbeInfo{"dram_latency", "How long does one dependent load take that misses L2?", {"dram_latency"}},
    ProbeInfo{"l2_latency", "How long does one dependent load take that hits L2?", {"l2_latency"}},
    ProbeInfo{"dram_read_bandwidth", "How fast can DRAM be read?", {"dram_read_bandwidth"}},
    ProbeInfo{"dram_write_bandwidth", "How fast can DRAM be written?", {"dram_write_bandwidth"}},
    ProbeInfo{"dram_read_curve",
              "How fast is DRAM read with so many bytes in flight?",
              {"dram_read_curve", "knee_exponent"}},
    ProbeInfo{"l2_read_bandwidth", "How fast can all SMs read from L2?", {"l2_read_bandwidth"}},
    ProbeInfo{
        "shared_bandwidth", "How many bytes of shared memory does an SM read a clock?", {"shared_bandwidth"}},
    ProbeInfo{
        "banks", "How many banks has shared memory, and how wide are they?", {"bank_width", "bank_count"}},
    ProbeInfo{"barrier_latency", "How long does __syncthreads of 256 threads take?", {"barrier_latency"}},
    ProbeInfo{"launch_floor", "How long does an empty kernel take?", {"launch_floor"}},
    ProbeInfo{"launch_gap", "How long after one kernel does the next of a stream start?", {"launch_gap"}},
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
    std::map<std::string, std::string> failed; ///< probe -> why
    BOOST_DESCRIBE_CLASS(RawSamples, (),
                         (schema, name, compute_capability, limits, max_sm_clock_hz, memory_clock_hz,
                          memory_bus_bits, conditions, samples, failed),
                         (), ())
};

/// Throws InputError with every problem of the text at once. `file` only names it in messages.
RawSamples read_samples(const std::string &text, const std::string &file);
std::string write_samples(const RawSamples &raw);

/// FP32 lanes of an SM: the one limit that no driver call tells. Absent for an unknown architecture. Source:
/// CUDA C++ Programming Guide, "Arithmetic Instructions", row of 32-bit floating-point multiply-add.
std::optional<int> cores_per_sm(int compute_major, int compute_minor);

} // namespace convcast
