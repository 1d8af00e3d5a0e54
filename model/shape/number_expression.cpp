#include "model/shape/number_expression.hpp"

#include "model/base/errors.hpp"
#include "model/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>

namespace convcast {
namespace {

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

template <class Number>
NumberExpression<Number>::NumberExpression(std::string text, ExpressionGrammar grammar)
    : text_(std::move(text)), grammar_(grammar) {
    add(parse_expression(text_, grammar_));
}

template <class Number> void NumberExpression<Number>::add(const Expression &part) {
    static const std::map<std::string, Doing> operators = {
        {"||", Doing::either}, {"&&", Doing::both},   {"==", Doing::same},    {"!=", Doing::other},
        {"<", Doing::less},    {">", Doing::more},    {"<=", Doing::at_most}, {">=", Doing::at_least},
        {"+", Doing::plus},    {"-", Doing::minus},   {"*", Doing::times},    {"/", Doing::over},
        {"%", Doing::rest},    {"min", Doing::least}, {"max", Doing::most},   {"ceil_div", Doing::divide_up}};
    static const std::map<std::string, Doing> of_reals = {{"floor", Doing::down},
                                                          {"ceil", Doing::up},
                                                          {"pow", Doing::power},
                                                          {"unrolled", Doing::unroll},
                                                          {"sectors", Doing::touch}};
    for (const Expression &its : part.parts)
        add(its);
    Step step;
    step.at = part.at;
    if (part.kind == Expression::Kind::number) {
        const std::optional<Number> number = number_of<Number>(part.token);
        if (!number)
            wrong(part.at,
                  "has '" + shortened(part.token) + "' where a number is expected that fits 64 bits");
        step.number = *number;
    } else if (part.kind == Expression::Kind::name) {
        step.what = Doing::name;
        step.name =
            static_cast<std::size_t>(std::find(names_.begin(), names_.end(), part.token) - names_.begin());
        if (step.name == names_.size())
            names_.push_back(part.token);
    } else if (part.kind == Expression::Kind::text) {
        wrong(part.at, "has a text where a number is expected");
    } else if (part.kind == Expression::Kind::operation && part.parts.size() == 1) {
        step.what = part.token == "-" ? Doing::negate : Doing::no;
    } else {
        auto found = operators.find(part.token);
        if (found == operators.end())
            if constexpr (std::is_floating_point_v<Number>)
                found = of_reals.find(part.token);
        const bool known = found != operators.end() && found != of_reals.end();
        if (!known)
            wrong(part.at, "has '" + shortened(part.token) + "', which is no function of numbers");
        step.what = found->second;
        if (part.parts.size() != (of_one(step.what) ? 1U : 2U))
            wrong(part.at, "has another number of arguments than " + part.token + " takes, which is of " +
                               (of_one(step.what) ? "one number" : "two"));
    }
    steps_.push_back(step);
}

template <class Number> void NumberExpression<Number>::wrong(std::size_t at, const std::string &what) const {
    const bool whole = grammar_ == ExpressionGrammar::whole_numbers;
    wrong_expression(text_, at, whole ? whole_numbers_example : "ceil_div(images, 8) * conv1.k", what);
}

template <class Number>
void NumberExpression<Number>::unknown(const std::string &name, std::vector<std::string> known) const {
    const auto step = std::find_if(steps_.begin(), steps_.end(), [&](const Step &one) {
        return one.what == Doing::name && names_[one.name] == name;
    });
    wrong(step->at, "has '" + shortened(name) + "', which is no name here" + did_you_mean(name, known));
}

template <class Number> Number NumberExpression<Number>::value(const std::vector<Number> &values) const {
    std::vector<Number> stack;
    stack.reserve(steps_.size());
    for (const Step &step : steps_) {
        if (step.what == Doing::number || step.what == Doing::name) {
            stack.push_back(step.what == Doing::number ? step.number : values[step.name]);
            continue;
        }
        Number b{};
        if (!of_one(step.what))
            b = stack.back(), stack.pop_back();
        stack.back() = applied(step, stack.back(), b);
    }
    return stack.front();
}

/// A sum, a difference or a product.
template <class Number> Number NumberExpression<Number>::exact(const Step &step, Number a, Number b) const {
    if constexpr (std::is_floating_point_v<Number>) {
        return step.what == Doing::plus ? a + b : step.what == Doing::minus ? a - b : a * b;
    } else {
        Number value{};
        const bool exceeds = step.what == Doing::plus    ? __builtin_add_overflow(a, b, &value)
                             : step.what == Doing::minus ? __builtin_sub_overflow(a, b, &value)
                                                         : __builtin_mul_overflow(a, b, &value);
        if (exceeds)
            wrong(step.at, "exceeds 64 bits");
        return value;
    }
}

template <class Number> Number NumberExpression<Number>::applied(const Step &step, Number a, Number b) const {
    constexpr bool real = std::is_floating_point_v<Number>;
    const auto whole = [](Number n) { return static_cast<std::int64_t>(n); };
    if ((step.what == Doing::over || step.what == Doing::rest) && b == 0)
        wrong(step.at, "divides by zero");
    if (step.what == Doing::divide_up && b < 1)
        wrong(step.at, "has a ceil_div by a number below 1");
    if constexpr (!real)
        if (b == -1 &&
            (step.what == Doing::over || step.what == Doing::rest)) // the least number has no other sign
            return step.what == Doing::rest ? 0 : exact({.what = Doing::minus, .at = step.at}, 0, a);
    switch (step.what) {
    case Doing::negate:
        return exact({.what = Doing::minus, .at = step.at}, Number{}, a);
    case Doing::no:
        return a == 0;
    case Doing::either:
        return a != 0 || b != 0;
    case Doing::both:
        return a != 0 && b != 0;
    case Doing::same:
        return a == b;
    case Doing::other:
        return a != b;
    case Doing::less:
        return a < b;
    case Doing::more:
        return a > b;
    case Doing::at_most:
        return a <= b;
    case Doing::at_least:
        return a >= b;
    case Doing::plus:
    case Doing::minus:
    case Doing::times:
        return exact(step, a, b);
    case Doing::over:
        return a / b;
    case Doing::rest:
        if constexpr (real)
            return std::fmod(a, b);
        else
            return a % b;
    case Doing::least:
        return std::min(a, b);
    case Doing::most:
        return std::max(a, b);
    case Doing::divide_up:
        return static_cast<Number>(whole(a) / whole(b) + (whole(a) > 0 && whole(a) % whole(b) != 0 ? 1 : 0));
    default:
        break;
    }
    if constexpr (real)
        switch (step.what) {
        case Doing::down:
            return std::floor(a);
        case Doing::up:
            return std::ceil(a);
        case Doing::power:
            return std::pow(a, b);
        case Doing::unroll:
            return std::floor(a / b) + std::fmod(a, b);
        default:
            return sectors_of_run(whole(a), whole(b));
        }
    return a;
}

template class NumberExpression<std::int64_t>;
template class NumberExpression<double>;

std::int64_t evaluate(const std::string &text, const Names &names) {
    const NumberExpression<std::int64_t> expression(text, ExpressionGrammar::whole_numbers);
    std::vector<std::int64_t> values;
    for (const std::string &name : expression.names()) {
        const auto found = names.find(name);
        if (found == names.end()) {
            std::vector<std::string> known = {"min", "max", "ceil_div"};
            for (const auto &[its, value] : names)
                known.push_back(its);
            expression.unknown(name, std::move(known));
        }
        values.push_back(found->second);
    }
    return expression.value(values);
}

} // namespace convcast
