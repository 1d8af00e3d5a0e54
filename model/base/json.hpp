// JSON documents: a tree that remembers the line of every value, and its text form. A value takes 16 bytes
// and an array or object one block of memory, so that 64 MiB of text never take 1 GiB. Syntax errors,
// duplicate keys, nesting beyond 64, more values than any document has and numbers outside double throw
// InputError with file and line.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace convcast {

/// Values in order, in one block of memory behind one pointer that is null while there are none. T must bear
/// being moved byte by byte, as JsonValue does: a large block then grows without being copied.
template <class T> class JsonBlock {
  public:
    JsonBlock() = default;
    JsonBlock(std::initializer_list<T> values) {
        reserve(values.size());
        for (const T &value : values)
            push_back(value);
    }
    JsonBlock(const JsonBlock &other) {
        reserve(other.size());
        for (const T &value : other)
            push_back(value);
    }
    JsonBlock(JsonBlock &&other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
    JsonBlock &operator=(JsonBlock other) noexcept {
        std::swap(block_, other.block_);
        return *this;
    }
    ~JsonBlock() {
        for (T &value : *this)
            value.~T();
        std::free(block_);
    }

    std::size_t size() const { return block_ == nullptr ? 0 : block_->size; }
    bool empty() const { return size() == 0; }
    T *begin() { return block_ == nullptr ? nullptr : values(block_); }
    T *end() { return begin() + size(); }
    const T *begin() const { return block_ == nullptr ? nullptr : values(block_); }
    const T *end() const { return begin() + size(); }
    T &operator[](std::size_t i) { return begin()[i]; }
    const T &operator[](std::size_t i) const { return begin()[i]; }
    T &back() { return end()[-1]; }

    void push_back(T value) { emplace_back(std::move(value)); }
    template <class... Arguments> T &emplace_back(Arguments &&...arguments) {
        if (block_ == nullptr || block_->size == block_->capacity)
            reserve(block_ == nullptr ? 1 : std::size_t{block_->capacity} * 2);
        T *made = ::new (static_cast<void *>(end())) T(std::forward<Arguments>(arguments)...);
        ++block_->size;
        return *made;
    }
    /// Room for `capacity` values and no more, or for those that there are.
    void reserve(std::size_t capacity) {
        if (capacity < size() || capacity == 0)
            capacity = size();
        if (capacity == 0 || (block_ != nullptr && capacity == block_->capacity))
            return;
        auto *grown = static_cast<Header *>(std::realloc(block_, sizeof(Header) + capacity * sizeof(T)));
        if (grown == nullptr)
            throw std::bad_alloc();
        if (block_ == nullptr)
            grown->size = 0;
        grown->capacity = static_cast<std::uint32_t>(capacity);
        block_ = grown;
    }
    void shrink_to_fit() { reserve(0); }

  private:
    struct alignas(8) Header {
        std::uint32_t size, capacity;
    };
    static T *values(Header *block) { return reinterpret_cast<T *>(block + 1); }
    static const T *values(const Header *block) { return reinterpret_cast<const T *>(block + 1); }

    Header *block_ = nullptr;
};

class JsonValue;
struct JsonMember;
using JsonArray = JsonBlock<JsonValue>;
using JsonObject = JsonBlock<JsonMember>; ///< in file order, keys unique

/// A null, boolean, integer, number, string, array or object.
class JsonValue {
  public:
    JsonValue() {}
    explicit JsonValue(std::nullptr_t) {}
    explicit JsonValue(bool value) : kind_(Kind::boolean) { held_.boolean = value; }
    explicit JsonValue(long long value) : kind_(Kind::integer) { held_.integer = value; }
    explicit JsonValue(double value) : kind_(Kind::number) { held_.number = value; }
    explicit JsonValue(std::string_view text);
    explicit JsonValue(const std::string &text) : JsonValue(std::string_view(text)) {}
    explicit JsonValue(const char *text) : JsonValue(std::string_view(text)) {}
    explicit JsonValue(JsonArray array) : kind_(Kind::array) {
        ::new (static_cast<void *>(&held_.array)) JsonArray(std::move(array));
    }
    explicit JsonValue(JsonObject object) : kind_(Kind::object) {
        ::new (static_cast<void *>(&held_.object)) JsonObject(std::move(object));
    }
    JsonValue(const JsonValue &other); ///< a string's characters are shared, the rest is copied
    JsonValue(JsonValue &&other) noexcept {
        std::memcpy(static_cast<void *>(this), static_cast<const void *>(&other), sizeof *this);
        other.kind_ = Kind::null;
    }
    JsonValue &operator=(JsonValue other) noexcept {
        std::swap_ranges(bytes(), bytes() + sizeof *this, other.bytes());
        return *this;
    }
    ~JsonValue() {
        if (kind_ >= Kind::string)
            release();
    }

    bool is_null() const { return kind_ == Kind::null; }
    const bool *boolean() const { return kind_ == Kind::boolean ? &held_.boolean : nullptr; }
    const long long *integer() const { return kind_ == Kind::integer ? &held_.integer : nullptr; }
    const double *number() const {
        return kind_ == Kind::number ? &held_.number : nullptr;
    }                                             ///< not an integer
    std::optional<std::string_view> text() const; ///< of a string
    const JsonArray *array() const { return kind_ == Kind::array ? &held_.array : nullptr; }
    JsonArray *array() { return kind_ == Kind::array ? &held_.array : nullptr; }
    const JsonObject *object() const { return kind_ == Kind::object ? &held_.object : nullptr; }
    JsonObject *object() { return kind_ == Kind::object ? &held_.object : nullptr; }

    const JsonValue *find(std::string_view key) const; ///< nullptr if absent or not an object
    const char *kind() const;                          ///< "object", "number", ...: for messages

    /// 1-based line in the source text; 0 for a value made in memory.
    int line() const { return static_cast<int>(line_); }
    void set_line(int line) { line_ = static_cast<std::uint32_t>(line); }

  private:
    enum class Kind : std::uint32_t { null, boolean, integer, number, string, array, object };
    struct SharedText;
    union Held {
        Held() : integer(0) {}
        ~Held() {}
        bool boolean;
        long long integer;
        double number;
        SharedText *text; ///< nullptr: no character
        JsonArray array;
        JsonObject object;
    };
    char *bytes() { return reinterpret_cast<char *>(this); }
    void release() noexcept;

    Kind kind_ = Kind::null;
    std::uint32_t line_ = 0;
    Held held_;
};
static_assert(sizeof(JsonValue) == 16, "the memory of a document is counted in these");

struct JsonMember {
    JsonMember(JsonValue key, JsonValue held) : name(std::move(key)), value(std::move(held)) {}
    JsonMember(std::string_view key, JsonValue held) : name(key), value(std::move(held)) {}
    std::string_view key() const { return *name.text(); }

    JsonValue name; ///< a string
    JsonValue value;
};

/// Of a document: keys and values of any kind; a run of 20,000 cases with forecasts has a third. Together
/// with the next limit it bounds the memory that any text can ask for to 1.5 GiB beside the text.
constexpr std::size_t most_json_values = 64'000'000;
/// Of a document: texts that differ, arrays and objects, each of which takes a block of memory of its own.
constexpr std::size_t most_json_blocks = 16'000'000;

/// `file` only names the source in errors.
JsonValue parse_json(const std::string &text, const std::string &file);

/// Two-space indent, keys in the order given, doubles in their shortest exact form, null for NaN and
/// infinities, arrays of scalars on one line.
std::string to_text(const JsonValue &value);

/// The same in one line, with a line break behind it.
std::string to_line(const JsonValue &value);

} // namespace convcast
