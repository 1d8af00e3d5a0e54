// Fields that take several configurations together: fits, knees of sweeps, ratios.
#pragma once

#include "microbench/selection.hpp"
#include "model/machine/profile.hpp"

#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// Each for the row of a probe (probe.hpp): gives its fields that are no best median, or says why not.
void derive_l2_latency(const RawSamples &raw, Findings &findings);
void derive_footprints(const RawSamples &raw, Findings &findings);
void derive_tlb_latency(const RawSamples &raw, Findings &findings);
void derive_constant(const RawSamples &raw, Findings &findings);
void derive_banks(const RawSamples &raw, Findings &findings);
void derive_conflict_cost(const RawSamples &raw, Findings &findings);
void derive_matched_elements(const RawSamples &raw, Findings &findings);
void derive_shared_slowdown(const RawSamples &raw, Findings &findings);
void derive_sector(const RawSamples &raw, Findings &findings);
void derive_granule(const RawSamples &raw, Findings &findings);
void derive_cta_launch_time(const RawSamples &raw, Findings &findings);

/// The curve that `probe` measured, with a fitted formula where one fits; a note in `findings` says how well
/// it fits, or why none does. Without samples there is no curve, and `findings` has the reason under the
/// probe's name.
std::optional<FlightCurve> flight_curve(const RawSamples &raw, const std::string &probe, Findings &findings);

/// p of eq. M1 for `curve` with L0 of dram_latency and BW of dram_read_bandwidth.
void derive_knee_exponent(const RawSamples &raw, const std::optional<FlightCurve> &curve, Findings &findings);

/// Links between GPUs, sorted by source and destination. Where there is none, `why` gets the reason.
std::vector<PeerLink> peer_links(const RawSamples &raw, std::string &why);

/// A mix of FFMAs and shared loads in one loop, and each of them alone.
struct Mix {
    double ffmas = 0.0, loads = 0.0; ///< of a thread per iteration
    Configuration together, ffmas_alone, loads_alone;
};

/// The mixes whose both parts were measured alone too, by ascending FFMAs per load.
std::vector<Mix> mixes_of(const RawSamples &raw);

/// The smallest number of bytes that moves when a lane reads 4 bytes at a stride. `level` is the probe's
/// knob: 1 counts bytes between DRAM and L2, 2 between L2 and the SMs; 0 goes by times, which follow the
/// larger of the two.
Answer stride_granule(const RawSamples &raw, int level);

} // namespace convcast
