// Nodes that only change the sizes of a tensor, and those that move numbers; and softmax.
#include "model/network/onnx/importer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast::onnx {
namespace {

/// A node that gives the numbers of its input as they are; a Cast only if it casts to real numbers.
bool pass_on(Importer &node) {
    const bool passes =
        node.passes_on(node.onnx()) && (node.type() != "Cast" || is_real_type(node.integer("to", 1)));
    return passes && node.tensor(0) && node.give(*node.tensor(0));
}

bool transpose(Importer &node) {
    const Value *in = node.tensor(0);
    const auto order = in ? order_of(node.onnx(), in->view.rank()) : std::nullopt;
    return order && order->front() == 0 && node.give(*in, in->view.transposed(*order));
}

/// Squeeze or Unsqueeze.
bool squeeze(Importer &node) {
    const Value *in = node.tensor(0);
    if (!in || !node.known_from(1))
        return false;
    const std::vector<double> axes = node.given(1, "axes");
    const auto sizes = with_or_without_ones(node.onnx(), in->view.sizes(), axes, 1);
    // A Squeeze without axes takes the axis of a batch of one image out too, which a view keeps. Axes would
    // then be counted differently here and in the file, unless only one more is left.
    const bool one_image = node.type() == "Squeeze" && axes.empty() && node.images() == 1;
    return sizes && !(one_image && sizes->size() > 2) && node.give(*in, *in->view.reshaped(*sizes));
}

/// Gives the value under these sizes, in which 0 keeps one and -1 follows from the others. False if the first
/// is not that of the images, or if the count of numbers would change.
bool reshape_to(Importer &node, Value value, std::vector<std::int64_t> sizes) {
    if (sizes.empty() || (node.images() > 1 && sizes.front() == 1))
        return false; // all images as one
    if (node.images() > 0 && sizes.front() == node.images())
        sizes.front() = 1;
    const auto to = reshaped(value.view.sizes(), std::move(sizes));
    if (!to || to->front() != 1)
        return false;
    auto view = value.view.reshaped(*to);
    if (!view) {
        value = node.plain(value);
        view = value.view.reshaped(*to);
    }
    return view && node.give(std::move(value), std::move(*view));
}

bool reshape(Importer &node) {
    const Value *in = node.tensor(0);
    const Numbers *sizes = node.constant(1);
    return in && sizes && sizes->known() && reshape_to(node, *in, as_integers(sizes->values));
}

/// To images and numbers.
bool flatten(Importer &node) {
    const Value *in = node.tensor(0);
    const std::int64_t axis = node.integer("axis", 1);
    return in && (axis == 1 || axis + static_cast<std::int64_t>(in->view.rank()) == 1) &&
           reshape_to(node, *in, {0, -1});
}

/// Along the axis that is the channels of all parts, or else axis 1 of tensors that are put in order first.
bool concat(Importer &node) {
    std::vector<Value> parts;
    for (std::size_t i = 0; i < node.inputs(); ++i) {
        if (!node.tensor(i))
            return false;
        parts.push_back(*node.tensor(i));
    }
    if (parts.empty() || !parts.front().axis(node.integer("axis", 1)))
        return false;
    const std::size_t axis = *parts.front().axis(node.integer("axis", 1));
    std::optional<View> view = parts.front().view;
    std::int64_t channels = 0;
    for (const Value &part : parts)
        channels += part.shape[0];
    bool by_channel = true; // the axis is the channels of all parts, whose other axes lie alike
    for (const Value &part : parts) {
        const auto joined = part.with_channels(axis, channels);
        by_channel = by_channel && joined && (&part == &parts.front() || *joined == *view);
        view = by_channel ? joined : view;
    }
    const ImageShape map = parts.front().shape;
    if (by_channel) {
        for (Value &part : parts)
            part = node.with_shape(part, {part.shape[0], map[1], map[2]}, ".sizes");
    } else {
        if (axis != 1 || parts.front().view.rank() > 4)
            return false;
        for (Value &part : parts)
            part = node.plain(part);
    }
    Value out = node.add({.kind = OperatorKind::concat}, parts);
    return node.give(out, by_channel ? *view : View::of_rank(parts.front().view.rank(), out.shape));
}

/// A part of a tensor: `count` channels, rows and columns from `begin` on, `step` apart. `end`: of its name.
Value part(Importer &node, const Value &from, const ImageShape &begin, const ImageShape &count,
           const ImageShape &step, const std::string &end) {
    Operator op{.kind = OperatorKind::slice, .begin = begin, .output = count};
    if (step != ImageShape{1, 1, 1})
        op.step = step;
    return node.add(std::move(op), {from}, end);
}

/// An operator `slice` for each output: of the sizes that the node says, or of equal ones.
bool split(Importer &node) {
    const Value *in = node.tensor(0);
    if (!in || in->view.rank() > 4)
        return false;
    const auto axis = in->axis(node.integer("axis", 0));
    if (!axis || !node.known_from(1))
        return false;
    std::vector<std::int64_t> counts = as_integers(node.given(1, "split")); // sizes of the parts
    const std::int64_t all = in->view.size(*axis);
    if (counts.empty() && node.outputs() == 0)
        return false;
    if (counts.empty()) {
        const auto parts = static_cast<std::int64_t>(node.outputs());
        const std::int64_t each = (all + parts - 1) / parts;
        for (std::int64_t i = 0; i < parts; ++i)
            counts.push_back(std::min(each, all - i * each));
    }
    const Value from = node.plain(*in);
    const std::size_t rank = in->view.rank();
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        ImageShape first{0, 0, 0}, count = from.shape;
        first[*axis - 1] = begin, count[*axis - 1] = counts[i];
        begin += counts[i];
        if (counts[i] < 1 || begin > all)
            return false;
        Value out = part(node, from, first, count, {1, 1, 1}, i == 0 ? "" : "." + std::to_string(i));
        out.view = View::of_rank(rank, out.shape);
        node.give(std::move(out), i);
    }
    return true;
}

/// A Slice that leaves the images whole.
bool slice(Importer &node) {
    const Value *in = node.tensor(0);
    const std::vector<std::int64_t> starts = as_integers(node.given(1, "starts")),
                                    ends = as_integers(node.given(2, "ends")),
                                    axes = as_integers(node.given(3, "axes")),
                                    steps = as_integers(node.given(4, "steps"));
    if (!in || !node.known_from(1) || in->view.rank() > 4 || starts.empty() || starts.size() != ends.size())
        return false;
    const auto rank = static_cast<std::int64_t>(in->view.rank());
    const ImageShape all = in->view.shape();
    ImageShape begin{0, 0, 0}, count = all, step{1, 1, 1};
    for (std::size_t i = 0; i < starts.size(); ++i) {
        std::int64_t axis = i < axes.size() ? axes[i] : static_cast<std::int64_t>(i);
        axis += axis < 0 ? rank : 0;
        const std::int64_t by = i < steps.size() ? steps[i] : 1;
        if (axis < 0 || axis >= rank || by < 1)
            return false;
        // Of any number of images a slice is whole if it ends behind any batch: 2^31 - 1 or more.
        const std::int64_t any_images = node.images() > 0 ? node.images() : most_size - 1,
                           size = axis == 0 ? any_images : in->view.size(static_cast<std::size_t>(axis));
        const auto place = [&](std::int64_t at) {
            return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
        };
        const std::int64_t first = place(starts[i]), last = place(ends[i]);
        const bool whole = first == 0 && last == size && by == 1;
        if (last <= first || (axis == 0 && !whole))
            return false;
        if (axis == 0)
            continue;
        const auto at = static_cast<std::size_t>(axis) - 1;
        begin[at] = first, step[at] = by, count[at] = (last - first + by - 1) / by;
    }
    if (count == all)
        return node.give(*in);
    const Value out = part(node, node.plain(*in), begin, count, step, "");
    return node.give(out, View::of_rank(in->view.rank(), out.shape));
}

/// A Pad of rows and columns by a constant.
bool pad(Importer &node) {
    const Value *in = node.tensor(0);
    const std::vector<std::int64_t> pads = as_integers(node.given(1, "pads"));
    std::vector<std::int64_t> axes = {0, 1, 2, 3};
    if (node.input(3))
        axes = as_integers(node.given(3, ""));
    const std::string mode = node.text("mode");
    if (!in || !node.known_from(1) || in->view.rank() != 4 || pads.size() != 2 * axes.size() ||
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
    Operator op{.kind = OperatorKind::pad, .pad = begin};
    if (begin != end)
        op.pad_end = end;
    if (const std::vector<double> value = node.given(2, "value"); value.size() == 1 && value[0] != 0.0)
        op.alpha = value[0];
    return node.give(begin == TwoSizes{} && end == TwoSizes{} ? *in
                                                              : node.add(std::move(op), {node.plain(*in)}));
}

/// A resize along rows, or along columns.
struct Resized {
    std::int64_t in = 1, out = 1; ///< rows of the input and of the output
    double step = 1.0;            ///< rows of the input between the places of two neighbours of the output

    double ratio() const { return static_cast<double>(in) / static_cast<double>(out); }
};

/// Whether a nearest resize takes row floor(y in / out) for each row y of its output, which
/// ResizeMode::nearest does. Its attributes allow many rules, which are tried out on all rows.
bool takes_floors(const std::string &transform, const std::string &rounds, const Resized &its) {
    constexpr std::int64_t most_rows = 1 << 20; // chosen: above this only broken files come
    const bool middles = transform == "half_pixel", shifted = transform == "tf_half_pixel_for_nn";
    if ((!middles && !shifted && transform != "asymmetric") || its.out > most_rows)
        return false;
    for (std::int64_t y = 0; y < its.out; ++y) {
        const auto at = static_cast<double>(y);
        const double place = (middles || shifted ? at + 0.5 : at) * its.step - (middles ? 0.5 : 0.0);
        const double row = rounds == "floor"               ? std::floor(place)
                           : rounds == "ceil"              ? std::ceil(place)
                           : rounds == "round_prefer_ceil" ? std::floor(place + 0.5)
                                                           : std::ceil(place - 0.5);
        if (std::clamp(row, 0.0, static_cast<double>(its.in - 1)) !=
            static_cast<double>(y * its.in / its.out))
            return false;
    }
    return true;
}

/// The mode of a network's resize that finds places in its input as the node does; absent if there is none.
/// `old`: of opset 10 or before, when nodes had no attributes for it.
std::optional<ResizeMode> resize_mode(Importer &node, bool old, const std::array<Resized, 2> &sizes) {
    const std::string mode = node.text("mode"), given = node.text("coordinate_transformation_mode"),
                      places = old             ? "asymmetric"
                               : given.empty() ? "half_pixel"
                                               : given;
    const auto all = [&](const auto &holds) { return holds(sizes[0]) && holds(sizes[1]); };
    if (mode.empty() || mode == "nearest") {
        const bool floors = all([&](const Resized &its) {
            const std::string rounds = its.step > 1.0 ? "ceil" : "floor"; // as opset 10 rounds
            return takes_floors(places, old ? rounds : node.text("nearest_mode"), its);
        });
        return floors ? std::optional(ResizeMode::nearest) : std::nullopt;
    }
    if (mode != "linear")
        return std::nullopt;
    if (places == "align_corners")
        return ResizeMode::bilinear_corners;
    const bool whole = all([](const Resized &its) { return its.step == its.ratio(); });
    const bool several = all([](const Resized &its) { return its.out > 1; });
    if (whole && places == "asymmetric")
        return ResizeMode::bilinear_asymmetric;
    if (whole && (places == "half_pixel" || (places == "pytorch_half_pixel" && several)))
        return ResizeMode::bilinear;
    return std::nullopt;
}

/// Resize or Upsample of rows and columns, by factors or to sizes.
bool resize(Importer &node) {
    const Value *in = node.tensor(0);
    // Until opset 10, in which a Resize has one input beside the image.
    const bool old = node.type() == "Upsample" || node.inputs() == 2;
    const std::string policy = node.text("keep_aspect_ratio_policy");
    if (!in || in->view.rank() != 4 || !node.known_from(old ? 1 : 2) || node.integer("antialias", 0) != 0 ||
        (!policy.empty() && policy != "stretch"))
        return false;
    const std::vector<double> scales = node.given(old ? 1 : 2, "scales"), sizes = node.given(3, "");
    const std::vector<double> &wanted = sizes.empty() ? scales : sizes; // by axis
    const std::vector<std::int64_t> axes = node.integers("axes", {0, 1, 2, 3});
    if (wanted.size() != axes.size())
        return false;
    const Value from = node.plain(*in);
    std::array<Resized, 2> its{Resized{from.shape[1], from.shape[1]}, Resized{from.shape[2], from.shape[2]}};
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const std::int64_t axis = axes[i] < 0 ? axes[i] + 4 : axes[i];
        const bool stays =
            sizes.empty() ? wanted[i] == 1.0 : axis == 0 || wanted[i] == static_cast<double>(from.shape[0]);
        if (axis < 0 || axis > 3 || (axis < 2 && !stays))
            return false;
        if (axis < 2)
            continue;
        Resized &size = its[static_cast<std::size_t>(axis) - 2];
        const double out =
            sizes.empty()
                ? static_cast<double>(std::floor(static_cast<float>(wanted[i]) * static_cast<float>(size.in)))
                : wanted[i];
        if (!(out >= 1.0 && out <= static_cast<double>(most_size)))
            return false;
        size.out = static_cast<std::int64_t>(out);
        const double step = sizes.empty() ? 1.0 / wanted[i] : size.ratio(), ratio = size.ratio();
        constexpr double rounding = 1e-6; // of a factor, which files have as a float
        size.step = std::abs(step - ratio) < rounding * ratio ? ratio : step;
    }
    Operator op{.kind = OperatorKind::resize,
                .mode = resize_mode(node, old, its),
                .output = {from.shape[0], its[0].out, its[1].out}};
    if (!op.mode)
        return false;
    return node.give(op.output == from.shape ? *in : node.add(std::move(op), {from}));
}

/// A Softmax over all numbers of an image.
bool softmax(Importer &node) {
    const Value *in = node.tensor(0);
    const bool old = node.opset().value_or(13) < 13; // before opset 13 it is over the axis and all behind it
    const auto axis = in ? in->axis(node.integer("axis", old ? 1 : -1)) : std::nullopt;
    if (!axis)
        return false;
    std::int64_t count = in->view.size(*axis);
    for (std::size_t i = *axis + 1; old && i < in->view.rank(); ++i)
        count *= in->view.size(i);
    if (count != elements(in->shape))
        return false;
    return node.give(node.each({.kind = OperatorKind::softmax}, *in));
}

} // namespace

const Takes &moving_nodes() {
    static const Takes all = {{"Identity", pass_on},    {"Dropout", pass_on}, {"Cast", pass_on},
                              {"Transpose", transpose}, {"Squeeze", squeeze}, {"Unsqueeze", squeeze},
                              {"Reshape", reshape},     {"Flatten", flatten}, {"Concat", concat},
                              {"Split", split},         {"Slice", slice},     {"Pad", pad},
                              {"Resize", resize},       {"Upsample", resize}, {"Softmax", softmax}};
    return all;
}

} // namespace convcast::onnx
