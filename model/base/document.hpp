// Reads and writes documents: structs as JSON. A struct is read from the events of a JSON text
// (model/base/json.hpp), and written as such events. What they know of a C++ type is a table, its Type, which
// the source file of a document makes (it includes model/base/described.hpp); others need this header only.
//
// A member's name is its key in JSON. Members that are a Quantity are bare numbers in SI units, and their
// names end in the unit (time_s). Members that are a Param are {value, unit, source, by, spread, ...}.
// Optionals, vectors and maps may be absent, and so may what has_default names; everything else must be
// there. Every number is held to a range, and every struct to its own rules (model/base/checked.hpp). All
// problems of a document are collected.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/errors.hpp"
#include "model/base/json.hpp"

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

namespace convcast::described {

/// A member of a struct.
struct Field {
    const char *name;
    void *(*in)(void *object);  ///< where the member lies in an object of the struct
    const Type &(*type)();      ///< a function, since a struct may hold itself
    std::optional<Range> range; ///< of the numbers in it; absent: its type's
    bool may_lack;              ///< whether a document may leave it out
};

/// A value of an enum.
struct Choice {
    const char *name;
    long long value;
};

/// What a C++ type is in JSON, and the functions that reach into an object of it.
struct Type {
    enum class Form {
        boolean,
        integer,
        number,
        text,
        choice,
        unit,
        optional,
        list,
        array,
        map,
        param,
        object
    };
    /// A callback for an element; `with` is the caller's own, `key` nullptr unless the element is a map's.
    using Use = void (*)(void *with, const std::string *key, const void *element);

    Form form = Form::object;
    const std::type_info *cpp = nullptr;
    Range range{};                         ///< of a number, unless its struct has another for the field
    const char *unit = "";                 ///< of a Param
    std::span<const Field> fields{};       ///< of an object or Param
    std::span<const char *const> former{}; ///< members that earlier versions wrote, which are ignored
    std::span<const Choice> choices{};
    const Type &(*element)() = nullptr; ///< of a list, array or map, or what an optional may hold
    std::size_t size = 0;               ///< of an array; of a list or map, how many elements it may have

    // Functions for an object, whose address comes first; nullptr where the form has no use for them.
    bool (*set_integer)(void *, long long) = nullptr; ///< false if the type cannot hold it
    long long (*integer)(const void *) = nullptr;
    void (*set_number)(void *, double) = nullptr;
    double (*number)(const void *) = nullptr;
    /// Makes an element and returns its address: of a map by the key, of an array by the index, of a list the
    /// next, of an optional its value.
    void *(*add)(void *, std::string_view key, std::size_t index) = nullptr;
    void (*trim)(void *) = nullptr; ///< frees the memory that a list has reserved and does not use
    void (*each)(const void *, Use use, void *with) = nullptr; ///< calls `use` for each element
    void (*check)(const void *, const FieldProblem &) = nullptr;

    bool may_lack() const { return form == Form::optional || form == Form::list || form == Form::map; }
};

/// Passes an object of this type to `events`, as the events of its JSON text.
void tell(const Type &type, const void *object, const JsonEvents &events);

/// An object to be written as a document; the object must outlive this.
struct Written {
    const Type &type;
    const void *object;
};
template <class T> Written write(const T &value) {
    return {type_of<T>(), &value};
}
/// The document as JSON of many lines; as JSON of one line. Both end with a line break.
std::string to_text(const Written &written);
std::string to_line(const Written &written);

/// Reads an object from the events of a text: is itself called with each event.
class Reader {
  public:
    /// Reads into `out`, which must outlive this. `file` is what messages call the text, and `path` where the
    /// object lies in the document ("/cases/3"); "" for all of it.
    template <class T>
    Reader(T &out, std::string file, std::string path = "")
        : Reader(type_of<T>(), &out, std::move(file), std::move(path)) {}
    Reader(const Type &type, void *out, std::string file, std::string path);

    void operator()(const JsonEvent &event);

    /// Throws InputError unless the text has this schema.
    void require_schema(const std::string &expected) const;
    /// Whether the text has a schema at all.
    bool has_schema() const { return schema_.has_value(); }

    /// Adds a problem at a path of the document, unless one is known at it or below it.
    void problem(const std::string &path, const std::string &message);

    /// All problems with their lines; call it once. Those that `problem` added are looked up in `text`, which
    /// is what was read and begins at `first_line` of the file.
    std::vector<InputProblem> problems(std::string_view text, int first_line = 1);

    /// Whether so many problems are known that no more are collected and nothing more is read: a file may
    /// have one thing wrong a million times.
    bool full() const { return problems_.size() >= 1000; }

  private:
    static constexpr std::size_t most_fields = 256; ///< of a struct; far more than any has

    struct Problem {
        std::string path, message;
        int line; ///< 0: not known yet; `problems` looks it up
    };
    /// An array or object that has begun and not ended. type is nullptr if its content is skipped.
    struct Frame {
        const Type *type = nullptr;
        void *object = nullptr;
        std::optional<Range> range{};    ///< of the numbers in a list or map
        int line = 0;                    ///< where it begins
        std::size_t values = 0;          ///< how many values of a list or map have come
        std::size_t problems_before = 0; ///< how many problems were known when it began
        const Field *field = nullptr;    ///< of the key that came last; nullptr if no field has it
        std::string key{}; ///< the key that came last, in a map, in the root or if no field has it
        std::bitset<most_fields> seen{}; ///< the fields that have come, by their places
    };
    /// Where a value is to be stored; type is nullptr if it is skipped.
    struct Target {
        const Type *type;
        void *object;
        std::optional<Range> range; ///< of numbers in it; absent: the type's
    };

    Target next();
    void take_key(const JsonEvent &event);
    /// Stores a value that is no array or object, or says what is wrong with it.
    void take_scalar(const JsonEvent &event, const Target &target);
    void begin(const JsonEvent &event, const Target &target);
    void end();
    void end_object(const Frame &frame);
    void wrong(const JsonEvent &event, const Type &type);
    std::string path() const;
    void say(int line, const std::string &path, const std::string &message);

    const Type &type_;
    void *out_;
    std::string file_, path_;
    std::optional<std::string> schema_;
    int line_ = 0; ///< of the text's first value
    std::vector<Frame> open_;
    std::vector<Problem> problems_;
};

/// Adds lines to places without one: "FILE: /cases/3" becomes "FILE:12: /cases/3", by the deepest part of the
/// path that `text` has. `text` is the part of the document at the path `above`; it begins at `first_line`.
std::vector<InputProblem> with_lines(std::vector<InputProblem> problems, std::string_view text,
                                     const std::string &file, int first_line = 1,
                                     const std::string &above = "");

/// Reads a document into `out`, an object of this type. Throws InputError with all problems, or if the
/// document's "schema" is not `schema`, which "" leaves unchecked.
void read_document(const std::string &text, const std::string &file, const std::string &schema,
                   const Type &type, void *out);

/// Reads a document. If T has a member `schema`, the document's must be the one that a default T has. Throws
/// InputError with all problems; `file` is what messages call the text.
template <class T> T read_document(const std::string &text, const std::string &file) {
    T out;
    std::string schema;
    if constexpr (requires { out.schema; })
        schema = out.schema;
    read_document(text, file, schema, type_of<T>(), &out);
    return out;
}

} // namespace convcast::described
