// What a step of training of Cibil's network needs besides mnist.cu where each GPU has a share of the batch:
//   share_gradient    the gradient of a GPU's own images, as their part of the batch's mean
//   ... gradients are added up over the GPUs ...
//   move_parameters   moves the parameters by the sum

#include "executor/network/mnist.cu"

/// gradient = count / total * sum of the blocks' parts.
extern "C" __global__ void share_gradient(const float *__restrict__ parts, int blocks, int count, int total,
                                          float *gradient) {
    const int at = blockIdx.x * 32 + threadIdx.x;
    const float sum = sum_of_parts(parts, blocks, parameter_count, at);
    if (threadIdx.y == 0 && at < parameter_count)
        gradient[at] = static_cast<float>(count) / total * sum;
}

/// A thread a parameter.
extern "C" __global__ void move_parameters(const float *gradient, const float *settings, float *velocity,
                                           float *parameters) {
    if (const int at = blockIdx.x * blockDim.x + threadIdx.x; at < parameter_count)
        descend(gradient[at], settings, velocity, parameters, at);
}
