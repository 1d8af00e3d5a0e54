// Formulas that are written once and yield either their Term, with names and numbers to read, or nothing but
// its value: the same operations in the same order, so that both agree to the last bit. What ranks thousands
// of settings needs no trees.
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

/// Children of a node.
template <Yield T>
using List = std::conditional_t<std::is_same_v<T, Term>, std::vector<Term>,
                                boost::container::small_vector<Seconds, 6>>;

/// Those children, moved: an initializer list would copy each tree.
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

/// The value of an inner node of a kind from its children's; `number` is the node's exponent or count.
double combine(TermKind kind, double number, std::span<const Seconds> values);

/// With the values of all its nodes, which a tree has only now.
template <Yield T> T evaluated(T term) {
    if constexpr (std::is_same_v<T, Term>)
        evaluate(term);
    return term;
}

/// `text` and `numbers`, as for fmt::format, are what the tree says of the value.
template <Yield T = Term, class... Numbers>
T leaf(const char *name, Seconds value, fmt::format_string<const Numbers &...> text,
       const Numbers &...numbers) {
    if constexpr (std::is_same_v<T, Seconds>)
        return value;
    else
        return {.name = name, .formula = fmt::format(text, numbers...), .value_s = value};
}

/// An inner node; `number` is its exponent or count. Several nodes of one launch are named by its kernel,
/// which is a std::string.
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

template <Yield T> T pipeline(const char *name, double steps, T fill, T step, T drain) {
    return inner<T>(TermKind::pipeline, name, list_of<T>(std::move(fill), std::move(step), std::move(drain)),
                    steps);
}

template <Yield T> T schedule(const char *name, double full_waves, T wave, T tail) {
    return inner<T>(TermKind::schedule, name, list_of<T>(std::move(wave), std::move(tail)), full_waves);
}

template <Yield T> T scaled(const char *name, double factor, T term) {
    return evaluated(inner<T>(TermKind::scaled, name, list_of<T>(std::move(term)), factor));
}

template <Yield T = Term> T queue(const char *name, double jobs, List<T> services_and_alone) {
    return inner<T>(TermKind::queue, name, std::move(services_and_alone), jobs);
}

template <Yield T> T alike(const char *name, double jobs, List<T> services_and_alone) {
    return inner<T>(TermKind::alike, name, std::move(services_and_alone), jobs);
}

} // namespace convcast::formula
