#include "executor/network/streamed_work.hpp"

#include "executor/network/network_source.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

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

} // namespace convcast
