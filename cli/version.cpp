#include "cli/version.hpp"

#include "executor/launch/kernel_source.hpp"

#include "commit.hpp" // made by cmake/commit.cmake

#include <string>

namespace convcast::cli {

Producer producer() {
    return {CONVCAST_VERSION, device_code_hash(), measuring_code_hash()};
}

std::string commit() {
    return CONVCAST_COMMIT;
}

std::string compiler() {
    return CONVCAST_COMPILER;
}

} // namespace convcast::cli
