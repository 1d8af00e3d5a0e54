#include "executor/network/whole_reference.hpp"

#include "executor/network/streamed_work.hpp"
#include "executor/network/whole_kernel.hpp"
#include "gpu/check.hpp"
#include "gpu/kernel.hpp"
#include "model/base/errors.hpp"
#include "model/network/operator_type.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr unsigned reference_threads = 256; ///< of a block, as the kernels have it
constexpr unsigned compare_blocks = 1024;   ///< chosen

/// The struct Window of whole_reference.cu, which takes it as an argument.
struct Window {
    int c, h, w, k, p, q, r, s, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups;
};

/// The window of a convolution of one image.
Window window_of(const Operator &op, const ImageShape &input) {
    const ConvShape shape = *as_convolution(op, input, 1);
    const auto as_int = [](std::int64_t value) { return static_cast<int>(value); };
    return {as_int(shape.c),          as_int(shape.h),          as_int(shape.w),     as_int(shape.k),
            as_int(shape.p()),        as_int(shape.q()),        as_int(shape.r),     as_int(shape.s),
            as_int(shape.stride_h),   as_int(shape.stride_w),   as_int(shape.pad_h), as_int(shape.pad_w),
            as_int(shape.dilation_h), as_int(shape.dilation_w), as_int(shape.groups)};
}

/// The request for whole_reference.cu with the kernels generated from the operators' device code behind it.
CompileRequest reference_request(const Network &network, int compute_capability) {
    CompileRequest request = network_request("whole_reference.cu", compute_capability);
    std::set<std::string> seen;
    for (std::size_t i = 0; i < network.operators.size(); ++i)
        if (type_of(network.operators[i].kind).form != DeviceForm::own)
            if (const ReferenceKernel kernel =
                    reference_kernel(network.operators[i], network.input_shapes(i));
                seen.insert(kernel.name).second)
                request.source += kernel.text;
    return request;
}

std::size_t numbers(std::int64_t images, const ImageShape &shape) {
    return static_cast<std::size_t>(images * elements(shape));
}

} // namespace

WholeReference::WholeReference(Compiler &compiler, int compute_capability, const Network &network,
                               std::int64_t images)
    : network_(network), module_(compiler.compile(reference_request(network, compute_capability))),
      images_(numbers(images, network.input)), sums_(2 * compare_blocks) {
    for (const Operator &op : network.operators)
        outputs_.emplace_back(numbers(images, op.output));
}

void WholeReference::forward(const float *images, std::int64_t count,
                             const std::function<const float *(std::size_t op)> &parameters,
                             cudaStream_t stream) {
    count_ = count;
    const long long pixels = count * elements(network_.input);
    double *to = images_.data();
    module_.kernel("reference_widen")
        .launch_with(blocks_for(pixels, reference_threads), dim3(reference_threads), 0, stream, images, to,
                     pixels);
    for (std::size_t i = 0; i < network_.operators.size(); ++i)
        compute(i, parameters(i), stream);
}

/// Launches the kernel of operator `i`: generated from the operator's device code or, for the few without
/// one, written in whole_reference.cu.
void WholeReference::compute(std::size_t i, const float *parameters, cudaStream_t stream) {
    const Operator &op = network_.operators[i];
    const std::vector<std::size_t> sources = network_.sources(i);
    const auto data_of = [&](std::size_t source) -> const double * {
        return source == Network::input_index ? images_.data() : outputs_[source].data();
    };
    const std::vector<ImageShape> shapes = network_.input_shapes(i);
    const ImageShape &in_shape = shapes.front();
    const double *in = data_of(sources.front());
    double *out = outputs_[i].data();
    const long long outputs = count_ * elements(op.output);
    const dim3 threads(reference_threads), grid = blocks_for(outputs, reference_threads);
    const auto as_int = [](std::int64_t value) { return static_cast<int>(value); };
    if (type_of(op.kind).form != DeviceForm::own) {
        std::vector<KernelArgument> arguments;
        for (const ImageShape &shape : {in_shape, op.output})
            for (const std::int64_t size : shape)
                arguments.emplace_back(as_int(size));
        for (const std::size_t source : sources)
            arguments.emplace_back(data_of(source));
        arguments.emplace_back(parameters);
        arguments.emplace_back(out);
        arguments.emplace_back(outputs);
        KernelCall{module_.kernel(reference_kernel(op, shapes).name), grid, threads, 0,
                   std::move(arguments)}(stream);
        return;
    }
    switch (op.kind) {
    case OperatorKind::convolution:
        module_.kernel("reference_convolution")
            .launch_with(grid, threads, 0, stream, in, parameters, out, window_of(op, in_shape), outputs);
        return;
    case OperatorKind::dense:
        module_.kernel("reference_dense")
            .launch_with(blocks_for(outputs, reference_threads / 32), threads, 0, stream, in, parameters, out,
                         as_int(elements(in_shape)), as_int(*op.outputs), outputs);
        return;
    case OperatorKind::softmax:
        module_.kernel("reference_softmax")
            .launch_with(blocks_for(count_, reference_threads), threads, 0, stream, in, out,
                         as_int(elements(in_shape)), as_int(count_));
        return;
    case OperatorKind::layer_norm: {
        const long long pixels = outputs / in_shape[0];
        module_.kernel("reference_layer_norm")
            .launch_with(blocks_for(pixels, reference_threads), threads, 0, stream, in, out,
                         as_int(in_shape[0]), as_int(in_shape[1] * in_shape[2]), *op.alpha, pixels);
        return;
    }
    default:
        throw UsageError(op.name + " has no reference on the GPU");
    }
}

L2Error WholeReference::compare(std::size_t op, const float *values, std::int64_t first, std::int64_t columns,
                                cudaStream_t stream) {
    const double *reference = outputs_[op].data();
    double *sums = sums_.data();
    const long long count = elements(network_.operators[op].output);
    module_.kernel("reference_compare")
        .launch_with(dim3(compare_blocks), dim3(reference_threads), 0, stream, values, reference, sums, count,
                     static_cast<int>(count_), static_cast<int>(first), static_cast<int>(columns));
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize after a comparison with the reference");
    const std::vector<double> of_blocks = sums_.to_host();
    L2Error error;
    for (std::size_t i = 0; i < of_blocks.size(); i += 2)
        error += {of_blocks[i], of_blocks[i + 1]};
    return error;
}

} // namespace convcast
