// patch_register (C = 1). Single-channel convolution writes far more than it reads, and does few FMAs for each value it
// writes: what costs is every instruction that is neither an FMA nor a store. So a thread loads the patch of pixels
// behind Rows outputs of one column once, keeps it in registers, and lets the CTA's filters pass by:
//   load the patch | taps of tile_k filters to shared memory | barrier | for each filter: taps by broadcast, Rows sums,
//   Rows stores at constant distances from one pointer
// The width of the output is compiled in, so a row further down is an offset in the store, not an address. The last group
// of rows is moved up until it ends with the map: its first rows are computed twice and stored twice with equal values,
// which costs less than a condition on every store.
#include "executor/kernels/common.cuh"

using namespace convcast;

template <int Taps, int Padded>
__device__ __forceinline__ void load_taps(float (&to)[Padded], const float *from) {
    if constexpr (Taps < 4) {
#pragma unroll
        for (int i = 0; i < Taps; ++i)
            to[i] = from[i];
    } else {
        load_group(to, from);
    }
}

template <int R, int S, int Rows, int Q>
__global__ void __maxnreg__(REGISTER_CAP)
    patch_register(const float *__restrict__ input, const float *__restrict__ filters, float *__restrict__ output,
                   ConvArgs a) {
    constexpr int taps = R * S, padded = taps < 4 ? taps : (taps + 3) / 4 * 4;
    constexpr int w = Q + S - 1;
    constexpr bool ahead = taps <= 9; // the next filter's taps are fetched while this one computes
    extern __shared__ __align__(16) float bank[];

    const int positions = ceil_div(a.p, Rows) * Q;
    const int position = blockIdx.x * blockDim.x + threadIdx.x;
    const int place = at_most(position, positions - 1);
    const int y = at_most(place / Q * Rows, a.p - Rows), x = place % Q;
    const float *pixels = input + static_cast<long long>(blockIdx.z) * a.h * w + y * w + x;
    float patch[Rows + R - 1][S];
#pragma unroll
    for (int r = 0; r < Rows + R - 1; ++r)
#pragma unroll
        for (int s = 0; s < S; ++s)
            patch[r][s] = __ldg(pixels + r * w + s);

    const int filter0 = blockIdx.y * a.tile_k, count = at_most(a.tile_k, a.k - filter0);
    for (int i = threadIdx.x; i < count * padded; i += blockDim.x) {
        const int filter = i / padded, tap = i % padded;
        bank[i] = tap < taps ? __ldg(filters + static_cast<long long>(filter0 + filter) * taps + tap) : 0.0f;
    }
    __syncthreads();
    if (position >= positions)
        return;

    const long long plane = static_cast<long long>(a.p) * Q;
    float *to = output + (static_cast<long long>(blockIdx.z) * a.k + filter0) * plane + y * Q + x;
    float tap[padded];
    load_taps<taps>(tap, bank);
    const float *next = bank + padded;
#pragma unroll 1
    for (int filter = 0; filter < count; ++filter) {
        float now[padded];
#pragma unroll
        for (int i = 0; i < padded; ++i)
            now[i] = tap[i];
        if constexpr (ahead) {
            if (filter + 1 < count)
                load_taps<taps>(tap, next);
        }
        float sum[Rows] = {};
#pragma unroll
        for (int r = 0; r < R; ++r)
#pragma unroll
            for (int s = 0; s < S; ++s)
#pragma unroll
                for (int row = 0; row < Rows; ++row)
                    sum[row] = fmaf(patch[row + r][s], now[r * S + s], sum[row]);
#pragma unroll
        for (int row = 0; row < Rows; ++row)
            to[row * Q] = sum[row];
        if constexpr (!ahead) {
            if (filter + 1 < count)
                load_taps<taps>(tap, next);
        }
        next += padded;
        to += plane;
    }
}
