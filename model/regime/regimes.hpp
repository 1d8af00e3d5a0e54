// The opinions on a regime: by the paper's rule, by physics, by the forecast time and by what was measured.
#pragma once

#include "model/machine/architecture.hpp"
#include "model/machine/profile.hpp"
#include "model/paper/rules.hpp"
#include "model/plan/plan.hpp"
#include "model/shape/conv_shape.hpp"

#include <boost/describe.hpp>

#include <optional>

namespace convcast {

/// Which of the papers' ways hides the memory latency; R3 to R5.
enum class Regime { compute_hidden, bulk_hidden, exposed };
BOOST_DESCRIBE_ENUM(Regime, compute_hidden, bulk_hidden, exposed)

struct Regimes {
    std::optional<Regime> paper, physical, tier2;
    BOOST_DESCRIBE_CLASS(Regimes, (), (paper, physical, tier2), (), ())
};

/// R3, section 2.2's rule: enough FMAs a round, else enough bytes in flight, else neither.
Regime regime_by_rule(double fmas, double n_fma, double bytes, double v_s_bytes);

/// The papers' own: what one round brings to an SM, against the numbers of Table 1. Absent where the profile
/// lacks a number for these.
std::optional<Regime> paper_regime(const Rules &rules);

/// R4: the FMAs of a round against those that one SM really retires during one latency, and the bytes that
/// are really under way against bandwidth times latency. Requires a profile that has what a forecast needs.
Regime physical_regime(const Plan &plan, const ConvShape &shape, const Gpu &gpu);

/// The papers' names for a regime measured on the chip: thresholds of R5.
inline constexpr double busy_fma_share = 0.60;    ///< FMA pipe or issue slots, of their peak
inline constexpr double busy_memory_share = 0.70; ///< DRAM or L2, of its measured ceiling
Regime measured_regime(double fma_share, double issue_share, double dram_share, double l2_share);

/// What a call keeps busy: shares of what the chip can do, as the counters give them (R1,
/// R2).
struct Utilisation {
    double fma = 0.0, issue = 0.0; ///< of the FMA pipes and issue slots, while an SM has work
    double dram = 0.0, l2 = 0.0;   ///< of the measured bandwidth, over the whole time
};

/// Of `work` in `time`; without the bandwidths in the profile their shares are 0.
Utilisation utilisation_of(const Plan &plan, const Work &work, Seconds time, const GpuProfile &profile);

} // namespace convcast
