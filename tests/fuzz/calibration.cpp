// The fitted numbers, and the times that they make.
#include "model/machine/calibration.hpp"
#include "model/machine/profile.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <variant>

using namespace convcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    static const GpuProfile profile = find_profile("h200");
    const std::optional<Calibration> calibration =
        fuzz::accepted(data, size, read_calibration, write_calibration);
    if (!calibration)
        return -1;
    const ConvShape shape = ConvShape::parse(fuzz::shapes[size % std::size(fuzz::shapes)]);
    const auto planned = plan(fuzz::any_strategy(data, size), shape, profile);
    if (const auto *good = std::get_if<PlannedStrategy>(&planned))
        forecast_time(good->feasible.plan, shape, profile, *calibration);
    return 0;
}
