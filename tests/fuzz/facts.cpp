// Facts of compiled kernels, and what they make of plans.
#include "model/machine/facts.hpp"
#include "model/machine/profile.hpp"
#include "model/work/compiled.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <variant>

using namespace convcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    static const GpuProfile profile = find_profile("h200");
    const std::optional<Facts> facts = fuzz::accepted(data, size, read_facts, write_facts);
    if (!facts)
        return -1;
    const ConvShape shape = ConvShape::parse(fuzz::shapes[size % std::size(fuzz::shapes)]);
    const auto planned = plan(fuzz::any_strategy(data, size), shape, profile, *facts);
    if (const auto *good = std::get_if<PlannedStrategy>(&planned))
        forecast_time(with_facts(good->feasible.plan, *facts, Gpu(profile).architecture), shape, profile);
    return 0;
}
