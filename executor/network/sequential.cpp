#include "executor/network/sequential.hpp"

#include "model/base/errors.hpp"
#include "model/base/statistics.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace convcast {
namespace {

/// The convolution of one image without padding, by its definition.
void convolve(const ConvShape &shape, const float *in, const float *filters, float *out) {
    for (std::int64_t k = 0; k < shape.k; ++k)
        for (std::int64_t p = 0; p < shape.p(); ++p)
            for (std::int64_t q = 0; q < shape.q(); ++q) {
                float sum = 0.0F;
                for (std::int64_t c = 0; c < shape.c; ++c)
                    for (std::int64_t r = 0; r < shape.r; ++r)
                        for (std::int64_t s = 0; s < shape.s; ++s)
                            sum += in[(c * shape.h + p * shape.stride_h + r) * shape.w + q * shape.stride_w +
                                      s] *
                                   filters[((k * shape.c + c) * shape.r + r) * shape.s + s];
                *out++ = sum;
            }
}

/// Max pooling of one image by windows that do not overlap.
void pool_maxima(const Operator &op, const ImageShape &shape, const float *in, float *out) {
    const std::int64_t rows = (*op.window)[0], columns = (*op.window)[1];
    for (std::int64_t c = 0; c < shape[0]; ++c)
        for (std::int64_t p = 0; p < op.output[1]; ++p)
            for (std::int64_t q = 0; q < op.output[2]; ++q) {
                const float *window = in + (c * shape[1] + p * rows) * shape[2] + q * columns;
                float largest = window[0];
                for (std::int64_t r = 0; r < rows; ++r)
                    for (std::int64_t s = 0; s < columns; ++s)
                        largest = std::max(largest, window[r * shape[2] + s]);
                *out++ = largest;
            }
}

} // namespace

std::vector<float> sequential_forward(const Network &network, std::span<const float> image,
                                      const std::vector<std::vector<float>> &parameters) {
    std::vector<float> in(image.begin(), image.end());
    ImageShape shape = network.input;
    for (std::size_t i = 0; i < network.operators.size(); ++i) {
        const Operator &op = network.operators[i];
        std::vector<float> out(static_cast<std::size_t>(elements(op.output)));
        const std::optional<ConvShape> convolution = as_convolution(op, shape, 1);
        if (!op.from.empty() || op.pad || (op.kind == OperatorKind::max_pooling && op.stride))
            throw UsageError("the sequential program does not compute the operator '" + op.name + "'");
        if (op.kind == OperatorKind::half_squared_error || op.kind == OperatorKind::cross_entropy)
            break;
        if (convolution)
            convolve(*convolution, in.data(), parameters[i].data(), out.data());
        else if (op.kind == OperatorKind::max_pooling)
            pool_maxima(op, shape, in.data(), out.data());
        else
            for (std::size_t at = 0; at < in.size(); ++at) {
                const auto area = static_cast<std::size_t>(shape[1] * shape[2]);
                if (op.kind == OperatorKind::bias)
                    out[at] = in[at] + parameters[i][at / area];
                else if (op.kind == OperatorKind::relu)
                    out[at] = std::max(in[at], 0.0F);
                else if (op.kind == OperatorKind::logistic)
                    out[at] = 1.0F / (1.0F + std::exp(-in[at]));
                else
                    throw UsageError("the sequential program does not compute the operator '" + op.name +
                                     "'");
            }
        in = std::move(out);
        shape = op.output;
    }
    return in;
}

Seconds sequential_time(const Network &network, std::span<const float> image,
                        const std::vector<std::vector<float>> &parameters) {
    constexpr int runs = 15;
    std::vector<double> times;
    for (int run = 0; run < runs; ++run) {
        const auto start = std::chrono::steady_clock::now();
        const std::vector<float> out = sequential_forward(network, image, parameters);
        times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
        if (out.empty())
            break;
    }
    return Seconds(upper_median(std::move(times)));
}

} // namespace convcast
