#include "microbench/runners/harness.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace convcast::probe {

Samples stride_granularity(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

Samples segment_granularity(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

} // namespace convcast::probe
