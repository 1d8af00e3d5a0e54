// Many shapes from one: a size that runs through a range, "h=w=28:224:28".
#pragma once

#include "model/shape/conv_shape.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace convcast {

/// Numbers as a range or a list: "28:224:28" from, to, step; "16:1024:*2" from, to, factor; "32,64,132";
/// "64". Positive, at most 10,000 of them. Throws UsageError, naming `what` they are for, with an example.
std::vector<std::int64_t> number_list(const std::string &text, const std::string &what);

/// One size of a shape, or several that are equal, and its values.
struct ShapeRange {
    std::vector<std::string> names; ///< of n c h w k r s str pad dil g
    std::vector<std::int64_t> values;

    /// Of "NAME=VALUES" or "NAME=NAME=VALUES". Throws UsageError.
    static ShapeRange parse(const std::string &text);
};

/// Each of `shapes` with each value of the range, in that order. Throws UsageError where a value makes no
/// shape.
std::vector<ConvShape> swept(const std::vector<ConvShape> &shapes, const ShapeRange &range);

} // namespace convcast
