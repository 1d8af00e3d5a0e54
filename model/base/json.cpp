#include "model/base/json.hpp"

#include "model/base/errors.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr int max_depth = 64; // far above our documents (a term tree is the deepest), far below the stack

/// Where the parser is in the text.
struct Cursor {
    int line;     ///< of the last character that was not white space
    int newlines; ///< line breaks so far, with those in front of the text
};

/// Feeds characters to the parser and keeps its cursor. nlohmann's SAX events carry no position. But a
/// token's last character has always been read when its event comes, and at most one character more; that is
/// white space or punctuation, and white space does not move the line.
class LineIterator {
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char *;
    using reference = const char &;

    LineIterator() = default;
    LineIterator(Cursor *cursor, const char *at) : cursor_(cursor), at_(at) {}
    reference operator*() const { return *at_; }
    LineIterator &operator++() {
        if (*at_ == '\n')
            ++cursor_->newlines;
        else if (*at_ != ' ' && *at_ != '\t' && *at_ != '\r')
            cursor_->line = 1 + cursor_->newlines;
        ++at_;
        return *this;
    }
    LineIterator operator++(int) {
        LineIterator old = *this;
        ++*this;
        return old;
    }
    bool operator==(const LineIterator &other) const { return at_ == other.at_; }

  private:
    Cursor *cursor_ = nullptr;
    const char *at_ = nullptr;
};

/// Passes the library's events on as ours, and throws InputError for what the library accepts: duplicate
/// keys, deep nesting and too many values.
class SaxEvents : public nlohmann::json_sax<nlohmann::json> {
  public:
    SaxEvents(const Cursor &cursor, std::string file, const JsonEvents &events)
        : cursor_(cursor), file_(std::move(file)), events_(events) {}

    bool null() override { return tell({Kind::null}); }
    bool boolean(bool value) override { return tell({.kind = Kind::boolean, .boolean = value}); }
    bool number_integer(number_integer_t value) override {
        return tell({.kind = Kind::integer, .integer = value});
    }
    bool number_unsigned(number_unsigned_t value) override {
        if (value > static_cast<number_unsigned_t>(std::numeric_limits<long long>::max()))
            return number_float(static_cast<double>(value), "");
        return number_integer(static_cast<number_integer_t>(value));
    }
    bool number_float(number_float_t value, const string_t &) override {
        return tell({.kind = Kind::number, .number = value});
    }
    bool string(string_t &value) override { return tell({.kind = Kind::string, .text = value}); }
    bool binary(binary_t &) override { return false; }
    bool start_array(std::size_t) override { return open(Kind::array); }
    bool start_object(std::size_t) override { return open(Kind::object); }
    bool end_array() override { return close(Kind::array_end); }
    bool end_object() override { return close(Kind::object_end); }
    bool key(string_t &name) override {
        if (!open_.back().insert(name).second)
            throw InputError(here(cursor_.line),
                             "duplicate key \"" + shortened(name) + "\"; each key may stand once");
        return tell({.kind = Kind::key, .text = name});
    }
    bool parse_error(std::size_t, const std::string &, const nlohmann::json::exception &error) override {
        std::string text = error.what();
        if (const std::size_t colon = text.find("column"); colon != std::string::npos)
            text = text.substr(text.find(' ', colon + 7) + 1);
        if (text.starts_with("[json.exception")) // the library's own name of the error says nothing to a user
            text = text.substr(std::min(text.size(), text.find("] ") + 2));
        throw InputError(here(cursor_.line), "not valid JSON: " + shortened(text, longest_message));
    }

  private:
    using Kind = JsonEvent::Kind;
    static constexpr std::size_t longest_message = 400;
    /// Most keys and values of a document; a run of 20,000 cases with forecasts has a third of it. It bounds
    /// the memory that any text can ask for.
    static constexpr std::size_t most_values = 64'000'000;

    bool tell(JsonEvent event) {
        if (!event.ends() && ++values_ > most_values)
            throw InputError(here(cursor_.line), "holds more than " + std::to_string(most_values) +
                                                     " values; no document of convcast has as many");
        event.line = cursor_.line;
        events_(event);
        return true;
    }
    bool open(Kind kind) {
        if (open_.size() >= max_depth)
            throw InputError(here(cursor_.line),
                             "nested deeper than " + std::to_string(max_depth) + " levels");
        open_.emplace_back();
        return tell({kind});
    }
    bool close(Kind kind) {
        open_.pop_back();
        return tell({kind});
    }
    std::string here(int line) const { return file_ + ":" + std::to_string(line); }

    const Cursor &cursor_;
    std::string file_;
    const JsonEvents &events_;
    std::size_t values_ = 0;
    std::vector<std::set<std::string>> open_; ///< the keys of each array and object that is open
};

/// Appends a JSON string. DEL and C1 control characters are escaped too, since terminals obey them.
void append_quoted(std::string &out, std::string_view text) {
    const bool as_it_is = std::all_of(text.begin(), text.end(), [](char letter) {
        return letter >= 0x20 && letter < 0x7f && letter != '"' && letter != '\\';
    });
    if (as_it_is) {
        out += '"';
        out += text;
        out += '"';
        return;
    }
    const std::string plain =
        nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    for (std::size_t i = 0; i < plain.size(); ++i) {
        const bool c1 = plain[i] == '\xC2' && static_cast<unsigned char>(plain[i + 1]) < 0xA0;
        if (c1 || plain[i] == '\x7f') {
            const auto code = static_cast<unsigned char>(c1 ? plain[++i] : plain[i]);
            out += fmt::format("\\u{:04x}", code);
        } else {
            out += plain[i];
        }
    }
}

/// Appends a null, boolean, number or string. A number is the shortest text that reads as the same number.
void append_scalar(std::string &out, const JsonEvent &event) {
    using Kind = JsonEvent::Kind;
    char text[64];
    if (event.kind == Kind::string)
        append_quoted(out, event.text);
    else if (event.kind == Kind::boolean)
        out += event.boolean ? "true" : "false";
    else if (event.kind == Kind::integer)
        out.append(text, std::to_chars(text, text + sizeof text, event.integer).ptr);
    else if (event.kind == Kind::number && std::isfinite(event.number))
        out.append(text, nlohmann::detail::to_chars(text, text + sizeof text, event.number));
    else
        out += "null";
}

/// Takes the events of a document, and notes the lines and values of the paths that it was given.
class PathFinder {
  public:
    PathFinder(const std::vector<std::string> &lines, const std::vector<std::string> &texts) {
        for (const std::string &path : lines)
            for (std::size_t end = path.size(); lines_.try_emplace(path.substr(0, end), 0).second && end > 0;)
                end = path.rfind('/', end - 1);
        for (const std::string &path : texts)
            texts_[path];
    }

    void take(const JsonEvent &event) {
        if (event.kind == JsonEvent::Kind::key) {
            path_.resize(open_.back().path);
            (path_ += '/') += event.text;
        } else if (event.ends()) {
            open_.pop_back();
        } else {
            begin_value(event.line);
            if (event.begins())
                open_.push_back({path_.size(), 0, event.kind == JsonEvent::Kind::array});
        }
        if (wanted_ == nullptr)
            return;
        writer_(event);
        if (open_.size() == wanted_depth_) {
            *wanted_ = writer_.take() + "\n";
            wanted_ = nullptr;
        }
    }

    int line_of(std::string path) const {
        while (!path.empty() && lines_.at(path) == 0)
            path.resize(path.rfind('/'));
        return lines_.at(path);
    }
    std::string text_of(const std::string &path) const { return texts_.at(path); }

  private:
    struct Open {
        std::size_t path;   ///< its length
        std::size_t values; ///< of an array, so far
        bool array;
    };

    void begin_value(int line) {
        if (!open_.empty() && open_.back().array) {
            path_.resize(open_.back().path);
            (path_ += '/') += std::to_string(open_.back().values++);
        }
        if (const auto found = lines_.find(path_); found != lines_.end())
            found->second = line;
        if (const auto found = texts_.find(path_); found != texts_.end() && wanted_ == nullptr) {
            wanted_ = &found->second;
            wanted_depth_ = open_.size();
            writer_ = JsonWriter();
        }
    }

    std::map<std::string, int> lines_; ///< of the paths that were given and all above them; 0: not found yet
    std::map<std::string, std::string> texts_;
    std::string path_;
    std::vector<Open> open_;
    JsonWriter writer_;
    std::string *wanted_ = nullptr; ///< where the value goes that is being written; nullptr: none is
    std::size_t wanted_depth_ = 0;  ///< how many arrays and objects that value lies in
};

} // namespace

const char *JsonEvent::name() const {
    constexpr const char *names[] = {"null", "boolean", "integer", "number", "string", "array", "object"};
    return names[static_cast<std::size_t>(kind)];
}

void parse_json(std::string_view text, const std::string &file, const JsonEvents &events, int first_line) {
    Cursor cursor{first_line, first_line - 1};
    SaxEvents passed_on(cursor, file, events);
    const char *begin = text.data();
    nlohmann::json::sax_parse(LineIterator(&cursor, begin), LineIterator(&cursor, begin + text.size()),
                              &passed_on);
    // The parser takes a NUL for the end of the text and whatever follows for nothing.
    if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos)
        throw InputError(file + ":" +
                             std::to_string(first_line + std::count(text.begin(), text.begin() + nul, '\n')),
                         "not valid JSON: a NUL byte");
}

JsonParts parts_of_json(std::string_view text, const std::string &file, const std::vector<std::string> &lines,
                        const std::vector<std::string> &texts, int first_line) {
    PathFinder finder(lines, texts);
    parse_json(
        text, file, [&](const JsonEvent &event) { finder.take(event); }, first_line);
    JsonParts parts;
    for (const std::string &path : lines)
        parts.lines.push_back(finder.line_of(path));
    for (const std::string &path : texts)
        parts.texts.push_back(finder.text_of(path));
    return parts;
}

std::optional<std::string> member_of_json(std::string_view text, const std::string &file,
                                          std::string_view name) {
    int depth = 0;
    bool here = false; // the next value is the member's
    std::optional<std::string> member;
    parse_json(text, file, [&](const JsonEvent &event) {
        depth += event.begins() ? 1 : event.ends() ? -1 : 0;
        if (here && event.kind == JsonEvent::Kind::string)
            member = event.text;
        here = event.kind == JsonEvent::Kind::key && depth == 1 && event.text == name;
    });
    return member;
}

// ---- writing ----

void JsonWriter::new_line() {
    if (layout_ == Layout::lines) {
        out_ += '\n';
        out_.append((depth_ + open_.size()) * 2, ' ');
    }
}

/// Separates a member, or an element that has a line of its own, from the one before it.
void JsonWriter::begin_element() {
    out_ += open_.back().values++ == 0 ? "" : ",";
    new_line();
}

/// Writes the scalars that were held back, a line each, as something else follows in their array.
void JsonWriter::write_scalars() {
    for (const std::string &scalar : std::exchange(scalars_, {})) {
        begin_element();
        out_ += scalar;
    }
}

void JsonWriter::operator()(const JsonEvent &event) {
    using Kind = JsonEvent::Kind;
    const bool in_array = !open_.empty() && open_.back().array;
    if (event.ends()) {
        if (in_array && open_.back().values == 0)
            out_ += join(std::exchange(scalars_, {}), ", ");
        const Open closed = open_.back();
        open_.pop_back();
        if (closed.values > 0)
            new_line();
        out_ += closed.array ? ']' : '}';
        return;
    }
    if (event.kind == Kind::key) {
        begin_element();
        append_quoted(out_, event.text);
        out_ += ": ";
    } else if (event.begins()) {
        if (in_array) {
            write_scalars();
            begin_element();
        }
        out_ += event.kind == Kind::array ? '[' : '{';
        open_.push_back({event.kind == Kind::array});
    } else if (in_array && open_.back().values == 0) {
        append_scalar(scalars_.emplace_back(), event);
    } else {
        if (in_array)
            begin_element();
        append_scalar(out_, event);
    }
}

} // namespace convcast
