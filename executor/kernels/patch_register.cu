// patch_register (C = 1). Single-channel convolution writes far more than it reads, and does few FMAs for each value it
// writes: what costs is every instruction that is neither an FMA nor a store. So a thread loads the pixels behind its
// Rows x Vector outputs once, keeps them in registers, and lets the CTA's filters pass by:
//   load the pixels | taps of tile_k filters to shared memory | barrier | for each filter: taps by broadcast, the sums,
//   Rows stores at constant distances from one pointer
// The width of the output is compiled in, so a row further down is an offset in the store, not an address. The last group
// of rows is moved up until it ends with the map: its first rows are computed twice and stored twice with equal values,
// which costs less than a condition on every store.
// Versions, 1024 x 1024, 32 filters of 3 x 3, H200: filters and map in shared memory (map_split) 58 us; Vector = 1, where
// the rows of 1022 outputs start in the middle of a sector and every store writes two parts of sectors, 45 to 64 us; four
// neighbours of the flattened output in one aligned store (Vector = 4), 42 us; a fill kernel takes 33 us.
#include "executor/kernels/common.cuh"

using namespace convcast;

/// The taps of Group filters, laid out one after another.
template <int Taps, int Group, int Padded>
__device__ __forceinline__ void load_taps(float (&to)[Group][Padded], const float *from) {
    if constexpr (Taps == 1 && Group == 4) {
        const float4 v = *reinterpret_cast<const float4 *>(from);
        to[0][0] = v.x, to[1][0] = v.y, to[2][0] = v.z, to[3][0] = v.w;
    } else {
#pragma unroll
        for (int g = 0; g < Group; ++g) {
            if constexpr (Padded % 4 == 0) {
                load_group(to[g], from + g * Padded);
            } else {
#pragma unroll
                for (int i = 0; i < Taps; ++i)
                    to[g][i] = from[g * Padded + i];
            }
        }
    }
}

/// The pixels behind Vector outputs of one row and Rows - 1 rows below. Neighbours in one row share pixels.
template <int R, int S, int Rows, int Vector> struct SharedPatch {
    float pixel[Rows + R - 1][S + Vector - 1];

    __device__ __forceinline__ void load(const float *input, int y, int x, int w) {
        const float *from = input + y * w + x;
#pragma unroll
        for (int r = 0; r < Rows + R - 1; ++r)
#pragma unroll
            for (int s = 0; s < S + Vector - 1; ++s)
                pixel[r][s] = __ldg(from + r * w + s);
    }
    __device__ __forceinline__ float at(int row, int i, int r, int s) const { return pixel[row + r][i + s]; }
};

/// Of Vector outputs that may go on in the next row: each has pixels of its own.
template <int R, int S, int Vector, int Q> struct SplitPatch {
    float pixel[Vector][R][S];

    __device__ __forceinline__ void load(const float *input, int y, int x, int w) {
#pragma unroll
        for (int i = 0; i < Vector; ++i) {
            const bool below = x + i >= Q;
            const float *from = input + (below ? y + 1 : y) * w + x + i - (below ? Q : 0);
#pragma unroll
            for (int r = 0; r < R; ++r)
#pragma unroll
                for (int s = 0; s < S; ++s)
                    pixel[i][r][s] = __ldg(from + r * w + s);
        }
    }
    __device__ __forceinline__ float at(int, int i, int r, int s) const { return pixel[i][r][s]; }
};

template <bool Same, class A, class B> struct Either {
    using Type = A;
};
template <class A, class B> struct Either<false, A, B> {
    using Type = B;
};

/// Vector: 1, or 4 where a plane of the output has a multiple of 4 values; Rows = 1 where Q is no multiple of Vector.
template <int R, int S, int Rows, int Vector, int Q>
__global__ void __maxnreg__(REGISTER_CAP)
    patch_register(const float *__restrict__ input, const float *__restrict__ filters, float *__restrict__ output,
                   ConvArgs a) {
    constexpr int taps = R * S, padded = taps < 4 ? taps : (taps + 3) / 4 * 4;
    constexpr int w = Q + S - 1;
    constexpr bool whole_rows = Q % Vector == 0;
    static_assert(whole_rows || Rows == 1);
    constexpr int group = taps == 1 ? 4 : taps <= 9 ? 2 : 1; // filters whose taps are fetched together
    extern __shared__ __align__(16) float bank[];

    const int positions = whole_rows ? ceil_div(a.p, Rows) * (Q / Vector) : a.p * Q / Vector;
    const int position = blockIdx.x * blockDim.x + threadIdx.x;
    const int place = at_most(position, positions - 1) * Vector;
    const int y = at_most(place / Q * Rows, a.p - Rows), x = place % Q;
    typename Either<whole_rows, SharedPatch<R, S, Rows, Vector>, SplitPatch<R, S, Vector, Q>>::Type patch;
    patch.load(input + static_cast<long long>(blockIdx.z) * a.h * w, y, x, w);

    const int filter0 = blockIdx.y * a.tile_k, count = at_most(a.tile_k, a.k - filter0);
    // The last group is fetched whole: zeros stand for filters that are not there.
    for (int i = threadIdx.x; i < ceil_div(count, group) * group * padded; i += blockDim.x) {
        const int filter = i / padded, tap = i % padded;
        const bool there = filter < count && tap < taps;
        bank[i] = there ? __ldg(filters + static_cast<long long>(filter0 + filter) * taps + tap) : 0.0f;
    }
    __syncthreads();
    if (position >= positions)
        return;

    const long long plane = static_cast<long long>(a.p) * Q;
    float *to = output + (static_cast<long long>(blockIdx.z) * a.k + filter0) * plane + y * Q + x;
#pragma unroll 1
    for (int filter = 0; filter < count; filter += group) {
        float tap[group][padded];
        load_taps<taps>(tap, bank + filter * padded);
#pragma unroll
        for (int g = 0; g < group; ++g) {
            if (filter + g >= count)
                break;
            float sum[Rows][Vector] = {};
#pragma unroll
            for (int r = 0; r < R; ++r)
#pragma unroll
                for (int s = 0; s < S; ++s)
#pragma unroll
                    for (int row = 0; row < Rows; ++row)
#pragma unroll
                        for (int i = 0; i < Vector; ++i)
                            sum[row][i] = fmaf(patch.at(row, i, r, s), tap[g][r * S + s], sum[row][i]);
#pragma unroll
            for (int row = 0; row < Rows; ++row) {
                if constexpr (Vector == 4)
                    *reinterpret_cast<float4 *>(to + row * Q) =
                        make_float4(sum[row][0], sum[row][1], sum[row][2], sum[row][3]);
                else
                    to[row * Q] = sum[row][0];
            }
            to += plane;
        }
    }
}
