#include "model/network/onnx/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace convcast {
namespace {

constexpr std::size_t most_numbers = 4096; ///< of a tensor of sizes

std::optional<Numbers> gather(const std::vector<std::optional<Numbers>> &in) {
    Numbers out{in[1]->sizes, {}, in[0]->real};
    for (const double at : in[1]->values) {
        const auto count = static_cast<double>(in[0]->values.size());
        const double place = at < 0.0 ? at + count : at;
        if (!(place >= 0.0 && place < count))
            return std::nullopt;
        out.values.push_back(in[0]->values[static_cast<std::size_t>(place)]);
    }
    return out;
}

std::optional<Numbers> slice(const OnnxNode &node, const std::vector<std::optional<Numbers>> &in) {
    const auto given = [&](std::size_t input, const char *name) {
        return in.size() > input && in[input] ? in[input]->values : attribute(node, name);
    };
    const std::vector<double> starts = given(1, "starts"), ends = given(2, "ends"), steps = given(4, "");
    const auto count = static_cast<double>(in[0]->values.size());
    if (starts.size() != 1 || ends.size() != 1 || (!steps.empty() && steps[0] != 1.0))
        return std::nullopt;
    const auto place = [&](double at) { return std::clamp(at < 0.0 ? at + count : at, 0.0, count); };
    const double first = place(starts[0]), last = std::max(first, place(ends[0]));
    Numbers out;
    out.values.assign(in[0]->values.begin() + static_cast<std::ptrdiff_t>(first),
                      in[0]->values.begin() + static_cast<std::ptrdiff_t>(last));
    out.sizes = {static_cast<std::int64_t>(out.values.size())};
    return out;
}

std::optional<Numbers> of_two(const Numbers &a, const Numbers &b,
                              const std::function<double(double, double)> &join) {
    const std::size_t count = std::max(a.values.size(), b.values.size());
    if ((a.values.size() != count && a.values.size() != 1) ||
        (b.values.size() != count && b.values.size() != 1))
        return std::nullopt;
    Numbers out{a.values.size() == count ? a.sizes : b.sizes, {}};
    for (std::size_t i = 0; i < count; ++i)
        out.values.push_back(
            join(a.values[a.values.size() == 1 ? 0 : i], b.values[b.values.size() == 1 ? 0 : i]));
    for (const double value : out.values)
        if (!std::isfinite(value))
            return std::nullopt;
    for (const Numbers *numbers : {&a, &b})
        for (const double value : numbers->values)
            out.real = out.real || value != std::floor(value);
    return out;
}

std::optional<Numbers> range(const std::vector<std::optional<Numbers>> &in) {
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

std::optional<Numbers> concat(const std::vector<std::optional<Numbers>> &in) {
    Numbers out;
    for (const std::optional<Numbers> &each : in)
        out.values.insert(out.values.end(), each->values.begin(), each->values.end());
    out.sizes = {static_cast<std::int64_t>(out.values.size())};
    return out.values.size() <= most_numbers ? std::optional(out) : std::nullopt;
}

} // namespace

std::vector<double> attribute(const OnnxNode &node, const char *name, std::vector<double> otherwise) {
    for (const OnnxAttribute &found : node.attributes)
        if (found.name == name && !found.numbers.empty())
            return found.numbers;
    return otherwise;
}

std::vector<std::int64_t> as_integers(const std::vector<double> &values) {
    constexpr double most = 9007199254740992.0;
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

std::optional<Numbers> computed(const OnnxNode &node, const std::vector<std::optional<Numbers>> &inputs) {
    static const std::map<std::string, std::function<double(double, double)>> joins = {
        {"Add", std::plus<>()},
        {"Sub", std::minus<>()},
        {"Mul", std::multiplies<>()},
        {"Div", [](double a, double b) { return b == 0.0 ? 0.0 : a / b; }},
        {"Equal", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
        {"Max", [](double a, double b) { return std::max(a, b); }},
        {"Min", [](double a, double b) { return std::min(a, b); }}};
    for (std::size_t i = 0; i < inputs.size(); ++i) // only a slice leaves inputs out
        if (!inputs[i] && (node.type != "Slice" || i >= node.inputs.size() || !node.inputs[i].empty()))
            return std::nullopt;
    if (inputs.empty() || !inputs[0])
        return std::nullopt;
    const Numbers &first = *inputs[0];
    if (const auto join = joins.find(node.type); join != joins.end() && inputs.size() == 2) {
        auto out = of_two(first, *inputs[1], join->second);
        if (out && node.type == "Div" && !out->real)
            for (double &value : out->values)
                value = std::trunc(value);
        return out;
    }
    if (node.type == "Identity")
        return first;
    if (node.type == "Cast") {
        const std::int64_t to = integers(node, "to", {1}).front();
        Numbers out = first;
        out.real = to == 1 || to == 10 || to == 11 || to == 16; // float, half, double, bfloat16
        for (double &value : out.values)
            value = out.real ? value : std::trunc(value);
        return out;
    }
    if (node.type == "Floor" || node.type == "Ceil") {
        Numbers out = first;
        for (double &value : out.values)
            value = node.type == "Floor" ? std::floor(value) : std::ceil(value);
        return out;
    }
    if (node.type == "Gather" && inputs.size() == 2 && first.sizes.size() <= 1)
        return gather(inputs);
    if (node.type == "Slice")
        return slice(node, inputs);
    if (node.type == "Range" && inputs.size() == 3)
        return range(inputs);
    if (node.type == "Concat")
        return concat(inputs);
    if (node.type == "Unsqueeze" || node.type == "Squeeze" || node.type == "Reshape")
        return Numbers{{static_cast<std::int64_t>(first.values.size())}, first.values, first.real};
    if (node.type == "ConstantOfShape" && first.values.size() <= 1) {
        const double count = first.values.empty() ? 1.0 : first.values[0];
        if (!(count >= 0.0 && count <= static_cast<double>(most_numbers)))
            return std::nullopt;
        return Numbers{
            {static_cast<std::int64_t>(count)},
            std::vector<double>(static_cast<std::size_t>(count), attribute(node, "value", {0.0})[0])};
    }
    return std::nullopt;
}

} // namespace convcast
