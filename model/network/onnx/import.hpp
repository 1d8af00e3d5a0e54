// The graph of an ONNX file as a network, and its convolutions. docs/networks.md says what becomes of nodes.
#pragma once

#include "model/network/network.hpp"
#include "model/record/onnx_graph.hpp"
#include "model/record/shape_list.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace convcast {

/// The network that a graph is, with the name of its file as id. Batch norm is folded into the convolution
/// before it, nodes that only change the view of a tensor vanish, and what is computed of sizes is computed.
/// A node that is not known becomes an operator `unknown`. Throws InputError with all that is wrong with the
/// graph. `remarks`, unless nullptr, gets what a reader of its forecast has to know.
Network import_onnx(const OnnxGraph &graph, const std::string &file,
                    std::vector<std::string> *remarks = nullptr);
/// Versions of ONNX's own operators that are read.
inline constexpr std::int64_t first_opset = 7, last_opset = 23;

/// The convolutions of the network that a graph is, with sizes that the file leaves to be computed when it
/// runs. Padding that differs on both sides is an operator of its own there. None if the graph is no network.
struct NetworkConvolutions {
    std::map<std::string, ConvShape> of; ///< by the output of its node, with one image
    std::int64_t images = 0;             ///< of a batch, as the file says; 0: any number
};
NetworkConvolutions convolutions_of_network(const OnnxGraph &graph, const std::string &file);

/// The convolutions of a graph that are 2D, of a known size and of a type that is forecast; remarks name the
/// others with the reason. What a node leaves open is taken from convolutions_of_network. The graph need not
/// be a network: it may have several inputs. Throws InputError if it has no such convolution.
ShapeList convolutions_of(const OnnxGraph &graph, const std::string &file);

} // namespace convcast
