// A baseline ready to run, whichever library it is from.
#pragma once

#include "executor/launch/conv_call.hpp"
#include "executor/verify/gates.hpp"

#include <cstddef>
#include <string>

namespace convcast {

/// Another's convolution, ready to run.
struct BaselineCall {
    ConvCall call;
    std::string detail; ///< how it does it, for the case: "workspace 1024 bytes"
    Gate second_gate = Gate::rounding;
    std::string plan{}; ///< names the plan that was picked; empty where there is nothing to pick
};

/// Device memory that a baseline may take beside the tensors.
inline constexpr std::size_t most_workspace_bytes = std::size_t{16} << 30;

} // namespace convcast
