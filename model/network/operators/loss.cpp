// Losses, with which training ends. No network is run with them from images to outputs.
#include "model/network/operator_type.hpp"

#include "every_operator.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace convcast {
namespace {

ShapeAnswer one_number(const Operator &, const std::vector<ImageShape> &) {
    return {ImageShape{1, 1, 1}, "", ""};
}

/// 1 for output i of the image's class, 0 for the others.
double target(const OperatorStep &step, std::int64_t i) {
    return i == *step.label ? 1.0 : 0.0;
}

void squares(const OperatorStep &step, double *out) {
    *out = 0.0;
    for (std::int64_t i = 0; i < step.inputs(); ++i)
        *out += 0.5 * (target(step, i) - step.in[0][i]) * (target(step, i) - step.in[0][i]);
}

void squares_back(const OperatorStep &step, const double *, const double *by_out,
                  const OperatorBackward &back) {
    for (std::int64_t i = 0; i < step.inputs(); ++i)
        back.by_in[0][i] += *by_out * (step.in[0][i] - target(step, i));
}

/// The softmax of a loss's input.
std::vector<double> softmax_of(const OperatorStep &step) {
    std::vector<double> shares(static_cast<std::size_t>(step.inputs()));
    type_of(OperatorKind::softmax).forward(step, shares.data());
    return shares;
}

void entropy(const OperatorStep &step, double *out) {
    *out = -std::log(softmax_of(step)[*step.label]);
}

void entropy_back(const OperatorStep &step, const double *, const double *by_out,
                  const OperatorBackward &back) {
    const std::vector<double> shares = softmax_of(step);
    for (std::int64_t i = 0; i < step.inputs(); ++i)
        back.by_in[0][i] += *by_out * (shares[static_cast<std::size_t>(i)] - target(step, i));
}

} // namespace

std::vector<OperatorType> operators::loss() {
    std::vector<OperatorType> rows(2);
    rows[0].kind = OperatorKind::half_squared_error;
    rows[0].shape = one_number;
    rows[0].operations = [](const Operator &, const ImageShape &input) {
        return 4.0 * static_cast<double>(elements(input)); // less the target, halved, squared, summed
    };
    rows[0].forward = squares, rows[0].backward = squares_back;
    rows[1].kind = OperatorKind::cross_entropy;
    rows[1].shape = one_number;
    rows[1].operations = [](const Operator &, const ImageShape &input) {
        return 5.0 * static_cast<double>(elements(input)); // as a softmax
    };
    rows[1].forward = entropy, rows[1].backward = entropy_back;
    return rows;
}

} // namespace convcast
