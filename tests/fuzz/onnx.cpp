// What the reader of ONNX files hands over, which comes from the sizes and attributes of any file.
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/network/onnx/import.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace convcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const auto read = [](const std::string &text, const std::string &file) {
        const OnnxGraph graph = described::read_document<OnnxGraph>(text, file);
        try {
            (void)import_onnx(graph, file);
        } catch (const InputError &) {
        }
        for (const ListedShape &entry : convolutions_of(graph, file).shapes)
            fuzz::require_same(entry.shape.id(), ConvShape::parse(entry.shape.id()).id());
        return graph;
    };
    return fuzz::accepted(data, size, read) ? 0 : -1;
}
