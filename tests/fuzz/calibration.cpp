// The fitted numbers, and the times that they make.
#include "model/machine/calibration.hpp"
#include "model/machine/profile.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <variant>

using namespace convcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const std::optional<Calibration> calibration =
        fuzz::accepted(data, size, read_calibration, write_calibration);
    if (!calibration)
        return -1;
    const ConvShape shape = fuzz::any_shape(size);
    const auto planned = plan(fuzz::any_strategy(data, size), shape, fuzz::h200());
    if (const auto *good = std::get_if<PlannedStrategy>(&planned))
        forecast_time(good->feasible.plan, shape, fuzz::h200(), *calibration);
    return 0;
}
