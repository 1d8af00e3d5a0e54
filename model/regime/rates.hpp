// What people ask of a case besides its time: floating-point operations a second, and multiply-adds per byte.
#pragma once

#include "model/base/describe.hpp"
#include "model/base/units.hpp"
#include "model/machine/profile.hpp"
#include "model/plan/work.hpp"
#include "model/shape/conv_shape.hpp"

#include <optional>

namespace convcast {

/// Of the multiply-adds that the convolution's definition has. What a kernel computes besides, because tiles
/// are padded, is no use to anybody; an algorithm that transforms computes fewer, so its share of the peak
/// may pass 1. What the work or the profile does not say is absent.
struct Rates {
    std::optional<double> fmas_per_l2_byte;   ///< bytes between the SMs and L2, read and written
    std::optional<double> fmas_per_dram_byte; ///< bytes between L2 and DRAM, read and written
    std::optional<double> flop_per_s;         ///< two for a multiply-add
    std::optional<double> peak_share;         ///< of the FFMAs that all SMs can do in this time
    CONVCAST_MEMBERS(Rates, fmas_per_l2_byte, fmas_per_dram_byte, flop_per_s, peak_share)
};

/// Of `work` in `time`, forecast or measured.
Rates rates_of(const ConvShape &shape, const std::optional<Work> &work, std::optional<Seconds> time,
               const GpuProfile &profile);

/// FLOP/s of FFMAs on all SMs, at the sustained rate and clock that were measured; one FFMA a core and clock
/// where none was. Absent without a clock.
std::optional<double> peak_flop_per_s(const GpuProfile &profile);

} // namespace convcast
