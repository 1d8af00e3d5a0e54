// JSON documents as events: the parser calls a function for each value as it comes, with its line, and
// nothing holds the document as a whole. Syntax errors, duplicate keys, nesting beyond 64 and numbers outside
// double throw InputError with file and line.
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
    int line = 0; ///< in the source text, from 1; 0 if the event was made in memory
    bool boolean = false;
    long long integer = 0;
    double number = 0.0;     ///< a number that is no integer
    std::string_view text{}; ///< a string or key; valid until the next event

    bool ends() const { return kind == Kind::array_end || kind == Kind::object_end; }
    bool begins() const { return kind == Kind::array || kind == Kind::object; }
    const char *name() const; ///< "object", "number", ...: for messages
};

/// The function that is called for each event of a document, in the order of the text.
using JsonEvents = std::function<void(const JsonEvent &)>;

/// Parses a text and calls `events` for each of its events. Its first line has the number `first_line`;
/// `file` only names the source in errors.
void parse_json(std::string_view text, const std::string &file, const JsonEvents &events, int first_line = 1);

/// Writes a document from its events: keys in the order given, doubles in their shortest exact form, null for
/// NaN and infinities, arrays that have only scalars on one line.
class JsonWriter {
  public:
    enum class Layout {
        lines,   ///< a line for each member and for each element that is no scalar, two spaces of indent
        one_line ///< all of it
    };
    /// `depth`: by how many levels of two spaces the text is indented.
    explicit JsonWriter(Layout layout = Layout::lines, std::size_t depth = 0)
        : layout_(layout), depth_(depth) {}

    void operator()(const JsonEvent &event);
    /// The text so far, which is taken out.
    std::string take() { return std::move(out_); }

  private:
    struct Open {
        bool array;
        std::size_t values = 0; ///< values of it that are written
    };
    void new_line();
    void begin_element();
    void write_scalars();

    std::string out_;
    std::vector<Open> open_; ///< arrays and objects that have begun and not ended, the innermost last
    /// The elements of the innermost array as long as all are scalars. They are not written yet: if nothing
    /// else comes, they go on one line.
    std::vector<std::string> scalars_;
    Layout layout_;
    std::size_t depth_;
};

struct JsonParts {
    std::vector<int> lines;         ///< for each path, the line of its deepest part that the text has
    std::vector<std::string> texts; ///< for each path, the value there, written anew; "" if there is none
};
/// Looks up paths ("/cases/3/status") in a text: `lines` those whose lines are wanted, `texts` those whose
/// values are. Throws as parse_json does, whose `file` and `first_line` these are.
JsonParts parts_of_json(std::string_view text, const std::string &file, const std::vector<std::string> &lines,
                        const std::vector<std::string> &texts = {}, int first_line = 1);

/// The value of a member of the document's root that is a string, "schema" for example; absent if there is
/// none. Throws as parse_json does.
std::optional<std::string> member_of_json(std::string_view text, const std::string &file,
                                          std::string_view name);

} // namespace convcast
