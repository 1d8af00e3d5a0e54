#include "model/time/spread.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace convcast {

std::array<double, spread_coefficients.size()> spread_properties(const ConvShape &shape, Seconds time,
                                                                 Seconds bound) {
    const auto one_if = [](bool is) { return is ? 1.0 : 0.0; };
    return {std::log(time.value),
            std::log(time.value / bound.value),
            std::log(static_cast<double>(shape.p() * shape.q())),
            std::log(static_cast<double>(shape.n)),
            one_if(shape.r == 1 && shape.s == 1),
            one_if(shape.groups > 1)};
}

double spread_of(const ResidualSpread &spread, const ConvShape &shape, Seconds time, Seconds bound) {
    constexpr double most = 4.0;
    const auto properties = spread_properties(shape, time, bound);
    double log_spread = spread.constant;
    for (std::size_t i = 0; i < properties.size(); ++i)
        log_spread += spread.*spread_coefficients[i] * properties[i];
    return std::clamp(std::exp(log_spread), 1.0 / most, most);
}

} // namespace convcast
