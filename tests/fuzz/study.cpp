// A study.
#include "model/record/study.hpp"
#include "model/base/described.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace convcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    return fuzz::accepted(data, size, read_study) ? 0 : -1;
}
