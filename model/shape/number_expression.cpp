#include "model/shape/number_expression.hpp"

#include "model/base/divide.hpp"
#include "model/base/errors.hpp"
#include "model/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// Sectors that warps touch when they load `floats_of_run` neighbouring floats, a float a lane, which begin
/// behind `first_float` others of aligned memory. A sector that two warps touch counts twice.
double sectors_of_run(double first_float, double floats_of_run) {
    const auto first = static_cast<std::int64_t>(first_float),
               count = static_cast<std::int64_t>(floats_of_run);
    constexpr std::int64_t floats = 8, lanes = 32; // of a sector, of a warp
    double all = 0.0;
    for (std::int64_t begin = 0; begin < count; begin += lanes) {
        const std::int64_t last = std::min(count, begin + lanes) - 1;
        all += double((first + last) / floats - (first + begin) / floats + 1);
    }
    return all;
}

/// Thrown by an operator that has no result for its numbers; value() makes a UsageError of it.
struct NoResult {
    const char *why;
};

/// A sum, difference or product. Throws NoResult where that of whole numbers exceeds 64 bits.
template <char Operator, class Number> Number exact(Number a, Number b) {
    if constexpr (std::is_floating_point_v<Number>) {
        return Operator == '+' ? a + b : Operator == '-' ? a - b : a * b;
    } else {
        Number value{};
        if (Operator == '+'   ? __builtin_add_overflow(a, b, &value)
            : Operator == '-' ? __builtin_sub_overflow(a, b, &value)
                              : __builtin_mul_overflow(a, b, &value))
            throw NoResult{"exceeds 64 bits"};
        return value;
    }
}

template <class Number> Number quotient(Number a, Number b) {
    if (b == 0)
        throw NoResult{"divides by zero"};
    if constexpr (!std::is_floating_point_v<Number>)
        if (b == -1) // the negative of the least number exceeds 64 bits
            return exact<'-'>(Number{}, a);
    return a / b;
}

template <class Number> Number remainder_of(Number a, Number b) {
    if (b == 0)
        throw NoResult{"divides by zero"};
    if constexpr (std::is_floating_point_v<Number>)
        return std::fmod(a, b);
    else
        return b == -1 ? Number{} : a % b;
}

/// a / b rounded up, for b of 1 or more; of doubles, only their whole parts count.
template <class Number> Number divided_up(Number a, Number b) {
    if (b < 1)
        throw NoResult{"has a ceil_div by a number below 1"};
    const auto by = static_cast<std::int64_t>(b), all = static_cast<std::int64_t>(a);
    return static_cast<Number>(all / by + (all > 0 && all % by != 0 ? 1 : 0));
}

} // namespace

template <class Number> struct NumberExpression<Number>::Operator {
    std::string token;
    std::size_t numbers;                 ///< how many it takes, 1 or 2
    Number (*apply)(Number a, Number b); ///< b is 0 and ignored where it takes one
};

template <class Number>
const std::vector<typename NumberExpression<Number>::Operator> &NumberExpression<Number>::operators() {
    static const std::vector<Operator> all = [] {
        using N = Number;
        std::vector<Operator> table = {{"-", 1, [](N a, N) { return exact<'-'>(N{}, a); }},
                                       {"!", 1, [](N a, N) -> N { return a == 0; }},
                                       {"||", 2, [](N a, N b) -> N { return a != 0 || b != 0; }},
                                       {"&&", 2, [](N a, N b) -> N { return a != 0 && b != 0; }},
                                       {"==", 2, [](N a, N b) -> N { return a == b; }},
                                       {"!=", 2, [](N a, N b) -> N { return a != b; }},
                                       {"<", 2, [](N a, N b) -> N { return a < b; }},
                                       {">", 2, [](N a, N b) -> N { return a > b; }},
                                       {"<=", 2, [](N a, N b) -> N { return a <= b; }},
                                       {">=", 2, [](N a, N b) -> N { return a >= b; }},
                                       {"+", 2, exact<'+', N>},
                                       {"-", 2, exact<'-', N>},
                                       {"*", 2, exact<'*', N>},
                                       {"/", 2, quotient<N>},
                                       {"%", 2, remainder_of<N>},
                                       {"min", 2, [](N a, N b) { return std::min(a, b); }},
                                       {"max", 2, [](N a, N b) { return std::max(a, b); }},
                                       {"ceil_div", 2, divided_up<N>}};
        if constexpr (std::is_floating_point_v<N>)
            table.insert(table.end(),
                         {{"floor", 1, [](N a, N) { return std::floor(a); }},
                          {"ceil", 1, [](N a, N) { return std::ceil(a); }},
                          {"pow", 2, [](N a, N b) { return std::pow(a, b); }},
                          {"unrolled", 2, [](N a, N b) { return std::floor(a / b) + std::fmod(a, b); }},
                          {"sectors", 2, sectors_of_run}});
        return table;
    }();
    return all;
}

template <class Number>
NumberExpression<Number>::NumberExpression(std::string text, std::string_view example)
    : text_(std::move(text)), example_(example) {
    add(parse_expression(text_, example_));
}

template <class Number> void NumberExpression<Number>::add(const Expression &part) {
    for (const Expression &its : part.parts)
        add(its);
    Step step;
    step.at = part.at;
    switch (part.kind) {
    case Expression::Kind::number:
        step.number = number_of<Number>(part.token);
        if (!step.number)
            wrong(part.at, "has '" + shortened(part.token) + "' where a " +
                               (std::is_floating_point_v<Number> ? "number" : "whole number") +
                               " is expected that fits 64 bits");
        break;
    case Expression::Kind::text:
        wrong(part.at, "has a text where a number is expected");
    case Expression::Kind::name:
        step.name = as_size(std::ranges::find(names_, part.token) - names_.begin());
        if (step.name == names_.size())
            names_.push_back(part.token);
        break;
    default:
        // "-" is an operator of one number and another of two: the one that fits is preferred.
        for (const Operator &one : operators())
            if (one.token == part.token && (step.applied == nullptr || one.numbers == part.parts.size()))
                step.applied = &one;
        if (step.applied == nullptr)
            wrong(part.at, "has '" + shortened(part.token) + "', which is no function of numbers");
        if (step.applied->numbers != part.parts.size())
            wrong(part.at, "has another number of arguments than " + part.token + " takes, which is of " +
                               (step.applied->numbers == 1 ? "one number" : "two"));
    }
    steps_.push_back(step);
}

template <class Number> void NumberExpression<Number>::wrong(std::size_t at, const std::string &what) const {
    wrong_expression(text_, at, example_, what);
}

template <class Number>
void NumberExpression<Number>::unknown(const std::string &name, std::vector<std::string> known) const {
    const auto step = std::ranges::find_if(steps_, [&](const Step &one) {
        return one.applied == nullptr && !one.number && names_[one.name] == name;
    });
    wrong(step->at, "has '" + shortened(name) + "', which is no name here" + did_you_mean(name, known));
}

template <class Number> Number NumberExpression<Number>::value(const std::vector<Number> &values) const {
    std::vector<Number> stack;
    stack.reserve(steps_.size());
    for (const Step &step : steps_) {
        if (step.applied == nullptr) {
            stack.push_back(step.number ? *step.number : values[step.name]);
            continue;
        }
        Number b{};
        if (step.applied->numbers == 2) // the second number was pushed last
            b = stack.back(), stack.pop_back();
        try {
            stack.back() = step.applied->apply(stack.back(), b);
        } catch (const NoResult &none) {
            wrong(step.at, none.why);
        }
    }
    return stack.front();
}

template class NumberExpression<std::int64_t>;
template class NumberExpression<double>;

std::int64_t evaluate(const std::string &text, const Names &names) {
    const NumberExpression<std::int64_t> expression(
        text, "(p * q + 127) / 128, of n c h w k r s p q stride_h pad_h and so on");
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
