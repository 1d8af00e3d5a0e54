// The text of a shape, and the forecast of one that is small.
#include "model/machine/profile.hpp"
#include "model/shape/conv_shape.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace convcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    std::optional<ConvShape> shape;
    try {
        shape = ConvShape::parse(std::string(reinterpret_cast<const char *>(data), size));
    } catch (const UsageError &) {
        return -1;
    }
    fuzz::require_same(shape->id(), ConvShape::parse(shape->id()).id());
    if (shape->fmas().value < 1e7)
        predict(fuzz::any_strategy(data, size), *shape, fuzz::h200());
    return 0;
}
