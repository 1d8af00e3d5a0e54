// The graph of an ONNX file as a network, and its convolutions. docs/networks.md says which operators become
// what.
#pragma once

#include "model/network/network.hpp"
#include "model/record/onnx_graph.hpp"
#include "model/record/shape_list.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace convcast {

/// The network is named for its file. Batch norm is folded into the convolution before it, what only changes
/// the view of a tensor goes, and sums of sizes are worked out. A node that is not known becomes an operator
/// `unknown`. Throws InputError with all that is wrong with the graph. `remarks` gets what a reader of its
/// forecast has to know.
Network import_onnx(const OnnxGraph &graph, const std::string &file,
                    std::vector<std::string> *remarks = nullptr);
/// Versions of ONNX's own operators that are read.
inline constexpr std::int64_t first_opset = 7, last_opset = 23;

/// The convolutions of the network that a graph is, by the outputs of their nodes. There sizes are known that
/// the file leaves to be worked out when it runs, and padding that differs on both sides is an operator of
/// its own. None where the graph is no network.
struct NetworkConvolutions {
    std::map<std::string, ConvShape> of; ///< of one image
    std::int64_t images = 0;             ///< that the file says; 0: any
};
NetworkConvolutions convolutions_of_network(const OnnxGraph &graph, const std::string &file);

/// The convolutions that are 2D, of a known size and of a type that is forecast; remarks name every other
/// one with the reason. What a node leaves open by itself is taken of the network that the graph is
/// (convolutions_of_network). The graph need not be one that can be a network: it may have several inputs and
/// operators that are not known. Throws InputError where there is no such convolution.
ShapeList convolutions_of(const OnnxGraph &graph, const std::string &file);

} // namespace convcast
