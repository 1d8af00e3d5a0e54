// JSON documents by events: what reads one is told of each value as it comes, with its line, and nothing
// holds the document as a whole. Syntax errors, duplicate keys, nesting beyond 64 and numbers outside double
// throw InputError with file and line. JsonValue is a small document as a tree, for what has no struct.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {

/// One thing that stands in a document: a value, a key, or a bracket.
struct JsonEvent {
    enum class Kind { null, boolean, integer, number, string, array, object, key, array_end, object_end };
    Kind kind = Kind::null;
    int line = 0; ///< in the source text, from 1; 0 of what was made in memory
    bool boolean = false;
    long long integer = 0;
    double number = 0.0;     ///< of a number that is no integer
    std::string_view text{}; ///< of a string or key, until the next event

    bool ends() const { return kind == Kind::array_end || kind == Kind::object_end; }
    bool begins() const { return kind == Kind::array || kind == Kind::object; }
    const char *name() const; ///< "object", "number", ...: for messages
};

/// Is told what stands in a document, in its order.
using JsonEvents = std::function<void(const JsonEvent &)>;

/// Tells `events` of a text whose first line has the number `first_line`. `file` only names the source in
/// errors.
void parse_json(std::string_view text, const std::string &file, const JsonEvents &events, int first_line = 1);

/// Writes a document: keys in the order given, doubles in their shortest exact form, null for NaN and
/// infinities, arrays of scalars on one line.
class JsonWriter {
  public:
    enum class Layout {
        lines,   ///< a line for each member and for each element that is no scalar, two spaces of indent
        one_line ///< all of it
    };
    /// `depth`: how far the first line is indented already.
    explicit JsonWriter(Layout layout = Layout::lines, std::size_t depth = 0)
        : layout_(layout), depth_(depth) {}

    void operator()(const JsonEvent &event);
    std::string take() { return std::move(out_); }

  private:
    struct Open {
        bool array;
        std::size_t values = 0; ///< that are written
    };
    void new_line();
    void begin_element();
    void write_scalars();

    std::string out_;
    std::vector<Open> open_;
    /// Of the innermost array that is open, as long as it has nothing else; they are not written yet.
    std::vector<std::string> scalars_;
    Layout layout_;
    std::size_t depth_;
};

struct JsonParts {
    std::vector<int> lines;         ///< of the deepest part of each path that the text has
    std::vector<std::string> texts; ///< what stands at the path, written anew
};
/// What a text has at the paths ("/cases/3/status") of `lines` and of `texts`.
JsonParts parts_of_json(std::string_view text, const std::string &file, const std::vector<std::string> &lines,
                        const std::vector<std::string> &texts = {}, int first_line = 1);

/// The text of a document's member "schema"; empty where it has none.
std::string schema_of_json(std::string_view text, const std::string &file);

class JsonValue;
using JsonMember = std::pair<std::string, JsonValue>;
using JsonArray = std::vector<JsonValue>;
using JsonObject = std::vector<JsonMember>; ///< in file order, keys unique

/// A null, boolean, integer, number, string, array or object.
class JsonValue {
  public:
    JsonValue() = default;
    explicit JsonValue(bool value) : held_(value) {}
    explicit JsonValue(long long value) : held_(value) {}
    explicit JsonValue(double value) : held_(value) {}
    explicit JsonValue(std::string_view text) : held_(std::string(text)) {}
    explicit JsonValue(const std::string &text) : held_(text) {}
    explicit JsonValue(const char *text) : held_(std::string(text)) {}
    explicit JsonValue(JsonArray array) : held_(std::move(array)) {}
    explicit JsonValue(JsonObject object) : held_(std::move(object)) {}

    const bool *boolean() const { return std::get_if<bool>(&held_); }
    const long long *integer() const { return std::get_if<long long>(&held_); }
    const double *number() const { return std::get_if<double>(&held_); } ///< not an integer
    std::optional<std::string_view> text() const;                        ///< of a string
    const JsonArray *array() const { return std::get_if<JsonArray>(&held_); }
    JsonArray *array() { return std::get_if<JsonArray>(&held_); }
    const JsonObject *object() const { return std::get_if<JsonObject>(&held_); }
    JsonObject *object() { return std::get_if<JsonObject>(&held_); }

    const JsonValue *find(std::string_view key) const; ///< nullptr if absent or not an object
    void tell(const JsonEvents &events) const;

  private:
    std::variant<std::nullptr_t, bool, long long, double, std::string, JsonArray, JsonObject> held_;
};

/// Makes a tree of what it is told.
class JsonTree {
  public:
    void operator()(const JsonEvent &event);
    JsonValue take() { return std::move(root_); }

  private:
    std::vector<JsonValue> open_;
    std::vector<std::string> keys_; ///< whose values are open
    JsonValue root_;
};

JsonValue parse_json(std::string_view text, const std::string &file);

/// As JsonWriter writes it, with a line break behind it.
std::string to_text(const JsonValue &value);

} // namespace convcast
