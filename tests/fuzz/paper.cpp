// A paper.
#include "model/record/paper.hpp"
#include "model/base/described.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace convcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const auto write = [](const Paper &paper) { return to_text(described::write(paper)); };
    return fuzz::accepted(data, size, read_paper, write) ? 0 : -1;
}
