// Counters of several calls, where one that cannot be counted does not take those of the others along.
#pragma once

#include "gpu/counters.hpp"

#include <string>
#include <variant>
#include <vector>

namespace convcast {

/// The counters of a call, or why there are none.
using CountedCall = std::variant<CounterSession::Values, std::string>;

/// Of each of `calls`: counted together or, where that fails, one by one. `before` as CounterSession has it.
/// Throws DeviceLost, and CounterPermissionError where counters may not be read.
std::vector<CountedCall> collect_calls(CounterSession &session, const CounterSession::Work &before,
                                       const std::vector<CounterSession::Work> &calls);

} // namespace convcast
