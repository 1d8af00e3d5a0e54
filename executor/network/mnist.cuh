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

} // namespace
