#include "model/shape/expression.hpp"

#include "model/base/divide.hpp"
#include "model/base/errors.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace convcast {
namespace {

constexpr std::size_t longest_expression = 1000;
constexpr int deepest_expression = 100;

/// What a step does, beside the characters of operators of one character.
enum Doing : char {
    do_number = 1,
    do_name,
    do_or,
    do_and,
    do_equal,
    do_unequal,
    do_at_most,
    do_at_least,
    do_min,
    do_max,
    do_ceil_div,
    do_floor,
    do_ceil,
    do_power,
    do_unroll,
    do_sectors,
    do_negate
};

struct ExpressionFunction {
    std::string_view name;
    int arguments;
    char what;
    bool of_reals;
};
constexpr std::array<ExpressionFunction, 8> expression_functions = {{{"min", 2, do_min, false},
                                                                     {"max", 2, do_max, false},
                                                                     {"ceil_div", 2, do_ceil_div, false},
                                                                     {"floor", 1, do_floor, true},
                                                                     {"ceil", 1, do_ceil, true},
                                                                     {"pow", 2, do_power, true},
                                                                     {"unrolled", 2, do_unroll, true},
                                                                     {"sectors", 2, do_sectors, true}}};

double sectors_of_run(std::int64_t first, std::int64_t count) {
    constexpr std::int64_t floats = 8, lanes = 32;
    double all = 0.0;
    for (std::int64_t begin = 0; begin < count; begin += lanes) {
        const std::int64_t last = std::min(count, begin + lanes) - 1;
        all += static_cast<double>((first + last) / floats - (first + begin) / floats + 1);
    }
    return all;
}

} // namespace

/// Reads the text from left to right; each function reads what binds at least as tightly as it says.
template <class Number> class Expression<Number>::Reader {
  public:
    explicit Reader(Expression &to) : to_(to), text_(to.text_) {}

    void whole() {
        if (text_.size() > longest_expression)
            to_.wrong(at_, "is longer than " + std::to_string(longest_expression) + " characters");
        level(0);
        if (!at_end())
            to_.wrong(at_,
                      "has '" + std::string(1, text_[at_]) + "' where an operator or its end is expected");
    }

  private:
    struct Operator {
        std::string_view token;
        char what;
    };
    using Operators = std::vector<Operator>;

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
            to_.wrong(at_, "lacks a '" + std::string(token) + "'");
    }

    void add(char what, Number number = {}, std::size_t name = 0) {
        to_.steps_.push_back({what, number, name, at_});
    }

    /// Operators from the loosest to the tightest; of those that begin alike the longer one first.
    void level(std::size_t tightness) {
        static const std::array<Operators, 6> levels = {
            Operators{{"||", do_or}},
            Operators{{"&&", do_and}},
            Operators{{"==", do_equal}, {"!=", do_unequal}},
            Operators{{"<=", do_at_most}, {">=", do_at_least}, {"<", '<'}, {">", '>'}},
            Operators{{"+", '+'}, {"-", '-'}},
            Operators{{"*", '*'}, {"/", '/'}, {"%", '%'}}};
        if (tightness == levels.size())
            return operand();
        level(tightness + 1);
        while (true) {
            const auto found = std::find_if(levels[tightness].begin(), levels[tightness].end(),
                                            [&](const Operator &one) { return taken(one.token); });
            if (found == levels[tightness].end())
                return;
            level(tightness + 1);
            add(found->what);
        }
    }

    void operand() {
        if (++depth_ > deepest_expression)
            to_.wrong(at_, "is nested more than " + std::to_string(deepest_expression) + " deep");
        if (at_end())
            to_.wrong(at_, "ends where a number, a size or '(' is expected");
        if (taken("(")) {
            level(0);
            expect(")");
        } else if (taken("-") || taken("!")) {
            const char what = text_[at_ - 1] == '-' ? static_cast<char>(do_negate) : '!';
            operand();
            add(what);
        } else if (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
            Number value{};
            const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
            if (error != std::errc{})
                to_.wrong(at_, "has a number that exceeds 64 bits");
            at_ = static_cast<std::size_t>(end - text_.data());
            add(do_number, value);
        } else {
            named();
        }
        --depth_;
    }

    void named() {
        const std::size_t begin = at_;
        while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                      text_[at_] == '_' || text_[at_] == '.'))
            ++at_;
        const std::string name(text_.substr(begin, at_ - begin));
        if (name.empty())
            to_.wrong(at_,
                      "has '" + std::string(1, text_[at_]) + "' where a number, a size or '(' is expected");
        const auto function =
            std::find_if(expression_functions.begin(), expression_functions.end(), [&](const auto &one) {
                return one.name == name && (!one.of_reals || std::is_floating_point_v<Number>);
            });
        if (function != expression_functions.end()) {
            expect("(");
            level(0);
            if (function->arguments == 2) {
                expect(",");
                level(0);
            }
            expect(")");
            return add(function->what);
        }
        const auto known = std::find(to_.names_.begin(), to_.names_.end(), name);
        to_.steps_.push_back({do_name, {}, static_cast<std::size_t>(known - to_.names_.begin()), begin});
        if (known == to_.names_.end())
            to_.names_.push_back(name);
    }

    Expression &to_;
    std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

template <class Number> Expression<Number>::Expression(std::string text) : text_(std::move(text)) {
    Reader(*this).whole();
}

template <class Number> void Expression<Number>::wrong(std::size_t at, const std::string &what) const {
    throw UsageError("the expression '" + shortened(text_) + "' " + what + " (character " +
                     std::to_string(at + 1) +
                     "); an example: (p * q + 127) / 128, of n c h w k r s p q stride_h pad_h and so on");
}

template <class Number>
void Expression<Number>::unknown(const std::string &name, std::vector<std::string> known) const {
    for (const ExpressionFunction &function : expression_functions)
        if (!function.of_reals || std::is_floating_point_v<Number>)
            known.emplace_back(function.name);
    const auto step = std::find_if(steps_.begin(), steps_.end(), [&](const Step &one) {
        return one.what == do_name && names_[one.name] == name;
    });
    wrong(step->at,
          "has '" + shortened(name) + "', which is not a name of a size" + did_you_mean(name, known));
}

template <class Number> Number Expression<Number>::value(const std::vector<Number> &values) const {
    std::vector<Number> stack;
    stack.reserve(steps_.size());
    for (const Step &step : steps_) {
        if (step.what == do_number || step.what == do_name) {
            stack.push_back(step.what == do_number ? step.number : values[step.name]);
            continue;
        }
        Number b{};
        if (step.what != do_negate && step.what != '!' && step.what != do_floor && step.what != do_ceil)
            b = stack.back(), stack.pop_back();
        stack.back() = applied(step, stack.back(), b);
    }
    return stack.front();
}

template <class Number> Number Expression<Number>::applied(const Step &step, Number a, Number b) const {
    switch (step.what) {
    case '!':
        return a == 0;
    case do_or:
        return a != 0 || b != 0;
    case do_and:
        return a != 0 && b != 0;
    case do_equal:
        return a == b;
    case do_unequal:
        return a != b;
    case do_at_most:
        return a <= b;
    case do_at_least:
        return a >= b;
    case '<':
        return a < b;
    case '>':
        return a > b;
    case do_min:
        return std::min(a, b);
    case do_max:
        return std::max(a, b);
    default:
        break;
    }
    if ((step.what == '/' || step.what == '%') && b == 0)
        wrong(step.at, "divides by zero");
    if (step.what == do_ceil_div && b < 1)
        wrong(step.at, "has a ceil_div by a number below 1");
    if constexpr (std::is_floating_point_v<Number>) {
        switch (step.what) {
        case do_negate:
            return -a;
        case '+':
            return a + b;
        case '-':
            return a - b;
        case '*':
            return a * b;
        case '/':
            return a / b;
        case '%':
            return std::fmod(a, b);
        case do_ceil_div:
            return static_cast<double>(ceil_div(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b)));
        case do_floor:
            return std::floor(a);
        case do_ceil:
            return std::ceil(a);
        case do_power:
            return std::pow(a, b);
        case do_unroll:
            return std::floor(a / b) + std::fmod(a, b);
        default:
            return sectors_of_run(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b));
        }
    } else {
        Number value = 0;
        if (step.what == do_ceil_div)
            return a / b + (a > 0 && a % b != 0 ? 1 : 0);
        if ((step.what == '/' || step.what == '%') && b != -1)
            return step.what == '/' ? a / b : a % b;
        if (step.what == '%')
            return 0;
        const bool negates = step.what == do_negate || step.what == '/';
        const bool exceeds = step.what == '+'   ? __builtin_add_overflow(a, b, &value)
                             : step.what == '*' ? __builtin_mul_overflow(a, b, &value)
                             : negates          ? __builtin_sub_overflow(Number{}, a, &value)
                                                : __builtin_sub_overflow(a, b, &value);
        if (exceeds)
            wrong(step.at, "exceeds 64 bits");
        return value;
    }
}

template class Expression<std::int64_t>;
template class Expression<double>;

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
    const Expression<std::int64_t> expression(text);
    std::vector<std::int64_t> values;
    for (const std::string &name : expression.names()) {
        const auto found = names.find(name);
        if (found == names.end()) {
            std::vector<std::string> known;
            for (const auto &[its, value] : names)
                known.push_back(its);
            expression.unknown(name, std::move(known));
        }
        values.push_back(found->second);
    }
    return expression.value(values);
}

} // namespace convcast
