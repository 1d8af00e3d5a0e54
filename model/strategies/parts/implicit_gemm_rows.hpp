// implicit_gemm from staged rows: the plan of its kernel implicit_gemm_rows.
#pragma once

#include "model/strategies/parts/implicit_gemm_tile.hpp"

namespace convcast {

/// W3: passes through shared memory of a warp's loads for one value of all its filters and pixels. `lanes_n`
/// lanes lie along the pixels; only those of the first `taking_part` places take part.
double row_load_passes(const Banks &banks, const ImplicitGemm &setting, std::int64_t lanes_n,
                       std::int64_t taking_part);

/// W3: passes through shared memory of a warp whose lanes each store the sums of four neighbouring pixels, as
/// [filter][pixel], where the sums of several warps meet. `lanes_n` lanes lie along the pixels, `pixels`
/// pixels apart; the others lie along the filters, `filters` filters apart.
double sum_store_passes(const Banks &banks, const ImplicitGemm &setting, std::int64_t lanes_n,
                        std::int64_t pixels, std::int64_t filters);

/// The plan of a setting with staging = 2. If its `columns` is 0, it is chosen and filled in; no other knob
/// may be left open.
Planned plan_of_rows(ImplicitGemm &setting, const ConvShape &shape, const Gpu &gpu);

} // namespace convcast
