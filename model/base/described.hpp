// Makes the tables of model/base/document.hpp (one Type for each C++ type) for structs that Boost.Describe
// describes. They are made at compile time.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/document.hpp"
#include "model/base/param.hpp"
#include "model/base/units.hpp"

#include <boost/describe.hpp>
#include <boost/mp11.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
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

/// All public members of a struct, those of its bases first.
template <class T>
using Members =
    boost::describe::describe_members<T, boost::describe::mod_public | boost::describe::mod_inherited>;

/// The values that a number of type T may have if its struct has no range_of. Integers end at 2^53, up to
/// which a double knows every whole number; times at eleven days, frequencies at a terahertz.
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

/// How many elements a list or map may have: as many as take 512 MiB in memory, which is some 200,000 cases
/// of a run. It bounds the memory that a small text can ask for, such as a list of a million empty objects.
template <class T> constexpr std::size_t most_elements = (std::size_t{1} << 29) / sizeof(T);

/// The field of a member of T. Without `range` its range is that of its type, unless T has a range_of.
template <class T, auto pointer>
constexpr Field make_field(const char *name, std::optional<Range> range = {}) {
    using Held = std::decay_t<decltype(std::declval<T &>().*pointer)>;
    bool may_lack = IsOptional<Held>::value || IsVector<Held>::value || IsMap<Held>::value;
    if constexpr (requires { T::range_of(std::string_view()); })
        range = T::range_of(name);
    if constexpr (requires { T::has_default(std::string_view()); })
        may_lack = may_lack || T::has_default(name);
    return {name, [](void *object) -> void * { return &(static_cast<T *>(object)->*pointer); }, type_of<Held>,
            range, may_lack};
}

/// The fields of a struct.
template <class T, class List = Members<T>> struct Fields;
template <class T, template <class...> class List, class... Member> struct Fields<T, List<Member...>> {
    static constexpr std::array<Field, sizeof...(Member)> all = {
        make_field<T, Member::pointer>(Member::name)...};
};

/// The fields of a Param as documents have them.
template <class Q> struct ParamFields {
    using P = Param<Q>;
    static constexpr Type unit = {.form = Type::Form::unit, .unit = UnitOf<Q>::text};
    static constexpr std::array<Field, 7> all = {
        make_field<P, &P::value>("value", Range{-1e300, 1e300, true}), // the reader's check_param is stricter
        Field{"unit", [](void *param) { return param; }, []() -> const Type & { return unit; }, {}, false},
        make_field<P, &P::source>("source"),
        make_field<P, &P::by>("by"),
        make_field<P, &P::spread>("spread"),
        make_field<P, &P::interval>("interval"),
        make_field<P, &P::populations>("populations")};
};

template <class E, class List = boost::describe::describe_enumerators<E>> struct Choices;
template <class E, template <class...> class List, class... Enumerator>
struct Choices<E, List<Enumerator...>> {
    static constexpr std::array<Choice, sizeof...(Enumerator)> all = {
        Choice{Enumerator::name, static_cast<long long>(Enumerator::value)}...};
};

/// The table of a type: its form in JSON, and the functions that the form needs to reach into an object.
template <class T> constexpr Type make_type() {
    using Form = Type::Form;
    Type type{.form = Form::object, .cpp = &typeid(T)};
    if constexpr (std::is_same_v<T, bool>) {
        type.form = Form::boolean;
    } else if constexpr (std::is_same_v<T, std::string>) {
        type.form = Form::text;
    } else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
        type.form = std::is_enum_v<T> ? Form::choice : Form::integer;
        type.integer = [](const void *value) {
            return static_cast<long long>(*static_cast<const T *>(value));
        };
        type.set_integer = [](void *value, long long whole) {
            *static_cast<T *>(value) = static_cast<T>(whole);
            return std::is_enum_v<T> || static_cast<long long>(*static_cast<T *>(value)) == whole;
        };
        if constexpr (std::is_enum_v<T>)
            type.choices = Choices<T>::all;
        else
            type.range = usual_range<T>();
    } else if constexpr (std::is_floating_point_v<T>) {
        type.form = Form::number;
        type.range = usual_range<T>();
        type.number = [](const void *value) { return static_cast<double>(*static_cast<const T *>(value)); };
        type.set_number = [](void *value, double number) {
            *static_cast<T *>(value) = static_cast<T>(number);
        };
    } else if constexpr (IsQuantity<T>::value) {
        type.form = Form::number;
        type.range = usual_range<T>();
        type.number = [](const void *value) { return static_cast<const T *>(value)->value; };
        type.set_number = [](void *value, double number) { static_cast<T *>(value)->value = number; };
    } else if constexpr (IsOptional<T>::value) {
        type.form = Form::optional;
        type.element = type_of<typename T::value_type>;
        type.add = [](void *value, std::string_view, std::size_t) -> void * {
            return &static_cast<T *>(value)->emplace();
        };
        type.each = [](const void *value, Type::Use use, void *with) {
            if (const T &held = *static_cast<const T *>(value))
                use(with, nullptr, &*held);
        };
    } else if constexpr (IsVector<T>::value || IsArray<T>::value) {
        type.form = IsArray<T>::value ? Form::array : Form::list;
        type.element = type_of<typename T::value_type>;
        type.each = [](const void *value, Type::Use use, void *with) {
            for (const auto &element : *static_cast<const T *>(value))
                use(with, nullptr, &element);
        };
        if constexpr (IsVector<T>::value) {
            type.size = most_elements<typename T::value_type>;
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
        type.size = most_elements<typename T::value_type>;
        type.add = [](void *value, std::string_view key, std::size_t) -> void * {
            return &(*static_cast<T *>(value))[std::string(key)];
        };
        type.each = [](const void *value, Type::Use use, void *with) {
            for (const auto &[key, element] : *static_cast<const T *>(value))
                use(with, &key, &element);
        };
    } else {
        if constexpr (IsParam<T>::value) {
            type.form = Form::param;
            type.fields = ParamFields<decltype(T::value)>::all;
            type.unit = UnitOf<decltype(T::value)>::text;
            type.range = plausible<decltype(T::value)>();
        } else {
            type.fields = Fields<T>::all;
        }
        if constexpr (requires { T::former_members; })
            type.former = T::former_members;
        if constexpr (requires(const T &object, const FieldProblem &say) { object.check(say); })
            type.check = [](const void *object, const FieldProblem &say) {
                static_cast<const T *>(object)->check(say);
            };
    }
    return type;
}

template <class T> const Type &type_of() {
    static constexpr Type type = make_type<T>();
    return type;
}

} // namespace convcast::described
