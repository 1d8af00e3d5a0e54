#include "executor/launch/prepare.hpp"

#include "executor/kernels/conv_args.hpp"
#include "executor/launch/kernel_source.hpp"
#include "gpu/check.hpp"
#include "gpu/kernel.hpp"
#include "gpu/memory.hpp"
#include "model/network/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

ConvArgs args_for(const ConvShape &shape, const Launch &launch) {
    const auto as_int = [](std::int64_t value) {
        if (!std::in_range<int>(value))
            throw GpuError("a kernel argument of " + std::to_string(value) + " exceeds 32 bits");
        return static_cast<int>(value);
    };
    ConvArgs args{};
    args.n = as_int(shape.n), args.c = as_int(shape.c), args.h = as_int(shape.h), args.w = as_int(shape.w);
    args.k = as_int(shape.k), args.p = as_int(shape.p()), args.q = as_int(shape.q());
    args.filter_begin = as_int(launch.filter_begin), args.filter_count = as_int(launch.filter_count);
    args.parts = as_int(launch.parts), args.pieces = as_int(launch.pieces);
    args.bank_floats = as_int(launch.bank_floats), args.band_floats = as_int(launch.band_floats);
    args.tile_h = as_int(launch.tile_h), args.tile_k = as_int(launch.tile_k);
    args.tile_begin = as_int(launch.tile_begin.value_or(0));
    args.tile_count = as_int(launch.tile_count.value_or(0));
    args.stride_h = as_int(shape.stride_h), args.stride_w = as_int(shape.stride_w);
    args.pad_h = as_int(shape.pad_h), args.pad_w = as_int(shape.pad_w);
    args.dilation_h = as_int(shape.dilation_h), args.dilation_w = as_int(shape.dilation_w);
    args.groups = as_int(shape.groups);
    return args;
}

/// ConvArgs with the line for networks of executor/kernels/conv_args.hpp.
struct NetworkConvArgs {
    ConvArgs args;
    const float *bias, *added;
};
static_assert(sizeof(ConvArgs) % alignof(const float *) == 0, "no gap before the pointers");

dim3 grid_of(const Launch &launch) {
    return {static_cast<unsigned>(launch.grid[0]), static_cast<unsigned>(launch.grid[1]),
            static_cast<unsigned>(launch.grid[2])};
}

/// Whether a launch of a network's plan starts while the launch before it runs.
bool starts_early(const Partition &partition, const EndOfConv &end) {
    const InNetwork &its = in_network(partition.kernel);
    return end.early && (end.beside ? its.starts_beside : its.starts_early);
}

/// A launch of a plan, bound to its loaded kernel.
struct BoundLaunch {
    std::shared_ptr<const Module> module; ///< shared by the copies that std::function makes
    Kernel kernel;
    Partition partition;
    NetworkConvArgs args;       ///< a kernel that is compiled alone takes the first part
    bool early;                 ///< even as the first of a call
    std::int64_t filter_offset; ///< of the launch's first filter, in bytes
    void *constant = nullptr;   ///< where its filters go, if it wants them in constant memory

    /// Alone the first of a call never starts early: what ran before it in the stream may still use the
    /// workspace.
    void enqueue(const void *input, const void *filters, void *output, std::byte *workspace,
                 cudaStream_t stream, bool first) const {
        if (constant)
            check(cudaMemcpyAsync(constant, static_cast<const std::byte *>(filters) + filter_offset,
                                  static_cast<std::size_t>(partition.constant_bytes),
                                  cudaMemcpyDeviceToDevice, stream),
                  "cudaMemcpyAsync of filters to constant memory");
        std::vector<const void *> pointers;
        for (const Operand &operand : partition.operands)
            pointers.push_back(operand.memory == Memory::input     ? input
                               : operand.memory == Memory::filters ? filters
                               : operand.memory == Memory::output  ? static_cast<const void *>(output)
                                                                   : workspace + operand.offset_bytes);
        if (partition.operands.empty())
            pointers = {input, filters, output};
        std::vector<void *> parameters;
        for (const void *&pointer : pointers)
            parameters.push_back(static_cast<void *>(&pointer));
        NetworkConvArgs its_args = args;
        parameters.push_back(static_cast<void *>(&its_args));
        kernel.launch(grid_of(partition), dim3(static_cast<unsigned>(partition.threads)),
                      static_cast<std::size_t>(partition.shared_bytes), stream, parameters.data(),
                      static_cast<unsigned>(partition.cluster.value_or(1)),
                      early || (!first && partition.early.value_or(false)));
    }
};

/// What the driver says about a loaded kernel that its plan did not reckon with.
std::vector<std::string> differences(const BoundLaunch &launch, const KernelFacts &facts) {
    const Partition &part = launch.partition;
    const std::string name = name_expression(part);
    std::vector<std::string> notes;
    if (facts.spill_store_bytes > 0 || facts.spill_load_bytes > 0)
        notes.push_back(fmt::format("{} spills registers at its cap of {}: {} bytes stored, {} loaded", name,
                                    part.register_cap, facts.spill_store_bytes, facts.spill_load_bytes));
    const int ctas = launch.kernel.ctas_per_sm(static_cast<int>(part.threads),
                                               static_cast<std::size_t>(part.shared_bytes));
    // More room than planned matters only if there are CTAs left to use it.
    const bool enough = part.ctas > 0 && part.waves <= 1;
    if (ctas < part.ctas_per_sm || (ctas > part.ctas_per_sm && !enough))
        notes.push_back(fmt::format("{}: {} CTAs per SM by the driver ({} registers), {} in the plan", name,
                                    ctas, launch.kernel.registers(), part.ctas_per_sm));
    return notes;
}

/// Loads one launch; adds to `notes` what the plan did not reckon with.
BoundLaunch bound(KernelCache &kernels, const Partition &partition, const ConvShape &shape,
                  const EndOfConv &end, const ConvEnd &compiled_as, std::vector<std::string> &notes) {
    const CompiledModule &compiled = kernels.compiled(partition, compiled_as);
    const std::string name = name_expression(partition);
    auto module = std::make_shared<const Module>(compiled);
    BoundLaunch launch{module,
                       module->kernel(name),
                       partition,
                       {args_for(shape, partition), end.bias, end.added},
                       compiled_as.in_network && starts_early(partition, end),
                       partition.filter_begin * shape.products() * shape.element_bytes()};
    launch.kernel.allow_shared(static_cast<std::size_t>(partition.shared_bytes));
    if (partition.constant_bytes > 0) {
        std::size_t bytes = 0;
        launch.constant = module->global(filter_bank, bytes);
        if (static_cast<std::size_t>(partition.constant_bytes) > bytes)
            throw GpuError(fmt::format("{} bytes of filters exceed the {} bytes of {}",
                                       partition.constant_bytes, bytes, filter_bank));
    }
    for (std::string &note : differences(launch, compiled.facts(name)))
        if (std::find(notes.begin(), notes.end(), note) == notes.end())
            notes.push_back(std::move(note));
    return launch;
}

} // namespace

ConvEnd compiled_end(const Plan &plan, const Partition &launch, const ConvEnd &end) {
    if (!has_network_lines(launch.kernel))
        return {};
    return &launch == &plan.launches.back() ? end : ConvEnd{true, false, false, {}};
}

PreparedPlan prepare(KernelCache &kernels, const Plan &plan, const ConvShape &shape,
                     const EndOfConv *in_network) {
    if (plan.launches.empty())
        throw GpuError("a plan without launches");
    for (const std::vector<Partition> *part : {&plan.prepare, &plan.launches})
        for (const Partition &partition : *part)
            for (const Operand &operand : partition.operands)
                if (operand.memory == Memory::workspace &&
                    (operand.offset_bytes < 0 || operand.offset_bytes >= plan.workspace_bytes))
                    throw GpuError(fmt::format("{} reads or writes the workspace at byte {} of {}",
                                               partition.kernel, operand.offset_bytes, plan.workspace_bytes));
    PreparedPlan prepared;
    std::vector<BoundLaunch> first, launches;
    for (const Partition &partition : plan.prepare)
        first.push_back(bound(kernels, partition, shape, {}, {}, prepared.notes));
    const EndOfConv end = in_network ? *in_network : EndOfConv{};
    for (const Partition &partition : plan.launches)
        launches.push_back(
            bound(kernels, partition, shape, end,
                  in_network ? compiled_end(plan, partition,
                                            {true, end.bias != nullptr, end.added != nullptr, end.function})
                             : ConvEnd{},
                  prepared.notes));

    auto workspace =
        std::make_shared<DeviceBuffer<std::byte>>(static_cast<std::size_t>(plan.workspace_bytes));
    if (plan.workspace_bytes > 0)
        workspace->fill_bytes(0xFF); // NaNs: what is read before it is written shows in the output
    const auto call_of = [&](std::vector<BoundLaunch> sequence) {
        return [sequence = std::move(sequence), workspace](const void *input, const void *filters,
                                                           void *output, cudaStream_t stream) {
            for (const BoundLaunch &launch : sequence)
                launch.enqueue(input, filters, output, workspace->data(), stream,
                               &launch == &sequence.front());
        };
    };
    if (!first.empty()) {
        prepared.prepared_call = call_of(launches);
        launches.insert(launches.begin(), first.begin(), first.end());
    }
    prepared.call = call_of(std::move(launches));
    return prepared;
}

} // namespace convcast
