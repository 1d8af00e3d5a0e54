// What a node says by its attributes; and what exporters work out of sizes: small tensors of numbers, and the
// nodes that compute with them.
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

/// A constant: weights, of which only the sizes matter, or few numbers, which are known.
struct Numbers {
    std::vector<std::int64_t> sizes;
    std::vector<double> values; ///< none where they are not known
    bool real = false;          ///< by a cast or a fraction; else they are taken as integers, as sizes are

    /// The product of the sizes, at most 2^31.
    std::int64_t count() const;
    bool known() const { return static_cast<std::int64_t>(values.size()) == count(); }
};

/// Whether elements of a type, by its number in ONNX, are float, half, double or bfloat16.
inline bool is_real_type(std::int64_t type) {
    return type == 1 || type == 10 || type == 11 || type == 16;
}

/// Whether the numbers of a constant of the file are floating-point ones.
inline bool is_real(const OnnxTensor &constant) {
    return constant.type.find("float") != std::string::npos || constant.type == "double";
}

/// The sizes that a Squeeze or Unsqueeze leaves of these by its axes; those before `first` stay. A Squeeze
/// without axes takes all sizes of 1 out. Absent where the axes are none such.
std::optional<std::vector<std::int64_t>> with_or_without_ones(const OnnxNode &node,
                                                              std::vector<std::int64_t> sizes,
                                                              const std::vector<double> &axes,
                                                              std::size_t first);
/// The sizes that a Reshape of `from` to `sizes` gives, of which 0 keeps one and -1 follows from the others.
/// Absent where the numbers are not as many.
std::optional<std::vector<std::int64_t>> reshaped(const std::vector<std::int64_t> &from,
                                                  std::vector<std::int64_t> sizes);
/// The order in which a Transpose puts so many axes; absent where it is none.
std::optional<std::vector<std::size_t>> order_of(const OnnxNode &node, std::size_t rank);

/// What a node gives of constants; absent where it is none of those that compute with sizes or only change
/// them, or an input is missing or not known that it computes with.
std::optional<Numbers> computed(const OnnxNode &node, const std::vector<std::optional<Numbers>> &inputs);

/// Of a node: an attribute's numbers; `otherwise` where it has none.
std::vector<double> attribute(const OnnxNode &node, const char *name, std::vector<double> otherwise = {});
std::vector<std::int64_t> integers(const OnnxNode &node, const char *name,
                                   std::vector<std::int64_t> otherwise = {});
std::string attribute_text(const OnnxNode &node, const char *name);
std::vector<std::int64_t> as_integers(const std::vector<double> &values);

namespace onnx {
inline constexpr std::int64_t most_size = std::int64_t{1} << 31;

/// Rows and columns of a node's window over a map, with the padding that the node's auto_pad asks for. Throws
/// UsageError where the node's attributes are not those of two directions or are out of range.
std::array<Window, 2> windows_of(const OnnxNode &node, const std::array<std::int64_t, 2> &map,
                                 const std::array<std::int64_t, 2> &window);
/// "1 x 64 x ? x ?"
std::string sizes_text(const std::vector<std::int64_t> &sizes);
/// Why filters do not fit an input.
std::string other_channels(std::int64_t channels, std::int64_t groups, std::int64_t filters);
} // namespace onnx

} // namespace convcast
