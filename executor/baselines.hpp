// Others' convolutions that ours are compared with, by name. Which of them run is for the machine to say.
#pragma once

#include "executor/gates.hpp"

#include <string>
#include <vector>

namespace convcast {

/// "cudnn:implicit_gemm", ...: every algorithm of cuDNN's forward convolution, each a baseline of its own.
std::vector<std::string> baselines();

/// Whether a text names a baseline family ("cudnn") or one of its members.
bool is_baseline(const std::string &text);

/// Throws UsageError unless `text` is a family or a member.
void check_baseline(const std::string &text);

/// Which gate 2 a baseline's arithmetic must pass; gate 1 only goes with Gate::rounding.
Gate second_gate(const std::string &baseline);

} // namespace convcast
