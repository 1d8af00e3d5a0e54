// A direct convolution: a thread computes one pixel of `Filters` filters, straight from global memory.
// Unpadded, stride 1. four_filters.json says how it is launched; docs/own_kernel.md explains both.

template <int R, int S, int Filters>
__global__ void four_filters(const float *__restrict__ input, const float *__restrict__ filters,
                             float *__restrict__ output, int n, int c, int h, int w, int k, int r, int s, int p,
                             int q) {
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel >= p * q)
        return;
    const int first = blockIdx.y * Filters, image = blockIdx.z;
    const int y = pixel / q, x = pixel % q;
    const float *pixels = input + (image * c * h + y) * w + x;
    const float *weights = filters + first * c * (R * S);
    float sums[Filters] = {};
    for (int channel = 0; channel < c; ++channel) {
#pragma unroll
        for (int i = 0; i < R; ++i)
#pragma unroll
            for (int j = 0; j < S; ++j) {
                const float value = pixels[i * w + j];
#pragma unroll
                for (int f = 0; f < Filters; ++f)
                    sums[f] = fmaf(value, weights[f * c * (R * S) + i * S + j], sums[f]);
            }
        pixels += h * w;
        weights += R * S;
    }
#pragma unroll
    for (int f = 0; f < Filters; ++f)
        output[((image * k + first + f) * p + y) * q + x] = sums[f];
}
