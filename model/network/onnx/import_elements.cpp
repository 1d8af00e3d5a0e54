// Nodes that work number by number.
#include "model/network/onnx/importer.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast::onnx {

bool Importer::function(OperatorKind kind) {
    const Value *in = tensor(0);
    if (!in || !known_from(1) || attribute_text(*node_, "approximate") == "tanh" ||
        (node_->type == "Swish" && attribute(*node_, "alpha", {1.0}).front() != 1.0))
        return false;
    Operator op{.kind = kind};
    if (op.kind == OperatorKind::leaky_relu)
        op.alpha = attribute(*node_, "alpha", {0.01}).front();
    if (op.kind == OperatorKind::hard_logistic) {
        op.alpha = attribute(*node_, "alpha", {0.2}).front();
        op.beta = attribute(*node_, "beta", {0.5}).front();
    }
    if (op.kind == OperatorKind::clip) {
        const std::vector<double> low = given(1, "min"), high = given(2, "max");
        if (low.size() == 1 && std::abs(low[0]) < 1e30)
            op.low = low[0];
        if (high.size() == 1 && std::abs(high[0]) < 1e30)
            op.high = high[0];
    }
    return give(each(std::move(op), *in));
}

bool Importer::of_two() {
    const Value *a = input(0), *b = input(1);
    if (!a || !b)
        return false;
    if (a->is_tensor() && b->is_tensor())
        return two_tensors(*a, *b);
    const bool swapped = !a->is_tensor();
    if (swapped && node_->type == "Div")
        return false;
    return with_constant(swapped ? *b : *a, swapped ? a->constant : b->constant, swapped);
}

bool Importer::with_constant(const Value &value, const Numbers &constant, bool swapped) {
    const bool product = node_->type == "Mul" || node_->type == "Div";
    if (constant.sizes.size() > value.view.rank())
        return false;
    if (constant.count() == 1) {
        if (!constant.known())
            return false;
        Operator op{.kind = OperatorKind::linear};
        const double number = constant.values.front();
        if (node_->type == "Div" && number == 0.0)
            return false;
        if (product)
            op.alpha = node_->type == "Div" ? 1.0 / number : number;
        else
            op.beta = node_->type == "Sub" && !swapped ? -number : number;
        if (node_->type == "Sub" && swapped)
            op.alpha = -1.0;
        return give(scaled(std::move(op), value));
    }
    std::optional<Value> to = by_channel(value, constant);
    if (!to)
        return false;
    if (node_->type == "Sub" && swapped)
        to = negative(*to);
    return give(with_shape(each({.kind = product ? OperatorKind::scale : OperatorKind::bias}, *to),
                           value.shape, ".sizes"));
}

std::optional<Value> Importer::by_channel(const Value &value, const Numbers &constant) {
    const std::vector<std::int64_t> &sizes = constant.sizes;
    const std::size_t missing = value.view.rank() - sizes.size();
    std::vector<std::size_t> axes; // whose size is not 1
    bool each_number = constant.count() == elements(value.shape);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        each_number = each_number && sizes[i] == value.view.size(missing + i);
        if (sizes[i] != 1)
            axes.push_back(missing + i);
    }
    if (axes.size() == 1 && constant.count() == value.shape[0] && value.has_channels_at(axes[0]))
        return value;
    return each_number ? std::optional(with_shape(value, {elements(value.shape), 1, 1}, ".numbers"))
                       : std::nullopt;
}

Value Importer::with_shape(const Value &value, const ImageShape &shape, const std::string &end) {
    if (value.shape == shape)
        return value;
    return each({.kind = OperatorKind::reshape, .output = shape}, value, end);
}

Value Importer::scaled(Operator op, const Value &value) {
    constexpr double exact = 1e-6;
    const Operator *before = producer(value.of);
    if (!op.alpha || op.beta || !before || before->kind != OperatorKind::linear || before->beta)
        return each(std::move(op), value);
    op.alpha = *op.alpha * before->alpha.value_or(1.0);
    const Value from{before->from.front(), value.shape, value.view, {}};
    return std::abs(*op.alpha - 1.0) < exact ? from : each(std::move(op), from);
}

bool Importer::two_tensors(const Value &a, const Value &b) {
    if (node_->type == "Div")
        return false;
    if (node_->type == "Mul" && activation(a, b))
        return true;
    const OperatorKind kind = node_->type == "Mul" ? OperatorKind::multiply : OperatorKind::add;
    std::optional<Value> out = joined(kind, a, node_->type == "Sub" ? negative(b) : b);
    return out && give(std::move(*out));
}

std::optional<Value> Importer::joined(OperatorKind kind, Value a, Value b) {
    if (a.view == b.view) {
        Value out = add({.kind = kind}, {a, with_shape(b, a.shape, ".sizes")});
        out.view = a.view;
        return out;
    }
    if (a.view.rank() != b.view.rank() || a.view.rank() > 4)
        return std::nullopt;
    a = plain(a), b = plain(b);
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
    Value out = add({.kind = kind}, {a, b});
    out.view = View::of_rank(a.view.rank(), out.shape);
    return out;
}

/// A square is a product of a tensor with itself.
bool Importer::power() {
    const Value *value = tensor(0);
    const Numbers *exponent = constant(1);
    if (!value || !exponent || exponent->count() != 1 || !exponent->known())
        return false;
    if (exponent->values.front() == 1.0)
        return give(*value);
    if (exponent->values.front() != 2.0)
        return false;
    std::optional<Value> out = joined(OperatorKind::multiply, *value, *value);
    return out && give(std::move(*out));
}

bool Importer::sum() {
    std::optional<Value> out;
    for (std::size_t i = 0; i < node_->inputs.size(); ++i) {
        if (!tensor(i))
            return false;
        out = i == 0 ? std::optional(*tensor(i)) : joined(OperatorKind::add, *out, *tensor(i));
        if (!out)
            return false;
    }
    return out && give(std::move(*out));
}

bool Importer::bound() {
    const Value *value = nullptr;
    Operator op{.kind = OperatorKind::clip};
    const bool least = node_->type == "Max";
    for (std::size_t i = 0; i < node_->inputs.size(); ++i) {
        if (tensor(i) && !value) {
            value = tensor(i);
            continue;
        }
        const Numbers *its = constant(i);
        if (!its || its->values.size() != 1 || !its->known())
            return false;
        const double number = its->values.front();
        if (std::abs(number) >= 1e30) // no limit
            continue;
        if (least)
            op.low = std::max(op.low.value_or(number), number);
        else
            op.high = std::min(op.high.value_or(number), number);
    }
    if (!value)
        return false;
    return give(op.low || op.high ? each(std::move(op), *value) : *value);
}

bool Importer::activation(const Value &a, const Value &b) {
    for (const auto &[x, gate] : {std::pair(&a, &b), std::pair(&b, &a)}) {
        const Operator *op = producer(gate->of);
        if (!op || gate->view != x->view)
            continue;
        constexpr double exact = 1e-6;
        const bool of_x = op->from == std::vector<std::string>{x->of};
        const bool hard = op->kind == OperatorKind::hard_logistic &&
                          std::abs(*op->alpha - 1.0 / 6.0) < exact && std::abs(*op->beta - 0.5) < exact;
        if (of_x && (op->kind == OperatorKind::logistic || hard)) {
            return give(each({.kind = hard ? OperatorKind::hard_swish : OperatorKind::silu}, *x));
        }
        if (is_normal_gate(*op, x->of)) { // x (1 + erf(x / sqrt 2)) is twice GELU
            return give(each({.kind = OperatorKind::linear, .alpha = 2.0},
                             each({.kind = OperatorKind::gelu}, *x, ".gelu")));
        }
    }
    return false;
}

bool Importer::is_normal_gate(const Operator &gate, const std::string &x) const {
    constexpr double exact = 1e-5;
    if (gate.kind != OperatorKind::linear || gate.alpha || gate.beta != 1.0)
        return false;
    const Operator *error = producer(gate.from.front());
    const Operator *root =
        error && error->kind == OperatorKind::erf ? producer(error->from.front()) : nullptr;
    return root && root->kind == OperatorKind::linear && !root->beta &&
           std::abs(root->alpha.value_or(1.0) - std::sqrt(0.5)) < exact &&
           root->from == std::vector<std::string>{x};
}

} // namespace convcast::onnx
