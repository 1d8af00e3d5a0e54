// Convolution, dense layer and transposed convolution. The first two run as strategies' plans, or by the
// kernel `dense` of executor/network/whole.cu.
#include "model/base/errors.hpp"
#include "model/network/operator_type.hpp"

#include "every_operator.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

namespace convcast {
namespace {

ShapeAnswer wrong_groups(const Operator &op, const ImageShape &input) {
    const std::int64_t groups = op.groups.value_or(1);
    if (input[0] % groups == 0 && *op.outputs % groups == 0)
        return {};
    return {
        std::nullopt, "groups",
        fmt::format(
            "expected a number that divides the {} input channels and the {} outputs, found {}; for example "
            "\"groups\": 1",
            input[0], *op.outputs, groups)};
}

ShapeAnswer convolution_shape(const Operator &op, const std::vector<ImageShape> &inputs) {
    const ImageShape &input = inputs.front();
    if (ShapeAnswer wrong = wrong_groups(op, input); !wrong.problem.empty())
        return wrong;
    const TwoSizes stride = op.stride_or_default(), pad = op.pad_or_none(),
                   dilation = op.dilation.value_or(TwoSizes{1, 1});
    ImageShape out{*op.outputs, 0, 0};
    for (std::size_t i = 0; i < 2; ++i) {
        const std::int64_t padded = input[i + 1] + 2 * pad[i],
                           reach = ((*op.window)[i] - 1) * dilation[i] + 1;
        if (reach > padded)
            return {std::nullopt, "window",
                    fmt::format("a window of {} x {}{} does not fit its input of {}{}; a smaller one does, "
                                "for example [1, 1]",
                                (*op.window)[0], (*op.window)[1], op.dilation ? " with its dilation" : "",
                                to_text(input), op.pad ? " with its padding" : "")};
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

/// Calls each(output, pixel of the input, number of the parameter) for every product.
template <class Each> void for_products(const OperatorStep &step, const Each &each) {
    const ConvShape shape = *as_convolution(step.op, step.in_shape(), 1);
    const std::int64_t window = shape.r * shape.s, channels = shape.c / shape.groups,
                       filters = shape.k / shape.groups;
    for (std::int64_t k = 0, out = 0; k < shape.k; ++k)
        for (std::int64_t p = 0; p < shape.p(); ++p)
            for (std::int64_t q = 0; q < shape.q(); ++q, ++out)
                for (std::int64_t c = 0; c < channels; ++c)
                    for (std::int64_t r = 0; r < shape.r; ++r)
                        for (std::int64_t s = 0; s < shape.s; ++s) {
                            const std::int64_t y = p * shape.stride_h - shape.pad_h + r * shape.dilation_h,
                                               x = q * shape.stride_w - shape.pad_w + s * shape.dilation_w;
                            if (y >= 0 && y < shape.h && x >= 0 && x < shape.w)
                                each(out, ((k / filters * channels + c) * shape.h + y) * shape.w + x,
                                     (k * channels + c) * window + r * shape.s + s);
                        }
}

void convolve(const OperatorStep &step, double *out) {
    std::fill(out, out + step.outputs(), 0.0);
    for_products(step, [&](std::int64_t at, std::int64_t pixel, std::int64_t weight) {
        out[at] += step.in[0][pixel] * step.parameters[static_cast<std::size_t>(weight)];
    });
}

void convolve_back(const OperatorStep &step, const double *, const double *by_out,
                   const OperatorBackward &back) {
    for_products(step, [&](std::int64_t at, std::int64_t pixel, std::int64_t weight) {
        const double by = by_out[at];
        if (by == 0.0)
            return;
        back.by_parameters[static_cast<std::size_t>(weight)] += by * step.in[0][pixel];
        back.by_in[0][pixel] += by * step.parameters[static_cast<std::size_t>(weight)];
    });
}

// ---- transposed: filters lie [input channel][output of the group][R][S] ----

ShapeAnswer transposed_shape(const Operator &op, const std::vector<ImageShape> &inputs) {
    const ImageShape &input = inputs.front();
    if (ShapeAnswer wrong = wrong_groups(op, input); !wrong.problem.empty())
        return wrong;
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

void transposed_forward(const OperatorStep &step, double *out) {
    const Operator &op = step.op;
    const ImageShape &in = step.in_shape(), &to = op.output;
    const TwoSizes stride = op.stride_or_default(), pad = op.pad_or_none(),
                   dilation = op.dilation.value_or(TwoSizes{1, 1}), window = *op.window;
    const std::int64_t groups = op.groups.value_or(1), channels = in[0] / groups, outputs = to[0] / groups;
    std::fill(out, out + elements(to), 0.0);
    for (std::int64_t c = 0; c < in[0]; ++c)
        for (std::int64_t h = 0; h < in[1]; ++h)
            for (std::int64_t w = 0; w < in[2]; ++w)
                for (std::int64_t k = 0; k < outputs; ++k)
                    for (std::int64_t r = 0; r < window[0]; ++r)
                        for (std::int64_t s = 0; s < window[1]; ++s) {
                            const std::int64_t y = h * stride[0] + r * dilation[0] - pad[0],
                                               x = w * stride[1] + s * dilation[1] - pad[1];
                            if (y >= 0 && y < to[1] && x >= 0 && x < to[2])
                                out[((c / channels * outputs + k) * to[1] + y) * to[2] + x] +=
                                    step.in[0][(c * in[1] + h) * in[2] + w] *
                                    step.parameters[static_cast<std::size_t>(
                                        ((c * outputs + k) * window[0] + r) * window[1] + s)];
                        }
}

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

/// Each filter at each output pixel.
double filtered(const Operator &op, const ImageShape &input) {
    return static_cast<double>(parameters(op, input)) * static_cast<double>(op.output[1] * op.output[2]);
}
/// Each filter at each input pixel.
double spread(const Operator &op, const ImageShape &input) {
    return static_cast<double>(transposed_parameters(op, input)) * static_cast<double>(input[1] * input[2]);
}

} // namespace

std::vector<OperatorType> operators::convolution() {
    std::vector<OperatorType> rows(3);
    rows[0].kind = OperatorKind::convolution;
    rows[0].needs = {"outputs", "window"};
    rows[0].takes = {"stride", "pad", "dilation", "groups"};
    rows[0].shape = convolution_shape;
    rows[0].parameters = convolution_parameters;
    rows[0].multiply_adds = filtered;
    rows[0].forward = convolve, rows[0].backward = convolve_back;
    rows[1].kind = OperatorKind::dense;
    rows[1].needs = {"outputs"};
    rows[1].shape = dense_shape;
    rows[1].parameters = dense_parameters;
    rows[1].multiply_adds = filtered;
    rows[1].forward = convolve, rows[1].backward = convolve_back;
    rows[2].kind = OperatorKind::transposed_convolution;
    rows[2].needs = {"outputs", "window"};
    rows[2].takes = {"stride", "pad", "pad_end", "dilation", "groups"};
    rows[2].shape = transposed_shape;
    rows[2].parameters = transposed_parameters;
    rows[2].multiply_adds = spread;
    rows[2].forward = transposed_forward;
    rows[2].form = DeviceForm::gather;
    rows[2].device = transposed_device;
    return rows;
}

} // namespace convcast
