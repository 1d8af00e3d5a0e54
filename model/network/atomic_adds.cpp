#include "model/network/atomic_adds.hpp"

#include "model/machine/curve.hpp"

namespace convcast {

bool knows_atomic_adds(const GpuProfile &profile) {
    return line_of(profile, "float_adds") != nullptr;
}

Seconds atomic_adds_time(double adds, double lines, const GpuProfile &profile) {
    return Seconds(adds * value_at(*line_of(profile, "float_adds"), lines));
}

} // namespace convcast
