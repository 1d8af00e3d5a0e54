#include "model/regime/rates.hpp"

#include <optional>

namespace convcast {
namespace {

constexpr double flop_of_fma = 2.0;

/// FMAs per byte of what is read and written; absent where neither is known or nothing moves.
std::optional<double> per_byte(double fmas, std::optional<double> read, std::optional<double> written) {
    const double bytes = read.value_or(0.0) + written.value_or(0.0);
    return bytes > 0.0 ? std::optional<double>(fmas / bytes) : std::nullopt;
}

} // namespace

std::optional<double> peak_flop_per_s(const GpuProfile &profile) {
    if (!profile.sm_clock)
        return std::nullopt;
    const double rate = profile.ffma_rate ? profile.ffma_rate->value.value : profile.limits.cores_per_sm;
    return flop_of_fma * rate * profile.sm_clock->value.value * profile.limits.sm_count;
}

Rates rates_of(const ConvShape &shape, const std::optional<Work> &work, std::optional<Seconds> time,
               const GpuProfile &profile) {
    const double fmas = shape.fmas().value;
    Rates rates;
    if (work) {
        rates.fmas_per_l2_byte = per_byte(fmas, work->l2_read_bytes, work->l2_write_bytes);
        rates.fmas_per_dram_byte = per_byte(fmas, work->dram_read_bytes, work->dram_write_bytes);
    }
    if (!time || time->value <= 0.0)
        return rates;
    rates.flop_per_s = flop_of_fma * fmas / time->value;
    if (const std::optional<double> peak = peak_flop_per_s(profile))
        rates.peak_share = *rates.flop_per_s / *peak;
    return rates;
}

} // namespace convcast
