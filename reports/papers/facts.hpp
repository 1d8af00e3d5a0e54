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

/// A number, a text, or nothing.
struct PaperValue {
    std::optional<double> number;
    std::optional<std::string> text;

    PaperValue() = default;
    PaperValue(double value) : number(value) {}
    PaperValue(std::string value) : text(std::move(value)) {}
    PaperValue(const std::optional<double> &value) : number(value) {}
    PaperValue(const std::optional<Seconds> &time)
        : number(time ? std::optional(time->value) : std::nullopt) {}

    bool there() const { return number || text; }
    bool so() const { return number && *number != 0.0; }
};

using PaperFacts = std::map<std::string, PaperValue>;

template <class T> void add_facts(PaperFacts &to, const T *from, const std::string &before = "");

/// Of an absent field (nullptr) the names are there, too.
template <class F> void add_fact(PaperFacts &to, const std::string &name, const F *field) {
    if constexpr (std::is_same_v<F, std::string>) {
        to[name] = field != nullptr ? PaperValue(*field) : PaperValue();
    } else if constexpr (std::is_arithmetic_v<F>) {
        to[name] = field != nullptr ? PaperValue(static_cast<double>(*field)) : PaperValue();
    } else if constexpr (boost::describe::has_describe_enumerators<F>::value) {
        to[name] = field != nullptr ? PaperValue(std::string(boost::describe::enum_to_string(*field, "?")))
                                    : PaperValue();
    } else if constexpr (described::IsQuantity<F>::value) {
        to[name] = field != nullptr ? PaperValue(field->value) : PaperValue();
    } else if constexpr (described::IsParam<F>::value) {
        to[name] = field != nullptr ? PaperValue(field->value.value) : PaperValue();
        const bool assumed = field != nullptr && field->source == Source::assumed;
        to[name + "_assumed"] = assumed ? PaperValue(1.0) : PaperValue();
    } else if constexpr (described::IsOptional<F>::value) {
        add_fact(to, name, field != nullptr && *field ? &**field : nullptr);
    } else if constexpr (boost::describe::has_describe_members<F>::value) {
        add_facts(to, field, name + ".");
    }
}

/// Every number, text and choice of a described struct by its name in documents, those of its parts as
/// "forecast.time_s". Of a Param besides whether it is assumed, as "dram_latency_assumed".
template <class T> void add_facts(PaperFacts &to, const T *from, const std::string &before) {
    boost::mp11::mp_for_each<described::Members<T>>([&](auto member) {
        using Field = std::decay_t<decltype(std::declval<const T &>().*member.pointer)>;
        add_fact<Field>(to, before + member.name, from != nullptr ? &(from->*member.pointer) : nullptr);
    });
}

template <class T> std::vector<std::string> names_of_facts() {
    PaperFacts facts;
    add_facts<T>(facts, nullptr);
    std::vector<std::string> names;
    for (const auto &[name, value] : facts)
        names.push_back(name);
    return names;
}

} // namespace convcast
