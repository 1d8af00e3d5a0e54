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

/// The graph in the bytes of an ONNX file, `file` in messages, by convcast-onnx. `input_size`, "640x640" or
/// "": its input's height and width where open. Throws InputError for no model, or without convcast-onnx.
OnnxGraph read_onnx(const std::string &bytes, const std::string &file, const std::string &input_size);

/// Remarks on the files with an ONNX file's weights, if missing or outside its `folder`. None is opened: a
/// forecast needs only sizes of weights. Without a folder, as for standard input, none is looked for.
std::vector<std::string> remarks_on_files(const OnnxGraph &graph, const std::string &file,
                                          const std::optional<std::string> &folder);

} // namespace convcast::cli
