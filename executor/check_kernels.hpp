// Compiles kernels and compares what the compiler made of them with what their plans assume. Needs no GPU.
#pragma once

#include "model/base/describe.hpp"
#include "model/machine/architecture.hpp"
#include "model/record/run.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace convcast {

class Compiler;

/// One kernel as it is launched. Numbers that come from the compiler are absent if it failed, those that come
/// from a plan if there is none.
struct CheckedKernel {
    std::string kernel; ///< "filter_split<3, 3, 4, 4, 2, 1>"
    std::optional<std::int64_t> register_cap, threads, dynamic_shared_bytes, planned_ctas_per_sm;
    std::optional<std::int64_t> registers, static_shared_bytes, stack_bytes, spill_store_bytes,
        spill_load_bytes;
    std::optional<std::int64_t> ctas_per_sm; ///< that fit, by the registers that it really takes
    /// Why it must not be trusted or did not compile; absent: all is well
    std::optional<std::string> problem;
    CONVCAST_MEMBERS(CheckedKernel, kernel, register_cap, threads, dynamic_shared_bytes, planned_ctas_per_sm,
                     registers, static_shared_bytes, stack_bytes, spill_store_bytes, spill_load_bytes,
                     ctas_per_sm, problem)
};

/// Compiles, with `threads` threads and into the compiler's cache, all kernels that running `plans` needs,
/// and those that verify and those of the im2col baseline. One entry for each kernel and each way in which it
/// is launched.
std::vector<CheckedKernel>
check_kernels(Compiler &compiler, std::span<const Plan> plans, const Gpu &gpu, int compute_capability,
              unsigned threads,
              const std::function<void(std::size_t done, std::size_t total)> &progress = {});

/// Compiles a kernel of the user's own as it is launched for a shape.
CheckedKernel check_own_kernel(Compiler &compiler, const OwnKernel &kernel, const ConvShape &shape,
                               const Gpu &gpu, int compute_capability);

} // namespace convcast
