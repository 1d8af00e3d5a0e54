// Winograd's transforms F(M x M, R x R) with Points = M + R - 1: 0, 1, -1, 2, -2, 1/2, -1/2, as many as it
// takes, and infinity. Polynomials of the tile's pixels and of the filter's taps are evaluated there (the
// filter's divided by the constants of Lagrange's interpolation), multiplied, and their product's
// coefficients put together again. The points come in pairs of opposite sign that share their even and odd
// parts. Multiply-adds are written out and everything else is in intrinsics that are never fused, so that the
// plan can count them.
#pragma once

#include "executor/kernels/common.cuh"

namespace convcast {

/// Rows of transformed data start at lines of 128 bytes.
__device__ __forceinline__ int line_pitch(int floats) {
    return (floats + 31) / 32 * 32;
}

/// Pair i of the finite points besides 0: +- this.
__host__ __device__ constexpr float point_of_pair(int i) {
    return i == 0 ? 1.0f : i == 1 ? 2.0f : 0.5f;
}
/// Factors of the filter's values at 0 and at pair i: one over the product of the point's distances to the
/// others. Of 8 points the one at 0 has its sign in the pixels' polynomial.
template <int Points> __host__ __device__ constexpr float scale_at_zero() {
    return Points == 6 ? 1.0f / 4.0f : 1.0f;
}
template <int Points> __host__ __device__ constexpr float scale_of_pair(int i) {
    if (Points == 4)
        return 1.0f / 2.0f;
    if (Points == 6)
        return i == 0 ? -1.0f / 6.0f : 1.0f / 24.0f;
    return i == 0 ? -2.0f / 9.0f : i == 1 ? 1.0f / 90.0f : 32.0f / 45.0f;
}

__device__ __forceinline__ float plus(float a, float b) {
    return __fadd_rn(a, b);
}
__device__ __forceinline__ float minus(float a, float b) {
    return __fsub_rn(a, b);
}

/// One dimension of a tile of pixels, in place: the values at 0, 1, -1, 2, -2, ..., infinity.
template <int Points> __device__ __forceinline__ void transform_pixels(float (&x)[Points]) {
    if constexpr (Points == 4) {
        const float even = x[2], odd = x[1];
        x[0] = minus(x[0], x[2]);
        x[3] = minus(x[3], x[1]);
        x[1] = plus(even, odd);
        x[2] = minus(even, odd);
    } else if constexpr (Points == 6) {
        const float even1 = fmaf(-4.0f, x[2], x[4]), odd1 = fmaf(-4.0f, x[1], x[3]);
        const float even2 = minus(x[4], x[2]), odd2 = minus(x[3], x[1]);
        x[0] = fmaf(4.0f, x[0], fmaf(-5.0f, x[2], x[4]));
        x[5] = fmaf(4.0f, x[1], fmaf(-5.0f, x[3], x[5]));
        x[1] = plus(even1, odd1);
        x[2] = minus(even1, odd1);
        x[3] = fmaf(2.0f, odd2, even2);
        x[4] = fmaf(-2.0f, odd2, even2);
    } else {
        const float even1 = fmaf(-4.25f, x[4], plus(x[6], x[2])), odd1 = fmaf(-4.25f, x[3], plus(x[5], x[1]));
        const float even2 = fmaf(0.25f, x[2], fmaf(-1.25f, x[4], x[6]));
        const float odd2 = fmaf(0.25f, x[1], fmaf(-1.25f, x[3], x[5]));
        const float even3 = fmaf(4.0f, x[2], fmaf(-5.0f, x[4], x[6]));
        const float odd3 = fmaf(4.0f, x[1], fmaf(-5.0f, x[3], x[5]));
        x[0] = fmaf(5.25f, minus(x[4], x[2]), minus(x[0], x[6]));
        x[7] = fmaf(5.25f, minus(x[3], x[5]), minus(x[7], x[1]));
        x[1] = plus(even1, odd1);
        x[2] = minus(even1, odd1);
        x[3] = fmaf(2.0f, odd2, even2);
        x[4] = fmaf(-2.0f, odd2, even2);
        x[5] = fmaf(0.5f, odd3, even3);
        x[6] = fmaf(-0.5f, odd3, even3);
    }
}

/// One dimension of a filter's R taps.
template <int Points, int R>
__device__ __forceinline__ void transform_taps(float (&to)[Points], const float (&taps)[R]) {
    to[0] = __fmul_rn(scale_at_zero<Points>(), taps[0]);
    to[Points - 1] = taps[R - 1];
#pragma unroll
    for (int i = 0; i < (Points - 2) / 2; ++i) {
        const float point = point_of_pair(i), square = point * point;
        float even = taps[R - 1], odd = taps[R - 2];
#pragma unroll
        for (int j = R - 3; j >= 0; --j) {
            float &part = j % 2 == 0 ? even : odd;
            part = i == 0 ? plus(part, taps[j]) : fmaf(square, part, taps[j]);
        }
        const float scale = scale_of_pair<Points>(i);
        to[2 * i + 1] = __fmul_rn(scale, i == 0 ? plus(even, odd) : fmaf(point, odd, even));
        to[2 * i + 2] = __fmul_rn(scale, i == 0 ? minus(even, odd) : fmaf(-point, odd, even));
    }
}

/// One dimension of a tile's products back to its M outputs.
template <int Points, int M>
__device__ __forceinline__ void transform_back(float (&to)[M], const float (&values)[Points]) {
    constexpr int pairs = (Points - 2) / 2;
    float even[pairs], odd[pairs];
#pragma unroll
    for (int i = 0; i < pairs; ++i) {
        even[i] = plus(values[2 * i + 1], values[2 * i + 2]);
        odd[i] = minus(values[2 * i + 1], values[2 * i + 2]);
    }
#pragma unroll
    for (int j = 0; j < M; ++j) {
        float sum = j % 2 == 0 ? even[0] : odd[0];
#pragma unroll
        for (int i = 1; i < pairs; ++i) {
            const float part = j % 2 == 0 ? even[i] : odd[i];
            float power = 1.0f; // folded into a constant: a recursive constexpr function would be called
#pragma unroll
            for (int factor = 0; factor < j; ++factor)
                power *= point_of_pair(i);
            sum = j == 0 ? plus(sum, part) : fmaf(power, part, sum);
        }
        if (j == 0)
            sum = plus(sum, values[0]);
        if (j == M - 1)
            sum = plus(sum, values[Points - 1]);
        to[j] = sum;
    }
}

} // namespace convcast
