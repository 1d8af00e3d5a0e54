// What the reader of ONNX files found, as a list of shapes.
#include "model/record/shape_list_parts.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {
namespace {

constexpr std::int64_t most_size = std::int64_t{1} << 30; // so that no product of two overflows

std::string sizes_text(const std::vector<std::int64_t> &sizes) {
    std::string text;
    for (const std::int64_t size : sizes)
        text += (text.empty() ? "" : " x ") + (size > 0 ? std::to_string(size) : std::string("?"));
    return text.empty() ? "of no known size" : text;
}

/// With the sizes of the input that follow from elsewhere: the channels from the filters, one image for any
/// number (`any_images` is set then).
OnnxConvolution completed(OnnxConvolution conv, bool &any_images) {
    if (conv.input.size() != 4 || conv.filters.size() != 4)
        return conv;
    if (conv.input[1] == 0 && conv.groups > 0 && conv.filters[1] > 0 &&
        conv.filters[1] <= most_size / conv.groups)
        conv.input[1] = conv.filters[1] * conv.groups;
    if (conv.input[0] == 0) {
        conv.input[0] = 1;
        any_images = true;
    }
    return conv;
}

/// Of a 2D convolution: a size that the file does not have.
bool leaves_open(const OnnxConvolution &conv) {
    const auto open = [](std::int64_t size) { return size == 0; };
    return conv.input.size() == 4 && conv.filters.size() == 4 &&
           std::any_of(conv.input.begin(), conv.input.end(), open);
}

void require_sizes(const OnnxConvolution &conv) {
    if (conv.input.size() != 4 || conv.filters.size() != 4) {
        const std::size_t spatial =
            std::max<std::size_t>(std::max(conv.input.size(), conv.filters.size()), 2) - 2;
        throw UsageError(spatial == 0 || spatial == 2
                             ? "its input is " + sizes_text(conv.input) + ", its filters are " +
                                   sizes_text(conv.filters)
                             : "it is " + std::to_string(spatial) + "D, and only 2D is forecast");
    }
    for (const std::vector<std::int64_t> *sizes : {&conv.input, &conv.filters})
        for (const std::int64_t size : *sizes)
            if (size < 1 || size > most_size)
                throw UsageError("its input is " + sizes_text(conv.input) + ", its filters are " +
                                 sizes_text(conv.filters) + "; a size that is ? is not in the file");
    for (const std::vector<std::int64_t> *list : {&conv.strides, &conv.dilations, &conv.pads})
        for (const std::int64_t value : *list)
            if (value < (list == &conv.pads ? 0 : 1) || value > most_size)
                throw UsageError("a stride, dilation or pad is " + std::to_string(value));
}

/// Rows (0) or columns (1), with the padding that auto_pad asks for.
Direction direction_of(const OnnxConvolution &conv, std::size_t which) {
    Direction d;
    d.input = conv.input[2 + which];
    d.filter = conv.filters[2 + which];
    d.stride = conv.strides.size() == 2 ? conv.strides[which] : 1;
    d.dilation = conv.dilations.size() == 2 ? conv.dilations[which] : 1;
    if (d.dilation > most_size / d.filter)
        throw UsageError("its filter is larger than 2^30 with its dilation");
    if (conv.auto_pad == "SAME_UPPER" || conv.auto_pad == "SAME_LOWER") {
        const std::int64_t outputs = (d.input + d.stride - 1) / d.stride;
        const std::int64_t both =
            std::max<std::int64_t>((outputs - 1) * d.stride + d.dilation * (d.filter - 1) + 1 - d.input, 0);
        const bool upper = conv.auto_pad == "SAME_UPPER";
        d.pad_begin = upper ? both / 2 : (both + 1) / 2;
        d.pad_end = both - d.pad_begin;
    } else if (conv.auto_pad == "VALID") {
        d.pad_begin = d.pad_end = 0;
    } else if (conv.pads.size() == 4) {
        d.pad_begin = conv.pads[which];
        d.pad_end = conv.pads[which + 2];
    }
    return d;
}

ConvShape shape_of(const OnnxConvolution &conv, bool &moved) {
    require_sizes(conv);
    const Direction h = direction_of(conv, 0), w = direction_of(conv, 1);
    const std::optional<std::int64_t> pad_h = symmetric_pad(h), pad_w = symmetric_pad(w);
    if (!pad_h || !pad_w)
        throw UsageError("its padding is " + std::to_string(h.pad_begin) + " and " +
                         std::to_string(h.pad_end) + " above and below, " + std::to_string(w.pad_begin) +
                         " and " + std::to_string(w.pad_end) +
                         " at the sides; only the same on both sides is forecast");
    ConvShape common;
    common.n = conv.input[0];
    common.c = conv.input[1];
    common.k = conv.filters[0];
    common.groups = conv.groups;
    common.dtype = data_type(conv.type);
    bool here = false;
    const ConvShape shape = shape_of(common, h, w, here);
    if (shape.c / shape.groups != conv.filters[1])
        throw UsageError("its input has " + std::to_string(shape.c) + " channels in " +
                         std::to_string(shape.groups) + " groups, its filters " +
                         std::to_string(conv.filters[1]));
    moved = moved || here;
    return shape;
}

} // namespace

ShapeList list_of(const OnnxReading &reading, const std::string &file) {
    ListBuilder list(file, "ONNX");
    std::vector<std::string> skipped;
    std::size_t open = 0;
    std::string first_open;
    for (const OnnxSkipped &node : reading.skipped)
        skipped.push_back(shortened(node.name, 80) + ": " + node.reason);
    bool moved = false, any_images = reading.open_images;
    for (const OnnxConvolution &given : reading.convolutions) {
        const OnnxConvolution conv = completed(given, any_images);
        if (leaves_open(conv)) {
            if (++open == 1)
                first_open = shortened(conv.name, 80) + ", whose input is " + sizes_text(conv.input);
            continue;
        }
        try {
            list.add(shape_of(conv, moved), shortened(conv.name, 120), 1);
        } catch (const UsageError &error) {
            skipped.push_back(shortened(conv.name, 80) + ": " + error.what());
        }
    }
    for (const std::string &remark : reading.remarks)
        list.remark(remark);
    const std::string of_all = " of " + std::to_string(reading.convolutions.size()) + " convolutions";
    const std::string left_open =
        std::to_string(open) + of_all + " left out, as the file leaves sizes open, for example " +
        first_open +
        (reading.open_size
             ? "; --input-size HxW says height and width of the model's input, for example --input-size "
               "640x640"
             : "; such sizes are known only when the model runs: export it with fixed sizes, or ask the "
               "convolution by --shape, for example --shape n1c64h56w56k64r3s3");
    if (open > 0)
        list.remark(left_open);
    if (moved)
        list.remark(moved_remark);
    constexpr std::size_t most_said = 20;
    for (std::size_t i = 0; i < std::min(most_said, skipped.size()); ++i)
        list.remark("skipped " + skipped[i]);
    if (skipped.size() > most_said)
        list.remark("skipped " + std::to_string(skipped.size() - most_said) + " more convolutions");
    if (!reading.others.empty())
        list.remark("nodes that are not convolutions are left out: " + join(reading.others));
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
