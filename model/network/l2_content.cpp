#include "model/network/l2_content.hpp"

#include "model/work/tensors.hpp"

#include <algorithm>
#include <cstddef>
#include <set>

namespace convcast {
namespace {

double bytes_of(const Network &network, const Tensor &tensor, std::int64_t batch) {
    return 4.0 * static_cast<double>(batch * elements(network.shape_of(tensor.of)));
}

double parameter_bytes(const Network &network, const ScheduledLaunch &launch) {
    double bytes = 0.0;
    for (const std::size_t i : launch.operators)
        bytes += 4.0 * static_cast<double>(parameters(network.operators[i], network.input_shapes(i).front()));
    return bytes;
}

} // namespace

std::vector<HeldForLaunch> held_for_launches(const Network &network,
                                             const std::vector<ScheduledLaunch> &schedule, std::int64_t batch,
                                             const Gpu &gpu) {
    double all = static_cast<double>(arena_of(network, schedule, batch).bytes) + bytes_of(network, {}, batch);
    for (const ScheduledLaunch &launch : schedule)
        all += parameter_bytes(network, launch);
    // Parameters and images are read once in a run: everything else passes L2 until they are read again.
    const double kept_for_a_run = 1.0 - lost_from_l2(all, gpu);
    std::map<Tensor, std::size_t> written; // by which launch
    /// Bytes that pass L2 from the launch that writes `tensor` until launch `reader` reads it.
    const auto since = [&](const Tensor &tensor, std::size_t reader) {
        const std::size_t writer = written.at(tensor);
        double bytes = bytes_of(network, tensor, batch);
        std::set<Tensor> older;
        for (std::size_t i = writer + 1; i <= reader; ++i) {
            bytes += parameter_bytes(network, schedule[i]);
            if (i == reader)
                break;
            bytes += bytes_of(network, schedule[i].writes, batch);
            for (const Tensor &read : schedule[i].reads)
                if (const auto at = written.find(read); at == written.end() || at->second < writer)
                    older.insert(read);
        }
        for (const Tensor &read : older)
            bytes += bytes_of(network, read, batch);
        return std::min(bytes, all);
    };
    std::vector<HeldForLaunch> held;
    for (std::size_t i = 0; i < schedule.size(); ++i) {
        HeldForLaunch &its = held.emplace_back();
        its.parameters = kept_for_a_run;
        its.written_lost = 1.0 - kept_for_a_run; // unless it is read before
        for (const Tensor &read : schedule[i].reads) {
            const auto writer = written.find(read);
            if (writer == written.end()) {
                its.reads.push_back(kept_for_a_run);
                continue;
            }
            const double bytes = since(read, i);
            its.reads.push_back(1.0 - lost_from_l2(bytes, gpu));
            // The first launch after its last reader may take its memory.
            const double until = bytes + bytes_of(network, schedule[i].writes, batch);
            held[writer->second].written_lost = lost_from_l2(std::min(until, all), gpu);
        }
        written[schedule[i].writes] = i;
    }
    return held;
}

std::map<std::string, HeldByL2> held_by_shape(const std::vector<ScheduledLaunch> &schedule,
                                              const std::vector<HeldForLaunch> &held) {
    std::map<std::string, HeldByL2> by_shape;
    std::map<std::string, double> launches;
    for (std::size_t i = 0; i < schedule.size(); ++i) {
        if (!schedule[i].shape || held[i].reads.empty())
            continue;
        const std::string shape = schedule[i].shape->id();
        HeldByL2 &its = by_shape[shape];
        const double before = launches[shape]++;
        its.input = (its.input * before + held[i].reads.front()) / (before + 1.0);
        its.filters = (its.filters * before + held[i].parameters) / (before + 1.0);
        its.output_lost = (its.output_lost * before + held[i].written_lost) / (before + 1.0);
    }
    return by_shape;
}

} // namespace convcast
