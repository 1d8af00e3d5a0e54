// Whole numbers written as expressions of a shape's sizes: "(p * q + 127) / 128".
#pragma once

#include "model/shape/conv_shape.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace convcast {

/// What a name in an expression stands for.
using Names = std::map<std::string, std::int64_t>;

/// n c h w k r s p q stride_h stride_w pad_h pad_w dilation_h dilation_w groups.
Names names_of(const ConvShape &shape);

/// 64-bit integers with + - * / % and parentheses, comparisons and && || ! (true is 1), min(a, b), max(a, b)
/// and ceil_div(a, b). A division drops the remainder. Throws UsageError where the text is no expression, has
/// a name that is not there, divides by zero or exceeds 64 bits: with the text, the place in it and an
/// example.
std::int64_t evaluate(const std::string &text, const Names &names);

} // namespace convcast
