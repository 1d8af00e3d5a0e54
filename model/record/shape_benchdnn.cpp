// Lines of oneDNN's benchdnn: "mb1ic64ih56oc64oh56kh3ph1n"resnet:conv2*3"", options before or above them.
#include "model/record/shape_list_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace convcast {
namespace {

constexpr const char *benchdnn_example = "mb1ic64ih56iw56oc64oh56ow56kh3kw3sh1ph1n\"resnet:conv2*3\"";

/// The sizes of a descriptor by benchdnn's names: "ic" input channels, "oh" output height, "kw" filter width,
/// s stride, p padding, d (of "dh") dilation, of 3D "id", "od", ... A name that begins with another is first.
constexpr std::array<std::string_view, 22> size_names = {"mb", "ic", "id", "ih", "iw", "oc", "od", "oh",
                                                         "ow", "kd", "kh", "kw", "sd", "sh", "sw", "pd",
                                                         "ph", "pw", "dd", "dh", "dw", "g"};

using Sizes = std::map<std::string, std::int64_t, std::less<>>;

std::int64_t size_of(const Sizes &sizes, std::string_view name, std::int64_t otherwise) {
    const auto found = sizes.find(name);
    return found == sizes.end() ? otherwise : found->second;
}

/// Takes the name of a size, and no digit, off the front of `rest`. Empty if it begins with none.
std::string_view take_name(std::string_view &rest) {
    for (const std::string_view name : size_names)
        if (rest.starts_with(name) && rest.size() > name.size() && rest[name.size()] >= '0' &&
            rest[name.size()] <= '9') {
            rest.remove_prefix(name.size());
            return name;
        }
    return {};
}

/// A convolution as benchdnn writes it: "mb1ic64ih56oc64oh56kh3ph1n"conv2*3"".
struct Descriptor {
    Sizes sizes;
    std::string name;
    std::int64_t count = 1;
};

/// Reads what stands behind "n": "conv2*3" is the layer conv2, three times.
void take_layer(Descriptor &out, std::string_view text) {
    if (text.size() > 1 && text.front() == '"' && text.back() == '"')
        text = text.substr(1, text.size() - 2);
    const std::size_t star = text.rfind('*');
    if (star != std::string_view::npos && star + 1 < text.size() &&
        text.find_first_not_of("0123456789", star + 1) == std::string_view::npos) {
        out.count = whole_number(text.substr(star + 1), "the count behind *", 1);
        text = text.substr(0, star);
    }
    out.name = std::string(text);
}

/// Throws UsageError where the text is no descriptor. A _ between its parts means nothing.
Descriptor descriptor_of(std::string_view text) {
    Descriptor out;
    std::string_view rest = text;
    while (!rest.empty()) {
        if (rest.front() == '_') {
            rest.remove_prefix(1);
            continue;
        }
        if (rest.front() == 'n') {
            take_layer(out, rest.substr(1));
            break;
        }
        const std::string_view name = take_name(rest);
        if (name.empty())
            throw UsageError("expected a size of benchdnn at '" + shortened(rest, 40) +
                             "': g mb ic ih iw oc oh ow kh kw sh sw ph pw dh dw with a number, or n with a "
                             "name at the end. Example: " +
                             benchdnn_example);
        const std::size_t end = std::min(rest.find_first_not_of("0123456789"), rest.size());
        if (!out.sizes.emplace(name, whole_number(rest.substr(0, end), std::string(name), 0)).second)
            throw UsageError("'" + std::string(name) + "' stands twice in '" + shortened(text, 60) +
                             "'. Example: " + benchdnn_example);
        rest.remove_prefix(end);
    }
    return out;
}

/// Throws UsageError unless it is 2D with all sizes needed. A third direction of one element is taken.
void require_2d(const Sizes &sizes) {
    const bool deep = size_of(sizes, "id", 1) > 1 || size_of(sizes, "od", 1) > 1 ||
                      size_of(sizes, "kd", 1) > 1 || size_of(sizes, "pd", 0) > 0;
    if (deep)
        throw UsageError("expected a 2D convolution, found a 3D one (id, od, kd or pd). Example: " +
                         std::string(benchdnn_example));
    if (sizes.count("ih") == 0 && sizes.count("kh") == 0 && sizes.count("oh") == 0)
        throw UsageError("expected a 2D convolution, found a 1D one (no ih and kh); with ih1 kh1 it is "
                         "the same in 2D. Example: " +
                         std::string(benchdnn_example));
    for (const char *needed : {"ic", "oc", "ih", "kh"})
        if (size_of(sizes, needed, 0) == 0)
            throw UsageError(std::string("expected '") + needed +
                             "' with a size of 1 or more. Example: " + benchdnn_example);
}

/// The sizes along the rows (`which` is 'h') or the columns ('w'). A descriptor without sizes of columns is
/// square: its columns are as its rows. Where an output size is named, the padding behind the input is what
/// gives it. Throws UsageError where the padding would not be nearly the same on both sides.
Window window_of(const Sizes &sizes, char which) {
    const auto is_of_columns = [](const auto &size) { return size.first.ends_with('w'); };
    const char w = std::any_of(sizes.begin(), sizes.end(), is_of_columns) ? which : 'h';
    const auto value = [&](char letter, std::int64_t otherwise) {
        return size_of(sizes, std::string{letter, w}, otherwise);
    };
    if (value('i', 0) == 0 || value('k', 0) == 0)
        throw UsageError(
            fmt::format("expected 'i{0}' and 'k{0}', both or neither, with sizes of 1 or more. Example: {1}",
                        w, benchdnn_example));
    Window window{value('i', 0), value('k', 0), value('s', 1),
                  value('d', 0) + 1}; // 0 is a filter without gaps
    if (window.stride < 1)
        throw UsageError(fmt::format("s{}: expected a stride of 1 or more, found 0. Example: sh1", w));
    const std::int64_t outputs = value('o', 0), pad = value('p', -1);
    if (outputs == 0) {
        window.begin = window.end = std::max<std::int64_t>(pad, 0);
        return window;
    }
    const std::int64_t both = window.padding_for(outputs); // on both sides together
    window.begin = window.end = pad >= 0 ? pad : both / 2;
    const std::int64_t even = window.places(); // outputs with the same padding on both sides
    if (even == outputs) // the usual one: what the last filter leaves over does not count
        return window;
    window.end = std::max<std::int64_t>(both - window.begin, 0);
    if (!symmetric_pad(window) || window.places() != outputs)
        throw UsageError(fmt::format("o{0}{1}: expected o{0}{2} for i{0}{3} k{0}{4} s{0}{5} p{0}{6} d{0}{7}, "
                                     "which pads both sides alike",
                                     w, outputs, even, window.input, window.window, window.stride,
                                     window.begin, window.dilation - 1));
    return window;
}

/// What options say of all lines below them.
struct Options {
    std::optional<std::int64_t> images; ///< of --mb, unless 0
    DataType type = DataType::f32;
    std::set<std::string> left_out; ///< options that say nothing of a shape, for a remark
};

/// The shape of a descriptor; `moved` as of the other shape_of. Throws UsageError.
ConvShape shape_of(const Sizes &sizes, const Options &options, bool &moved) {
    require_2d(sizes);
    ConvShape common;
    common.n = options.images.value_or(size_of(sizes, "mb", 2)); // benchdnn's own default
    common.c = size_of(sizes, "ic", 1);
    common.k = size_of(sizes, "oc", 1);
    common.groups = size_of(sizes, "g", 1);
    common.dtype = options.type;
    return shape_of(common, window_of(sizes, 'h'), window_of(sizes, 'w'), moved);
}

/// The type of the input by the value of "--dt=f32:f32:f32" or "--cfg=f32". Throws UsageError.
DataType type_of_option(std::string_view value) {
    if (value.find(',') != std::string_view::npos)
        throw UsageError("expected one type for the lines below, found '" + shortened(value, 40) +
                         "'. Example: --dt=f32");
    std::string_view first = value.substr(0, value.find(':'));
    for (const char *known : {"f32", "f16", "s8", "u8"})
        if (first.starts_with(known)) // "s8s8s32" of --cfg
            first = first.substr(0, std::string_view(known).size());
    return data_type(first);
}

/// Takes an option, as "--mb=8". Throws UsageError of one under which the lines are not what is forecast.
void take_option(Options &options, std::string_view word) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(0, equals),
                           value = word.substr(std::min(equals + 1, word.size()));
    if (name == "--reset") {
        options = {std::nullopt, DataType::f32, std::move(options.left_out)};
    } else if (name == "--mb") {
        const std::int64_t images = whole_number(value, "--mb", 0);
        options.images = images == 0 ? std::nullopt : std::optional(images);
    } else if (name == "--dt" || name == "--cfg") {
        options.type = type_of_option(value);
    } else if (name == "--dir") {
        if (value != "FWD_D" && value != "FWD_B" && value != "FWD_I" && value != "FWD_D,FWD_B")
            throw UsageError("expected --dir=FWD_D, FWD_B or FWD_I, as only the forward pass is forecast, "
                             "found '" +
                             shortened(word, 40) + "'");
    } else if (name == "--batch") {
        throw UsageError("expected shapes, found '" + shortened(word, 60) +
                         "', which names another file; give that one to --shapes");
    } else if (word == "--deconv" || word == "--matmul" || word == "--ip" || word == "--pool") {
        throw UsageError("expected convolutions (--conv), found '" + std::string(word) + "'");
    } else if (word != "--conv") {
        options.left_out.insert(shortened(name, 40));
    }
}

/// Whether a word is the program: its lines may be whole commands.
bool is_benchdnn_call(std::string_view word) {
    return word == "benchdnn" || word.ends_with("/benchdnn");
}

/// Takes the options of a line and its descriptor, if it has one; `moved` as of shape_of.
void take_line(ListBuilder &list, Options &options, std::size_t number, std::string_view line, bool &moved) {
    for (std::string_view rest = trimmed(line); !rest.empty();) {
        const bool option = rest.starts_with("--");
        const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
        const std::string_view word = rest.substr(0, end);
        if (word.starts_with('#'))
            return;
        if (!option && !is_benchdnn_call(word)) {
            // A name in quotes may have blanks: the descriptor is what is left.
            const std::size_t comment = rest.find(" #");
            const Descriptor found = descriptor_of(trimmed(rest.substr(0, comment)));
            return list.add(shape_of(found.sizes, options, moved), found.name, found.count);
        }
        if (option)
            list.at(number, [&] { take_option(options, word); });
        rest = trimmed(rest.substr(end));
    }
}

} // namespace

bool is_benchdnn(std::string_view line) {
    if (line.starts_with("--") || is_benchdnn_call(line.substr(0, line.find(' '))))
        return true;
    return !take_name(line).empty() && line.find_first_of(",;\t") == std::string_view::npos;
}

ShapeList read_benchdnn(std::string_view text, const std::string &file) {
    ListBuilder list(file, "benchdnn");
    Options options;
    bool moved = false;
    list.at_lines(text, [&](std::size_t number, std::string_view line) {
        take_line(list, options, number, line, moved);
    });
    if (!options.left_out.empty())
        list.remark("options that say nothing of a shape are left out: " +
                    join({options.left_out.begin(), options.left_out.end()}));
    if (moved)
        list.remark(moved_remark);
    return list.finish(benchdnn_example);
}

} // namespace convcast
