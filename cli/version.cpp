#include "cli/version.hpp"

#include "executor/launch/kernel_source.hpp"

namespace convcast::cli {

Producer producer() {
    return {CONVCAST_VERSION, device_code_hash(), measuring_code_hash()};
}

} // namespace convcast::cli
