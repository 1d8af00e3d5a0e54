#include "executor/network/whole_network.hpp"

#include "executor/launch/prepare.hpp"
#include "executor/network/whole_source.hpp"
#include "gpu/check.hpp"
#include "model/base/errors.hpp"
#include "model/network/whole_run.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr unsigned whole_threads = 256;
constexpr int least_early = 90; ///< compute capability whose launches may start early

std::size_t size_from(std::int64_t value) {
    return static_cast<std::size_t>(value);
}

/// Every parameter of a network's kernels, in the order in which they take them; what one does not take is
/// absent.
struct Arguments {
    std::array<const void *, 4> pointers{};
    std::size_t used = 0;
    long long count = 0;
    bool counts = false;

    void add(const void *pointer) { pointers[used++] = pointer; }
};

/// The kernels of executor/network/whole.cu; absent if the plan launches none.
std::optional<CompileRequest> between_request(const PlannedNetwork &plan, int compute_capability) {
    std::set<std::string> names;
    for (std::size_t i = 0; i < plan.schedule.size(); ++i)
        if (!plan.plans[i])
            names.insert(whole_kernel(plan.network, plan.schedule[i], plan.forecast.batch).name_expression);
    if (names.empty())
        return std::nullopt;
    CompileRequest request;
    request.name = "executor/network/whole.cu";
    request.source = find_embedded(whole_sources, request.name)->text;
    request.name_expressions.assign(names.begin(), names.end());
    request.compute_capability = compute_capability;
    return request;
}

std::vector<CompileRequest> plan_requests(const PlannedNetwork &plan, int compute_capability) {
    std::vector<CompileRequest> requests;
    for (std::size_t i = 0; i < plan.plans.size(); ++i) {
        if (!plan.plans[i])
            continue;
        for (const Partition &partition : plan.plans[i]->prepare)
            requests.push_back(request_for(partition, compute_capability));
        const ElementSteps steps = element_steps(plan.network, plan.schedule[i]);
        for (const Partition &partition : plan.plans[i]->launches)
            requests.push_back(
                request_for(partition, compute_capability,
                            compiled_end(*plan.plans[i], partition, steps.bias.has_value(),
                                         steps.add.has_value(), steps.activation.has_value())));
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
    : plan_(plan), bytes_(whole_bytes(plan)),
      arena_plan_(arena_of(plan.network, plan.schedule, plan.forecast.batch)), output_(0) {
    const std::int64_t batch = plan.forecast.batch,
                       outputs = batch * elements(plan.network.operators.back().output);
    check_memory(device);

    images_ = DeviceBuffer<float>(size_from(batch * elements(plan.network.input)));
    arena_ = DeviceBuffer<std::byte>(size_from(arena_plan_.bytes));
    output_ = GuardedBuffer<float>(size_from(outputs));
    for (std::size_t i = 0; i < plan.network.operators.size(); ++i)
        parameters_.emplace_back(
            size_from(convcast::parameters(plan.network.operators[i], plan.network.input_shapes(i).front())));
    for (const TensorPlace &place : arena_plan_.places)
        offsets_[place.tensor] = place.offset_bytes;
    launches_.resize(plan.schedule.size());
    const int compute_capability = device.facts().compute_capability();
    const bool one_stream = streams_of(plan.schedule) == 1;
    early_ = compute_capability >= least_early && one_stream; // a kernel waits early for its own stream only
    if (!one_stream)
        streams_.emplace(plan.schedule);
    KernelCache kernels(compiler, compute_capability);
    kernels.compile_ahead(plan_requests(plan, compute_capability), threads);
    if (const auto between = between_request(plan, compute_capability))
        module_.emplace(compiler.compile(*between));
    bind_plans(kernels);
    bind_kernels();
}

void WholeNetwork::check_memory(const Device &device) const {
    std::size_t free = 0, all = 0;
    check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
    if (const auto why =
            why_too_large(plan_, device.facts().name, static_cast<double>(free), static_cast<double>(all)))
        throw UsageError("run: " + *why);
}

float *WholeNetwork::address(const Tensor &tensor) const {
    if (tensor.of == Network::input_index && !tensor.columns)
        return const_cast<float *>(images_.data()); // only read
    if (tensor == plan_.schedule.back().writes)
        return output_.data();
    return reinterpret_cast<float *>(arena_.data() + offsets_.at(tensor));
}

void WholeNetwork::bind_plans(KernelCache &kernels) {
    for (std::size_t i = 0; i < plan_.plans.size(); ++i) {
        if (!plan_.plans[i])
            continue;
        const ScheduledLaunch &launch = plan_.schedule[i];
        const ElementSteps steps = element_steps(plan_.network, launch);
        EndOfConv end;
        end.bias = steps.bias ? parameters_[*steps.bias].data() : nullptr;
        end.added = steps.add ? address(launch.reads.at(1)) : nullptr;
        end.relu = steps.activation.has_value();
        end.early = early_;
        PreparedPlan prepared = prepare(kernels, *plan_.plans[i], *launch.shape, &end);
        for (std::string &note : prepared.notes)
            if (std::find(notes_.begin(), notes_.end(), note) == notes_.end())
                notes_.push_back(std::move(note));
        const float *input = address(launch.reads.front()),
                    *filters = parameters_[launch.operators.front()].data();
        float *output = address(launch.writes);
        const auto enqueue = [=](const ConvCall &call) {
            return [=](cudaStream_t stream) { call(input, filters, output, stream); };
        };
        if (prepared.prepared_call) {
            prepare_.emplace_back(enqueue(prepared.call));
            launches_[i] = enqueue(prepared.prepared_call);
        } else {
            launches_[i] = enqueue(prepared.call);
        }
    }
}

void WholeNetwork::bind_kernels() {
    for (std::size_t i = 0; i < plan_.schedule.size(); ++i) {
        if (plan_.plans[i])
            continue;
        const ScheduledLaunch &launch = plan_.schedule[i];
        const ElementSteps steps = element_steps(plan_.network, launch);
        const WholeKernel its = whole_kernel(plan_.network, launch, plan_.forecast.batch);
        Arguments arguments;
        arguments.add(address(launch.reads.front()));
        if (launch.kind == LaunchKind::dense)
            arguments.add(parameters_[launch.operators.front()].data());
        if (launch.kind == LaunchKind::dense || launch.kind == LaunchKind::elementwise)
            arguments.add(steps.bias ? parameters_[*steps.bias].data() : nullptr);
        if (launch.kind == LaunchKind::elementwise)
            arguments.add(steps.add ? address(launch.reads.at(1)) : nullptr);
        float *const output = address(launch.writes);
        arguments.count = its.count.value_or(0);
        arguments.counts = its.count.has_value();
        const Kernel kernel = module_->kernel(its.name_expression);
        launches_[i] = [kernel, arguments, output, grid = its.grid, early = early_](cudaStream_t stream) {
            Arguments mine = arguments;
            float *to = output;
            std::vector<void *> parameters;
            for (std::size_t j = 0; j < mine.used; ++j)
                parameters.push_back(static_cast<void *>(&mine.pointers[j]));
            parameters.push_back(static_cast<void *>(&to));
            if (mine.counts)
                parameters.push_back(&mine.count);
            kernel.launch(dim3(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y)),
                          dim3(whole_threads), 0, stream, parameters.data(), 1, early);
        };
    }
}

void WholeNetwork::load(std::span<const float> images, const Parameters &parameters, cudaStream_t stream) {
    images_.copy_from(images);
    for (std::size_t i = 0; i < parameters_.size(); ++i)
        if (parameters_[i].size() > 0) {
            const std::vector<float> values(parameters[i].begin(), parameters[i].end());
            parameters_[i].copy_from(values);
        }
    arena_.fill_bytes(0xFF); // NaNs: what is read before it is written shows
    for (const Enqueue &prepare : prepare_)
        prepare(stream);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize after filters were prepared");
    arena_.fill_bytes(0xFF);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

void WholeNetwork::enqueue(cudaStream_t stream) const {
    if (streams_)
        return streams_->enqueue([&](std::size_t i, cudaStream_t its) { launches_[i](its); }, stream);
    for (const Enqueue &launch : launches_)
        launch(stream);
}

StreamsOfPlan::StreamsOfPlan(const std::vector<ScheduledLaunch> &schedule)
    : schedule_(schedule), waits_(waits_of(schedule)), ended_(schedule.size(), nullptr) {
    const auto event = [](cudaEvent_t &made) {
        check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    };
    event(begun_);
    for (std::int64_t i = 1; i < streams_of(schedule); ++i) {
        check(cudaStreamCreateWithFlags(&others_.emplace_back(), cudaStreamNonBlocking),
              "cudaStreamCreateWithFlags");
        event(joined_.emplace_back());
    }
    for (const std::vector<std::size_t> &waits : waits_)
        for (const std::size_t launch : waits)
            if (ended_[launch] == nullptr)
                event(ended_[launch]);
}

StreamsOfPlan::~StreamsOfPlan() {
    for (const cudaStream_t stream : others_)
        (void)cudaStreamDestroy(stream); // fails only with a lost context, as do events
    for (const std::vector<cudaEvent_t> *events : {&ended_, &joined_})
        for (const cudaEvent_t event : *events)
            if (event != nullptr)
                (void)cudaEventDestroy(event);
    (void)cudaEventDestroy(begun_);
}

void StreamsOfPlan::enqueue(const std::function<void(std::size_t launch, cudaStream_t stream)> &launch,
                            cudaStream_t first) const {
    check(cudaEventRecord(begun_, first), "cudaEventRecord");
    for (const cudaStream_t other : others_)
        check(cudaStreamWaitEvent(other, begun_), "cudaStreamWaitEvent");
    for (std::size_t i = 0; i < schedule_.size(); ++i) {
        const auto number = static_cast<std::size_t>(schedule_[i].stream);
        const cudaStream_t its = number == 0 ? first : others_[number - 1];
        for (const std::size_t before : waits_[i])
            check(cudaStreamWaitEvent(its, ended_[before]), "cudaStreamWaitEvent");
        launch(i, its);
        if (ended_[i] != nullptr)
            check(cudaEventRecord(ended_[i], its), "cudaEventRecord");
    }
    for (std::size_t i = 0; i < others_.size(); ++i) {
        check(cudaEventRecord(joined_[i], others_[i]), "cudaEventRecord");
        check(cudaStreamWaitEvent(first, joined_[i]), "cudaStreamWaitEvent");
    }
}

LaunchGraph::LaunchGraph(const std::function<void(cudaStream_t)> &enqueue, cudaStream_t stream) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    enqueue(stream);
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    const cudaError_t error = cudaGraphInstantiate(&instance_, graph, 0);
    (void)cudaGraphDestroy(graph);
    check(error, "cudaGraphInstantiate");
}

LaunchGraph::~LaunchGraph() {
    (void)cudaGraphExecDestroy(instance_); // fails only with a lost context
}

void LaunchGraph::launch(cudaStream_t stream) const {
    check(cudaGraphLaunch(instance_, stream), "cudaGraphLaunch");
}

} // namespace convcast
