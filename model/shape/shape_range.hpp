// Many shapes from one: a size that runs through a range, "h=w=28:224:28".
#pragma once

#include "model/shape/conv_shape.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace convcast {

/// The numbers of a range or a list: "28:224:28" from, to, step; "16:1024:*2" from, to, factor; "32,64,132";
/// "64". A range begins at 1 or more; a list may have zeros, as for no padding. At most 10,000 numbers up to
/// 2^40. Throws UsageError with an example; `what`, the message's first words, says what the numbers are for.
std::vector<std::int64_t> number_list(const std::string &text, const std::string &what);

/// The values that one size of a shape runs through, or several sizes that are equal.
struct ShapeRange {
    std::vector<std::string> names; ///< of n c h w k r s str pad dil g; those of one letter as in ConvShape
    std::vector<std::int64_t> values;

    /// Reads "NAME=VALUES" or "NAME=NAME=VALUES", where VALUES is as for number_list. Throws UsageError.
    static ShapeRange parse(const std::string &text);
};

/// Each of `shapes` with each value of the range: the first shape with all values, then the next. Throws
/// UsageError where a value makes no valid shape.
std::vector<ConvShape> swept(const std::vector<ConvShape> &shapes, const ShapeRange &range);

} // namespace convcast
