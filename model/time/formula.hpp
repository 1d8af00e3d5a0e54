// Formulas that are written once and yield either their Term, with names and numbers to read, or nothing but
// its value: the same operations in the same order, so that both agree to the last bit. What ranks thousands
// of settings needs no trees.
#pragma once

#include "model/time/term.hpp"

#include <boost/container/small_vector.hpp>
#include <fmt/format.h>

#include <array>
#include <concepts>
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

/// With the values of all its nodes, which a tree has only now.
template <Yield T> T evaluated(T term) {
    if constexpr (std::is_same_v<T, Term>)
        evaluate(term);
    return term;
}

/// `text` and `numbers`, as for fmt::format, are what the tree says of the value.
template <Yield T, class... Numbers>
T leaf(const char *name, Seconds value, fmt::format_string<const Numbers &...> text,
       const Numbers &...numbers) {
    if constexpr (std::is_same_v<T, Seconds>)
        return value;
    else
        return convcast::leaf(name, value, fmt::format(text, numbers...));
}

/// Several nodes of one launch are named by its kernel, which is a std::string.
template <Yield T> T sum(const auto &name, List<T> children) {
    if constexpr (std::is_same_v<T, Seconds>)
        return Seconds(combined::sum({children.data(), children.size()}));
    else
        return convcast::sum(name, std::move(children));
}

template <Yield T> T max_of(const char *name, List<T> children) {
    if constexpr (std::is_same_v<T, Seconds>)
        return Seconds(combined::max({children.data(), children.size()}));
    else
        return convcast::max_of(name, std::move(children));
}

template <Yield T> T pnorm(const char *name, double exponent, List<T> children) {
    if constexpr (std::is_same_v<T, Seconds>)
        return Seconds(combined::pnorm(exponent, {children.data(), children.size()}));
    else
        return convcast::pnorm(name, exponent, std::move(children));
}

template <Yield T> T pipeline(const char *name, double steps, T fill, T step, T drain) {
    if constexpr (std::is_same_v<T, Seconds>)
        return Seconds(combined::pipeline(steps, fill.value, step.value, drain.value));
    else
        return convcast::pipeline(name, steps, std::move(fill), std::move(step), std::move(drain));
}

template <Yield T> T schedule(const char *name, double full_waves, T wave, T tail) {
    if constexpr (std::is_same_v<T, Seconds>)
        return Seconds(combined::schedule(full_waves, wave.value, tail.value));
    else
        return convcast::schedule(name, full_waves, std::move(wave), std::move(tail));
}

template <Yield T> T scaled(const char *name, double factor, T term) {
    if constexpr (std::is_same_v<T, Seconds>)
        return Seconds(factor * term.value);
    else
        return convcast::scaled(name, factor, std::move(term));
}

/// The last of `services_and_alone` is one alone, the others are services.
template <Yield T, std::same_as<T>... Rest>
T queue(const char *name, double jobs, T service, Rest... services_and_alone) {
    if constexpr (std::is_same_v<T, Seconds>) {
        const std::array values = {service, services_and_alone...};
        return Seconds(
            combined::queue(jobs, std::span(values).first(values.size() - 1), values.back().value));
    } else {
        return convcast::queue(name, jobs, list_of<T>(std::move(service), std::move(services_and_alone)...));
    }
}

template <Yield T, std::same_as<T>... Rest>
T alike(const char *name, double jobs, T service, Rest... services_and_alone) {
    if constexpr (std::is_same_v<T, Seconds>) {
        const std::array values = {service, services_and_alone...};
        return Seconds(
            combined::alike(jobs, std::span(values).first(values.size() - 1), values.back().value));
    } else {
        return convcast::alike(name, jobs, list_of<T>(std::move(service), std::move(services_and_alone)...));
    }
}

} // namespace convcast::formula
