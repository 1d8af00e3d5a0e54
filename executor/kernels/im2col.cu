// Lays a convolution's input out as matrices, so that a matrix product is the convolution: of each image, row
// (channel, r, s) and column (p, q) hold the pixel that filter value (channel, r, s) meets at output (p, q).
#include "executor/kernels/im2col_args.hpp"

using namespace convcast;

/// A thread does one output pixel of one channel: its r * s reads overlap its neighbours' and hit L1, its writes
/// lie beside theirs.
extern "C" __global__ void convcast_im2col(const float *__restrict__ input, float *__restrict__ columns,
                                           Im2colArgs a) {
    const long long pixels = a.p * a.q, all = a.images * a.c * pixels;
    for (long long i = 1LL * blockIdx.x * blockDim.x + threadIdx.x; i < all; i += 1LL * gridDim.x * blockDim.x) {
        const long long plane = i / pixels, pixel = i % pixels;
        const int top = static_cast<int>(pixel / a.q) * a.stride_h - a.pad_h;
        const int left = static_cast<int>(pixel % a.q) * a.stride_w - a.pad_w;
        const float *from = input + plane * a.h * a.w;
        float *to = columns + plane * a.r * a.s * pixels + pixel;
        for (int r = 0; r < a.r; ++r) {
            const int y = top + r * a.dilation_h;
            for (int s = 0; s < a.s; ++s) {
                const int x = left + s * a.dilation_w;
                const bool inside = y >= 0 && y < a.h && x >= 0 && x < a.w;
                *to = inside ? from[y * a.w + x] : 0.0F;
                to += pixels;
            }
        }
    }
}
