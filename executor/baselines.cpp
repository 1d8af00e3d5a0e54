#include "executor/baselines.hpp"

#include "model/errors.hpp"

#include <algorithm>

namespace convcast {

std::vector<std::string> baselines() {
    return {"cudnn:implicit_gemm", "cudnn:implicit_precomp_gemm",
            "cudnn:gemm",          "cudnn:direct",
            "cudnn:fft",           "cudnn:fft_tiling",
            "cudnn:winograd",      "cudnn:winograd_nonfused"};
}

Gate second_gate(const std::string &baseline) {
    const bool transforms =
        baseline.find(":fft") != std::string::npos || baseline.find(":winograd") != std::string::npos;
    return transforms ? Gate::transformed : Gate::rounding;
}

bool is_baseline(const std::string &text) {
    return text == "cudnn" || text.starts_with("cudnn:");
}

void check_baseline(const std::string &text) {
    const std::vector<std::string> known = baselines();
    if (text != "cudnn" && std::find(known.begin(), known.end(), text) == known.end())
        throw UsageError("unknown baseline '" + text + "'" + did_you_mean(text, known) +
                         " Known: cudnn (all), " + join(known));
}

} // namespace convcast
