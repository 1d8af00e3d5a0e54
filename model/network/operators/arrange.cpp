// Operators that only move numbers: concat, slice, transpose, reshape, pad, and those that are unknown.
#include "model/network/operator_type.hpp"

#include "every_operator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace convcast {
namespace {

// ---- concat ----

ShapeAnswer concat_shape(const Operator &, const std::vector<ImageShape> &inputs) {
    ImageShape out = inputs.front();
    out[0] = 0;
    for (const ImageShape &input : inputs) {
        if (input[1] != out[1] || input[2] != out[2])
            return {std::nullopt, "from",
                    "concat needs maps of one size, found " + to_text(inputs.front()) + " and " +
                        to_text(input)};
        out[0] += input[0];
    }
    return {out, "", ""};
}

void concat_forward(const OperatorStep &step, double *out) {
    for (std::size_t i = 0; i < step.in.size(); ++i)
        out = std::copy(step.in[i], step.in[i] + elements(step.in_shapes[i]), out);
}

/// Device code that returns the number of a concat's output at channel c, which lies in one of the inputs
/// `first` to `end` - 1. begins[i]: first channel of input i. It looks for the input by halves: of the code
/// for many inputs a warp runs little.
std::string input_of_channel(const std::vector<std::int64_t> &begins, std::size_t first, std::size_t end) {
    if (end - first == 1)
        return fmt::format("\n    return in[{}] + ((c - {}) * P + y) * Q + x;", first, begins[first]);
    const std::size_t middle = (first + end) / 2;
    return fmt::format("\n    if (c < {}) {{{}\n    }}{}", begins[middle],
                       input_of_channel(begins, first, middle), input_of_channel(begins, middle, end));
}

std::string concat_device(const Operator &, const std::vector<ImageShape> &inputs) {
    std::vector<std::int64_t> begins{0};
    for (std::size_t i = 1; i < inputs.size(); ++i)
        begins.push_back(begins.back() + inputs[i - 1][0]);
    return input_of_channel(begins, 0, begins.size());
}

// ---- slice ----

ImageShape slice_step(const Operator &op) {
    return op.step.value_or(ImageShape{1, 1, 1});
}

ShapeAnswer slice_shape(const Operator &op, const std::vector<ImageShape> &inputs) {
    for (std::size_t i = 0; i < 3; ++i)
        if (slice_step(op)[i] < 1 || op.output[i] < 1 ||
            (*op.begin)[i] + (op.output[i] - 1) * slice_step(op)[i] >= inputs.front()[i])
            return {std::nullopt, "begin",
                    "the slice from " + to_text(*op.begin) + " leaves its input of " +
                        to_text(inputs.front()) +
                        "; expected a part of it, for example \"begin\": [0, 0, 0]"};
    return {op.output, "", ""};
}

void slice_forward(const OperatorStep &step, double *out) {
    const ImageShape &in = step.in_shape(), &to = step.op.output, &begin = *step.op.begin,
                     by = slice_step(step.op);
    for (std::int64_t c = 0; c < to[0]; ++c)
        for (std::int64_t y = 0; y < to[1]; ++y)
            for (std::int64_t x = 0; x < to[2]; ++x)
                *out++ = step.in[0][((begin[0] + c * by[0]) * in[1] + begin[1] + y * by[1]) * in[2] +
                                    begin[2] + x * by[2]];
}

std::string slice_device(const Operator &op, const std::vector<ImageShape> &) {
    const ImageShape &begin = *op.begin, by = slice_step(op);
    return fmt::format("\n    return in[0][(({} + c * {}) * H + {} + y * {}) * W + {} + x * {}];", begin[0],
                       by[0], begin[1], by[1], begin[2], by[2]);
}

// ---- transpose and reshape ----

/// The product of sizes; 0 beyond 2^31, which no tensor has.
std::int64_t product(const std::vector<std::int64_t> &sizes) {
    constexpr double most = 2147483648.0; // 2^31
    const double all =
        std::accumulate(sizes.begin(), sizes.end(), 1.0, [](double product, std::int64_t size) {
            return product * static_cast<double>(size);
        });
    return all <= most ? static_cast<std::int64_t>(all) : 0;
}

ShapeAnswer transpose_shape(const Operator &op, const std::vector<ImageShape> &inputs) {
    std::vector<std::int64_t> places = *op.order;
    std::sort(places.begin(), places.end());
    bool each_once = places.size() == op.sizes->size() && !places.empty();
    for (std::size_t i = 0; each_once && i < places.size(); ++i)
        each_once = places[i] == static_cast<std::int64_t>(i);
    const bool bounded =
        std::all_of(op.sizes->begin(), op.sizes->end(), [](std::int64_t size) { return size > 0; });
    if (!each_once || places.size() > 8) // chosen: each axis is a division in the kernel
        return {std::nullopt, "order",
                "expected each number from 0 on once, one for each of \"sizes\", for example [1, 0, 2, 3]"};
    if (!bounded || product(*op.sizes) != elements(inputs.front()) ||
        elements(op.output) != elements(inputs.front()))
        return {std::nullopt, "sizes",
                "expected sizes and an output of as many numbers as the input of " + to_text(inputs.front()) +
                    " has"};
    return {op.output, "", ""};
}

/// By axis of the output, how far apart two neighbours along it lie in the input.
std::vector<std::int64_t> strides_of(const Operator &op) {
    std::vector<std::int64_t> strides;
    for (const std::int64_t place : *op.order)
        strides.push_back(product({op.sizes->begin() + place + 1, op.sizes->end()}));
    return strides;
}

/// The place of a number in the input: its index along each axis of the output times that of strides_of.
void transpose_forward(const OperatorStep &step, double *out) {
    const std::vector<std::int64_t> strides = strides_of(step.op);
    for (std::int64_t i = 0; i < step.outputs(); ++i) {
        std::int64_t rest = i, from = 0; // place in the input of number i of the output
        for (std::size_t d = strides.size(); d-- > 0;) {
            const std::int64_t size = (*step.op.sizes)[static_cast<std::size_t>((*step.op.order)[d])];
            from += rest % size * strides[d];
            rest /= size;
        }
        out[i] = step.in[0][from];
    }
}

std::string transpose_device(const Operator &op, const std::vector<ImageShape> &) {
    const std::vector<std::int64_t> strides = strides_of(op);
    std::string text = "\n    int rest = (c * P + y) * Q + x, from = 0;";
    for (std::size_t d = strides.size(); d-- > 0;) {
        const std::int64_t size = (*op.sizes)[static_cast<std::size_t>((*op.order)[d])];
        text += fmt::format("\n    from += rest % {} * {}, rest /= {};", size, strides[d], size);
    }
    return text + "\n    return in[0][from];";
}

ShapeAnswer reshape_shape(const Operator &op, const std::vector<ImageShape> &inputs) {
    if (elements(op.output) != elements(inputs.front()))
        return {std::nullopt, "output",
                "expected as many numbers as the input of " + to_text(inputs.front()) + " has"};
    return {op.output, "", ""};
}

void same_forward(const OperatorStep &step, double *out) {
    std::copy(step.in[0], step.in[0] + step.inputs(), out);
}

// ---- pad ----

ShapeAnswer pad_shape(const Operator &op, const std::vector<ImageShape> &inputs) {
    ImageShape out = inputs.front();
    for (std::size_t i = 0; i < 2; ++i)
        out[i + 1] += op.pad_or_none()[i] + op.pad_end_or_same()[i];
    return {out, "", ""};
}

void pad_forward(const OperatorStep &step, double *out) {
    const ImageShape &in = step.in_shape(), &to = step.op.output;
    const TwoSizes pad = step.op.pad_or_none();
    for (std::int64_t c = 0; c < to[0]; ++c)
        for (std::int64_t y = -pad[0]; y < to[1] - pad[0]; ++y)
            for (std::int64_t x = -pad[1]; x < to[2] - pad[1]; ++x)
                *out++ = y >= 0 && y < in[1] && x >= 0 && x < in[2] ? step.in[0][(c * in[1] + y) * in[2] + x]
                                                                    : step.op.alpha.value_or(0.0);
}

std::string pad_device(const Operator &op, const std::vector<ImageShape> &) {
    return fmt::format("\n    const int h = y - {}, w = x - {};\n"
                       "    return h >= 0 && h < H && w >= 0 && w < W ? in[0][(c * H + h) * W + w] : {};",
                       op.pad_or_none()[0], op.pad_or_none()[1], device_number(op.alpha.value_or(0.0)));
}

/// The shape that the file says.
ShapeAnswer any_shape(const Operator &op, const std::vector<ImageShape> &) {
    return {op.output, "", ""};
}

/// The row of a kind without parameters. `device` may be nullptr: no kernel computes it.
OperatorType moving(OperatorKind kind,
                    ShapeAnswer (*shape)(const Operator &, const std::vector<ImageShape> &),
                    void (*forward)(const OperatorStep &, double *),
                    std::string (*device)(const Operator &, const std::vector<ImageShape> &)) {
    OperatorType row;
    row.kind = kind;
    row.shape = shape;
    row.forward = forward;
    row.form = device ? DeviceForm::gather : DeviceForm::own;
    row.device = device;
    return row;
}

} // namespace

std::vector<OperatorType> operators::arrange() {
    constexpr std::size_t most_inputs = 1000; // chosen: far more than a concat of a known network has
    std::vector<OperatorType> rows;
    rows.push_back(moving(OperatorKind::concat, concat_shape, concat_forward, concat_device));
    rows.back().most_inputs = most_inputs, rows.back().form = DeviceForm::copy;
    rows.push_back(moving(OperatorKind::slice, slice_shape, slice_forward, slice_device));
    rows.back().needs = {"begin"}, rows.back().takes = {"step"};
    rows.push_back(moving(OperatorKind::transpose, transpose_shape, transpose_forward, transpose_device));
    rows.back().needs = {"sizes", "order"};
    rows.push_back(moving(OperatorKind::reshape, reshape_shape, same_forward,
                          [](const Operator &, const std::vector<ImageShape> &) -> std::string {
                              return "\n    return in[0] + (c * P + y) * Q + x;";
                          }));
    rows.back().form = DeviceForm::copy;
    rows.push_back(moving(OperatorKind::pad, pad_shape, pad_forward, pad_device));
    rows.back().needs = {"pad"}, rows.back().takes = {"pad_end", "alpha"};
    rows.push_back(moving(OperatorKind::unknown, any_shape, nullptr, nullptr));
    rows.back().most_inputs = most_inputs;
    rows.back().needs = {"node"};
    return rows;
}

} // namespace convcast
