// What the reader of ONNX files hands over, which comes from the sizes and attributes of any file.
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/network/onnx/import.hpp"
#include "model/record/shape_list.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace convcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const auto read = [](const std::string &text, const std::string &file) {
        const OnnxReading reading = described::read_document<OnnxReading>(text, file, "convcast/onnx/1");
        try {
            if (reading.graph)
                (void)import_onnx(*reading.graph, "fuzzed", file);
        } catch (const InputError &) {
        }
        for (const ListedShape &entry : list_of(reading, file).shapes)
            fuzz::require_same(entry.shape.id(), ConvShape::parse(entry.shape.id()).id());
        return reading;
    };
    const auto write = [](const OnnxReading &reading) { return to_text(described::write(reading)); };
    return fuzz::accepted(data, size, read, write) ? 0 : -1;
}
