#include "model/network/onnx/view.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// Without factors of size 1, neighbours that lie in order taken together.
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

View::View(std::vector<ViewSize> sizes) : sizes_(std::move(sizes)) {
    for (ViewSize &size : sizes_)
        size = joined(size);
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
        view.sizes_.pop_back();
    return view;
}

std::int64_t View::size(std::size_t at) const {
    std::int64_t product = 1;
    for (const Factor &factor : sizes_[at])
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
    for (const ViewSize &size : sizes_)
        all.insert(all.end(), size.begin(), size.end());
    return joined(all);
}

bool View::in_order() const {
    const std::vector<Factor> all = factors();
    return all.empty() || (all.size() == 1 && all.front().stride == 1);
}

std::optional<View> View::reshaped(const std::vector<std::int64_t> &sizes) const {
    std::vector<Factor> left = factors();
    std::reverse(left.begin(), left.end()); // the slowest last
    std::vector<ViewSize> out = {{}};
    for (std::size_t i = 1; i < sizes.size(); ++i) {
        ViewSize &size = out.emplace_back();
        for (std::int64_t wanted = sizes[i]; wanted > 1;) {
            if (left.empty())
                return std::nullopt;
            Factor &slowest = left.back();
            if (wanted % slowest.size == 0) {
                size.push_back(slowest);
                wanted /= slowest.size;
                left.pop_back();
            } else if (slowest.size % wanted == 0) {
                slowest.size /= wanted;
                size.push_back({wanted, slowest.size * slowest.stride});
                wanted = 1;
            } else {
                return std::nullopt;
            }
        }
    }
    return left.empty() ? std::optional(View(std::move(out))) : std::nullopt;
}

View View::transposed(const std::vector<std::size_t> &order) const {
    std::vector<ViewSize> out;
    for (const std::size_t at : order)
        out.push_back(sizes_[at]);
    return View(std::move(out));
}

std::optional<View> View::with_channels(std::size_t at, std::int64_t area, std::int64_t channels) const {
    std::vector<ViewSize> sizes = sizes_, pixels = sizes_;
    pixels.erase(pixels.begin() + static_cast<std::ptrdiff_t>(at));
    const ViewSize &its = sizes_[at];
    if ((!its.empty() && (its.size() != 1 || its.front().stride != area)) || !View(pixels).in_order())
        return std::nullopt;
    sizes[at] = {{channels, area}};
    return View(std::move(sizes));
}

ImageShape View::shape() const {
    ImageShape out{1, 1, 1};
    for (std::size_t i = 1; i < rank(); ++i)
        out[std::min<std::size_t>(i, 3) - 1] *= size(i);
    return out;
}

} // namespace convcast
