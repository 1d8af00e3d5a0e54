// Nodes that move numbers: concat, split, slice, pad, resize; and softmax.
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

std::optional<std::size_t> Importer::axis_of(const Value &value, std::int64_t axis) const {
    const auto rank = static_cast<std::int64_t>(value.view.rank());
    axis = axis < 0 ? axis + rank : axis;
    return axis >= 1 && axis < rank ? std::optional(static_cast<std::size_t>(axis)) : std::nullopt;
}

bool Importer::concat() {
    std::vector<Value> parts;
    for (std::size_t i = 0; i < node_->inputs.size(); ++i) {
        if (!tensor(i))
            return false;
        parts.push_back(*tensor(i));
    }
    if (parts.empty() || !axis_of(parts.front(), integers(*node_, "axis", {1}).front()))
        return false;
    const std::size_t axis = *axis_of(parts.front(), integers(*node_, "axis", {1}).front());
    std::optional<View> view = parts.front().view;
    std::int64_t channels = 0;
    for (const Value &part : parts)
        channels += part.shape[0];
    bool by_channel = true; // of tensors whose channels lie the same
    for (const Value &part : parts) {
        const auto its = part.view.rank() > axis && part.view.size(axis) == part.shape[0]
                             ? part.view.with_channels(axis, part.shape[1] * part.shape[2], channels)
                             : std::nullopt;
        by_channel = by_channel && its && (&part == &parts.front() || *its == *view);
        view = by_channel ? its : view;
    }
    if (!by_channel) {
        if (axis != 1 || parts.front().view.rank() > 4)
            return false;
        for (Value &part : parts)
            part = plain(part);
    }
    Value out = add(OperatorKind::concat, parts);
    if (by_channel)
        out.view = *view;
    else
        out.view = View::of_rank(parts.front().view.rank(), out.shape);
    give(std::move(out));
    return true;
}

Value Importer::part(const Value &from, const ImageShape &begin, const ImageShape &count,
                     const ImageShape &step, const std::string &end) {
    Operator op;
    op.kind = OperatorKind::slice;
    op.begin = begin;
    if (step != ImageShape{1, 1, 1})
        op.step = step;
    op.output = count;
    return add(std::move(op), {from}, end);
}

bool Importer::split() {
    const Value *in = tensor(0);
    if (!in || in->view.rank() > 4)
        return false;
    const auto axis = axis_of(*in, integers(*node_, "axis", {0}).front());
    if (!axis || !known_from(1))
        return false;
    std::vector<std::int64_t> counts = as_integers(given(1, "split"));
    const std::int64_t all = in->view.size(*axis);
    if (counts.empty() && node_->outputs.empty())
        return false;
    if (counts.empty()) {
        const auto parts = static_cast<std::int64_t>(node_->outputs.size());
        const std::int64_t each = (all + parts - 1) / parts;
        for (std::int64_t i = 0; i < parts; ++i)
            counts.push_back(std::min(each, all - i * each));
    }
    const Value from = plain(*in);
    const std::size_t rank = in->view.rank();
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        ImageShape first{0, 0, 0}, count = from.shape;
        first[*axis - 1] = begin, count[*axis - 1] = counts[i];
        begin += counts[i];
        if (counts[i] < 1 || begin > all)
            return false;
        Value out = part(from, first, count, {1, 1, 1}, i == 0 ? "" : "." + std::to_string(i));
        out.view = View::of_rank(rank, out.shape);
        give(std::move(out), i);
    }
    return true;
}

bool Importer::slice() {
    const Value *in = tensor(0);
    std::vector<std::int64_t> starts = as_integers(given(1, "starts")), ends = as_integers(given(2, "ends")),
                              axes = as_integers(given(3, "axes")), steps = as_integers(given(4, "steps"));
    if (!in || !known_from(1) || in->view.rank() > 4 || starts.empty() || starts.size() != ends.size())
        return false;
    const Value from = plain(*in);
    ImageShape begin{0, 0, 0}, count = from.shape, step{1, 1, 1};
    for (std::size_t i = 0; i < starts.size(); ++i) {
        const auto axis = axis_of(*in, i < axes.size() ? axes[i] : static_cast<std::int64_t>(i));
        const std::int64_t by = i < steps.size() ? steps[i] : 1;
        if (!axis || by < 1)
            return false;
        const std::int64_t size = in->view.size(*axis);
        const auto place = [&](std::int64_t at) {
            return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
        };
        const std::int64_t first = place(starts[i]), last = place(ends[i]);
        begin[*axis - 1] = first, step[*axis - 1] = by, count[*axis - 1] = (last - first + by - 1) / by;
        if (last <= first)
            return false;
    }
    Value out = count == from.shape ? from : part(from, begin, count, step, "");
    out.view = View::of_rank(in->view.rank(), out.shape);
    give(std::move(out));
    return true;
}

bool Importer::pad() {
    const Value *in = tensor(0);
    const std::vector<std::int64_t> pads = as_integers(given(1, "pads"));
    std::vector<std::int64_t> axes = {0, 1, 2, 3};
    if (input(3))
        axes = as_integers(given(3, ""));
    const std::string mode = attribute_text(*node_, "mode");
    if (!in || !known_from(1) || in->view.rank() != 4 || pads.size() != 2 * axes.size() ||
        (!mode.empty() && mode != "constant"))
        return false;
    TwoSizes begin{}, end{};
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const std::int64_t axis = axes[i] < 0 ? axes[i] + 4 : axes[i], before = pads[i],
                           behind = pads[i + axes.size()];
        if (before == 0 && behind == 0)
            continue;
        if (axis < 2 || axis > 3 || before < 0 || behind < 0)
            return false;
        begin[static_cast<std::size_t>(axis) - 2] = before, end[static_cast<std::size_t>(axis) - 2] = behind;
    }
    Operator op;
    op.kind = OperatorKind::pad;
    op.pad = begin;
    if (begin != end)
        op.pad_end = end;
    if (const std::vector<double> value = given(2, "value"); value.size() == 1 && value[0] != 0.0)
        op.alpha = value[0];
    give(begin == TwoSizes{} && end == TwoSizes{} ? *in : add(std::move(op), {plain(*in)}));
    return true;
}

bool Importer::resize() {
    const Value *in = tensor(0);
    const bool upsample = node_->type == "Upsample";
    const std::string policy = attribute_text(*node_, "keep_aspect_ratio_policy");
    if (!in || in->view.rank() != 4 || integers(*node_, "antialias", {0}).front() != 0 ||
        !integers(*node_, "axes").empty() || (!policy.empty() && policy != "stretch"))
        return false;
    const std::vector<double> scales = given(upsample ? 1 : 2, "scales"), sizes = given(3, "");
    const Value from = plain(*in);
    Operator op;
    op.kind = OperatorKind::resize;
    op.output = from.shape;
    if (sizes.size() == 4 ? sizes[1] != static_cast<double>(from.shape[0])
                          : scales.size() != 4 || scales[0] != 1.0 || scales[1] != 1.0)
        return false;
    for (std::size_t i = 0; i < 2; ++i) {
        const double size =
            sizes.size() == 4 ? sizes[i + 2] : scales[i + 2] * static_cast<double>(from.shape[i + 1]);
        // Else a place lies otherwise than the sizes say.
        if (!(size >= 1.0 && size <= static_cast<double>(most_size)) || size != std::floor(size))
            return false;
        op.output[i + 1] = static_cast<std::int64_t>(size);
    }
    const std::string mode = attribute_text(*node_, "mode");
    const std::string places = attribute_text(*node_, "coordinate_transformation_mode");
    if (mode.empty() || mode == "nearest") {
        const std::string transform = upsample ? "asymmetric" : places.empty() ? "half_pixel" : places;
        const std::string rounds = upsample ? "floor" : attribute_text(*node_, "nearest_mode");
        for (std::size_t i = 1; i < 3; ++i)
            if (!takes_floors(transform, rounds, from.shape[i], op.output[i]))
                return false;
        op.mode = ResizeMode::nearest;
    } else if (mode == "linear" && places == "align_corners") {
        op.mode = ResizeMode::bilinear_corners;
    } else if (mode == "linear" && !upsample &&
               (places.empty() || places == "half_pixel" ||
                (places == "pytorch_half_pixel" && op.output[1] > 1 && op.output[2] > 1))) {
        op.mode = ResizeMode::bilinear;
    } else {
        return false;
    }
    give(op.output == from.shape ? from : add(std::move(op), {from}));
    return true;
}

bool Importer::takes_floors(const std::string &transform, const std::string &rounds, std::int64_t in,
                            std::int64_t out) {
    constexpr std::int64_t most_rows = 1 << 20;
    if ((transform != "half_pixel" && transform != "asymmetric") || out > most_rows)
        return false;
    const double ratio = static_cast<double>(in) / static_cast<double>(out);
    for (std::int64_t y = 0; y < out; ++y) {
        const auto at = static_cast<double>(y);
        const double place = transform == "asymmetric" ? at * ratio : (at + 0.5) * ratio - 0.5;
        const double row = rounds == "floor"               ? std::floor(place)
                           : rounds == "ceil"              ? std::ceil(place)
                           : rounds == "round_prefer_ceil" ? std::floor(place + 0.5)
                                                           : std::ceil(place - 0.5);
        if (std::clamp(row, 0.0, static_cast<double>(in - 1)) != static_cast<double>(y * in / out))
            return false;
    }
    return true;
}

bool Importer::softmax() {
    const Value *in = tensor(0);
    const std::int64_t axis = integers(*node_, "axis", {-1}).front();
    if (!in || in->view.rank() != 2 || (axis != 1 && axis != -1) || !in->view.in_order())
        return false;
    give(each(OperatorKind::softmax, *in));
    return true;
}

} // namespace convcast::onnx
