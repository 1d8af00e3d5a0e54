// Tests of what needs one of CUDA's libraries and no GPU. For CONVCAST_SKIP_IF.
#pragma once

#include "gpu/check.hpp"
#include "gpu/compile.hpp"
#include "gpu/counters.hpp"
#include "gpu/metrics.hpp"
#include "tests/gpu/require_gpu.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace convcast {

inline std::optional<std::string> why_no_compiler() {
    return why_not([] { Compiler compiler{std::filesystem::path()}; });
}

inline std::optional<std::string> why_no_cupti() {
#ifdef __SANITIZE_ADDRESS__
    return "CUPTI opens libnvperf_host with RTLD_DEEPBIND, which AddressSanitizer does not allow";
#endif
    return why_not([] { passes_for("GH100", {metrics::instructions}); });
}

} // namespace convcast
