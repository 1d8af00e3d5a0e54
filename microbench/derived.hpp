// Fields of a profile that are made from several configurations of a probe: fits, knees of sweeps, ratios.
#pragma once

#include "microbench/selection.hpp"
#include "model/machine/profile.hpp"

#include <optional>
#include <string>
#include <vector>

namespace convcast {

// One function for each probe whose fields are more than a best median (ProbeUse::derive). It puts every such
// field into `findings`: a value with its evidence, or the reason why there is none.

/// l2_latency (clk): the median SM's.
void derive_l2_latency(const RawSamples &raw, Findings &findings);
/// l2_far_latency (clk), l1_seen_bytes and l2_seen_bytes, from latency by footprint.
void derive_footprints(const RawSamples &raw, Findings &findings);
/// dram_tlb_latency (clk): a load in the largest region, if it takes longer than in the smallest.
void derive_tlb_latency(const RawSamples &raw, Findings &findings);
/// constant_l1_latency, constant_l2_latency (clk) and constant_l1_seen_bytes, from latency by footprint.
void derive_constant(const RawSamples &raw, Findings &findings);
/// bank_width (B) and bank_count, by fit_banks().
void derive_banks(const RawSamples &raw, Findings &findings);
/// conflict_cost: clk for one more pass.
void derive_conflict_cost(const RawSamples &raw, Findings &findings);
/// matched_elements_N_byte: the fewest elements of N bytes a lane that reach 95 % of the best bandwidth.
void derive_matched_elements(const RawSamples &raw, Findings &findings);
/// ffma_shared_slowdown: time of a mix of FFMAs and loads over the longer of its parts alone.
void derive_shared_slowdown(const RawSamples &raw, Findings &findings);
/// sector_bytes: the granule between L2 and SMs.
void derive_sector(const RawSamples &raw, Findings &findings);
/// dram_granule_bytes: the granule between DRAM and L2.
void derive_granule(const RawSamples &raw, Findings &findings);
/// cta_launch_time: seconds for one more CTA in a large grid.
void derive_cta_launch_time(const RawSamples &raw, Findings &findings);

/// The curve that `probe` measured: B/s against bytes in flight, with eq. M1 fitted where it fits. A note in
/// `findings` says how well it fits, or why it does not. Absent without samples; then `findings` has the
/// reason under the probe's name.
std::optional<FlightCurve> flight_curve(const RawSamples &raw, const std::string &probe, Findings &findings);

/// The field knee_exponent: p of eq. M1 fitted to `curve`, that of dram_read_curve, with L0 from the probe
/// dram_latency and BW from dram_read_bandwidth.
void derive_knee_exponent(const RawSamples &raw, const std::optional<FlightCurve> &curve, Findings &findings);

/// The measured links between GPUs, sorted by source and destination. Without any, `why` gets the reason.
std::vector<PeerLink> peer_links(const RawSamples &raw, std::string &why);

/// A loop of FFMAs and loads from shared memory, measured together and each alone.
struct Mix {
    double ffmas = 0.0, loads = 0.0; ///< instructions of a thread in an iteration
    Configuration together, ffmas_alone, loads_alone;
};

/// The mixes of which both parts were also measured alone, by ascending FFMAs per load.
std::vector<Mix> mixes_of(const RawSamples &raw);

/// The smallest number of bytes that a link moves when each lane reads 4 bytes at a wide stride, or why it is
/// not known. `level` is a knob of the probe stride_granularity: 1 counts the bytes between DRAM and L2, 2
/// those between L2 and the SMs, 0 takes times, which follow the link that moves more.
Answer stride_granule(const RawSamples &raw, int level);

} // namespace convcast
