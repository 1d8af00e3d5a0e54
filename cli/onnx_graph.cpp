#include "cli/onnx_graph.hpp"

#include "cli/shipped.hpp"
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/readable.hpp"
#include "model/base/spawn.hpp"

#include <unistd.h>

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

namespace convcast::cli {
namespace {

/// The path of convcast-onnx, in a build folder or as installed; "" where it is in neither.
std::string reader_program() {
    for (const char *place : {"convcast-onnx", "../libexec/convcast/convcast-onnx"})
        if (const std::string program = program_folder() / place; ::access(program.c_str(), X_OK) == 0)
            return program;
    return {};
}

} // namespace

const char *const how_to_read_onnx =
    "Type: apt-get install libonnx-dev libprotobuf-dev, then ./quickstart in convcast's sources";

bool reads_onnx() {
    return !reader_program().empty();
}

OnnxGraph read_onnx(const std::string &bytes, const std::string &file, const std::string &input_size) {
    const std::string program = reader_program();
    if (program.empty())
        throw InputError(
            file, std::string("is an ONNX file, and convcast-onnx, which reads them, was not built. ") +
                      how_to_read_onnx + "; other formats of lists need nothing (docs/study.md)");
    std::vector<std::string> words = {program};
    if (!input_size.empty())
        words.push_back(input_size);
    try {
        const MemoryFile in(bytes), out, log;
        const auto [status, signal] =
            Child(words, {in.descriptor(), out.descriptor(), log.descriptor()}).end();
        if (status != 0) {
            const std::string said = log.content();
            throw InputError(file + " (ONNX)",
                             "the ONNX library cannot read it: " +
                                 (signal != 0 ? "it was ended by signal " + std::to_string(signal)
                                              : shortened(said.substr(0, said.find('\n')), 300)));
        }
        return described::read_document<OnnxGraph>(out.content(), file);
    } catch (const std::system_error &error) {
        throw InputError(file, std::string("cannot start convcast-onnx: ") + error.what());
    }
}

std::vector<std::string> remarks_on_files(const OnnxGraph &graph, const std::string &file,
                                          const std::optional<std::string> &folder) {
    std::set<std::string> names; // of files; "" where the ONNX file names none
    for (const OnnxTensor &tensor : graph.tensors)
        if (tensor.external)
            names.insert(*tensor.external);
    std::vector<std::string> outside, missing;
    for (const std::string &name : names) {
        const std::filesystem::path path(name), plain = path.lexically_normal();
        const bool leaves = path.empty() || path.is_absolute() || *plain.begin() == "..";
        std::error_code ignored;
        if (leaves)
            outside.push_back("'" + shortened(name, 80) + "'");
        else if (folder && !std::filesystem::exists(std::filesystem::path(*folder) / plain, ignored))
            missing.push_back("'" + shortened(name, 80) + "'");
    }
    std::vector<std::string> remarks;
    const std::string end = "; it is not opened, since the sizes of weights are all that convcast reads. ";
    if (!outside.empty())
        remarks.push_back(file + ": its weights lie outside its folder, in " + join_some(outside, 3) + end +
                          "Expected files beside the ONNX file: other programs will refuse it");
    if (!missing.empty())
        remarks.push_back(file + ": the file of its weights is missing, " + join_some(missing, 3) + end +
                          "Put it beside the ONNX file for other programs");
    return remarks;
}

} // namespace convcast::cli
