#include "model/time/spread.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace convcast {

std::array<double, spread_coefficients.size()> spread_properties(const SpreadOf &call) {
    const ConvShape &shape = call.shape;
    const auto one_if = [](bool is) { return is ? 1.0 : 0.0; };
    return {std::log(call.time.value),
            std::log(call.time.value / call.bound.value),
            std::log(static_cast<double>(shape.p() * shape.q())),
            std::log(static_cast<double>(shape.n)),
            one_if(shape.r == 1 && shape.s == 1),
            one_if(shape.groups > 1)};
}

double spread_of(const ResidualSpread &spread, const SpreadOf &call) {
    constexpr double most = 4.0;
    const auto properties = spread_properties(call);
    double log_spread = spread.constant;
    for (std::size_t i = 0; i < properties.size(); ++i)
        log_spread += spread.*spread_coefficients[i] * properties[i];
    if (const auto found = spread.kernels.find(call.kernel); found != spread.kernels.end())
        log_spread += found->second;
    return std::clamp(std::exp(log_spread), 1.0 / most, most);
}

} // namespace convcast
