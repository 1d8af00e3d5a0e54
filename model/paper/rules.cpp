#include "model/paper/rules.hpp"

#include "model/base/divide.hpp"
#include "model/paper/papers.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

namespace convcast {
namespace {

/// FMAs that an SM retires in one latency of DRAM: by the measured rate, else one a core and clock.
double hardware_fmas(const GpuProfile &profile) {
    const double rate = profile.ffma_rate ? profile.ffma_rate->value.value : profile.limits.cores_per_sm;
    return profile.dram_latency->value.value * rate;
}

/// Bytes in flight with which DRAM reaches 90 % of its bandwidth: measured, else by Little's law (100 %).
double hardware_bytes(const GpuProfile &profile) {
    if (profile.dram_read_curve && profile.dram_read_curve->fit)
        return profile.dram_read_curve->fit->bytes_for_90;
    return profile.dram_read_bandwidth->value.value * profile.dram_latency->value.value /
           profile.sm_clock->value.value;
}

} // namespace

Rules table1_rules(const GpuProfile &profile) {
    Rules t;
    if (!papers::missing_for_table1(profile).empty())
        return t;
    const std::int64_t latency = std::llround(profile.dram_latency->value.value), warp = papers::warp_threads;
    t.n_fma = latency * profile.limits.cores_per_sm * papers::fmas_per_core_and_clock; // T1
    t.bytes_per_clock = static_cast<std::int64_t>(profile.dram_read_bandwidth->value.value /
                                                  profile.sm_clock->value.value);     // T2
    t.data_bytes = *t.bytes_per_clock * latency;                                      // T3
    t.threads = round_up(ceil_div(*t.data_bytes, 4), warp);                           // T4
    t.threads_per_sm = round_up(ceil_div(*t.threads, profile.limits.sm_count), warp); // T5
    t.warps_per_sm = *t.threads_per_sm / warp;
    t.bytes_per_sm = *t.threads_per_sm * 4;
    t.v_s_bytes = *t.bytes_per_sm * profile.limits.sm_count; // T6
    t.hardware_n_fma = hardware_fmas(profile);
    t.hardware_bytes = hardware_bytes(profile);
    return t;
}

Rules shape_rules(const ConvShape &shape, const GpuProfile &profile) {
    Rules rules = table1_rules(profile);
    if (!rules.n_fma || shape.c != 1 || !outside_papers(shape).empty())
        return rules;
    const papers::Division d = papers::divide_single_channel(shape, profile);
    rules.method = d.method;
    rules.pieces_p = d.pieces_p;
    rules.pieces_q = d.pieces_q;
    rules.candidate_p = d.p.chosen;
    rules.candidate_q = d.q.chosen;
    rules.d1_bytes = d.d1;
    rules.d2_bytes = d.d2;
    rules.th1 = d.th1;
    rules.th2 = d.th2;
    for (const papers::PieceChoice *choice : {&d.p, &d.q})
        if (!choice->in_range)
            rules.remarks.push_back("out of range, so 1: " + choice->why);
    if (const std::optional<papers::Redivision> again = papers::redivide(shape, profile)) {
        rules.redivided_filters = again->filter_shares;
        rules.redivided_map = again->map_shares;
        rules.redivided_bytes = again->moved_bytes;
        if (!again->exceeds_v_s)
            rules.remarks.push_back(
                "step 4: no division moves more than V_s bytes, so the one that moves the most is taken");
    }
    if (d.overruns_shared)
        rules.remarks.push_back(
            "the paper's pieces overrun S_shared = " + std::to_string(profile.limits.shared_bytes_per_sm) +
            " bytes by part of a row: its bounds divide real numbers");
    return rules;
}

std::string cached_remark(const std::string &whose, std::int64_t bytes, const GpuLimits &limits) {
    const std::int64_t room = static_cast<std::int64_t>(limits.sm_count) * limits.shared_bytes_per_sm;
    return whose + " " + std::to_string(bytes) + " bytes " + (bytes < room ? "stay" : "do not stay") +
           " cached: N_sm * S_shared = " + std::to_string(room);
}

std::string outside_papers(const ConvShape &s, Elements elements) {
    if (s.dtype != DataType::f32 && elements == Elements::floats)
        return "only FP32 is built for this strategy";
    if (s.stride_h != 1 || s.stride_w != 1)
        return "the papers' kernels have stride 1";
    if (s.pad_h != 0 || s.pad_w != 0)
        return "the papers' kernels have no padding";
    if (s.dilation_h != 1 || s.dilation_w != 1)
        return "the papers' kernels have no dilation";
    if (s.groups != 1)
        return "the papers' kernels have one group";
    // The kernels count rows, pixels and filter values of one image in 32 bits.
    constexpr std::int64_t most = std::int64_t{1} << 30;
    if (s.fmas().value > 1e17)
        return "more than 1e17 multiply-adds: days on any GPU, and beyond the rules' 64-bit integers";
    if (s.h * s.w > most || s.c * s.r * s.s > most || s.k > most || s.n > 65535 || s.r > 32 || s.s > 32)
        return "an image, filter set or batch is too large for 32-bit indices inside an image";
    return "";
}

} // namespace convcast
