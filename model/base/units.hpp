// Quantities in SI base units over five dimensions. `Bytes(1.0) + Seconds(3.0)` does not compile.
#pragma once

#include <cmath>
#include <compare>

namespace convcast {

/// A value in second^S byte^B cycle^C fma^F instruction^I, without prefixes: a microsecond is 1e-6.
template <int S, int B, int C, int F, int I> struct Quantity {
    double value = 0.0;

    constexpr Quantity() = default;
    explicit constexpr Quantity(double v) : value(v) {}

    constexpr auto operator<=>(const Quantity &) const = default;
    constexpr Quantity operator+(Quantity o) const { return Quantity(value + o.value); }
    constexpr Quantity operator-(Quantity o) const { return Quantity(value - o.value); }
    constexpr Quantity operator*(double k) const { return Quantity(value * k); }
    constexpr Quantity operator/(double k) const { return Quantity(value / k); }
    constexpr Quantity &operator+=(Quantity o) { return value += o.value, *this; }
    constexpr double operator/(Quantity o) const { return value / o.value; }
    friend constexpr Quantity operator*(double k, Quantity q) { return q * k; }

    template <int S2, int B2, int C2, int F2, int I2>
    constexpr auto operator*(Quantity<S2, B2, C2, F2, I2> o) const {
        return Quantity<S + S2, B + B2, C + C2, F + F2, I + I2>(value * o.value);
    }
    template <int S2, int B2, int C2, int F2, int I2>
    constexpr auto operator/(Quantity<S2, B2, C2, F2, I2> o) const {
        return Quantity<S - S2, B - B2, C - C2, F - F2, I - I2>(value / o.value);
    }
};

using Seconds = Quantity<1, 0, 0, 0, 0>;
inline constexpr double us_per_s = 1e6; ///< microseconds of a second, for texts and figures
using Bytes = Quantity<0, 1, 0, 0, 0>;
using Cycles = Quantity<0, 0, 1, 0, 0>;
using Fmas = Quantity<0, 0, 0, 1, 0>;
using Instructions = Quantity<0, 0, 0, 0, 1>;
using Frequency = Quantity<-1, 0, 1, 0, 0>; ///< cycles per second
using Bandwidth = Quantity<-1, 1, 0, 0, 0>; ///< bytes per second
using BytesPerCycle = Quantity<0, 1, -1, 0, 0>;
using FmasPerCycle = Quantity<0, 0, -1, 1, 0>;

/// The only road from FMAs to floating-point operations: one multiply and one add.
constexpr double flops(Fmas f) {
    return 2.0 * f.value;
}

/// A dimensionless count or ratio as a profile entry.
using Plain = Quantity<0, 0, 0, 0, 0>;

/// The unit of a quantity as files have it; a reader accepts no other.
template <class Q> struct UnitOf;
template <> struct UnitOf<Seconds> { static constexpr const char *text = "s"; };
template <> struct UnitOf<Bytes> { static constexpr const char *text = "B"; };
template <> struct UnitOf<Cycles> { static constexpr const char *text = "clk"; };
template <> struct UnitOf<Frequency> { static constexpr const char *text = "Hz"; };
template <> struct UnitOf<Bandwidth> { static constexpr const char *text = "B/s"; };
template <> struct UnitOf<BytesPerCycle> { static constexpr const char *text = "B/clk"; };
template <> struct UnitOf<FmasPerCycle> { static constexpr const char *text = "fma/clk"; };
template <> struct UnitOf<Plain> { static constexpr const char *text = "1"; };

} // namespace convcast
