#include "executor/network/whole_source.hpp"

#include "model/base/errors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {
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
