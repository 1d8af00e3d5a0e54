// filter_split (Chang, section 3.1, division 1; C = 1). An SM keeps its share of the filters and streams the map in
// pieces of rows. CTA b works for SM b % parts and takes half b / parts of every piece: the first wave places CTAs
// b and b + parts on the same SM.
//   1. filters -> shared memory, once
//   2. piece 0 -> buffer 0;  then per piece: prefetch the next into the other buffer | convolve this one
// With one piece there is nothing to prefetch: everything moves at once (the papers' bulk transfer).
#include "executor/kernels/common.cuh"

using namespace convcast;

/// R x S filter; a thread computes Rows rows of Group filters; Stages buffers of map; Wide: rows are
/// 16-byte aligned.
template <int R, int S, int Rows, int Group, int Stages, bool Wide>
__global__ void __maxnreg__(REGISTER_CAP)
    filter_split(const float *__restrict__ input, const float *__restrict__ filters, float *__restrict__ output,
                 ConvArgs a) {
    extern __shared__ __align__(16) float shared[];
    float *bank = shared;
    float *bands = shared + a.bank_floats;
    const int part = blockIdx.x % a.parts, half = blockIdx.x / a.parts;
    const int per_part = ceil_div(a.k, a.parts);
    const int first = part * per_part;
    const int count = at_most(per_part, a.k - first);
    if (count <= 0)
        return;
    const int piece_rows = ceil_div(a.p, a.pieces), half_rows = ceil_div(piece_rows, 2);
    input += static_cast<long long>(blockIdx.y) * a.h * a.w;
    output += (static_cast<long long>(blockIdx.y) * a.k + first) * a.p * a.q;

    // Rows [begin, begin + rows) of the output that this CTA computes in a piece; none in a piece past the end.
    const auto begin_of = [&](int piece) { return piece * piece_rows + half * half_rows; };
    const auto rows_of = [&](int piece) {
        const int end = at_most(at_most((piece + 1) * piece_rows, a.p), begin_of(piece) + half_rows);
        return end - begin_of(piece);
    };
    const auto fetch = [&](int piece) {
        const int rows = rows_of(piece);
        if (rows > 0)
            copy_span<Wide>(bands + (piece % Stages) * a.band_floats,
                            input + static_cast<long long>(begin_of(piece)) * a.w, (rows + R - 1) * a.w);
        copy_async_commit();
    };

    copy_filters<R * S, Group>(bank, filters, first, count);
    fetch(0);
    for (int piece = 0; piece < a.pieces; ++piece) {
        if (Stages > 1 && piece + 1 < a.pieces) {
            fetch(piece + 1);
            copy_async_wait<1>();
        } else {
            copy_async_wait<0>();
        }
        __syncthreads();
        const int rows = rows_of(piece);
        if (rows > 0)
            convolve_band<R, S, Rows, Group>(
                bands + (piece % Stages) * a.band_floats, a.w, rows, a.q, bank, count,
                {output + static_cast<long long>(begin_of(piece)) * a.q, static_cast<long long>(a.p) * a.q, a.q});
        __syncthreads();
    }
}
