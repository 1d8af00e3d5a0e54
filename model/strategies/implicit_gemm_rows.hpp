// implicit_gemm from staged rows: the plan of its kernel implicit_gemm_rows.
#pragma once

#include "model/strategies/implicit_gemm.hpp"

#include <variant>

namespace convcast {

/// The plan of a setting with staging = 2 in which only `columns` may be left to choose; it is filled in.
std::variant<Feasible, Infeasible> plan_of_rows(ImplicitGemm &setting, const ConvShape &shape,
                                                const GpuProfile &profile);

} // namespace convcast
