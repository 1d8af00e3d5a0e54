// Arithmetic on Term trees: building, evaluating, and the waterfall whose bars add up to the time.
#pragma once

#include "model/run.hpp"

#include <span>

namespace convcast {

/// An inner node's value from its children's.
namespace combined {
double sum(std::span<const Seconds> values);
double max(std::span<const Seconds> values);
double pnorm(double exponent, std::span<const Seconds> values);
double pipeline(double steps, double fill, double step, double drain);
double schedule(double full_waves, double wave, double tail);
double queue(double jobs, std::span<const Seconds> services, double alone);
} // namespace combined

Term leaf(std::string name, Seconds value, std::string formula);
Term sum(std::string name, std::vector<Term> children);
Term max_of(std::string name, std::vector<Term> children);
Term pnorm(std::string name, double exponent, std::vector<Term> children);
/// fill + (steps - 1) * step + drain
Term pipeline(std::string name, double steps, Term fill, Term step, Term drain);
/// full_waves * wave + tail
Term schedule(std::string name, double full_waves, Term wave, Term tail);

/// `jobs` of a closed queue, one round of each (docs/model.md, F5): the resources that they share need so
/// long for all of them; the last child is one job alone. No less than the longest of these, no more than
/// their sum.
Term queue(std::string name, double jobs, std::vector<Term> services_and_alone);

/// Recomputes the value of every inner node from its children; returns the root's.
Seconds evaluate(Term &term);

/// The seconds each distinct leaf name adds when leaves are switched on one after another in the order they
/// first appear in the tree. Bars are never negative and add up to the tree's value exactly (telescoping).
struct Bar {
    std::string name;
    Seconds added_s;
};
std::vector<Bar> waterfall(const Term &term);

/// The name of the tallest bar; "" for an empty tree.
std::string limiter(const Term &term);

} // namespace convcast
