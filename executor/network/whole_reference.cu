// Operators of a network in double, by their definitions: what whole networks are checked against. A thread an output, or a
// warp where an output sums over everything. Operators with device code of their own follow behind this, over double. Tested against model/network/reference.cpp on small networks.

/// Sizes as in executor/kernels/conv_args.hpp.
struct Window {
    int c, h, w, k, p, q, r, s, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups;
};

extern "C" __global__ void reference_convolution(const double *input, const float *filters, double *output, Window a,
                                                 long long outputs) {
    const long long at = blockIdx.x * 256LL + threadIdx.x;
    if (at >= outputs)
        return;
    const int q = at % a.q, p = at / a.q % a.p, k = at / (a.p * a.q) % a.k;
    const int channels = a.c / a.groups;
    const double *image = input + (at / (static_cast<long long>(a.k) * a.p * a.q) * a.c +
                                   k / (a.k / a.groups) * channels) * a.h * a.w;
    const float *filter = filters + static_cast<long long>(k) * channels * a.r * a.s;
    double sum = 0.0;
    for (int c = 0; c < channels; ++c)
        for (int r = 0; r < a.r; ++r)
            for (int s = 0; s < a.s; ++s) {
                const int y = p * a.stride_h - a.pad_h + r * a.dilation_h, x = q * a.stride_w - a.pad_w + s * a.dilation_w;
                if (y >= 0 && y < a.h && x >= 0 && x < a.w)
                    sum += image[(c * a.h + y) * a.w + x] * filter[(c * a.r + r) * a.s + s];
            }
    output[at] = sum;
}

/// A warp an output.
extern "C" __global__ void reference_dense(const double *input, const float *weights, double *output, int inputs, int rows,
                                           long long outputs) {
    const long long at = blockIdx.x * 8LL + threadIdx.x / 32;
    if (at >= outputs)
        return;
    const float *of_row = weights + at % rows * inputs;
    const double *image = input + at / rows * inputs;
    double sum = 0.0;
    for (int i = threadIdx.x % 32; i < inputs; i += 32)
        sum += image[i] * of_row[i];
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(~0U, sum, distance);
    if (threadIdx.x % 32 == 0)
        output[at] = sum;
}

/// A thread a pixel.
extern "C" __global__ void reference_layer_norm(const double *input, double *output, int channels, int area, double added,
                                                long long pixels) {
    const long long at = blockIdx.x * 256LL + threadIdx.x;
    if (at >= pixels)
        return;
    const double *from = input + at / area * channels * area + at % area;
    double *to = output + (from - input);
    double mean = 0.0, variance = 0.0;
    for (int c = 0; c < channels; ++c)
        mean += from[c * area] / channels;
    for (int c = 0; c < channels; ++c)
        variance += (from[c * area] - mean) * (from[c * area] - mean) / channels;
    for (int c = 0; c < channels; ++c)
        to[c * area] = (from[c * area] - mean) / sqrt(variance + added);
}

/// A thread an image.
extern "C" __global__ void reference_softmax(const double *input, double *output, int count, int images) {
    const int image = blockIdx.x * 256 + threadIdx.x;
    if (image >= images)
        return;
    const double *from = input + static_cast<long long>(image) * count;
    double *to = output + static_cast<long long>(image) * count;
    double largest = from[0], sum = 0.0;
    for (int i = 1; i < count; ++i)
        largest = fmax(largest, from[i]);
    for (int i = 0; i < count; ++i)
        sum += to[i] = exp(from[i] - largest);
    for (int i = 0; i < count; ++i)
        to[i] /= sum;
}

extern "C" __global__ void reference_widen(const float *input, double *output, long long count) {
    const long long at = blockIdx.x * 256LL + threadIdx.x;
    if (at < count)
        output[at] = input[at];
}

/// Sums of squares of values - reference and of the reference, by block; images of `values` lie `count` apart, or, in
/// columns, side by side among `columns`.
extern "C" __global__ void reference_compare(const float *values, const double *reference, double *sums, long long count,
                                             int images, int first_image, int columns) {
    __shared__ double of_threads[2][256];
    double off = 0.0, size = 0.0;
    for (long long at = blockIdx.x * 256LL + threadIdx.x; at < count * images; at += gridDim.x * 256LL) {
        const long long image = first_image + at / count, number = at % count;
        const double wanted = reference[at],
                     found = columns > 0 ? values[number * columns + image] : values[image * count + number];
        off += (found - wanted) * (found - wanted), size += wanted * wanted;
    }
    of_threads[0][threadIdx.x] = off, of_threads[1][threadIdx.x] = size;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half)
            for (int i = 0; i < 2; ++i)
                of_threads[i][threadIdx.x] += of_threads[i][threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x < 2)
        sums[2 * blockIdx.x + threadIdx.x] = of_threads[threadIdx.x][0];
}
