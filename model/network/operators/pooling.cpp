// Largest and mean of windows. Whole channels have a kernel of their own in executor/network/whole.cu.
#include "model/network/operator_type.hpp"

#include "every_operator.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

namespace convcast {
namespace {

ShapeAnswer pooling_shape(const Operator &op, const std::vector<ImageShape> &inputs) {
    const ImageShape &input = inputs.front();
    const TwoSizes stride = op.stride_or_default(), pad = op.pad_or_none(), end = op.pad_end_or_same();
    ImageShape out{input[0], 0, 0};
    for (std::size_t i = 0; i < 2; ++i) {
        const std::int64_t padded = input[i + 1] + pad[i] + end[i];
        if ((*op.window)[i] > padded)
            return too_large_window(op, input);
        if (pad[i] >= (*op.window)[i] || end[i] >= (*op.window)[i])
            return {std::nullopt, pad[i] >= (*op.window)[i] ? "pad" : "pad_end",
                    "expected less than the window, so that every window has a pixel, for example [0, 0]"};
        out[i + 1] = (padded - (*op.window)[i]) / stride[i] + 1;
    }
    return {out, "", ""};
}

/// Calls each(pixel's index in its channel) for the pixels of a window that lie in the image, row by row.
template <class Each>
void for_window(const ConvShape &shape, std::int64_t p, std::int64_t q, const Each &each) {
    for (std::int64_t r = 0; r < shape.r; ++r)
        for (std::int64_t s = 0; s < shape.s; ++s) {
            const std::int64_t y = p * shape.stride_h - shape.pad_h + r,
                               x = q * shape.stride_w - shape.pad_w + s;
            if (y >= 0 && y < shape.h && x >= 0 && x < shape.w)
                each(y * shape.w + x);
        }
}

/// Calls each(index of the output, input's index of its channel's first pixel, p, q) for each output.
template <class Each> void for_outputs(const OperatorStep &step, const Each &each) {
    const ImageShape &in = step.in_shape(), &out = step.op.output;
    std::int64_t at = 0;
    for (std::int64_t c = 0; c < out[0]; ++c)
        for (std::int64_t p = 0; p < out[1]; ++p)
            for (std::int64_t q = 0; q < out[2]; ++q)
                each(at++, c * in[1] * in[2], p, q);
}

/// The index in its channel of the largest pixel of a window, of equal ones the first.
std::int64_t largest_of(const ConvShape &shape, std::int64_t p, std::int64_t q, const double *channel) {
    std::int64_t at = -1;
    for_window(shape, p, q, [&](std::int64_t pixel) {
        if (at < 0 || channel[pixel] > channel[at])
            at = pixel;
    });
    return at;
}

/// How many pixels the mean of a window is over: with `inside` those within the image, else all.
double divisor_of(const Operator &op, const ConvShape &shape, std::int64_t p, std::int64_t q) {
    if (!op.inside.value_or(false))
        return static_cast<double>(shape.r * shape.s);
    double pixels = 0.0;
    for_window(shape, p, q, [&](std::int64_t) { pixels += 1.0; });
    return pixels;
}

void largest(const OperatorStep &step, double *out) {
    const ConvShape shape = window_shape(step.op, step.in_shape());
    for_outputs(step, [&](std::int64_t at, std::int64_t begin, std::int64_t p, std::int64_t q) {
        out[at] = step.in[0][begin + largest_of(shape, p, q, step.in[0] + begin)];
    });
}

void largest_back(const OperatorStep &step, const double *, const double *by_out,
                  const OperatorBackward &back) {
    const ConvShape shape = window_shape(step.op, step.in_shape());
    for_outputs(step, [&](std::int64_t at, std::int64_t begin, std::int64_t p, std::int64_t q) {
        back.by_in[0][begin + largest_of(shape, p, q, step.in[0] + begin)] += by_out[at];
    });
}

void mean(const OperatorStep &step, double *out) {
    const ConvShape shape = window_shape(step.op, step.in_shape());
    for_outputs(step, [&](std::int64_t at, std::int64_t begin, std::int64_t p, std::int64_t q) {
        double sum = 0.0;
        for_window(shape, p, q, [&](std::int64_t pixel) { sum += step.in[0][begin + pixel]; });
        out[at] = sum / divisor_of(step.op, shape, p, q);
    });
}

void mean_back(const OperatorStep &step, const double *, const double *by_out, const OperatorBackward &back) {
    const ConvShape shape = window_shape(step.op, step.in_shape());
    for_outputs(step, [&](std::int64_t at, std::int64_t begin, std::int64_t p, std::int64_t q) {
        for_window(shape, p, q, [&](std::int64_t pixel) {
            back.by_in[0][begin + pixel] += by_out[at] / divisor_of(step.op, shape, p, q);
        });
    });
}

std::string pooling_device(const Operator &op, const std::vector<ImageShape> &inputs) {
    const ConvShape shape = window_shape(op, inputs.front());
    const TwoSizes end = op.pad_end_or_same();
    const bool is_max = op.kind == OperatorKind::max_pooling;
    const bool padded = shape.pad_h + shape.pad_w + end[0] + end[1] > 0;
    return fmt::format(
        R"(
    T result = {least};
    int pixels = 0;
#pragma unroll
    for (int r = 0; r < {r}; ++r)
#pragma unroll
        for (int s = 0; s < {s}; ++s) {{
            const int h = y * {stride_h} - {pad_h} + r, w = x * {stride_w} - {pad_w} + s;
            const bool inside = {inside}; // all loads start together: none is behind a branch
            const T value = in[0][inside ? (c * H + h) * W + w : 0];
            result = inside ? {join} : result;
            pixels += inside;
        }}
    return {result};)",
        fmt::arg("least", is_max ? "-T(__int_as_float(0x7f800000))" : "T(0)"), fmt::arg("r", shape.r),
        fmt::arg("s", shape.s), fmt::arg("stride_h", shape.stride_h), fmt::arg("stride_w", shape.stride_w),
        fmt::arg("pad_h", shape.pad_h), fmt::arg("pad_w", shape.pad_w),
        fmt::arg("inside", padded ? "unsigned(h) < unsigned(H) && unsigned(w) < unsigned(W)" : "true"),
        fmt::arg("join", is_max ? "max(result, value)" : "result + value"),
        fmt::arg("result", is_max                      ? "result"
                           : op.inside.value_or(false) ? "result / T(pixels)"
                                                       : fmt::format("result / T({})", shape.r * shape.s)));
}

/// Operations of an output: each pixel of the window is compared or added.
double window_operations(const Operator &op, const ImageShape &) {
    return static_cast<double>((*op.window)[0] * (*op.window)[1]);
}

} // namespace

std::vector<OperatorType> operators::pooling() {
    OperatorType pooling;
    pooling.needs = {"window"};
    pooling.shape = pooling_shape;
    pooling.operations = window_operations;
    pooling.form = DeviceForm::gather;
    pooling.device = pooling_device;
    std::vector<OperatorType> rows = {pooling, pooling};
    rows[0].kind = OperatorKind::max_pooling;
    rows[0].takes = {"stride", "pad", "pad_end"};
    rows[0].forward = largest, rows[0].backward = largest_back;
    rows[1].kind = OperatorKind::average_pooling;
    rows[1].takes = {"stride", "pad", "pad_end", "inside"};
    rows[1].forward = mean, rows[1].backward = mean_back;
    return rows;
}

} // namespace convcast
