#include "executor/verify/reference_kernel.hpp"

#include "executor/kernels/reference_args.hpp"
#include "executor/launch/kernel_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace convcast {
namespace {

constexpr unsigned threads = 256;

dim3 grid_for(std::size_t elements) {
    constexpr std::size_t most = 1 << 20; // the kernels stride over what is left
    return dim3(static_cast<unsigned>(std::min(most, (elements + threads - 1) / threads)));
}

ReferenceArgs args_for(const ConvShape &s) {
    return {s.n,   s.c,        s.h,        s.w,     s.k,     s.r,          s.s,          s.p(),
            s.q(), s.stride_h, s.stride_w, s.pad_h, s.pad_w, s.dilation_h, s.dilation_w, s.groups};
}

} // namespace

CompileRequest reference_request(int compute_capability) {
    return {.name = "executor/kernels/reference.cu",
            .source = kernel_source("reference"),
            .compute_capability = compute_capability};
}

ReferenceKernels::ReferenceKernels(Compiler &compiler, int compute_capability)
    : module_(compiler.compile(reference_request(compute_capability))),
      reference_(module_.kernel("convcast_reference")), compare_(module_.kernel("convcast_compare")) {}

DeviceReference ReferenceKernels::compute(const ConvShape &shape, const DeviceBuffer<float> &input,
                                          const DeviceBuffer<float> &filters) const {
    DeviceReference output(static_cast<std::size_t>(shape.output_elements()));
    reference_.launch_with(grid_for(output.size()), dim3(threads), 0, nullptr, input.data(), filters.data(),
                           output.data(), args_for(shape));
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize after the reference kernel");
    return output;
}

unsigned char poison_of(const ConvShape &shape) {
    return shape.dtype == DataType::i8 ? 0x80 : 0xFF;
}

Comparison ReferenceKernels::compare(const ConvShape &shape, const void *output, Layout layout,
                                     const DeviceReference &reference, double bound) const {
    const ComparisonSums nothing{0.0, 0.0, 0, 0, 0, ~0ULL};
    DeviceBuffer<ComparisonSums> sums{std::span(&nothing, 1)};
    const auto elements = static_cast<long long>(reference.size());
    const bool last = layout == Layout::channels_last;
    const long long channels = last ? shape.k : 1, pixels = last ? shape.p() * shape.q() : 1;
    compare_.launch_with(grid_for(reference.size()), dim3(threads), 0, nullptr, output,
                         static_cast<int>(shape.dtype), channels, pixels, reference.data(), elements, bound,
                         sums.data());
    const ComparisonSums seen = sums.to_host().front(); // waits for the kernel
    Comparison result;
    result.squared_error = seen.squared_error;
    result.squared_reference = seen.squared_reference;
    result.max_error_ratio = std::bit_cast<double>(seen.max_error_ratio_bits);
    result.not_a_number = static_cast<std::int64_t>(seen.not_a_number);
    result.out_of_bound = static_cast<std::int64_t>(seen.out_of_bound);
    result.first_bad = static_cast<std::int64_t>(seen.first_bad); // all ones is -1
    return result;
}

void check_reference(const ConvShape &shape, std::span<const float> input, std::span<const float> filters,
                     const DeviceReference &reference, std::uint64_t seed) {
    constexpr double quick_fmas = 1e7;
    constexpr std::size_t sample = 2000;
    const std::size_t elements = reference.size();
    const double products = static_cast<double>(shape.products());
    const auto verify = [&](std::size_t element, const ReferenceElement &device) {
        const ReferenceElement host =
            reference_element(shape, input, filters, static_cast<std::int64_t>(element));
        const double allowed = 2.0 * products * 0x1p-53 * host.magnitude; // both round
        if (std::abs(device.value - host.value) <= allowed &&
            std::abs(device.magnitude - host.magnitude) <= allowed)
            return;
        const auto [n, k, p, q] = output_index(shape, static_cast<std::int64_t>(element));
        throw GpuError(
            fmt::format("the reference kernel disagrees with the CPU for {} at n={} k={} p={} q={}: {} "
                        "against {}; nothing can be verified",
                        shape.id(), n, k, p, q, device.value, host.value));
    };
    if (products * static_cast<double>(elements) <= quick_fmas) {
        const std::vector<ReferenceElement> all = reference.to_host();
        for (std::size_t i = 0; i < elements; ++i)
            verify(i, all[i]);
        return;
    }
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < sample; ++i) {
        const std::size_t element = random() % elements;
        verify(element, copy_of(reference.data() + element, 1).front());
    }
}

} // namespace convcast
