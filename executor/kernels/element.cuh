// What a kernel computes on: floats; halves, whose products are summed in float; 8-bit integers, summed in 32 bits.
// A unit of neighbouring elements is read from shared memory and written as one access.
#pragma once

#include "executor/kernels/common.cuh"

namespace convcast {

/// A half as it lies in memory; there are no standard headers in device code.
struct Half {
    unsigned short bits;
};

/// By ConvShape's DataType.
template <int Type> struct Element;
template <> struct Element<0> {
    using In = float;
    using Sum = float;
    using Out = float;
};
template <> struct Element<1> {
    using In = Half;
    using Sum = float;
    using Out = Half;
};
template <> struct Element<2> {
    using In = signed char;
    using Sum = int;
    using Out = int;
};

/// A word of so many bytes.
template <int Bytes> struct Bits;
template <> struct Bits<1> {
    using Type = signed char;
};
template <> struct Bits<2> {
    using Type = unsigned short;
};
template <> struct Bits<4> {
    using Type = unsigned;
};
template <> struct Bits<8> {
    using Type = unsigned long long;
};
template <> struct Bits<16> {
    using Type = uint4;
};

__device__ __forceinline__ float multiply_add(float a, float b, float sum) { return fmaf(a, b, sum); }
__device__ __forceinline__ int multiply_add(int a, int b, int sum) { return a * b + sum; }

__device__ __forceinline__ float widened(float value) { return value; }
__device__ __forceinline__ int widened(signed char value) { return value; }
__device__ __forceinline__ float widened(Half value) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
    return wide;
}

__device__ __forceinline__ void narrow(float &to, float from) { to = from; }
__device__ __forceinline__ void narrow(int &to, int from) { to = from; }
__device__ __forceinline__ void narrow(Half &to, float from) {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to.bits) : "f"(from));
}

__device__ __forceinline__ unsigned narrowed_pair(float low, float high) {
    unsigned word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}

/// The elements of a unit, widened, out of the word that holds them: which they are follows from its size.
__device__ __forceinline__ void spread(float (&to)[1], unsigned word) { to[0] = __uint_as_float(word); }
__device__ __forceinline__ void spread(float (&to)[2], unsigned long long word) {
    to[0] = __uint_as_float(static_cast<unsigned>(word));
    to[1] = __uint_as_float(static_cast<unsigned>(word >> 32));
}
__device__ __forceinline__ void spread(float (&to)[1], unsigned short word) { to[0] = widened(Half{word}); }
__device__ __forceinline__ void spread(float (&to)[2], unsigned word) {
    asm("{ .reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h; }"
        : "=f"(to[0]), "=f"(to[1])
        : "r"(word));
}
__device__ __forceinline__ void spread(float (&to)[4], unsigned long long word) {
    float low[2], high[2];
    spread(low, static_cast<unsigned>(word));
    spread(high, static_cast<unsigned>(word >> 32));
    to[0] = low[0], to[1] = low[1], to[2] = high[0], to[3] = high[1];
}
// What an integer's bits can be is hidden from the compiler. Otherwise it packs four of them again for dot products,
// at one unit with profit and at another with spills, and units would differ in more than how they read.
__device__ __forceinline__ void spread(int (&to)[1], signed char word) {
    asm("mov.b32 %0, %1;" : "=r"(to[0]) : "r"(static_cast<int>(word)));
}
template <int Unit> __device__ __forceinline__ void spread(int (&to)[Unit], unsigned word) {
#pragma unroll
    for (int i = 0; i < Unit; ++i) // byte i, and its sign three times; __byte_perm knows no signs
        asm("prmt.b32 %0, %1, 0, %2;" : "=r"(to[i]) : "r"(word), "r"(0x8880 + 0x1111 * i));
}

/// Unit (1, 2 or 4) neighbouring elements, aligned to their size together. Apart: as an access of its own, where
/// the compiler would join neighbouring ones into wider accesses.
template <bool Apart, int Unit, class Sum, class In>
__device__ __forceinline__ void load_unit(Sum (&to)[Unit], const In *from) {
    constexpr int bytes = Unit * sizeof(In);
    if constexpr (bytes == 16) {
        load_group(to, from);
    } else {
        using Word = typename Bits<bytes>::Type;
        if constexpr (Apart)
            spread(to, *reinterpret_cast<const volatile Word *>(from));
        else
            spread(to, *reinterpret_cast<const Word *>(from));
    }
}

template <int Group> __device__ __forceinline__ void store_group(int *to, const int (&from)[Group]) {
    if constexpr (Group % 4 == 0) {
#pragma unroll
        for (int i = 0; i < Group; i += 4)
            *reinterpret_cast<int4 *>(to + i) = {from[i], from[i + 1], from[i + 2], from[i + 3]};
    } else if constexpr (Group == 2) {
        *reinterpret_cast<int2 *>(to) = {from[0], from[1]};
    } else {
        *to = from[0];
    }
}
template <int Group> __device__ __forceinline__ void store_group(Half *to, const float (&from)[Group]) {
    if constexpr (Group == 4)
        *reinterpret_cast<uint2 *>(to) = {narrowed_pair(from[0], from[1]), narrowed_pair(from[2], from[3])};
    else if constexpr (Group == 2)
        *reinterpret_cast<unsigned *>(to) = narrowed_pair(from[0], from[1]);
    else
        narrow(*to, from[0]);
}

} // namespace convcast
