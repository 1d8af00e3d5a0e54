// The graph of an ONNX file, which the program convcast-onnx reads.
#pragma once

#include "model/record/onnx_graph.hpp"

#include <string>

namespace convcast::cli {

/// Whether convcast-onnx is there.
bool reads_onnx();

/// What to type where it is not.
extern const char *const how_to_read_onnx;

/// `input_size`, "640x640" or "": height and width of the input where the file leaves them open. Throws
/// InputError where the bytes are no model, or convcast-onnx is not there.
OnnxGraph read_onnx(const std::string &bytes, const std::string &file, const std::string &input_size);

} // namespace convcast::cli
