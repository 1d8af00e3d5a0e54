// Independent pieces of work on all cores.
#pragma once

#include <cstddef>
#include <functional>

namespace convcast {

/// Cores that this process may run on: fewer than the machine has under taskset or a batch system.
std::size_t usable_cores();

/// Calls work(0) to work(count - 1), each once, on so many threads; what they write must be apart. Returns
/// when all are done, or throws what the piece of the lowest number threw. Where a piece calls it in its
/// turn, that thread does all of it: the others have pieces of their own.
void in_parallel(std::size_t count, const std::function<void(std::size_t)> &work,
                 std::size_t most_threads = usable_cores());

} // namespace convcast
