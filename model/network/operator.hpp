// An operator of a network: what it computes, from which tensors, and the shape of its output.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/describe.hpp"
#include "model/shape/conv_shape.hpp"

#include <boost/describe.hpp>
#include <boost/mp11.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

/// Each is a row of model/network/operators, which says what it computes.
enum class OperatorKind {
    convolution,            ///< cross-correlation with filters of the input channels of a group, no bias
    transposed_convolution, ///< the gradient of a convolution by its input: filters spread each pixel
    dense,                  ///< every output from every input: a 1 x 1 convolution of the flattened image
    bias,                   ///< adds one number per channel
    scale,                  ///< multiplies by one number per channel
    relu,                   ///< max(x, 0)
    leaky_relu,             ///< x where it is positive, else alpha x
    clip,                   ///< x within low and high
    logistic,               ///< 1 / (1 + exp(-x))
    hard_logistic,          ///< alpha x + beta within 0 and 1
    hard_swish,             ///< x times hard_logistic(x) of 1/6 and 1/2
    silu,                   ///< x times logistic(x)
    gelu,                   ///< x times the normal distribution up to x
    tanh,                   ///< hyperbolic tangent
    erf,                    ///< error function
    linear,                 ///< alpha x + beta
    add,                    ///< sum of two tensors; of a size of 1 in the second its number stands for all
    multiply,               ///< product of two tensors, likewise
    max_pooling,            ///< largest of each window; pixels outside the image do not count
    average_pooling,        ///< mean of each window, pixels outside the image count as 0 or not at all
    softmax,                ///< over all numbers of an image
    layer_norm,             ///< over the channels of a pixel: mean 0, variance 1
    concat,                 ///< the channels of several tensors behind each other
    slice,                  ///< a part of a tensor
    transpose,              ///< the numbers of an image in another order
    reshape,                ///< the same numbers under other sizes
    pad,                    ///< more pixels around the image
    resize,                 ///< rows and columns to other numbers of them
    unknown,                ///< moves its inputs and its output, nothing else is known
    half_squared_error,     ///< 1/2 sum (target - x)^2 of an image
    cross_entropy,          ///< -log softmax(x)[label] of an image; stays the last
};
BOOST_DESCRIBE_ENUM(OperatorKind, convolution, transposed_convolution, dense, bias, scale, relu, leaky_relu,
                    clip, logistic, hard_logistic, hard_swish, silu, gelu, tanh, erf, linear, add, multiply,
                    max_pooling, average_pooling, softmax, layer_norm, concat, slice, transpose, reshape, pad,
                    resize, unknown, half_squared_error, cross_entropy)
static_assert(boost::mp11::mp_size<boost::describe::describe_enumerators<OperatorKind>>::value ==
                  static_cast<std::size_t>(OperatorKind::cross_entropy) + 1,
              "BOOST_DESCRIBE_ENUM names every kind, and cross_entropy is the last");

/// Where in the input of a resize a row (or column) of its output lies.
enum class ResizeMode {
    nearest,          ///< row y is row floor(y in / out) of `in` rows of the input, with `out` of the output
    bilinear,         ///< pixels are squares, and their middles lie in proportion
    bilinear_corners, ///< the first and last rows of both lie on each other
    bilinear_asymmetric, ///< row y lies at y in / out: only the first rows lie on each other
};
BOOST_DESCRIBE_ENUM(ResizeMode, nearest, bilinear, bilinear_corners, bilinear_asymmetric)

/// Channels, rows and columns of one image's tensor; the batch comes with the question.
using ImageShape = std::array<std::int64_t, 3>;

/// "64 x 12 x 12"
std::string to_text(const ImageShape &shape);
std::int64_t elements(const ImageShape &shape);

/// Rows and columns.
using TwoSizes = std::array<std::int64_t, 2>;

/// An operator as a network's file has it. Fields that its kind does not use are absent.
struct Operator {
    std::string name{};
    OperatorKind kind = OperatorKind::relu;
    std::vector<std::string> from{};       ///< names of operators, or "input"; empty: the operator before it
    std::optional<std::int64_t> outputs{}; ///< convolution: filters; dense: outputs
    std::optional<TwoSizes> window{};      ///< of a filter or of a pooling window
    std::optional<TwoSizes> stride{};      ///< absent: 1 of a convolution, the window of a pooling
    std::optional<TwoSizes> pad{};         ///< above and at the left; absent: 0
    std::optional<TwoSizes> pad_end{};     ///< below and at the right; absent: as `pad`
    std::optional<TwoSizes> dilation{};    ///< absent: 1
    std::optional<std::int64_t> groups{};  ///< of a convolution; absent: 1
    std::optional<bool> inside{}; ///< a mean is over the pixels inside the image; absent: over the window
    std::optional<double> low{}, high{}, alpha{}, beta{}; ///< OperatorKind says which kinds have them
    std::optional<ImageShape> begin{}, step{}; ///< of a slice: its first number; the distance to the next
    /// Of a transpose: the sizes of the input's axes, and of the output which of them its axis i is.
    std::optional<std::vector<std::int64_t>> sizes{}, order{};
    std::optional<ResizeMode> mode{};
    std::optional<std::string> node{}; ///< what ONNX calls an unknown operator
    ImageShape output{};               ///< checked against what the inputs give
    CONVCAST_MEMBERS(Operator, name, kind, from, outputs, window, stride, pad, pad_end, dilation, groups,
                     inside, low, high, alpha, beta, begin, step, sizes, order, mode, node, output)

    static constexpr std::optional<Range> range_of(std::string_view field) {
        for (const char *real : {"low", "high", "alpha", "beta"})
            if (field == real)
                return Range{-3.5e38, 3.5e38}; // a float's
        return Range{0.0, 1e9};                // above this only broken files come
    }

    TwoSizes stride_or_default() const;
    TwoSizes pad_or_none() const { return pad.value_or(TwoSizes{0, 0}); }
    TwoSizes pad_end_or_same() const { return pad_end.value_or(pad_or_none()); }
};

/// The shape of an operator's output, or a sentence on why it has none: a number of inputs that its kind does
/// not take, a window that does not fit, a field that is missing or not its own.
struct ShapeAnswer {
    std::optional<ImageShape> shape;
    std::string field;   ///< that the problem is of; "": of the whole operator
    std::string problem; ///< a sentence with an example; empty if there is a shape
};
ShapeAnswer output_shape(const Operator &op, const std::vector<ImageShape> &inputs);

/// How many numbers training changes: of filters, weights, biases or scales. 0 for other kinds.
std::int64_t parameters(const Operator &op, const ImageShape &input);

/// The shape of a convolution, or of the 1 x 1 convolution that a dense layer is; absent for other kinds.
std::optional<ConvShape> as_convolution(const Operator &op, const ImageShape &input, std::int64_t batch);

/// The windows of an operator over a channel, as those of a convolution. pad_end is left out.
ConvShape window_shape(const Operator &op, const ImageShape &input);

/// Whether an operator computes each output from the elements of its inputs at the same place, so that a
/// launch which writes them can do it before it stores.
bool is_elementwise(OperatorKind kind);

/// Whether an operator is a loss, with which training ends.
bool is_loss(OperatorKind kind);

/// Multiply-adds for `batch` images. Comparisons and additions without a product are not counted.
double fmas_of(const Operator &op, const ImageShape &input, std::int64_t batch);

/// Floating-point operations for `batch` images: two for each multiply-add, and OperatorType::operations.
double operations_of(const Operator &op, const ImageShape &input, std::int64_t batch);

/// Bytes that an operator reads of such an input for `batch` images: all, or the part of a slice.
double read_bytes(const Operator &op, const ImageShape &input, std::int64_t batch);

} // namespace convcast
