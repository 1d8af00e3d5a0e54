#include "executor/network/divided_rung.hpp"

#include "executor/network/settle.hpp"
#include "model/network/ranks.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace convcast {

/// It does one thing after another, for one GPU.
class DividedRung::HostThread {
  public:
    explicit HostThread(int device) : thread_([this, device] { work(device); }) {}
    HostThread(const HostThread &) = delete;
    HostThread &operator=(const HostThread &) = delete;
    ~HostThread() {
        give({});
        thread_.join();
    }

    /// Asks for something once what was asked for before is done.
    std::future<void> ask(std::function<void()> what) {
        std::packaged_task<void()> task(std::move(what));
        std::future<void> done = task.get_future();
        give(std::move(task));
        return done;
    }

  private:
    void give(std::packaged_task<void()> task) {
        {
            const std::scoped_lock lock(mutex_);
            tasks_.push_back(std::move(task));
        }
        asked_.notify_one();
    }

    /// Until a task that does nothing.
    void work(int device) {
        (void)cudaSetDevice(device); // what it asks of a wrong one fails and is told then
        while (true) {
            std::unique_lock lock(mutex_);
            asked_.wait(lock, [&] { return !tasks_.empty(); });
            std::packaged_task<void()> task = std::move(tasks_.front());
            tasks_.pop_front();
            lock.unlock();
            if (!task.valid())
                return;
            task();
        }
    }

    std::mutex mutex_;
    std::condition_variable asked_;
    std::deque<std::packaged_task<void()>> tasks_;
    std::thread thread_; ///< last: it uses the others
};

/// What a GPU has. Made, used and destroyed while it is the calling thread's.
struct DividedRung::Share {
    Share(const DeviceFacts &gpu, const Module &module, const Network &network, const Rung &rung,
          const ImageShare &share, std::int64_t total, const NetworkData &pool)
        : device(gpu.ordinal), memory(network, rung, share.count) {
        const ShareImages images = images_of(pool, share);
        memory.load(images.pixels, images.labels, pool.parameters);
        bound.emplace(module, rung, memory, share.count, gpu.sm_count, SharedBatch{total, {}});
        bound->prepare(stream.handle());
        stream.wait();
    }

    int device;
    NetworkMemory memory;
    Stream stream{Stream::Kind::ordered};
    Event done{Event::Kind::order_only};
    std::optional<BoundRung> bound;
    std::optional<HostThread> thread; ///< of all GPUs but the first, whose is the caller's
};

DividedRung::DividedRung(const DeviceGroup &group, const Module &module, const Network &network,
                         const Rung &rung, std::span<const std::int64_t> shares, const NetworkData &pool)
    : rung_(rung) {
    const std::int64_t total = std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
    ImageShare next{0, 0};
    for (std::size_t i = 0; i < shares.size(); ++i) {
        next = {next.first + next.count, shares[i]};
        const OnDevice here(group.ordinal(i));
        shares_.push_back(std::make_unique<Share>(group.facts(i), module, network, rung, next, total, pool));
        if (i > 0)
            shares_.back()->thread.emplace(group.ordinal(i));
    }
    const OnDevice here(group.ordinal(0));
    begun_ = std::make_unique<Event>(Event::Kind::order_only);
    group.wait(); // what fills memory is on other streams than calls
}

DividedRung::~DividedRung() {
    for (std::unique_ptr<Share> &share : shares_) {
        const OnDevice here(share->device);
        share.reset();
    }
}

void DividedRung::call(cudaStream_t first) const {
    begun_->record(first);
    std::vector<std::future<void>> others;
    for (std::size_t i = 1; i < shares_.size(); ++i)
        others.push_back(shares_[i]->thread->ask([this, &share = *shares_[i]] {
            begun_->hold_back(share.stream.handle());
            share.bound->call(share.stream.handle());
            share.done.record(share.stream.handle());
        }));
    shares_.front()->bound->call(first);
    for (std::size_t i = 1; i < shares_.size(); ++i) {
        others[i - 1].get();
        shares_[i]->done.hold_back(first);
    }
}

std::vector<float> DividedRung::outputs() const {
    std::vector<float> all;
    for (const std::unique_ptr<Share> &share : shares_) {
        const OnDevice here(share->device);
        const std::vector<float> its = share->memory.output(output_of(rung_));
        all.insert(all.end(), its.begin(), its.end());
    }
    return all;
}

std::string DividedRung::overrun() const {
    for (const std::unique_ptr<Share> &share : shares_) {
        const OnDevice here(share->device);
        if (const std::string where = share->memory.overrun(); !where.empty())
            return where;
    }
    return "";
}

} // namespace convcast
