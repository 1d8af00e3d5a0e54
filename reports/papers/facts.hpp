// The fields of described structs as values by their names in documents.
#pragma once

#include "model/base/described.hpp"

#include <boost/describe.hpp>
#include <boost/mp11.hpp>

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace convcast {

/// What an expression comes to: a number, a text, or missing (neither). Quantities are numbers in SI units,
/// values of enums are texts, true is 1 and false 0. Implicit, so that fields and results convert to it.
struct PaperValue {
    std::optional<double> number;
    std::optional<std::string> text;

    PaperValue() = default;
    PaperValue(std::string value) : text(std::move(value)) {}
    PaperValue(const char *value) : text(value) {}
    template <class T>
    requires std::is_arithmetic_v<T> PaperValue(T value) : number(static_cast<double>(value)) {}
    template <class T>
    requires described::IsQuantity<T>::value PaperValue(T value) : number(value.value) {}
    template <class T>
    requires boost::describe::has_describe_enumerators<T>::value PaperValue(T choice)
        : text(boost::describe::enum_to_string(choice, "?")) {}
    template <class T> PaperValue(const std::optional<T> &held) {
        if (held)
            *this = PaperValue(*held);
    }

    bool has_value() const { return number || text; }
    bool is_true() const { return number && *number != 0.0; } ///< a text is not
};

using PaperFacts = std::map<std::string, PaperValue>;

template <class T> void add_facts(PaperFacts &to, const T *from, const std::string &before = "");

/// Adds one field of a struct as `name`, with all names that belong to it; their values are missing where the
/// field is absent (nullptr). Fields of other types than those below, as lists, are left out.
template <class F> void add_fact(PaperFacts &to, const std::string &name, const F *field) {
    const auto fact = [&](auto value) { return field != nullptr ? PaperValue(value(*field)) : PaperValue(); };
    if constexpr (described::IsOptional<F>::value) {
        add_fact(to, name, field != nullptr && *field ? &**field : nullptr);
    } else if constexpr (described::IsParam<F>::value) {
        to[name] = fact([](const F &param) { return param.value; });
        const bool assumed = field != nullptr && field->source == Source::assumed;
        to[name + "_assumed"] = assumed ? PaperValue(true) : PaperValue();
        const bool between = field != nullptr && field->interval.has_value();
        to[name + "_low"] = between ? PaperValue(field->interval->low) : PaperValue();
        to[name + "_high"] = between ? PaperValue(field->interval->high) : PaperValue();
    } else if constexpr (std::is_constructible_v<PaperValue, F>) {
        to[name] = fact([](const F &value) { return value; });
    } else if constexpr (boost::describe::has_describe_members<F>::value) {
        add_facts(to, field, name + ".");
    }
}

/// Adds every number, text and choice of a described struct by its name in documents, with `before` in front;
/// those of a struct in it as "forecast.time_s". A Param "dram_latency" also gives "dram_latency_assumed",
/// true or missing, and the ends of its interval, "dram_latency_low" and "dram_latency_high". With nullptr
/// all values are missing: that serves to know the names.
template <class T> void add_facts(PaperFacts &to, const T *from, const std::string &before) {
    boost::mp11::mp_for_each<described::Members<T>>([&](auto member) {
        using Field = std::decay_t<decltype(std::declval<const T &>().*member.pointer)>;
        add_fact<Field>(to, before + member.name, from != nullptr ? &(from->*member.pointer) : nullptr);
    });
}

} // namespace convcast
