// What a question's kernels become when they are compiled, beside what their plans reckon with. Needs no GPU.
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

/// One kernel as it is launched; numbers of the compiler are absent where it failed, those of a plan where
/// there is none.
struct CheckedKernel {
    std::string kernel; ///< "filter_split<3, 3, 4, 4, 2, 1>"
    std::optional<std::int64_t> register_cap, threads, dynamic_shared_bytes, planned_ctas_per_sm;
    std::optional<std::int64_t> registers, static_shared_bytes, stack_bytes, spill_store_bytes,
        spill_load_bytes;
    std::optional<std::int64_t> ctas_per_sm; ///< by the registers that it really takes
    std::optional<std::string> problem;      ///< why it must not be trusted, or did not compile
    CONVCAST_MEMBERS(CheckedKernel, kernel, register_cap, threads, dynamic_shared_bytes, planned_ctas_per_sm,
                     registers, static_shared_bytes, stack_bytes, spill_store_bytes, spill_load_bytes,
                     ctas_per_sm, problem)
};

/// Compiles, by `threads` threads and into the compiler's cache, what running `plans` asks for, the kernels
/// that verify and the baseline's included: one entry for each kernel with each way in which it is launched.
std::vector<CheckedKernel>
check_kernels(Compiler &compiler, std::span<const Plan> plans, const Gpu &gpu, int compute_capability,
              unsigned threads,
              const std::function<void(std::size_t done, std::size_t total)> &progress = {});

/// A kernel of the user's own as a shape launches it: what the compiler made of it, or why it did not.
CheckedKernel check_own_kernel(Compiler &compiler, const OwnKernel &kernel, const ConvShape &shape,
                               const Gpu &gpu, int compute_capability);

} // namespace convcast
