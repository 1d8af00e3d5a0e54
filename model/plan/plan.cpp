#include "model/plan/plan.hpp"

#include <algorithm>

namespace convcast {

bool uses_tensor_cores(const Plan &plan) {
    return std::any_of(plan.launches.begin(), plan.launches.end(),
                       [](const Partition &part) { return part.step.tensor_fmas.has_value(); });
}

const Partition &main_launch(const Plan &plan) {
    const auto products = [](const Partition &part) {
        return part.work.fmas.value_or(0.0) + part.work.tensor_fmas.value_or(0.0);
    };
    return *std::max_element(
        plan.launches.begin(), plan.launches.end(),
        [&](const Partition &a, const Partition &b) { return products(a) < products(b); });
}

} // namespace convcast
