// The graph of an ONNX file as the program convcast-onnx hands it over.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/describe.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

/// Integers that JSON holds exactly, and real numbers that a double holds; what is wrong is said of the node.
inline constexpr Range onnx_number{-1e308, 1e308};

/// A tensor whose sizes are known: a constant of the file, or what a node gives.
struct OnnxTensor {
    std::string name;
    std::vector<std::int64_t> sizes; ///< 0: not known
    bool constant = false;
    std::optional<std::vector<double>> numbers; ///< of a constant of few numbers
    std::string type = "float";                 ///< of its elements: "float", "float16", "int8", ...
    std::optional<std::string> external{}; ///< of a constant whose numbers lie in another file, that file
    CONVCAST_MEMBERS(OnnxTensor, name, sizes, constant, numbers, type, external)

    static constexpr std::optional<Range> range_of(std::string_view) { return onnx_number; }
};

struct OnnxAttribute {
    std::string name;
    std::vector<double> numbers; ///< of a number, or of several
    std::string text;
    CONVCAST_MEMBERS(OnnxAttribute, name, numbers, text)

    static constexpr std::optional<Range> range_of(std::string_view) { return onnx_number; }
};

struct OnnxNode {
    std::string name;
    std::string type; ///< "Conv"; of another domain than ONNX's own with it: "com.microsoft.FusedConv"
    std::vector<std::string> inputs, outputs; ///< names of tensors; "" of an input that is left out
    std::vector<OnnxAttribute> attributes;
    CONVCAST_MEMBERS(OnnxNode, name, type, inputs, outputs, attributes)
};

struct OnnxSkipped {
    std::string name, reason;
    CONVCAST_MEMBERS(OnnxSkipped, name, reason)
};

struct OnnxGraph {
    std::string schema = "convcast/onnx/2";
    std::vector<std::string> inputs, outputs; ///< names of tensors, without constants
    std::vector<OnnxTensor> tensors;
    std::vector<OnnxNode> nodes;
    std::vector<OnnxSkipped> skipped; ///< nodes that convolve in the bodies of others
    std::vector<std::string> remarks;
    bool open_images = false;          ///< the model's inputs have no number of images: 1 was taken
    bool open_size = false;            ///< they have no height or width, and none was given
    std::optional<std::int64_t> opset; ///< version of ONNX's own operators; absent: not said
    CONVCAST_MEMBERS(OnnxGraph, schema, inputs, outputs, tensors, nodes, skipped, remarks, open_images,
                     open_size, opset)

    static constexpr std::optional<Range> range_of(std::string_view) { return onnx_number; }
};

} // namespace convcast
