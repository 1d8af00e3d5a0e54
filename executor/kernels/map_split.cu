// map_split (Chang, section 3.1, division 2; C = 1). An SM keeps its rows of the map and streams the filters in
// pieces. CTA b works for SM b % parts and takes half b / parts of every piece.
//   1. map rows -> shared memory, once
//   2. piece 0 -> buffer 0;  then per piece: prefetch the next into the other buffer | convolve this one
#include "executor/kernels/common.cuh"

using namespace convcast;

/// R x S filter; a thread computes Rows rows of Group filters; Stages buffers of filters; Wide: rows
/// are 16-byte aligned.
template <int R, int S, int Rows, int Group, int Stages, bool Wide>
__global__ void __maxnreg__(REGISTER_CAP)
    map_split(const float *__restrict__ input, const float *__restrict__ filters, float *__restrict__ output,
              ConvArgs a) {
    extern __shared__ __align__(16) float shared[];
    float *banks = shared;
    float *band = shared + Stages * a.bank_floats;
    const int part = blockIdx.x % a.parts, half = blockIdx.x / a.parts;
    const int per_part = ceil_div(a.p, a.parts);
    const int first_row = part * per_part;
    const int rows = at_most(per_part, a.p - first_row);
    if (rows <= 0)
        return;
    const int piece_filters = ceil_div(a.k, a.pieces), half_filters = ceil_div(piece_filters, 2);
    input += (static_cast<long long>(blockIdx.y) * a.h + first_row) * a.w;
    output += (static_cast<long long>(blockIdx.y) * a.k * a.p + first_row) * a.q;

    const auto begin_of = [&](int piece) { return piece * piece_filters + half * half_filters; };
    const auto count_of = [&](int piece) {
        const int end = at_most(at_most((piece + 1) * piece_filters, a.k), begin_of(piece) + half_filters);
        return end - begin_of(piece);
    };
    const auto fetch = [&](int piece) {
        const int count = count_of(piece);
        if (count > 0)
            copy_filters<R * S, Group>(banks + (piece % Stages) * a.bank_floats, filters, begin_of(piece), count);
        copy_async_commit();
    };

    copy_span<Wide>(band, input, (rows + R - 1) * a.w);
    fetch(0);
    for (int piece = 0; piece < a.pieces; ++piece) {
        if (Stages > 1 && piece + 1 < a.pieces) {
            fetch(piece + 1);
            copy_async_wait<1>();
        } else {
            copy_async_wait<0>();
        }
        __syncthreads();
        const int count = count_of(piece);
        if (count > 0)
            convolve_band<R, S, Rows, Group>(
                band, a.w, rows, a.q, banks + (piece % Stages) * a.bank_floats, count,
                {output + static_cast<long long>(begin_of(piece)) * a.p * a.q, static_cast<long long>(a.p) * a.q,
                 a.q});
        __syncthreads();
    }
}
