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
    /// F5: one round of a closed queue of `count` jobs: CTAs of an SM, or warps of a scheduler. The last
    /// child is the time of one job that has the SM for itself. Each child before it is a resource that the
    /// jobs share, and the time that it needs for all of them. The round is no shorter than any resource
    /// needs, and no longer than all children together.
    queue,
    /// As `queue`, of jobs that all take equally long at a resource: a job that arrives finds the job in
    /// service half done, and so waits less.
    alike,
};
BOOST_DESCRIBE_ENUM(TermKind, leaf, sum, max, pnorm, pipeline, schedule, scaled, queue, alike)

/// A node of the forecast's arithmetic. The value of the root is the forecast time.
struct Term {
    TermKind kind = TermKind::leaf;
    std::string name;                 ///< "FMA", "shared memory", "DRAM latency", ...
    std::string formula{};            ///< of a leaf: "65536 fma / 128 fma/clk / 1980 MHz"
    Seconds value_s{};                ///< of the node with all below it
    std::optional<double> exponent{}; ///< pnorm
    /// pipeline: steps; schedule: full waves; scaled: factor; queue and alike: jobs, which may be a fraction
    std::optional<double> count{};
    std::vector<Term> children{};
    CONVCAST_MEMBERS(Term, kind, name, formula, value_s, exponent, count, children)

    void check(const FieldProblem &problem) const; ///< that it has as many children as its kind needs
};

/// Computes the value of every inner node from its children and stores it there; returns the root's.
Seconds evaluate(Term &term);

/// V1: what one name of leaves adds to the time.
struct Bar {
    std::string name;
    Seconds added_s;
};
/// A bar for each distinct name of leaves, in the order in which the names first appear in the tree. A bar is
/// the tree's value with the leaves up to this name less that without this name's, all later leaves being 0.
/// So bars are never negative and add up to the tree's value.
std::vector<Bar> waterfall(const Term &term);

/// The name of the tallest bar, of equal ones the first; "" for a tree without leaves.
std::string limiter(const Term &term);

} // namespace convcast
