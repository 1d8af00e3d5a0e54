#include "model/network/atomic_adds.hpp"

#include <algorithm>
#include <cmath>

namespace convcast {

// Poisson's distribution of lines over slices: the mean of the largest is the sum over k of P(largest > k).
double busiest_slice(double lines, double slices) {
    const double mean = lines / slices, width = 12.0 * std::sqrt(mean) + 12.0, // beyond that there is nothing
        from = std::max(0.0, std::floor(mean - width));
    double below = 0.0, largest = from;
    for (double k = from; k < mean + width; k += 1.0) {
        below += std::exp(k * std::log(mean) - mean - std::lgamma(k + 1.0));
        largest += 1.0 - std::pow(std::min(1.0, below), slices);
    }
    return std::clamp(largest, 1.0, std::max(1.0, lines));
}

AtomicAdds::AtomicAdds(const GpuProfile &profile) {
    const auto curve = profile.curves.find("atomic_rate");
    if (!profile.atomic_same_address_time || curve == profile.curves.end() || curve->second.series.empty() ||
        curve->second.series.front().x.empty())
        return;
    one_ = profile.atomic_same_address_time->value.value;
    // So many slices that the most addresses take as long as was measured; each was in a line of its own.
    const double lines = curve->second.series.front().x.back(), each = curve->second.series.front().y.back();
    double few = 1.0, many = lines;
    constexpr double close_enough = 0.01;
    while (many - few > close_enough) {
        const double between = (few + many) / 2.0;
        (one_ * busiest_slice(lines, between) / lines > each ? few : many) = between;
    }
    slices_ = (few + many) / 2.0;
}

Seconds AtomicAdds::time(double adds, double lines) const {
    const double at_once = std::max(1.0, lines);
    return Seconds(one_ * adds * busiest_slice(at_once, slices_) / at_once);
}

} // namespace convcast
