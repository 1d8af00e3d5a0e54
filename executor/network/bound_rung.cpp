#include "executor/network/bound_rung.hpp"

#include "gpu/check.hpp"
#include "model/base/divide.hpp"
#include "model/base/errors.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
std::vector<float> flattened(const Parameters &parameters) {
    std::vector<float> all;
    for (const std::vector<double> &of_operator : parameters)
        for (const double value : of_operator)
            all.push_back(static_cast<float>(value));
    return all;
}

Parameters by_operator(const Network &network, std::span<const float> flat) {
    Parameters all;
    for (std::size_t i = 0; i < network.operators.size(); ++i) {
        const auto count = as_size(network.parameters(i));
        all.emplace_back(flat.begin(), flat.begin() + static_cast<std::ptrdiff_t>(count));
        flat = flat.subspan(count);
    }
    return all;
}

std::string output_of(const Rung &rung) {
    std::string last;
    for (const LadderLaunch &launch : rung.launches)
        if (!launch.operators.empty())
            last = launch.operators.back();
    return last;
}

const Module &LadderKernels::module_of(const Rung &rung) {
    CompileRequest request = network_request(rung.source + ".cu", gpu_.compute_capability());
    std::set<std::string> variables;
    for (const Rung &other : ladder_.rungs)
        for (const ConstantCopy &copy : other.constant)
            if (other.source == rung.source && !other.launches.empty() &&
                variables.insert(copy.variable).second)
                request.name_expressions.push_back("&" + copy.variable);
    return module_of(request);
}

const Module &LadderKernels::module_of(const CompileRequest &request) {
    std::vector<std::string> key = {request.name};
    key.insert(key.end(), request.options.begin(), request.options.end());
    if (const auto known = modules_.find(key); known != modules_.end())
        return known->second;
    return modules_.emplace(std::move(key), Module(compiler_.compile(request))).first->second;
}

namespace {

/// The names of all operands that launches and constant copies of the rung read or write.
std::set<std::string> operands_of(const Rung &rung) {
    std::set<std::string> names;
    for (const auto *launches : {&rung.prepare, &rung.launches})
        for (const LadderLaunch &launch : *launches)
            names.insert(launch.operands.begin(), launch.operands.end());
    for (const ConstantCopy &copy : rung.constant)
        names.insert(copy.operand);
    return names;
}

} // namespace

NetworkMemory::NetworkMemory(const Network &network, const Rung &rung, std::int64_t batch)
    : network_(network), rung_(rung), batch_(batch), images_(as_size(*floats("input"))),
      labels_(as_size(batch)), parameters_(as_size(*floats("parameters"))),
      gradient_(as_size(*floats("gradient"))) {
    starts_ = {{"none", nullptr},
               {"input", images_.data()},
               {"labels", labels_.data()},
               {"order", nullptr},
               {"settings", settings_.data()},
               {"parameters", parameters_.data()},
               {"gradient", gradient_.data()}};
    const std::set<std::string> named = operands_of(rung);
    const float *next_parameters = parameters_.data();
    for (std::size_t i = 0; i < network.operators.size(); ++i) {
        const std::string &name = network.operators[i].name;
        if (named.contains(name))
            starts_[name] = outputs_.emplace(name, as_size(*floats(name))).first->second.data();
        starts_[name + ".parameters"] = next_parameters;
        next_parameters += network.parameters(i);
    }
    for (const auto *memory : {&rung.memory, &rung.image_memory})
        for (const auto &[name, count] : *memory) {
            DeviceBuffer<float> &own =
                own_.emplace(name, DeviceBuffer<float>(as_size(*floats(name)))).first->second;
            own.fill_bytes(0);
            starts_[name] = own.data();
        }
    settings_.fill_bytes(0);
    if (rung.upload)
        packed_.emplace(as_size(*floats("input")));
}

void NetworkMemory::load(const LabelledImages &images, const Parameters &parameters) {
    load(images);
    parameters_.copy_from(flattened(parameters));
    for (auto &[name, memory] : own_)
        memory.fill_bytes(0);
    gradient_.poison();
    for (auto &[name, output] : outputs_)
        output.poison();
}

void NetworkMemory::load(const LabelledImages &images) {
    if (rung_.upload)
        pack(images.pixels);
    else
        images_.copy_from(images.pixels);
    labels_.copy_from(images.labels);
}

void NetworkMemory::pack(std::span<const float> images) {
    check_copy_size(images.size(), packed_->size());
    const std::int64_t pixels = elements(network_.input), streams = rung_.streams.value_or(1);
    float *const packed = packed_->data();
    std::fill_n(packed, packed_->size(), 0.0F);
    for (std::int64_t stream = 0; stream < streams; ++stream) {
        const ImageShare share = share_of(rung_, batch_, stream);
        for (std::int64_t i = 0; i < share.count && as_size((share.first + i + 1) * pixels) <= images.size();
             ++i)
            for (std::int64_t at = 0; at < pixels; ++at) {
                const std::int64_t place =
                    *rung_.upload == Upload::interleaved ? at * share.count + i : i * pixels + at;
                packed[share.first * pixels + place] = images[as_size((share.first + i) * pixels + at)];
            }
    }
}

void NetworkMemory::upload(const ImageShare &share, cudaStream_t stream) const {
    const std::int64_t pixels = elements(network_.input);
    check(cudaMemcpyAsync(const_cast<float *>(images_.data()) + share.first * pixels,
                          packed_->data() + share.first * pixels,
                          as_size(share.count * pixels) * sizeof(float), cudaMemcpyHostToDevice, stream),
          "cudaMemcpyAsync of images");
}

const void *NetworkMemory::address(const std::string &operand, std::int64_t first) const {
    const void *start = starts_.at(operand);
    if (first == 0)
        return start;
    if (operand == "labels")
        return static_cast<const std::uint8_t *>(start) + first;
    const bool of_images =
        operand == "input" || outputs_.contains(operand) || rung_.image_memory.contains(operand);
    return of_images
               ? static_cast<const float *>(start) + first * *operand_floats(network_, rung_, operand, 1)
               : start;
}

std::string NetworkMemory::overrun() const {
    for (const auto &[name, output] : outputs_)
        if (!output.guards_intact())
            return name;
    return gradient_.guards_intact() ? "" : "gradient";
}

namespace {

/// What a launch computes, as the operands "count", "total", "groups" and "turn" of LadderLaunch say it.
struct LaunchShare {
    ImageShare share; ///< its images
    std::int64_t total = 1, groups = 1, turn = 0;
};

dim3 as_dim3(const std::array<std::int64_t, 3> &size) {
    return dim3(static_cast<unsigned>(size[0]), static_cast<unsigned>(size[1]),
                static_cast<unsigned>(size[2]));
}

/// A launch of the rung with the addresses and numbers of its operands as arguments, in their order.
KernelCall bound_launch(const Module &module, const LadderLaunch &launch, const NetworkMemory &memory,
                        const LaunchShare &work, int sms) {
    KernelCall call{module.kernel(launch.kernel),
                    as_dim3(grid_of(launch, work.share.count, sms)),
                    as_dim3(launch.block),
                    as_size(launch.shared_bytes.value_or(0)),
                    {},
                    static_cast<unsigned>(launch.cluster.value_or(1))};
    const std::map<std::string, std::int64_t> numbers = {
        {"count", work.share.count}, {"total", work.total}, {"groups", work.groups}, {"turn", work.turn}};
    for (const std::string &operand : launch.operands)
        if (const auto number = numbers.find(operand); number != numbers.end())
            call.arguments.emplace_back(static_cast<int>(number->second));
        else
            call.arguments.emplace_back(memory.address(operand, work.share.first));
    if (launch.shared_bytes)
        call.kernel.allow_shared(call.shared_bytes);
    return call;
}

/// How many groups the images make for the first launch that takes them in groups; `images` if none does.
std::int64_t groups_of(const Rung &rung, std::int64_t images) {
    for (const LadderLaunch &launch : rung.launches)
        if (launch.group_images)
            return ceil_div(images, *launch.group_images);
    return images;
}

/// A copy of an operand to a constant array of the module. Throws GpuError if the array is too small.
StreamedWork::Call copy_to_constant(const Module &module, const ConstantCopy &copy,
                                    const NetworkMemory &memory) {
    std::size_t room = 0;
    void *const to = module.global(copy.variable, room);
    const std::size_t bytes = as_size(memory.bytes(copy.operand));
    if (room < bytes)
        throw GpuError("the constant array " + copy.variable + " has " + std::to_string(room) +
                       " bytes, too few for " + copy.operand);
    return [to, from = memory.address(copy.operand), bytes](cudaStream_t stream) {
        check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream),
              "cudaMemcpyAsync to constant memory");
    };
}

/// A call that adds up the gradients of all GPUs. A GPU without images has no gradient, so its memory is
/// zeroed before.
StreamedWork::Call summing(NetworkMemory &memory, std::int64_t images, const SharedBatch &shared) {
    return [gradient = memory.gradient_at(), count = memory.gradient_count(), images,
            sum = shared.sum](cudaStream_t stream) {
        if (images == 0)
            check(cudaMemsetAsync(gradient, 0, count * sizeof(float), stream),
                  "cudaMemsetAsync of a gradient");
        if (sum)
            sum(gradient, count, stream);
    };
}

} // namespace

/// Turns the rung's launches into calls on streams. A launch runs on stream 0 for all images or, with
/// each_stream, on streams 1 and up, each for its share of the images. Those streams fork from stream 0 where
/// such launches begin, and stream 0 joins them where they end.
BoundRung::BoundRung(LadderKernels &kernels, const Rung &rung, NetworkMemory &memory, std::int64_t images,
                     const std::optional<SharedBatch> &shared) {
    const Module &module = kernels.module_of(rung);
    const int sms = kernels.gpu().sm_count;
    for (const ConstantCopy &copy : rung.constant)
        (copy.each_call ? call_ : prepare_).add(0, copy_to_constant(module, copy, memory));
    const std::int64_t total = shared ? shared->total : images;
    LaunchShare all{{0, images}, total, groups_of(rung, images), 0};
    for (const LadderLaunch &launch : rung.prepare)
        prepare_.add(0, bound_launch(module, launch, memory, all, sms));
    // Stream 0 is the caller's, for what takes all images; streams 1 to `streams` have a share of the images
    // each.
    const auto streams = as_size(rung.streams.value_or(0));
    const auto share_on = [&](std::size_t stream) {
        return stream == 0 ? all.share : share_of(rung, images, static_cast<std::int64_t>(stream) - 1);
    };
    for (std::size_t stream = 1; stream <= streams; ++stream)
        (void)call_.add_stream();
    const auto fork = [&] {
        for (std::size_t stream = 1; stream <= streams; ++stream)
            call_.follow(stream, 0);
    };
    const auto join = [&] {
        for (std::size_t stream = 1; stream <= streams; ++stream)
            call_.follow(0, stream);
    };
    bool forked = rung.upload && streams > 0; // whether streams 1 and up are in use
    if (forked)
        fork();
    if (rung.upload)
        for (std::size_t stream = forked ? 1 : 0; stream <= streams; ++stream)
            if (const ImageShare share = share_on(stream); share.count > 0)
                call_.add(stream, [&memory, share](cudaStream_t on) { memory.upload(share, on); });
    for (const LadderLaunch &launch : rung.launches) {
        if (shared && launch.sums_gradients.value_or(false)) {
            call_.add(0, summing(memory, images, *shared));
            all = {{0, total}, total, groups_of(rung, total), 0}; // later launches take the whole batch
        }
        const bool each = launch.each_stream.value_or(false);
        if (each && !forked)
            fork();
        if (!each && forked)
            join();
        forked = each;
        std::optional<std::size_t> &first = first_launches_.emplace_back();
        for (std::size_t stream = each ? 1 : 0; stream <= (each ? streams : 0); ++stream) {
            LaunchShare work = all;
            for (work.share = share_on(stream); work.turn < launch.repeat.value_or(1) && work.share.count > 0;
                 ++work.turn) {
                const std::size_t call = call_.add(stream, bound_launch(module, launch, memory, work, sms));
                first = first.value_or(call);
            }
        }
        if (each && launch.meet.value_or(false)) {
            join();
            (void)call_.add(0, {}); // an empty call: it ends when all streams have come here
            fork();
        }
    }
}

} // namespace convcast
