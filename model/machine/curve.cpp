#include "model/machine/curve.hpp"

#include <cmath>
#include <cstddef>

namespace convcast {

const CurveSeries *line_of(const GpuProfile &profile, const std::string &curve) {
    const auto found = profile.curves.find(curve);
    return found == profile.curves.end() || found->second.series.empty() ||
                   found->second.series.front().x.empty()
               ? nullptr
               : &found->second.series.front();
}

double value_at(const CurveSeries &line, double x) {
    if (x <= line.x.front())
        return line.y.front();
    if (x >= line.x.back())
        return line.y.back();
    std::size_t i = 1;
    while (line.x[i] < x)
        ++i;
    const double share = std::log(x / line.x[i - 1]) / std::log(line.x[i] / line.x[i - 1]);
    return line.y[i - 1] * std::pow(line.y[i] / line.y[i - 1], share);
}

} // namespace convcast
