// Loops over every number that a profile can have, by the descriptions of its structs.
#pragma once

#include "model/base/described.hpp"
#include "model/machine/profile.hpp"

#include <type_traits>
#include <utility>

namespace convcast {

/// Calls `use(member)` for each Param: `member.name`, and `profile.*member.pointer`, a std::optional<Param>.
template <class Use> void for_each_param(Use use) {
    boost::mp11::mp_for_each<described::Members<GpuProfile>>([&](auto member) {
        using Field = std::decay_t<decltype(std::declval<GpuProfile>().*member.pointer)>;
        if constexpr (described::IsOptional<Field>::value)
            if constexpr (described::IsParam<typename Field::value_type>::value)
                use(member);
    });
}

/// Calls `use(name, field)` for each Param of a profile, present or not; `field` is a std::optional<Param>.
template <class Profile, class Use> void for_each_param(Profile &profile, Use use) {
    for_each_param([&](auto member) { use(member.name, profile.*member.pointer); });
}

/// Calls `use(member)` for each limit; `limits.*member.pointer` is an integer.
template <class Use> void for_each_limit(Use use) {
    boost::mp11::mp_for_each<described::Members<GpuLimits>>(use);
}

} // namespace convcast
