// The opinions on a regime: by the paper's rule, by physics, by the forecast time and by what was measured.
#pragma once

#include "model/base/describe.hpp"
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

/// R4: what a launch has at once, over what hides one latency of DRAM. From 1 on it hides the latency.
struct OverLatency {
    double fmas = 0.0;  ///< of the CTAs on an SM, over those that it retires meanwhile
    double bytes = 0.0; ///< under way on the whole chip, over DRAM's bandwidth times the latency
    CONVCAST_MEMBERS(OverLatency, fmas, bytes)
};

struct Regimes {
    std::optional<Regime> paper, physical, tier2;
    std::optional<OverLatency> over_latency; ///< by which `physical` is judged
    CONVCAST_MEMBERS(Regimes, paper, physical, tier2, over_latency)
};

/// R3, the rule of Chang's section 2.2: compute hides the latency if a round has at least `n_fma` FMAs; else
/// bulk transfer does if at least `v_s_bytes` are in flight; else it is exposed.
Regime regime_by_rule(double fmas, double n_fma, double bytes, double v_s_bytes);

/// R3 with the papers' own numbers: what one round brings to an SM, against those of Table 1. Absent if the
/// profile lacks a number for these.
std::optional<Regime> paper_regime(const Rules &rules);

/// Of the main launch, at the measured rates. Requires a profile for which missing_for_forecast is empty.
OverLatency over_latency(const Plan &plan, const ConvShape &shape, const Gpu &gpu);

/// R4: R3 with what is resident instead of one round.
Regime physical_regime(const OverLatency &over);

/// Thresholds of R5.
inline constexpr double busy_fma_share = 0.60;    ///< FMA pipe or issue slots, of their peak
inline constexpr double busy_memory_share = 0.70; ///< DRAM or L2, of its measured ceiling
/// R5: the regime that shares of use mean, each from 0 to 1: of the FMA pipes, of the issue slots, of DRAM's
/// and of L2's bandwidth. The forecast's shares and the counters' are judged alike.
Regime measured_regime(double fma_share, double issue_share, double dram_share, double l2_share);

/// What a call keeps busy: shares of what the chip can do, from 0 to 1, as the counters give them (R1, R2).
struct Utilisation {
    double fma = 0.0, issue = 0.0; ///< of the FMA pipes and issue slots, while an SM has work
    double dram = 0.0, l2 = 0.0;   ///< of the measured bandwidth, over the whole time
};

/// R1 and R2 of `work` done in `time`. A share whose bandwidth the profile lacks is 0.
Utilisation utilisation_of(const Plan &plan, const Work &work, Seconds time, const Gpu &gpu);

} // namespace convcast
