#include "model/network/rung_times.hpp"

#include "model/base/divide.hpp"

#include <algorithm>
#include <cstddef>

namespace convcast {

std::int64_t launch_count(const Rung &rung, const LadderLaunch &launch, std::int64_t images) {
    const std::int64_t repeat = launch.repeat.value_or(1);
    if (!launch.each_stream.value_or(false))
        return repeat;
    const std::int64_t share = share_of(rung, images, 0).count;
    return repeat * std::min(rung.streams.value_or(1), ceil_div(images, share));
}

std::vector<KernelTime> kernel_times(const Rung &rung, std::int64_t images,
                                     const std::vector<std::vector<NodeSpan>> &calls) {
    const auto seconds = [](std::uint64_t from, std::uint64_t to) {
        return 1e-9 * (static_cast<double>(to) - static_cast<double>(from));
    };
    std::vector<std::vector<double>> times(rung.launches.size()), begins(times.size()), ends(times.size());
    for (const std::vector<NodeSpan> &call : calls) {
        std::size_t next = 0;
        std::uint64_t first = call.empty() ? 0 : call.front().start_ns;
        for (const NodeSpan &span : call)
            first = std::min(first, span.start_ns);
        for (std::size_t line = 0; line < times.size(); ++line) {
            const auto count = static_cast<std::size_t>(launch_count(rung, rung.launches[line], images));
            if (count == 0 || call.size() - next < count)
                return {};
            double all = 0.0;
            std::uint64_t begin = call[next].start_ns, end = call[next].end_ns;
            for (const std::size_t last = next + count; next < last; ++next) {
                all += seconds(call[next].start_ns, call[next].end_ns);
                begin = std::min(begin, call[next].start_ns), end = std::max(end, call[next].end_ns);
            }
            times[line].push_back(all / static_cast<double>(count));
            begins[line].push_back(seconds(first, begin));
            ends[line].push_back(seconds(first, end));
        }
        if (next != call.size())
            return {};
    }
    std::vector<KernelTime> out;
    for (std::size_t line = 0; line < times.size() && !calls.empty(); ++line)
        out.push_back({rung.launches[line].kernel, launch_count(rung, rung.launches[line], images),
                       time_spread(times[line]).median_s, time_spread(begins[line]).median_s,
                       time_spread(ends[line]).median_s});
    return out;
}

} // namespace convcast
