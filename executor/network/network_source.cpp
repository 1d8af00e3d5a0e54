#include "executor/network/network_source.hpp"

#include "executor/launch/kernel_source.hpp"
#include "model/base/errors.hpp"
#include "model/base/hash.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {
namespace {

const EmbeddedFile &network_file(std::string_view name) {
    for (const auto *sources : {&network_sources, &split_sources, &whole_sources, &shared_network_sources})
        if (const EmbeddedFile *file = find_embedded(*sources, name))
            return *file;
    throw UsageError("there is no device code '" + std::string(name) + "'");
}

void put_in_place(const EmbeddedFile &file, std::set<std::string> &seen, std::string &out) {
    constexpr std::string_view include = "#include \"";
    if (!seen.insert(file.path).second)
        return;
    for (std::string_view rest = file.bytes; !rest.empty();) {
        const std::string_view line = rest.substr(0, std::min(rest.find('\n'), rest.size() - 1) + 1);
        rest.remove_prefix(line.size());
        if (line.starts_with(include))
            put_in_place(network_file(line.substr(include.size(), line.rfind('"') - include.size())), seen,
                         out);
        else if (!line.starts_with("#pragma once"))
            out += line;
    }
}

std::vector<std::string> texts_of(const std::vector<EmbeddedFile> &sources) {
    std::vector<std::string> texts;
    for (const EmbeddedFile &file : sources) {
        texts.push_back(file.path);
        texts.push_back(network_source(file.path));
    }
    return texts;
}

} // namespace

std::string network_source(std::string_view name) {
    std::set<std::string> seen;
    std::string out;
    put_in_place(network_file(name), seen, out);
    return out;
}

std::string network_code_hash(const std::vector<EmbeddedFile> &sources) {
    return content_hash(texts_of(sources));
}

std::string whole_code_hash() {
    std::vector<std::string> texts = texts_of(whole_sources);
    texts.insert(texts.begin(), ended_code_hash());
    return content_hash(texts);
}

namespace {

std::string expression(const std::string &kernel, const std::vector<std::int64_t> &arguments) {
    return fmt::format("{}<{}>", kernel, fmt::join(arguments, ", "));
}

std::string dense_kernel(const ScheduledLaunch &launch, const ElementSteps &steps, const LaunchGrid &grid) {
    const ConvShape &shape = *launch.shape;
    return expression("dense", {shape.n, shape.c, shape.k, grid.row_threads, steps.bias.has_value() ? 1 : 0,
                                steps.activation.has_value() ? 1 : 0});
}

std::string pooling_kernel(const Operator &op, const ImageShape &input) {
    const std::int64_t is_max = op.kind == OperatorKind::max_pooling ? 1 : 0;
    if (is_whole_channel(op, input))
        return expression("pool_channels", {is_max, input[1] * input[2]});
    const std::array<std::int64_t, 2> window = *op.window, stride = op.stride.value_or(window),
                                      pad = op.pad.value_or(std::array<std::int64_t, 2>{0, 0});
    return expression("pool", {is_max, input[1], input[2], op.output[1], op.output[2], window[0], window[1],
                               stride[0], stride[1], pad[0], pad[1]});
}

std::string elementwise_kernel(const Network &network, const ScheduledLaunch &launch,
                               const ElementSteps &steps, std::int64_t batch) {
    const ImageShape &shape = network.operators[launch.operators.front()].output;
    const std::int64_t area = launch.writes.columns ? batch * shape[1] * shape[2] : shape[1] * shape[2];
    const std::int64_t activation = !steps.activation                                                 ? 0
                                    : network.operators[*steps.activation].kind == OperatorKind::relu ? 1
                                                                                                      : 2;
    return expression("elementwise", {shape[0], area, steps.bias.has_value() ? 1 : 0,
                                      steps.add.has_value() ? 1 : 0, activation});
}

} // namespace

WholeKernel whole_kernel(const Network &network, const ScheduledLaunch &launch, std::int64_t batch) {
    const ElementSteps steps = element_steps(network, launch);
    const LaunchGrid grid = grid_of(network, launch, batch);
    const ImageShape &read = network.shape_of(launch.reads.front().of);
    const std::int64_t outputs = batch * elements(network.shape_of(launch.writes.of));
    switch (launch.kind) {
    case LaunchKind::dense:
        return {dense_kernel(launch, steps, grid), grid, std::nullopt};
    case LaunchKind::pooling:
        return {pooling_kernel(network.operators[launch.operators.front()], read), grid, outputs};
    case LaunchKind::elementwise:
        return {elementwise_kernel(network, launch, steps, batch), grid, outputs};
    case LaunchKind::softmax:
        return {expression("softmax", {elements(read)}), grid, std::nullopt};
    case LaunchKind::to_columns:
        return {expression("turn", {batch, elements(read)}), grid, std::nullopt};
    case LaunchKind::to_rows:
        return {expression("turn", {elements(read), batch}), grid, std::nullopt};
    default:
        break;
    }
    throw UsageError("no kernel computes " + (launch.operators.empty()
                                                  ? network.id
                                                  : network.operators[launch.operators.front()].name));
}

} // namespace convcast
