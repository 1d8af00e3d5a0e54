#include "model/base/parallel.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace convcast {

std::size_t usable_cores() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        return static_cast<std::size_t>(std::max(1, CPU_COUNT(&allowed)));
    return std::max(1u, std::thread::hardware_concurrency()); // more cores than a set holds
}

namespace {

/// Whether this thread is inside a call of in_parallel.
thread_local bool in_a_piece = false;

} // namespace

void in_parallel(std::size_t count, const std::function<void(std::size_t)> &work, std::size_t most_threads) {
    const std::size_t threads = std::min(most_threads, count);
    if (threads <= 1 || in_a_piece) {
        for (std::size_t i = 0; i < count; ++i)
            work(i);
        return;
    }
    std::atomic<std::size_t> next = 0;
    std::mutex failing;
    std::size_t first = count;
    std::exception_ptr thrown;
    const auto worker = [&] {
        in_a_piece = true;
        for (std::size_t i = next++; i < count; i = next++)
            try {
                work(i);
            } catch (...) {
                const std::lock_guard lock(failing);
                if (i < first)
                    first = i, thrown = std::current_exception();
            }
        in_a_piece = false;
    };
    {
        std::vector<std::jthread> others;
        for (std::size_t i = 1; i < threads; ++i)
            others.emplace_back(worker);
        worker();
    }
    if (thrown)
        std::rethrow_exception(thrown);
}

} // namespace convcast
