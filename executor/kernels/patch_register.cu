// patch_register (C = 1). Single-channel convolution writes far more than it reads, and does few FMAs for each value it
// writes: what costs is every instruction that is neither an FMA nor a store, and every store of a part of a sector. So a
// thread loads the pixels behind its Rows x Vector outputs once, keeps them in registers, and lets the CTA's filters pass by:
//   load the pixels | taps of tile_k filters to shared memory | barrier | for each filter: taps by broadcast, the sums,
//   Rows stores at constant distances from one pointer
// The width of the output is compiled in, so a row further down is an offset in the store, not an address. The last bands are
// moved up until they end with the map: some rows are computed twice and stored twice with equal values, which costs less
// than a condition on every store.
// Versions, 1024 x 1024, 32 filters of 3 x 3, H200: filters and map in shared memory (map_split) 58 us; Vector = 1, where
// the rows of 1022 outputs start in the middle of a sector and every store writes two parts of sectors, 45 to 64 us; four
// neighbours of the flattened output in one aligned store (Vector = 4), 40 us, of rows of 1024 outputs, which are whole
// sectors, 32.5 us; sectors kept whole by bands and classes, 36 us; streamed, so that the map stays in L2, 33 us; a fill
// kernel takes 30 us.
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

/// Count neighbouring pixels, Step in a load: `from` is aligned to Step of them and Step divides Count.
template <int Step, int Count> __device__ __forceinline__ void load_pixels(float (&to)[Count], const float *from) {
#pragma unroll
    for (int i = 0; i < Count; i += Step) {
        if constexpr (Step == 4) {
            const float4 v = __ldg(reinterpret_cast<const float4 *>(from + i));
            to[i] = v.x, to[i + 1] = v.y, to[i + 2] = v.z, to[i + 3] = v.w;
        } else if constexpr (Step == 2) {
            const float2 v = __ldg(reinterpret_cast<const float2 *>(from + i));
            to[i] = v.x, to[i + 1] = v.y;
        } else {
            to[i] = __ldg(from + i);
        }
    }
}

/// The pixels behind Vector neighbours of the flattened output in each of Rows bands of Band rows: outputs that stand below
/// each other are apart by a compiled-in distance, aligned alike.
template <int R, int S, int Rows, int Vector, int Q, int Band> struct Patch {
    static constexpr int w = Q + S - 1;
    static constexpr int unit = Q % Vector == 0 ? Vector : Q % 2 == 0 ? 2 : 1; ///< neighbours sure to be in one row: they share pixels
    static constexpr int step = unit == 4 && w % 4 == 0 ? 4 : unit >= 2 && w % 2 == 0 ? 2 : 1; ///< pixels in a load
    static constexpr int pitch = Band < R ? Band : R; ///< rows of pixels from one band's to the next one's

    float pixel[Vector / unit][pitch * (Rows - 1) + R][S + unit - 1];

    /// Behind the outputs from x of the band that starts in row y, and below.
    __device__ __forceinline__ void load(const float *input, int y, int x) {
#pragma unroll
        for (int i = 0; i < Vector / unit; ++i) {
            const int place = x + i * unit;
            int below = 0;
#pragma unroll
            for (int row = 1; row < Band; ++row)
                below += place >= row * Q;
            // The next row's first output is S - 1 pixels further than one more in this row would be.
            const float *from = input + y * w + place + below * (S - 1);
#pragma unroll
            for (int r = 0; r < pitch * (Rows - 1) + R; ++r)
                load_pixels<step>(pixel[i][r], from + (Band < R ? r : r / R * Band + r % R) * w);
        }
    }
    __device__ __forceinline__ float at(int row, int i, int r, int s) const {
        return pixel[i / unit][pitch * row + r][i % unit + s];
    }
};

/// Values that are not read again soon: they leave L2 before the map does.
__device__ __forceinline__ void stream_four(float *to, float a, float b, float c, float d) {
    asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(a), "f"(b), "f"(c), "f"(d) : "memory");
}

/// Vector: 1, or 4 where a plane of the output has a multiple of 4 values. Classes: 2 where every other plane starts in the
/// middle of a sector: a CTA has every other filter, and the vectors of the second class are moved by one, so that pairs of
/// them are sectors there too. Chunks: parts of the map that come one after another, so that each stays in L2 for all
/// filters. Streamed: the output is larger than L2. OneFilter: tile_k is 1; its taps need no place to wait in.
template <int R, int S, int Rows, int Vector, int Q, int Band, int Classes, int Chunks, bool Streamed, bool OneFilter>
__global__ void __maxnreg__(REGISTER_CAP)
    patch_register(const float *__restrict__ input, const float *__restrict__ filters, float *__restrict__ output,
                   ConvArgs a) {
    constexpr int taps = R * S, padded = OneFilter || taps < 4 ? taps : (taps + 3) / 4 * 4;
    constexpr int group = OneFilter ? 1 : taps == 1 ? 4 : taps <= 9 ? 2 : 1; // filters whose taps are fetched together
    constexpr int rows = Band * Rows, row_distance = Band * Q;
    extern __shared__ __align__(16) float bank[];

    const int filter0 = static_cast<int>(blockIdx.y) / Classes * a.tile_k * Classes + static_cast<int>(blockIdx.y) % Classes;
    const int count = at_most(a.tile_k, ceil_div(a.k - filter0, Classes));
    if (count <= 0)
        return;
    const long long plane = static_cast<long long>(a.p) * Q;
    const int image = blockIdx.z / Chunks, chunk = blockIdx.z % Chunks;
    const long long first_plane = static_cast<long long>(image) * a.k + filter0;
    const int moved = Classes == 2 ? static_cast<int>(first_plane % 2) : 0;

    const int positions = ceil_div(a.p, rows) * (row_distance / Vector);
    const int position = static_cast<int>((chunk * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x) - moved;
    const int place = at_most(position < 0 ? 0 : position, positions - 1) * Vector;
    const int y = at_most(place / row_distance * rows, a.p - rows), x = place % row_distance;
    Patch<R, S, Rows, Vector, Q, Band> patch;
    patch.load(input + static_cast<long long>(image) * a.h * (Q + S - 1), y, x);

    float tap[group][padded];
    if constexpr (OneFilter) {
#pragma unroll
        for (int i = 0; i < taps; ++i)
            tap[0][i] = __ldg(filters + static_cast<long long>(filter0) * taps + i);
    } else {
        // The last group is fetched whole: zeros stand for filters that are not there.
        for (int i = threadIdx.x; i < ceil_div(count, group) * group * padded; i += blockDim.x) {
            const int filter = i / padded, which = i % padded;
            const bool there = filter < count && which < taps;
            bank[i] = there ? __ldg(filters + static_cast<long long>(filter0 + filter * Classes) * taps + which) : 0.0f;
        }
        __syncthreads();
    }
    if (position >= positions)
        return;

    float *to = output + first_plane * plane + y * Q + x;
#pragma unroll 1
    for (int filter = 0; filter < (OneFilter ? 1 : count); filter += group) {
        if constexpr (!OneFilter)
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
                float *at = to + row * row_distance;
                if constexpr (Vector == 4 && Streamed)
                    stream_four(at, sum[row][0], sum[row][1], sum[row][2], sum[row][3]);
                else if constexpr (Vector == 4)
                    store_four(at, sum[row][0], sum[row][1], sum[row][2], sum[row][3]);
                else
                    *at = sum[row][0];
            }
            to += Classes * plane;
        }
    }
}
