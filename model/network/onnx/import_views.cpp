// Nodes that compute with sizes, and those that only change the sizes of a tensor.
#include "model/network/onnx/importer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast::onnx {

bool Importer::take_numbers() {
    if (node_->type == "Constant") {
        Numbers its;
        for (const char *name : {"value", "value_int", "value_ints", "value_float", "value_floats"})
            if (const std::vector<double> found = attribute(*node_, name); !found.empty()) {
                its.values = found;
                its.real = std::string_view(name).starts_with("value_float");
            }
        if (const auto known = constants_.find(node_->outputs.empty() ? "" : node_->outputs.front());
            known != constants_.end()) {
            its.sizes = known->second->sizes;
            its.real = is_real(*known->second);
        } else if (its.values.size() != 1)
            its.sizes = {static_cast<std::int64_t>(its.values.size())};
        return give(std::move(its));
    }
    if (node_->type == "Shape" && input(0) != nullptr) {
        std::vector<std::int64_t> sizes = input(0)->sizes();
        if (tensor(0) && !sizes.empty())
            sizes.front() = std::max<std::int64_t>(1, fixed_images_);
        const auto count = static_cast<std::int64_t>(sizes.size());
        const auto place = [&](const char *name, std::int64_t otherwise) {
            const std::int64_t at = integer(name, otherwise);
            return std::clamp<std::int64_t>(at < 0 ? at + count : at, 0, count);
        };
        const std::int64_t begin = place("start", 0), end = std::max(begin, place("end", count));
        return give(Numbers{{end - begin}, {sizes.begin() + begin, sizes.begin() + end}});
    }
    std::vector<std::optional<Numbers>> inputs;
    for (std::size_t i = 0; i < node_->inputs.size(); ++i) {
        if (tensor(i))
            return false;
        inputs.push_back(constant(i) ? std::optional(*constant(i)) : std::nullopt);
    }
    std::optional<Numbers> numbers = computed(*node_, inputs);
    return numbers && give(std::move(*numbers));
}

bool Importer::take_view() {
    const std::string &type = node_->type;
    const Value *in = tensor(0);
    if (!in)
        return false;
    const View &view = in->view;
    const std::int64_t to = integer("to", 1);
    if (passes_on(*node_) && (type != "Cast" || is_real_type(to)))
        return give(*in);
    if (type == "Transpose") {
        std::vector<std::size_t> order;
        for (const std::int64_t at : integers(*node_, "perm"))
            order.push_back(static_cast<std::size_t>(at));
        std::vector<std::size_t> sorted = order;
        std::sort(sorted.begin(), sorted.end());
        for (std::size_t i = 0; i < sorted.size(); ++i)
            if (sorted[i] != i || sorted.size() != view.rank() || order.front() != 0)
                return false;
        return !order.empty() && give(*in, view.transposed(order));
    }
    if (type == "Squeeze" || type == "Unsqueeze") {
        const std::vector<double> axes = given(1, "axes");
        // The only image of a batch goes with the other sizes of 1: then the axes have other numbers here.
        const bool one_image = type == "Squeeze" && axes.empty() && fixed_images_ == 1;
        const auto sizes = with_or_without_ones(*node_, view.sizes(), axes, 1);
        if (!known_from(1) || !sizes || (one_image && sizes->size() > 2))
            return false;
        return give(*in, *view.reshaped(*sizes));
    }
    if (type == "Flatten") {
        const std::int64_t axis = integer("axis", 1);
        return (axis == 1 || axis + static_cast<std::int64_t>(view.rank()) == 1) && reshape(*in, {0, -1});
    }
    if (type == "Reshape" && constant(1) && constant(1)->known())
        return reshape(*in, as_integers(constant(1)->values));
    return false;
}

bool Importer::reshape(Value value, std::vector<std::int64_t> sizes) {
    const std::int64_t all = elements(value.shape);
    std::int64_t product = 1;
    std::optional<std::size_t> open;
    if (fixed_images_ > 1 && !sizes.empty() && sizes.front() == 1)
        return false; // all images as one
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] == 0 && i < value.view.rank())
            sizes[i] = value.view.size(i);
        if (i == 0 && fixed_images_ > 0 && sizes[i] == fixed_images_)
            sizes[i] = 1;
        if (sizes[i] == -1)
            open = i;
        else if (!is_size(sizes[i]) || (product *= sizes[i]) > most_size)
            return false;
    }
    if (open)
        sizes[*open] = all / product, product *= sizes[*open];
    if (sizes.empty() || sizes.front() != 1 || product != all)
        return false;
    auto view = value.view.reshaped(sizes);
    if (!view) {
        value = plain(value);
        view = value.view.reshaped(sizes);
    }
    return view && give(std::move(value), std::move(*view));
}

} // namespace convcast::onnx
