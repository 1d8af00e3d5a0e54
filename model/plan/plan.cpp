#include "model/plan/plan.hpp"

#include <boost/describe.hpp>
#include <boost/mp11.hpp>

#include <algorithm>
#include <optional>
#include <type_traits>

namespace convcast {

void add(StepWork &sum, const StepWork &a, double times) {
    using Members = boost::describe::describe_members<StepWork, boost::describe::mod_public>;
    boost::mp11::mp_for_each<Members>([&](auto member) {
        auto &its = sum.*member.pointer;
        const auto &more = a.*member.pointer;
        if constexpr (std::is_same_v<decltype(its), double &>)
            its += times * more;
        else if (more)
            its = its.value_or(0.0) + times * *more;
    });
}

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
