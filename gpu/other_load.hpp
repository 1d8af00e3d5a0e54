// Whether somebody else is using a GPU: what is measured beside other work is worth little.
#pragma once

#include <string>

namespace convcast {

struct OtherLoad {
    bool busy = false;
    std::string text; ///< "none", what was seen, or why nothing can be seen
};

/// By NVML, before this process has work on the GPU: afterwards its own work is seen as well. Never throws; a
/// machine without NVML is not busy, with the reason.
OtherLoad other_load(int ordinal);

} // namespace convcast
