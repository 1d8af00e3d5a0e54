// A list of shapes in any format. What it holds must come out again when it is written a shape per line.
#include "model/record/shape_list.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace convcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const auto write = [](const ShapeList &list) {
        std::string text;
        for (const ListedShape &entry : list.shapes)
            text += entry.shape.id() + " x" + std::to_string(entry.count) + "\n";
        return text;
    };
    return fuzz::accepted(data, size, read_shape_list, write) ? 0 : -1;
}
