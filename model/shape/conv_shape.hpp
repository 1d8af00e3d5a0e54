// The convolution being forecast: cuDNN's letters (docs/notation.md maps the papers').
#pragma once

#include "model/base/units.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace convcast {

enum class DataType { f32, f16, i8 };

/// Cross-correlation of an n x c x h x w input (NCHW) with k filters of c/groups x r x s (KCRS).
/// All sizes in elements. `parse` gives valid shapes only; who sets the sizes otherwise calls `validate`, and
/// what other functions return holds for valid shapes.
struct ConvShape {
    std::int64_t n = 1, c = 1, h = 1, w = 1, k = 1, r = 1, s = 1;
    std::int64_t stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0, dilation_h = 1, dilation_w = 1;
    std::int64_t groups = 1;
    DataType dtype = DataType::f32;

    bool operator==(const ConvShape &) const = default;

    std::int64_t p() const;             ///< output rows
    std::int64_t q() const;             ///< output columns
    std::int64_t element_bytes() const; ///< of input and filters
    std::int64_t
    result_bytes() const; ///< of an output element: int8 accumulates and writes int32, half writes half
    std::int64_t input_elements() const { return n * c * h * w; }
    std::int64_t filter_elements() const { return k * (c / groups) * r * s; }
    std::int64_t output_elements() const { return n * k * p() * q(); }
    std::int64_t input_bytes() const { return input_elements() * element_bytes(); }
    std::int64_t filter_bytes() const { return filter_elements() * element_bytes(); }
    std::int64_t output_bytes() const;
    std::int64_t products() const { return c / groups * r * s; } ///< multiply-adds of one output
    Fmas fmas() const;                                           ///< multiply-adds of the direct algorithm
    Bytes bytes() const; ///< compulsory traffic: input and filters read once, output written once

    /// "n1c64h56w56k64r3s3", then only what differs from the default: "_str2x2_pad1x1_dil2x2_g8_f16".
    std::string id() const;

    /// Inverse of `id`, in small or capital letters. Throws UsageError naming the part that is wrong, with an
    /// example.
    static ConvShape parse(const std::string &text);

    /// Throws UsageError unless every size is from 1 to 2^40, padding from 0 to 2^20, groups divide c and k,
    /// the filter fits the padded input and no tensor has more than 2^62 bytes.
    void validate() const;
};

/// A size of a shape by the name that documents and expressions give it, and its default.
struct ShapeSize {
    const char *name;
    std::int64_t ConvShape::*size;
    std::optional<std::int64_t> usual; ///< its default in a shape's text; absent: the text must have it
};
/// All sizes; those without a default come first, in the order in which a shape's text has them.
inline constexpr ShapeSize shape_sizes[] = {{"n", &ConvShape::n, {}},
                                            {"c", &ConvShape::c, {}},
                                            {"h", &ConvShape::h, {}},
                                            {"w", &ConvShape::w, {}},
                                            {"k", &ConvShape::k, {}},
                                            {"r", &ConvShape::r, {}},
                                            {"s", &ConvShape::s, {}},
                                            {"stride_h", &ConvShape::stride_h, 1},
                                            {"stride_w", &ConvShape::stride_w, 1},
                                            {"pad_h", &ConvShape::pad_h, 0},
                                            {"pad_w", &ConvShape::pad_w, 0},
                                            {"dilation_h", &ConvShape::dilation_h, 1},
                                            {"dilation_w", &ConvShape::dilation_w, 1},
                                            {"groups", &ConvShape::groups, 1}};

} // namespace convcast
