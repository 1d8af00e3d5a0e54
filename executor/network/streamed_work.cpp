#include "executor/network/streamed_work.hpp"

#include "executor/network/network_source.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace convcast {

CompileRequest network_request(const std::string &name, int compute_capability) {
    CompileRequest request;
    request.name = "executor/network/" + name;
    request.source = network_source(name);
    request.compute_capability = compute_capability;
    return request;
}

dim3 blocks_for(std::int64_t count, std::int64_t each) {
    return dim3(static_cast<unsigned>((count + each - 1) / each));
}

StreamedWork::StreamedWork(std::optional<int> device) {
    lanes_.push_back({device, std::nullopt, std::nullopt});
}

std::optional<OnDevice> StreamedWork::on(std::size_t lane) const {
    if (!lanes_[lane].device)
        return std::nullopt;
    return std::optional<OnDevice>(std::in_place, *lanes_[lane].device);
}

std::size_t StreamedWork::add_stream(std::optional<int> device) {
    lanes_.push_back({device, std::nullopt, std::nullopt});
    const auto here = on(lanes_.size() - 1);
    lanes_.back().stream.emplace();
    lanes_.back().joined.emplace(Event::Kind::order_only);
    return lanes_.size() - 1;
}

const Event &StreamedWork::ended(std::size_t call) {
    Added &added = added_[call];
    if (!added.ended) {
        const auto here = on(added.lane);
        added.ended = std::make_unique<Event>(Event::Kind::order_only);
    }
    return *added.ended;
}

std::size_t StreamedWork::add(std::size_t stream, Call call) {
    Lane &lane = lanes_[stream];
    Added added{stream, std::move(call), std::exchange(lane.waits, {}), false, nullptr};
    for (const std::size_t before : added.waits)
        (void)ended(before);
    added.begins = stream > 0 && !lane.last && added.waits.empty();
    if (added.begins && !begun_) {
        const auto here = on(0);
        begun_ = std::make_unique<Event>(Event::Kind::order_only);
    }
    added_.push_back(std::move(added));
    lane.last = added_.size() - 1;
    return *lane.last;
}

void StreamedWork::wait(std::size_t stream, std::size_t call) {
    if (added_[call].lane != stream)
        lanes_[stream].waits.push_back(call);
}

void StreamedWork::follow(std::size_t stream, std::size_t other) {
    if (lanes_[other].last)
        wait(stream, *lanes_[other].last);
}

void StreamedWork::begin(cudaStream_t first) const {
    if (begun_) {
        const auto here = on(0);
        begun_->record(first);
    }
}

void StreamedWork::queue(const Added &added, cudaStream_t stream) const {
    if (added.begins)
        begun_->hold_back(stream);
    for (const std::size_t before : added.waits)
        added_[before].ended->hold_back(stream);
    if (added.call)
        added.call(stream);
    if (added.ended)
        added.ended->record(stream);
}

void StreamedWork::enqueue(cudaStream_t first) const {
    begin(first);
    for (const Added &added : added_) {
        const auto here = on(added.lane);
        queue(added, stream_of(added.lane, first));
    }
    for (std::size_t lane = 1; lane < lanes_.size(); ++lane)
        if (joins(lane)) {
            const auto here = on(lane);
            lanes_[lane].joined->record(stream_of(lane, first));
            lanes_[lane].joined->hold_back(first);
        }
}

ThreadedWork::ThreadedWork(const StreamedWork &work)
    : work_(work), recorded_(work.added_.size()), failed_(work.lanes_.size()) {
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    for (std::size_t lane = 1; lane < work_.lanes_.size(); ++lane)
        threads_.emplace_back(
            [this, lane, own = work_.lanes_[lane].device.value_or(device)] { work_on(lane, own); });
}

ThreadedWork::~ThreadedWork() {
    ends_ = true;
    ++asked_;
    for (std::thread &thread : threads_)
        thread.join();
}

/// Queues a lane's calls of a round. Gives up if another lane has failed, since its events may never come.
void ThreadedWork::queue(std::size_t lane, std::uint64_t round) {
    const cudaStream_t stream = work_.stream_of(lane, first_);
    try {
        for (std::size_t i = 0; i < work_.added_.size(); ++i) {
            const StreamedWork::Added &added = work_.added_[i];
            if (added.lane != lane)
                continue;
            for (const std::size_t before : added.waits)
                while (recorded_[before].load(std::memory_order_acquire) < round) {
                    if (any_failed_)
                        return;
                    std::this_thread::yield();
                }
            work_.queue(added, stream);
            if (added.ended)
                recorded_[i].store(round, std::memory_order_release);
        }
        if (work_.joins(lane))
            work_.lanes_[lane].joined->record(stream);
    } catch (...) {
        failed_[lane] = std::current_exception();
        any_failed_ = true;
    }
}

/// The loop of a lane's thread: waits for the next round, queues it, and counts it as done.
void ThreadedWork::work_on(std::size_t lane, int device) {
    (void)cudaSetDevice(device); // that of the lane's stream
    for (std::uint64_t round = 1;; ++round) {
        while (asked_.load(std::memory_order_acquire) < round)
            std::this_thread::yield();
        if (ends_)
            return;
        queue(lane, round);
        ++done_;
    }
}

void ThreadedWork::enqueue(cudaStream_t first) {
    first_ = first;
    work_.begin(first); // before a thread makes its stream wait for this event
    const std::uint64_t round = ++asked_;
    queue(0, round);
    while (done_.load(std::memory_order_acquire) < round * threads_.size())
        std::this_thread::yield();
    if (any_failed_.exchange(false)) {
        std::exception_ptr cause;
        for (std::exception_ptr &failed : failed_)
            if (const std::exception_ptr thrown = std::exchange(failed, nullptr); !cause)
                cause = thrown;
        std::rethrow_exception(cause);
    }
    for (std::size_t lane = 1; lane < work_.lanes_.size(); ++lane)
        if (work_.joins(lane))
            work_.lanes_[lane].joined->hold_back(first);
}

} // namespace convcast
