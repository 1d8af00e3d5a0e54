// What exporters work out of sizes: small tensors of numbers, and the nodes that compute with them.
#pragma once

#include "model/record/onnx_graph.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

struct Numbers {
    std::vector<std::int64_t> sizes;
    std::vector<double> values;
    bool real = false; ///< by a cast or a fraction; else they are taken as integers, as sizes are
};

/// Whether the numbers of a constant of the file are floating-point ones.
inline bool is_real(const OnnxTensor &constant) {
    return constant.type.find("float") != std::string::npos || constant.type == "double";
}

/// What a node gives of constants; absent where it is none of those that compute with sizes, or an input is
/// missing.
std::optional<Numbers> computed(const OnnxNode &node, const std::vector<std::optional<Numbers>> &inputs);

/// Of a node: an attribute's numbers; `otherwise` where it has none.
std::vector<double> attribute(const OnnxNode &node, const char *name, std::vector<double> otherwise = {});
std::vector<std::int64_t> integers(const OnnxNode &node, const char *name,
                                   std::vector<std::int64_t> otherwise = {});
std::string attribute_text(const OnnxNode &node, const char *name);
std::vector<std::int64_t> as_integers(const std::vector<double> &values);

} // namespace convcast
