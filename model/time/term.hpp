// The tree of a forecast: building, evaluating, and the waterfall whose bars add up to the time.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/describe.hpp"
#include "model/base/units.hpp"

#include <optional>
#include <span>
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
    queue,    ///< children services, alone: count jobs, each `alone` by itself, share what serves all of
              ///< them in each of the `services`
    alike,    ///< a queue whose jobs all take equally long to serve
};
BOOST_DESCRIBE_ENUM(TermKind, leaf, sum, max, pnorm, pipeline, schedule, scaled, queue, alike)

/// A node of the forecast's arithmetic. The time is the tree's value.
struct Term {
    TermKind kind = TermKind::leaf;
    std::string name;               ///< "FMA", "shared memory", "DRAM latency", ...
    std::string formula;            ///< with its numbers: "65536 fma / 128 fma/clk / 1980 MHz"
    Seconds value_s;                ///< of the whole node
    std::optional<double> exponent; ///< pnorm
    std::optional<double> count;    ///< pipeline: steps; schedule: full waves; scaled: factor
    std::vector<Term> children;
    CONVCAST_MEMBERS(Term, kind, name, formula, value_s, exponent, count, children)

    void check(const FieldProblem &problem) const; ///< as many children as its kind has
};

/// An inner node's value from its children's.
namespace combined {
double sum(std::span<const Seconds> values);
double max(std::span<const Seconds> values);
double pnorm(double exponent, std::span<const Seconds> values);
double pipeline(double steps, double fill, double step, double drain);
double schedule(double full_waves, double wave, double tail);
double queue(double jobs, std::span<const Seconds> services, double alone);
double alike(double jobs, std::span<const Seconds> services, double alone);
} // namespace combined

Term leaf(std::string name, Seconds value, std::string formula);
Term sum(std::string name, std::vector<Term> children);
Term max_of(std::string name, std::vector<Term> children);
Term pnorm(std::string name, double exponent, std::vector<Term> children);
/// fill + (steps - 1) * step + drain
Term pipeline(std::string name, double steps, Term fill, Term step, Term drain);
/// full_waves * wave + tail
Term schedule(std::string name, double full_waves, Term wave, Term tail);

/// factor * term
Term scaled(std::string name, double factor, Term term);

/// F5: one round of `jobs` in a closed queue. The last child is the time of one job alone; each child before
/// it is the time that a shared resource needs for all jobs. The value is no less than the longest of these
/// and no more than their sum.
Term queue(std::string name, double jobs, std::vector<Term> services_and_alone);

/// F5: the same of jobs that all take equally long to serve: one that comes finds the one before half done.
Term alike(std::string name, double jobs, std::vector<Term> services_and_alone);

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
