// A patch of the image in registers while all filters pass by; C = 1.
#pragma once

#include "model/strategy.hpp"

namespace convcast {

/// A thread keeps the (rows + r - 1) x s pixels behind `rows` outputs of one column in registers and walks
/// over the CTA's `tile_k` filters, whose taps come from shared memory by broadcast. Per filter it issues
/// rows * r * s FFMAs, r * s / 4 loads and `rows` stores: nearly nothing else, where single-channel kernels
/// drown in addresses. C = 1 only.
struct PatchRegister {
    static constexpr const char *name = "patch_register";
    static constexpr const char *doc =
        "single channel: a patch of pixels stays in registers, filters pass by";

    int rows = 0;
    int vector = 0;
    int threads = 0;
    int tile_k = 0;

    static const std::vector<Knob<PatchRegister>> &knobs();
    PlanResult<PatchRegister> plan(const ConvShape &shape, const GpuProfile &profile) const;
    bool operator==(const PatchRegister &) const = default;
};

} // namespace convcast
