// Nodes that work number by number.
#include "model/network/onnx/importer.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast::onnx {
namespace {

constexpr double no_limit = 1e30; ///< a bound this far off bounds nothing: exporters write the largest float

/// A function of one number, with the defaults that ONNX gives its attributes.
template <OperatorKind kind> bool function(Importer &node) {
    const Value *in = node.tensor(0);
    if (!in || !node.known_from(1) || node.text("approximate") == "tanh" ||
        (node.type() == "Swish" && node.real("alpha", 1.0) != 1.0))
        return false;
    Operator op{.kind = kind};
    if (op.kind == OperatorKind::leaky_relu)
        op.alpha = node.real("alpha", 0.01);
    if (op.kind == OperatorKind::hard_logistic) {
        op.alpha = node.real("alpha", 0.2);
        op.beta = node.real("beta", 0.5);
    }
    if (op.kind == OperatorKind::clip) {
        const std::vector<double> low = node.given(1, "min"), high = node.given(2, "max");
        if (low.size() == 1 && std::abs(low[0]) < no_limit)
            op.low = low[0];
        if (high.size() == 1 && std::abs(high[0]) < no_limit)
            op.high = high[0];
    }
    return node.give(node.each(std::move(op), *in));
}

/// Whether an operator is 1 + erf(x / sqrt 2) of operator `x`: a GELU written out multiplies x by it.
bool is_normal_gate(Importer &node, const Operator &gate, const std::string &x) {
    constexpr double exact = 1e-5; // files have sqrt 2 rounded
    if (gate.kind != OperatorKind::linear || gate.alpha || gate.beta != 1.0)
        return false;
    const Operator *error = node.producer(gate.from.front());
    const Operator *root =
        error && error->kind == OperatorKind::erf ? node.producer(error->from.front()) : nullptr;
    return root && root->kind == OperatorKind::linear && !root->beta &&
           std::abs(root->alpha.value_or(1.0) - std::sqrt(0.5)) < exact &&
           root->from == std::vector<std::string>{x};
}

/// Takes a product as one function if it is of x and logistic(x), hard_logistic(x) or 1 + erf(x / sqrt 2).
bool activation(Importer &node, const Value &a, const Value &b) {
    for (const auto &[x, gate] : {std::pair(&a, &b), std::pair(&b, &a)}) {
        const Operator *op = node.producer(gate->of);
        if (!op || gate->view != x->view)
            continue;
        constexpr double exact = 1e-6; // files have 1/6 as a float
        const bool of_x = op->from == std::vector<std::string>{x->of};
        const bool hard = op->kind == OperatorKind::hard_logistic &&
                          std::abs(*op->alpha - 1.0 / 6.0) < exact && std::abs(*op->beta - 0.5) < exact;
        if (of_x && (op->kind == OperatorKind::logistic || hard)) {
            return node.give(node.each({.kind = hard ? OperatorKind::hard_swish : OperatorKind::silu}, *x));
        }
        if (is_normal_gate(node, *op, x->of)) { // x (1 + erf(x / sqrt 2)) is twice GELU
            return node.give(node.each({.kind = OperatorKind::linear, .alpha = 2.0},
                                       node.each({.kind = OperatorKind::gelu}, *x, ".gelu")));
        }
    }
    return false;
}

/// The sum or product of two tensors, number by number. One of them may have sizes of 1 where the other has
/// more; absent if each has, or if their ranks differ.
std::optional<Value> joined(Importer &node, OperatorKind kind, Value a, Value b) {
    if (a.view == b.view) {
        Value out = node.add({.kind = kind}, {a, node.with_shape(b, a.shape, ".sizes")});
        out.view = a.view;
        return out;
    }
    if (a.view.rank() != b.view.rank() || a.view.rank() > 4)
        return std::nullopt;
    a = node.plain(a), b = node.plain(b);
    const auto fits = [](const ImageShape &all, const ImageShape &part) {
        for (std::size_t i = 0; i < 3; ++i)
            if (part[i] != all[i] && part[i] != 1)
                return false;
        return true;
    };
    if (!fits(a.shape, b.shape))
        std::swap(a, b);
    if (!fits(a.shape, b.shape))
        return std::nullopt;
    Value out = node.add({.kind = kind}, {a, b});
    out.view = View::of_rank(a.view.rank(), out.shape);
    return out;
}

Value negative(Importer &node, const Value &value) {
    return node.each({.kind = OperatorKind::linear, .alpha = -1.0}, value, ".negative");
}

/// Add, Sub or Mul of two tensors.
bool two_tensors(Importer &node, const Value &a, const Value &b) {
    if (node.type() == "Div")
        return false;
    if (node.type() == "Mul" && activation(node, a, b))
        return true;
    const OperatorKind kind = node.type() == "Mul" ? OperatorKind::multiply : OperatorKind::add;
    std::optional<Value> out = joined(node, kind, a, node.type() == "Sub" ? negative(node, b) : b);
    return out && node.give(std::move(*out));
}

/// The value behind a linear function `op`. A factor directly behind another factor becomes one with it, or
/// vanishes if they make 1: so a GELU written out as (x gate) / 2 is one operator.
Value scaled(Importer &node, Operator op, const Value &value) {
    constexpr double exact = 1e-6; // both are floats
    const Operator *before = node.producer(value.of);
    if (!op.alpha || op.beta || !before || before->kind != OperatorKind::linear || before->beta)
        return node.each(std::move(op), value);
    op.alpha = *op.alpha * before->alpha.value_or(1.0);
    const Value from{before->from.front(), value.shape, value.view, {}};
    return std::abs(*op.alpha - 1.0) < exact ? from : node.each(std::move(op), from);
}

/// The value with a channel for each number of a constant: the value itself if the constant has one for each
/// channel, with every number as a channel if the constant has one for each number; else absent.
std::optional<Value> by_channel(Importer &node, const Value &value, const Numbers &constant) {
    const std::vector<std::int64_t> &sizes = constant.sizes;
    const std::size_t missing = value.view.rank() - sizes.size();
    std::vector<std::size_t> axes; // of the value, along which the constant has several numbers
    bool each_number = constant.count() == elements(value.shape);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        each_number = each_number && sizes[i] == value.view.size(missing + i);
        if (sizes[i] != 1)
            axes.push_back(missing + i);
    }
    if (axes.size() == 1 && constant.count() == value.shape[0] && value.has_channels_at(axes[0]))
        return value;
    return each_number ? std::optional(node.with_shape(value, {elements(value.shape), 1, 1}, ".numbers"))
                       : std::nullopt;
}

/// Add, Sub, Mul or Div of a tensor and a constant; `swapped`: the constant comes first. One number makes a
/// `linear`, a number for each channel a `bias` or `scale`.
bool with_constant(Importer &node, const Value &value, const Numbers &constant, bool swapped) {
    const bool product = node.type() == "Mul" || node.type() == "Div";
    if (constant.sizes.size() > value.view.rank())
        return false;
    if (constant.count() == 1) {
        if (!constant.known())
            return false;
        Operator op{.kind = OperatorKind::linear};
        const double number = constant.values.front();
        if (node.type() == "Div" && number == 0.0)
            return false;
        if (product)
            op.alpha = node.type() == "Div" ? 1.0 / number : number;
        else
            op.beta = node.type() == "Sub" && !swapped ? -number : number;
        if (node.type() == "Sub" && swapped)
            op.alpha = -1.0;
        return node.give(scaled(node, std::move(op), value));
    }
    std::optional<Value> to = by_channel(node, value, constant);
    if (!to)
        return false;
    if (node.type() == "Sub" && swapped)
        to = negative(node, *to);
    return node.give(node.with_shape(
        node.each({.kind = product ? OperatorKind::scale : OperatorKind::bias}, *to), value.shape, ".sizes"));
}

/// Add, Sub, Mul or Div.
bool of_two(Importer &node) {
    const Value *a = node.input(0), *b = node.input(1);
    if (!a || !b)
        return false;
    if (a->is_tensor() && b->is_tensor())
        return two_tensors(node, *a, *b);
    const bool swapped = !a->is_tensor();
    if (swapped && node.type() == "Div")
        return false;
    return with_constant(node, swapped ? *b : *a, swapped ? a->constant : b->constant, swapped);
}

/// Pow by 1, or by 2: a product of the tensor with itself.
bool power(Importer &node) {
    const Value *value = node.tensor(0);
    const Numbers *exponent = node.constant(1);
    if (!value || !exponent || exponent->count() != 1 || !exponent->known())
        return false;
    if (exponent->values.front() == 1.0)
        return node.give(*value);
    if (exponent->values.front() != 2.0)
        return false;
    std::optional<Value> out = joined(node, OperatorKind::multiply, *value, *value);
    return out && node.give(std::move(*out));
}

/// The sum of all inputs.
bool sum(Importer &node) {
    std::optional<Value> out;
    for (std::size_t i = 0; i < node.inputs(); ++i) {
        if (!node.tensor(i))
            return false;
        out =
            i == 0 ? std::optional(*node.tensor(i)) : joined(node, OperatorKind::add, *out, *node.tensor(i));
        if (!out)
            return false;
    }
    return out && node.give(std::move(*out));
}

/// Max or Min of one tensor and numbers.
bool bound(Importer &node) {
    const Value *value = nullptr;
    Operator op{.kind = OperatorKind::clip};
    const bool least = node.type() == "Max";
    for (std::size_t i = 0; i < node.inputs(); ++i) {
        if (node.tensor(i) && !value) {
            value = node.tensor(i);
            continue;
        }
        const Numbers *constant = node.constant(i);
        if (!constant || constant->values.size() != 1 || !constant->known())
            return false;
        const double number = constant->values.front();
        if (std::abs(number) >= no_limit)
            continue;
        if (least)
            op.low = std::max(op.low.value_or(number), number);
        else
            op.high = std::min(op.high.value_or(number), number);
    }
    if (!value)
        return false;
    return node.give(op.low || op.high ? node.each(std::move(op), *value) : *value);
}

} // namespace

const Takes &element_nodes() {
    using Kind = OperatorKind;
    static const Takes all = {{"Relu", function<Kind::relu>},
                              {"LeakyRelu", function<Kind::leaky_relu>},
                              {"Sigmoid", function<Kind::logistic>},
                              {"HardSigmoid", function<Kind::hard_logistic>},
                              {"HardSwish", function<Kind::hard_swish>},
                              {"Swish", function<Kind::silu>},
                              {"Gelu", function<Kind::gelu>},
                              {"Tanh", function<Kind::tanh>},
                              {"Erf", function<Kind::erf>},
                              {"Clip", function<Kind::clip>},
                              {"Add", of_two},
                              {"Sub", of_two},
                              {"Mul", of_two},
                              {"Div", of_two},
                              {"Pow", power},
                              {"Sum", sum},
                              {"Max", bound},
                              {"Min", bound}};
    return all;
}

} // namespace convcast::onnx
