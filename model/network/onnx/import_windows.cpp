// Convolutions and poolings.
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

std::optional<std::array<Window, 2>> Importer::windows(const Value &in,
                                                       const std::vector<std::int64_t> &window) {
    if (window.size() != 2 || in.view.rank() != 4)
        return std::nullopt;
    return windows_of(*node_, {in.view.size(2), in.view.size(3)}, {window[0], window[1]});
}

bool Importer::refuse_filters(const std::vector<std::int64_t> &sizes, std::int64_t groups) {
    if (!std::all_of(sizes.begin(), sizes.end(), is_size))
        return refuse(fmt::format("its filters are {}; expected sizes from 1 to 2^31. Export the model again",
                                  sizes_text(sizes)));
    if (!is_size(groups))
        return refuse(fmt::format("its group is {}; expected 1, or a number that divides its channels. "
                                  "Correct the attribute, or export the model again",
                                  groups));
    return false;
}

bool Importer::refuse_length(std::size_t i, const char *what, std::int64_t channels) {
    const Numbers *numbers = constant(i);
    if (!numbers || numbers->count() == channels)
        return false;
    return refuse(fmt::format("its {} '{}' has the sizes {}; expected {} numbers, one for each channel. "
                              "Correct its shape, or export the model again",
                              what, shortened(node_->inputs[i], 60), sizes_text(numbers->sizes), channels));
}

bool Importer::convolution() {
    const Value *in = tensor(0);
    const Numbers *filters = constant(1);
    if (in && filters && in->view.rank() != 4)
        return unknown_because(
            fmt::format("a convolution of {} sizes, and only 4 are known", in->view.rank()));
    if (in && tensor(1))
        return unknown_because("its filters are computed, and only weights are known");
    if (!in || !filters || tensor(2) || filters->sizes.size() != 4)
        return false;
    const std::vector<std::int64_t> sizes = filters->sizes;
    const std::int64_t groups = integer("group", 1);
    if (refuse_filters(sizes, groups) || refuse_length(2, "bias", sizes[0]))
        return true;
    auto w = windows(*in, {sizes[2], sizes[3]});
    if (!w)
        return false;
    Value from = plain(*in);
    // The same padding on both sides where that gives the same outputs; else pixels are put around the
    // image first.
    if ((*w)[0].places((*w)[0].begin) != (*w)[0].places((*w)[0].end) ||
        (*w)[1].places((*w)[1].begin) != (*w)[1].places((*w)[1].end)) {
        from = padded(from, {(*w)[0].begin, (*w)[1].begin}, {(*w)[0].end, (*w)[1].end});
        (*w)[0].begin = (*w)[1].begin = 0;
    }
    Operator op{
        .kind = OperatorKind::convolution, .outputs = sizes[0], .window = TwoSizes{sizes[2], sizes[3]}};
    set_windows(op, *w);
    if (groups != 1)
        op.groups = groups;
    if (from.shape[0] / groups != sizes[1])
        return refuse(fmt::format("{}; expected filters of {} x {} x {} x {}. Correct the shape of '{}', or "
                                  "export the model again",
                                  other_channels(from.shape[0], groups, sizes[1]), sizes[0],
                                  from.shape[0] / groups, sizes[2], sizes[3],
                                  shortened(node_->inputs[1], 60)));
    const Value convolved = add(std::move(op), {from});
    if (!node_->outputs.empty())
        convolutions_[node_->outputs.front()] = convolved.of;
    return give(with_bias(convolved, 2));
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
    return constant(i) ? each({.kind = OperatorKind::bias}, value, ".bias") : value;
}

Value Importer::padded(const Value &value, const TwoSizes &begin, const TwoSizes &end) {
    return add({.kind = OperatorKind::pad, .pad = begin, .pad_end = end}, {value}, ".pad");
}

bool Importer::transposed() {
    const Value *in = tensor(0);
    const Numbers *filters = constant(1);
    if (!in || !filters || tensor(2) || filters->sizes.size() != 4)
        return false;
    const std::vector<std::int64_t> sizes = filters->sizes;
    const std::int64_t groups = integer("group", 1);
    if (refuse_filters(sizes, groups) || refuse_length(2, "bias", sizes[1] * groups))
        return true;
    auto w = windows(*in, {sizes[2], sizes[3]});
    Operator op{.kind = OperatorKind::transposed_convolution};
    if (!w || !set_transposed_pads(*w))
        return false;
    if (in->view.size(1) != sizes[0])
        return refuse(
            fmt::format("its input has {} channels, its filters are {}; expected filters of {} x {} "
                        "x {} x {}. Correct the shape of '{}', or export the model again",
                        in->view.size(1), sizes_text(sizes), in->view.size(1), sizes[1], sizes[2], sizes[3],
                        shortened(node_->inputs[1], 60)));
    op.outputs = sizes[1] * groups;
    op.window = {sizes[2], sizes[3]};
    set_windows(op, *w);
    // Pixels that no filter reaches are put behind the others.
    TwoSizes end{}, more{};
    for (std::size_t i = 0; i < 2; ++i) {
        const std::int64_t its = (*w)[i].end;
        end[i] = std::max<std::int64_t>(its, 0), more[i] = std::max<std::int64_t>(-its, 0);
    }
    if (end != op.pad_or_none())
        op.pad_end = end;
    if (groups != 1)
        op.groups = groups;
    Value out = add(std::move(op), {plain(*in)});
    if (more != TwoSizes{})
        out = padded(out, {0, 0}, more);
    return give(with_bias(out, 2));
}

bool Importer::set_transposed_pads(std::array<Window, 2> &w) const {
    const std::vector<std::int64_t> more = integers(*node_, "output_padding", {0, 0}),
                                    said = integers(*node_, "output_shape");
    const std::string pads = attribute_text(*node_, "auto_pad");
    const bool same = pads == "SAME_UPPER" || pads == "SAME_LOWER";
    if (more.size() != 2 || said.size() == 1)
        return false;
    for (std::size_t i = 0; i < 2; ++i) {
        Window &its = w[i];
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

bool Importer::pooling() {
    const Value *in = tensor(0);
    const std::vector<std::int64_t> window = integers(*node_, "kernel_shape");
    const std::vector<std::string> indices = other_outputs();
    const auto is_read = [&](const std::string &name) { return readers_of(name) > 0; };
    if (!in || std::any_of(indices.begin(), indices.end(), is_read))
        return false;
    const auto w = windows(*in, window);
    const bool means = node_->type == "AveragePool", ceil = integer("ceil_mode", 0) != 0,
               counts_pad = integer("count_include_pad", 0) != 0;
    if (!w || (*w)[0].dilation != 1 || (*w)[1].dilation != 1)
        return false;
    Operator op{.kind = means ? OperatorKind::average_pooling : OperatorKind::max_pooling,
                .window = TwoSizes{window[0], window[1]},
                .stride = TwoSizes{(*w)[0].stride, (*w)[1].stride}};
    Value from = plain(*in);
    TwoSizes begin{}, end{}, over{};
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
            over[i] = std::max<std::int64_t>(end[i] - its.end, 0);
        }
    }
    const bool hangs_over = means && counts_pad && over != TwoSizes{};
    if (hangs_over) { // the padding counts, what lies behind it does not: here it is part of the image
        const TwoSizes behind{(*w)[0].end, (*w)[1].end};
        if (begin != TwoSizes{} || behind != TwoSizes{})
            from = padded(from, begin, behind);
        begin = {}, end = over;
    }
    const bool padded = begin != TwoSizes{} || end != TwoSizes{};
    if (begin != TwoSizes{})
        op.pad = begin;
    if (end != begin)
        op.pad_end = end;
    if (means && padded && (!counts_pad || hangs_over))
        op.inside = true;
    return give(add(std::move(op), {from}));
}

bool Importer::global_pooling() {
    const Value *in = tensor(0);
    const bool reduces = node_->type.starts_with("Reduce");
    if (!in || (!reduces && in->view.rank() != 4) || in->view.rank() < 3)
        return false;
    const std::size_t rank = in->view.rank();
    std::vector<bool> gone(rank, false);
    for (const std::int64_t axis :
         reduces ? as_integers(given(1, "axes")) : std::vector<std::int64_t>{2, 3}) {
        const auto at = axis_of(*in, axis);
        if (!at)
            return false;
        gone[*at] = true;
    }
    // All sizes but one, which is that of the channels. Where the numbers lie otherwise they are moved first.
    const auto its = static_cast<std::size_t>(std::find(gone.begin() + 1, gone.end(), false) - gone.begin());
    if (!known_from(1) || std::count(gone.begin(), gone.end(), true) != static_cast<std::ptrdiff_t>(rank) - 2)
        return false;
    if (!in->has_channels_at(its) && rank > 4)
        return false;
    const Value from = in->has_channels_at(its) ? *in : plain(*in);
    if (!from.has_channels_at(its))
        return false;
    const bool means = node_->type == "GlobalAveragePool" || node_->type == "ReduceMean";
    const Value out = add({.kind = means ? OperatorKind::average_pooling : OperatorKind::max_pooling,
                           .window = TwoSizes{from.shape[1], from.shape[2]}},
                          {from});
    const View channels = View::of_numbers(out.shape[0]);
    std::vector<std::int64_t> sizes(rank, 1);
    sizes[its] = out.shape[0];
    return give(out, integer("keepdims", 1) != 0 ? *channels.reshaped(sizes) : channels);
}

} // namespace convcast::onnx
