// Convolutions and poolings.
#include "model/network/onnx/importer.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast::onnx {

std::optional<std::array<Window, 2>> Importer::windows(const Value &in,
                                                       const std::vector<std::int64_t> &window) {
    if (window.size() != 2 || in.view.rank() != 4)
        return std::nullopt;
    try {
        return windows_of(*node_, {in.view.size(2), in.view.size(3)}, {window[0], window[1]});
    } catch (const UsageError &) {
        return std::nullopt;
    }
}

bool Importer::convolution() {
    const Value *in = tensor(0), *filters = constant(1);
    if (!in || !filters || tensor(2) || filters->constant_sizes.size() != 4)
        return false;
    const std::vector<std::int64_t> sizes = filters->constant_sizes;
    auto w = windows(*in, {sizes[2], sizes[3]});
    if (!w)
        return false;
    Value from = plain(*in);
    // The same padding on both sides where that gives the same outputs; else pixels are put around the
    // image first.
    if ((*w)[0].places((*w)[0].begin) != (*w)[0].places((*w)[0].end) ||
        (*w)[1].places((*w)[1].begin) != (*w)[1].places((*w)[1].end)) {
        Operator op;
        op.kind = OperatorKind::pad;
        op.pad = {(*w)[0].begin, (*w)[1].begin};
        op.pad_end = {(*w)[0].end, (*w)[1].end};
        from = add(std::move(op), {from}, ".pad");
        (*w)[0].begin = (*w)[1].begin = 0;
    }
    Operator op;
    op.kind = OperatorKind::convolution;
    op.outputs = sizes[0];
    op.window = {sizes[2], sizes[3]};
    set_windows(op, *w);
    const std::int64_t groups = integers(*node_, "group", {1}).front();
    if (!std::all_of(sizes.begin(), sizes.end(), is_size) || !is_size(groups))
        return false;
    if (groups != 1)
        op.groups = groups;
    if (from.shape[0] / groups != sizes[1]) {
        problem(other_channels(from.shape[0], groups, sizes[1]));
        lose();
        return true;
    }
    const Value convolved = add(std::move(op), {from});
    if (!node_->outputs.empty())
        convolutions_[node_->outputs.front()] = convolved.of;
    give(with_bias(convolved, 2));
    return true;
}

void Importer::set_windows(Operator &op, const std::array<Window, 2> &w) {
    if (w[0].stride != 1 || w[1].stride != 1)
        op.stride = {w[0].stride, w[1].stride};
    if (w[0].begin != 0 || w[1].begin != 0)
        op.pad = {w[0].begin, w[1].begin};
    if (w[0].dilation != 1 || w[1].dilation != 1)
        op.dilation = {w[0].dilation, w[1].dilation};
}

Value Importer::with_bias(const Value &value, std::size_t i) {
    if (!constant(i))
        return value;
    Value out = each(OperatorKind::bias, value, ".bias");
    return out;
}

bool Importer::transposed() {
    const Value *in = tensor(0), *filters = constant(1);
    const std::string pads = attribute_text(*node_, "auto_pad");
    if (!in || !filters || tensor(2) || filters->constant_sizes.size() != 4 ||
        (!pads.empty() && pads != "NOTSET") || !integers(*node_, "output_shape").empty())
        return false;
    const std::vector<std::int64_t> sizes = filters->constant_sizes,
                                    more = integers(*node_, "output_padding", {0, 0});
    auto w = windows(*in, {sizes[2], sizes[3]});
    if (!w || more.size() != 2 || more[0] > (*w)[0].end || more[1] > (*w)[1].end)
        return false;
    Operator op;
    op.kind = OperatorKind::transposed_convolution;
    const std::int64_t groups = integers(*node_, "group", {1}).front();
    if (!std::all_of(sizes.begin(), sizes.end(), is_size) || !is_size(groups))
        return false;
    op.outputs = sizes[1] * groups;
    op.window = {sizes[2], sizes[3]};
    set_windows(op, *w);
    if (const TwoSizes end = {(*w)[0].end - more[0], (*w)[1].end - more[1]}; end != op.pad_or_none())
        op.pad_end = end;
    if (groups != 1)
        op.groups = groups;
    give(with_bias(add(std::move(op), {plain(*in)}), 2));
    return true;
}

bool Importer::pooling() {
    const Value *in = tensor(0);
    const std::vector<std::int64_t> window = integers(*node_, "kernel_shape");
    if (!in || node_->outputs.size() > 1)
        return false;
    const auto w = windows(*in, window);
    const bool means = node_->type == "AveragePool", ceil = integers(*node_, "ceil_mode", {0}).front() != 0,
               counts_pad = integers(*node_, "count_include_pad", {0}).front() != 0;
    if (!w || (*w)[0].dilation != 1 || (*w)[1].dilation != 1)
        return false;
    Operator op;
    op.kind = means ? OperatorKind::average_pooling : OperatorKind::max_pooling;
    op.window = {window[0], window[1]};
    op.stride = {(*w)[0].stride, (*w)[1].stride};
    TwoSizes begin{}, end{};
    bool padded = false;
    for (std::size_t i = 0; i < 2; ++i) {
        const Window &its = (*w)[i];
        begin[i] = its.begin, end[i] = its.end;
        if (ceil) { // as if there were more pixels at the end, unless a window had none of the others
            std::int64_t places =
                (its.input + its.begin + its.end - its.window + its.stride - 1) / its.stride + 1;
            if ((places - 1) * its.stride >= its.input + its.begin)
                --places;
            end[i] =
                std::max<std::int64_t>((places - 1) * its.stride + its.window - its.input - its.begin, 0);
            if (means && counts_pad && end[i] > its.end)
                return false; // divides by another number at the end
        }
        padded = padded || begin[i] > 0 || end[i] > 0;
    }
    if (begin != TwoSizes{})
        op.pad = begin;
    if (end != begin)
        op.pad_end = end;
    if (means && padded && !counts_pad)
        op.inside = true;
    give(add(std::move(op), {plain(*in)}));
    return true;
}

bool Importer::global_pooling() {
    const Value *in = tensor(0);
    if (!in || in->view.rank() != 4)
        return false;
    bool keep = true;
    if (node_->type == "ReduceMean") {
        std::vector<std::int64_t> axes = as_integers(given(1, "axes"));
        for (std::int64_t &axis : axes)
            axis = axis < 0 ? axis + 4 : axis;
        std::sort(axes.begin(), axes.end());
        keep = integers(*node_, "keepdims", {1}).front() != 0;
        if (axes != std::vector<std::int64_t>{2, 3})
            return false;
    }
    const Value from = plain(*in);
    Operator op;
    op.kind = node_->type == "GlobalMaxPool" ? OperatorKind::max_pooling : OperatorKind::average_pooling;
    op.window = {from.shape[1], from.shape[2]};
    Value out = add(std::move(op), {from});
    if (!keep)
        out.view = View::of_numbers(out.shape[0]);
    give(std::move(out));
    return true;
}

} // namespace convcast::onnx
