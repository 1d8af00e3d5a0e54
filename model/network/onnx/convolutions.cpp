#include "model/network/onnx/import.hpp"

#include "model/network/onnx/numbers.hpp"
#include "model/record/shape_list_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace convcast {
namespace {

using onnx::most_size;

/// A node that convolves, with the sizes of its tensors; a size that the file does not have is 0.
struct Convolution {
    const OnnxNode &node;
    std::string type;                         ///< of the input's elements
    std::vector<std::int64_t> input, filters; ///< N, C, spatial sizes; K, C / groups, spatial sizes
    std::int64_t groups = 1;
    bool any_images = false; ///< the file does not say how many images there are: taken as one

    bool is_2d() const { return input.size() == 4 && filters.size() == 4; }
    /// Whether it is 2D and its input has a size that the file does not have.
    bool leaves_open() const { return is_2d() && std::find(input.begin(), input.end(), 0) != input.end(); }
    std::string sizes_text() const {
        return "its input is " + sizes_or_none(input) + ", its filters are " + sizes_or_none(filters);
    }

    static std::string sizes_or_none(const std::vector<std::int64_t> &sizes) {
        return sizes.empty() ? "of no known size" : onnx::sizes_text(sizes);
    }
};

/// The number of the input that has the filters of a node that convolves; absent for other nodes.
std::optional<std::size_t> filters_input(const OnnxNode &node) {
    if (node.type == "Conv" || node.type == "ConvInteger")
        return 1;
    return node.type == "QLinearConv" ? std::optional<std::size_t>(3) : std::nullopt;
}

/// A node that has filters_input, with its tensors by name. Channels that the file does not have follow from
/// the filters; any number of images becomes one.
Convolution convolution_of(const OnnxNode &node, const std::map<std::string, const OnnxTensor *> &tensors) {
    const auto tensor = [&](std::size_t i) {
        const auto found = i < node.inputs.size() ? tensors.find(node.inputs[i]) : tensors.end();
        return found == tensors.end() ? OnnxTensor{} : *found->second;
    };
    const OnnxTensor input = tensor(0);
    Convolution conv{node, input.type, input.sizes, tensor(*filters_input(node)).sizes,
                     integers(node, "group", {1}).front()};
    if (!conv.is_2d())
        return conv;
    if (conv.input[1] == 0 && conv.groups > 0 && conv.filters[1] > 0 &&
        conv.filters[1] <= most_size / conv.groups)
        conv.input[1] = conv.filters[1] * conv.groups;
    if (conv.input[0] == 0) {
        conv.input[0] = 1;
        conv.any_images = true;
    }
    return conv;
}

/// The shape of a convolution. Sets `moved` if its padding is taken as a symmetric one with the same outputs
/// (moved_remark). Throws UsageError with why it cannot be forecast.
ConvShape shape_of(const Convolution &conv, bool &moved) {
    const std::size_t spatial =
        std::max<std::size_t>(std::max(conv.input.size(), conv.filters.size()), 2) - 2;
    if (!conv.is_2d())
        throw UsageError(spatial == 0 || spatial == 2
                             ? conv.sizes_text()
                             : fmt::format("it is {}D, and only 2D is forecast", spatial));
    for (const std::vector<std::int64_t> *sizes : {&conv.input, &conv.filters})
        for (const std::int64_t size : *sizes)
            if (size < 1 || size > most_size)
                throw UsageError(conv.sizes_text() + "; a size that is ? is not in the file");
    const auto [rows, columns] =
        onnx::windows_of(conv.node, {conv.input[2], conv.input[3]}, {conv.filters[2], conv.filters[3]});
    if (!symmetric_pad(rows) || !symmetric_pad(columns))
        throw UsageError(fmt::format("its padding is {} and {} above and below, {} and {} at the sides; only "
                                     "the same on both sides is forecast",
                                     rows.begin, rows.end, columns.begin, columns.end));
    ConvShape common;
    common.n = conv.input[0];
    common.c = conv.input[1];
    common.k = conv.filters[0];
    common.groups = conv.groups;
    common.dtype = data_type(conv.type);
    bool here = false;
    const ConvShape shape = shape_of(common, rows, columns, here);
    if (shape.c / shape.groups != conv.filters[1])
        throw UsageError(onnx::other_channels(shape.c, shape.groups, conv.filters[1]));
    moved = moved || here;
    return shape;
}

} // namespace

namespace onnx {

std::string sizes_text(const std::vector<std::int64_t> &sizes) {
    std::string text;
    for (const std::int64_t size : sizes)
        text += (text.empty() ? "" : " x ") + (size > 0 ? std::to_string(size) : std::string("?"));
    return text.empty() ? "no known sizes" : text;
}

std::string other_channels(std::int64_t channels, std::int64_t groups, std::int64_t filters) {
    return fmt::format("its input has {} channels in {} groups, its filters have {}", channels, groups,
                       filters);
}

std::array<Window, 2> windows_of(const OnnxNode &node, const std::array<std::int64_t, 2> &map,
                                 const std::array<std::int64_t, 2> &window) {
    const std::vector<std::int64_t> strides = integers(node, "strides", {1, 1}),
                                    pads = integers(node, "pads", {0, 0, 0, 0}),
                                    dilations = integers(node, "dilations", {1, 1});
    const std::string pad = attribute_text(node, "auto_pad");
    if (strides.size() != 2 || pads.size() != 4 || dilations.size() != 2)
        throw UsageError("its strides, dilations or pads are not those of two directions; expected 2, 2 and "
                         "4 numbers");
    const auto within = [](std::int64_t value, std::int64_t low) {
        if (value < low || value > most_size)
            throw UsageError(fmt::format("a stride, dilation or pad is {}; expected strides and dilations "
                                         "from 1, pads from 0, and none above 2^31",
                                         value));
        return value;
    };
    std::array<Window, 2> out;
    for (std::size_t i = 0; i < 2; ++i) {
        Window &w = out[i];
        w = {map[i], window[i], within(strides[i], 1), within(dilations[i], 1), pads[i], pads[i + 2]};
        if (w.window < 1 || w.window > most_size)
            throw UsageError(fmt::format("its window is {}; expected 1 to 2^31", w.window));
        if (pad == "VALID")
            w.begin = w.end = 0;
        if (pad == "SAME_UPPER" || pad == "SAME_LOWER") {
            const std::int64_t both = w.padding_for((w.input + w.stride - 1) / w.stride);
            w.begin = pad == "SAME_UPPER" ? both / 2 : (both + 1) / 2;
            w.end = both - w.begin;
        }
        within(w.begin, 0), within(w.end, 0);
    }
    return out;
}

} // namespace onnx

ShapeList convolutions_of(const OnnxGraph &graph, const std::string &file) {
    ListBuilder list(file, "ONNX");
    std::map<std::string, const OnnxTensor *> tensors;
    for (const OnnxTensor &tensor : graph.tensors)
        tensors.try_emplace(tensor.name, &tensor);
    std::vector<std::string> skipped;
    for (const OnnxSkipped &node : graph.skipped)
        skipped.push_back(shortened(node.name, 80) + ": " + node.reason);
    std::map<std::string, std::size_t> others; // nodes that are no convolutions, by type
    std::size_t all = 0, open = 0,
                padded_apart = 0; // convolutions: all, left out for open sizes, taken of the network
    std::string first_open;
    bool moved = false, any_images = graph.open_images;
    std::optional<NetworkConvolutions> network; // made when a node by itself first says too little
    /// Adds the convolution as the network has it. False if the network does not have it.
    const auto add_of_network = [&](const Convolution &conv) {
        if (!network)
            network = convolutions_of_network(graph, file);
        const auto found =
            conv.node.outputs.empty() ? network->of.end() : network->of.find(conv.node.outputs.front());
        if (found == network->of.end() || conv.type != "float" || !(conv.input.empty() || conv.is_2d()))
            return false;
        const bool has_images = !conv.input.empty() && !conv.any_images;
        const std::int64_t images = has_images ? conv.input[0] : network->images;
        if (images < 0 || images > most_size)
            return false;
        found->second.n = std::max<std::int64_t>(1, images);
        any_images = any_images || images == 0;
        list.add(found->second, shortened(conv.node.name, 120), 1);
        return true;
    };
    for (const OnnxNode &node : graph.nodes) {
        const std::string name = shortened(node.name, 80);
        if (!filters_input(node)) {
            if (node.type.find("Conv") != std::string::npos)
                skipped.push_back(name + ": operator " + node.type + " is not forecast");
            else
                ++others[node.type];
            continue;
        }
        ++all;
        const Convolution conv = convolution_of(node, tensors);
        if (conv.leaves_open()) {
            if (add_of_network(conv))
                continue;
            if (++open == 1)
                first_open = name + ", whose input is " + onnx::sizes_text(conv.input);
            continue;
        }
        try {
            list.add(shape_of(conv, moved), shortened(node.name, 120), 1);
            any_images = any_images || conv.any_images;
        } catch (const UsageError &error) {
            if (conv.filters.size() == 4 && add_of_network(conv))
                ++padded_apart;
            else
                skipped.push_back(name + ": " + error.what());
        }
    }
    for (const std::string &remark : graph.remarks)
        list.remark(remark);
    const std::string left_open = fmt::format(
        "{} of {} convolutions left out, as the file leaves sizes open, for example {}{}", open, all,
        first_open,
        graph.open_size
            ? "; --input-size HxW says height and width of the model's input, for example --input-size "
              "640x640"
            : "; such sizes are known only when the model runs: export it with fixed sizes, or ask the "
              "convolution by --shape, for example --shape n1c64h56w56k64r3s3");
    if (open > 0)
        list.remark(left_open);
    if (moved)
        list.remark(moved_remark);
    if (padded_apart > 0)
        list.remark(fmt::format(
            "{} convolutions are taken as the network has them: where padding differs on both sides it "
            "is an operator of its own, whose time is left out",
            padded_apart));
    constexpr std::size_t most_listed = 20; // chosen: about a screen
    for (std::size_t i = 0; i < std::min(most_listed, skipped.size()); ++i)
        list.remark("skipped " + skipped[i]);
    if (skipped.size() > most_listed)
        list.remark(fmt::format("skipped {} more nodes", skipped.size() - most_listed));
    std::vector<std::string> counted;
    for (const auto &[type, count] : others)
        counted.push_back(fmt::format("{} {}", count, type));
    if (!counted.empty())
        list.remark("nodes that are not convolutions are left out: " + join(counted));
    try {
        ShapeList found = list.finish("a node of type Conv on images, for example of ResNet");
        found.open_images = any_images;
        return found;
    } catch (const InputError &) {
        throw InputError(file + " (ONNX)",
                         "expected a 2D convolution that can be forecast, found none" +
                             (open > 0          ? "; " + left_open
                              : skipped.empty() ? std::string(" of any kind")
                                                : "; " + join(skipped, "; ").substr(0, 2000)));
    }
}

} // namespace convcast
