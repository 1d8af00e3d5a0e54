// A number with its unit, where it comes from and how far its samples reach.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/describe.hpp"
#include "model/base/units.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace convcast {

BOOST_DEFINE_ENUM_CLASS(Source, spec, driver, measured, published, assumed)

/// Order statistics of the samples behind a value, in the value's unit.
struct Spread {
    double p05 = 0.0, p50 = 0.0, p95 = 0.0;
    std::int64_t n = 0;
    CONVCAST_MEMBERS(Spread, p05, p50, p95, n)

    static constexpr Range range_of(std::string_view field) {
        return field == "n" ? Range{1.0, 1e12} : Range{-1e18, 1e18};
    }
    void check(const FieldProblem &problem) const {
        if (!(p05 <= p50 && p50 <= p95))
            problem("", "expected p05 <= p50 <= p95, for example 9, 10 and 12");
    }
};

/// Of a measured value, where the median of as many new samples would lie (bootstrap, 95 %); of another
/// value, the range that it may lie in.
struct Interval {
    double low = 0.0, high = 0.0;
    CONVCAST_MEMBERS(Interval, low, high)

    /// The interval of a slope may begin below zero.
    static constexpr Range range_of(std::string_view) { return {-1e18, 1e18}; }
    void check(const FieldProblem &problem) const {
        if (!(low <= high))
            problem("", "expected low <= high, for example 9 and 11");
    }
};

/// The values that a number of a profile may have, by its quantity Q: wide enough for any GPU, narrow enough
/// that no rule divides by a rounded zero or leaves 64 bits.
template <class Q> constexpr Range plausible() {
    if constexpr (std::is_same_v<Q, Frequency>)
        return {1e6, 1e11};
    else if constexpr (std::is_same_v<Q, Bandwidth>)
        return {1e6, 1e17};
    else if constexpr (std::is_same_v<Q, Seconds>)
        return {1e-12, 1.0};
    else if constexpr (std::is_same_v<Q, Bytes>)
        return {1.0, 1e15};
    else
        return {1e-3, 1e6};
}

/// One number of a profile. In files: {value, unit, source, by, spread, interval, populations}; the unit must
/// be UnitOf<Q>::text.
template <class Q> struct Param {
    Q value;
    Source source = Source::assumed;
    std::string by; ///< the probe or the citation
    std::optional<Spread> spread{};
    std::optional<Interval> interval{};
    /// The medians of clearly separate groups of samples, ascending; empty if there is one group. `value` is
    /// the median of all samples, and so lies in the larger group.
    std::vector<double> populations{};
};

} // namespace convcast
