#include "executor/verify/reference.hpp"

#include <cmath>
#include <cstdint>
#include <span>

namespace convcast {

OutputIndex output_index(const ConvShape &shape, std::int64_t element) {
    const std::int64_t p = shape.p(), q = shape.q();
    return {element / (q * p * shape.k), element / (q * p) % shape.k, element / q % p, element % q};
}

ReferenceElement reference_element(const ConvShape &shape, std::span<const float> input,
                                   std::span<const float> filters, std::int64_t element) {
    const auto [n, k, p, q] = output_index(shape, element);
    const std::int64_t group_channels = shape.c / shape.groups;
    const std::int64_t first_channel = k / (shape.k / shape.groups) * group_channels;
    ReferenceElement sum;
    for (std::int64_t c = 0; c < group_channels; ++c)
        for (std::int64_t r = 0; r < shape.r; ++r)
            for (std::int64_t s = 0; s < shape.s; ++s) {
                const std::int64_t y = p * shape.stride_h - shape.pad_h + r * shape.dilation_h;
                const std::int64_t x = q * shape.stride_w - shape.pad_w + s * shape.dilation_w;
                if (y < 0 || y >= shape.h || x < 0 || x >= shape.w)
                    continue;
                const double pixel = input[((n * shape.c + first_channel + c) * shape.h + y) * shape.w + x];
                const double weight = filters[((k * group_channels + c) * shape.r + r) * shape.s + s];
                sum.value += pixel * weight;
                sum.magnitude += std::abs(pixel * weight);
            }
    return sum;
}

} // namespace convcast
