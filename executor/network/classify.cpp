#include "executor/network/classify.hpp"

#include "executor/network/bound_rung.hpp"
#include "executor/network/stream.hpp"
#include "model/network/training.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

namespace convcast {
namespace {

constexpr std::int64_t most_classified_at_once = 2048;

/// The last operator that a launch of the rung computes.
std::string last_operator_of(const Rung &rung) {
    std::string last;
    for (const LadderLaunch &launch : rung.launches)
        if (!launch.operators.empty())
            last = launch.operators.back();
    return last;
}

} // namespace

std::size_t output_operator(const Network &network) {
    return without_losses(network).operators.size() - 1;
}

std::vector<std::uint8_t> classes_by(Compiler &compiler, const Device &device, const Ladder &ladder,
                                     const Rung &rung, const Network &network, const LabelledImages &images,
                                     const Parameters &parameters) {
    const std::int64_t count = std::ssize(images.labels), pixels = elements(network.input),
                       classes = elements(network.operators[output_operator(network)].output);
    const std::int64_t at_once =
        rung.any_batch.value_or(false)
            ? std::min({count, most_classified_at_once, rung.most_images.value_or(count)})
            : 1;
    const Module module = network_module(compiler, ladder, rung.source, device.facts().compute_capability());
    const auto part_of = [](const auto &all, std::int64_t from, std::int64_t size) {
        return std::span(all).subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(size));
    };
    NetworkMemory memory(network, rung, at_once);
    memory.load(part_of(images.pixels, 0, at_once * pixels), part_of(images.labels, 0, at_once), parameters);
    BoundRung bound(module, rung, memory, at_once, device.facts().sm_count);
    const OwnedStream stream;
    bound.prepare(stream.get());
    std::vector<std::uint8_t> labels;
    for (std::int64_t at = 0; at < count; at += at_once) {
        const std::int64_t some = std::min(at_once, count - at); // of the last call others are left over
        memory.load(part_of(images.pixels, at * pixels, some * pixels), part_of(images.labels, at, some));
        bound.call(stream.get());
        stream.wait();
        const std::vector<float> outputs = memory.output(last_operator_of(rung));
        const std::vector<std::uint8_t> its = classified({outputs.begin(), outputs.end()}, classes);
        labels.insert(labels.end(), its.begin(), its.begin() + some);
    }
    return labels;
}

} // namespace convcast
