// A profile; and what it forecasts for a small shape by some strategy, which must be a document that can be
// read.
#include "model/machine/profile.hpp"
#include "model/record/run.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace convcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const std::optional<GpuProfile> profile = fuzz::accepted(data, size, read_profile, write_profile);
    if (!profile)
        return -1; // the corpus keeps what is accepted
    Run run;
    run.profile_id = profile->id;
    const ConvShape shape = fuzz::any_shape(size);
    run.cases.push_back(predict(fuzz::any_strategy(data, size), shape, *profile));
    run.cases.push_back(predict_baseline("cudnn:graph", shape, *profile));
    fuzz::require_readable(run);
    return 0;
}
