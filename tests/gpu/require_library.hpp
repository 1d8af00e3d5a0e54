// Tests of what needs one of CUDA's libraries and no GPU. For CONVCAST_SKIP_IF.
#pragma once

#include "gpu/compile.hpp"
#include "gpu/counters.hpp"
#include "gpu/metrics.hpp"
#include "model/base/errors.hpp"
#include "tests/gpu/require_gpu.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace convcast {

/// The message of the GpuError that `make()` throws; absent where it throws none.
template <class Make> std::optional<std::string> why_not(const Make &make) {
    try {
        make();
        return std::nullopt;
    } catch (const GpuError &error) {
        return error.what();
    }
}

inline std::optional<std::string> why_no_compiler() {
    return why_not([] { Compiler compiler{std::filesystem::path()}; });
}

inline std::optional<std::string> why_no_cupti() {
#ifdef __SANITIZE_ADDRESS__
    return "CUPTI opens libnvperf_host with RTLD_DEEPBIND, which AddressSanitizer does not allow";
#endif
    return why_not([] { passes_for("GH100", {metrics::instructions.name}); });
}

} // namespace convcast
