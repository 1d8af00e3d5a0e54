#include "model/time/assumed_range.hpp"

#include "model/machine/assume.hpp"
#include "model/time/call.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace convcast {

std::optional<TimeRange> assumed_range(const Plan &plan, const ConvShape &shape, const Gpu &gpu,
                                       const std::optional<Calibration> &fitted) {
    const std::vector<RangedNumber> numbers = ranged_numbers(gpu.profile);
    const auto time_on = [&](const GpuProfile &profile) {
        return forecast_call_time(plan, shape, profile, fitted);
    };
    const std::optional<Seconds> time = time_on(gpu.profile);
    if (numbers.empty() || !time)
        return std::nullopt;
    GpuProfile fast = gpu.profile, slow = gpu.profile;
    for (const RangedNumber &number : numbers) {
        double faster = number.low, slower = number.high;
        if (*time_on(with_number(gpu.profile, number.name, slower)) <
            *time_on(with_number(gpu.profile, number.name, faster)))
            std::swap(faster, slower);
        fast = with_number(std::move(fast), number.name, faster);
        slow = with_number(std::move(slow), number.name, slower);
    }
    return TimeRange{std::min(*time, *time_on(fast)), std::max(*time, *time_on(slow))};
}

} // namespace convcast
