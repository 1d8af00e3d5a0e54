#include "model/base/json.hpp"

#include "model/base/errors.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr int max_depth = 64; // far above our documents (a term tree is the deepest), far below the stack

/// Feeds characters to the parser and remembers the line of the last one that was not white space. nlohmann's
/// SAX events carry no position, but a token's last character has always been read when its event fires, and
/// at most one character more: white space after a number does not move the line.
struct Cursor {
    const char *at;
    int line = 1;
    int newlines = 0;
};

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

class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
  public:
    TreeBuilder(const Cursor &cursor, std::string file) : cursor_(cursor), file_(std::move(file)) {}

    bool null() override { return add(JsonValue(nullptr)); }
    bool boolean(bool value) override { return add(JsonValue(value)); }
    bool number_integer(number_integer_t value) override {
        return add(JsonValue(static_cast<long long>(value)));
    }
    bool number_unsigned(number_unsigned_t value) override {
        if (value > static_cast<number_unsigned_t>(std::numeric_limits<long long>::max()))
            return add(JsonValue(static_cast<double>(value)));
        return add(JsonValue(static_cast<long long>(value)));
    }
    bool number_float(number_float_t value, const string_t &) override { return add(JsonValue(value)); }
    bool string(string_t &value) override { return add(shared(value)); }
    bool binary(binary_t &) override { return false; }
    bool start_object(std::size_t) override { return open(JsonValue(JsonObject{})); }
    bool start_array(std::size_t) override { return open(JsonValue(JsonArray{})); }
    bool end_object() override {
        JsonObject &members = *stack_.back().object();
        if (members.size() > compared_at_once)
            refuse_duplicates(members);
        members.shrink_to_fit();
        return close(members.empty());
    }
    bool end_array() override {
        JsonArray &elements = *stack_.back().array();
        elements.shrink_to_fit();
        return close(elements.empty());
    }
    bool key(string_t &name) override {
        const JsonObject &members = *stack_.back().object();
        if (members.size() <= compared_at_once)
            for (const JsonMember &member : members)
                if (member.key() == name)
                    refuse_duplicate(cursor_.line, name);
        keys_.push_back(shared(name));
        keys_.back().set_line(cursor_.line);
        count();
        return true;
    }
    bool parse_error(std::size_t, const std::string &, const nlohmann::json::exception &error) override {
        std::string text = error.what();
        if (const std::size_t colon = text.find("column"); colon != std::string::npos)
            text = text.substr(text.find(' ', colon + 7) + 1);
        if (text.starts_with("[json.exception")) // the library's own name of the error says nothing to a user
            text = text.substr(std::min(text.size(), text.find("] ") + 2));
        throw InputError(here(), "not valid JSON: " + shortened(text, longest_message));
    }

    JsonValue take() { return std::move(root_); }

  private:
    static constexpr std::size_t compared_at_once = 32; ///< members: of more, duplicates are found by sorting
    static constexpr std::size_t longest_message = 400;

    std::string here(int line) const { return file_ + ":" + std::to_string(line); }
    std::string here() const { return here(cursor_.line); }

    [[noreturn]] void refuse_duplicate(int line, std::string_view name) const {
        throw InputError(here(line), "duplicate key \"" + shortened(name) + "\"; each key may stand once");
    }
    void refuse_duplicates(const JsonObject &members) const {
        std::vector<const JsonMember *> sorted;
        sorted.reserve(members.size());
        for (const JsonMember &member : members)
            sorted.push_back(&member);
        std::sort(sorted.begin(), sorted.end(), [](const JsonMember *a, const JsonMember *b) {
            const int order = a->key().compare(b->key());
            return order != 0 ? order < 0 : a < b;
        });
        const auto twice =
            std::adjacent_find(sorted.begin(), sorted.end(),
                               [](const JsonMember *a, const JsonMember *b) { return a->key() == b->key(); });
        if (twice != sorted.end())
            refuse_duplicate(twice[1]->name.line(), twice[1]->key());
    }

    /// Equal short texts, keys above all, share their characters: a document has few different ones.
    JsonValue shared(const std::string &text) {
        constexpr std::size_t longest = 64, most = 4096;
        if (text.empty())
            return JsonValue(std::string_view());
        if (text.size() <= longest)
            if (const auto found = texts_.find(text); found != texts_.end())
                return found->second;
        count_block();
        JsonValue value{std::string_view(text)};
        if (text.size() <= longest && texts_.size() < most)
            texts_.emplace(*value.text(), value);
        return value;
    }
    void count() {
        if (++values_ > most_json_values)
            throw InputError(here(), "holds more than " + std::to_string(most_json_values) +
                                         " values; no document of convcast has as many");
    }
    void count_block() {
        if (++blocks_ > most_json_blocks)
            throw InputError(here(), "holds more than " + std::to_string(most_json_blocks) +
                                         " texts, arrays and objects; no document of convcast has as many");
    }

    bool add(JsonValue value) {
        count();
        if (value.line() == 0)
            value.set_line(cursor_.line);
        if (stack_.empty()) {
            root_ = std::move(value);
        } else if (JsonArray *array = stack_.back().array()) {
            array->push_back(std::move(value));
        } else {
            stack_.back().object()->emplace_back(std::move(keys_.back()), std::move(value));
            keys_.pop_back();
        }
        return true;
    }
    bool open(JsonValue value) {
        if (stack_.size() >= max_depth)
            throw InputError(here(), "nested deeper than " + std::to_string(max_depth) + " levels");
        value.set_line(cursor_.line);
        stack_.push_back(std::move(value));
        return true;
    }
    bool close(bool empty) {
        if (!empty)
            count_block();
        JsonValue done = std::move(stack_.back());
        stack_.pop_back();
        return add(std::move(done));
    }

    const Cursor &cursor_;
    std::string file_;
    std::vector<JsonValue> stack_; ///< arrays and objects that are open
    std::vector<JsonValue> keys_;  ///< whose values are open
    std::unordered_map<std::string_view, JsonValue> texts_;
    std::size_t values_ = 0, blocks_ = 0;
    JsonValue root_;
};

bool is_scalar(const JsonValue &value) {
    return value.array() == nullptr && value.object() == nullptr;
}

/// A number as the library writes it: the shortest text that reads as the same one.
void append_number(std::string &out, double value) {
    if (!std::isfinite(value)) {
        out += "null";
        return;
    }
    char text[64];
    out.append(text, nlohmann::detail::to_chars(text, text + sizeof text, value));
}

void append_number(std::string &out, long long value) {
    char text[24];
    out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

/// With DEL and the C1 control characters escaped too: terminals obey them.
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
            out += "\\u00";
            out += "0123456789abcdef"[code >> 4];
            out += "0123456789abcdef"[code & 15];
        } else {
            out += plain[i];
        }
    }
}

void append_scalar(std::string &out, const JsonValue &value) {
    if (const std::optional<std::string_view> text = value.text())
        append_quoted(out, *text);
    else if (const bool *boolean = value.boolean())
        out += *boolean ? "true" : "false";
    else if (const long long *integer = value.integer())
        append_number(out, *integer);
    else if (const double *number = value.number())
        append_number(out, *number);
    else
        out += "null";
}

enum class Breaks { lines, none };

/// With `breaks` an array of arrays or objects, and every object, has a line for each element.
void append_text(std::string &out, const JsonValue &value, std::size_t depth, Breaks breaks) {
    const auto new_line = [&](std::size_t levels) {
        if (breaks == Breaks::lines) {
            out += '\n';
            out.append(levels * 2, ' ');
        }
    };
    if (const JsonArray *array = value.array()) {
        const bool one_line = std::all_of(array->begin(), array->end(), is_scalar);
        out += '[';
        for (std::size_t i = 0; i < array->size(); ++i) {
            out += i == 0 ? "" : (one_line ? ", " : ",");
            if (!one_line)
                new_line(depth + 1);
            append_text(out, (*array)[i], depth + 1, breaks);
        }
        if (!one_line)
            new_line(depth);
        out += ']';
    } else if (const JsonObject *object = value.object()) {
        out += '{';
        for (std::size_t i = 0; i < object->size(); ++i) {
            if (i > 0)
                out += ',';
            new_line(depth + 1);
            append_scalar(out, (*object)[i].name);
            out += ": ";
            append_text(out, (*object)[i].value, depth + 1, breaks);
        }
        if (!object->empty())
            new_line(depth);
        out += '}';
    } else {
        append_scalar(out, value);
    }
}

} // namespace

/// How many values hold it, its length, and its characters behind that.
struct JsonValue::SharedText {
    std::atomic<std::uint32_t> holders;
    std::uint32_t size;
    char *characters() { return reinterpret_cast<char *>(this + 1); }
};

JsonValue::JsonValue(std::string_view text) : kind_(Kind::string) {
    held_.text = nullptr;
    if (text.empty())
        return;
    void *room = std::malloc(sizeof(SharedText) + text.size());
    if (room == nullptr)
        throw std::bad_alloc();
    held_.text = ::new (room) SharedText{1, static_cast<std::uint32_t>(text.size())};
    std::memcpy(held_.text->characters(), text.data(), text.size());
}

JsonValue::JsonValue(const JsonValue &other) : line_(other.line_) {
    if (const JsonArray *elements = other.array()) {
        ::new (static_cast<void *>(&held_.array)) JsonArray(*elements);
    } else if (const JsonObject *members = other.object()) {
        ::new (static_cast<void *>(&held_.object)) JsonObject(*members);
    } else {
        std::memcpy(static_cast<void *>(&held_), static_cast<const void *>(&other.held_), sizeof held_);
        if (other.kind_ == Kind::string && held_.text != nullptr)
            held_.text->holders.fetch_add(1, std::memory_order_relaxed);
    }
    kind_ = other.kind_;
}

void JsonValue::release() noexcept {
    if (kind_ == Kind::array)
        held_.array.~JsonBlock();
    else if (kind_ == Kind::object)
        held_.object.~JsonBlock();
    else if (held_.text != nullptr && held_.text->holders.fetch_sub(1, std::memory_order_acq_rel) == 1)
        std::free(held_.text);
}

std::optional<std::string_view> JsonValue::text() const {
    if (kind_ != Kind::string)
        return std::nullopt;
    return held_.text == nullptr ? std::string_view()
                                 : std::string_view(held_.text->characters(), held_.text->size);
}

const JsonValue *JsonValue::find(std::string_view key) const {
    if (const JsonObject *members = object())
        for (const JsonMember &member : *members)
            if (member.key() == key)
                return &member.value;
    return nullptr;
}

const char *JsonValue::kind() const {
    constexpr const char *names[] = {"null", "boolean", "integer", "number", "string", "array", "object"};
    return names[static_cast<std::size_t>(kind_)];
}

JsonValue parse_json(const std::string &text, const std::string &file) {
    Cursor cursor{text.data()};
    TreeBuilder builder(cursor, file);
    const char *begin = text.data();
    nlohmann::json::sax_parse(LineIterator(&cursor, begin), LineIterator(&cursor, begin + text.size()),
                              &builder);
    // The parser takes a NUL for the end of the text and whatever follows for nothing.
    if (const std::size_t nul = text.find('\0'); nul != std::string::npos)
        throw InputError(
            file + ":" +
                std::to_string(
                    1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(nul), '\n')),
            "not valid JSON: a NUL byte");
    return builder.take();
}

std::string to_text(const JsonValue &value) {
    std::string out;
    append_text(out, value, 0, Breaks::lines);
    return out + "\n";
}

std::string to_line(const JsonValue &value) {
    std::string out;
    append_text(out, value, 0, Breaks::none);
    return out + "\n";
}

} // namespace convcast
