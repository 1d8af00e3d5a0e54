// naive_global: the convolution by its definition, one thread per output, everything from global memory:
// where the CNN papers' ladder of kernels begins. Neighbouring threads compute neighbouring outputs, so
// pixels are read and outputs written by whole sectors; a filter value is the same for (nearly) a whole warp.
// Only L1 gives reuse.
//   find (n, k, p, q) of this thread | per channel, per tap: load a pixel, load a filter value, multiply-add
//   | store
// Does any stride, padding, dilation and number of groups.
#include "executor/kernels/common.cuh"

using namespace convcast;

template <bool Large> struct OutputCount { using Type = unsigned; };
template <> struct OutputCount<true> { using Type = unsigned long long; };

/// R x S filter; Padded: taps may fall outside the map; Large: more outputs than 31 bits count.
template <int R, int S, int Threads, bool Padded, bool Large>
__global__ void __maxnreg__(REGISTER_CAP)
    naive_global(const float *__restrict__ input, const float *__restrict__ filters,
                 float *__restrict__ output, ConvArgs a) {
    using Index = typename OutputCount<Large>::Type;
    constexpr bool few_taps = R * S <= (Padded ? 16 : 64); // then all are unrolled
    const Index i = static_cast<Index>(blockIdx.x) * Threads + threadIdx.x;
    if (i >=
        static_cast<Index>(a.n) * static_cast<Index>(a.k) * static_cast<Index>(a.p) * static_cast<Index>(a.q))
        return;
    const Index row = i / a.q, plane = row / a.p;
    const int q = static_cast<int>(i - row * a.q), p = static_cast<int>(row - plane * a.p);
    const int image = static_cast<int>(plane / a.k), k = static_cast<int>(plane % a.k);

    const int channels = a.c / a.groups, group = k / (a.k / a.groups);
    const int y0 = p * a.stride_h - a.pad_h, x0 = q * a.stride_w - a.pad_w;
    const long long map = static_cast<long long>(a.h) * a.w;
    const float *weight = filters + static_cast<long long>(k) * channels * (R * S);
    const float *pixels =
        input + (static_cast<long long>(image) * a.c + static_cast<long long>(group) * channels) * map;
    float sum = 0.0f;
#pragma unroll 1
    for (int c = 0; c < channels; ++c) {
#pragma unroll(few_taps ? R : 1)
        for (int r = 0; r < R; ++r) {
            const int y = y0 + r * a.dilation_h;
            const long long line = static_cast<long long>(y) * a.w;
#pragma unroll(S <= 16 ? S : 1)
            for (int s = 0; s < S; ++s) {
                const int x = x0 + s * a.dilation_w;
                const bool inside = !Padded || (y >= 0 && y < a.h && x >= 0 && x < a.w);
                const float pixel = inside ? pixels[line + x] : 0.0f;
                sum = fmaf(pixel, weight[r * S + s], sum);
            }
        }
        weight += R * S;
        pixels += map;
    }
    output[i] = sum;
}
