// Lists of convolutions as people have them: a shape per line, CSV with a header, benchdnn lines of oneDNN,
// or a study document; model/network/onnx/import.hpp has those of ONNX files. docs/study.md has every
// format.
#pragma once

#include "model/shape/conv_shape.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

struct ListedShape {
    ConvShape shape;
    std::string name;         ///< of the layer, or of the first of several; may be empty
    std::int64_t count = 1;   ///< how often the list has the shape
    std::int64_t entries = 1; ///< lines that were taken together
};

struct ShapeList {
    std::string format;               ///< "a shape per line", "CSV", ...: for messages
    std::vector<ListedShape> shapes;  ///< each shape once, in the order of the list
    std::vector<std::string> remarks; ///< what was left out of the list or understood in its own way
    bool open_images = false;         ///< an ONNX file leaves the number of images open: 1 was taken
};

/// Different shapes that a list may have: planning many more takes days.
inline constexpr std::size_t most_listed_shapes = 100000;
/// How often a list may have its shapes, all together.
inline constexpr std::int64_t most_listed_count = 1'000'000'000'000;

/// Reads a list of any format but ONNX; the format is found by its first line. Throws InputError with every
/// problem at once; each names the line, what was expected there, and an example.
ShapeList read_shape_list(const std::string &text, const std::string &file);

/// The same shapes with `images` images each. Throws InputError where a tensor gets too large.
ShapeList with_images(const ShapeList &list, std::int64_t images, const std::string &file);

/// Whether the bytes begin as the files of ONNX exporters do: with a byte of value 8. No text begins so.
bool is_onnx(std::string_view bytes);

} // namespace convcast
