// Products with weights, and norms.
#include "model/network/onnx/importer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace convcast::onnx {

bool Importer::gemm() {
    const Value *in = tensor(0), *weights = constant(1);
    if (in && tensor(1))
        return unknown_because("a product of two tensors, and only one with weights is known");
    if (!in || !weights || tensor(2) || weights->constant_sizes.size() != 2 || in->view.rank() != 2 ||
        integers(*node_, "transA", {0}).front() != 0)
        return false;
    return dense(*in, *weights, integers(*node_, "transB", {0}).front() != 0 ? 0 : 1, 2);
}

bool Importer::dense(const Value &in, const Value &weights, std::size_t outputs_at, std::size_t bias) {
    const std::int64_t outputs = weights.constant_sizes[outputs_at],
                       inputs = weights.constant_sizes[1 - outputs_at];
    const Value *added = constant(bias);
    const bool same_for_all_images =
        !added || added->constant_count() == 1 ||
        (added->constant_count() == outputs && added->constant_sizes.back() == outputs);
    if (!is_size(outputs) || !same_for_all_images)
        return false;
    if (inputs != elements(in.shape))
        return refuse(fmt::format("its input has {} numbers of an image, its weights are for {}; expected as "
                                  "many. Correct the shape of '{}', or export the model again",
                                  elements(in.shape), inputs, shortened(node_->inputs[1], 60)));
    const Value from = in.view.in_order() ? in : plain(in); // a dense layer reads numbers in any sizes
    Value out = with_bias(add({.kind = OperatorKind::dense, .outputs = outputs}, {from}), bias);
    out.view = View::of_numbers(out.shape[0]);
    give(std::move(out));
    return true;
}

bool Importer::matmul() {
    const Value *in = tensor(0), *weights = constant(1);
    if ((in && tensor(1)) || (constant(0) && tensor(1)))
        return unknown_because(in ? "a product of two tensors, and only one with weights is known"
                                  : "weights times a tensor, and only a tensor times weights is known");
    if (!in || !weights || weights->constant_sizes.size() != 2)
        return false;
    const std::int64_t outputs = weights->constant_sizes[1];
    if (!is_size(outputs))
        return false;
    if (in->view.rank() == 2)
        return dense(*in, *weights, 1, 99);
    if (in->view.rank() > 2 && in->view.size(in->view.rank() - 1) != weights->constant_sizes[0])
        return refuse(fmt::format("its input ends with {} numbers, its weights are {}; expected {} x {}. "
                                  "Correct the shape of '{}', or export the model again",
                                  in->view.size(in->view.rank() - 1), sizes_text(weights->constant_sizes),
                                  in->view.size(in->view.rank() - 1), outputs,
                                  shortened(node_->inputs[1], 60)));
    if (in->view.size(in->view.rank() - 1) != in->shape[0] || weights->constant_sizes[0] != in->shape[0])
        return false;
    auto view = in->view.with_channels(in->view.rank() - 1, in->shape[1] * in->shape[2], outputs);
    if (!view)
        return false;
    // Of channels, pixel by pixel.
    Value out = add({.kind = OperatorKind::convolution, .outputs = outputs, .window = TwoSizes{1, 1}}, {*in});
    out.view = *view;
    give(std::move(out));
    return true;
}

bool Importer::batch_norm() {
    const Value *in = tensor(0);
    const bool training = integers(*node_, "training_mode", {0}).front() != 0 ||
                          !other_outputs().empty(); // as opsets before 14 say it
    if (!in || training || integers(*node_, "spatial", {1}).front() == 0 || in->view.rank() < 2 ||
        in->view.size(1) != in->shape[0] ||
        !in->view.with_channels(1, in->shape[1] * in->shape[2], in->shape[0]))
        return false;
    for (const auto &[i, what] : {std::pair{1, "scale"}, {2, "bias"}, {3, "mean"}, {4, "variance"}})
        if (refuse_length(static_cast<std::size_t>(i), what, in->shape[0]))
            return true;
    const Operator *before = producer(in->of);
    const auto is = [](const Operator *op, OperatorKind kind) { return op && op->kind == kind; };
    const bool sums = is(before, OperatorKind::convolution) || is(before, OperatorKind::dense) ||
                      is(before, OperatorKind::transposed_convolution);
    const bool biased = is(before, OperatorKind::bias) && !before->from.empty() &&
                        (is(producer(before->from.front()), OperatorKind::convolution) ||
                         is(producer(before->from.front()), OperatorKind::transposed_convolution)) &&
                        read_once(before->from.front());
    if (biased && read_once(in->of))
        give(*in);
    else if (sums && read_once(in->of))
        give(each({.kind = OperatorKind::bias}, *in, ".bias"));
    else
        give(each({.kind = OperatorKind::bias}, each({.kind = OperatorKind::scale}, *in, ".scale"), ".bias"));
    return true;
}

const Operator *Importer::producer(const std::string &name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? nullptr : &out_.operators[found->second];
}

bool Importer::read_once(const std::string &of) const {
    const auto found = given_.find(of);
    const auto once = [&](const std::string &tensor) { return readers_of(tensor) == 1; };
    return found == given_.end() || std::all_of(found->second.begin(), found->second.end(), once);
}

bool Importer::layer_norm() {
    const Value *in = tensor(0);
    const std::int64_t axis = integers(*node_, "axis", {-1}).front();
    if (!in || (axis != -1 && axis != static_cast<std::int64_t>(in->view.rank()) - 1) ||
        in->view.size(in->view.rank() - 1) != in->shape[0] ||
        !in->view.with_channels(in->view.rank() - 1, in->shape[1] * in->shape[2], in->shape[0]))
        return false;
    const double epsilon = attribute(*node_, "epsilon", {1e-5}).front();
    const Value normed = each({.kind = OperatorKind::layer_norm, .alpha = epsilon}, *in);
    give(with_bias(each({.kind = OperatorKind::scale}, normed, ".scale"), 2));
    return true;
}

} // namespace convcast::onnx
