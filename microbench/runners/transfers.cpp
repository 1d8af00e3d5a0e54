#include "microbench/runners/harness.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace convcast::probe {

Samples host_copy(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

Samples peer_copy(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

Samples peer_all_pairs(ProbeContext &, const Module &) {
    throw ProbeSkipped("not measured by this version");
}

} // namespace convcast::probe
