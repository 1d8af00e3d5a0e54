// Tests that compile device code need NVRTC, no GPU.
#pragma once

#include "gpu/compile.hpp"
#include "model/base/errors.hpp"
#include "tests/gpu/require_gpu.hpp"

#include <filesystem>
#include <optional>

namespace convcast {

/// For CONVCAST_SKIP_IF.
inline std::optional<std::string> why_no_compiler() {
    try {
        Compiler compiler{std::filesystem::path()};
        return std::nullopt;
    } catch (const GpuError &error) {
        return error.what();
    }
}

} // namespace convcast
