// Convolutions and poolings, products with weights, and norms.
#include "model/network/onnx/importer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast::onnx {
namespace {

/// windows_of the node; absent if tensor or window have other than rows and columns. Throws as windows_of.
std::optional<std::array<Window, 2>> windows(Importer &node, const Value &in,
                                             const std::vector<std::int64_t> &window) {
    if (window.size() != 2 || in.view.rank() != 4)
        return std::nullopt;
    return windows_of(node.onnx(), {in.view.size(2), in.view.size(3)}, {window[0], window[1]});
}

/// Refuses the node and returns true if no convolution can have filters of these sizes, or so many groups.
bool refuse_filters(Importer &node, const std::vector<std::int64_t> &sizes, std::int64_t groups) {
    if (!std::all_of(sizes.begin(), sizes.end(), is_size))
        return node.refuse(fmt::format(
            "its filters are {}; expected sizes from 1 to 2^31. Export the model again", sizes_text(sizes)));
    if (!is_size(groups))
        return node.refuse(fmt::format("its group is {}; expected 1, or a number that divides its channels. "
                                       "Correct the attribute, or export the model again",
                                       groups));
    return false;
}

/// Refuses the node and returns true if input i, its `what`, has other than a number for each channel.
bool refuse_length(Importer &node, std::size_t i, const char *what, std::int64_t channels) {
    const Numbers *numbers = node.constant(i);
    if (!numbers || numbers->count() == channels)
        return false;
    return node.refuse(fmt::format("its {} '{}' has the sizes {}; expected {} numbers, one for each channel. "
                                   "Correct its shape, or export the model again",
                                   what, node.input_name(i), sizes_text(numbers->sizes), channels));
}

/// Sets what is not the default of an operator's stride, dilation and padding, that before the map.
void set_windows(Operator &op, const std::array<Window, 2> &w) {
    if (w[0].stride != 1 || w[1].stride != 1)
        op.stride = {w[0].stride, w[1].stride};
    if (w[0].begin != 0 || w[1].begin != 0)
        op.pad = {w[0].begin, w[1].begin};
    if (w[0].dilation != 1 || w[1].dilation != 1)
        op.dilation = {w[0].dilation, w[1].dilation};
}

/// The value with a bias of input number i, or the value itself if the node has no such constant.
Value with_bias(Importer &node, const Value &value, std::size_t i) {
    return node.constant(i) ? node.each({.kind = OperatorKind::bias}, value, ".bias") : value;
}

/// The value with pixels of 0 around its images, by an operator `pad`.
Value padded(Importer &node, const Value &value, const TwoSizes &begin, const TwoSizes &end) {
    return node.add({.kind = OperatorKind::pad, .pad = begin, .pad_end = end}, {value}, ".pad");
}

/// Conv of rows and columns with constant filters.
bool convolution(Importer &node) {
    const Value *in = node.tensor(0);
    const Numbers *filters = node.constant(1);
    if (in && filters && in->view.rank() != 4)
        return node.unknown_because(
            fmt::format("a convolution of {} sizes, and only 4 are known", in->view.rank()));
    if (in && node.tensor(1))
        return node.unknown_because("its filters are computed, and only weights are known");
    if (!in || !filters || node.tensor(2) || filters->sizes.size() != 4)
        return false;
    const std::vector<std::int64_t> sizes = filters->sizes;
    const std::int64_t groups = node.integer("group", 1);
    if (refuse_filters(node, sizes, groups) || refuse_length(node, 2, "bias", sizes[0]))
        return true;
    auto w = windows(node, *in, {sizes[2], sizes[3]});
    if (!w)
        return false;
    Value from = node.plain(*in);
    // A convolution of a network has the same padding on both sides. That will do if either side's padding
    // gives as many outputs; else pixels are put around the image first.
    if ((*w)[0].places((*w)[0].begin) != (*w)[0].places((*w)[0].end) ||
        (*w)[1].places((*w)[1].begin) != (*w)[1].places((*w)[1].end)) {
        from = padded(node, from, {(*w)[0].begin, (*w)[1].begin}, {(*w)[0].end, (*w)[1].end});
        (*w)[0].begin = (*w)[1].begin = 0;
    }
    Operator op{
        .kind = OperatorKind::convolution, .outputs = sizes[0], .window = TwoSizes{sizes[2], sizes[3]}};
    set_windows(op, *w);
    if (groups != 1)
        op.groups = groups;
    if (from.shape[0] / groups != sizes[1])
        return node.refuse(
            fmt::format("{}; expected filters of {} x {} x {} x {}. Correct the shape of '{}', or "
                        "export the model again",
                        other_channels(from.shape[0], groups, sizes[1]), sizes[0], from.shape[0] / groups,
                        sizes[2], sizes[3], node.input_name(1)));
    const Value convolved = node.add(std::move(op), {from});
    node.convolves(convolved.of);
    return node.give(with_bias(node, convolved, 2));
}

/// Sets begin and end of both windows to the pixels that are cut off the output of a transposed convolution,
/// by the node's pads or the output_shape that it asks for. A negative end: as many pixels are appended.
/// Returns false if the node's attributes are none of a transposed convolution.
bool set_transposed_pads(Importer &node, std::array<Window, 2> &w) {
    const std::vector<std::int64_t> more = node.integers("output_padding", {0, 0}),
                                    said = node.integers("output_shape");
    const std::string pads = node.text("auto_pad");
    const bool same = pads == "SAME_UPPER" || pads == "SAME_LOWER";
    if (more.size() != 2 || said.size() == 1)
        return false;
    for (std::size_t i = 0; i < 2; ++i) {
        Window &its = w[i];
        // Pixels that the filters reach, and pixels of the output.
        const std::int64_t reached = (its.input - 1) * its.stride + (its.window - 1) * its.dilation + 1;
        const std::int64_t out = !said.empty() ? said[said.size() - 2 + i]
                                 : same        ? std::min(its.input * its.stride, reached + more[i])
                                               : reached + more[i] - its.begin - its.end;
        if (!is_size(out) || more[i] < 0 || more[i] > most_size)
            return false;
        const std::int64_t cut = std::max<std::int64_t>(reached + more[i] - out, 0);
        if (!said.empty() || same)
            its.begin = pads == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
        its.end = reached - its.begin - out;
    }
    return true;
}

bool transposed(Importer &node) {
    const Value *in = node.tensor(0);
    const Numbers *filters = node.constant(1);
    if (!in || !filters || node.tensor(2) || filters->sizes.size() != 4)
        return false;
    const std::vector<std::int64_t> sizes = filters->sizes;
    const std::int64_t groups = node.integer("group", 1);
    if (refuse_filters(node, sizes, groups) || refuse_length(node, 2, "bias", sizes[1] * groups))
        return true;
    auto w = windows(node, *in, {sizes[2], sizes[3]});
    Operator op{.kind = OperatorKind::transposed_convolution};
    if (!w || !set_transposed_pads(node, *w))
        return false;
    if (in->view.size(1) != sizes[0])
        return node.refuse(
            fmt::format("its input has {} channels, its filters are {}; expected filters of {} x {} "
                        "x {} x {}. Correct the shape of '{}', or export the model again",
                        in->view.size(1), sizes_text(sizes), in->view.size(1), sizes[1], sizes[2], sizes[3],
                        node.input_name(1)));
    op.outputs = sizes[1] * groups;
    op.window = {sizes[2], sizes[3]};
    set_windows(op, *w);
    // A negative end becomes an operator `pad` behind: pixels that no filter reaches.
    TwoSizes end{}, more{};
    for (std::size_t i = 0; i < 2; ++i) {
        const std::int64_t its = (*w)[i].end;
        end[i] = std::max<std::int64_t>(its, 0), more[i] = std::max<std::int64_t>(-its, 0);
    }
    if (end != op.pad_or_none())
        op.pad_end = end;
    if (groups != 1)
        op.groups = groups;
    Value out = node.add(std::move(op), {node.plain(*in)});
    if (more != TwoSizes{})
        out = padded(node, out, {0, 0}, more);
    return node.give(with_bias(node, out, 2));
}

/// MaxPool or AveragePool of rows and columns, of whose outputs only the first is read.
bool pooling(Importer &node) {
    const Value *in = node.tensor(0);
    const std::vector<std::int64_t> window = node.integers("kernel_shape");
    const std::vector<std::string> indices =
        node.other_outputs(); // of a MaxPool: where its largest numbers lie
    const auto is_read = [&](const std::string &name) { return node.readers_of(name) > 0; };
    if (!in || std::any_of(indices.begin(), indices.end(), is_read))
        return false;
    const auto w = windows(node, *in, window);
    const bool means = node.type() == "AveragePool", ceil = node.integer("ceil_mode", 0) != 0,
               counts_pad = node.integer("count_include_pad", 0) != 0;
    if (!w || (*w)[0].dilation != 1 || (*w)[1].dilation != 1)
        return false;
    Operator op{.kind = means ? OperatorKind::average_pooling : OperatorKind::max_pooling,
                .window = TwoSizes{window[0], window[1]},
                .stride = TwoSizes{(*w)[0].stride, (*w)[1].stride}};
    Value from = node.plain(*in);
    TwoSizes begin{}, end{}, over{};
    for (std::size_t i = 0; i < 2; ++i) {
        const Window &its = (*w)[i];
        begin[i] = its.begin, end[i] = its.end;
        if (ceil) { // windows may hang over the end, unless one would begin behind the image: as if padded
                    // more
            std::int64_t places =
                (its.input + its.begin + its.end - its.window + its.stride - 1) / its.stride + 1;
            if ((places - 1) * its.stride >= its.input + its.begin)
                --places;
            end[i] =
                std::max<std::int64_t>((places - 1) * its.stride + its.window - its.input - its.begin, 0);
            over[i] = std::max<std::int64_t>(end[i] - its.end, 0);
        }
    }
    const bool hangs_over = means && counts_pad && over != TwoSizes{};
    // Of a mean the padding counts and what lies behind it does not: the padding becomes part of the image.
    if (hangs_over) {
        const TwoSizes behind{(*w)[0].end, (*w)[1].end};
        if (begin != TwoSizes{} || behind != TwoSizes{})
            from = padded(node, from, begin, behind);
        begin = {}, end = over;
    }
    const bool padded = begin != TwoSizes{} || end != TwoSizes{};
    if (begin != TwoSizes{})
        op.pad = begin;
    if (end != begin)
        op.pad_end = end;
    if (means && padded && (!counts_pad || hangs_over))
        op.inside = true;
    return node.give(node.add(std::move(op), {from}));
}

/// A pooling over all pixels of a channel, or a reduction over all axes but the images' and one.
bool global_pooling(Importer &node) {
    const Value *in = node.tensor(0);
    const bool reduces = node.type().starts_with("Reduce");
    if (!in || (!reduces && in->view.rank() != 4) || in->view.rank() < 3)
        return false;
    const std::size_t rank = in->view.rank();
    std::vector<bool> gone(rank, false); // axes that are reduced
    for (const std::int64_t axis :
         reduces ? as_integers(node.given(1, "axes")) : std::vector<std::int64_t>{2, 3}) {
        const auto at = in->axis(axis);
        if (!at)
            return false;
        gone[*at] = true;
    }
    // One axis is left: the channels. If the numbers lie otherwise they are moved first.
    const auto left = static_cast<std::size_t>(std::find(gone.begin() + 1, gone.end(), false) - gone.begin());
    if (!node.known_from(1) ||
        std::count(gone.begin(), gone.end(), true) != static_cast<std::ptrdiff_t>(rank) - 2)
        return false;
    if (!in->has_channels_at(left) && rank > 4)
        return false;
    const Value from = in->has_channels_at(left) ? *in : node.plain(*in);
    if (!from.has_channels_at(left))
        return false;
    const bool means = node.type() == "GlobalAveragePool" || node.type() == "ReduceMean";
    const Value out = node.add({.kind = means ? OperatorKind::average_pooling : OperatorKind::max_pooling,
                                .window = TwoSizes{from.shape[1], from.shape[2]}},
                               {from});
    const View channels = View::of_numbers(out.shape[0]);
    std::vector<std::int64_t> sizes(rank, 1);
    sizes[left] = out.shape[0];
    return node.give(out, node.integer("keepdims", 1) != 0 ? *channels.reshaped(sizes) : channels);
}

constexpr std::size_t no_input = 99; ///< number of an input that no node has

/// Takes the node as a dense layer. `outputs_axis`: which of the two axes of the weights is that of the
/// outputs. `bias`: number of the input that is added; it may be left out, or no_input.
bool dense(Importer &node, const Value &in, const Numbers &weights, std::size_t outputs_axis,
           std::size_t bias) {
    const std::int64_t outputs = weights.sizes[outputs_axis], inputs = weights.sizes[1 - outputs_axis];
    const Numbers *added = node.constant(bias);
    const bool same_for_all_images =
        !added || added->count() == 1 || (added->count() == outputs && added->sizes.back() == outputs);
    if (!is_size(outputs) || !same_for_all_images)
        return false;
    if (inputs != elements(in.shape))
        return node.refuse(
            fmt::format("its input has {} numbers of an image, its weights are for {}; expected as "
                        "many. Correct the shape of '{}', or export the model again",
                        elements(in.shape), inputs, node.input_name(1)));
    const Value from = in.view.in_order() ? in : node.plain(in); // a dense layer reads an image in any shape
    const Value out =
        with_bias(node, node.add({.kind = OperatorKind::dense, .outputs = outputs}, {from}), bias);
    return node.give(out, View::of_numbers(out.shape[0]));
}

bool gemm(Importer &node) {
    const Value *in = node.tensor(0);
    const Numbers *weights = node.constant(1);
    if (in && node.tensor(1))
        return node.unknown_because("a product of two tensors, and only one with weights is known");
    if (!in || !weights || node.tensor(2) || weights->sizes.size() != 2 || in->view.rank() != 2 ||
        node.integer("transA", 0) != 0)
        return false;
    return dense(node, *in, *weights, node.integer("transB", 0) != 0 ? 0 : 1, 2);
}

/// A tensor times weights: a dense layer, or over the channels of each pixel a 1 x 1 convolution.
bool matmul(Importer &node) {
    const Value *in = node.tensor(0);
    const Numbers *weights = node.constant(1);
    if ((in && node.tensor(1)) || (node.constant(0) && node.tensor(1)))
        return node.unknown_because(in ? "a product of two tensors, and only one with weights is known"
                                       : "weights times a tensor, and only a tensor times weights is known");
    if (!in || !weights || weights->sizes.size() != 2)
        return false;
    const std::int64_t outputs = weights->sizes[1];
    if (!is_size(outputs))
        return false;
    if (in->view.rank() == 2)
        return dense(node, *in, *weights, 1, no_input);
    const std::int64_t inputs = in->view.size(in->view.rank() - 1);
    if (in->view.rank() > 2 && inputs != weights->sizes[0])
        return node.refuse(
            fmt::format("its input ends with {} numbers, its weights are {}; expected {} x {}. "
                        "Correct the shape of '{}', or export the model again",
                        inputs, sizes_text(weights->sizes), inputs, outputs, node.input_name(1)));
    const auto view = in->with_channels(in->view.rank() - 1, outputs);
    if (!view || weights->sizes[0] != in->shape[0])
        return false;
    // Over channels at each pixel: a 1 x 1 convolution.
    return node.give(
        node.add({.kind = OperatorKind::convolution, .outputs = outputs, .window = TwoSizes{1, 1}}, {*in}),
        *view);
}

/// A scale and a bias for each channel. If nothing else reads the layer before it, that takes them into its
/// filters and bias: weights are drawn, so only operators matter.
bool batch_norm(Importer &node) {
    const Value *in = node.tensor(0);
    const bool training =
        node.integer("training_mode", 0) != 0 || !node.other_outputs().empty(); // outputs: before opset 14
    if (!in || training || node.integer("spatial", 1) == 0 || !in->has_channels_at(1))
        return false;
    for (const auto &[i, what] : {std::pair{1, "scale"}, {2, "bias"}, {3, "mean"}, {4, "variance"}})
        if (refuse_length(node, static_cast<std::size_t>(i), what, in->shape[0]))
            return true;
    const Operator *before = node.producer(in->of);
    const auto is = [](const Operator *op, OperatorKind kind) { return op && op->kind == kind; };
    const bool sums = is(before, OperatorKind::convolution) || is(before, OperatorKind::dense) ||
                      is(before, OperatorKind::transposed_convolution);
    const bool biased = is(before, OperatorKind::bias) && !before->from.empty() &&
                        (is(node.producer(before->from.front()), OperatorKind::convolution) ||
                         is(node.producer(before->from.front()), OperatorKind::transposed_convolution)) &&
                        node.read_once(before->from.front());
    if (biased && node.read_once(in->of))
        return node.give(*in);
    const bool folded = sums && node.read_once(in->of);
    const Value scaled = folded ? *in : node.each({.kind = OperatorKind::scale}, *in, ".scale");
    return node.give(node.each({.kind = OperatorKind::bias}, scaled, ".bias"));
}

/// Over the channels of a pixel, with scale and bias; not over several axes.
bool layer_norm(Importer &node) {
    const Value *in = node.tensor(0);
    const std::int64_t axis = node.integer("axis", -1);
    if (!in || (axis != -1 && axis != static_cast<std::int64_t>(in->view.rank()) - 1) ||
        !in->has_channels_at(in->view.rank() - 1))
        return false;
    const double epsilon = node.real("epsilon", 1e-5);
    const Value normed = node.each({.kind = OperatorKind::layer_norm, .alpha = epsilon}, *in);
    return node.give(with_bias(node, node.each({.kind = OperatorKind::scale}, normed, ".scale"), 2));
}

} // namespace

const Takes &layer_nodes() {
    static const Takes all = {{"Conv", convolution},
                              {"ConvTranspose", transposed},
                              {"Gemm", gemm},
                              {"MatMul", matmul},
                              {"BatchNormalization", batch_norm},
                              {"LayerNormalization", layer_norm},
                              {"MaxPool", pooling},
                              {"AveragePool", pooling},
                              {"GlobalAveragePool", global_pooling},
                              {"GlobalMaxPool", global_pooling},
                              {"ReduceMean", global_pooling},
                              {"ReduceMax", global_pooling}};
    return all;
}

} // namespace convcast::onnx
