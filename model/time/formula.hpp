// Formulas that are written once and yield either a Term, with names and numbers to read, or Seconds, the
// value of that Term alone. Both do the same operations in the same order, so that they agree to the last
// bit. A ranking of thousands of settings needs no trees.
#pragma once

#include "model/time/term.hpp"

#include <boost/container/small_vector.hpp>
#include <fmt/format.h>

#include <concepts>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

namespace convcast::formula {

/// What a formula yields: Term for the tree, Seconds for its value alone.
template <class T>
concept Yield = std::is_same_v<T, Term> || std::is_same_v<T, Seconds>;

/// Children of a node. Up to six values need no memory of their own.
template <Yield T>
using List = std::conditional_t<std::is_same_v<T, Term>, std::vector<Term>,
                                boost::container::small_vector<Seconds, 6>>;

/// A list of these children, moved: an initializer list would copy each tree.
template <Yield T, std::same_as<T>... Rest> List<T> list_of(T first, Rest... others) {
    List<T> list;
    list.reserve(1 + sizeof...(others));
    list.push_back(std::move(first));
    (list.push_back(std::move(others)), ...);
    return list;
}

inline Seconds value_of(Seconds value) {
    return value;
}
inline Seconds value_of(const Term &term) {
    return term.value_s;
}

/// The value in seconds of an inner node, from those of its children in their order. `number` is the node's
/// exponent (pnorm) or count (the other kinds, see TermKind).
double combine(TermKind kind, double number, std::span<const Seconds> values);

/// The term with the values of its inner nodes, which a tree that was just built lacks. A value stays as it
/// is. Needed before value_of.
template <Yield T> T evaluated(T term) {
    if constexpr (std::is_same_v<T, Term>)
        evaluate(term);
    return term;
}

/// A number that no formula goes further into. `text` and `numbers`, as for fmt::format, are what the tree
/// says of the value, for example "65536 fma / 128 fma/clk / 1980 MHz".
template <Yield T = Term, class... Numbers>
T leaf(const char *name, Seconds value, fmt::format_string<const Numbers &...> text,
       const Numbers &...numbers) {
    if constexpr (std::is_same_v<T, Seconds>)
        return value;
    else
        return {.name = name, .formula = fmt::format(text, numbers...), .value_s = value};
}

/// An inner node; `number` is its exponent or count, `name` a literal or a kernel's std::string.
template <Yield T>
T inner(TermKind kind, const auto &name, List<T> children, std::optional<double> number = {}) {
    if constexpr (std::is_same_v<T, Seconds>)
        return Seconds(combine(kind, number.value_or(0.0), {children.data(), children.size()}));
    else
        return {.kind = kind,
                .name = name,
                .exponent = kind == TermKind::pnorm ? number : std::nullopt,
                .count = kind == TermKind::pnorm ? std::nullopt : number,
                .children = std::move(children)};
}

template <Yield T = Term> T sum(const auto &name, List<T> children) {
    return inner<T>(TermKind::sum, name, std::move(children));
}

template <Yield T = Term> T max_of(const char *name, List<T> children) {
    return inner<T>(TermKind::max, name, std::move(children));
}

template <Yield T = Term> T pnorm(const char *name, double exponent, List<T> children) {
    return inner<T>(TermKind::pnorm, name, std::move(children), exponent);
}

/// fill + (steps - 1) * step + drain
template <Yield T> T pipeline(const char *name, double steps, T fill, T step, T drain) {
    return inner<T>(TermKind::pipeline, name, list_of<T>(std::move(fill), std::move(step), std::move(drain)),
                    steps);
}

/// full_waves * wave + tail
template <Yield T> T schedule(const char *name, double full_waves, T wave, T tail) {
    return inner<T>(TermKind::schedule, name, list_of<T>(std::move(wave), std::move(tail)), full_waves);
}

template <Yield T> T scaled(const char *name, double factor, T term) {
    return evaluated(inner<T>(TermKind::scaled, name, list_of<T>(std::move(term)), factor));
}

/// F5: a closed queue of `jobs` CTAs or warps. The children are the time that each shared resource needs for
/// all jobs and, last, the time of one job alone.
template <Yield T = Term> T queue(const char *name, double jobs, List<T> services_and_alone) {
    return inner<T>(TermKind::queue, name, std::move(services_and_alone), jobs);
}

/// F5: the same of jobs that all take equally long (TermKind::alike).
template <Yield T> T alike(const char *name, double jobs, List<T> services_and_alone) {
    return inner<T>(TermKind::alike, name, std::move(services_and_alone), jobs);
}

} // namespace convcast::formula
