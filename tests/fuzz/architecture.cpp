// What a compute capability fixes.
#include "model/machine/architecture.hpp"
#include "model/base/document.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace convcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const auto write = [](const Architecture &architecture) {
        return to_text(described::write(architecture));
    };
    return fuzz::accepted(data, size, described::read_document<Architecture>, write) ? 0 : -1;
}
