#include "model/network/onnx/numbers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// Of a constant that is computed here: chosen, far more than a tensor of sizes has.
constexpr std::size_t most_numbers = 4096;

using Inputs = std::vector<std::optional<Numbers>>;

/// How a node computes a number of its output from those at the same place of its `inputs` inputs.
struct ElementFunction {
    std::size_t inputs = 1;
    double (*of)(const std::array<double, 3> &in) = nullptr;
};

const std::map<std::string, ElementFunction> element_functions = {
    {"Neg", {1, [](const auto &in) { return -in[0]; }}},
    {"Abs", {1, [](const auto &in) { return std::abs(in[0]); }}},
    {"Sqrt", {1, [](const auto &in) { return std::sqrt(in[0]); }}},
    {"Floor", {1, [](const auto &in) { return std::floor(in[0]); }}},
    {"Ceil", {1, [](const auto &in) { return std::ceil(in[0]); }}},
    {"Round", {1, [](const auto &in) { return std::nearbyint(in[0]); }}},
    {"Not", {1, [](const auto &in) { return in[0] == 0.0 ? 1.0 : 0.0; }}},
    {"Add", {2, [](const auto &in) { return in[0] + in[1]; }}},
    {"Sub", {2, [](const auto &in) { return in[0] - in[1]; }}},
    {"Mul", {2, [](const auto &in) { return in[0] * in[1]; }}},
    {"Div", {2, [](const auto &in) { return in[0] / in[1]; }}}, // computed() truncates that of integers
    {"Mod", {2, [](const auto &in) { return in[0] - std::floor(in[0] / in[1]) * in[1]; }}},
    {"Pow", {2, [](const auto &in) { return std::pow(in[0], in[1]); }}},
    {"Max", {2, [](const auto &in) { return std::max(in[0], in[1]); }}},
    {"Min", {2, [](const auto &in) { return std::min(in[0], in[1]); }}},
    {"Equal", {2, [](const auto &in) { return in[0] == in[1] ? 1.0 : 0.0; }}},
    {"Less", {2, [](const auto &in) { return in[0] < in[1] ? 1.0 : 0.0; }}},
    {"Greater", {2, [](const auto &in) { return in[0] > in[1] ? 1.0 : 0.0; }}},
    {"And", {2, [](const auto &in) { return in[0] != 0.0 && in[1] != 0.0 ? 1.0 : 0.0; }}},
    {"Or", {2, [](const auto &in) { return in[0] != 0.0 || in[1] != 0.0 ? 1.0 : 0.0; }}},
    {"Where", {3, [](const auto &in) { return in[0] != 0.0 ? in[1] : in[2]; }}},
    {"Clip", {3, [](const auto &in) { return std::max(in[1], std::min(in[0], in[2])); }}}};

/// The product of sizes; most_numbers + 1 if it is more than most_numbers, or if a size is negative.
std::size_t count_of(const std::vector<std::int64_t> &sizes) {
    std::size_t count = 1;
    for (const std::int64_t size : sizes)
        if (size < 0 || size > static_cast<std::int64_t>(most_numbers))
            return most_numbers + 1;
        else
            count = std::min(most_numbers + 1, count * static_cast<std::size_t>(size));
    return count;
}

/// The numbers as a list of one axis if they have no sizes.
Numbers with_sizes(Numbers numbers) {
    if (numbers.sizes.empty())
        numbers.sizes = {static_cast<std::int64_t>(numbers.values.size())};
    return numbers;
}

/// Sizes without those of 1, which ONNX repeats for any other size.
std::vector<std::int64_t> without_ones(std::vector<std::int64_t> sizes) {
    std::erase(sizes, 1);
    return sizes;
}

/// The output of a node that works number by number. Each input has as many numbers as the output, or one,
/// which stands for all; absent for other inputs, and where a result is not finite.
std::optional<Numbers> by_element(const ElementFunction &function, const Inputs &in) {
    const Numbers *longest =
        &*in[0]; // has the sizes of the output; of equally many numbers that of more axes
    bool real = false;
    for (const std::optional<Numbers> &each : in) {
        const std::pair lengths(each->values.size(), each->sizes.size());
        longest = lengths > std::pair(longest->values.size(), longest->sizes.size()) ? &*each : longest;
        for (const double value : each->values)
            real = real || each->real || (std::isfinite(value) && value != std::floor(value));
    }
    for (const std::optional<Numbers> &each : in)
        if (each->values.size() > 1 && without_ones(each->sizes) != without_ones(longest->sizes))
            return std::nullopt;
    Numbers out{longest->sizes, {}, real};
    for (std::size_t i = 0; i < longest->values.size(); ++i) {
        std::array<double, 3> numbers{};
        for (std::size_t input = 0; input < function.inputs; ++input) {
            const std::vector<double> &values = in[input]->values;
            if (values.size() != 1 && values.size() != longest->values.size())
                return std::nullopt;
            numbers[input] = values[values.size() == 1 ? 0 : i];
        }
        out.values.push_back(function.of(numbers));
        if (!std::isfinite(out.values.back()))
            return std::nullopt;
    }
    return out;
}

/// The numbers at `places` along an axis, in the order of the places, which may be counted from the end.
/// Absent if a place is not there, or if there would be too many numbers.
std::optional<Numbers> taken(const Numbers &from, std::size_t axis, const std::vector<double> &places) {
    if (axis >= from.sizes.size() || count_of(from.sizes) != from.values.size())
        return std::nullopt;
    Numbers out{from.sizes, {}, from.real};
    out.sizes[axis] = static_cast<std::int64_t>(places.size());
    if (places.empty() || from.values.empty())
        return out;
    std::size_t inner = 1, outer = 1; // numbers of all axes behind this one; and of all before it
    for (std::size_t i = 0; i < from.sizes.size(); ++i)
        (i < axis ? outer : inner) *= i == axis ? 1 : static_cast<std::size_t>(from.sizes[i]);
    if (outer * inner * places.size() > most_numbers)
        return std::nullopt;
    const auto size = static_cast<double>(from.sizes[axis]);
    for (std::size_t i = 0; i < outer; ++i)
        for (double place : places) {
            place += place < 0.0 ? size : 0.0;
            if (!(place >= 0.0 && place < size))
                return std::nullopt;
            const std::size_t begin =
                (i * static_cast<std::size_t>(size) + static_cast<std::size_t>(place)) * inner;
            for (std::size_t j = begin; j < begin + inner; ++j)
                out.values.push_back(from.values[j]);
        }
    return out;
}

/// The index of one of `rank` axes, which may be counted from the end; absent if there is no such axis.
std::optional<std::size_t> axis_of(double axis, std::size_t rank) {
    const double place = axis < 0.0 ? axis + static_cast<double>(rank) : axis;
    return place >= 0.0 && place < static_cast<double>(rank) ? std::optional(static_cast<std::size_t>(place))
                                                             : std::nullopt;
}

/// The numbers at the places of input 1 along an axis of input 0.
std::optional<Numbers> gather(const OnnxNode &node, const Inputs &in) {
    const Numbers from = with_sizes(*in[0]);
    const std::optional<std::size_t> axis = axis_of(attribute(node, "axis", {0.0})[0], from.sizes.size());
    std::optional<Numbers> out = axis ? taken(from, *axis, in[1]->values) : std::nullopt;
    if (out) { // in place of the axis the output has the axes of the places; none, if they are one number
        const auto place = out->sizes.begin() + static_cast<std::ptrdiff_t>(*axis);
        out->sizes.insert(out->sizes.erase(place), in[1]->sizes.begin(), in[1]->sizes.end());
    }
    return out;
}

/// Starts, ends, axes and steps are inputs, or before opset 10 attributes. Absent if they do not fit.
std::optional<Numbers> slice(const OnnxNode &node, const Inputs &in) {
    const auto given = [&](std::size_t input, const char *name) {
        return in.size() > input && in[input] ? in[input]->values : attribute(node, name);
    };
    const std::vector<double> starts = given(1, "starts"), ends = given(2, "ends"), axes = given(3, "axes"),
                              steps = given(4, "");
    std::optional<Numbers> out = with_sizes(*in[0]);
    for (std::size_t i = 0; i < starts.size(); ++i) {
        const auto axis = axis_of(i < axes.size() ? axes[i] : static_cast<double>(i), out->sizes.size());
        const double step = i < steps.size() ? steps[i] : 1.0;
        if (ends.size() != starts.size() || !axis || step == 0.0 || step != std::floor(step))
            return std::nullopt;
        const auto size = static_cast<double>(out->sizes[*axis]);
        // Backwards a slice starts at size - 1 at the latest and ends at -1, in front of the first number.
        const double before = step < 0.0 ? -1.0 : 0.0;
        const auto place = [&](double at, double least) {
            return std::clamp(at < 0.0 ? at + size : at, least, std::max(least, size + before));
        };
        const double first = place(starts[i], 0.0), end = place(ends[i], before);
        std::vector<double> places;
        for (double at = first; (step > 0.0 ? at < end : at > end) && places.size() <= most_numbers;
             at += step)
            places.push_back(at);
        out = taken(*out, *axis, places);
        if (!out)
            return std::nullopt;
    }
    return out;
}

/// Of weights, whose values are not known, only the sizes.
std::optional<Numbers> transpose(const OnnxNode &node, const Numbers &from) {
    const std::size_t rank = from.sizes.size();
    const std::optional<std::vector<std::size_t>> order = order_of(node, rank);
    if (!order)
        return std::nullopt;
    std::vector<std::size_t> strides(rank, 1); // numbers between two places of an axis
    for (std::size_t i = rank; i-- > 1;)
        strides[i - 1] = strides[i] * static_cast<std::size_t>(from.sizes[i]);
    Numbers out = from;
    for (std::size_t axis = 0; axis < rank; ++axis)
        out.sizes[axis] = from.sizes[(*order)[axis]];
    for (std::size_t i = 0; from.known() && i < out.values.size(); ++i) {
        std::size_t rest = i, place = 0; // place in the input of number i of the output
        for (std::size_t axis = rank; axis-- > 0; rest /= static_cast<std::size_t>(out.sizes[axis]))
            place += rest % static_cast<std::size_t>(out.sizes[axis]) * strides[(*order)[axis]];
        out.values[i] = from.values[place];
    }
    return out;
}

std::optional<Numbers> range(const Inputs &in) {
    Numbers out;
    for (const std::optional<Numbers> &each : in)
        if (each->values.size() != 1)
            return std::nullopt;
    const double first = in[0]->values.at(0), last = in[1]->values.at(0), by = in[2]->values.at(0);
    if (by == 0.0 || std::abs((last - first) / by) > static_cast<double>(most_numbers))
        return std::nullopt;
    const double count = std::max(0.0, std::ceil((last - first) / by));
    for (double i = 0.0; i < count; i += 1.0)
        out.values.push_back(first + i * by);
    out.sizes = {static_cast<std::int64_t>(out.values.size())};
    return out;
}

/// The inputs one behind another along the first axis; absent for another axis, or other sizes that differ.
std::optional<Numbers> concat(const OnnxNode &node, const Inputs &in) {
    Numbers out{with_sizes(*in[0]).sizes, {}};
    out.sizes[0] = 0;
    for (const std::optional<Numbers> &each : in) {
        const Numbers part = with_sizes(*each);
        const auto axis = axis_of(attribute(node, "axis", {0.0})[0], part.sizes.size());
        if (axis != std::size_t{0} || count_of(part.sizes) != part.values.size() ||
            !std::equal(part.sizes.begin() + 1, part.sizes.end(), out.sizes.begin() + 1, out.sizes.end()))
            return std::nullopt;
        out.sizes[0] += part.sizes[0];
        out.real = out.real || part.real;
        out.values.insert(out.values.end(), part.values.begin(), part.values.end());
    }
    return out.values.size() <= most_numbers ? std::optional(out) : std::nullopt;
}

/// `value` in a tensor of these sizes; absent if that is more than most_numbers.
std::optional<Numbers> of_one_number(const std::vector<std::int64_t> &sizes, double value, bool real) {
    const std::size_t count = count_of(sizes);
    return count <= most_numbers ? std::optional(Numbers{sizes, std::vector<double>(count, value), real})
                                 : std::nullopt;
}

/// The inputs of a Clip with both bounds, each of which may be an input, an attribute, or left out.
Inputs with_bounds(const OnnxNode &node, Inputs in) {
    in.resize(3);
    const double none = std::numeric_limits<double>::infinity();
    if (!in[1])
        in[1] = Numbers{{}, attribute(node, "min", {-none})};
    if (!in[2])
        in[2] = Numbers{{}, attribute(node, "max", {none})};
    return in;
}

/// Whether a node may leave out that input.
bool may_lack(const OnnxNode &node, std::size_t input) {
    return input > 0 && (node.type == "Slice" || node.type == "Clip" || node.type == "Squeeze") &&
           input < node.inputs.size() && node.inputs[input].empty();
}

} // namespace

std::vector<double> attribute(const OnnxNode &node, const char *name, std::vector<double> otherwise) {
    for (const OnnxAttribute &found : node.attributes)
        if (found.name == name && !found.numbers.empty())
            return found.numbers;
    return otherwise;
}

std::vector<std::int64_t> as_integers(const std::vector<double> &values) {
    constexpr double most = 9007199254740992.0; // 2^53
    std::vector<std::int64_t> out;
    for (const double value : values)
        out.push_back(static_cast<std::int64_t>(value != value ? 0.0 : std::clamp(value, -most, most)));
    return out;
}

std::vector<std::int64_t> integers(const OnnxNode &node, const char *name,
                                   std::vector<std::int64_t> otherwise) {
    const std::vector<double> found = attribute(node, name);
    return found.empty() ? otherwise : as_integers(found);
}

std::string attribute_text(const OnnxNode &node, const char *name) {
    for (const OnnxAttribute &found : node.attributes)
        if (found.name == name)
            return found.text;
    return "";
}

std::int64_t Numbers::count() const {
    std::int64_t count = 1;
    for (const std::int64_t size : sizes)
        count = std::min(onnx::most_size, count * std::clamp<std::int64_t>(size, 0, onnx::most_size));
    return count;
}

std::optional<std::vector<std::int64_t>> with_or_without_ones(const OnnxNode &node,
                                                              std::vector<std::int64_t> sizes,
                                                              const std::vector<double> &axes,
                                                              std::size_t first) {
    const bool squeezes = node.type == "Squeeze";
    std::set<std::size_t> ones; // axes of the input that go, or of the output that come
    for (const double axis : axes) {
        const auto at = axis_of(axis, sizes.size() + (squeezes ? 0 : axes.size()));
        if (!at || *at < first || (squeezes && sizes[*at] != 1))
            return std::nullopt;
        ones.insert(*at);
    }
    if (squeezes && axes.empty())
        for (std::size_t at = first; at < sizes.size(); ++at)
            if (sizes[at] == 1)
                ones.insert(at);
    if (ones.size() < axes.size() || (!squeezes && axes.empty())) // an axis twice; an Unsqueeze of nothing
        return std::nullopt;
    if (squeezes)
        for (auto at = ones.rbegin(); at != ones.rend(); ++at)
            sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(*at));
    else
        for (const std::size_t at : ones)
            sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(at), 1);
    return sizes;
}

std::optional<std::vector<std::int64_t>> reshaped(const std::vector<std::int64_t> &from,
                                                  std::vector<std::int64_t> sizes) {
    const std::int64_t all = Numbers{from, {}}.count();
    std::int64_t known = 1, *open = nullptr; // product of the sizes that are known; the one that is -1
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] == 0 && i < from.size())
            sizes[i] = from[i];
        if (sizes[i] == -1)
            open = &sizes[i];
        else if (sizes[i] < 0 || sizes[i] > onnx::most_size)
            return std::nullopt;
        else
            known = std::min(known * sizes[i], onnx::most_size);
    }
    if (open)
        *open = known == 0 ? 0 : all / known;
    return Numbers{sizes, {}}.count() == all ? std::optional(std::move(sizes)) : std::nullopt;
}

std::optional<std::vector<std::size_t>> order_of(const OnnxNode &node, std::size_t rank) {
    std::vector<std::size_t> order;
    for (const double axis : attribute(node, "perm"))
        order.push_back(axis_of(axis, rank).value_or(rank));
    for (std::size_t i = rank; order.size() < rank && i-- > 0;) // without the attribute axes are reversed
        order.push_back(i);
    std::vector<std::size_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < sorted.size(); ++i)
        if (sorted[i] != i || sorted.size() != rank)
            return std::nullopt;
    return order;
}

std::optional<Numbers> computed(const OnnxNode &node, const std::vector<std::optional<Numbers>> &inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (!inputs[i] && !may_lack(node, i))
            return std::nullopt;
    if (inputs.empty() || !inputs[0])
        return std::nullopt;
    const Numbers &first = *inputs[0]; // up to Reshape its values need not be known: weights may be moved
    for (std::size_t i = 1; i < inputs.size(); ++i)
        if (inputs[i] && !inputs[i]->known())
            return std::nullopt;
    if (node.type == "Identity")
        return first;
    if (node.type == "Cast") {
        Numbers out = first;
        out.real = is_real_type(integers(node, "to", {1}).front());
        for (double &value : out.values)
            value = out.real ? value : std::trunc(value);
        return out;
    }
    if (node.type == "Transpose")
        return transpose(node, first);
    if (node.type == "Reshape" || node.type == "Squeeze" || node.type == "Unsqueeze") {
        const std::vector<double> wanted = // sizes of a Reshape, axes of the others
            inputs.size() > 1 && inputs[1] ? inputs[1]->values : attribute(node, "axes");
        const auto sizes = node.type == "Reshape" ? reshaped(first.sizes, as_integers(wanted))
                                                  : with_or_without_ones(node, first.sizes, wanted, 0);
        return sizes ? std::optional(Numbers{*sizes, first.values, first.real}) : std::nullopt;
    }
    if (!first.known())
        return std::nullopt;
    if (const auto found = element_functions.find(node.type); found != element_functions.end()) {
        const Inputs in = node.type == "Clip" ? with_bounds(node, inputs) : inputs;
        if (in.size() != found->second.inputs)
            return std::nullopt;
        auto out = by_element(found->second, in);
        if (out && node.type == "Div" && !out->real)
            for (double &value : out->values)
                value = std::trunc(value);
        return out;
    }
    if (node.type == "Gather" && inputs.size() == 2)
        return gather(node, inputs);
    if (node.type == "Slice")
        return slice(node, inputs);
    if (node.type == "Range" && inputs.size() == 3)
        return range(inputs);
    if (node.type == "Concat")
        return concat(node, inputs);
    if (node.type == "ReduceProd" && first.sizes.size() <= 1)
        return Numbers{{1},
                       {std::accumulate(first.values.begin(), first.values.end(), 1.0, std::multiplies<>())},
                       first.real};
    if (node.type == "ConstantOfShape")
        return of_one_number(as_integers(first.values), attribute(node, "value", {0.0})[0],
                             attribute(node, "value").empty());
    if (node.type == "Expand" && inputs.size() == 2 && first.values.size() == 1)
        return of_one_number(as_integers(inputs[1]->values), first.values[0], first.real);
    return std::nullopt;
}

} // namespace convcast
