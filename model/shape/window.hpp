// One direction of a convolution or of a pooling.
#pragma once

#include <cstdint>

namespace convcast {

/// Rows or columns of a window over a map. No product of two sizes up to 2^31 overflows.
struct Window {
    std::int64_t input = 1, window = 1, stride = 1, dilation = 1;
    std::int64_t begin = 0, end = 0; ///< padding

    std::int64_t reach() const { return (window - 1) * dilation + 1; }
    /// How many places the window has with this padding at the end.
    std::int64_t places(std::int64_t at_end) const {
        return input + begin + at_end < reach() ? 0 : (input + begin + at_end - reach()) / stride + 1;
    }
    std::int64_t places() const { return places(end); }
    /// Padding that takes the window `outputs` times, as far as `outputs` needs any.
    std::int64_t padding_for(std::int64_t outputs) const {
        const std::int64_t both = (outputs - 1) * stride + reach() - input;
        return both < 0 ? 0 : both;
    }
};

} // namespace convcast
