// JSON documents by events: what reads one is told of each value as it comes, with its line, and nothing
// holds the document as a whole. Syntax errors, duplicate keys, nesting beyond 64 and numbers outside double
// throw InputError with file and line.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

/// A member of a document that is a text, "schema" for example; absent where it has none.
std::optional<std::string> member_of_json(std::string_view text, const std::string &file,
                                          std::string_view name);

} // namespace convcast
