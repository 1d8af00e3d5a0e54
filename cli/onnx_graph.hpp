// The graph of an ONNX file, which the program convcast-onnx reads.
#pragma once

#include "model/record/onnx_graph.hpp"

#include <optional>
#include <string>
#include <vector>

namespace convcast::cli {

/// Whether convcast-onnx is there.
bool reads_onnx();

/// What to type where it is not.
extern const char *const how_to_read_onnx;

/// `input_size`, "640x640" or "": height and width of the input where the file leaves them open. Throws
/// InputError where the bytes are no model, or convcast-onnx is not there.
OnnxGraph read_onnx(const std::string &bytes, const std::string &file, const std::string &input_size);

/// What is to say of the files beside an ONNX file that its weights lie in: those that are not there, and
/// those outside its folder. None is opened: a forecast needs the sizes of weights alone. Without a folder,
/// as of standard input, nothing is looked for.
std::vector<std::string> remarks_on_files(const OnnxGraph &graph, const std::string &file,
                                          const std::optional<std::string> &folder);

} // namespace convcast::cli
