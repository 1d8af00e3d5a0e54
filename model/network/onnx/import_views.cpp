// Nodes that compute with sizes, and those that only change the sizes of a tensor or of a constant.
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
        Value value;
        value.numbers = Numbers{};
        for (const char *name : {"value", "value_int", "value_ints", "value_float", "value_floats"})
            if (const std::vector<double> found = attribute(*node_, name); !found.empty()) {
                value.numbers->values = found;
                value.numbers->real = std::string_view(name).starts_with("value_float");
            }
        if (const auto known = constants_.find(node_->outputs.empty() ? "" : node_->outputs.front());
            known != constants_.end()) {
            value.constant_sizes = known->second->sizes;
            value.numbers->real = is_real(*known->second);
        } else if (value.numbers->values.size() != 1)
            value.constant_sizes = {static_cast<std::int64_t>(value.numbers->values.size())};
        value.numbers->sizes = value.constant_sizes;
        if (value.numbers->values.empty() && value.constant_count() != 0)
            value.numbers.reset();
        give(std::move(value));
        return true;
    }
    if (node_->type == "Shape" && input(0) != nullptr) {
        Value value;
        std::vector<std::int64_t> sizes = input(0)->sizes();
        if (tensor(0) && !sizes.empty())
            sizes.front() = std::max<std::int64_t>(1, fixed_images_);
        const auto count = static_cast<std::int64_t>(sizes.size());
        const auto place = [&](const char *name, std::int64_t otherwise) {
            const std::int64_t at = integers(*node_, name, {otherwise}).front();
            return std::clamp<std::int64_t>(at < 0 ? at + count : at, 0, count);
        };
        const std::int64_t begin = place("start", 0), end = std::max(begin, place("end", count));
        value.numbers.emplace();
        for (std::int64_t i = begin; i < end; ++i)
            value.numbers->values.push_back(static_cast<double>(sizes[static_cast<std::size_t>(i)]));
        value.constant_sizes = value.numbers->sizes = {end - begin};
        give(std::move(value));
        return true;
    }
    std::vector<std::optional<Numbers>> inputs;
    for (std::size_t i = 0; i < node_->inputs.size(); ++i) {
        if (tensor(i))
            return false;
        inputs.push_back(input(i) ? input(i)->numbers : std::nullopt);
    }
    if (const Value *in = input(0); in && take_constant_view(*in))
        return true;
    std::optional<Numbers> numbers = computed(*node_, inputs);
    if (!numbers)
        return false;
    Value value;
    value.constant_sizes = numbers->sizes;
    value.numbers = std::move(numbers);
    give(std::move(value));
    return true;
}

bool Importer::take_constant_view(const Value &in) {
    const std::string &type = node_->type;
    Value out = in;
    std::vector<std::int64_t> &sizes = out.constant_sizes;
    const auto rank = static_cast<std::int64_t>(sizes.size());
    if ((type == "Identity" || type == "Cast") && !in.numbers) {
        // its sizes stay
    } else if (type == "Transpose" && !in.numbers) {
        std::vector<std::int64_t> order = integers(*node_, "perm");
        for (std::int64_t i = rank; static_cast<std::int64_t>(order.size()) < rank && i-- > 0;)
            order.push_back(i);
        for (std::size_t i = 0; i < order.size(); ++i)
            if (order[i] < 0 || order[i] >= rank || order.size() != sizes.size())
                return false;
            else
                sizes[i] = in.constant_sizes[static_cast<std::size_t>(order[i])];
    } else if (type == "Reshape" && input(1) && input(1)->numbers && !in.numbers) {
        sizes = as_integers(input(1)->numbers->values);
        std::int64_t known = 1;
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            if (sizes[i] == 0 && i < in.constant_sizes.size())
                sizes[i] = in.constant_sizes[i];
            known = sizes[i] > 0 ? std::min(most_size, known * std::min(most_size, sizes[i])) : known;
        }
        std::replace(sizes.begin(), sizes.end(), std::int64_t{-1}, in.constant_count() / known);
    } else if ((type == "Unsqueeze" || type == "Squeeze") && rank > 0) {
        const bool changed = change_sizes(
            sizes.size(), 0, [&](std::size_t at) { return sizes[at]; },
            [&](std::size_t at) { sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(at)); },
            [&](std::size_t at) { sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(at), 1); });
        if (!changed)
            return false;
        if (out.numbers)
            out.numbers->sizes = sizes;
    } else {
        return false;
    }
    give(std::move(out));
    return true;
}

bool Importer::take_view() {
    const std::string &type = node_->type;
    const Value *in = tensor(0);
    if (!in)
        return false;
    Value value = *in;
    const auto rank = static_cast<std::int64_t>(value.view.rank());
    const std::vector<std::int64_t> to = integers(*node_, "to", {1});
    const bool real = to.front() == 1 || to.front() == 10 || to.front() == 11 || to.front() == 16;
    if (passes_on(*node_) && (type != "Cast" || real)) {
        give(std::move(value));
        return true;
    }
    if (type == "Transpose") {
        std::vector<std::size_t> order;
        for (const std::int64_t at : integers(*node_, "perm"))
            order.push_back(static_cast<std::size_t>(at));
        std::vector<std::size_t> sorted = order;
        std::sort(sorted.begin(), sorted.end());
        for (std::size_t i = 0; i < sorted.size(); ++i)
            if (sorted[i] != i || static_cast<std::int64_t>(sorted.size()) != rank || order.front() != 0)
                return false;
        if (order.empty())
            return false;
        value.view = value.view.transposed(order);
        give(std::move(value));
        return true;
    }
    if (type == "Squeeze" || type == "Unsqueeze") {
        // The only image of a batch goes with the other sizes of 1: then the axes have other numbers here.
        const bool one_image = type == "Squeeze" && !names_axes() && fixed_images_ == 1;
        const bool changed = change_sizes(
            value.view.rank(), 1, [&](std::size_t at) { return value.view.size(at); },
            [&](std::size_t at) { value.view = value.view.without(at); },
            [&](std::size_t at) { value.view = value.view.with_one(at); });
        if (!changed || (one_image && value.view.rank() > 2))
            return false;
        give(std::move(value));
        return true;
    }
    if (type == "Flatten") {
        const std::int64_t axis = integers(*node_, "axis", {1}).front();
        return (axis == 1 || axis + rank == 1) && reshape(value, {0, -1});
    }
    if (type == "Reshape" && constant(1) && constant(1)->numbers)
        return reshape(value, as_integers(constant(1)->numbers->values));
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
    if (!view)
        return false;
    value.view = *view;
    give(std::move(value));
    return true;
}

} // namespace convcast::onnx
