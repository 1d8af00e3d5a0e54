// How the sizes of an ONNX tensor lie in the memory of a tensor of a network. Reshape, Transpose, Flatten,
// Squeeze and Unsqueeze change this view and move nothing; only what needs the numbers in another order has
// them moved.
#pragma once

#include "model/network/operator.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace convcast {

/// So many numbers, `stride` apart in one image.
struct Factor {
    std::int64_t size = 1, stride = 1;
    bool operator==(const Factor &) const = default;
};

/// One size of an ONNX tensor: the product of its factors, the first of which changes slowest. The number of
/// images and a size of 1 have none.
using ViewSize = std::vector<Factor>;

class View {
  public:
    View() = default;
    /// Leaves factors of 1 out, and takes neighbours in a size together that lie in order.
    explicit View(std::vector<ViewSize> sizes);
    /// Images, channels, rows, columns of a tensor of this shape.
    static View of_images(const ImageShape &shape);
    /// Images, numbers.
    static View of_numbers(std::int64_t count);
    /// Images and as many sizes of the shape as make this rank, 2 to 4; the others are 1.
    static View of_rank(std::size_t rank, const ImageShape &shape);

    std::size_t rank() const { return sizes_.size(); }
    std::int64_t size(std::size_t at) const;
    std::vector<std::int64_t> sizes() const;
    const ViewSize &operator[](std::size_t at) const { return sizes_[at]; }
    bool operator==(const View &) const = default;

    /// Behind the first size, which is that of the images.
    std::optional<View> reshaped(const std::vector<std::int64_t> &sizes) const;
    View transposed(const std::vector<std::size_t> &order) const;
    /// With a size of `channels` where this one has channels; absent unless size `at` is all channels of maps
    /// of `area` pixels and the others are the pixels in their order.
    std::optional<View> with_channels(std::size_t at, std::int64_t area, std::int64_t channels) const;

    /// Whether the numbers lie one behind another as the sizes say.
    bool in_order() const;
    /// All factors but those of size 1, neighbours that lie in order taken together.
    std::vector<Factor> factors() const;
    /// Sizes behind the images as channels, rows and columns: missing ones are 1, surplus ones are taken
    /// together.
    ImageShape shape() const;

  private:
    std::vector<ViewSize> sizes_;
};

} // namespace convcast
