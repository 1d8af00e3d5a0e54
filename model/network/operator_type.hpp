// What a kind of operator is: its fields, its shape, what it computes on the CPU and as device code. One row
// a kind, in the files of model/network/operators; docs/add_an_operator.md.
#pragma once

#include "model/network/operator.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// What an operator reads for one image, computed in double on the CPU. Tensors are channels first.
struct OperatorStep {
    const Operator &op;
    std::vector<ImageShape> in_shapes;
    std::vector<const double *> in; ///< one for each shape
    const std::vector<double> &parameters;
    std::optional<std::uint8_t> label; ///< of the image; absent if the network has no loss

    const ImageShape &in_shape() const { return in_shapes.front(); }
    std::int64_t inputs() const { return elements(in_shapes.front()); } ///< numbers of the first input
    std::int64_t outputs() const { return elements(op.output); }
};

/// Where an operator's `backward` adds the derivatives of an image's loss.
struct OperatorBackward {
    std::vector<double *> by_in;        ///< by the numbers of each input
    std::vector<double> &by_parameters; ///< by its parameters
};

/// How an operator is computed on the device.
enum class DeviceForm {
    own,     ///< by kernels of its own, or none
    element, ///< `device` is an expression of an output: x the first input there, y the second, p the
             ///< channel's parameter
    gather,  ///< `device` is a function's body: it returns the output at c, y, x of what it reads from in[0],
             ///< in[1] ...
    copy,    ///< like `gather`, but it returns the address of that output in an input, behind which the next
             ///< outputs of the channel lie
};

/// Whether `device` is the body of a function of c, y, x.
inline bool is_function(DeviceForm form) {
    return form == DeviceForm::gather || form == DeviceForm::copy;
}

/// A kind of operator. A function that is nullptr is "absent".
struct OperatorType {
    OperatorKind kind = OperatorKind::relu;
    std::vector<const char *> needs; ///< fields that must be there, beside name, kind, from and output
    std::vector<const char *> takes; ///< fields that may be there
    std::size_t least_inputs = 1, most_inputs = 1;

    /// The output's shape, asked with all that the kind needs. Absent: the shape of the input.
    ShapeAnswer (*shape)(const Operator &op, const std::vector<ImageShape> &inputs) = nullptr;
    /// Numbers that training changes. Absent: none.
    std::int64_t (*parameters)(const Operator &op, const ImageShape &input) = nullptr;

    /// Multiply-adds of an image, two operations each. Absent: none.
    double (*multiply_adds)(const Operator &op, const ImageShape &input) = nullptr;
    /// Its other floating-point operations for each number of the output. A comparison is one, and so is a
    /// function such as exp. Absent: none.
    double (*operations)(const Operator &op, const ImageShape &input) = nullptr;

    /// Instructions of `device` for a number of the output, as compiled for floats on sm_90.
    double instructions = 1.0;

    /// Computes one image. Absent: nothing computes the kind.
    void (*forward)(const OperatorStep &step, double *out) = nullptr;
    /// Adds to `back` the derivatives of the loss: `out` is what forward gave, `by_out` are the derivatives
    /// by it. Absent: no network that trains has this kind.
    void (*backward)(const OperatorStep &step, const double *out, const double *by_out,
                     const OperatorBackward &back) = nullptr;

    DeviceForm form = DeviceForm::own;
    /// Text of device code over T, which is float where a network runs and double where it is checked. A
    /// gather has the sizes of its first input in C, H, W, of its output in K, P, Q, its parameters in p.
    std::string (*device)(const Operator &op, const std::vector<ImageShape> &inputs) = nullptr;
};

/// The answer of `shape` that a window does not fit its input.
ShapeAnswer too_large_window(const Operator &op, const ImageShape &input);

/// OperatorType::operations of a kind that does N for each number.
template <int N> double each(const Operator &, const ImageShape &) {
    return N;
}

/// The row of a kind.
const OperatorType &type_of(OperatorKind kind);

/// A number as device code: "T(0.5)".
std::string device_number(double value);

} // namespace convcast
