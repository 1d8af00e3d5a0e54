#include "model/network/operator.hpp"

#include "model/base/errors.hpp"
#include "model/network/operator_type.hpp"

#include "every_operator.hpp"

#include <boost/describe/enum_to_string.hpp>
#include <boost/mp11.hpp>

#include <fmt/format.h>

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

std::string name_of(OperatorKind kind) {
    return boost::describe::enum_to_string(kind, "?");
}

bool is_pooling(OperatorKind kind) {
    return kind == OperatorKind::max_pooling || kind == OperatorKind::average_pooling;
}

/// Calls visit(name, whether it is there) for each field that only some kinds have.
template <class Visit> void for_optional_fields(const Operator &op, const Visit &visit) {
    boost::mp11::mp_for_each<boost::describe::describe_members<Operator, boost::describe::mod_public>>(
        [&](auto member) {
            if constexpr (requires { (op.*member.pointer).has_value(); })
                visit(member.name, (op.*member.pointer).has_value());
        });
}

/// What a file may have for a field that some kind needs, for messages; "" for other fields.
const char *example_of(const std::string &field) {
    const std::array<std::array<const char *, 2>, 12> examples = {{{"outputs", "\"outputs\": 64"},
                                                                   {"window", "\"window\": [3, 3]"},
                                                                   {"low", "\"low\": 0"},
                                                                   {"high", "\"high\": 6"},
                                                                   {"alpha", "\"alpha\": 0.01"},
                                                                   {"beta", "\"beta\": 0.5"},
                                                                   {"begin", "\"begin\": [32, 0, 0]"},
                                                                   {"sizes", "\"sizes\": [2, 58, 28, 28]"},
                                                                   {"order", "\"order\": [1, 0, 2, 3]"},
                                                                   {"mode", "\"mode\": \"bilinear\""},
                                                                   {"pad", "\"pad\": [1, 1]"},
                                                                   {"node", "\"node\": \"Einsum\""}}};
    const auto found =
        std::find_if(examples.begin(), examples.end(), [&](const auto &each) { return field == each[0]; });
    return found == examples.end() ? "" : (*found)[1];
}

/// A field that an operator lacks, has without a use, or has with a size below 1; absent if there is none.
std::optional<ShapeAnswer> wrong_fields(const OperatorType &type, const Operator &op) {
    std::optional<ShapeAnswer> wrong;
    const auto is_of = [](const std::vector<const char *> &fields, const std::string &field) {
        return std::find(fields.begin(), fields.end(), field) != fields.end();
    };
    for_optional_fields(op, [&](const std::string &field, bool there) {
        if (wrong)
            return;
        if (is_of(type.needs, field) && !there)
            wrong =
                ShapeAnswer{std::nullopt, "",
                            name_of(op.kind) + " needs \"" + field + "\", for example " + example_of(field)};
        else if (there && !is_of(type.needs, field) && !is_of(type.takes, field))
            wrong = ShapeAnswer{std::nullopt, field,
                                name_of(op.kind) + " has no \"" + field + "\"; leave it out"};
    });
    if (wrong)
        return wrong;
    if (op.outputs && *op.outputs < 1)
        return ShapeAnswer{std::nullopt, "outputs", "expected 1 or more, for example \"outputs\": 64"};
    if (op.groups && *op.groups < 1)
        return ShapeAnswer{std::nullopt, "groups", "expected 1 or more, for example \"groups\": 32"};
    for (const auto &[field, sizes] :
         {std::pair("window", op.window), std::pair("stride", op.stride), std::pair("dilation", op.dilation)})
        if (sizes && ((*sizes)[0] < 1 || (*sizes)[1] < 1))
            return ShapeAnswer{std::nullopt, field,
                               "expected 1 or more, for example \"" + std::string(field) + "\": [2, 2]"};
    return std::nullopt;
}

/// The rows of all files of model/network/operators.
std::vector<OperatorType> every_type() {
    std::vector<OperatorType> all;
    for (const auto &file : operators::every)
        for (OperatorType &type : file())
            all.push_back(std::move(type));
    return all;
}

} // namespace

const OperatorType &type_of(OperatorKind kind) {
    static const std::vector<OperatorType> types = [] {
        std::vector<OperatorType> by_kind;
        for (const OperatorType &type : every_type()) {
            const auto at = static_cast<std::size_t>(type.kind);
            by_kind.resize(std::max(by_kind.size(), at + 1));
            by_kind[at] = type;
        }
        return by_kind;
    }();
    return types.at(static_cast<std::size_t>(kind));
}

ShapeAnswer too_large_window(const Operator &op, const ImageShape &input) {
    return {
        std::nullopt, "window",
        fmt::format("a window of {} x {}{} does not fit its input of {}{}; a smaller one does, for example "
                    "[1, 1]",
                    (*op.window)[0], (*op.window)[1], op.dilation ? " with its dilation" : "", to_text(input),
                    op.pad ? " with its padding" : "")};
}

std::string device_number(double value) {
    return fmt::format("T({:.17g})", value);
}

std::string to_text(const ImageShape &shape) {
    return std::to_string(shape[0]) + " x " + std::to_string(shape[1]) + " x " + std::to_string(shape[2]);
}

std::int64_t elements(const ImageShape &shape) {
    return shape[0] * shape[1] * shape[2];
}

TwoSizes Operator::stride_or_default() const {
    if (stride)
        return *stride;
    return is_pooling(kind) ? *window : TwoSizes{1, 1};
}

ShapeAnswer output_shape(const Operator &op, const std::vector<ImageShape> &inputs) {
    const OperatorType &type = type_of(op.kind);
    if (inputs.size() < type.least_inputs || inputs.size() > type.most_inputs)
        return {std::nullopt, "from",
                name_of(op.kind) + " takes " +
                    (type.most_inputs == 1 ? "one input, for example \"from\": [\"relu1\"]"
                     : type.most_inputs == 2
                         ? "two inputs, for example \"from\": [\"bias2\", \"relu1\"]"
                         : "one input or more, for example \"from\": [\"relu1\", \"relu2\"]") +
                    ", found " + std::to_string(inputs.size())};
    if (auto wrong = wrong_fields(type, op))
        return *wrong;
    return type.shape ? type.shape(op, inputs) : ShapeAnswer{inputs.front(), "", ""};
}

std::int64_t parameters(const Operator &op, const ImageShape &input) {
    const OperatorType &type = type_of(op.kind);
    return type.parameters ? type.parameters(op, input) : 0;
}

std::optional<ConvShape> as_convolution(const Operator &op, const ImageShape &input, std::int64_t batch) {
    ConvShape shape;
    if (op.kind == OperatorKind::dense) {
        shape.c = elements(input);
    } else if (op.kind == OperatorKind::convolution) {
        shape = window_shape(op, input);
        shape.c = input[0];
    } else {
        return std::nullopt;
    }
    shape.n = batch, shape.k = *op.outputs;
    shape.validate();
    return shape;
}

ConvShape window_shape(const Operator &op, const ImageShape &input) {
    ConvShape shape;
    const TwoSizes pad = op.pad_or_none(), stride = op.stride_or_default(),
                   dilation = op.dilation.value_or(TwoSizes{1, 1});
    shape.h = input[1], shape.w = input[2];
    shape.r = (*op.window)[0], shape.s = (*op.window)[1];
    shape.stride_h = stride[0], shape.stride_w = stride[1];
    shape.pad_h = pad[0], shape.pad_w = pad[1];
    shape.dilation_h = dilation[0], shape.dilation_w = dilation[1];
    shape.groups = op.groups.value_or(1);
    return shape;
}

bool is_elementwise(OperatorKind kind) {
    return type_of(kind).form == DeviceForm::element;
}

bool is_loss(OperatorKind kind) {
    return kind == OperatorKind::half_squared_error || kind == OperatorKind::cross_entropy;
}

double read_bytes(const Operator &op, const ImageShape &input, std::int64_t batch) {
    const std::int64_t numbers =
        op.kind == OperatorKind::slice ? std::min(elements(op.output), elements(input)) : elements(input);
    return float_bytes * static_cast<double>(batch) * static_cast<double>(numbers);
}

double fmas_of(const Operator &op, const ImageShape &input, std::int64_t batch) {
    const OperatorType &type = type_of(op.kind);
    return type.multiply_adds ? static_cast<double>(batch) * type.multiply_adds(op, input) : 0.0;
}

double operations_of(const Operator &op, const ImageShape &input, std::int64_t batch) {
    const OperatorType &type = type_of(op.kind);
    const double others = type.operations ? type.operations(op, input) : 0.0;
    return static_cast<double>(batch) *
           (2.0 * fmas_of(op, input, 1) + others * static_cast<double>(elements(op.output)));
}

} // namespace convcast
