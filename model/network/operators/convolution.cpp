// Convolution and dense layer, which run as plans or by `dense` of whole.cu, and transposed convolution.
#include "model/base/errors.hpp"
#include "model/network/operator_type.hpp"

#include "every_operator.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace convcast {
namespace {

/// Why an operator cannot have its number of groups; absent if it can.
std::optional<ShapeAnswer> wrong_groups(const Operator &op, const ImageShape &input) {
    const std::int64_t groups = op.groups.value_or(1);
    if (input[0] % groups == 0 && *op.outputs % groups == 0)
        return std::nullopt;
    return ShapeAnswer{
        std::nullopt, "groups",
        fmt::format(
            "expected a number that divides the {} input channels and the {} outputs, found {}; for example "
            "\"groups\": 1",
            input[0], *op.outputs, groups)};
}

ShapeAnswer convolution_shape(const Operator &op, const std::vector<ImageShape> &inputs) {
    const ImageShape &input = inputs.front();
    if (auto wrong = wrong_groups(op, input))
        return *wrong;
    const TwoSizes stride = op.stride_or_default(), pad = op.pad_or_none(),
                   dilation = op.dilation.value_or(TwoSizes{1, 1});
    ImageShape out{*op.outputs, 0, 0};
    for (std::size_t i = 0; i < 2; ++i) {
        const std::int64_t padded = input[i + 1] + 2 * pad[i],
                           reach = ((*op.window)[i] - 1) * dilation[i] + 1;
        if (reach > padded)
            return too_large_window(op, input);
        out[i + 1] = (padded - reach) / stride[i] + 1;
    }
    return {out, "", ""};
}

std::int64_t convolution_parameters(const Operator &op, const ImageShape &input) {
    return *op.outputs * (input[0] / op.groups.value_or(1)) * (*op.window)[0] * (*op.window)[1];
}

ShapeAnswer dense_shape(const Operator &op, const std::vector<ImageShape> &) {
    return {ImageShape{*op.outputs, 1, 1}, "", ""};
}

std::int64_t dense_parameters(const Operator &op, const ImageShape &input) {
    return *op.outputs * elements(input);
}

/// Calls each(output, pixel of the input, number of the parameter), all indices in one image or in the
/// parameters, for every product of a convolution with `rows` and `columns` of outputs.
template <class Each>
void for_products(const ConvShape &shape, std::int64_t rows, std::int64_t columns, const Each &each) {
    const std::int64_t window = shape.r * shape.s, channels = shape.c / shape.groups,
                       filters = shape.k / shape.groups;
    for (std::int64_t k = 0, out = 0; k < shape.k; ++k)
        for (std::int64_t p = 0; p < rows; ++p)
            for (std::int64_t q = 0; q < columns; ++q, ++out)
                for (std::int64_t c = 0; c < channels; ++c)
                    for (std::int64_t r = 0; r < shape.r; ++r)
                        for (std::int64_t s = 0; s < shape.s; ++s) {
                            const std::int64_t y = p * shape.stride_h - shape.pad_h + r * shape.dilation_h,
                                               x = q * shape.stride_w - shape.pad_w + s * shape.dilation_w;
                            if (y >= 0 && y < shape.h && x >= 0 && x < shape.w)
                                each(out, ((k / filters * channels + c) * shape.h + y) * shape.w + x,
                                     static_cast<std::size_t>((k * channels + c) * window + r * shape.s + s));
                        }
}
/// The same for a convolution or dense layer.
template <class Each> void for_products(const OperatorStep &step, const Each &each) {
    const ConvShape shape = *as_convolution(step.op, step.in_shape(), 1);
    for_products(shape, shape.p(), shape.q(), each);
}

void convolve(const OperatorStep &step, double *out) {
    std::fill(out, out + step.outputs(), 0.0);
    for_products(step, [&](std::int64_t at, std::int64_t pixel, std::size_t weight) {
        out[at] += step.in[0][pixel] * step.parameters[weight];
    });
}

void convolve_back(const OperatorStep &step, const double *, const double *by_out,
                   const OperatorBackward &back) {
    for_products(step, [&](std::int64_t at, std::int64_t pixel, std::size_t weight) {
        const double by = by_out[at];
        if (by == 0.0)
            return;
        back.by_parameters[weight] += by * step.in[0][pixel];
        back.by_in[0][pixel] += by * step.parameters[weight];
    });
}

// ---- transposed: filters lie [input channel][output of the group][R][S] ----

ShapeAnswer transposed_shape(const Operator &op, const std::vector<ImageShape> &inputs) {
    const ImageShape &input = inputs.front();
    if (auto wrong = wrong_groups(op, input))
        return *wrong;
    const TwoSizes stride = op.stride_or_default(), pad = op.pad_or_none(), end = op.pad_end_or_same(),
                   dilation = op.dilation.value_or(TwoSizes{1, 1});
    ImageShape out{*op.outputs, 0, 0};
    for (std::size_t i = 0; i < 2; ++i) {
        out[i + 1] =
            (input[i + 1] - 1) * stride[i] + ((*op.window)[i] - 1) * dilation[i] + 1 - pad[i] - end[i];
        if (out[i + 1] < 1)
            return {std::nullopt, "pad",
                    "the padding takes all of the output; expected less, for example [0, 0]"};
    }
    return {out, "", ""};
}

std::int64_t transposed_parameters(const Operator &op, const ImageShape &input) {
    return input[0] * (*op.outputs / op.groups.value_or(1)) * (*op.window)[0] * (*op.window)[1];
}

/// It is the gradient by its input of the convolution that goes from our output to our input.
void transposed_forward(const OperatorStep &step, double *out) {
    const ImageShape &in = step.in_shape(), &to = step.op.output;
    ConvShape shape = window_shape(step.op, to);
    shape.c = to[0], shape.k = in[0];
    std::fill(out, out + elements(to), 0.0);
    for_products(shape, in[1], in[2], [&](std::int64_t at, std::int64_t pixel, std::size_t weight) {
        out[pixel] += step.in[0][at] * step.parameters[weight];
    });
}

/// The sum over the channels of a group and the taps of a filter by which a pixel of the input reaches this
/// output.
std::string transposed_device(const Operator &op, const std::vector<ImageShape> &) {
    const TwoSizes stride = op.stride_or_default(), pad = op.pad_or_none(),
                   dilation = op.dilation.value_or(TwoSizes{1, 1}), window = *op.window;
    return fmt::format(R"(
    const int channels = C / {groups}, outputs = K / {groups};
    T sum = 0;
    for (int i = c / outputs * channels; i < (c / outputs + 1) * channels; ++i)
        for (int r = 0; r < {r}; ++r)
            for (int s = 0; s < {s}; ++s) {{
                const int h = y + {pad_h} - r * {dilation_h}, w = x + {pad_w} - s * {dilation_w};
                if (h >= 0 && w >= 0 && h % {stride_h} == 0 && w % {stride_w} == 0 && h / {stride_h} < H && w / {stride_w} < W)
                    sum += in[0][(i * H + h / {stride_h}) * W + w / {stride_w}] *
                           T(p[((i * outputs + c % outputs) * {r} + r) * {s} + s]);
            }}
    return sum;)",
                       fmt::arg("groups", op.groups.value_or(1)), fmt::arg("r", window[0]),
                       fmt::arg("s", window[1]), fmt::arg("pad_h", pad[0]), fmt::arg("pad_w", pad[1]),
                       fmt::arg("stride_h", stride[0]), fmt::arg("stride_w", stride[1]),
                       fmt::arg("dilation_h", dilation[0]), fmt::arg("dilation_w", dilation[1]));
}

/// Multiply-adds of a convolution: each parameter at each output pixel.
double filter_fmas(const Operator &op, const ImageShape &input) {
    return static_cast<double>(parameters(op, input)) * static_cast<double>(op.output[1] * op.output[2]);
}
/// Multiply-adds of a transposed convolution: each parameter at each input pixel.
double spread_fmas(const Operator &op, const ImageShape &input) {
    return static_cast<double>(transposed_parameters(op, input)) * static_cast<double>(input[1] * input[2]);
}

} // namespace

std::vector<OperatorType> operators::convolution() {
    OperatorType convolution;
    convolution.kind = OperatorKind::convolution;
    convolution.needs = {"outputs", "window"};
    convolution.takes = {"stride", "pad", "dilation", "groups"};
    convolution.shape = convolution_shape;
    convolution.parameters = convolution_parameters;
    convolution.multiply_adds = filter_fmas;
    convolution.forward = convolve, convolution.backward = convolve_back;
    OperatorType dense = convolution;
    dense.kind = OperatorKind::dense;
    dense.needs = {"outputs"}, dense.takes = {};
    dense.shape = dense_shape;
    dense.parameters = dense_parameters;
    OperatorType transposed;
    transposed.kind = OperatorKind::transposed_convolution;
    transposed.needs = convolution.needs;
    transposed.takes = {"stride", "pad", "pad_end", "dilation", "groups"};
    transposed.shape = transposed_shape;
    transposed.parameters = transposed_parameters;
    transposed.multiply_adds = spread_fmas;
    transposed.forward = transposed_forward;
    transposed.form = DeviceForm::gather;
    transposed.device = transposed_device;
    return {convolution, dense, transposed};
}

} // namespace convcast
