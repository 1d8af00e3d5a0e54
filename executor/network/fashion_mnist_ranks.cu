// What a step of training of Vadlamudi's network needs besides fashion_mnist_train.cu where each GPU has a share of the
// batch:
//   share_gradient    the gradient of a GPU's own images, as their part of the batch's mean
//   ... gradients are added up over the GPUs ...
//   move_parameters   moves the parameters by the sum

#include "executor/network/fashion_mnist_train.cu"

/// A thread a parameter, as train_update adds them up: gradient = images / total * sum of the parts.
extern "C" __global__ void share_gradient(int count, int total, const float *parts1, const float *parts2,
                                          const float *dense_parts, float *gradient) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < parameter_count)
        gradient[place_of(at).parameter] =
            static_cast<float>(count) / total * gradient_of(at, count, parts1, parts2, dense_parts);
}

/// A thread a parameter, as train_update moves them.
extern "C" __global__ void move_parameters(const float *gradient, const float *settings, float *parameters,
                                           float *velocity, float *by_filter, float *by_channel) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= parameter_count)
        return;
    const Place place = place_of(at);
    move(at, place, gradient[place.parameter], settings, parameters, velocity, by_filter, by_channel);
}
