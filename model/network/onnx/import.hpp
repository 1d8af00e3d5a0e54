// A network of the graph of an ONNX file. docs/networks.md says which operators become what.
#pragma once

#include "model/network/network.hpp"
#include "model/record/onnx_graph.hpp"

#include <string>

namespace convcast {

/// The network is named for its file. Batch norm is folded into the convolution before it, what only changes
/// the view of a tensor goes, and sums of sizes are worked out. A node that is not known becomes an operator
/// `unknown`. Throws InputError with all nodes that have no shape.
Network import_onnx(const OnnxGraph &graph, const std::string &file);

} // namespace convcast
