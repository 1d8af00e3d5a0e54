// Tests that need a GPU say so first. Without one they are skipped with the reason, or fail where
// CONVCAST_REQUIRE_GPU=1 promises a GPU.
#pragma once

#include "gpu/device.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace convcast {

inline bool gpu_is_required() {
    const char *value = std::getenv("CONVCAST_REQUIRE_GPU");
    return value && std::string(value) == "1";
}

} // namespace convcast

/// Leaves the test if `why`, an optional<string>, holds a reason. A macro because only one can return for its
/// caller.
#define CONVCAST_SKIP_IF(why)                                                                                \
    do {                                                                                                     \
        if (const auto reason = (why)) {                                                                     \
            if (convcast::gpu_is_required())                                                                 \
                FAIL() << *reason;                                                                           \
            GTEST_SKIP() << *reason;                                                                         \
        }                                                                                                    \
    } while (false)

#define CONVCAST_NEED_GPU() CONVCAST_SKIP_IF(convcast::why_no_device())

namespace convcast {

/// The fixture of tests that need a GPU and nothing else.
struct OnGpu : testing::Test {
    void SetUp() override { CONVCAST_NEED_GPU(); }
};

} // namespace convcast
