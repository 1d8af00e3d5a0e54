// Operators that work number by number: the launch that writes their input can do them before it stores.
#include "model/network/operator_type.hpp"

#include "every_operator.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace convcast {
namespace {

/// Device code of e^x and of a / b. Floats get CUDA's fast forms, whose error is at most 2 + 1.16 |x| and 2
/// ulp: in many networks such a function follows half of the convolutions.
std::string device_exp(const std::string &x) {
    return "(sizeof(T) == 4 ? T(__expf(float(" + x + "))) : exp(" + x + "))";
}
std::string device_quotient(const std::string &a, const std::string &b) {
    return "(sizeof(T) == 4 ? T(__fdividef(float(" + a + "), float(" + b + "))) : (" + a + ") / (" + b + "))";
}

double low_of(const Operator &op) {
    return op.low.value_or(-std::numeric_limits<double>::max());
}
double high_of(const Operator &op) {
    return op.high.value_or(std::numeric_limits<double>::max());
}
/// hard_logistic(x) of 1/6 and 1/2.
double hard(double x) {
    return std::clamp(x / 6.0 + 0.5, 0.0, 1.0);
}
double logistic(double x) {
    return 1.0 / (1.0 + std::exp(-x));
}

/// The row of a function of one number: `Value` computes it in double, `device` is its device code.
template <class Value>
OperatorType function(OperatorKind kind, std::vector<const char *> needs, std::vector<const char *> takes,
                      double (*operations)(const Operator &, const ImageShape &), Value,
                      std::string (*device)(const Operator &, const std::vector<ImageShape> &)) {
    OperatorType row;
    row.kind = kind;
    row.needs = std::move(needs), row.takes = std::move(takes);
    row.operations = operations;
    row.forward = [](const OperatorStep &step, double *out) {
        for (std::int64_t i = 0; i < step.outputs(); ++i)
            out[i] = Value{}(step.op, step.in[0][i]);
    };
    row.form = DeviceForm::element;
    row.device = device;
    return row;
}

/// Gives a row its backward, by the slope at x with the result y. Only what is trained has one.
template <class Slope> void set_slope(OperatorType &row, Slope) {
    row.backward = [](const OperatorStep &step, const double *out, const double *by_out,
                      const OperatorBackward &back) {
        for (std::int64_t i = 0; i < step.outputs(); ++i)
            back.by_in[0][i] += by_out[i] * Slope{}(step.in[0][i], out[i]);
    };
}

// ---- one number a channel ----

std::int64_t channels_of(const Operator &, const ImageShape &input) {
    return input[0];
}

/// `Operation` of each number and its channel's parameter: std::plus of a bias, std::multiplies of a scale.
template <class Operation> void by_channel(const OperatorStep &step, double *out) {
    const std::int64_t area = step.in_shape()[1] * step.in_shape()[2];
    for (std::int64_t i = 0; i < step.outputs(); ++i)
        out[i] = Operation{}(step.in[0][i], step.parameters[static_cast<std::size_t>(i / area)]);
}

void bias_back(const OperatorStep &step, const double *, const double *by_out, const OperatorBackward &back) {
    const std::int64_t area = step.in_shape()[1] * step.in_shape()[2];
    for (std::int64_t i = 0; i < step.outputs(); ++i) {
        back.by_in[0][i] += by_out[i];
        back.by_parameters[static_cast<std::size_t>(i / area)] += by_out[i];
    }
}

// ---- two tensors; a size of 1 in the second stands for any ----

ShapeAnswer joined_shape(const Operator &, const std::vector<ImageShape> &inputs) {
    for (std::size_t i = 0; i < 3; ++i)
        if (inputs[1][i] != inputs[0][i] && inputs[1][i] != 1)
            return {std::nullopt, "from",
                    "the second tensor needs the shape of the first, or 1 in place of a size, found " +
                        to_text(inputs[0]) + " and " + to_text(inputs[1])};
    return {inputs[0], "", ""};
}

/// `Operation` of both tensors' numbers at a place; a size of 1 in the second has one for all places.
template <class Operation> void joined(const OperatorStep &step, double *out) {
    const ImageShape &shape = step.op.output, &other = step.in_shapes[1];
    for (std::int64_t i = 0; i < step.outputs(); ++i) {
        const std::int64_t c = i / (shape[1] * shape[2]), y = i / shape[2] % shape[1], x = i % shape[2];
        const double value =
            step.in[1][((other[0] == 1 ? 0 : c) * other[1] + (other[1] == 1 ? 0 : y)) * other[2] +
                       (other[2] == 1 ? 0 : x)];
        out[i] = Operation{}(step.in[0][i], value);
    }
}

void add_back(const OperatorStep &step, const double *, const double *by_out, const OperatorBackward &back) {
    for (std::int64_t i = 0; i < step.outputs(); ++i) // networks that train add tensors of one shape
        back.by_in[0][i] += by_out[i], back.by_in[1][i] += by_out[i];
}

/// The row of an operator of two tensors.
OperatorType of_two(OperatorKind kind, void (*forward)(const OperatorStep &, double *),
                    std::string (*device)(const Operator &, const std::vector<ImageShape> &)) {
    OperatorType row;
    row.kind = kind;
    row.least_inputs = row.most_inputs = 2;
    row.shape = joined_shape;
    row.operations = each<1>;
    row.forward = forward;
    row.form = DeviceForm::element;
    row.device = device;
    return row;
}

// Beginnings of the lambdas of a row: its value in double, and its device code.
#define VALUE [](const Operator &op [[maybe_unused]], double x) -> double
#define DEVICE [](const Operator &op [[maybe_unused]], const std::vector<ImageShape> &) -> std::string

} // namespace

std::vector<OperatorType> operators::elementwise() {
    std::vector<OperatorType> rows;
    const auto add = [&](OperatorKind kind, std::vector<const char *> needs, std::vector<const char *> takes,
                         double (*operations)(const Operator &, const ImageShape &), auto value,
                         auto device) {
        rows.push_back(function(kind, std::move(needs), std::move(takes), operations, value, device));
    };
    // Instructions for each number on sm_90, counted in the cubin of a kernel that does nothing else
    // (docs/evidence.md, N3). Without a call it is 1.
    const auto compiled = [&](double instructions) { rows.back().instructions = instructions; };
    add(
        OperatorKind::relu, {}, {}, each<1>, VALUE { return std::max(x, 0.0); },
        DEVICE { return "max(x, T(0))"; });
    set_slope(rows.back(), [](double x, double) { return x > 0.0 ? 1.0 : 0.0; });
    add(
        OperatorKind::leaky_relu, {"alpha"}, {}, each<2>, VALUE { return x > 0.0 ? x : *op.alpha * x; },
        DEVICE { return "x > T(0) ? x : x * " + device_number(*op.alpha); });
    compiled(2.0);
    add(
        OperatorKind::clip, {}, {"low", "high"}, each<2>,
        VALUE { return std::min(std::max(x, low_of(op)), high_of(op)); },
        DEVICE {
            const std::string text = op.low ? "max(x, " + device_number(*op.low) + ")" : "x";
            return op.high ? "min(" + text + ", " + device_number(*op.high) + ")" : text;
        });
    compiled(2.0);
    add(
        OperatorKind::logistic, {}, {}, each<4>, VALUE { return logistic(x); },
        DEVICE { return device_quotient("T(1)", "T(1) + " + device_exp("-x")); });
    compiled(7.0);
    set_slope(rows.back(), [](double, double y) { return y * (1.0 - y); });
    add(
        OperatorKind::hard_logistic, {"alpha", "beta"}, {}, each<4>,
        VALUE { return std::clamp(*op.alpha * x + *op.beta, 0.0, 1.0); },
        DEVICE {
            return "min(max(x * " + device_number(*op.alpha) + " + " + device_number(*op.beta) +
                   ", T(0)), T(1))";
        });
    compiled(2.0);
    add(
        OperatorKind::hard_swish, {}, {}, each<5>, VALUE { return x * hard(x); },
        DEVICE { return "x * min(max(x * T(1.0 / 6.0) + T(0.5), T(0)), T(1))"; });
    compiled(3.0);
    add(
        OperatorKind::silu, {}, {}, each<4>, VALUE { return x * logistic(x); },
        DEVICE { return device_quotient("x", "T(1) + " + device_exp("-x")); });
    compiled(8.0);
    add(
        OperatorKind::gelu, {}, {}, each<5>, VALUE { return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0))); },
        DEVICE { return "T(0.5) * x * (T(1) + erf(x * T(0.70710678118654752)))"; });
    compiled(32.0);
    add(
        OperatorKind::tanh, {}, {}, each<1>, VALUE { return std::tanh(x); }, DEVICE { return "tanh(x)"; });
    compiled(17.0);
    add(
        OperatorKind::erf, {}, {}, each<1>, VALUE { return std::erf(x); }, DEVICE { return "erf(x)"; });
    compiled(29.0);
    add(
        OperatorKind::linear, {}, {"alpha", "beta"}, each<2>,
        VALUE { return op.alpha.value_or(1.0) * x + op.beta.value_or(0.0); },
        DEVICE {
            return "x * " + device_number(op.alpha.value_or(1.0)) + " + " +
                   device_number(op.beta.value_or(0.0));
        });

    OperatorType of_channel; // bias and scale
    of_channel.parameters = channels_of;
    of_channel.operations = each<1>;
    of_channel.form = DeviceForm::element;
    rows.insert(rows.end(), 2, of_channel);
    OperatorType &bias = rows[rows.size() - 2], &scale = rows.back();
    bias.kind = OperatorKind::bias, scale.kind = OperatorKind::scale;
    bias.forward = by_channel<std::plus<>>, scale.forward = by_channel<std::multiplies<>>;
    bias.backward = bias_back;
    bias.device = DEVICE {
        return "x + p";
    };
    scale.device = DEVICE {
        return "x * p";
    };

    rows.push_back(of_two(
        OperatorKind::add, joined<std::plus<>>, DEVICE { return "x + y"; }));
    rows.back().backward = add_back;
    rows.push_back(of_two(
        OperatorKind::multiply, joined<std::multiplies<>>, DEVICE { return "x * y"; }));
    return rows;
}

#undef VALUE
#undef DEVICE

} // namespace convcast
