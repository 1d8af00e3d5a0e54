#include "executor/network/whole_network.hpp"

#include "executor/launch/prepare.hpp"
#include "executor/network/whole_kernel.hpp"
#include "gpu/check.hpp"
#include "model/base/divide.hpp"
#include "model/base/errors.hpp"
#include "model/network/forecast.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr unsigned whole_threads = 256; ///< of a block, as the kernels of whole.cu have it
constexpr int least_early = 90;         ///< first compute capability with programmatic dependent launch

/// Whether the kernel before launch `i` lets launch `i` start beside its own last CTAs; the schedule has one
/// stream.
bool starts_beside(const std::vector<ScheduledLaunch> &schedule, std::size_t i) {
    while (i-- > 0)
        if (schedule[i].kind != LaunchKind::placed)
            return schedule[i].plan && in_network(schedule[i].plan->launches.back().kernel).lets_next_start;
    return false;
}

/// The request for whole.cu with the kernels generated for the plan's launches behind it; absent if all
/// launches have plans or need no kernel.
std::optional<CompileRequest> between_request(const PlannedNetwork &plan, int compute_capability) {
    std::set<std::string> names, texts;
    CompileRequest request = network_request("whole.cu", compute_capability);
    for (const ScheduledLaunch &launch : plan.schedule) {
        if (launch.plan || launch.kind == LaunchKind::placed)
            continue;
        const OperatorKernel kernel = operator_kernel(plan.network, launch, plan.batch());
        names.insert(kernel.name_expression);
        if (texts.insert(kernel.text).second)
            request.source += kernel.text;
    }
    if (names.empty())
        return std::nullopt;
    request.name_expressions.assign(names.begin(), names.end());
    return request;
}

/// The requests for the kernels of all launches with a plan.
std::vector<CompileRequest> plan_requests(const PlannedNetwork &plan, int compute_capability) {
    std::vector<CompileRequest> requests;
    for (const ScheduledLaunch &launch : plan.schedule) {
        if (!launch.plan)
            continue;
        for (const Partition &partition : launch.plan->prepare)
            requests.push_back(request_for(partition, compute_capability));
        const ElementSteps steps = element_steps(plan.network, launch);
        for (const Partition &partition : launch.plan->launches)
            requests.push_back(
                request_for(partition, compute_capability,
                            compiled_end(*launch.plan, partition,
                                         {.in_network = true,
                                          .bias = steps.bias.has_value(),
                                          .add = steps.add.has_value(),
                                          .function = function_text(plan.network, steps.functions)})));
    }
    return requests;
}

} // namespace

std::vector<CompileRequest> whole_requests(const PlannedNetwork &plan, int compute_capability) {
    std::vector<CompileRequest> requests = plan_requests(plan, compute_capability);
    if (std::optional<CompileRequest> between = between_request(plan, compute_capability))
        requests.push_back(std::move(*between));
    return requests;
}

WholeNetwork::WholeNetwork(Compiler &compiler, const Device &device, const PlannedNetwork &plan,
                           unsigned threads)
    : plan_(plan), arena_plan_(arena_of(plan.network, plan.schedule, plan.batch())), output_(0) {
    const std::int64_t batch = plan.batch(), outputs = batch * elements(plan.network.operators.back().output);
    const DeviceMemory memory = device_memory();
    if (const auto why = why_too_large(plan, device.facts().name, static_cast<double>(memory.free),
                                       static_cast<double>(memory.total)))
        throw UsageError("run: " + *why);

    images_ = DeviceBuffer<float>(as_size(batch * elements(plan.network.input)));
    arena_ = DeviceBuffer<std::byte>(as_size(arena_plan_.bytes));
    output_ = GuardedBuffer<float>(as_size(outputs));
    for (std::size_t i = 0; i < plan.network.operators.size(); ++i)
        parameters_.emplace_back(as_size(plan.network.parameters(i)));
    for (const TensorPlace &place : arena_plan_.places)
        offsets_[place.tensor] = place.offset_bytes;
    const int compute_capability = device.facts().compute_capability();
    const auto streams = static_cast<std::size_t>(streams_of(plan.schedule));
    // Such a kernel can wait for its own stream only
    early_ = compute_capability >= least_early && streams == 1;
    KernelCache kernels(compiler, compute_capability);
    kernels.compile_ahead(plan_requests(plan, compute_capability), threads);
    if (const auto between = between_request(plan, compute_capability))
        module_.emplace(compiler.compile(*between));
    for (std::size_t stream = 1; stream < streams; ++stream)
        (void)work_.add_stream();
    const std::vector<std::vector<std::size_t>> waits = waits_of(plan.schedule);
    for (std::size_t i = 0; i < plan.schedule.size(); ++i) {
        const auto stream = static_cast<std::size_t>(plan.schedule[i].stream);
        for (const std::size_t before : waits[i])
            work_.wait(stream, before);
        (void)work_.add(stream, plan.schedule[i].kind == LaunchKind::placed ? StreamedWork::Call()
                                : plan.schedule[i].plan                     ? plan_call(i, kernels)
                                                                            : kernel_call(i));
    }
}

float *WholeNetwork::address(const Tensor &tensor) const {
    if (tensor.of == Network::input_index && !tensor.columns)
        return const_cast<float *>(images_.data()); // no launch writes there
    if (tensor == plan_.schedule.back().writes)
        return output_.data();
    return reinterpret_cast<float *>(arena_.data() + offsets_.at(tensor));
}

StreamedWork::Call WholeNetwork::plan_call(std::size_t i, KernelCache &kernels) {
    const ScheduledLaunch &launch = plan_.schedule[i];
    const ElementSteps steps = element_steps(plan_.network, launch);
    EndOfConv end;
    end.bias = steps.bias ? parameters_[*steps.bias].data() : nullptr;
    end.added = steps.add ? address(launch.reads.at(1)) : nullptr;
    end.function = function_text(plan_.network, steps.functions);
    end.early = early_, end.beside = starts_beside(plan_.schedule, i);
    PreparedPlan prepared = prepare(kernels, *launch.plan, *launch.shape, &end);
    for (std::string &note : prepared.notes)
        if (std::find(notes_.begin(), notes_.end(), note) == notes_.end())
            notes_.push_back(std::move(note));
    const float *input = address(launch.reads.front()),
                *filters = parameters_[launch.operators.front()].data();
    float *output = address(launch.writes);
    const auto on_tensors = [=](const ConvCall &call) {
        return [=](cudaStream_t stream) { call(input, filters, output, stream); };
    };
    if (!prepared.prepared_call)
        return on_tensors(prepared.call);
    (void)prepare_.add(0, on_tensors(prepared.call));
    return on_tensors(prepared.prepared_call);
}

/// The kernel's arguments are, in this order: tensors that it reads, parameters, the tensor that it writes,
/// and for some kernels the number of outputs.
StreamedWork::Call WholeNetwork::kernel_call(std::size_t i) const {
    const ScheduledLaunch &launch = plan_.schedule[i];
    const OperatorKernel kernel = operator_kernel(plan_.network, launch, plan_.batch());
    const float *const none = nullptr;
    std::vector<KernelArgument> arguments;
    for (const Tensor &read : launch.reads)
        arguments.emplace_back(address(read));
    for (const std::optional<std::size_t> &op : kernel.parameters)
        arguments.emplace_back(op ? parameters_[*op].data() : none);
    arguments.emplace_back(address(launch.writes));
    if (kernel.count)
        arguments.emplace_back(static_cast<long long>(*kernel.count));
    // module_ is there, since between_request() has named this kernel.
    return KernelCall{.kernel = module_->kernel(kernel.name_expression),
                      .grid =
                          dim3(static_cast<unsigned>(kernel.grid.x), static_cast<unsigned>(kernel.grid.y)),
                      .block = dim3(whole_threads),
                      .arguments = std::move(arguments),
                      .early = early_};
}

void WholeNetwork::load(std::span<const float> images, const Parameters &parameters, cudaStream_t stream) {
    images_.copy_from(images);
    for (std::size_t i = 0; i < parameters_.size(); ++i)
        if (parameters_[i].size() > 0) {
            const std::vector<float> values(parameters[i].begin(), parameters[i].end());
            parameters_[i].copy_from(values);
        }
    arena_.fill_bytes(0xFF); // NaNs: reading before writing shows in the outputs
    prepare_.enqueue(stream);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize after filters were prepared");
    arena_.fill_bytes(0xFF);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

} // namespace convcast
