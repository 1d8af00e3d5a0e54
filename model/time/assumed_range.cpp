#include "model/time/assumed_range.hpp"

#include "model/machine/assume.hpp"
#include "model/time/call.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace convcast {

std::optional<TimeRange> range_of_assumed(const GpuProfile &profile,
                                          const std::function<Seconds(const GpuProfile &)> &time_on) {
    const std::vector<RangedNumber> numbers = ranged_numbers(profile);
    if (numbers.empty())
        return std::nullopt;
    GpuProfile fast = profile, slow = profile;
    for (const RangedNumber &number : numbers) {
        double faster = number.low, slower = number.high;
        if (time_on(with_number(profile, number.name, slower)) <
            time_on(with_number(profile, number.name, faster)))
            std::swap(faster, slower);
        fast = with_number(std::move(fast), number.name, faster);
        slow = with_number(std::move(slow), number.name, slower);
    }
    const Seconds time = time_on(profile);
    return TimeRange{std::min(time, time_on(fast)), std::max(time, time_on(slow))};
}

std::optional<TimeRange> assumed_range(const Plan &plan, const ConvShape &shape, const Gpu &gpu,
                                       const std::optional<Calibration> &fitted) {
    if (!forecast_call_time(plan, shape, gpu.profile, fitted))
        return std::nullopt;
    return range_of_assumed(gpu.profile, [&](const GpuProfile &profile) {
        return *forecast_call_time(plan, shape, profile, fitted);
    });
}

} // namespace convcast
