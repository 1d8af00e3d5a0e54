// Attributes of ONNX nodes, and constants. Exporters write how sizes follow from each other as nodes that
// compute with small tensors: these are computed here, so that they do not become operators of a network.
#pragma once

#include "model/record/onnx_graph.hpp"
#include "model/shape/window.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// A constant: weights, of which only the sizes are known, or a few numbers with their values.
struct Numbers {
    std::vector<std::int64_t> sizes; ///< of its axes; none: one number
    std::vector<double> values;      ///< none: they are not known
    bool real = false; ///< floating-point; else they are integers, as sizes are: a Div truncates

    /// The product of the sizes, at most 2^31.
    std::int64_t count() const;
    /// Whether the values are known.
    bool known() const { return static_cast<std::int64_t>(values.size()) == count(); }
};

/// Whether an element type, by its number in ONNX, is float, half, double or bfloat16.
inline bool is_real_type(std::int64_t type) {
    return type == 1 || type == 10 || type == 11 || type == 16;
}

/// Whether the numbers of a constant of the file are floating-point ones.
inline bool is_real(const OnnxTensor &constant) {
    return constant.type.find("float") != std::string::npos || constant.type == "double";
}

/// The sizes behind a Squeeze or Unsqueeze, which takes axes of size 1 out or puts them in; those before
/// `first` stay. A Squeeze without `axes` takes all of size 1 out. Absent if it cannot have these axes.
std::optional<std::vector<std::int64_t>> with_or_without_ones(const OnnxNode &node,
                                                              std::vector<std::int64_t> sizes,
                                                              const std::vector<double> &axes,
                                                              std::size_t first);
/// The sizes behind a Reshape of a tensor of sizes `from` to `sizes`, in which 0 keeps the size of that axis
/// and -1 follows from the others. Absent if the count of numbers would change.
std::optional<std::vector<std::int64_t>> reshaped(const std::vector<std::int64_t> &from,
                                                  std::vector<std::int64_t> sizes);
/// The order in which a Transpose puts `rank` axes: axis i of its output is axis order[i] of its input.
/// Absent if its attribute is no such order.
std::optional<std::vector<std::size_t>> order_of(const OnnxNode &node, std::size_t rank);

/// The output of a node whose inputs are all constants (absent: the node leaves that input out). Absent if
/// the node's type is not computed here, or if the values of an input that it computes with are not known.
std::optional<Numbers> computed(const OnnxNode &node, const std::vector<std::optional<Numbers>> &inputs);

/// The numbers of a node's attribute, one or several; `otherwise` if it has no such attribute.
std::vector<double> attribute(const OnnxNode &node, const char *name, std::vector<double> otherwise = {});
std::vector<std::int64_t> integers(const OnnxNode &node, const char *name,
                                   std::vector<std::int64_t> otherwise = {});
/// The text of a node's attribute; "" if it has none.
std::string attribute_text(const OnnxNode &node, const char *name);
/// Without fractions, and within what a double has exactly (+-2^53); NaN becomes 0.
std::vector<std::int64_t> as_integers(const std::vector<double> &values);

namespace onnx {
/// Of an axis or a constant: no tensor has more numbers, and a product of two fits an int64.
inline constexpr std::int64_t most_size = std::int64_t{1} << 31;

/// The window of a convolution or pooling node along rows and along columns of a `map`, with the padding that
/// auto_pad asks for. Throws UsageError if attributes are not of two directions or out of range.
std::array<Window, 2> windows_of(const OnnxNode &node, const std::array<std::int64_t, 2> &map,
                                 const std::array<std::int64_t, 2> &window);
/// "1 x 64 x ? x ?": a size below 1 is not known.
std::string sizes_text(const std::vector<std::int64_t> &sizes);
/// Why filters with `filters` channels do not fit an input, a sentence.
std::string other_channels(std::int64_t channels, std::int64_t groups, std::int64_t filters);
} // namespace onnx

} // namespace convcast
