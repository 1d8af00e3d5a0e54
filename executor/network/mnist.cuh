// What the kernels of Cibil's network on MNIST share: its sizes, and a step of gradient descent. Parameters lie behind each
// other: filters (6 x 25), biases (6), weights (10 x 216), biases (10).
#pragma once

namespace {

constexpr int image_edge = 28, image_area = image_edge * image_edge, filter_edge = 5, filter_area = 25;
constexpr int filter_count = 6, pool = 4, pooled_edge = 6, pooled_area = pooled_edge * pooled_edge;
constexpr int features = filter_count * pooled_area, outputs = 10;
constexpr int biases_at = filter_count * filter_area, weights_at = biases_at + filter_count,
              dense_biases_at = weights_at + outputs * features, parameter_count = dense_biases_at + outputs;

/// `settings`: rate, momentum, decay; velocity = momentum velocity + gradient + decay parameter, and parameter -= rate
/// velocity.
__device__ inline void descend(float gradient, const float *settings, float *velocity, float *parameters, int at) {
    const float speed = settings[1] * velocity[at] + gradient + settings[2] * parameters[at];
    velocity[at] = speed;
    parameters[at] -= settings[0] * speed;
}

/// What the blocks' parts of a number add up to, of 32 neighbouring numbers by a block of 32 x 8 threads: the sum is that of
/// the threads with threadIdx.y = 0. `count`: numbers of a part. Eight loads at a time.
__device__ inline float sum_of_parts(const float *__restrict__ parts, int blocks, int count, int at) {
    __shared__ float slices[8][32];
    constexpr int at_a_time = 8;
    float sum = 0.0f;
    if (at < count) {
        const long long stride = 8ll * count;
        const float *from = parts + static_cast<long long>(threadIdx.y) * count + at;
        int block = threadIdx.y;
        for (; block + 8 * (at_a_time - 1) < blocks; block += 8 * at_a_time, from += at_a_time * stride) {
            float values[at_a_time];
#pragma unroll
            for (int i = 0; i < at_a_time; ++i)
                values[i] = from[i * stride];
#pragma unroll
            for (int i = 0; i < at_a_time; ++i)
                sum += values[i];
        }
        for (; block < blocks; block += 8, from += stride)
            sum += *from;
    }
    slices[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0)
        for (int slice = 1; slice < 8; ++slice)
            sum += slices[slice][threadIdx.x];
    return sum;
}

} // namespace
