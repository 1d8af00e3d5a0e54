// The tree of a forecast: building, evaluating, and the waterfall whose bars add up to the time.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/describe.hpp"
#include "model/base/units.hpp"

#include <optional>
#include <string>
#include <vector>

namespace convcast {

enum class TermKind {
    leaf,     ///< `value_s`
    sum,      ///< children after one another
    max,      ///< children at once, the slowest decides
    pnorm,    ///< (sum child^exponent)^(1/exponent): a soft maximum
    pipeline, ///< children fill, step, drain: fill + (count - 1) * step + drain
    schedule, ///< children full wave, tail wave: count full waves of CTAs one after another, then the tail
    scaled,   ///< `count` times its child: the scale of a calibration (F34)
    queue, ///< F5, one round of a closed queue of `count` jobs. The last child is the time of one job alone;
           ///< each child before it is the time that a shared resource needs for all jobs. No less than the
           ///< longest of these and no more than their sum
    alike, ///< a queue of jobs that take equally long to serve: one that comes finds the one before half done
};
BOOST_DESCRIBE_ENUM(TermKind, leaf, sum, max, pnorm, pipeline, schedule, scaled, queue, alike)

/// A node of the forecast's arithmetic. The time is the tree's value.
struct Term {
    TermKind kind = TermKind::leaf;
    std::string name;                 ///< "FMA", "shared memory", "DRAM latency", ...
    std::string formula{};            ///< with its numbers: "65536 fma / 128 fma/clk / 1980 MHz"
    Seconds value_s{};                ///< of the whole node
    std::optional<double> exponent{}; ///< pnorm
    std::optional<double> count{};    ///< pipeline: steps; schedule: full waves; scaled: factor
    std::vector<Term> children{};
    CONVCAST_MEMBERS(Term, kind, name, formula, value_s, exponent, count, children)

    void check(const FieldProblem &problem) const; ///< as many children as its kind has
};

/// Recomputes the value of every inner node from its children; returns the root's.
Seconds evaluate(Term &term);

/// V1: the seconds that each distinct leaf name adds when leaves are switched on one after another in the
/// order they first appear in the tree. Bars are never negative and add up to the tree's value exactly
/// (telescoping).
struct Bar {
    std::string name;
    Seconds added_s;
};
std::vector<Bar> waterfall(const Term &term);

/// The name of the tallest bar; "" for an empty tree.
std::string limiter(const Term &term);

} // namespace convcast
