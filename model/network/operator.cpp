#include "model/network/operator.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {
namespace {

constexpr double float_bytes = 4.0;

bool is_pooling(OperatorKind kind) {
    return kind == OperatorKind::max_pooling || kind == OperatorKind::average_pooling;
}

bool has_window(OperatorKind kind) {
    return kind == OperatorKind::convolution || is_pooling(kind);
}

bool is_loss(OperatorKind kind) {
    return kind == OperatorKind::half_squared_error || kind == OperatorKind::cross_entropy;
}

std::string name_of(OperatorKind kind) {
    return boost::describe::enum_to_string(kind, "?");
}

/// What is missing of an operator, or there without a use.
std::optional<ShapeAnswer> wrong_fields(const Operator &op) {
    const bool counted = op.kind == OperatorKind::convolution || op.kind == OperatorKind::dense;
    const auto needs = [&](const char *field, bool there, bool wanted,
                           const char *example) -> std::optional<ShapeAnswer> {
        if (there == wanted)
            return std::nullopt;
        return ShapeAnswer{std::nullopt, there ? field : "",
                           wanted ? name_of(op.kind) + " needs \"" + field + "\", for example " + example
                                  : name_of(op.kind) + " has no \"" + field + "\"; leave it out"};
    };
    if (auto wrong = needs("outputs", op.outputs.has_value(), counted, "\"outputs\": 64"))
        return wrong;
    if (auto wrong = needs("window", op.window.has_value(), has_window(op.kind), "\"window\": [3, 3]"))
        return wrong;
    if (op.stride && !has_window(op.kind))
        return needs("stride", true, false, "");
    if (op.pad && !has_window(op.kind))
        return needs("pad", true, false, "");
    if (op.outputs && *op.outputs < 1)
        return ShapeAnswer{std::nullopt, "outputs", "expected 1 or more, for example \"outputs\": 64"};
    for (const auto &[field, sizes] : {std::pair("window", op.window), std::pair("stride", op.stride)})
        if (sizes && ((*sizes)[0] < 1 || (*sizes)[1] < 1))
            return ShapeAnswer{std::nullopt, field,
                               "expected 1 or more, for example \"" + std::string(field) + "\": [2, 2]"};
    return std::nullopt;
}

std::array<std::int64_t, 2> stride_of(const Operator &op) {
    if (op.stride)
        return *op.stride;
    return is_pooling(op.kind) ? *op.window : std::array<std::int64_t, 2>{1, 1};
}

/// Of an operator with a window: rows and columns of windows that fit.
ShapeAnswer windows_of(const Operator &op, const ImageShape &input) {
    const std::array<std::int64_t, 2> stride = stride_of(op);
    const std::array<std::int64_t, 2> pad = op.pad.value_or(std::array<std::int64_t, 2>{0, 0});
    ImageShape out{op.outputs.value_or(input[0]), 0, 0};
    for (std::size_t i = 0; i < 2; ++i) {
        const std::int64_t padded = input[i + 1] + 2 * pad[i];
        if ((*op.window)[i] > padded)
            return {std::nullopt, "window",
                    "a window of " + std::to_string((*op.window)[0]) + " x " +
                        std::to_string((*op.window)[1]) + " does not fit its input of " + to_text(input) +
                        (op.pad ? " with its padding" : "") + "; a smaller one does, for example [1, 1]"};
        if (is_pooling(op.kind) && pad[i] >= (*op.window)[i])
            return {std::nullopt, "pad",
                    "expected less than the window, so that every window has a pixel, for example [0, 0]"};
        out[i + 1] = (padded - (*op.window)[i]) / stride[i] + 1;
    }
    return {out, "", ""};
}

} // namespace

std::string to_text(const ImageShape &shape) {
    return std::to_string(shape[0]) + " x " + std::to_string(shape[1]) + " x " + std::to_string(shape[2]);
}

std::int64_t elements(const ImageShape &shape) {
    return shape[0] * shape[1] * shape[2];
}

ShapeAnswer output_shape(const Operator &op, const std::vector<ImageShape> &inputs) {
    const std::size_t wanted = op.kind == OperatorKind::add ? 2 : 1;
    if (inputs.size() != wanted)
        return {std::nullopt, "from",
                name_of(op.kind) + " takes " +
                    (wanted == 2 ? "two inputs, for example \"from\": [\"bias2\", "
                                   "\"relu1\"]"
                                 : "one input, for example \"from\": [\"relu1\"]") +
                    ", found " + std::to_string(inputs.size())};
    if (auto wrong = wrong_fields(op))
        return *wrong;
    const ImageShape &input = inputs.front();
    if (has_window(op.kind))
        return windows_of(op, input);
    if (op.kind == OperatorKind::dense)
        return {ImageShape{*op.outputs, 1, 1}, "", ""};
    if (is_loss(op.kind))
        return {ImageShape{1, 1, 1}, "", ""};
    if (op.kind == OperatorKind::add && inputs[0] != inputs[1])
        return {std::nullopt, "from",
                "add needs two tensors of one shape, found " + to_text(inputs[0]) + " and " +
                    to_text(inputs[1])};
    return {input, "", ""};
}

std::int64_t parameters(const Operator &op, const ImageShape &input) {
    switch (op.kind) {
    case OperatorKind::convolution:
        return *op.outputs * input[0] * (*op.window)[0] * (*op.window)[1];
    case OperatorKind::dense:
        return *op.outputs * elements(input);
    case OperatorKind::bias:
        return input[0];
    default:
        return 0;
    }
}

std::optional<ConvShape> as_convolution(const Operator &op, const ImageShape &input, std::int64_t batch) {
    ConvShape shape;
    shape.n = batch;
    if (op.kind == OperatorKind::dense) {
        shape.c = elements(input);
        shape.k = *op.outputs;
    } else if (op.kind == OperatorKind::convolution) {
        shape.c = input[0], shape.h = input[1], shape.w = input[2];
        shape.k = *op.outputs, shape.r = (*op.window)[0], shape.s = (*op.window)[1];
        const std::array<std::int64_t, 2> pad = op.pad.value_or(std::array<std::int64_t, 2>{0, 0});
        shape.stride_h = stride_of(op)[0], shape.stride_w = stride_of(op)[1];
        shape.pad_h = pad[0], shape.pad_w = pad[1];
    } else {
        return std::nullopt;
    }
    shape.validate();
    return shape;
}

bool is_elementwise(OperatorKind kind) {
    return kind == OperatorKind::bias || kind == OperatorKind::relu || kind == OperatorKind::logistic ||
           kind == OperatorKind::add;
}

Work work_of(const Operator &op, const std::vector<ImageShape> &inputs, std::int64_t batch) {
    const auto images = static_cast<double>(batch);
    double read = static_cast<double>(parameters(op, inputs.front()));
    for (const ImageShape &input : inputs)
        read += images * static_cast<double>(elements(input));
    if (is_loss(op.kind)) // the targets: a number each, or one label an image
        read += op.kind == OperatorKind::cross_entropy
                    ? images
                    : images * static_cast<double>(elements(inputs.front()));
    const std::optional<ConvShape> convolution = as_convolution(op, inputs.front(), batch);
    Work work;
    work.fmas = convolution ? convolution->fmas().value : 0.0;
    work.dram_read_bytes = read * float_bytes;
    work.dram_write_bytes = images * static_cast<double>(elements(op.output)) * float_bytes;
    return work;
}

} // namespace convcast
