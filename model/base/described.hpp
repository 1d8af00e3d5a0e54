// Makes the tables of model/base/document.hpp of structs that Boost.Describe describes.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/document.hpp"
#include "model/base/param.hpp"
#include "model/base/units.hpp"

#include <boost/describe.hpp>
#include <boost/mp11.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace convcast::described {

template <class T> struct IsQuantity : std::false_type {};
template <int S, int B, int C, int F, int I> struct IsQuantity<Quantity<S, B, C, F, I>> : std::true_type {};
template <class T> struct IsParam : std::false_type {};
template <class Q> struct IsParam<Param<Q>> : std::true_type {};
template <class T> struct IsOptional : std::false_type {};
template <class T> struct IsOptional<std::optional<T>> : std::true_type {};
template <class T> struct IsVector : std::false_type {};
template <class T> struct IsVector<std::vector<T>> : std::true_type {};
template <class T> struct IsArray : std::false_type {};
template <class T, std::size_t N> struct IsArray<std::array<T, N>> : std::true_type {};
template <class T> struct IsMap : std::false_type {};
template <class T> struct IsMap<std::map<std::string, T>> : std::true_type {};

template <class T>
using Members =
    boost::describe::describe_members<T, boost::describe::mod_public | boost::describe::mod_inherited>;

/// What a number of a type may be where its struct says nothing else.
template <class T> constexpr Range usual_range() {
    if constexpr (std::is_same_v<T, Seconds>)
        return {0.0, 1e6};
    else if constexpr (std::is_same_v<T, Frequency>)
        return {0.0, 1e12};
    else if constexpr (std::is_integral_v<T>)
        return {0.0, std::min(9007199254740992.0, static_cast<double>(std::numeric_limits<T>::max()))};
    else
        return {};
}

/// Whether a member of T may be absent from a document and then keeps the value that T gives it.
template <class T> constexpr bool has_default([[maybe_unused]] std::string_view field) {
    if constexpr (requires { T::has_default(field); })
        return T::has_default(field);
    else
        return false;
}

template <class T, class Member> Field field_of(Member member) {
    using Held = std::decay_t<decltype(std::declval<T &>().*Member::pointer)>;
    std::optional<Range> range;
    if constexpr (requires { T::range_of(std::string_view()); })
        range = T::range_of(member.name);
    return {member.name, [](void *object) -> void * { return &(static_cast<T *>(object)->*Member::pointer); },
            type_of<Held>, range,
            IsOptional<Held>::value || IsVector<Held>::value || IsMap<Held>::value ||
                has_default<T>(member.name)};
}

/// The fields of a Param as documents have them.
template <class P> std::vector<Field> param_fields() {
    const auto field = []<class Held, Held P::*member>(const char *name, bool may_lack) {
        return Field{name, [](void *object) -> void * { return &(static_cast<P *>(object)->*member); },
                     type_of<Held>, std::nullopt, may_lack};
    };
    std::vector<Field> fields = {
        field.template operator()<decltype(P::value), &P::value>("value", false),
        {"unit", [](void *object) { return object; },
         []() -> const Type & {
             static const Type unit{Type::Form::unit, &typeid(P), {}, UnitOf<decltype(P::value)>::text};
             return unit;
         },
         std::nullopt, false},
        field.template operator()<Source, &P::source>("source", false),
        field.template operator()<std::string, &P::by>("by", false),
        field.template operator()<std::optional<Spread>, &P::spread>("spread", true),
        field.template operator()<std::optional<Interval>, &P::interval>("interval", true),
        field.template operator()<std::vector<double>, &P::populations>("populations", true)};
    fields.front().range = Range{-1e300, 1e300, true}; // Reader::check_param says more of it
    return fields;
}

/// What a list or map may hold at most: some 200,000 cases of a run. What is far smaller than its text in
/// JSON is not bounded by it.
template <class T> constexpr std::size_t most_elements() {
    return (std::size_t{1} << 29) / sizeof(T);
}

template <class T> Type make_type() {
    using Form = Type::Form;
    Type type{.form = Form::object, .cpp = &typeid(T)};
    if constexpr (std::is_same_v<T, bool>) {
        type.form = Form::boolean;
    } else if constexpr (std::is_same_v<T, std::string>) {
        type.form = Form::text;
    } else if constexpr (std::is_enum_v<T>) {
        type.form = Form::choice;
        boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>([&](auto enumerator) {
            type.choices.push_back({enumerator.name, static_cast<long long>(enumerator.value)});
        });
        type.integer = [](const void *value) {
            return static_cast<long long>(*static_cast<const T *>(value));
        };
        type.set_integer = [](void *value, long long chosen) {
            *static_cast<T *>(value) = static_cast<T>(chosen);
            return true;
        };
    } else if constexpr (std::is_integral_v<T>) {
        type.form = Form::integer;
        type.range = usual_range<T>();
        type.integer = [](const void *value) {
            return static_cast<long long>(*static_cast<const T *>(value));
        };
        type.set_integer = [](void *value, long long whole) {
            if (std::in_range<T>(whole))
                *static_cast<T *>(value) = static_cast<T>(whole);
            return std::in_range<T>(whole);
        };
    } else if constexpr (std::is_floating_point_v<T>) {
        type.form = Form::number;
        type.range = usual_range<T>();
        type.number = [](const void *value) { return static_cast<double>(*static_cast<const T *>(value)); };
        type.set_number = [](void *value, double number) {
            *static_cast<T *>(value) = static_cast<T>(number);
        };
    } else if constexpr (IsQuantity<T>::value) {
        type = type_of<double>();
        type.cpp = &typeid(T);
        type.range = usual_range<T>();
        type.number = [](const void *value) { return static_cast<const T *>(value)->value; };
        type.set_number = [](void *value, double number) { static_cast<T *>(value)->value = number; };
    } else if constexpr (IsOptional<T>::value) {
        type.form = Form::optional;
        type.element = type_of<typename T::value_type>;
        type.add = [](void *value, std::string_view, std::size_t) -> void * {
            return &static_cast<T *>(value)->emplace();
        };
        type.each = [](const void *value, const auto &use) {
            if (const T &held = *static_cast<const T *>(value))
                use(nullptr, &*held);
        };
    } else if constexpr (IsVector<T>::value || IsArray<T>::value) {
        type.form = IsArray<T>::value ? Form::array : Form::list;
        type.element = type_of<typename T::value_type>;
        type.each = [](const void *value, const auto &use) {
            for (const auto &element : *static_cast<const T *>(value))
                use(nullptr, &element);
        };
        if constexpr (IsVector<T>::value) {
            type.size = most_elements<typename T::value_type>();
            type.add = [](void *value, std::string_view, std::size_t) -> void * {
                return &static_cast<T *>(value)->emplace_back();
            };
            type.trim = [](void *value) { static_cast<T *>(value)->shrink_to_fit(); };
        } else {
            type.size = std::tuple_size_v<T>;
            type.add = [](void *value, std::string_view, std::size_t index) -> void * {
                return &(*static_cast<T *>(value))[index];
            };
        }
    } else if constexpr (IsMap<T>::value) {
        type.form = Form::map;
        type.element = type_of<typename T::mapped_type>;
        type.size = most_elements<std::pair<std::string, typename T::mapped_type>>();
        type.add = [](void *value, std::string_view key, std::size_t) -> void * {
            return &(*static_cast<T *>(value))[std::string(key)];
        };
        type.each = [](const void *value, const auto &use) {
            for (const auto &[key, element] : *static_cast<const T *>(value))
                use(&key, &element);
        };
    } else if constexpr (IsParam<T>::value) {
        type.form = Form::param;
        type.unit = UnitOf<decltype(T::value)>::text;
        type.range = plausible<decltype(T::value)>();
        type.fields = param_fields<T>();
    } else {
        boost::mp11::mp_for_each<Members<T>>(
            [&](auto member) { type.fields.push_back(field_of<T>(member)); });
        if constexpr (requires { T::former_members; })
            type.former.assign(T::former_members.begin(), T::former_members.end());
        if constexpr (requires(const T &object, const FieldProblem &say) { object.check(say); })
            type.check = [](const void *object, const FieldProblem &say) {
                static_cast<const T *>(object)->check(say);
            };
    }
    return type;
}

template <class T> const Type &type_of() {
    static const Type type = make_type<T>();
    return type;
}

} // namespace convcast::described
