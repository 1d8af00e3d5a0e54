// Softmax over an image and layer norm over the channels of a pixel, by kernels of executor/network/whole.cu.
#include "model/network/operator_type.hpp"

#include "every_operator.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace convcast {
namespace {

void softmax_forward(const OperatorStep &step, double *out) {
    const double *in = step.in[0];
    const double largest = *std::max_element(in, in + step.inputs());
    double sum = 0.0;
    for (std::int64_t i = 0; i < step.inputs(); ++i)
        sum += out[i] = std::exp(in[i] - largest);
    for (std::int64_t i = 0; i < step.inputs(); ++i)
        out[i] /= sum;
}

void softmax_back(const OperatorStep &step, const double *out, const double *by_out,
                  const OperatorBackward &back) {
    double weighted = 0.0;
    for (std::int64_t i = 0; i < step.outputs(); ++i)
        weighted += by_out[i] * out[i];
    for (std::int64_t i = 0; i < step.outputs(); ++i)
        back.by_in[0][i] += out[i] * (by_out[i] - weighted);
}

/// alpha is added to the variance.
void layer_norm_forward(const OperatorStep &step, double *out) {
    const std::int64_t channels = step.in_shape()[0], area = step.in_shape()[1] * step.in_shape()[2];
    for (std::int64_t at = 0; at < area; ++at) {
        double mean = 0.0, squares = 0.0;
        for (std::int64_t c = 0; c < channels; ++c)
            mean += step.in[0][c * area + at] / static_cast<double>(channels);
        for (std::int64_t c = 0; c < channels; ++c)
            squares += (step.in[0][c * area + at] - mean) * (step.in[0][c * area + at] - mean);
        const double by = 1.0 / std::sqrt(squares / static_cast<double>(channels) + *step.op.alpha);
        for (std::int64_t c = 0; c < channels; ++c)
            out[c * area + at] = (step.in[0][c * area + at] - mean) * by;
    }
}

} // namespace

std::vector<OperatorType> operators::normalize() {
    std::vector<OperatorType> rows(2);
    rows[0].kind = OperatorKind::softmax;
    rows[0].operations = each<5>; // the largest, less it, exp, the sum, its share
    rows[0].forward = softmax_forward, rows[0].backward = softmax_back;
    rows[1].kind = OperatorKind::layer_norm;
    rows[1].needs = {"alpha"};    // added to the variance
    rows[1].operations = each<5>; // the mean, less it, squared, the sum, its share
    rows[1].forward = layer_norm_forward;
    return rows;
}

} // namespace convcast
