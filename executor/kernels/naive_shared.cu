// naive_shared (the CNN papers' second kernel): a CTA per filter and tile of outputs, a thread per output.
//   filter, and the tile's pixels of all channels where they fit -> shared memory | barrier |
//   per channel, per tap: load a pixel, load a filter value, multiply-add | store
// Each pixel is read from global memory once a CTA instead of once a tap, but nothing is reused in registers,
// so every multiply-add still takes two loads. Where the tile does not fit, pixels come from global memory as
// in naive_global. Stride 1 or 2, padding: pixels outside the map are zeros in shared memory.
#include "executor/kernels/common.cuh"

using namespace convcast;

template <int R, int S, int TileW, int TileH, int StrideH, int StrideW, bool SharedMap>
__global__ void __maxnreg__(REGISTER_CAP)
    naive_shared(const float *__restrict__ input, const float *__restrict__ filters,
                 float *__restrict__ output, ConvArgs a) {
    constexpr int rows = (TileH - 1) * StrideH + R, columns = (TileW - 1) * StrideW + S;
    constexpr bool few_taps = R * S <= 64; // then all are unrolled
    extern __shared__ __align__(16) float shared[];
    float *bank = shared;
    float *tile = shared + a.bank_floats; // [c][rows][columns]

    const int tiles_x = ceil_div(a.q, TileW);
    const int q0 = blockIdx.x % tiles_x * TileW, p0 = blockIdx.x / tiles_x * TileH;
    const int y0 = p0 * StrideH - a.pad_h, x0 = q0 * StrideW - a.pad_w;
    const int k = blockIdx.y, plane = a.h * a.w;
    input += static_cast<long long>(blockIdx.z) * a.c * plane;

    copy_span<false>(bank, filters + static_cast<long long>(k) * a.c * (R * S), a.c * (R * S));
    if constexpr (SharedMap) {
        for (int i = threadIdx.x; i < a.c * rows * columns; i += TileW * TileH) {
            const int line = i / columns, channel = line / rows;
            const int x = x0 + i % columns, y = y0 + line % rows;
            const bool valid = x >= 0 && x < a.w && y >= 0 && y < a.h;
            copy_async_4(tile + i,
                         input + (valid ? static_cast<long long>(channel) * plane + y * a.w + x : 0), valid);
        }
    }
    copy_async_commit();
    copy_async_wait<0>();
    __syncthreads();

    const int column = threadIdx.x % TileW, row = threadIdx.x / TileW;
    const int q = q0 + column, p = p0 + row;
    if (q >= a.q || p >= a.p)
        return;
    const float *weight = bank;
    float sum = 0.0f;
    if constexpr (SharedMap) {
        const float *pixels = tile + row * StrideH * columns + column * StrideW;
#pragma unroll 1
        for (int c = 0; c < a.c; ++c) {
#pragma unroll(few_taps ? R : 1)
            for (int r = 0; r < R; ++r)
#pragma unroll(few_taps ? S : 1)
                for (int s = 0; s < S; ++s)
                    sum = fmaf(pixels[r * columns + s], weight[r * S + s], sum);
            weight += R * S;
            pixels += rows * columns;
        }
    } else {
        const int y = y0 + row * StrideH, x = x0 + column * StrideW;
        const float *pixels = input;
#pragma unroll 1
        for (int c = 0; c < a.c; ++c) {
#pragma unroll(R * S <= 16 ? R : 1)
            for (int r = 0; r < R; ++r)
#pragma unroll(S <= 16 ? S : 1)
                for (int s = 0; s < S; ++s) {
                    const bool inside = y + r >= 0 && y + r < a.h && x + s >= 0 && x + s < a.w;
                    const float pixel = inside ? pixels[(y + r) * a.w + x + s] : 0.0f;
                    sum = fmaf(pixel, weight[r * S + s], sum);
                }
            weight += R * S;
            pixels += plane;
        }
    }
    output[((static_cast<long long>(blockIdx.z) * a.k + k) * a.p + p) * a.q + q] = sum;
}
