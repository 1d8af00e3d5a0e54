// An ONNX file as a network or as a list of its convolutions, which the program convcast-onnx reads.
#pragma once

#include "model/network/onnx/import.hpp"
#include "model/record/shape_list.hpp"

#include <string>

namespace convcast::cli {

/// Whether convcast-onnx is there.
bool reads_onnx();

/// What to type where it is not.
extern const char *const how_to_read_onnx;

/// `input_size`, "640x640" or "": height and width of the input where the file leaves them open. Throws
/// InputError where the bytes are no model, no convolution in them can be forecast, or convcast-onnx
/// is not there.
ShapeList read_onnx(const std::string &bytes, const std::string &file, const std::string &input_size);

/// The file as a network, whose id is the file's name. Throws InputError with all that is in the way.
ImportedNetwork read_onnx_network(const std::string &bytes, const std::string &file,
                                  const std::string &input_size);

} // namespace convcast::cli
