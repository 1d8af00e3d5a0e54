#include "executor/network/streamed_work.hpp"

#include "executor/network/network_source.hpp"

#include <atomic>
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

void StreamedWork::enqueue(cudaStream_t first) const {
    if (begun_) {
        const auto here = on(0);
        begun_->record(first);
    }
    for (const Added &added : added_) {
        const auto here = on(added.lane);
        const cudaStream_t stream = added.lane == 0 ? first : handle(added.lane);
        if (added.begins)
            begun_->hold_back(stream);
        for (const std::size_t before : added.waits)
            added_[before].ended->hold_back(stream);
        if (added.call)
            added.call(stream);
        if (added.ended)
            added.ended->record(stream);
    }
    for (std::size_t lane = 1; lane < lanes_.size(); ++lane)
        if (const auto last = lanes_[lane].last; last && !added_[*last].ended) { // nobody waits for it
            const auto here = on(lane);
            lanes_[lane].joined->record(handle(lane));
            lanes_[lane].joined->hold_back(first);
        }
}

struct ThreadedWork::State {
    State(std::size_t calls, std::size_t lanes) : recorded(calls), failed(lanes) {}

    cudaStream_t first = nullptr;
    int device = 0;
    std::atomic<std::uint64_t> asked = 0; ///< how often all was to be queued; the threads wait for it
    std::atomic<std::uint64_t> done = 0;  ///< how often a thread has queued what is its own
    std::atomic<bool> ends = false, any_failed = false;
    std::vector<std::atomic<std::uint64_t>>
        recorded;                           ///< of each call, the last round that recorded its event
    std::vector<std::exception_ptr> failed; ///< of each lane
    std::vector<std::thread> threads;
};

ThreadedWork::ThreadedWork(const StreamedWork &work)
    : work_(work), state_(std::make_unique<State>(work.added_.size(), work.lanes_.size())) {
    check(cudaGetDevice(&state_->device), "cudaGetDevice");
    for (std::size_t lane = 1; lane < work_.lanes_.size(); ++lane)
        state_->threads.emplace_back([this, lane] { work_on(lane); });
}

ThreadedWork::~ThreadedWork() {
    state_->ends = true;
    ++state_->asked;
    for (std::thread &thread : state_->threads)
        thread.join();
}

/// A lane's part of a round.
void ThreadedWork::queue(std::size_t lane, std::uint64_t round) {
    State &state = *state_;
    const cudaStream_t stream = lane == 0 ? state.first : work_.handle(lane);
    try {
        for (std::size_t i = 0; i < work_.added_.size(); ++i) {
            const StreamedWork::Added &added = work_.added_[i];
            if (added.lane != lane)
                continue;
            if (added.begins)
                work_.begun_->hold_back(stream); // which the caller recorded before it asked
            for (const std::size_t before : added.waits) {
                while (state.recorded[before].load(std::memory_order_acquire) < round) {
                    if (state.any_failed)
                        return;
                    std::this_thread::yield();
                }
                work_.added_[before].ended->hold_back(stream);
            }
            if (added.call)
                added.call(stream);
            if (added.ended) {
                added.ended->record(stream);
                state.recorded[i].store(round, std::memory_order_release);
            }
        }
        const std::optional<std::size_t> last = work_.lanes_[lane].last;
        if (lane > 0 && last && !work_.added_[*last].ended)
            work_.lanes_[lane].joined->record(stream);
    } catch (...) {
        state.failed[lane] = std::current_exception();
        state.any_failed = true;
    }
}

void ThreadedWork::work_on(std::size_t lane) {
    State &state = *state_;
    (void)cudaSetDevice(state.device); // that it is there the caller's thread has seen
    for (std::uint64_t round = 1;; ++round) {
        while (state.asked.load(std::memory_order_acquire) < round)
            std::this_thread::yield(); // waking it would take as long as queueing
        if (state.ends)
            return;
        queue(lane, round);
        ++state.done;
    }
}

void ThreadedWork::enqueue(cudaStream_t first) {
    State &state = *state_;
    state.first = first;
    if (work_.begun_)
        work_.begun_->record(first);
    const std::uint64_t round = ++state.asked;
    queue(0, round);
    while (state.done.load(std::memory_order_acquire) < round * state.threads.size())
        std::this_thread::yield();
    for (std::exception_ptr &failed : state.failed)
        if (failed) {
            state.any_failed = false;
            const std::exception_ptr its = failed;
            for (std::exception_ptr &other : state.failed)
                other = nullptr;
            std::rethrow_exception(its);
        }
    for (std::size_t lane = 1; lane < work_.lanes_.size(); ++lane)
        if (const auto last = work_.lanes_[lane].last; last && !work_.added_[*last].ended)
            work_.lanes_[lane].joined->hold_back(first);
}

} // namespace convcast
