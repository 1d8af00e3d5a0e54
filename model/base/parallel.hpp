// Runs independent pieces of work on all cores.
#pragma once

#include <cstddef>
#include <functional>

namespace convcast {

/// How many cores this process may run on: fewer than the machine has under taskset or a batch system.
std::size_t usable_cores();

/// Calls work(0) to work(count - 1), each once, on at most `most_threads` threads, this one among them. The
/// calls run at the same time, so no two may write to the same place. Returns when all are done; if calls
/// threw, throws what the one of the lowest number threw. If `work` itself calls in_parallel, its thread does
/// that work alone, since the other threads are busy already.
void in_parallel(std::size_t count, const std::function<void(std::size_t)> &work,
                 std::size_t most_threads = usable_cores());

} // namespace convcast
