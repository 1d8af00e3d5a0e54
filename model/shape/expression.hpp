// Expressions as documents write them, read into a tree: "(p * q + 127) / 128", and with fractions, texts and
// dotted names "geomean(chen / chang, h < 32)".
#pragma once

#include "model/shape/conv_shape.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

/// An expression as a tree: a number, text or name, or a call or operation with its parts.
struct Expression {
    enum class Kind { number, text, name, call, operation };
    Kind kind = Kind::number;
    std::string token; ///< the number, the text, the name or the operator ("-" and "!" of one part too)
    std::vector<Expression> parts; ///< arguments or operands
    std::size_t at = 0;            ///< where it begins in the text
};

/// Reads an expression into a tree. Operators from the loosest to the tightest: || then && then == != then <
/// <= > >= then + - then * / %, and - ! before an operand; parentheses and calls with commas. Numbers may
/// have a point and an exponent, texts stand in single quotes, names may have dots. Whether a name or
/// function exists is not looked at. Throws UsageError with the text, the place and the example, also for
/// more than 1000 characters or 100 levels.
Expression parse_expression(const std::string &text,
                            std::string_view example = "geomean(chen / chang, h < 32)");

/// Throws UsageError: what is wrong with `text` at the byte `at`, counted from 0; it ends with `example`.
[[noreturn]] void wrong_expression(std::string_view text, std::size_t at, std::string_view example,
                                   const std::string &what);

/// The numbers that names in an expression of whole numbers stand for.
using Names = std::map<std::string, std::int64_t>;

/// A shape's sizes: n c h w k r s p q stride_h stride_w pad_h pad_w dilation_h dilation_w groups.
Names names_of(const ConvShape &shape);

} // namespace convcast
