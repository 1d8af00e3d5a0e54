// depthwise_register: each channel has its own filters (g = c). A thread computes a patch of Rows x Columns
// outputs, and what it needs comes straight from global memory into registers: no shared memory, no barrier,
// and every load is under way before the first product. Patches of neighbours overlap; L1 has what they
// share:
//   load the plane's filter | for each row of pixels under the patch: load it as wide as it is aligned, zeros
//   where it leaves the map; add its products to the outputs whose filters reach it | store the patch
// Does every stride, padding, dilation, width and multiplier, in floats, halves and 8-bit integers.
#include "executor/kernels/element.cuh"

using namespace convcast;

namespace {

/// The words that hold so many neighbouring elements.
template <int Bytes> struct Words {
    static constexpr int count = (Bytes + 3) / 4;
    unsigned word[count];
};

/// Loads aligned elements where `inside`, and zeros elsewhere. Said in assembly: as a condition it becomes a
/// branch, and loads behind a branch do not start until it is taken.
template <int Bytes> __device__ __forceinline__ Words<Bytes> load_inside(const void *from, bool inside) {
    Words<Bytes> to;
    const int taken = inside;
    if constexpr (Bytes == 16)
        asm("{ .reg .pred p; setp.ne.s32 p, %5, 0; mov.b32 %0, 0; mov.b32 %1, 0; mov.b32 %2, 0; mov.b32 %3, "
            "0; "
            "@p ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4]; }"
            : "=&r"(to.word[0]), "=&r"(to.word[1]), "=&r"(to.word[2]), "=&r"(to.word[3])
            : "l"(from), "r"(taken));
    else if constexpr (Bytes == 8)
        asm("{ .reg .pred p; setp.ne.s32 p, %3, 0; mov.b32 %0, 0; mov.b32 %1, 0; "
            "@p ld.global.nc.v2.b32 {%0, %1}, [%2]; }"
            : "=&r"(to.word[0]), "=&r"(to.word[1])
            : "l"(from), "r"(taken));
    else if constexpr (Bytes == 4)
        asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; mov.b32 %0, 0; @p ld.global.nc.b32 %0, [%1]; }"
            : "=&r"(to.word[0])
            : "l"(from), "r"(taken));
    else if constexpr (Bytes == 2)
        asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; mov.b32 %0, 0; @p ld.global.nc.u16 %0, [%1]; }"
            : "=&r"(to.word[0])
            : "l"(from), "r"(taken));
    else
        asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; mov.b32 %0, 0; @p ld.global.nc.u8 %0, [%1]; }"
            : "=&r"(to.word[0])
            : "l"(from), "r"(taken));
    return to;
}

/// Element i of such words, widened.
template <int Bytes>
__device__ __forceinline__ void widen(float &to, const Words<Bytes> &from, int i, float) {
    to = __uint_as_float(from.word[i]);
}
template <int Bytes> __device__ __forceinline__ void widen(float &to, const Words<Bytes> &from, int i, Half) {
    to = widened(Half{static_cast<unsigned short>(from.word[i / 2] >> (16 * (i % 2)))});
}
template <int Bytes>
__device__ __forceinline__ void widen(int &to, const Words<Bytes> &from, int i, signed char) {
    to = static_cast<signed char>(from.word[i / 4] >> (8 * (i % 4)));
}

/// Count aligned elements, widened.
template <int Count, class In, class Sum>
__device__ __forceinline__ void load_elements(Sum *to, const In *from, bool inside) {
    const Words<Count * sizeof(In)> words = load_inside<Count * sizeof(In)>(from, inside);
#pragma unroll
    for (int i = 0; i < Count; ++i)
        widen(to[i], words, i, In{});
}

} // namespace

/// R x S filter; maps of H x W; a thread computes Rows x Columns outputs, whole rows of Q being made of such
/// patches; Multiplier: filters of a channel;
/// Type: of the elements, element.cuh. CTAs along y take an image each, threads along x the patches of its
/// planes, row by row.
template <int R, int S, int H, int W, int StrideH, int StrideW, int PadH, int PadW, int DilationH,
          int DilationW, int Rows, int Columns, int Multiplier, int Type = 0>
__global__ void __maxnreg__(REGISTER_CAP)
    depthwise_register(const typename Element<Type>::In *__restrict__ input,
                       const typename Element<Type>::In *__restrict__ filters,
                       typename Element<Type>::Out *__restrict__ output, ConvArgs a) {
    using In = typename Element<Type>::In;
    using Sum = typename Element<Type>::Sum;
    using Out = typename Element<Type>::Out;
    constexpr int reach_h = (R - 1) * DilationH + 1, reach_w = (S - 1) * DilationW + 1;
    constexpr int P = (H + 2 * PadH - reach_h) / StrideH + 1, Q = (W + 2 * PadW - reach_w) / StrideW + 1;
    constexpr int row_patches = Q / Columns, row_groups = (P + Rows - 1) / Rows;
    constexpr bool whole = row_groups == 1; // which rows of pixels lie in the map is known here
    // Rows of pixels under a patch, and of each the pixels [first, first + width), counted from the aligned
    // place where the patch's first output would lie without padding.
    constexpr int window = (Rows - 1) * StrideH + reach_h;
    constexpr auto widest = [] { // elements that are loaded as one
        int elements = 1;
        while (elements * 2 * static_cast<int>(sizeof(In)) <= 16 && W % (elements * 2) == 0 &&
               Columns * StrideW % (elements * 2) == 0)
            elements *= 2;
        return elements;
    };
    constexpr int vector = widest();
    constexpr int blocks_before = (PadW + vector - 1) / vector, first = -blocks_before * vector;
    constexpr int end = (Columns - 1) * StrideW + reach_w - PadW;
    constexpr int blocks = (end - first + vector - 1) / vector;

    const unsigned patch = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned filter = patch / (row_patches * row_groups); // and plane of the image's outputs
    if (filter >= a.k)
        return;
    const int x = static_cast<int>(patch % row_patches) * Columns,
              y = static_cast<int>(patch / row_patches % row_groups) * Rows;
    const int x_in = x * StrideW, y_in = y * StrideH - PadH;
    const unsigned image = blockIdx.y;
    const In *from =
        input + (static_cast<long long>(image) * a.c + filter / Multiplier) * (H * W) + y_in * W + x_in;

    Sum taps[R * S];
#pragma unroll
    for (int i = 0; i < R * S; ++i)
        taps[i] = widened(filters[static_cast<long long>(filter) * (R * S) + i]);

    Sum sum[Rows][Columns] = {};
#pragma unroll
    for (int i = 0; i < window; ++i) {
        // Of the rows of pixels under a patch those that lie in the map for all patches need no comparison.
        constexpr int last_y = (row_groups - 1) * Rows * StrideH - PadH;
        const bool row_inside = whole ? i >= PadH && i < PadH + H
                                : i >= PadH && last_y + i < H
                                    ? true
                                    : static_cast<unsigned>(y_in + i) < static_cast<unsigned>(H);
        if (whole && !row_inside)
            continue;
        Sum pixels[blocks * vector];
#pragma unroll
        for (int b = 0; b < blocks; ++b) {
            const int at = first + b * vector; // of the block's first pixel
            // The part of the block that any tap reads: its beginning, its end or all of it.
            const int low = -PadW - at, high = end - at;
            const bool block_inside =
                (at >= 0 || x_in + at >= 0) &&
                ((row_patches - 1) * Columns * StrideW + at + vector <= W || x_in + at < W);
            const bool inside = row_inside && block_inside;
            Sum *to = pixels + b * vector;
            const In *block = from + i * W + at;
            if (vector >= 4 && low >= vector * 3 / 4)
                load_elements<vector / 4 ? vector / 4 : 1>(to + vector * 3 / 4, block + vector * 3 / 4,
                                                           inside);
            else if (vector >= 2 && low >= vector / 2)
                load_elements<vector / 2 ? vector / 2 : 1>(to + vector / 2, block + vector / 2, inside);
            else if (vector >= 4 && high <= vector / 4)
                load_elements<vector / 4 ? vector / 4 : 1>(to, block, inside);
            else if (vector >= 2 && high <= vector / 2)
                load_elements<vector / 2 ? vector / 2 : 1>(to, block, inside);
            else
                load_elements<vector>(to, block, inside);
        }
#pragma unroll
        for (int r = 0; r < R; ++r) {
            const int over = i - r * DilationH, row = over / StrideH;
            if (over < 0 || over % StrideH != 0 || row >= Rows)
                continue;
#pragma unroll
            for (int s = 0; s < S; ++s)
#pragma unroll
                for (int column = 0; column < Columns; ++column)
                    sum[row][column] = multiply_add(pixels[column * StrideW + s * DilationW - PadW - first],
                                                    taps[r * S + s], sum[row][column]);
        }
    }

    Out *to = output + ((static_cast<long long>(image) * a.k + filter) * P + y) * Q + x;
#pragma unroll
    for (int row = 0; row < Rows; ++row) {
        if (P % Rows != 0 && y + row >= P)
            break;
        store_group(to + row * Q, sum[row]);
    }
}
