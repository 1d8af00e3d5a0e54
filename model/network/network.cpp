#include "model/network/network.hpp"

#include "model/base/described.hpp"
#include "model/base/embedded.hpp"
#include "model/base/readable.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> shipped_network_files;

namespace {

const std::string image_name = "input";

std::string as_json(const ImageShape &shape) {
    return "[" + std::to_string(shape[0]) + ", " + std::to_string(shape[1]) + ", " +
           std::to_string(shape[2]) + "]";
}

/// A tensor of one image has at most this many numbers, so that products of sizes stay far inside an int64.
constexpr std::int64_t most_elements = std::int64_t{1} << 31;

/// The problems without those that only follow from others: an operator whose kind is not known keeps the
/// default kind, relu, and was checked as such.
std::vector<InputProblem> without_consequences(const std::vector<InputProblem> &problems) {
    std::vector<std::string> unknown; // paths of operators
    const auto path_of = [](const InputProblem &problem) {
        const std::size_t at = problem.place.rfind(": /");
        return at == std::string::npos ? "" : problem.place.substr(at + 2) + "/";
    };
    for (const InputProblem &problem : problems)
        if (const std::string path = path_of(problem); path.ends_with("/kind/"))
            unknown.push_back(path.substr(0, path.size() - std::string("kind/").size()));
    std::vector<InputProblem> out;
    for (const InputProblem &problem : problems)
        if (std::none_of(unknown.begin(), unknown.end(), [&](const std::string &path) {
                return path_of(problem).starts_with(path) &&
                       (problem.message.starts_with("relu ") ||
                        problem.message.starts_with("the shapes do not chain"));
            }))
            out.push_back(problem);
    return out;
}

} // namespace

bool is_bounded(const ImageShape &shape) {
    return std::all_of(shape.begin(), shape.end(), [](std::int64_t size) { return size >= 1; }) &&
           static_cast<double>(shape[0]) * static_cast<double>(shape[1]) * static_cast<double>(shape[2]) <=
               static_cast<double>(most_elements);
}

bool is_operator_name(const std::string &text) {
    constexpr std::size_t longest = 200; // chosen
    return !text.empty() && text.size() <= longest && text != image_name &&
           text.find_first_of("+#=\"'\\,;<>&") == text.npos &&
           std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > 0x20 && c < 0x7F; });
}

std::vector<std::size_t> Network::sources(std::size_t index) const {
    if (operators[index].from.empty())
        return {index == 0 ? input_index : index - 1};
    std::vector<std::size_t> found;
    for (const std::string &name : operators[index].from) {
        if (name == image_name) {
            found.push_back(input_index);
            continue;
        }
        for (std::size_t i = 0; i < index; ++i)
            if (operators[i].name == name)
                found.push_back(i);
    }
    return found;
}

std::vector<std::size_t> Network::output_indices() const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < operators.size(); ++i)
        if (i + 1 == operators.size() ||
            (outputs && std::find(outputs->begin(), outputs->end(), operators[i].name) != outputs->end()))
            found.push_back(i);
    return found;
}

const ImageShape &Network::shape_of(std::size_t source) const {
    return source == input_index ? input : operators[source].output;
}

std::vector<ImageShape> Network::input_shapes(std::size_t index) const {
    std::vector<ImageShape> shapes;
    for (const std::size_t source : sources(index))
        shapes.push_back(shape_of(source));
    return shapes;
}

const std::string &Network::name_of(std::size_t source) const {
    return source == input_index ? image_name : operators[source].name;
}

std::optional<std::size_t> Network::operator_named(const std::string &name) const {
    const auto found = std::ranges::find(operators, name, &Operator::name);
    return found == operators.end() ? std::nullopt
                                    : std::optional(static_cast<std::size_t>(found - operators.begin()));
}

std::int64_t Network::parameters(std::size_t index) const {
    return convcast::parameters(operators[index], input_shapes(index).front());
}

std::int64_t Network::all_parameters() const {
    std::int64_t all = 0;
    for (std::size_t i = 0; i < operators.size(); ++i)
        all += parameters(i);
    return all;
}

void Network::check(const FieldProblem &problem) const {
    if (!is_id(id))
        problem("id", expected_id("resnet50", id));
    if (!is_bounded(input))
        problem("input", "expected channels, rows and columns of 1 or more, for example [3, 224, 224]");
    if (operators.empty())
        problem("operators",
                "expected at least one operator, for example {\"name\": \"conv1\", \"kind\": "
                "\"convolution\", \"outputs\": 32, \"window\": [5, 5], \"output\": [32, 24, 24]}");
    std::map<std::string, std::size_t> seen;
    for (std::size_t i = 0; i < operators.size(); ++i) {
        const Operator &op = operators[i];
        const std::string place = "operators/" + std::to_string(i);
        if (!is_operator_name(op.name))
            problem(place + "/name",
                    "expected 1 to 200 characters of ASCII other than \"input\", without spaces and without "
                    "any of + # = \" ' \\ , ; < > &, for example \"conv1\"");
        else if (!seen.emplace(op.name, i).second)
            problem(place + "/name", "\"" + op.name + "\" is the name of two operators; each needs its own");
        bool known = true;
        for (std::size_t j = 0; j < op.from.size(); ++j)
            if (op.from[j] != image_name && (!seen.contains(op.from[j]) || seen[op.from[j]] == i)) {
                std::vector<std::string> names{image_name};
                for (std::size_t before = 0; before < i; ++before)
                    names.push_back(operators[before].name);
                known = false;
                problem(place + "/from/" + std::to_string(j),
                        "expected \"input\" or the name of an operator before this one, found \"" +
                            shortened(op.from[j]) + "\"" + did_you_mean(op.from[j], names));
            }
        if (!is_bounded(op.output)) {
            ShapeAnswer follows;
            if (known && is_bounded(input))
                follows = output_shape(op, input_shapes(i));
            problem(place + "/output",
                    "expected channels, rows and columns of 1 or more, and at most 2^31 numbers, " +
                        (follows.shape && is_bounded(*follows.shape)
                             ? "here \"output\": " + as_json(*follows.shape)
                             : std::string("for example [64, 12, 12]")));
            return; // what follows reads it
        }
        if (!known || !is_bounded(input))
            return;
        const ShapeAnswer answer = output_shape(op, input_shapes(i));
        if (!answer.shape) {
            problem(answer.field.empty() ? place : place + "/" + answer.field, answer.problem);
        } else if (*answer.shape != op.output) {
            const std::vector<std::size_t> from = sources(i);
            problem(place + "/output",
                    "the shapes do not chain: " + op.name + " makes " + to_text(*answer.shape) + " of " +
                        to_text(input_shapes(i).front()) + " from " + name_of(from.front()) + ", found " +
                        to_text(op.output) + "; expected \"output\": " + as_json(*answer.shape));
        }
    }
    for (std::size_t i = 0; outputs && i < outputs->size(); ++i)
        if (!seen.contains((*outputs)[i]))
            problem("outputs/" + std::to_string(i), "expected the name of an operator, found \"" +
                                                        shortened((*outputs)[i]) + "\"" +
                                                        did_you_mean((*outputs)[i], {operators.back().name}));
}

Network read_network(const std::string &text, const std::string &file) {
    try {
        return described::read_document<Network>(text, file);
    } catch (const InputError &error) {
        throw InputError(without_consequences(error.problems));
    }
}

std::vector<std::string> shipped_networks() {
    return names_of(shipped_network_files);
}

Network find_network(const std::string &name_or_file) {
    const NamedText file = named_file("network", name_or_file, shipped_network_files,
                                      "; or a network file, for example --network mine.json");
    return read_network(file.text, file.place);
}

Network without_losses(Network network) {
    while (network.operators.size() > 1 && is_loss(network.operators.back().kind))
        network.operators.pop_back();
    return network;
}

std::optional<std::size_t> largest_tensor(const Network &network) {
    std::optional<std::size_t> largest;
    std::int64_t most = elements(network.input);
    for (std::size_t i = 0; i < network.operators.size(); ++i)
        if (const std::int64_t numbers = elements(network.operators[i].output); numbers > most)
            largest = i, most = numbers;
    return largest;
}

std::int64_t most_images(const Network &network) {
    const auto largest = largest_tensor(network);
    return most_elements / elements(largest ? network.operators[*largest].output : network.input);
}

template const described::Type &described::type_of<Network>();

} // namespace convcast
