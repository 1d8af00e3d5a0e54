// Described structs <-> JSON trees. A member's name is its key; Quantity members are bare numbers in SI units
// whose name wears the unit (time_s); Param members are {value, unit, source, by, spread, ...}. Optional
// members, vectors and maps may be absent, and what has_default names; everything else must be there. Every
// number is held to a range, and a struct to its own rules (model/base/checked.hpp). All problems of a
// document are collected, not only the first.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/errors.hpp"
#include "model/base/json.hpp"
#include "model/base/param.hpp"
#include "model/base/units.hpp"

#include <boost/describe.hpp>
#include <boost/mp11.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
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
            object.emplace_back(std::string_view(key), write(element));
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

/// "expected a number from 0 to 1e+06, got -1"; `what` is "a number" or "an integer".
std::string out_of_range(const char *what, double value, const Range &range);

class Reader {
  public:
    explicit Reader(std::string file) : file_(std::move(file)) {}

    /// `range` is of the numbers in `out`, if it has any that are no other struct's.
    template <class T>
    void read(const JsonValue &json, const std::string &path, T &out,
              const std::optional<Range> &range = {}) {
        if constexpr (std::is_same_v<T, bool>) {
            if (const bool *held = json.boolean())
                out = *held;
            else
                wrong(json, path, "true or false");
        } else if constexpr (std::is_same_v<T, std::string>) {
            if (const std::optional<std::string_view> held = json.text())
                out = *held;
            else
                wrong(json, path, "a string");
        } else if constexpr (std::is_enum_v<T>) {
            read_enum(json, path, out);
        } else if constexpr (std::is_integral_v<T>) {
            const long long *integer = json.integer();
            const Range allowed = range.value_or(usual_range<T>());
            if (integer == nullptr)
                return wrong(json, path, "an integer");
            if (!std::in_range<T>(*integer) || static_cast<double>(*integer) < allowed.low ||
                static_cast<double>(*integer) > allowed.high)
                return problem(json, path,
                               out_of_range("an integer", static_cast<double>(*integer), allowed));
            out = static_cast<T>(*integer);
        } else if constexpr (std::is_floating_point_v<T>) {
            read_number(json, path, out, range.value_or(usual_range<T>()));
        } else if constexpr (IsQuantity<T>::value) {
            read_number(json, path, out.value, range.value_or(usual_range<T>()));
        } else if constexpr (IsParam<T>::value) {
            read_param(json, path, out, range);
        } else if constexpr (IsOptional<T>::value) {
            read(json, path, out.emplace(), range);
        } else if constexpr (IsVector<T>::value) {
            read_vector(json, path, out, range);
        } else if constexpr (IsArray<T>::value) {
            const JsonArray *array = json.array();
            if (array == nullptr || array->size() != out.size())
                return wrong(json, path, "an array of " + std::to_string(out.size()));
            for (std::size_t i = 0; i < array->size(); ++i)
                read((*array)[i], path + "/" + std::to_string(i), out[i], range);
        } else if constexpr (IsMap<T>::value) {
            const JsonObject *object = json.object();
            if (object == nullptr)
                return wrong(json, path, "an object");
            for (const JsonMember &member : *object)
                if (!full())
                    read(member.value, path + "/" + shortened(member.key()), out[std::string(member.key())],
                         range);
        } else {
            read_struct(json, path, out);
        }
    }

    void problem(const JsonValue &json, const std::string &path, const std::string &message) {
        if (!full())
            problems_.push_back(
                {file_ + ":" + std::to_string(json.line()) + ": " + (path.empty() ? "/" : path), message});
    }

    /// What was wrong so far, for a caller that goes on all the same.
    std::vector<InputProblem> take_problems() { return std::exchange(problems_, {}); }

    /// Throws InputError if anything was wrong.
    void finish() {
        if (!problems_.empty())
            throw InputError(std::move(problems_));
    }

    /// Enough to say: what a file has wrong a million times is read no further.
    bool full() const { return problems_.size() >= 1000; }

  private:
    void wrong(const JsonValue &json, const std::string &path, const std::string &expected) {
        problem(json, path, "expected " + expected + ", got " + json.kind());
    }

    template <class T>
    void read_number(const JsonValue &json, const std::string &path, T &out, const Range &range) {
        if (const long long *integer = json.integer())
            out = static_cast<T>(*integer);
        else if (const double *number = json.number())
            out = static_cast<T>(*number);
        else if (json.is_null() && range.unknown_allowed) {
            out = std::numeric_limits<T>::quiet_NaN();
            return;
        } else
            return wrong(json, path, "a number");
        if (!(out >= range.low && out <= range.high))
            problem(json, path, out_of_range("a number", static_cast<double>(out), range));
    }

    template <class T>
    void read_vector(const JsonValue &json, const std::string &path, std::vector<T> &out,
                     const std::optional<Range> &range) {
        // Some 200,000 cases of a run; what is far smaller than its text in JSON is not bounded by it.
        constexpr std::size_t most = (std::size_t{1} << 29) / sizeof(T);
        const JsonArray *array = json.array();
        if (array == nullptr)
            return wrong(json, path, "an array");
        if (array->size() > most)
            return problem(json, path,
                           "expected an array of at most " + std::to_string(most) + ", got " +
                               std::to_string(array->size()));
        if constexpr (std::is_arithmetic_v<T>)
            out.reserve(array->size());
        for (std::size_t i = 0; i < array->size() && !full(); ++i)
            read((*array)[i], path + "/" + std::to_string(i), out.emplace_back(), range);
        out.shrink_to_fit();
    }

    template <class E> void read_enum(const JsonValue &json, const std::string &path, E &out) {
        std::vector<std::string> names;
        boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>(
            [&](auto enumerator) { names.emplace_back(enumerator.name); });
        if (!json.text())
            return wrong(json, path, "one of " + join(names));
        const std::string text(*json.text());
        if (!boost::describe::enum_from_string(text.c_str(), out))
            problem(json, path,
                    "expected one of " + join(names) + ", got \"" + shortened(text) + "\"" +
                        did_you_mean(text, names));
    }

    void refuse_unknown(const JsonObject &object, const std::string &path,
                        const std::vector<std::string> &known) {
        for (const JsonMember &member : object) {
            const std::string_view key = member.key();
            if (full())
                return;
            if (std::find(known.begin(), known.end(), key) == known.end() && !key.starts_with("x_"))
                problem(member.value, path + "/" + shortened(key),
                        "unknown field" + did_you_mean(std::string(key.substr(0, longest_name)), known));
        }
    }

    template <class Q>
    void read_param(const JsonValue &json, const std::string &path, Param<Q> &out,
                    const std::optional<Range> &range) {
        const JsonObject *object = json.object();
        if (object == nullptr)
            return wrong(json, path,
                         "an object like {\"value\": 1, \"unit\": \"" + std::string(UnitOf<Q>::text) +
                             "\", \"source\": \"measured\", \"by\": \"probe\"}");
        refuse_unknown(*object, path, {"value", "unit", "source", "by", "spread", "interval", "populations"});
        std::string unit;
        if (required(json, path, "unit", unit) && unit != UnitOf<Q>::text)
            problem(*json.find("unit"), path + "/unit",
                    "expected unit \"" + std::string(UnitOf<Q>::text) + "\", got \"" + shortened(unit) +
                        "\"");
        constexpr Range any{-1e300, 1e300, true};
        bool known = required(json, path, "value", out.value, any);
        if (known && !(out.value.value > 0.0)) {
            known = false;
            problem(*json.find("value"), path + "/value",
                    "expected a number above zero; a value that is not known is left out and named in "
                    "\"missing\"");
        } else if (const Range allowed = range.value_or(plausible<Q>());
                   known && !(out.value.value >= allowed.low && out.value.value <= allowed.high)) {
            known = false;
            problem(*json.find("value"), path + "/value",
                    out_of_range("a number", out.value.value, allowed) + " " + UnitOf<Q>::text);
        }
        required(json, path, "source", out.source);
        required(json, path, "by", out.by);
        if (const JsonValue *spread = json.find("spread"))
            read(*spread, path + "/spread", out.spread);
        if (const JsonValue *interval = json.find("interval")) {
            const std::size_t before = problems_.size();
            read(*interval, path + "/interval", out.interval);
            constexpr double rounded = 1e-9; // both may have been written with fewer digits
            if (known && problems_.size() == before &&
                !(out.value.value >= out.interval->low - rounded * out.value.value &&
                  out.value.value <= out.interval->high + rounded * out.value.value))
                problem(*interval, path + "/interval",
                        "expected an interval that holds the value, for example \"low\": " +
                            written(out.value.value) + ", \"high\": " + written(out.value.value));
        }
        if (const JsonValue *populations = json.find("populations")) {
            read(*populations, path + "/populations", out.populations);
            if (std::adjacent_find(out.populations.begin(), out.populations.end(), std::greater_equal<>()) !=
                out.populations.end())
                problem(*populations, path + "/populations",
                        "expected medians in ascending order, for example [221, 263]");
        }
    }

    static std::string written(double value) {
        std::string text = to_text(JsonValue(value));
        text.pop_back(); // the line break
        return text;
    }

    template <class T>
    bool required(const JsonValue &json, const std::string &path, const char *key, T &out,
                  const std::optional<Range> &range = {}) {
        const JsonValue *field = json.find(key);
        if (field == nullptr) {
            problem(json, path, "missing required field \"" + std::string(key) + "\"");
            return false;
        }
        const std::size_t before = problems_.size();
        read(*field, path + "/" + key, out, range);
        return problems_.size() == before;
    }

    template <class T> void read_struct(const JsonValue &json, const std::string &path, T &out) {
        if (json.object() == nullptr)
            return wrong(json, path, "an object");
        const std::size_t before = problems_.size();
        std::vector<std::string> known;
        boost::mp11::mp_for_each<Members<T>>([&](auto member) {
            known.emplace_back(member.name);
            auto &field = out.*member.pointer;
            using Field = std::decay_t<decltype(field)>;
            std::optional<Range> range;
            if constexpr (requires { T::range_of(std::string_view()); })
                range = T::range_of(member.name);
            if constexpr (IsOptional<Field>::value || IsVector<Field>::value || IsMap<Field>::value) {
                if (const JsonValue *value = json.find(member.name))
                    read(*value, path + "/" + member.name, field, range);
            } else if (!has_default<T>(member.name) || json.find(member.name) != nullptr) {
                required(json, path, member.name, field, range);
            }
        });
        if constexpr (requires { T::former_members; }) // of documents that earlier versions wrote
            known.insert(known.end(), T::former_members.begin(), T::former_members.end());
        refuse_unknown(*json.object(), path, known);
        if constexpr (requires(const FieldProblem &say) { out.check(say); })
            out.check([&](const std::string &field, const std::string &message) {
                report(json, path, before, field, message);
            });
    }

    /// What a struct's own check says, at the line of the deepest part of `field` that is there: of a list or
    /// map that is absent, which is an empty one, the struct's. Not of a field that is missing or was not
    /// read, which has been said.
    void report(const JsonValue &json, const std::string &path, std::size_t before, const std::string &field,
                const std::string &message) {
        const JsonValue *at = &json;
        const std::string its_path = field.empty() ? path : path + "/" + field;
        for (std::size_t begin = 0; !field.empty() && begin <= field.size();) {
            const std::size_t end = std::min(field.find('/', begin), field.size());
            const std::string part = field.substr(begin, end - begin);
            const JsonValue *next = at->find(part);
            if (const JsonArray *array = at->array()) {
                std::size_t index = array->size();
                std::from_chars(part.data(), part.data() + part.size(), index);
                next = index < array->size() ? &(*array)[index] : nullptr;
            }
            if (next == nullptr && begin == 0 &&
                std::any_of(problems_.begin() + static_cast<std::ptrdiff_t>(before), problems_.end(),
                            [&](const InputProblem &earlier) {
                                return earlier.message == "missing required field \"" + part + "\"";
                            }))
                return;
            at = next == nullptr ? at : next;
            begin = end + 1;
        }
        const bool said =
            !field.empty() && std::any_of(problems_.begin() + static_cast<std::ptrdiff_t>(before),
                                          problems_.end(), [&](const InputProblem &earlier) {
                                              return earlier.place.find(": " + its_path) != std::string::npos;
                                          });
        if (!said)
            problem(*at, its_path, message);
    }

    static constexpr std::size_t longest_name = 100;
    std::string file_;
    std::vector<InputProblem> problems_;
};

/// "run.json:12: /cases/3/status" for a path of a document's text; the line is that of the deepest part of
/// the path that is there.
std::string place_in(const JsonValue &document, const std::string &file, const std::string &path);

/// The same for problems whose places are "FILE: /path", as who reads them said without lines.
std::vector<InputProblem> with_lines(std::vector<InputProblem> problems, const std::string &text,
                                     const std::string &file);

/// What to do with a document whose schema is not the one expected: of another version of convcast, or of
/// another kind.
inline std::string advice_on_schema(std::string_view got, std::string_view expected) {
    const auto kind = [](std::string_view schema) { return schema.substr(0, schema.rfind('/')); };
    if (kind(got) != kind(expected))
        return "is this the right kind of file?";
    const std::string_view its = kind(expected);
    const std::string_view verb = its == "convcast/facts"         ? "facts"
                                  : its == "convcast/calibration" ? "fit"
                                  : its == "convcast/profile"     ? "measure"
                                                                  : "";
    return "another version of convcast wrote it" +
           (verb.empty() ? std::string{} : "; `convcast " + std::string(verb) + "` writes it anew");
}

/// Throws InputError unless the document's "schema" member equals `schema`.
inline void require_schema(const JsonValue &json, const std::string &file, const std::string &schema) {
    const JsonValue *found = json.find("schema");
    const std::optional<std::string_view> name = found == nullptr ? std::nullopt : found->text();
    if (name != schema)
        throw InputError(file + ":" + std::to_string(json.line()) + ": /schema",
                         "expected \"schema\": \"" + schema + "\", got " +
                             (name ? "\"" + shortened(*name) + "\"" : std::string("none")) + "; " +
                             advice_on_schema(name.value_or(""), schema));
}

/// Parses and reads a whole document whose "schema" member must equal `schema`; throws InputError.
template <class T>
T read_document(const std::string &text, const std::string &file, const std::string &schema) {
    const JsonValue json = parse_json(text, file);
    require_schema(json, file, schema);
    Reader reader(file);
    T out;
    reader.read(json, "", out);
    reader.finish();
    return out;
}

} // namespace convcast::described
