#include "model/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace convcast {

void in_parallel(std::size_t count, const std::function<void(std::size_t)> &work) {
    std::atomic<std::size_t> next = 0;
    std::mutex failing;
    std::size_t first = count;
    std::exception_ptr thrown;
    const auto worker = [&] {
        for (std::size_t i = next++; i < count; i = next++)
            try {
                work(i);
            } catch (...) {
                const std::lock_guard lock(failing);
                if (i < first)
                    first = i, thrown = std::current_exception();
            }
    };
    {
        std::vector<std::jthread> others;
        const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
        for (std::size_t i = 1; i < std::min(cores, count); ++i)
            others.emplace_back(worker);
        worker();
    }
    if (thrown)
        std::rethrow_exception(thrown);
}

} // namespace convcast
