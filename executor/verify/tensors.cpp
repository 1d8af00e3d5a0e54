#include "executor/verify/tensors.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace convcast {
namespace {

Tensors stored_on_device(const ConvShape &shape, const Inputs &inputs) {
    const std::vector<std::byte> input = stored(inputs.input, shape.dtype),
                                 filters = stored(inputs.filters, shape.dtype);
    return {DeviceBuffer<std::byte>(std::span(input)), DeviceBuffer<std::byte>(std::span(filters)), {}};
}

} // namespace

ShapeData::ShapeData(const ConvShape &shape, const ReferenceKernels &kernels, std::uint64_t seed)
    : shape_(shape), kernels_(kernels), seed_(seed),
      output_(static_cast<std::size_t>(shape.output_bytes()), poison_of(shape)) {}

const Tensors &ShapeData::tensors(Gate gate, Layout layout) {
    std::map<Layout, Tensors> &made = gate == Gate::exact ? integers_ : reals_;
    if (const auto found = made.find(layout); found != made.end())
        return found->second;
    const Inputs inputs =
        laid_out((gate == Gate::exact ? integer_inputs : real_inputs)(shape_, seed_), shape_, layout);
    Tensors tensors = stored_on_device(shape_, inputs);
    if (layout == Layout::channels_first) {
        tensors.reference = kernels_.compute(shape_, DeviceBuffer<float>(std::span(inputs.input)),
                                             DeviceBuffer<float>(std::span(inputs.filters)));
        check_reference(shape_, inputs.input, inputs.filters, tensors.reference, seed_);
    }
    return made.emplace(layout, std::move(tensors)).first->second;
}

void ShapeData::run(const ConvCall &call, Gate gate, Layout layout, cudaStream_t stream) {
    const Tensors &its = tensors(gate, layout);
    call(its.input.data(), its.filters.data(), output_.data(), stream);
}

Verdict ShapeData::verify(const ConvCall &call, Gate gate, Layout layout, cudaStream_t stream) {
    output_.poison();
    run(call, gate, layout, stream);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize after a call that is verified");
    return verdict(gate, layout);
}

Verdict ShapeData::verdict(Gate gate, Layout layout) {
    Verdict found = verdict(gate, layout, output_.data());
    if (!output_.guards_intact()) {
        found.passed = false;
        found.message = "writes outside the output" + (found.message.empty() ? "" : "; " + found.message);
    }
    return found;
}

Verdict ShapeData::verdict(Gate gate, Layout layout, const void *output) {
    return judge(gate, shape_,
                 kernels_.compare(shape_, output, layout, tensors(gate).reference,
                                  gate == Gate::exact ? 0.0 : rounding_bound(shape_)));
}

} // namespace convcast
