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
    if (rung.upload)
        packed_.emplace(size_of(*floats("input")));
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
    if (rung_.upload)
        pack(images);
    else
        images_.copy_from(images);
    labels_.copy_from(labels);
}

void NetworkMemory::pack(std::span<const float> images) {
    check_copy_size(images.size(), packed_->size());
    const std::int64_t pixels = elements(network_.input), streams = rung_.streams.value_or(1);
    float *const packed = packed_->data();
    std::fill_n(packed, packed_->size(), 0.0F);
    for (std::int64_t stream = 0; stream < streams; ++stream) {
        const ImageShare share = share_of(rung_, batch_, stream);
        for (std::int64_t i = 0; i < share.count && size_of((share.first + i + 1) * pixels) <= images.size();
             ++i)
            for (std::int64_t at = 0; at < pixels; ++at) {
                const std::int64_t place =
                    *rung_.upload == Upload::interleaved ? at * share.count + i : i * pixels + at;
                packed[share.first * pixels + place] = images[size_of((share.first + i) * pixels + at)];
            }
    }
}

void NetworkMemory::upload(const ImageShare &share, cudaStream_t stream) const {
    const std::int64_t pixels = elements(network_.input);
    check(cudaMemcpyAsync(const_cast<float *>(images_at_) + share.first * pixels,
                          packed_->data() + share.first * pixels,
                          size_of(share.count * pixels) * sizeof(float), cudaMemcpyHostToDevice, stream),
          "cudaMemcpyAsync of images");
}

const void *NetworkMemory::address(const std::string &operand, std::int64_t first) const {
    const void *start = start_of(operand);
    if (first == 0)
        return start;
    if (operand == "labels")
        return labels_at_ + first;
    const bool of_images =
        operand == "input" || outputs_.contains(operand) || rung_.image_memory.contains(operand);
    return of_images
               ? static_cast<const float *>(start) + first * *operand_floats(network_, rung_, operand, 1)
               : start;
}

const void *NetworkMemory::start_of(const std::string &operand) const {
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
                         const LaunchShare &work, int sms)
    : kernel_(module.kernel(launch.kernel)), launch_(launch), grid_(grid_of(launch, work.share.count, sms)) {
    const std::map<std::string, std::int64_t> numbers = {
        {"count", work.share.count}, {"total", work.total}, {"groups", work.groups}, {"turn", work.turn}};
    for (const std::string &operand : launch.operands) {
        if (const auto number = numbers.find(operand); number != numbers.end())
            arguments_.push_back(&numbers_.emplace_back(static_cast<int>(number->second)));
        else
            arguments_.push_back(&pointers_.emplace_back(memory.address(operand, work.share.first)));
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
    : rung_(rung), memory_(memory), images_(images) {
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
    const LaunchShare all{{0, images}, images, groups, 0};
    for (const LadderLaunch &launch : rung.prepare)
        prepare_.push_back(std::make_unique<BoundLaunch>(module, launch, memory_, all, sms));
    for (const LadderLaunch &launch : rung.launches)
        launches_.push_back(bind(module, launch, images, groups, sms));
    for (std::int64_t i = 0; i < rung.streams.value_or(0); ++i) {
        streams_.push_back(std::make_unique<OwnedStream>());
        ends_.push_back(std::make_unique<OwnedEvent>());
    }
}

BoundRung::Launches BoundRung::bind(const Module &module, const LadderLaunch &launch, std::int64_t images,
                                    std::int64_t groups, int sms) const {
    Launches launches{launch.each_stream.value_or(false), launch.meet.value_or(false), {}};
    const std::int64_t streams = launches.each_stream ? *rung_.streams : 1;
    for (std::int64_t stream = 0; stream < streams; ++stream) {
        auto &of_stream = launches.by_stream.emplace_back();
        LaunchShare work{{0, images}, images, groups, 0};
        if (launches.each_stream)
            work.share = share_of(rung_, images, stream);
        for (; work.turn < launch.repeat.value_or(1) && work.share.count > 0; ++work.turn)
            of_stream.push_back(std::make_unique<BoundLaunch>(module, launch, memory_, work, sms));
    }
    return launches;
}

void BoundRung::prepare(cudaStream_t stream) {
    copy_constants(stream, false);
    for (const auto &launch : prepare_)
        launch->enqueue(stream);
}

void BoundRung::call(cudaStream_t stream) {
    copy_constants(stream, true);
    bool forked = rung_.upload && !streams_.empty();
    if (forked)
        fork(stream);
    if (rung_.upload && !forked)
        memory_.upload({0, images_}, stream);
    for (std::size_t i = 0; forked && i < streams_.size(); ++i)
        if (const ImageShare share = share_of(rung_, images_, static_cast<std::int64_t>(i)); share.count > 0)
            memory_.upload(share, streams_[i]->get());
    for (const Launches &launches : launches_) {
        if (launches.each_stream && !forked)
            fork(stream);
        if (!launches.each_stream && forked)
            join(stream);
        forked = launches.each_stream;
        for (std::size_t i = 0; i < launches.by_stream.size(); ++i)
            for (const auto &launch : launches.by_stream[i])
                launch->enqueue(forked ? streams_[i]->get() : stream);
        if (forked && launches.meet) {
            join(stream);
            fork(stream);
        }
    }
    if (forked)
        join(stream);
}

void BoundRung::fork(cudaStream_t stream) {
    start_.record(stream);
    for (const auto &other : streams_)
        check(cudaStreamWaitEvent(other->get(), start_.get(), 0), "cudaStreamWaitEvent");
}

void BoundRung::join(cudaStream_t stream) {
    for (std::size_t i = 0; i < streams_.size(); ++i) {
        ends_[i]->record(streams_[i]->get());
        check(cudaStreamWaitEvent(stream, ends_[i]->get(), 0), "cudaStreamWaitEvent");
    }
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
