// One direction of a convolution or of a pooling.
#pragma once

#include <cstdint>

namespace convcast {

/// A window over the rows of a map, or over its columns. No product of two sizes up to 2^31 overflows.
struct Window {
    std::int64_t input = 1, window = 1, stride = 1, dilation = 1;
    std::int64_t begin = 0, end = 0; ///< rows of padding before the first and behind the last

    /// Rows from the first to the last that a dilated window covers.
    std::int64_t reach() const { return (window - 1) * dilation + 1; }
    /// Places of the window, that is outputs, with `at_end` rows of padding at the end; 0 if it does not fit.
    std::int64_t places(std::int64_t at_end) const {
        return input + begin + at_end < reach() ? 0 : (input + begin + at_end - reach()) / stride + 1;
    }
    std::int64_t places() const { return places(end); }
    /// Rows of padding, begin and end together, that give the window `outputs` places; 0 if it needs none.
    std::int64_t padding_for(std::int64_t outputs) const {
        const std::int64_t both = (outputs - 1) * stride + reach() - input;
        return both < 0 ? 0 : both;
    }
};

} // namespace convcast
