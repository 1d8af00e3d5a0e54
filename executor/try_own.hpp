// Kernels of the user's own are called once in a process of their own before they are verified: one that
// never returns, or that breaks the GPU's state, ends that process and nothing else.
#pragma once

#include "gpu/compile.hpp"
#include "gpu/device.hpp"
#include "model/record/run.hpp"

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace convcast {

/// A single call may take so long; then the process that made it ends.
inline constexpr unsigned own_trial_seconds = 10;

/// In that process: compiles each open case "own:NAME" and calls it once. Says a line before each call, and
/// one on what came of it. Returns early where no more can be called in this process.
void try_own_kernels(const Run &run, Compiler &compiler, const Device &device, const GpuProfile &profile,
                     const std::function<void(const std::string &line)> &say);

/// Has `program` with `words`, which reads a Run document on its standard input and writes what
/// try_own_kernels says, try the open own cases, where there are any. Those that fail get the status and the
/// reason; a process that ended is followed by another for the cases that are left. Returns which failed.
std::set<std::size_t> try_own_kernels_apart(Run &run, const std::string &program,
                                            const std::vector<std::string> &words);

} // namespace convcast
