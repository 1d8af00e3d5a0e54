#include "model/shape/expression.hpp"

#include "model/base/errors.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace convcast {
namespace {

constexpr std::size_t longest_expression = 1000;
constexpr int deepest_expression = 100;

/// Reads the text from left to right; each function reads what binds at least as tightly as it says.
class ExpressionReader {
  public:
    ExpressionReader(std::string_view text, const Names &names) : text_(text), names_(names) {}

    std::int64_t whole() {
        if (text_.size() > longest_expression)
            wrong("is longer than " + std::to_string(longest_expression) + " characters");
        const std::int64_t value = level(0);
        if (!at_end())
            wrong("has '" + std::string(1, text_[at_]) + "' where an operator or its end is expected");
        return value;
    }

  private:
    using Operators = std::vector<std::string_view>;

    [[noreturn]] void wrong(const std::string &what) const {
        throw UsageError("the expression '" + shortened(text_) + "' " + what + " (character " +
                         std::to_string(at_ + 1) +
                         "); an example: (p * q + 127) / 128, of n c h w k r s p q stride_h pad_h and so on");
    }

    bool at_end() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0)
            ++at_;
        return at_ == text_.size();
    }

    bool taken(std::string_view token) {
        if (at_end() || !text_.substr(at_).starts_with(token))
            return false;
        at_ += token.size();
        return true;
    }

    void expect(std::string_view token) {
        if (!taken(token))
            wrong("lacks a '" + std::string(token) + "'");
    }

    /// Operators from the loosest to the tightest; of those that begin alike the longer one first.
    std::int64_t level(std::size_t tightness) {
        static const std::array<Operators, 6> levels = {
            Operators{"||"},       Operators{"&&"},
            Operators{"==", "!="}, Operators{"<=", ">=", "<", ">"},
            Operators{"+", "-"},   Operators{"*", "/", "%"}};
        if (tightness == levels.size())
            return operand();
        std::int64_t value = level(tightness + 1);
        while (true) {
            const auto found = std::find_if(levels[tightness].begin(), levels[tightness].end(),
                                            [&](std::string_view token) { return taken(token); });
            if (found == levels[tightness].end())
                return value;
            value = applied(*found, value, level(tightness + 1));
        }
    }

    std::int64_t applied(std::string_view token, std::int64_t a, std::int64_t b) const {
        std::int64_t value = 0;
        if (token == "||" || token == "&&")
            return token == "||" ? a != 0 || b != 0 : a != 0 && b != 0;
        if (token == "==" || token == "!=")
            return (a == b) == (token == "==");
        if (token == "<=" || token == ">=")
            return token == "<=" ? a <= b : a >= b;
        if (token == "<" || token == ">")
            return token == "<" ? a < b : a > b;
        if (token == "/" || token == "%") {
            if (b == 0)
                wrong("divides by zero");
            if (b == -1)
                return token == "%" ? 0 : applied("-", 0, a);
            return token == "/" ? a / b : a % b;
        }
        const bool exceeds = token == "+"   ? __builtin_add_overflow(a, b, &value)
                             : token == "-" ? __builtin_sub_overflow(a, b, &value)
                                            : __builtin_mul_overflow(a, b, &value);
        if (exceeds)
            wrong("exceeds 64 bits");
        return value;
    }

    std::int64_t operand() {
        if (++depth_ > deepest_expression)
            wrong("is nested more than " + std::to_string(deepest_expression) + " deep");
        std::int64_t value = 0;
        if (at_end())
            wrong("ends where a number, a size or '(' is expected");
        if (taken("(")) {
            value = level(0);
            expect(")");
        } else if (taken("-")) {
            value = applied("-", 0, operand());
        } else if (taken("!")) {
            value = operand() == 0;
        } else if (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
            value = number();
        } else {
            value = named();
        }
        --depth_;
        return value;
    }

    std::int64_t number() {
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
        if (error != std::errc{})
            wrong("has a number that exceeds 64 bits");
        at_ = static_cast<std::size_t>(end - text_.data());
        return value;
    }

    std::int64_t named() {
        const std::size_t begin = at_;
        while (at_ < text_.size() &&
               (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
            ++at_;
        const std::string name(text_.substr(begin, at_ - begin));
        if (name.empty())
            wrong("has '" + std::string(1, text_[at_]) + "' where a number, a size or '(' is expected");
        if (name == "min" || name == "max" || name == "ceil_div") {
            expect("(");
            const std::int64_t a = level(0);
            expect(",");
            const std::int64_t b = level(0);
            expect(")");
            if (name != "ceil_div")
                return name == "min" ? std::min(a, b) : std::max(a, b);
            if (b < 1)
                wrong("has a ceil_div by a number below 1");
            return applied("/", a, b) + (a > 0 && a % b != 0 ? 1 : 0);
        }
        if (const auto found = names_.find(name); found != names_.end())
            return found->second;
        std::vector<std::string> known = {"min", "max", "ceil_div"};
        for (const auto &[its, value] : names_)
            known.push_back(its);
        at_ = begin;
        wrong("has '" + shortened(name) + "', which is not a name of a size" + did_you_mean(name, known));
    }

    std::string_view text_;
    const Names &names_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

} // namespace

Names names_of(const ConvShape &s) {
    return {{"n", s.n},
            {"c", s.c},
            {"h", s.h},
            {"w", s.w},
            {"k", s.k},
            {"r", s.r},
            {"s", s.s},
            {"p", s.p()},
            {"q", s.q()},
            {"stride_h", s.stride_h},
            {"stride_w", s.stride_w},
            {"pad_h", s.pad_h},
            {"pad_w", s.pad_w},
            {"dilation_h", s.dilation_h},
            {"dilation_w", s.dilation_w},
            {"groups", s.groups}};
}

std::int64_t evaluate(const std::string &text, const Names &names) {
    return ExpressionReader(text, names).whole();
}

} // namespace convcast
