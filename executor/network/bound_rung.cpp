#include "executor/network/bound_rung.hpp"

#include "executor/network/network_source.hpp"
#include "gpu/check.hpp"
#include "model/base/errors.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

std::size_t size_of(std::int64_t count) {
    return static_cast<std::size_t>(count);
}

} // namespace

std::vector<float> flattened(const Parameters &parameters) {
    std::vector<float> all;
    for (const std::vector<double> &of : parameters)
        for (const double value : of)
            all.push_back(static_cast<float>(value));
    return all;
}

Module network_module(Compiler &compiler, const Ladder &ladder, const std::string &source,
                      int compute_capability) {
    const EmbeddedFile *file = find_embedded(network_sources, source + ".cu");
    if (file == nullptr)
        throw UsageError("there is no device code '" + source + "'");
    CompileRequest request;
    request.name = file->path;
    request.source = file->text;
    request.compute_capability = compute_capability;
    for (const Rung &rung : ladder.rungs)
        for (const ConstantCopy &copy : rung.constant)
            if (rung.source == source && !rung.launches.empty() &&
                std::find(request.name_expressions.begin(), request.name_expressions.end(),
                          "&" + copy.variable) == request.name_expressions.end())
                request.name_expressions.push_back("&" + copy.variable);
    return Module(compiler.compile(request));
}

NetworkMemory::NetworkMemory(const Network &network, const Rung &rung, std::int64_t batch)
    : network_(network), rung_(rung), batch_(batch), images_(size_of(*floats("input"))),
      labels_(size_of(batch)), parameters_(size_of(*floats("parameters"))),
      gradient_(size_of(*floats("gradient"))), images_at_(images_.data()), labels_at_(labels_.data()) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < network.operators.size(); ++i) {
        const Operator &op = network.operators[i];
        outputs_.emplace(op.name, size_of(*floats(op.name)));
        parameters_at_[op.name + ".parameters"] = at;
        at += size_of(parameters(op, network.input_shapes(i).front()));
    }
    for (const auto *memory : {&rung.memory, &rung.image_memory})
        for (const auto &[name, count] : *memory)
            own_.emplace(name, DeviceBuffer<float>(size_of(*floats(name)))).first->second.fill_bytes(0);
    settings_.fill_bytes(0);
}

void NetworkMemory::load(std::span<const float> images, std::span<const std::uint8_t> labels,
                         const Parameters &parameters) {
    load(images, labels);
    parameters_.copy_from(flattened(parameters));
    for (auto &[name, memory] : own_)
        memory.fill_bytes(0);
    gradient_.poison();
    for (auto &[name, output] : outputs_)
        output.poison();
}

void NetworkMemory::load(std::span<const float> images, std::span<const std::uint8_t> labels) {
    images_.copy_from(images);
    labels_.copy_from(labels);
}

const void *NetworkMemory::address(const std::string &operand) const {
    if (operand == "none")
        return nullptr;
    if (operand == "input")
        return images_at_;
    if (operand == "labels")
        return labels_at_;
    if (operand == "order")
        return order_at_;
    if (operand == "settings")
        return settings_.data();
    if (operand == "parameters")
        return parameters_.data();
    if (operand == "gradient")
        return gradient_.data();
    if (const auto found = own_.find(operand); found != own_.end())
        return found->second.data();
    if (const auto found = outputs_.find(operand); found != outputs_.end())
        return found->second.data();
    return parameters_.data() + parameters_at_.at(operand);
}

std::string NetworkMemory::overrun() const {
    for (const auto &[name, output] : outputs_)
        if (!output.guards_intact())
            return name;
    return gradient_.guards_intact() ? "" : "gradient";
}

BoundLaunch::BoundLaunch(const Module &module, const LadderLaunch &launch, const NetworkMemory &memory,
                         std::int64_t images, std::int64_t groups, int sms)
    : kernel_(module.kernel(launch.kernel)), launch_(launch), grid_(grid_of(launch, images, sms)) {
    for (const std::string &operand : launch.operands) {
        if (operand == "count" || operand == "groups")
            arguments_.push_back(
                &numbers_.emplace_back(static_cast<int>(operand == "count" ? images : groups)));
        else
            arguments_.push_back(&pointers_.emplace_back(memory.address(operand)));
    }
    arguments_.push_back(nullptr);
    if (launch.shared_bytes)
        kernel_.allow_shared(size_of(*launch.shared_bytes));
}

void BoundLaunch::enqueue(cudaStream_t stream) {
    const auto as_dim3 = [](const std::array<std::int64_t, 3> &size) {
        return dim3(static_cast<unsigned>(size[0]), static_cast<unsigned>(size[1]),
                    static_cast<unsigned>(size[2]));
    };
    kernel_.launch(as_dim3(grid_), as_dim3(launch_.block), size_of(launch_.shared_bytes.value_or(0)), stream,
                   arguments_.data(), static_cast<unsigned>(launch_.cluster.value_or(1)));
}

BoundRung::BoundRung(const Module &module, const Rung &rung, NetworkMemory &memory, std::int64_t images,
                     int sms)
    : rung_(rung), memory_(memory) {
    std::int64_t groups = images;
    for (const LadderLaunch &launch : rung.launches)
        if (launch.group_images) {
            groups = (images + *launch.group_images - 1) / *launch.group_images;
            break;
        }
    for (const ConstantCopy &copy : rung.constant) {
        std::size_t room = 0;
        constants_[copy.variable] = module.global(copy.variable, room);
        if (room < size_of(memory_.bytes(copy.operand)))
            throw GpuError("the constant array " + copy.variable + " has " + std::to_string(room) +
                           " bytes, too few for " + copy.operand);
    }
    for (const LadderLaunch &launch : rung.prepare)
        prepare_.push_back(std::make_unique<BoundLaunch>(module, launch, memory_, images, groups, sms));
    for (const LadderLaunch &launch : rung.launches)
        launches_.push_back(std::make_unique<BoundLaunch>(module, launch, memory_, images, groups, sms));
}

void BoundRung::prepare(cudaStream_t stream) {
    copy_constants(stream, false);
    for (const auto &launch : prepare_)
        launch->enqueue(stream);
}

void BoundRung::call(cudaStream_t stream) {
    copy_constants(stream, true);
    for (const auto &launch : launches_)
        launch->enqueue(stream);
}

void BoundRung::copy_constants(cudaStream_t stream, bool each_call) {
    for (const ConstantCopy &copy : rung_.constant)
        if (copy.each_call == each_call)
            check(cudaMemcpyAsync(constants_.at(copy.variable), memory_.address(copy.operand),
                                  size_of(memory_.bytes(copy.operand)), cudaMemcpyDeviceToDevice, stream),
                  "cudaMemcpyAsync to constant memory");
}

CallGraph::CallGraph(std::span<const std::unique_ptr<BoundRung>> calls, cudaStream_t stream) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    for (const auto &call : calls)
        call->call(stream);
    end_capture(stream);
}

CallGraph::CallGraph(BoundRung &call, cudaStream_t stream) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    call.call(stream);
    end_capture(stream);
}

void CallGraph::end_capture(cudaStream_t stream) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    const cudaError_t error = cudaGraphInstantiate(&instance_, graph, 0);
    (void)cudaGraphDestroy(graph);
    check(error, "cudaGraphInstantiate");
}

CallGraph::~CallGraph() {
    (void)cudaGraphExecDestroy(instance_); // fails only with a lost context
}

void CallGraph::launch(cudaStream_t stream) const {
    check(cudaGraphLaunch(instance_, stream), "cudaGraphLaunch");
}

} // namespace convcast
