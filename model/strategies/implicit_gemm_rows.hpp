// implicit_gemm from staged rows: the plan of its kernel implicit_gemm_rows.
#pragma once

#include "model/strategies/implicit_gemm.hpp"

#include <variant>

namespace convcast {

/// Passes through shared memory of a warp's loads for one value of all its filters and pixels, of which only
/// the lanes of the first `taking_part` places along the pixels take part.
double row_load_passes(const Banks &banks, const ImplicitGemm &setting, std::int64_t lanes_n,
                       std::int64_t taking_part);

/// Passes through shared memory of a warp that stores four neighbouring pixels' sums a lane, where sums meet:
/// as [filter][pixel]. Lanes lie beside each other as in the kernels, `lanes_n` along the pixels, `pixels`
/// and `filters` apart.
double sum_store_passes(const Banks &banks, const ImplicitGemm &setting, std::int64_t lanes_n,
                        std::int64_t pixels, std::int64_t filters);

/// The plan of a setting with staging = 2 in which only `columns` may be left to choose; it is filled in.
std::variant<Feasible, Infeasible> plan_of_rows(ImplicitGemm &setting, const ConvShape &shape,
                                                const Gpu &gpu);

} // namespace convcast
