// The nodes of an ONNX graph that convolve, each by itself as far as its sizes are known there.
#pragma once

#include "model/record/onnx_graph.hpp"
#include "model/record/shape_list.hpp"
#include "model/shape/window.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace convcast {

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

/// The convolutions that are 2D, of a known size and of a type that is forecast; remarks name every other
/// one with the reason. What a node leaves open by itself is taken of the network that the graph is
/// (convolutions_of_network). The graph need not be one that can be a network: it may have several inputs and
/// operators that are not known. Throws InputError where there is no such convolution.
ShapeList convolutions_of(const OnnxGraph &graph, const std::string &file);

} // namespace convcast
