#include "model/network/onnx/view.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// Without factors of size 1; neighbours that lie in order are one factor.
std::vector<Factor> joined(const std::vector<Factor> &factors) {
    std::vector<Factor> out;
    for (const Factor &factor : factors) {
        if (factor.size == 1)
            continue;
        if (!out.empty() && out.back().stride == factor.size * factor.stride)
            out.back() = {out.back().size * factor.size, factor.stride};
        else
            out.push_back(factor);
    }
    return out;
}

} // namespace

View::View(std::vector<ViewAxis> axes) : axes_(std::move(axes)) {
    for (ViewAxis &axis : axes_)
        axis = joined(axis);
}

View View::of_images(const ImageShape &shape) {
    return View({{}, {{shape[0], shape[1] * shape[2]}}, {{shape[1], shape[2]}}, {{shape[2], 1}}});
}

View View::of_numbers(std::int64_t count) {
    return View({{}, {{count, 1}}});
}

View View::of_rank(std::size_t rank, const ImageShape &shape) {
    View view = of_images(shape);
    while (view.rank() > std::max<std::size_t>(rank, 1))
        view.axes_.pop_back();
    return view;
}

std::int64_t View::size(std::size_t axis) const {
    std::int64_t product = 1;
    for (const Factor &factor : axes_[axis])
        product *= factor.size;
    return product;
}

std::vector<std::int64_t> View::sizes() const {
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i < rank(); ++i)
        out.push_back(size(i));
    return out;
}

std::vector<Factor> View::factors() const {
    std::vector<Factor> all;
    for (const ViewAxis &axis : axes_)
        all.insert(all.end(), axis.begin(), axis.end());
    return joined(all);
}

bool View::in_order() const {
    const std::vector<Factor> all = factors();
    return all.empty() || (all.size() == 1 && all.front().stride == 1);
}

std::optional<View> View::reshaped(const std::vector<std::int64_t> &sizes) const {
    std::vector<Factor> left = factors();   // that no axis has yet
    std::reverse(left.begin(), left.end()); // the slowest last
    std::vector<ViewAxis> out = {{}};       // the images
    for (std::size_t i = 1; i < sizes.size(); ++i) {
        ViewAxis &axis = out.emplace_back();
        for (std::int64_t wanted = sizes[i];
             wanted > 1;) { // the axis takes slow factors until it has its size
            if (left.empty())
                return std::nullopt;
            Factor &slowest = left.back();
            if (wanted % slowest.size == 0) {
                axis.push_back(slowest);
                wanted /= slowest.size;
                left.pop_back();
            } else if (slowest.size % wanted == 0) { // its slow part; the fast part is left for the next axes
                slowest.size /= wanted;
                axis.push_back({wanted, slowest.size * slowest.stride});
                wanted = 1;
            } else {
                return std::nullopt;
            }
        }
    }
    return left.empty() ? std::optional(View(std::move(out))) : std::nullopt;
}

View View::transposed(const std::vector<std::size_t> &order) const {
    std::vector<ViewAxis> out;
    for (const std::size_t axis : order)
        out.push_back(axes_[axis]);
    return View(std::move(out));
}

std::optional<View> View::with_channels(std::size_t axis, std::int64_t area, std::int64_t channels) const {
    std::vector<ViewAxis> axes = axes_, pixels = axes_;
    pixels.erase(pixels.begin() + static_cast<std::ptrdiff_t>(axis));
    const ViewAxis &its = axes_[axis]; // no factor: one channel
    if ((!its.empty() && (its.size() != 1 || its.front().stride != area)) || !View(pixels).in_order())
        return std::nullopt;
    axes[axis] = {{channels, area}};
    return View(std::move(axes));
}

ImageShape View::shape() const {
    ImageShape out{1, 1, 1};
    for (std::size_t i = 1; i < rank(); ++i)
        out[std::min<std::size_t>(i, 3) - 1] *= size(i);
    return out;
}

} // namespace convcast
