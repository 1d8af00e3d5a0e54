// Documents of described structs: a struct is read from the events of a JSON text and told as such events.
// What that takes of a C++ type is a table, its Type. A document's own source file makes the table (it
// includes model/base/described.hpp); everybody else needs this header only.
//
// A member's name is its key; Quantity members are bare numbers in SI units whose name wears the unit
// (time_s); Param members are {value, unit, source, by, spread, ...}. Optional members, vectors and maps may
// be absent, and what has_default names; everything else must be there. Every number is held to a range, and
// a struct to its own rules (model/base/checked.hpp). All problems of a document are collected.
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
    void *(*in)(void *object);
    const Type &(*type)(); ///< a function, as a struct may hold itself
    std::optional<Range> range;
    bool may_lack;
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
    /// Is told of each element of a list or map, or of what an optional has; a map's have keys.
    using Use = void (*)(void *with, const std::string *key, const void *element);

    Form form = Form::object;
    const std::type_info *cpp = nullptr;
    Range range{};         ///< of numbers, where no struct says another
    const char *unit = ""; ///< of a Param
    std::span<const Field> fields{};
    std::span<const char *const> former{}; ///< members that earlier versions wrote
    std::span<const Choice> choices{};
    const Type &(*element)() = nullptr;
    std::size_t size = 0; ///< of an array; of a list or map, how many elements it may have

    bool (*set_integer)(void *, long long) = nullptr; ///< false where the type cannot hold it
    long long (*integer)(const void *) = nullptr;
    void (*set_number)(void *, double) = nullptr;
    double (*number)(const void *) = nullptr;
    /// The element of a key or of an index, which is made: that of a list is the next.
    void *(*add)(void *, std::string_view key, std::size_t index) = nullptr;
    void (*trim)(void *) = nullptr; ///< gives back the room of a list that is not used
    void (*each)(const void *, Use use, void *with) = nullptr;
    void (*check)(const void *, const FieldProblem &) = nullptr;

    bool may_lack() const { return form == Form::optional || form == Form::list || form == Form::map; }
};

/// Tells `events` of an object.
void tell(const Type &type, const void *object, const JsonEvents &events);

/// An object as a document; it must outlive this.
struct Written {
    const Type &type;
    const void *object;
};
template <class T> Written write(const T &value) {
    return {type_of<T>(), &value};
}
std::string to_text(const Written &written);
std::string to_line(const Written &written);

/// Reads an object from the events of a text.
class Reader {
  public:
    /// The object lies at `path` of the document.
    template <class T>
    Reader(T &out, std::string file, std::string path = "")
        : Reader(type_of<T>(), &out, std::move(file), std::move(path)) {}
    Reader(const Type &type, void *out, std::string file, std::string path);

    void operator()(const JsonEvent &event);

    /// Throws InputError unless the text has this schema.
    void require_schema(const std::string &expected) const;
    /// Whether the text has a schema at all.
    bool has_schema() const { return schema_.has_value(); }

    /// Something is wrong at a path of what was read; not where more has been said of it.
    void problem(const std::string &path, const std::string &message);

    /// What is wrong. The lines of some problems are found in `text`, which is what was read, from its
    /// `first_line` on.
    std::vector<InputProblem> problems(std::string_view text, int first_line = 1);

    /// Enough to say: what a file has wrong a million times is read no further.
    bool full() const { return problems_.size() >= 1000; }

  private:
    static constexpr std::size_t most_fields = 256;

    /// What is wrong at a path; its line is found at the end where it is 0.
    struct Problem {
        std::string path, message;
        int line;
    };
    /// An array or object that is open. One that nothing is read from has no type.
    struct Frame {
        const Type *type = nullptr;
        void *object = nullptr;
        std::optional<Range> range{}; ///< of the numbers in a list or map
        int line = 0;
        std::size_t values = 0;          ///< of a list, so far
        std::size_t problems_before = 0; ///< how many there were
        const Field *field = nullptr;    ///< whose key was the last
        std::string key{};               ///< of a map, or of a member that there is not
        std::bitset<most_fields> seen{}; ///< which fields
    };
    struct Target {
        const Type *type;
        void *object;
        std::optional<Range> range;
    };

    Target next();
    void take_key(const JsonEvent &event);
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

/// "FILE:12: /cases/3/status" for problems whose places are "FILE: /cases/3/status", as who reads them said
/// without lines. The text has what is at the path `above`.
std::vector<InputProblem> with_lines(std::vector<InputProblem> problems, std::string_view text,
                                     const std::string &file, int first_line = 1,
                                     const std::string &above = "");

/// Reads a document into `out`, as below; its schema is not looked at where `schema` is empty.
void read_document(const std::string &text, const std::string &file, const std::string &schema,
                   const Type &type, void *out);

/// A whole document. Its member "schema", where T has one, must be that of a T by default. Throws InputError.
template <class T> T read_document(const std::string &text, const std::string &file) {
    T out;
    std::string schema;
    if constexpr (requires { out.schema; })
        schema = out.schema;
    read_document(text, file, schema, type_of<T>(), &out);
    return out;
}

} // namespace convcast::described
