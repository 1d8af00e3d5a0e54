// One step of a network: what it computes, from which tensors, and the shape of what it gives.
#pragma once

#include "model/base/checked.hpp"
#include "model/plan/work.hpp"
#include "model/shape/conv_shape.hpp"

#include <boost/describe.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

enum class OperatorKind {
    convolution,        ///< cross-correlation with filters of all input channels, no bias
    bias,               ///< adds one number per channel
    relu,               ///< max(x, 0)
    logistic,           ///< 1 / (1 + exp(-x))
    max_pooling,        ///< largest of each window; pixels outside the image do not count
    average_pooling,    ///< mean of each window, pixels outside the image count as 0
    dense,              ///< every output from every input: a 1 x 1 convolution of the flattened image
    add,                ///< sum of two tensors of one shape
    softmax,            ///< over all numbers of an image
    half_squared_error, ///< 1/2 sum (target - x)^2 of an image
    cross_entropy,      ///< -log softmax(x)[label] of an image
};
BOOST_DESCRIBE_ENUM(OperatorKind, convolution, bias, relu, logistic, max_pooling, average_pooling, dense, add,
                    softmax, half_squared_error, cross_entropy)

/// Channels, rows and columns of one image's tensor; the batch comes with the question.
using ImageShape = std::array<std::int64_t, 3>;

/// "64 x 12 x 12"
std::string to_text(const ImageShape &shape);
std::int64_t elements(const ImageShape &shape);

/// An operator as a file has it. What its kind does not use is absent.
struct Operator {
    std::string name;
    OperatorKind kind = OperatorKind::relu;
    std::vector<std::string> from;       ///< names of operators, or "input"; empty: the operator before it
    std::optional<std::int64_t> outputs; ///< convolution: filters; dense: outputs
    std::optional<std::array<std::int64_t, 2>> window; ///< rows, columns of a filter or of a pooling window
    std::optional<std::array<std::int64_t, 2>>
        stride;                                     ///< absent: 1 of a convolution, the window of a pooling
    std::optional<std::array<std::int64_t, 2>> pad; ///< absent: 0
    ImageShape output{};                            ///< checked against what the inputs give
    BOOST_DESCRIBE_CLASS(Operator, (), (name, kind, from, outputs, window, stride, pad, output), (), ())

    static constexpr Range range_of(std::string_view) { return {0.0, 1e9}; }
};

/// The shape that an operator gives for these inputs, or a sentence on why it has none: a number of inputs
/// that its kind does not take, a window that does not fit, a field that is missing or not its own.
struct ShapeAnswer {
    std::optional<ImageShape> shape;
    std::string field;   ///< of the operator, "" for all of it
    std::string problem; ///< with an example; empty where there is a shape
};
ShapeAnswer output_shape(const Operator &op, const std::vector<ImageShape> &inputs);

/// Numbers that training changes: filters, weights or biases. 0 for the other kinds.
std::int64_t parameters(const Operator &op, const ImageShape &input);

/// The convolution that a convolution or dense operator is; absent for other kinds.
std::optional<ConvShape> as_convolution(const Operator &op, const ImageShape &input, std::int64_t batch);

/// Whether an operator computes each output from the elements of its inputs at the same place, so that it can
/// be done where they are written.
bool is_elementwise(OperatorKind kind);

/// What an operator does for a batch: multiply-adds, and the bytes of inputs, parameters and outputs, each
/// moved once. Comparisons and additions without a product are not counted.
Work work_of(const Operator &op, const std::vector<ImageShape> &inputs, std::int64_t batch);

} // namespace convcast
