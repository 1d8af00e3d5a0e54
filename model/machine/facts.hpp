// What the compiler makes of a kernel, as counted on a GPU: how the instructions and loads that a plan can
// count from the source become those that run. Shipped as data, so that a machine without GPU or toolkit
// forecasts from the same facts.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/describe.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace convcast {

/// Cycles per warp instruction of a lone warp of a kernel (W2), and the share of its instructions that the
/// pipe of integers and logic executes (F10). Both depend on how the compiler ordered the kernel, so they are
/// facts of it.
struct Pace {
    double ffma_clocks = 1.0;  ///< for an FFMA
    double other_clocks = 1.0; ///< for another instruction of a step
    double alu_share = 0.0;    ///< share of all but FFMAs that the pipe of integers and logic executes
    /// The same share among copies, or among what a CTA does once. Absent: alu_share.
    std::optional<double> copy_alu_share = std::nullopt;
    /// Ignored in plans of earlier versions: these are numbers of all kernels now.
    static constexpr std::array<const char *, 2> former_members = {"once_clocks", "cold_clocks"};
    double constant_clocks = 0.0; ///< clocks that a warp waits for each line of constant memory (F24)
    CONVCAST_MEMBERS(Pace, ffma_clocks, other_clocks, alu_share, copy_alu_share, constant_clocks)
};

/// Facts of one variant of a kernel of executor/kernels. Warp instructions of a launch (W1) =
///   FFMAs / 32 * (1 + per_ffma) + counted * per_counted + warps * (per_warp + steps * per_warp_step),
/// where `counted` are the instructions beside FFMAs that the plan counts from the source.
struct CompiledWork {
    std::string kernel, variant; ///< as in Partition
    double per_ffma = 0.0, per_counted = 1.0, per_warp = 0.0, per_warp_step = 0.0;
    /// Coefficient `met` of W6: the more, the more requests of a GPC's SMs coalesce on the way to L2. 0: none
    /// do. It is no probability and has no unit; W6 divides it by what spreads the requests in time.
    double merging = 0.0;
    Pace pace;
    std::int64_t cases = 0;                     ///< counted calls that the numbers are regressed on
    double median_error = 0.0, p90_error = 0.0; ///< |forecast / counted - 1| of these calls' instructions
    CONVCAST_MEMBERS(CompiledWork, kernel, variant, per_ffma, per_counted, per_warp, per_warp_step, merging,
                     pace, cases, median_error, p90_error)

    void check(const FieldProblem &problem) const; ///< that each number is one which a kernel can have
};

/// The facts of all kernels of one architecture. Without kernels nothing was counted.
struct Facts {
    std::string schema = "convcast/facts/3";
    std::string architecture;     ///< "sm_90": the compiler's target and the GPUs whose counters were read
    std::string device_code_hash; ///< of the kernels that were counted
    double cold_clocks = 0.0;     ///< clocks that a launch's first warps wait for code and constants (F15)
    double once_clocks = 1.0; ///< clocks of a lone warp for an instruction of a copy, or done once per CTA
    double drift = 0.5; ///< exponent of how SMs desynchronise with time (W6): 0.5 a random walk, 0 lockstep
    std::vector<CompiledWork> kernels;
    CONVCAST_MEMBERS(Facts, schema, architecture, device_code_hash, cold_clocks, once_clocks, drift, kernels)

    void check(const FieldProblem &problem) const; ///< names, and ranges of the numbers of all kernels
};

/// The facts in which `kernels` have those of a kernel that was never counted: every number is the median
/// over the other kernels and their variants, but instructions are those that the plan counts. No kernels
/// where no other one was counted.
Facts as_never_counted(Facts facts, const std::set<std::string> &kernels);

/// Reads facts. Throws InputError with every problem at once; `file` only names the text in messages.
Facts read_facts(const std::string &text, const std::string &file);
std::string write_facts(const Facts &facts);

extern template const described::Type &described::type_of<Facts>();

} // namespace convcast
