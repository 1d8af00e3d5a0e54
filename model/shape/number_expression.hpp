// Expressions of numbers that are read once and computed often, for other values of their names each time.
#pragma once

#include "model/shape/expression.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

/// It has no texts, but min(a, b), max(a, b) and ceil_div(a, b). Of std::int64_t a division drops the
/// remainder, and what exceeds 64 bits is refused. Of double there are besides floor(a), ceil(a), pow(a, b),
/// unrolled(n, by), the iterations of a loop that does `by` at a time and the rest one by one, and
/// sectors(first, count), the sectors of 32 bytes that warps touch of `count` neighbouring floats behind
/// `first` others.
template <class Number> class NumberExpression {
  public:
    /// Throws UsageError where the text is no expression, or has a function that is not there.
    explicit NumberExpression(std::string text, std::string_view example = "ceil_div(images, 8) * conv1.k");

    /// The names in the text, each once.
    const std::vector<std::string> &names() const { return names_; }

    /// `values` are those of the names. Throws UsageError where it divides by zero or exceeds 64 bits.
    Number value(const std::vector<Number> &values) const;

    /// Throws UsageError for a name that is none of the known ones.
    [[noreturn]] void unknown(const std::string &name, std::vector<std::string> known) const;

  private:
    struct Operator; ///< or a function, of one number or two
    static const std::vector<Operator> &operators();
    /// Pushes a number, or what a name stands for, or applies an operator to what was pushed last.
    struct Step {
        std::size_t at = 0; ///< place in the text
        const Operator *applied = nullptr;
        std::optional<Number> number;
        std::size_t name = 0; ///< index of names()
    };
    void add(const Expression &part);
    [[noreturn]] void wrong(std::size_t at, const std::string &what) const;

    std::string text_;
    std::string_view example_;
    std::vector<std::string> names_;
    std::vector<Step> steps_; ///< operands before what is done with them
};

/// 64-bit integers with + - * / % and parentheses, comparisons and && || ! (true is 1), min(a, b), max(a, b)
/// and ceil_div(a, b). A division drops the remainder. Throws UsageError where the text is no expression, has
/// a name that is not there, divides by zero or exceeds 64 bits: with the text, the place in it and an
/// example.
std::int64_t evaluate(const std::string &text, const Names &names);

} // namespace convcast
