#include "model/json.hpp"

#include "model/errors.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <limits>
#include <unordered_set>

namespace convcast {
namespace {

constexpr int max_depth = 64; // far above our documents (a term tree is the deepest), far below the stack

/// Feeds characters to the parser and remembers the line of the last one that was not white space. nlohmann's
/// SAX events carry no position, but a token's last character has always been read when its event fires, and at
/// most one character more: white space after a number does not move the line.
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
    bool string(string_t &value) override { return add(JsonValue(std::string(value))); }
    bool binary(binary_t &) override { return false; }
    bool start_object(std::size_t) override { return open(JsonValue(JsonObject{})); }
    bool start_array(std::size_t) override { return open(JsonValue(JsonArray{})); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t &name) override {
        if (!taken_.back().insert(name).second)
            throw InputError(here(), "duplicate key \"" + name + "\"; each key may stand once");
        keys_.push_back(name);
        return true;
    }
    bool parse_error(std::size_t, const std::string &, const nlohmann::json::exception &error) override {
        std::string text = error.what();
        if (const std::size_t colon = text.find("column"); colon != std::string::npos)
            text = text.substr(text.find(' ', colon + 7) + 1);
        if (text.starts_with("[json.exception")) // the library's own name of the error says nothing to a user
            text = text.substr(std::min(text.size(), text.find("] ") + 2));
        throw InputError(here(), "not valid JSON: " + text);
    }

    JsonValue take() { return std::move(root_); }

  private:
    std::string here() const { return file_ + ":" + std::to_string(cursor_.line); }

    bool add(JsonValue value) {
        if (value.line == 0)
            value.line = cursor_.line;
        if (stack_.empty()) {
            root_ = std::move(value);
        } else if (auto *array = std::get_if<JsonArray>(&stack_.back().data)) {
            array->push_back(std::move(value));
        } else {
            std::get<JsonObject>(stack_.back().data).emplace_back(std::move(keys_.back()), std::move(value));
            keys_.pop_back();
        }
        return true;
    }
    bool open(JsonValue value) {
        if (stack_.size() >= max_depth)
            throw InputError(here(), "nested deeper than " + std::to_string(max_depth) + " levels");
        value.line = cursor_.line;
        stack_.push_back(std::move(value));
        taken_.emplace_back();
        return true;
    }
    bool close() {
        taken_.pop_back();
        JsonValue done = std::move(stack_.back());
        stack_.pop_back();
        return add(std::move(done));
    }

    const Cursor &cursor_;
    std::string file_;
    std::vector<JsonValue> stack_;
    std::vector<std::unordered_set<std::string>> taken_; ///< keys of each open object
    std::vector<std::string> keys_;
    JsonValue root_;
};

bool is_scalar(const JsonValue &value) { return value.array() == nullptr && value.object() == nullptr; }

std::string scalar_text(const JsonValue &value) {
    return std::visit(
        [](const auto &v) -> std::string {
            using T = std::decay_t<decltype(v)>;
            if constexpr (std::is_same_v<T, JsonArray> || std::is_same_v<T, JsonObject>)
                return {};
            else
                return nlohmann::json(v).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        },
        value.data);
}

void append_text(std::string &out, const JsonValue &value, int depth) {
    const std::string indent(static_cast<std::size_t>(depth) * 2 + 2, ' ');
    const std::string closing(static_cast<std::size_t>(depth) * 2, ' ');
    if (const JsonArray *array = value.array()) {
        const bool one_line = std::all_of(array->begin(), array->end(), is_scalar);
        out += '[';
        for (std::size_t i = 0; i < array->size(); ++i) {
            out += i == 0 ? "" : (one_line ? ", " : ",");
            if (!one_line)
                out += "\n" + indent;
            append_text(out, (*array)[i], depth + 1);
        }
        out += one_line ? "]" : "\n" + closing + "]";
    } else if (const JsonObject *object = value.object()) {
        out += '{';
        for (std::size_t i = 0; i < object->size(); ++i) {
            out += (i == 0 ? "\n" : ",\n") + indent + scalar_text(JsonValue((*object)[i].first)) + ": ";
            append_text(out, (*object)[i].second, depth + 1);
        }
        out += object->empty() ? "}" : "\n" + closing + "}";
    } else {
        out += scalar_text(value);
    }
}

} // namespace

const JsonValue *JsonValue::find(const std::string &key) const {
    if (const JsonObject *members = object())
        for (const auto &[name, value] : *members)
            if (name == key)
                return &value;
    return nullptr;
}

const char *JsonValue::kind() const {
    constexpr const char *names[] = {"null", "boolean", "integer", "number", "string", "array", "object"};
    return names[data.index()];
}

JsonValue parse_json(const std::string &text, const std::string &file) {
    Cursor cursor{text.data()};
    TreeBuilder builder(cursor, file);
    const char *begin = text.data();
    nlohmann::json::sax_parse(LineIterator(&cursor, begin), LineIterator(&cursor, begin + text.size()), &builder);
    return builder.take();
}

std::string to_text(const JsonValue &value) {
    std::string out;
    append_text(out, value, 0);
    return out + "\n";
}

} // namespace convcast
