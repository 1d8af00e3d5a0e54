#include "model/paper/rules.hpp"

#include "model/paper/papers.hpp"

#include <cstdint>
#include <string>

namespace convcast {

Rules table1_rules(const GpuProfile &profile) {
    Rules rules;
    if (papers::missing_for_table1(profile).empty()) {
        const papers::LatencyHiding table = papers::table1(profile);
        rules.n_fma = table.n_fma;
        rules.v_s_bytes = table.v_s_bytes;
        rules.threads_per_sm = table.threads_per_sm;
        rules.warps_per_sm = table.warps_per_sm;
    }
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
