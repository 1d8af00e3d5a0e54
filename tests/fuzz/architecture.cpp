// What a compute capability fixes.
#include "model/machine/architecture.hpp"
#include "model/base/document.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace convcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    return fuzz::accepted(data, size, described::read_document<Architecture>) ? 0 : -1;
}
