// Pixels that go straight from global memory into a thread's registers: rows under a patch of outputs, loaded as wide as
// rows are aligned, with zeros where they leave the map.
#pragma once

#include "executor/kernels/element.cuh"

namespace convcast {

/// Group neighbouring integers of shared memory, aligned to 16 bytes where they are a multiple of four.
template <int Group> __device__ __forceinline__ void load_group(int (&to)[Group], const int *from) {
    if constexpr (Group % 4 == 0) {
#pragma unroll
        for (int i = 0; i < Group; i += 4) {
            const int4 v = *reinterpret_cast<const int4 *>(from + i);
            to[i] = v.x, to[i + 1] = v.y, to[i + 2] = v.z, to[i + 3] = v.w;
        }
    } else {
#pragma unroll
        for (int i = 0; i < Group; ++i)
            to[i] = from[i];
    }
}

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

/// The row of pixels under Columns neighbouring outputs, in maps whose rows have W pixels and Q outputs. ReachW: pixels from
/// a filter's first tap to its last.
template <class In, int W, int Q, int Columns, int StrideW, int PadW, int ReachW> struct PatchRow {
    /// Elements that are loaded as one.
    static constexpr int widest() {
        int elements = 1;
        while (elements * 2 * static_cast<int>(sizeof(In)) <= 16 && W % (elements * 2) == 0 &&
               Columns * StrideW % (elements * 2) == 0)
            elements *= 2;
        return elements;
    }
    static constexpr int vector = widest();
    // Pixels [first, end) are read, counted from where the first output would lie without padding. They are loaded by
    // blocks of `vector`, which begin at aligned places.
    static constexpr int first = -((PadW + vector - 1) / vector * vector);
    static constexpr int end = (Columns - 1) * StrideW + ReachW - PadW;
    static constexpr int blocks = (end - first + vector - 1) / vector;
    static constexpr int count = blocks * vector;
    static constexpr int last_x = (Q / Columns - 1) * Columns * StrideW; ///< where the last patch of a row begins

    /// Pixel i of the row, counted as `first` is, becomes pixels[i - first]. `from` is pixel 0, column x_in of the map.
    template <class Sum>
    static __device__ __forceinline__ void load(Sum (&pixels)[count], const In *from, int x_in, bool row_inside) {
#pragma unroll
        for (int b = 0; b < blocks; ++b) {
            const int at = first + b * vector; // of the block's first pixel
            // The part of the block that any tap reads: its beginning, its end or all of it.
            const int low = -PadW - at, high = end - at;
            const bool inside =
                row_inside && (at >= 0 || x_in + at >= 0) && (last_x + at + vector <= W || x_in + at < W);
            Sum *to = pixels + b * vector;
            const In *block = from + at;
            if (vector >= 4 && low >= vector * 3 / 4)
                load_elements<vector / 4 ? vector / 4 : 1>(to + vector * 3 / 4, block + vector * 3 / 4, inside);
            else if (vector >= 2 && low >= vector / 2)
                load_elements<vector / 2 ? vector / 2 : 1>(to + vector / 2, block + vector / 2, inside);
            else if (vector >= 4 && high <= vector / 4)
                load_elements<vector / 4 ? vector / 4 : 1>(to, block, inside);
            else if (vector >= 2 && high <= vector / 2)
                load_elements<vector / 2 ? vector / 2 : 1>(to, block, inside);
            else
                load_elements<vector>(to, block, inside);
        }
    }
};

/// Whether row i of those under a patch lies in the map, where y_in is the map's row of row 0. Known when compiled where it is
/// the same for all patches. Groups: patches below each other, of Rows rows of outputs each.
template <int H, int PadH, int StrideH, int Rows, int Groups>
__device__ __forceinline__ bool row_lies_inside(int i, int y_in) {
    constexpr int last_y = (Groups - 1) * Rows * StrideH - PadH;
    if (Groups == 1)
        return i >= PadH && i < PadH + H;
    return (i >= PadH && last_y + i < H) || static_cast<unsigned>(y_in + i) < static_cast<unsigned>(H);
}

} // namespace convcast
