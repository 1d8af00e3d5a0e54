// Expressions of numbers that are read once and computed often, with different values of their names.
#pragma once

#include "model/shape/expression.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

/// An expression (parse_expression) whose value is a number; Number is std::int64_t or double. It has no
/// texts. Its functions are min(a, b), max(a, b) and ceil_div(a, b). With std::int64_t a division drops the
/// remainder, and what exceeds 64 bits is refused. With double there are also floor(a), ceil(a), pow(a, b),
/// unrolled(n, by): iterations of a loop that does `by` of n at a time and the rest one by one, and
/// sectors(first, count): 32-byte sectors that warps touch when they load `count` neighbouring floats, which
/// begin behind `first` others.
template <class Number> class NumberExpression {
  public:
    /// Throws UsageError where the text is no expression, or has a function that does not exist. `example` is
    /// the end of that message and must outlive this.
    explicit NumberExpression(std::string text, std::string_view example = "ceil_div(images, 8) * conv1.k");

    /// The names in the text, each once, in the order in which they first stand there.
    const std::vector<std::string> &names() const { return names_; }

    /// The value of the expression, where values[i] is that of names()[i]. Throws UsageError where it divides
    /// by zero or exceeds 64 bits.
    Number value(const std::vector<Number> &values) const;

    /// Throws UsageError: `name`, one of names(), is none of the `known` ones.
    [[noreturn]] void unknown(const std::string &name, std::vector<std::string> known) const;

  private:
    struct Operator; ///< an operator or a function, of one number or two
    static const std::vector<Operator> &operators();
    /// A step of a stack machine (reverse Polish notation). It applies `applied` to what was pushed last, if
    /// that is not null; else it pushes `number` or, if that is absent, the value of a name.
    struct Step {
        std::size_t at = 0; ///< place in the text
        const Operator *applied = nullptr;
        std::optional<Number> number;
        std::size_t name = 0; ///< index of names()
    };
    /// Appends the steps of a part: those of its operands, then its own.
    void add(const Expression &part);
    [[noreturn]] void wrong(std::size_t at, const std::string &what) const;

    std::string text_;
    std::string_view example_;
    std::vector<std::string> names_;
    std::vector<Step> steps_;
};

/// The value of an expression of 64-bit integers: + - * / % and parentheses, comparisons and && || ! (true is
/// 1), min(a, b), max(a, b) and ceil_div(a, b). A division drops the remainder. Throws UsageError where the
/// text is no expression, has a name that is none of `names`, divides by zero or exceeds 64 bits: with the
/// text, the place in it and an example.
std::int64_t evaluate(const std::string &text, const Names &names);

} // namespace convcast
