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
    const Value *in = tensor(0);
    const Numbers *weights = constant(1);
    if (in && tensor(1))
        return unknown_because("a product of two tensors, and only one with weights is known");
    if (!in || !weights || tensor(2) || weights->sizes.size() != 2 || in->view.rank() != 2 ||
        integer("transA", 0) != 0)
        return false;
    return dense(*in, *weights, integer("transB", 0) != 0 ? 0 : 1, 2);
}

bool Importer::dense(const Value &in, const Numbers &weights, std::size_t outputs_at, std::size_t bias) {
    const std::int64_t outputs = weights.sizes[outputs_at], inputs = weights.sizes[1 - outputs_at];
    const Numbers *added = constant(bias);
    const bool same_for_all_images =
        !added || added->count() == 1 || (added->count() == outputs && added->sizes.back() == outputs);
    if (!is_size(outputs) || !same_for_all_images)
        return false;
    if (inputs != elements(in.shape))
        return refuse(fmt::format("its input has {} numbers of an image, its weights are for {}; expected as "
                                  "many. Correct the shape of '{}', or export the model again",
                                  elements(in.shape), inputs, shortened(node_->inputs[1], 60)));
    const Value from = in.view.in_order() ? in : plain(in); // a dense layer reads numbers in any sizes
    const Value out = with_bias(add({.kind = OperatorKind::dense, .outputs = outputs}, {from}), bias);
    return give(out, View::of_numbers(out.shape[0]));
}

bool Importer::matmul() {
    const Value *in = tensor(0);
    const Numbers *weights = constant(1);
    if ((in && tensor(1)) || (constant(0) && tensor(1)))
        return unknown_because(in ? "a product of two tensors, and only one with weights is known"
                                  : "weights times a tensor, and only a tensor times weights is known");
    if (!in || !weights || weights->sizes.size() != 2)
        return false;
    const std::int64_t outputs = weights->sizes[1];
    if (!is_size(outputs))
        return false;
    if (in->view.rank() == 2)
        return dense(*in, *weights, 1, 99);
    const std::int64_t inputs = in->view.size(in->view.rank() - 1);
    if (in->view.rank() > 2 && inputs != weights->sizes[0])
        return refuse(fmt::format("its input ends with {} numbers, its weights are {}; expected {} x {}. "
                                  "Correct the shape of '{}', or export the model again",
                                  inputs, sizes_text(weights->sizes), inputs, outputs,
                                  shortened(node_->inputs[1], 60)));
    const auto view = in->with_channels(in->view.rank() - 1, outputs);
    if (!view || weights->sizes[0] != in->shape[0])
        return false;
    // Of channels, pixel by pixel.
    return give(add({.kind = OperatorKind::convolution, .outputs = outputs, .window = TwoSizes{1, 1}}, {*in}),
                *view);
}

bool Importer::batch_norm() {
    const Value *in = tensor(0);
    const bool training =
        integer("training_mode", 0) != 0 || !other_outputs().empty(); // as opsets before 14 say it
    if (!in || training || integer("spatial", 1) == 0 || !in->has_channels_at(1))
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
        return give(*in);
    const bool folded = sums && read_once(in->of);
    const Value scaled = folded ? *in : each({.kind = OperatorKind::scale}, *in, ".scale");
    return give(each({.kind = OperatorKind::bias}, scaled, ".bias"));
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
    const std::int64_t axis = integer("axis", -1);
    if (!in || (axis != -1 && axis != static_cast<std::int64_t>(in->view.rank()) - 1) ||
        !in->has_channels_at(in->view.rank() - 1))
        return false;
    const double epsilon = attribute(*node_, "epsilon", {1e-5}).front();
    const Value normed = each({.kind = OperatorKind::layer_norm, .alpha = epsilon}, *in);
    return give(with_bias(each({.kind = OperatorKind::scale}, normed, ".scale"), 2));
}

} // namespace convcast::onnx
