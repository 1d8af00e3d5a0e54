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
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr std::size_t longest_expression = 1000;
constexpr int deepest_expression = 100;

[[noreturn]] void wrong_expression(std::string_view text, std::size_t at, ExpressionGrammar grammar,
                                   const std::string &what) {
    throw UsageError("the expression '" + shortened(text) + "' " + what + " (character " +
                     std::to_string(at + 1) + "); an example: " +
                     (grammar == ExpressionGrammar::whole_numbers
                          ? "(p * q + 127) / 128, of n c h w k r s p q stride_h pad_h and so on"
                          : "geomean(chen / chang, h < 32)"));
}

/// Reads the text from left to right; each function reads what binds at least as tightly as it says.
class ExpressionReader {
  public:
    ExpressionReader(std::string_view text, ExpressionGrammar grammar) : text_(text), grammar_(grammar) {}

    Expression whole() {
        if (text_.size() > longest_expression)
            wrong("is longer than " + std::to_string(longest_expression) + " characters");
        Expression expression = level(0);
        if (!at_end())
            wrong("has '" + std::string(1, text_[at_]) + "' where an operator or its end is expected");
        return expression;
    }

  private:
    using Operators = std::vector<std::string_view>;
    using Kind = Expression::Kind;

    [[noreturn]] void wrong(const std::string &what) const { wrong_expression(text_, at_, grammar_, what); }

    bool values() const { return grammar_ == ExpressionGrammar::values; }

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
    Expression level(std::size_t tightness) {
        static const std::array<Operators, 6> levels = {
            Operators{"||"},       Operators{"&&"},
            Operators{"==", "!="}, Operators{"<=", ">=", "<", ">"},
            Operators{"+", "-"},   Operators{"*", "/", "%"}};
        if (tightness == levels.size())
            return operand();
        Expression left = level(tightness + 1);
        while (true) {
            const std::size_t at = at_;
            const auto found = std::find_if(levels[tightness].begin(), levels[tightness].end(),
                                            [&](std::string_view token) { return taken(token); });
            if (found == levels[tightness].end())
                return left;
            Expression right = level(tightness + 1);
            Expression both{Kind::operation, std::string(*found), {}, at};
            both.parts.push_back(std::move(left));
            both.parts.push_back(std::move(right));
            left = std::move(both);
        }
    }

    Expression operand() {
        if (++depth_ > deepest_expression)
            wrong("is nested more than " + std::to_string(deepest_expression) + " deep");
        if (at_end())
            wrong("ends where a number, a size or '(' is expected");
        Expression out;
        const std::size_t at = at_;
        if (taken("(")) {
            out = level(0);
            expect(")");
        } else if (const bool minus = taken("-"); minus || taken("!")) {
            out = {Kind::operation, minus ? "-" : "!", {operand()}, at};
        } else if (values() && taken("'")) {
            const std::size_t end = text_.find('\'', at_);
            if (end == std::string_view::npos)
                wrong("lacks a ' behind a text");
            out = {Kind::text, std::string(text_.substr(at_, end - at_)), {}, at};
            at_ = end + 1;
        } else if (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
            out = {Kind::number, number(), {}, at};
        } else {
            out = named();
        }
        --depth_;
        return out;
    }

    /// Digits; of values with a point and an exponent: 1e-9.
    std::string number() {
        std::string out = word([this](char c) { return digit(c) || (values() && c == '.'); });
        const bool exponent = values() && at_ + 1 < text_.size() && text_[at_] == 'e' &&
                              (digit(text_[at_ + 1]) || text_[at_ + 1] == '-');
        if (exponent) {
            out += text_.substr(at_, 2); // the first of its characters may be a sign
            at_ += 2;
            out += word(digit);
        }
        return out;
    }

    static bool digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

    template <class Belongs> std::string word(Belongs belongs) {
        const std::size_t begin = at_;
        while (at_ < text_.size() && belongs(text_[at_]))
            ++at_;
        return std::string(text_.substr(begin, at_ - begin));
    }

    Expression named() {
        const std::size_t at = at_;
        Expression out{Kind::name,
                       word([this](char c) {
                           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
                                  (values() && c == '.');
                       }),
                       {},
                       at};
        if (out.token.empty())
            wrong("has '" + std::string(1, text_[at_]) + "' where a number, a size or '(' is expected");
        if (!taken("("))
            return out;
        out.kind = Kind::call;
        if (taken(")"))
            return out;
        do
            out.parts.push_back(level(0));
        while (taken(","));
        expect(")");
        return out;
    }

    std::string_view text_;
    ExpressionGrammar grammar_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

/// The value of an expression of whole numbers.
class WholeNumbers {
  public:
    WholeNumbers(const std::string &text, const Names &names) : text_(text), names_(names) {}

    std::int64_t value(const Expression &e) const {
        switch (e.kind) {
        case Expression::Kind::number:
            return number(e);
        case Expression::Kind::operation:
            if (e.parts.size() == 1)
                return e.token == "!" ? value(e.parts[0]) == 0 : applied(e, "-", 0, value(e.parts[0]));
            return applied(e, e.token, value(e.parts[0]), value(e.parts[1]));
        case Expression::Kind::call:
            return called(e);
        default:
            return named(e);
        }
    }

  private:
    [[noreturn]] void wrong(const Expression &e, const std::string &what) const {
        wrong_expression(text_, e.at, ExpressionGrammar::whole_numbers, what);
    }

    std::int64_t number(const Expression &e) const {
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(e.token.data(), e.token.data() + e.token.size(), value);
        if (error != std::errc{})
            wrong(e, "has a number that exceeds 64 bits");
        return value;
    }

    std::int64_t applied(const Expression &e, std::string_view token, std::int64_t a, std::int64_t b) const {
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
                wrong(e, "divides by zero");
            if (b == -1)
                return token == "%" ? 0 : applied(e, "-", 0, a);
            return token == "/" ? a / b : a % b;
        }
        const bool exceeds = token == "+"   ? __builtin_add_overflow(a, b, &value)
                             : token == "-" ? __builtin_sub_overflow(a, b, &value)
                                            : __builtin_mul_overflow(a, b, &value);
        if (exceeds)
            wrong(e, "exceeds 64 bits");
        return value;
    }

    std::int64_t called(const Expression &e) const {
        if (e.token != "min" && e.token != "max" && e.token != "ceil_div")
            unknown(e);
        if (e.parts.size() != 2)
            wrong(e, "lacks a ',': " + e.token + " is of two numbers");
        const std::int64_t a = value(e.parts[0]), b = value(e.parts[1]);
        if (e.token != "ceil_div")
            return e.token == "min" ? std::min(a, b) : std::max(a, b);
        if (b < 1)
            wrong(e, "has a ceil_div by a number below 1");
        return applied(e, "/", a, b) + (a > 0 && a % b != 0 ? 1 : 0);
    }

    std::int64_t named(const Expression &e) const {
        const auto found = names_.find(e.token);
        if (found == names_.end())
            unknown(e);
        return found->second;
    }

    [[noreturn]] void unknown(const Expression &e) const {
        std::vector<std::string> known = {"min", "max", "ceil_div"};
        for (const auto &[its, value] : names_)
            known.push_back(its);
        wrong(e, "has '" + shortened(e.token) + "', which is not a name of a size" +
                     did_you_mean(e.token, known));
    }

    const std::string &text_;
    const Names &names_;
};

} // namespace

Expression parse_expression(const std::string &text, ExpressionGrammar grammar) {
    return ExpressionReader(text, grammar).whole();
}

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
    return WholeNumbers(text, names).value(parse_expression(text));
}

} // namespace convcast
