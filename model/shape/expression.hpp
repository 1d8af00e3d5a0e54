// Numbers written as expressions of names: "(p * q + 127) / 128".
#pragma once

#include "model/shape/conv_shape.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace convcast {

/// What a name in an expression stands for.
using Names = std::map<std::string, std::int64_t>;

/// n c h w k r s p q stride_h stride_w pad_h pad_w dilation_h dilation_w groups.
Names names_of(const ConvShape &shape);

/// A text with + - * / % and parentheses, comparisons and && || ! (true is 1), min(a, b), max(a, b) and
/// ceil_div(a, b), once read. Of std::int64_t a division drops the remainder. Of double there are besides
/// floor(a), ceil(a), pow(a, b), unrolled(n, by), the iterations of a loop that does `by` at a time and the
/// rest one by one, and sectors(first, count), the sectors of 32 bytes that warps touch of `count`
/// neighbouring floats behind `first` others.
template <class Number> class Expression {
  public:
    /// Throws UsageError where the text is no expression: with the text, the place in it and an example.
    explicit Expression(std::string text);

    /// The names in the text, each once.
    const std::vector<std::string> &names() const { return names_; }

    /// `values` are those of the names. Throws UsageError where it divides by zero or exceeds 64 bits.
    Number value(const std::vector<Number> &values) const;

    /// Throws UsageError for a name that is none of the known ones.
    [[noreturn]] void unknown(const std::string &name, std::vector<std::string> known) const;

  private:
    class Reader;
    struct Step {
        char what = 0; ///< of the list in expression.cpp
        Number number{};
        std::size_t name = 0, at = 0; ///< index of names(); place in the text
    };
    [[noreturn]] void wrong(std::size_t at, const std::string &what) const;
    Number applied(const Step &step, Number a, Number b) const;

    std::string text_;
    std::vector<std::string> names_;
    std::vector<Step> steps_; ///< operands before what is done with them
};

/// Throws UsageError where the text is no expression or has a name that is not there.
std::int64_t evaluate(const std::string &text, const Names &names);

} // namespace convcast
