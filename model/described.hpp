// Described structs <-> JSON trees. A member's name is its key; Quantity members are bare numbers in SI units whose
// name wears the unit (time_s); Param members are {value, unit, source, by, spread, ...}. Optional members, vectors and
// maps may be absent; everything else must be there. All problems of a document are collected, not only the first.
#pragma once

#include "model/errors.hpp"
#include "model/json.hpp"
#include "model/profile.hpp"
#include "model/units.hpp"

#include <boost/describe.hpp>
#include <boost/mp11.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

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

template <class T> using Members = boost::describe::describe_members<T, boost::describe::mod_public | boost::describe::mod_inherited>;

// ---- writing ----

template <class T> JsonValue write(const T &value) {
    if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) {
        return JsonValue(value);
    } else if constexpr (std::is_enum_v<T>) {
        return JsonValue(std::string(boost::describe::enum_to_string(value, "?")));
    } else if constexpr (std::is_integral_v<T>) {
        return JsonValue(static_cast<long long>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
        const bool whole = value == std::floor(value) && std::abs(value) < 9.0e15;
        return whole ? JsonValue(static_cast<long long>(value)) : JsonValue(static_cast<double>(value));
    } else if constexpr (IsQuantity<T>::value) {
        return write(value.value);
    } else if constexpr (IsParam<T>::value) {
        JsonObject object;
        object.emplace_back("value", write(value.value));
        object.emplace_back("unit", JsonValue(std::string(UnitOf<decltype(value.value)>::text)));
        object.emplace_back("source", write(value.source));
        object.emplace_back("by", JsonValue(value.by));
        if (value.spread)
            object.emplace_back("spread", write(*value.spread));
        if (value.interval)
            object.emplace_back("interval", write(*value.interval));
        if (!value.populations.empty())
            object.emplace_back("populations", write(value.populations));
        return JsonValue(std::move(object));
    } else if constexpr (IsVector<T>::value || IsArray<T>::value) {
        JsonArray array;
        for (const auto &element : value)
            array.push_back(write(element));
        return JsonValue(std::move(array));
    } else if constexpr (IsMap<T>::value) {
        JsonObject object;
        for (const auto &[key, element] : value)
            object.emplace_back(key, write(element));
        return JsonValue(std::move(object));
    } else {
        JsonObject object;
        boost::mp11::mp_for_each<Members<T>>([&](auto member) {
            const auto &field = value.*member.pointer;
            using Field = std::decay_t<decltype(field)>;
            if constexpr (IsOptional<Field>::value) {
                if (field)
                    object.emplace_back(member.name, write(*field));
            } else if constexpr (IsVector<Field>::value || IsMap<Field>::value) {
                if (!field.empty())
                    object.emplace_back(member.name, write(field));
            } else {
                object.emplace_back(member.name, write(field));
            }
        });
        return JsonValue(std::move(object));
    }
}

// ---- reading ----

class Reader {
  public:
    explicit Reader(std::string file) : file_(std::move(file)) {}

    template <class T> void read(const JsonValue &json, const std::string &path, T &out) {
        if constexpr (std::is_same_v<T, bool>) {
            take<bool>(json, path, out, "true or false");
        } else if constexpr (std::is_same_v<T, std::string>) {
            take<std::string>(json, path, out, "a string");
        } else if constexpr (std::is_enum_v<T>) {
            read_enum(json, path, out);
        } else if constexpr (std::is_integral_v<T>) {
            const auto *integer = std::get_if<long long>(&json.data);
            if (integer == nullptr)
                return wrong(json, path, "an integer");
            if (!std::in_range<T>(*integer))
                return problem(json, path, "the integer " + std::to_string(*integer) + " is out of range");
            out = static_cast<T>(*integer);
        } else if constexpr (std::is_floating_point_v<T>) {
            if (const auto *integer = std::get_if<long long>(&json.data))
                out = static_cast<T>(*integer);
            else if (const auto *number = std::get_if<double>(&json.data))
                out = static_cast<T>(*number);
            else if (std::holds_alternative<std::nullptr_t>(json.data))
                out = std::numeric_limits<T>::quiet_NaN(); // how a NaN is written
            else
                wrong(json, path, "a number");
        } else if constexpr (IsQuantity<T>::value) {
            read(json, path, out.value);
        } else if constexpr (IsParam<T>::value) {
            read_param(json, path, out);
        } else if constexpr (IsOptional<T>::value) {
            read(json, path, out.emplace());
        } else if constexpr (IsVector<T>::value) {
            const JsonArray *array = json.array();
            if (array == nullptr)
                return wrong(json, path, "an array");
            out.resize(array->size());
            for (std::size_t i = 0; i < array->size(); ++i)
                read((*array)[i], path + "/" + std::to_string(i), out[i]);
        } else if constexpr (IsArray<T>::value) {
            const JsonArray *array = json.array();
            if (array == nullptr || array->size() != out.size())
                return wrong(json, path, "an array of " + std::to_string(out.size()));
            for (std::size_t i = 0; i < array->size(); ++i)
                read((*array)[i], path + "/" + std::to_string(i), out[i]);
        } else if constexpr (IsMap<T>::value) {
            const JsonObject *object = json.object();
            if (object == nullptr)
                return wrong(json, path, "an object");
            for (const auto &[key, element] : *object)
                read(element, path + "/" + key, out[key]);
        } else {
            read_struct(json, path, out);
        }
    }

    void problem(const JsonValue &json, const std::string &path, const std::string &message) {
        problems_.push_back({file_ + ":" + std::to_string(json.line) + ": " + (path.empty() ? "/" : path), message});
    }

    /// What was wrong so far, for a caller that goes on all the same.
    std::vector<InputProblem> take_problems() { return std::exchange(problems_, {}); }

    /// Throws InputError if anything was wrong.
    void finish() {
        if (!problems_.empty())
            throw InputError(std::move(problems_));
    }

  private:
    void wrong(const JsonValue &json, const std::string &path, const std::string &expected) {
        problem(json, path, "expected " + expected + ", got " + json.kind());
    }

    template <class Held, class T>
    void take(const JsonValue &json, const std::string &path, T &out, const char *expected) {
        if (const Held *held = std::get_if<Held>(&json.data))
            out = *held;
        else
            wrong(json, path, expected);
    }

    template <class E> void read_enum(const JsonValue &json, const std::string &path, E &out) {
        std::vector<std::string> names;
        boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>(
            [&](auto enumerator) { names.emplace_back(enumerator.name); });
        const auto *text = std::get_if<std::string>(&json.data);
        if (text == nullptr)
            return wrong(json, path, "one of " + join(names));
        if (!boost::describe::enum_from_string(text->c_str(), out))
            problem(json, path,
                    "expected one of " + join(names) + ", got \"" + *text + "\"" + did_you_mean(*text, names));
    }

    template <class Q> void read_param(const JsonValue &json, const std::string &path, Param<Q> &out) {
        if (json.object() == nullptr)
            return wrong(json, path, "an object like {\"value\": 1, \"unit\": \"" + std::string(UnitOf<Q>::text) +
                                         "\", \"source\": \"measured\", \"by\": \"probe\"}");
        const std::vector<std::string> known = {"value", "unit", "source", "by", "spread",
                                                 "interval", "populations"};
        for (const auto &[key, element] : *json.object())
            if (std::find(known.begin(), known.end(), key) == known.end() && !key.starts_with("x_"))
                problem(element, path + "/" + key, "unknown field" + did_you_mean(key, known));
        std::string unit;
        if (required(json, path, "unit", unit) && unit != UnitOf<Q>::text)
            problem(*json.find("unit"), path + "/unit",
                    "expected unit \"" + std::string(UnitOf<Q>::text) + "\", got \"" + unit + "\"");
        if (required(json, path, "value", out.value) && !(out.value.value > 0.0 && std::isfinite(out.value.value)))
            problem(*json.find("value"), path + "/value",
                    "expected a number above zero; a value that is not known is left out and named in \"missing\"");
        required(json, path, "source", out.source);
        required(json, path, "by", out.by);
        if (const JsonValue *spread = json.find("spread"))
            read(*spread, path + "/spread", out.spread);
        if (const JsonValue *interval = json.find("interval"))
            read(*interval, path + "/interval", out.interval);
        if (const JsonValue *populations = json.find("populations"))
            read(*populations, path + "/populations", out.populations);
    }

    template <class T>
    bool required(const JsonValue &json, const std::string &path, const std::string &key, T &out) {
        const JsonValue *field = json.find(key);
        if (field == nullptr) {
            problem(json, path, "missing required field \"" + key + "\"");
            return false;
        }
        const std::size_t before = problems_.size();
        read(*field, path + "/" + key, out);
        return problems_.size() == before;
    }

    template <class T> void read_struct(const JsonValue &json, const std::string &path, T &out) {
        if (json.object() == nullptr)
            return wrong(json, path, "an object");
        std::vector<std::string> known;
        boost::mp11::mp_for_each<Members<T>>([&](auto member) {
            known.emplace_back(member.name);
            auto &field = out.*member.pointer;
            using Field = std::decay_t<decltype(field)>;
            if constexpr (IsOptional<Field>::value || IsVector<Field>::value || IsMap<Field>::value) {
                if (const JsonValue *value = json.find(member.name))
                    read(*value, path + "/" + member.name, field);
            } else {
                required(json, path, member.name, field);
            }
        });
        for (const auto &[key, element] : *json.object())
            if (std::find(known.begin(), known.end(), key) == known.end() && !key.starts_with("x_"))
                problem(element, path + "/" + key, "unknown field" + did_you_mean(key, known));
    }

    std::string file_;
    std::vector<InputProblem> problems_;
};

/// Throws InputError unless the document's "schema" member equals `schema`.
inline void require_schema(const JsonValue &json, const std::string &file, const std::string &schema) {
    const JsonValue *found = json.find("schema");
    const std::string *name = found == nullptr ? nullptr : std::get_if<std::string>(&found->data);
    if (name == nullptr || *name != schema)
        throw InputError(file + ":" + std::to_string(json.line) + ": /schema",
                         "expected \"schema\": \"" + schema + "\", got " +
                             (name == nullptr ? std::string("none") : "\"" + *name + "\"") +
                             "; is this the right kind of file?");
}

/// Parses and reads a whole document whose "schema" member must equal `schema`; throws InputError.
template <class T> T read_document(const std::string &text, const std::string &file, const std::string &schema) {
    const JsonValue json = parse_json(text, file);
    require_schema(json, file, schema);
    Reader reader(file);
    T out;
    reader.read(json, "", out);
    reader.finish();
    return out;
}

} // namespace convcast::described
