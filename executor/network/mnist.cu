// Cibil's network on MNIST: a training step in two kernels. FP32.
//
//   28 x 28 -> conv 5 x 5, 6 filters, bias, ReLU -> 24 x 24 x 6 -> maximum of 4 x 4 -> 216 -> dense 10, bias, logistic
//   loss: 1/2 sum (target - out)^2, gradient: mean over the batch
//
// mnist_step: a block takes eight images. A thread computes a window of the pooled map for all filters: its 8 x 8 pixels
// stay in registers for 2,400 FFMAs. Of the maps only the 216 maxima and where they lie are kept: no other pixel has a
// gradient. Each block writes its part of the gradient, mnist_update adds the parts up in order and moves the parameters:
// the same sums in every run.

#include "executor/network/mnist.cuh"

namespace {

constexpr int block_images = 8, threads = block_images * pooled_area;
constexpr int patch = pool + filter_edge - 1;
constexpr int dense_threads = 3; ///< that share an output's sum

struct Slope {
    float by_pixel; ///< gradient of the loss by the maximum
    int at;         ///< first pixel of the filter there, within the block's images
};

struct Shared {
    float images[block_images * image_area];
    float2 filters[filter_area][filter_count / 2]; ///< two filters side by side
    float parameters[parameter_count];
    float pooled[block_images][features];
    Slope slopes[filter_count][block_images * pooled_area];
    float parts[block_images][outputs][dense_threads];
    float out[block_images][outputs], slope[block_images][outputs];
};

__device__ int image_at(const int *order, int at) {
    return order == nullptr ? at : order[at];
}

__device__ void load(Shared &shared, const float *images, const int *order, const float *parameters, int first, int count) {
    constexpr int image_loads = image_area / 4; // of 16 bytes
    for (int at = threadIdx.x; at < block_images * image_loads; at += threads) {
        const int image = first + at / image_loads;
        float4 pixels = {0.0f, 0.0f, 0.0f, 0.0f};
        if (image < count)
            pixels = reinterpret_cast<const float4 *>(
                images + static_cast<long long>(image_at(order, image)) * image_area)[at % image_loads];
        reinterpret_cast<float4 *>(shared.images)[at] = pixels;
    }
    for (int at = threadIdx.x; at < parameter_count; at += threads)
        shared.parameters[at] = parameters[at];
    __syncthreads();
    for (int at = threadIdx.x; at < filter_count * filter_area; at += threads)
        reinterpret_cast<float *>(shared.filters[at % filter_area])[at / filter_area] = shared.parameters[at];
    __syncthreads();
}

/// The largest of a window's sums of two filters, and which of its pixels it belongs to.
struct Maxima {
    float2 most;
    int first, second;
};

__device__ __forceinline__ Maxima maxima_of(const float (&pixels)[patch][patch],
                                            const float2 (&filters)[filter_area][filter_count / 2], int pair) {
    float2 sums[pool * pool] = {};
#pragma unroll
    for (int tap = 0; tap < filter_area; ++tap) {
        const float2 weight = filters[tap][pair];
#pragma unroll
        for (int at = 0; at < pool * pool; ++at) {
            const float x = pixels[at / pool + tap / filter_edge][at % pool + tap % filter_edge];
            sums[at].x += weight.x * x, sums[at].y += weight.y * x;
        }
    }
    Maxima maxima{sums[0], 0, 0};
#pragma unroll
    for (int at = 1; at < pool * pool; ++at) {
        if (sums[at].x > maxima.most.x)
            maxima.most.x = sums[at].x, maxima.first = at;
        if (sums[at].y > maxima.most.y)
            maxima.most.y = sums[at].y, maxima.second = at;
    }
    return maxima;
}

/// The pixels that a window's filters see, from the first one of them.
__device__ __forceinline__ void read_pixels(float (&pixels)[patch][patch], const float *corner) {
#pragma unroll
    for (int r = 0; r < patch; ++r)
#pragma unroll
        for (int s = 0; s < patch; s += 4)
            *reinterpret_cast<float4 *>(&pixels[r][s]) =
                *reinterpret_cast<const float4 *>(corner + r * image_edge + s);
}

/// Convolution, bias, ReLU and maximum of a window, two filters at a time; where the maxima lie.
__device__ void convolve(Shared &shared, int (&places)[filter_count]) {
    const int image = threadIdx.x / pooled_area, window = threadIdx.x % pooled_area;
    const int corner = image * image_area + window / pooled_edge * pool * image_edge + window % pooled_edge * pool;
    float pixels[patch][patch];
    read_pixels(pixels, shared.images + corner);
#pragma unroll
    for (int pair = 0; pair < filter_count / 2; ++pair) {
        const Maxima maxima = maxima_of(pixels, shared.filters, pair);
        const int first = maxima.first, second = maxima.second;
        const float *bias = shared.parameters + biases_at + 2 * pair;
        shared.pooled[image][2 * pair * pooled_area + window] = fmaxf(maxima.most.x + bias[0], 0.0f);
        shared.pooled[image][(2 * pair + 1) * pooled_area + window] = fmaxf(maxima.most.y + bias[1], 0.0f);
        places[2 * pair] = corner + first / pool * image_edge + first % pool;
        places[2 * pair + 1] = corner + second / pool * image_edge + second % pool;
    }
    __syncthreads();
}

/// Dense layer and logistic: three threads an output.
__device__ void dense(Shared &shared) {
    const int part = threadIdx.x % dense_threads, pair = threadIdx.x / dense_threads;
    const int image = pair / outputs, output = pair % outputs;
    if (image < block_images) {
        const float *weights = shared.parameters + weights_at + output * features;
        float sums[2] = {};
        for (int at = part; at < features; at += 2 * dense_threads) {
            sums[0] += weights[at] * shared.pooled[image][at];
            sums[1] += weights[at + dense_threads] * shared.pooled[image][at + dense_threads];
        }
        shared.parts[image][output][part] = sums[0] + sums[1];
    }
    __syncthreads();
    if (threadIdx.x < block_images * outputs) {
        const int its_image = threadIdx.x / outputs, its_output = threadIdx.x % outputs;
        const float *parts = shared.parts[its_image][its_output];
        const float sum = (parts[0] + parts[1]) + parts[2] + shared.parameters[dense_biases_at + its_output];
        shared.out[its_image][its_output] = 1.0f / (1.0f + __expf(-sum));
    }
    __syncthreads();
}

/// Gradient of the loss by the dense sums and by the maxima. `each`: 1 / batch.
__device__ void back(Shared &shared, const unsigned char *labels, const int *order, int first, int count, float each,
                     const int (&places)[filter_count]) {
    if (threadIdx.x < block_images * outputs) {
        const int image = threadIdx.x / outputs, output = threadIdx.x % outputs;
        const float out = shared.out[image][output];
        const bool is_target = first + image < count && labels[image_at(order, first + image)] == output;
        const float target = is_target ? 1.0f : 0.0f;
        shared.slope[image][output] = first + image < count ? each * (out - target) * out * (1.0f - out) : 0.0f;
    }
    __syncthreads();
    const int image = threadIdx.x / pooled_area, window = threadIdx.x % pooled_area;
#pragma unroll
    for (int filter = 0; filter < filter_count; ++filter) {
        const int feature = filter * pooled_area + window;
        float sum = 0.0f;
#pragma unroll
        for (int output = 0; output < outputs; ++output)
            sum += shared.slope[image][output] * shared.parameters[weights_at + output * features + feature];
        shared.slopes[filter][threadIdx.x] = {shared.pooled[image][feature] > 0.0f ? sum : 0.0f, places[filter]};
    }
    __syncthreads();
}

/// The block's part of the gradient, in the order of the parameters.
__device__ void write_gradient(const Shared &shared, float *part) {
    for (int at = threadIdx.x; at < biases_at + filter_count; at += threads) {
        const bool bias = at >= biases_at;
        const int filter = bias ? at - biases_at : at / filter_area, tap = at % filter_area;
        const int offset = tap / filter_edge * image_edge + tap % filter_edge;
        float sums[4] = {};
        for (int i = 0; i < threads; i += 4)
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const Slope slope = shared.slopes[filter][i + j];
                sums[j] += bias ? slope.by_pixel : slope.by_pixel * shared.images[slope.at + offset];
            }
        part[at] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    for (int at = threadIdx.x; at < outputs * features + outputs; at += threads) {
        const bool bias = at >= outputs * features;
        const int output = bias ? at - outputs * features : at / features, feature = at % features;
        float sum = 0.0f;
#pragma unroll
        for (int image = 0; image < block_images; ++image)
            sum += shared.slope[image][output] * (bias ? 1.0f : shared.pooled[image][feature]);
        part[weights_at + at] = sum;
    }
}

} // namespace

/// Block b computes images 8 b to 8 b + 7 of an order (null: as they lie). `out`: 10 numbers an image; `parts`: parameter_count numbers a block, absent
/// (null) where no gradient is asked.
extern "C" __global__ void __launch_bounds__(threads, 2)
    mnist_step(const float *images, const unsigned char *labels, const int *order, int count, const float *parameters,
               float *out, float *parts) {
    extern __shared__ float4 memory[];
    Shared &shared = *reinterpret_cast<Shared *>(memory);
    const int first = blockIdx.x * block_images;
    int places[filter_count];
    load(shared, images, order, parameters, first, count);
    convolve(shared, places);
    dense(shared);
    if (threadIdx.x < min(block_images, count - first) * outputs)
        out[first * outputs + threadIdx.x] = shared.out[threadIdx.x / outputs][threadIdx.x % outputs];
    if (parts == nullptr)
        return;
    back(shared, labels, order, first, count, 1.0f / count, places);
    write_gradient(shared, parts + blockIdx.x * parameter_count);
}

/// The gradient is the sum of the parts: 32 parameters a block of 32 x 8 threads.
extern "C" __global__ void mnist_update(const float *parts, int blocks, const float *settings, float *velocity,
                                        float *parameters, float *gradient) {
    __shared__ float sums[8][32];
    const int at = blockIdx.x * 32 + threadIdx.x;
    float sum = 0.0f;
    if (at < parameter_count)
        for (int block = threadIdx.y; block < blocks; block += 8)
            sum += parts[block * parameter_count + at];
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y != 0 || at >= parameter_count)
        return;
    for (int slice = 1; slice < 8; ++slice)
        sum += sums[slice][threadIdx.x];
    gradient[at] = sum;
    descend(sum, settings, velocity, parameters, at);
}
