// A patch of the image in registers while all filters pass by; C = 1.
#pragma once

#include "model/strategies/strategy.hpp"

namespace convcast {

/// A thread keeps the pixels behind `vector` neighbouring outputs in each of `rows` bands of the map in
/// registers and walks over the CTA's `tile_k` filters, whose taps come from shared memory by broadcast, or,
/// of a single filter, from registers. A band is as many rows as make its outputs whole sectors, which then
/// are stored whole. Per filter a thread issues rows * vector * r * s FFMAs, r * s / 4 loads and `rows`
/// stores: nearly nothing else, where single-channel kernels drown in addresses. Outputs larger than L2 are
/// streamed past the map. C = 1 only.
struct PatchRegister {
    static constexpr const char *name = "patch_register";
    static constexpr const char *doc =
        "single channel: a patch of pixels stays in registers, filters pass by";

    int rows = 0;
    int vector = 0;
    int threads = 0;
    int tile_k = 0;

    static const std::vector<Knob<PatchRegister>> &knobs();
    /// The settings to compare, each with every knob: of a knob that is 0 the values that fit, others as they
    /// stand.
    Settings<PatchRegister> settings(const ConvShape &shape, const Gpu &gpu) const;
    /// The plan of one of these settings.
    PlanResult<PatchRegister> plan(const ConvShape &shape, const Gpu &gpu) const;
    bool operator==(const PatchRegister &) const = default;
};

} // namespace convcast
