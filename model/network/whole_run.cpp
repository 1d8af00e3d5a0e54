#include "model/network/whole_run.hpp"

#include "model/base/errors.hpp"
#include "model/base/readable.hpp"
#include "model/machine/gpu_memory.hpp"
#include "model/network/schedule.hpp"

#include <boost/describe/enum_to_string.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

std::optional<std::string> why_not_whole(const Network &network) {
    std::vector<std::string> unknown;
    for (const Operator &op : network.operators) {
        if (is_loss(op.kind))
            return "no kernel computes " + op.name + " (" + boost::describe::enum_to_string(op.kind, "?") +
                   ") of " + network.id +
                   ": losses are of training, and a network is run whole from images to outputs; leave the "
                   "operator "
                   "out, or use predict --network";
        if (op.kind == OperatorKind::unknown)
            unknown.push_back(op.name + " (" + op.node.value_or("?") + ")");
    }
    if (unknown.empty())
        return std::nullopt;
    return fmt::format("no kernel computes {} of {}: {}; predict --network takes {} as bytes that are moved",
                       unknown.size() == 1 ? "a node" : fmt::format("{} nodes", unknown.size()), network.id,
                       join(unknown), unknown.size() == 1 ? "it" : "them");
}

MemoryUse memory_of(const PlannedNetwork &plan) {
    const std::int64_t batch = plan.batch();
    MemoryUse memory;
    memory.images_bytes =
        4 * batch * (elements(plan.network.input) + elements(plan.network.operators.back().output));
    memory.parameters_bytes = 4 * plan.network.all_parameters();
    memory.activations_bytes = arena_of(plan.network, plan.schedule, batch).bytes;
    for (const ScheduledLaunch &launch : plan.schedule)
        memory.workspace_bytes += launch.plan ? launch.plan->workspace_bytes : 0;
    return memory;
}

std::optional<std::string> why_too_large(const PlannedNetwork &plan, const std::string &gpu,
                                         double free_bytes, double all_bytes) {
    constexpr double spare = 0.02; // of all memory, for what the driver takes beside
    const auto needed = static_cast<double>(memory_of(plan).all_bytes());
    if (needed <= free_bytes - spare * all_bytes)
        return std::nullopt;
    return fmt::format("{} with batch {} needs {:.3g} GB on the GPU, {} has {:.3g} GB free{}",
                       plan.network.id, plan.batch(), needed / 1e9, gpu, free_bytes / 1e9,
                       plan.batch() > 1 ? "; ask for a smaller --batch" : "");
}

std::optional<std::string> why_beyond_memory(const PlannedNetwork &plan, const GpuProfile &profile) {
    const MemoryUse memory = memory_of(plan);
    const auto has = memory_bytes_of(profile.name);
    if (!has || memory.all_bytes() <= *has)
        return std::nullopt;
    const std::int64_t batch = plan.batch();
    std::int64_t most = 0, largest_output = 0, largest_workspace = 0;
    std::string largest;
    for (std::size_t i = 0; i < plan.schedule.size(); ++i) {
        const ScheduledLaunch &launch = plan.schedule[i];
        const auto output = static_cast<std::int64_t>(tensor_bytes(plan.network, launch.writes, batch));
        const std::int64_t workspace = launch.plan ? launch.plan->workspace_bytes : 0;
        if (output + workspace > most) {
            most = output + workspace, largest_output = output, largest_workspace = workspace;
            largest = plan.forecast.first().launches[i].label();
        }
    }
    const auto text = [](std::int64_t bytes) { return short_bytes(static_cast<double>(bytes)); };
    // What a call holds beside its parameters grows with the images.
    const std::int64_t room = *has - memory.parameters_bytes,
                       an_image = (memory.all_bytes() - memory.parameters_bytes) / batch,
                       fit = std::min(batch - 1, room / std::max<std::int64_t>(an_image, 1));
    std::string reason = fmt::format(
        "it does not fit: {} with batch {} holds {}, {} has {}; most takes {}, {} of output and {} of "
        "workspace",
        plan.network.id, batch, text(memory.all_bytes()), profile.name, text(*has), largest,
        text(largest_output), text(largest_workspace));
    return reason + (fit >= 1 ? fmt::format(". About --batch {} fits", fit)
                              : ". A GPU of more memory or a smaller network is needed");
}

namespace {

/// How the filters of an operator are sized beside those of seeded_parameters, so that activations keep their
/// size through many layers: a function behind them halves the variance; what is added to a shortcut adds
/// little.
double gain_of(const Network &network, std::size_t op) {
    constexpr double beside_shortcut = 0.25;
    double gain = 1.0;
    for (std::size_t i = op + 1; i < network.operators.size(); ++i) {
        const std::vector<std::size_t> sources = network.sources(i);
        if (std::find(sources.begin(), sources.end(), op) == sources.end())
            continue;
        const OperatorKind kind = network.operators[i].kind;
        if (kind == OperatorKind::add)
            return gain * beside_shortcut;
        if (kind != OperatorKind::bias && kind != OperatorKind::scale)
            return is_elementwise(kind) && sources.size() == 1 && kind != OperatorKind::logistic
                       ? gain * std::sqrt(2.0)
                       : gain;
        op = i;
    }
    return gain;
}

} // namespace

Parameters steady_parameters(const Network &network, std::uint64_t seed) {
    Parameters all = seeded_parameters(network, seed);
    for (std::size_t i = 0; i < all.size(); ++i)
        if (const double gain = network.operators[i].outputs ? gain_of(network, i) : 1.0; gain != 1.0)
            for (double &value : all[i])
                value = static_cast<double>(static_cast<float>(value * gain));
    return all;
}

} // namespace convcast
