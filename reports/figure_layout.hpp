// What the writers of a figure share: the ranges of its axes, and where a point goes that lies beyond them.
#pragma once

#include "reports/figure.hpp"

namespace convcast {

inline constexpr std::size_t style_count = 6; ///< colours, and marker shapes

/// The marker shape of a style: colours and shapes go together once round, then the shapes move on by one, so
/// that 36 styles differ.
inline constexpr std::size_t mark_of(std::size_t style) {
    return (style + style / style_count) % style_count;
}

/// The range of an axis and its map to 0..1.
struct AxisRange {
    Scale scale;
    double low, high;

    double at(double value) const;
    bool holds(double value) const { return value >= low && value <= high; }
    double clamp(double value) const; ///< a NaN goes to the low end
};

struct Ranges {
    AxisRange x, y;
};
Ranges ranges_of(const Figure &figure);

struct Placed {
    double x, y;
    int dx = 0, dy = 0; ///< where it lies when it is beyond an axis; y grows upwards
    bool clamped() const { return dx != 0 || dy != 0; }
};
Placed place(const Point &point, const Ranges &ranges);

std::size_t beyond_count(const Figure &figure, const Ranges &ranges);
std::string beyond_text(std::size_t count); ///< "1 point beyond the axis"

bool is_logarithmic(Scale scale);

/// The powers of two within the range, every `stride`-th of them, and how the axis names one.
std::vector<double> powers_of_two(const AxisRange &range, int stride);
std::string power_label(double value, const Axis &axis);

/// 1, 2 or 5 times a power of ten: the smallest not below `value`, or the largest not above it.
double round_number(double value, bool up);

/// A coordinate: two decimals, no trailing zeros, no "-0".
std::string coordinate(double value);

/// A value of the data: nine digits survive any libm, seventeen do not.
std::string number(double value);

/// Bytes of the first character; malformed UTF-8 counts as single bytes. `text` must not be empty.
std::size_t character_length(std::string_view text);

} // namespace convcast
