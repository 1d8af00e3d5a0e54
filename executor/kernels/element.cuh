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
    using Type = unsigned char;
};
template <> struct Bits<2> {
    using Type = unsigned short;
};
template <> struct Bits<4> {
    using Type = unsigned;
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

/// Two halves of a word.
__device__ __forceinline__ void widen_pair(float &low, float &high, unsigned word) {
    asm("{ .reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h; }"
        : "=f"(low), "=f"(high)
        : "r"(word));
}
__device__ __forceinline__ unsigned narrowed_pair(float low, float high) {
    unsigned word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}

/// Unit (1, 2 or 4) neighbouring elements, aligned to their size together.
template <int Unit> __device__ __forceinline__ void load_unit(float (&to)[Unit], const float *from) {
    load_group(to, from);
}
template <int Unit> __device__ __forceinline__ void load_unit(float (&to)[Unit], const Half *from) {
    if constexpr (Unit == 4) {
        const uint2 words = *reinterpret_cast<const uint2 *>(from);
        widen_pair(to[0], to[1], words.x);
        widen_pair(to[2], to[3], words.y);
    } else if constexpr (Unit == 2) {
        widen_pair(to[0], to[1], *reinterpret_cast<const unsigned *>(from));
    } else {
        to[0] = widened(*from);
    }
}
template <int Unit> __device__ __forceinline__ void load_unit(int (&to)[Unit], const signed char *from) {
    if constexpr (Unit == 1) {
        to[0] = *from;
    } else {
        unsigned word;
        if constexpr (Unit == 4)
            word = *reinterpret_cast<const unsigned *>(from);
        else
            word = *reinterpret_cast<const unsigned short *>(from);
#pragma unroll
        for (int i = 0; i < Unit; ++i) // byte i, and its sign three times
            to[i] = static_cast<int>(__byte_perm(word, 0, 0x8880 + 0x1111 * i));
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
