// import: an ONNX model as a network file.
#include "cli/network.hpp"
#include "cli/question.hpp"
#include "cli/verbs.hpp"
#include "model/base/document.hpp"
#include "model/base/files.hpp"

namespace convcast::cli {

int import(const Arguments &arguments) {
    write_file_atomically(arguments.text("output", "-"),
                          to_text(described::write(network_of_file(arguments.words().front(), arguments))));
    return 0;
}

} // namespace convcast::cli
