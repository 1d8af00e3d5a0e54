// How the axes of an ONNX tensor lie in the memory of a tensor of a network. Reshape, Transpose, Flatten,
// Squeeze and Unsqueeze change this view and move nothing; where another order is needed numbers are moved.
#pragma once

#include "model/network/operator.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace convcast {

/// `size` numbers of one image that lie `stride` numbers apart.
struct Factor {
    std::int64_t size = 1, stride = 1;
    bool operator==(const Factor &) const = default;
};

/// One axis of an ONNX tensor: its size is the product of its factors, the first of which changes slowest.
/// The axis of the images has none, and neither has an axis of size 1.
using ViewAxis = std::vector<Factor>;

/// The axes of an ONNX tensor, first that of the images, of size 1: a view does not know how many there are.
class View {
  public:
    View() = default;
    /// Leaves factors of size 1 out, and joins neighbours of an axis that lie in order to one factor.
    explicit View(std::vector<ViewAxis> axes);
    /// Four axes: images, channels, rows and columns of a tensor of this shape.
    static View of_images(const ImageShape &shape);
    /// Two axes: images, and `count` numbers in order.
    static View of_numbers(std::int64_t count);
    /// The first `rank` axes, 2 to 4, of of_images; in the shape the sizes of the others are 1.
    static View of_rank(std::size_t rank, const ImageShape &shape);

    /// Number of axes, that of the images among them.
    std::size_t rank() const { return axes_.size(); }
    std::int64_t size(std::size_t axis) const;
    /// Of all axes; the first is 1.
    std::vector<std::int64_t> sizes() const;
    bool operator==(const View &) const = default;

    /// The same numbers in the same order under axes of these sizes, of which the first, that of the images,
    /// is passed over. Absent where an axis would need a part of a factor that does not divide it.
    std::optional<View> reshaped(const std::vector<std::int64_t> &sizes) const;
    /// Axis i is this one's axis order[i]; order[0] is 0.
    View transposed(const std::vector<std::size_t> &order) const;
    /// The view with `channels` channels instead of this one's. Absent unless `axis` is all channels of maps
    /// of `area` pixels and the other axes are the pixels in their order.
    std::optional<View> with_channels(std::size_t axis, std::int64_t area, std::int64_t channels) const;

    /// Whether the numbers lie in memory in the order of the axes, one behind another.
    bool in_order() const;
    /// The factors of all axes, slowest first, where neighbours that lie in order are joined.
    std::vector<Factor> factors() const;
    /// Sizes behind the images as channels, rows and columns; 1 if missing. Columns are all that remain.
    ImageShape shape() const;

  private:
    std::vector<ViewAxis> axes_;
};

} // namespace convcast
