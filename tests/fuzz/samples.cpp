// Raw samples of probes, and the profile that they become.
#include "microbench/samples.hpp"
#include "microbench/analysis.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace convcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const std::optional<RawSamples> raw = fuzz::accepted(data, size, read_samples, write_samples);
    if (!raw)
        return -1;
    const std::string text = write_profile(analyze(*raw, "fuzzed"));
    fuzz::require_same(text, write_profile(read_profile(text, "analysed")));
    return 0;
}
