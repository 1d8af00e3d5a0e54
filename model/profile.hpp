// What a GPU can do, as data: limits the driver tells and numbers that probes measure or papers publish.
#pragma once

#include "model/units.hpp"

#include <boost/describe.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

enum class Source { spec, driver, measured, published, assumed };
BOOST_DESCRIBE_ENUM(Source, spec, driver, measured, published, assumed)

/// Order statistics of the samples behind a value, in the value's unit.
struct Spread {
    double p05 = 0.0, p50 = 0.0, p95 = 0.0;
    std::int64_t n = 0;
    BOOST_DESCRIBE_CLASS(Spread, (), (p05, p50, p95, n), (), ())
};

/// One number of a profile. In files: {value, unit, source, by, spread}; the unit must be UnitOf<Q>::text.
template <class Q> struct Param {
    Q value;
    Source source = Source::assumed;
    std::string by; ///< the probe or the citation
    std::optional<Spread> spread;
};

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
    BOOST_DESCRIBE_CLASS(GpuLimits, (),
                         (sm_count, cores_per_sm, shared_bytes_per_sm, shared_bytes_per_cta,
                          shared_bytes_reserved_per_cta, registers_per_sm, max_threads_per_sm, max_threads_per_cta,
                          max_ctas_per_sm, l2_bytes, schedulers_per_sm),
                         (), ())
};

/// Time to move V bytes that are all in flight at once: T = (L0^p + (V/BW)^p)^(1/p) (docs/model.md, eq. M1).
struct FlightCurve {
    std::vector<double> bytes_in_flight; ///< whole GPU
    std::vector<double> bandwidth;       ///< B/s, same length
    BOOST_DESCRIBE_CLASS(FlightCurve, (), (bytes_in_flight, bandwidth), (), ())
};

/// Every Param is absent with a reason, never 0: `missing` maps a field to why it was not measured.
struct GpuProfile {
    std::string schema = "convcast/profile/1";
    std::string id;   ///< "h200": the name on the command line
    std::string name; ///< "NVIDIA H200"
    std::string compute_capability; ///< "9.0"
    GpuLimits limits;

    std::optional<Param<Frequency>> sm_clock;       ///< seen under FFMA load; base clock where published
    std::optional<Param<Cycles>> dram_latency;      ///< one dependent load that misses L2
    std::optional<Param<Bandwidth>> dram_read_bandwidth;
    std::optional<Param<Bandwidth>> dram_write_bandwidth;
    std::optional<Param<Cycles>> l2_latency;
    std::optional<Param<Bandwidth>> l2_read_bandwidth;
    std::optional<Param<FmasPerCycle>> ffma_rate;       ///< per SM, sustained, operand ports no limit
    std::optional<Param<FmasPerCycle>> ffma_outer_rate; ///< per SM, of an outer product: three registers an FFMA
    std::optional<Param<BytesPerCycle>> shared_bandwidth; ///< per SM
    std::optional<Param<Bytes>> bank_width;
    std::optional<Param<Plain>> bank_count;
    std::optional<Param<Cycles>> barrier_latency;   ///< __syncthreads of a 256-thread CTA
    std::optional<Param<Seconds>> launch_floor;     ///< an empty kernel, by its activity record
    std::optional<Param<Seconds>> launch_gap;       ///< end of one kernel to start of the next in a stream
    std::optional<Param<Plain>> knee_exponent;      ///< p of eq. M1 for DRAM reads
    std::optional<FlightCurve> dram_read_curve;

    std::map<std::string, std::string> missing;    ///< field -> why
    std::map<std::string, std::string> conditions; ///< driver, toolkit, date, version and hash of the probes
    std::vector<std::string> notes;

    BOOST_DESCRIBE_CLASS(GpuProfile, (),
                         (schema, id, name, compute_capability, limits, sm_clock, dram_latency, dram_read_bandwidth,
                          dram_write_bandwidth, l2_latency, l2_read_bandwidth, ffma_rate, ffma_outer_rate, shared_bandwidth,
                          bank_width, bank_count, barrier_latency, launch_floor, launch_gap, knee_exponent,
                          dram_read_curve, missing, conditions, notes),
                         (), ())
};

/// Throws InputError with every problem of the text at once. `file` only names it in messages.
GpuProfile read_profile(const std::string &text, const std::string &file);
std::string write_profile(const GpuProfile &profile);

/// A shipped profile by its id, or a profile file by its path. Throws UsageError (unknown id, with the closest one
/// and the list) or InputError (a file that cannot be read).
GpuProfile find_profile(const std::string &name_or_file);
std::vector<std::string> shipped_profiles();

/// XXH3-128 of the profile's canonical text, as hex.
std::string profile_hash(const GpuProfile &profile);

/// JSON Schema of the profile file, generated from the described structs.
std::string profile_schema();

} // namespace convcast
