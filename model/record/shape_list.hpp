// Lists of convolutions as people have them: a shape per line, CSV with a header, benchdnn lines of oneDNN, a
// study document, or what a reader of ONNX files found. docs/study.md has every format.
#pragma once

#include "model/base/checked.hpp"
#include "model/record/onnx_graph.hpp"
#include "model/shape/conv_shape.hpp"

#include <boost/describe.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
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

/// Reads a list of any format but ONNX, which its content tells. Throws InputError with every problem at
/// once; each names the line, what was expected there, and an example.
ShapeList read_shape_list(const std::string &text, const std::string &file);

/// The list with `images` instead of its own numbers of images. Throws InputError where a tensor gets too
/// large.
ShapeList with_images(const ShapeList &list, std::int64_t images, const std::string &file);

/// Whether the bytes begin as the files do that ONNX exporters write. No text begins so.
bool is_onnx(std::string_view bytes);

// ---- the convolutions of an ONNX file, as the program that reads it hands them over ----

/// Sizes and attributes as the file has them; a size that it does not give is 0.
struct OnnxConvolution {
    std::string name;
    std::string type;                  ///< of the input's elements: "float", "float16", "int8", ...
    std::vector<std::int64_t> input;   ///< N, C and the spatial sizes
    std::vector<std::int64_t> filters; ///< K, C / groups and the spatial sizes
    std::vector<std::int64_t> strides, dilations;
    std::vector<std::int64_t> pads; ///< all beginnings, then all ends
    std::string auto_pad = "NOTSET";
    std::int64_t groups = 1;
    BOOST_DESCRIBE_CLASS(OnnxConvolution, (),
                         (name, type, input, filters, strides, dilations, pads, auto_pad, groups), (), ())

    static constexpr std::optional<Range> range_of(std::string_view) {
        return Range{-9007199254740992.0, 9007199254740992.0}; // what is wrong is said of the node
    }
};

struct OnnxSkipped {
    std::string name, reason;
    BOOST_DESCRIBE_CLASS(OnnxSkipped, (), (name, reason), (), ())
};

struct OnnxReading {
    std::string schema = "convcast/onnx/1";
    std::vector<OnnxConvolution> convolutions;
    std::vector<OnnxSkipped> skipped; ///< nodes that convolve in a way that is not forecast
    std::vector<std::string> others;  ///< "49 Relu": operators that are no convolutions
    std::vector<std::string> remarks;
    bool open_images = false;       ///< the model's inputs have no number of images: 1 was taken
    bool open_size = false;         ///< they have no height or width, and none was given
    std::optional<OnnxGraph> graph; ///< all of it
    BOOST_DESCRIBE_CLASS(OnnxReading, (),
                         (schema, convolutions, skipped, others, remarks, open_images, open_size, graph), (),
                         ())
};

/// The convolutions that are 2D, of a known size and of a type that is forecast; remarks name every other
/// one with the reason. Throws InputError where none is left.
ShapeList list_of(const OnnxReading &reading, const std::string &file);

} // namespace convcast
