// What a step of training of Cibil's network needs besides mnist.cu where each GPU has a share of the batch:
//   share_gradient    the gradient of a GPU's own images, as their part of the batch's mean
//   ... gradients are added up over the GPUs ...
//   move_parameters   moves the parameters by the sum

#include "executor/network/mnist.cu"

/// gradient = count / total * sum of the blocks' parts: 32 parameters a block of 32 x 8 threads, eight loads at a time.
extern "C" __global__ void share_gradient(const float *__restrict__ parts, int blocks, int count, int total,
                                          float *gradient) {
    __shared__ float sums[8][32];
    constexpr int at_a_time = 8;
    const int at = blockIdx.x * 32 + threadIdx.x;
    float sum = 0.0f;
    if (at < parameter_count) {
        constexpr long long stride = 8ll * parameter_count;
        const float *from = parts + static_cast<long long>(threadIdx.y) * parameter_count + at;
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
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y != 0 || at >= parameter_count)
        return;
    for (int slice = 1; slice < 8; ++slice)
        sum += sums[slice][threadIdx.x];
    gradient[at] = static_cast<float>(count) / total * sum;
}

/// A thread a parameter.
extern "C" __global__ void move_parameters(const float *gradient, const float *settings, float *velocity,
                                           float *parameters) {
    if (const int at = blockIdx.x * blockDim.x + threadIdx.x; at < parameter_count)
        descend(gradient[at], settings, velocity, parameters, at);
}
