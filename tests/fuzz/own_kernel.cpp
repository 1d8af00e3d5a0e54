// A kernel of the user's own as documents hold it: its launch, its work and its forecast for small shapes.
#include "model/record/own_kernel.hpp"
#include "model/base/described.hpp"
#include "model/machine/profile.hpp"
#include "model/record/run.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace convcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const auto kernel = fuzz::accepted(data, size, described::read_document<OwnKernel>);
    if (!kernel)
        return -1;
    Run run;
    run.profile_id = fuzz::h200().id;
    for (const char *text : fuzz::shapes)
        run.cases.push_back(predict_own(*kernel, ConvShape::parse(text), fuzz::h200(), {}));
    fuzz::require_readable(run);
    return 0;
}
