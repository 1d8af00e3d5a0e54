// Kernels of the user's own are called once in a separate process before they are verified. A kernel that
// never returns, or that breaks the GPU's state, then ends that process and nothing else.
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

/// How long a single call may take; then SIGALRM ends the process that made it. Chosen.
inline constexpr unsigned own_trial_seconds = 10;

/// Runs in the separate process: compiles each open case "own:NAME" and calls it once. Says "call" before
/// each call and "ok" or "bad REASON" after it. Returns early if the GPU's state is broken.
void try_own_kernels(const Run &run, Compiler &compiler, const Device &device, const GpuProfile &profile,
                     const std::function<void(const std::string &line)> &say);

/// Runs `program` with the arguments `words` as the separate process for the open own cases; starts none if
/// there are no such cases. The program must read a Run document on its standard input and write what
/// try_own_kernels() says. Cases that fail get the status and the reason. If the process ends early, another
/// one takes the remaining cases. Returns the indices of the cases that failed. Throws GpuError if no process
/// can be started, or one ends before its first call.
std::set<std::size_t> try_own_kernels_apart(Run &run, const std::string &program,
                                            const std::vector<std::string> &words);

} // namespace convcast
