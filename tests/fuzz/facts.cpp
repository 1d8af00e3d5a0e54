// Facts of compiled kernels, and what they make of plans.
#include "model/machine/facts.hpp"
#include "model/machine/profile.hpp"
#include "model/work/compiled.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <variant>

using namespace convcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const std::optional<Facts> facts = fuzz::accepted(data, size, read_facts, write_facts);
    if (!facts)
        return -1;
    const ConvShape shape = fuzz::any_shape(size);
    const auto planned = plan(fuzz::any_strategy(data, size), shape, fuzz::h200(), *facts);
    if (const auto *good = std::get_if<PlannedStrategy>(&planned))
        forecast_time(with_facts(good->feasible.plan, *facts, Gpu(fuzz::h200()).architecture), shape,
                      fuzz::h200());
    return 0;
}
