#include "executor/network/whole_source.hpp"

#include "executor/launch/kernel_source.hpp"
#include "model/base/errors.hpp"
#include "model/base/hash.hpp"

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

constexpr std::int64_t block_threads = 256, block_warps = 8, turn_tile = 32;

std::int64_t blocks(std::int64_t count, std::int64_t of_block) {
    return (count + of_block - 1) / of_block;
}

/// Of a block's unit of work, how often a thread does it: launching many blocks takes longer than their
/// loads.
std::int64_t times_each(std::int64_t all_blocks) {
    constexpr std::int64_t few = 512, many_times = 4;
    return all_blocks >= few ? many_times : 1;
}

std::string expression(const std::string &kernel, const std::vector<std::int64_t> &arguments) {
    return fmt::format("{}<{}>", kernel, fmt::join(arguments, ", "));
}

WholeKernel dense_kernel(const ScheduledLaunch &launch, const ElementSteps &steps) {
    const ConvShape &shape = *launch.shape;
    // Some fours of inputs for each thread, and whole warps.
    constexpr std::int64_t inputs_of_thread = 64, least = 32;
    std::int64_t threads = block_threads;
    while (threads > least && threads * inputs_of_thread > shape.c)
        threads /= 2;
    return {expression("dense", {shape.n, shape.c, shape.k, threads, steps.bias.has_value() ? 1 : 0,
                                 steps.activation.has_value() ? 1 : 0}),
            {blocks(shape.k, block_threads / threads), 1, 1},
            std::nullopt};
}

WholeKernel pooling_kernel(const Operator &op, const ImageShape &input, std::int64_t batch) {
    const std::int64_t is_max = op.kind == OperatorKind::max_pooling ? 1 : 0;
    const std::array<std::int64_t, 2> window = *op.window, stride = op.stride.value_or(window),
                                      pad = op.pad.value_or(std::array<std::int64_t, 2>{0, 0});
    const std::int64_t outputs = batch * elements(op.output);
    if (window[0] == input[1] && window[1] == input[2] && pad[0] == 0 && pad[1] == 0) {
        const std::int64_t each = times_each(blocks(outputs, block_warps));
        return {expression("pool_channels", {is_max, input[1] * input[2], each}),
                {blocks(outputs, block_warps * each), 1, 1},
                outputs};
    }
    const std::int64_t each = times_each(blocks(outputs, block_threads));
    return {expression("pool", {is_max, input[1], input[2], op.output[1], op.output[2], window[0], window[1],
                                stride[0], stride[1], pad[0], pad[1], each}),
            {blocks(outputs, block_threads * each), 1, 1},
            outputs};
}

WholeKernel elementwise_kernel(const Network &network, const ScheduledLaunch &launch,
                               const ElementSteps &steps, std::int64_t batch) {
    const ImageShape &shape = network.operators[launch.operators.front()].output;
    const std::int64_t count = batch * elements(shape);
    const std::int64_t area = launch.writes.columns ? batch * shape[1] * shape[2] : shape[1] * shape[2];
    const std::int64_t each = times_each(blocks(count, block_threads));
    const std::int64_t activation = !steps.activation                                                 ? 0
                                    : network.operators[*steps.activation].kind == OperatorKind::relu ? 1
                                                                                                      : 2;
    return {expression("elementwise", {shape[0], area, steps.bias.has_value() ? 1 : 0,
                                       steps.add.has_value() ? 1 : 0, activation, each}),
            {blocks(count, block_threads * each), 1, 1},
            count};
}

} // namespace

std::string whole_code_hash() {
    std::vector<std::string> texts = {ended_code_hash()};
    for (const EmbeddedFile &file : whole_sources) {
        texts.push_back(file.path);
        texts.push_back(file.text);
    }
    return content_hash(texts);
}

WholeKernel whole_kernel(const Network &network, const ScheduledLaunch &launch, std::int64_t batch) {
    const ElementSteps steps = element_steps(network, launch);
    const ImageShape &read = launch.reads.front().of == Network::input_index
                                 ? network.input
                                 : network.operators[launch.reads.front().of].output;
    switch (launch.kind) {
    case LaunchKind::dense:
        return dense_kernel(launch, steps);
    case LaunchKind::pooling:
        return pooling_kernel(network.operators[launch.operators.front()], read, batch);
    case LaunchKind::elementwise:
        return elementwise_kernel(network, launch, steps, batch);
    case LaunchKind::softmax:
        return {
            expression("softmax", std::vector<std::int64_t>{elements(read)}), {batch, 1, 1}, std::nullopt};
    case LaunchKind::to_columns:
    case LaunchKind::to_rows: {
        const std::int64_t rows = launch.kind == LaunchKind::to_columns ? batch : elements(read),
                           columns = launch.kind == LaunchKind::to_columns ? elements(read) : batch;
        return {expression("turn", {rows, columns}),
                {blocks(columns, turn_tile), blocks(rows, turn_tile), 1},
                std::nullopt};
    }
    default:
        break;
    }
    throw UsageError("no kernel computes " + (launch.operators.empty()
                                                  ? network.id
                                                  : network.operators[launch.operators.front()].name));
}

} // namespace convcast
