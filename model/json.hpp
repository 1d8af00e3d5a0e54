// JSON documents: a tree that remembers the line of every value, and its text form. Syntax errors, duplicate
// keys, nesting beyond 64 and numbers outside double throw InputError with file and line.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {

struct JsonValue;
using JsonArray = std::vector<JsonValue>;
using JsonObject = std::vector<std::pair<std::string, JsonValue>>; ///< in file order, keys unique

struct JsonValue {
    std::variant<std::nullptr_t, bool, long long, double, std::string, JsonArray, JsonObject> data;
    int line = 0; ///< 1-based line in the source text; 0 for a value made in memory

    JsonValue() : data(nullptr) {}
    template <class T> explicit JsonValue(T value) : data(std::move(value)) {}

    const JsonObject *object() const { return std::get_if<JsonObject>(&data); }
    const JsonArray *array() const { return std::get_if<JsonArray>(&data); }
    const JsonValue *find(const std::string &key) const; ///< nullptr if absent or not an object
    const char *kind() const;                            ///< "object", "number", ...: for messages
};

/// `file` only names the source in errors.
JsonValue parse_json(const std::string &text, const std::string &file);

/// Two-space indent, keys in the order given, doubles in their shortest exact form, null for NaN and infinities,
/// arrays of scalars on one line.
std::string to_text(const JsonValue &value);

} // namespace convcast
