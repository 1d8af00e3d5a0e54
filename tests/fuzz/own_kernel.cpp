// A kernel of the user's own as documents hold it: its launch, its work and its forecast for small shapes.
#include "model/record/own_kernel.hpp"
#include "model/base/described.hpp"
#include "model/machine/profile.hpp"
#include "model/record/run.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace convcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    static const GpuProfile profile = find_profile("h200");
    const auto read = [](const std::string &text, const std::string &file) {
        return described::read_document<OwnKernel>(text, file);
    };
    const auto kernel =
        fuzz::accepted(data, size, read, [](const OwnKernel &its) { return to_text(described::write(its)); });
    if (!kernel)
        return -1;
    Run run;
    run.profile_id = profile.id;
    for (const char *text : fuzz::shapes)
        run.cases.push_back(predict_own(*kernel, ConvShape::parse(text), profile, {}));
    const std::string text = write_run(run);
    fuzz::require_same(text, write_run(read_run(text, "forecast")));
    return 0;
}
