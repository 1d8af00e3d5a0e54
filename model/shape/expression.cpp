#include "model/shape/expression.hpp"

#include "model/base/errors.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast {
namespace {

// Beyond what anybody writes. The limit of depth keeps a hostile text, "((((...", from using up the stack.
constexpr std::size_t longest_expression = 1000;
constexpr int deepest_expression = 100;

/// A recursive descent over the text from left to right. level(t) reads operators of tightness t and tighter.
class ExpressionReader {
  public:
    ExpressionReader(std::string_view text, std::string_view shown) : text_(text), example_(shown) {}

    Expression read_all() {
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

    [[noreturn]] void wrong(const std::string &what) const { wrong_expression(text_, at_, example_, what); }

    /// Skips blanks; whether nothing follows them.
    bool at_end() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0)
            ++at_;
        return at_ == text_.size();
    }

    /// Skips blanks, and `token` if it follows; whether it does.
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

    /// Operands joined by operators of this tightness, from left to right: a - b - c is (a - b) - c.
    Expression level(std::size_t tightness) {
        // From the loosest to the tightest; of operators that begin alike the longer one comes first.
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

    /// A number, text, name or call, something in parentheses, or one of these behind - or !.
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
        } else if (taken("'")) {
            const std::size_t end = text_.find('\'', at_);
            if (end == std::string_view::npos)
                wrong("lacks a ' behind a text");
            out = {Kind::text, std::string(text_.substr(at_, end - at_)), {}, at};
            at_ = end + 1;
        } else if (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
            out = {Kind::number, number(), {}, at};
        } else {
            out = name_or_call();
        }
        --depth_;
        return out;
    }

    /// Digits, perhaps with a point and an exponent: 1e-9.
    std::string number() {
        std::string out = word([](char c) { return digit(c) || c == '.'; });
        const bool exponent =
            at_ + 1 < text_.size() && text_[at_] == 'e' && (digit(text_[at_ + 1]) || text_[at_ + 1] == '-');
        if (exponent) {
            out += text_.substr(at_, 2); // the first of its characters may be a sign
            at_ += 2;
            out += word(digit);
        }
        return out;
    }

    static bool digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

    /// Takes characters as long as belongs(character), from the current one on; "" if it is none of them.
    template <class Belongs> std::string word(Belongs belongs) {
        const std::size_t begin = at_;
        while (at_ < text_.size() && belongs(text_[at_]))
            ++at_;
        return std::string(text_.substr(begin, at_ - begin));
    }

    Expression name_or_call() {
        const std::size_t at = at_;
        Expression out{Kind::name,
                       word([](char c) {
                           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
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

    std::string_view text_, example_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

} // namespace

void wrong_expression(std::string_view text, std::size_t at, std::string_view example,
                      const std::string &what) {
    throw UsageError("the expression '" + shortened(text) + "' " + what + " (character " +
                     std::to_string(at + 1) + "); an example: " + std::string(example));
}

Expression parse_expression(const std::string &text, std::string_view example) {
    return ExpressionReader(text, example).read_all();
}

Names names_of(const ConvShape &shape) {
    Names names = {{"p", shape.p()}, {"q", shape.q()}};
    for (const ShapeSize &size : shape_sizes)
        names[size.name] = shape.*size.size;
    return names;
}

} // namespace convcast
