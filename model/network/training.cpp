#include "model/network/training.hpp"

#include "model/base/described.hpp"
#include "model/base/embedded.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/split_mix.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <numbers>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> shipped_weight_files;

namespace {

/// The text of the weights that ship for a network; absent if none do.
std::optional<std::string> shipped_weights(const std::string &network) {
    const std::string path = "data/weights/" + network + ".json";
    for (const EmbeddedFile &file : shipped_weight_files)
        if (file.path == path || file.path == path + ".gz")
            return unpacked(file.text(), path);
    return std::nullopt;
}

/// Names of the networks whose weights ship.
std::vector<std::string> networks_with_weights() {
    std::vector<std::string> names;
    for (const EmbeddedFile &file : shipped_weight_files) {
        const std::string name = std::filesystem::path(file.path).filename().string();
        names.push_back(name.substr(0, name.find('.')));
    }
    return names;
}

} // namespace

double rate_of_epoch(const Descent &descent, std::int64_t epoch) {
    const double share = static_cast<double>(epoch) / static_cast<double>(descent.epochs);
    return 0.5 * descent.rate * (1.0 + std::cos(std::numbers::pi * share));
}

std::vector<std::int32_t> order_of_epoch(std::int64_t count, std::uint64_t seed, std::int64_t epoch) {
    std::vector<std::int32_t> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    SplitMix64 random(SplitMix64(seed)() +
                      static_cast<std::uint64_t>(epoch)); // mixed: seeds 1, 2 share no epoch
    for (std::size_t left = order.size(); left > 1; --left)
        std::swap(order[left - 1], order[random() % left]);
    return order;
}

void set_training_time(NetworkCase &item, std::int64_t steps, Seconds time) {
    item.training->steps = steps;
    item.training->time_s = time;
    if (steps > 0)
        item.measured.emplace().time_s = time / static_cast<double>(steps);
}

Weights read_weights(const std::string &text, const std::string &file, const Network &network) {
    Weights weights = described::read_document<Weights>(text, file);
    std::vector<InputProblem> problems;
    if (weights.network != network.id)
        problems.push_back({file + ": /network", "expected weights of \"" + network.id + "\", found \"" +
                                                     shortened(weights.network) + "\""});
    std::vector<std::string> known;
    for (std::size_t i = 0; i < network.operators.size(); ++i) {
        const std::int64_t wanted = network.parameters(i);
        if (wanted == 0)
            continue;
        const std::string &name = network.operators[i].name;
        known.push_back(name);
        const auto found = weights.operators.find(name);
        if (found == weights.operators.end())
            problems.push_back({file + ": /operators", "the parameters of \"" + name + "\" are missing, " +
                                                           std::to_string(wanted) + " numbers"});
        else if (std::ssize(found->second) != wanted)
            problems.push_back({file + ": /operators/" + name, "expected " + std::to_string(wanted) +
                                                                   " numbers, found " +
                                                                   std::to_string(found->second.size())});
    }
    for (const auto &[name, values] : weights.operators)
        if (std::find(known.begin(), known.end(), name) == known.end())
            problems.push_back(
                {file + ": /operators/" + shortened(name),
                 "no operator of " + network.id + " with parameters" + did_you_mean(name, known)});
    if (!problems.empty())
        throw InputError(described::with_lines(std::move(problems), text, file));
    return weights;
}

Weights find_weights(const std::string &name_or_file, const Network &network) {
    if (const auto text = shipped_weights(name_or_file))
        return read_weights(*text, "data/weights/" + name_or_file + ".json", network);
    if (name_or_file != "-" && !file_exists(name_or_file))
        throw UsageError("there are no weights '" + name_or_file + "'; " +
                         join(networks_with_weights(), " and ") + " ship, others are a file of " +
                         "`convcast run --network mnist --data FOLDER --weights FILE`");
    return read_weights(read_file(name_or_file), name_or_file == "-" ? "standard input" : name_or_file,
                        network);
}

Parameters rounded(Parameters parameters) {
    constexpr double steps = 1e4;
    for (std::vector<double> &of : parameters)
        for (double &value : of)
            value = std::round(value * steps) / steps;
    return parameters;
}

Parameters parameters_of(const Weights &weights, const Network &network) {
    Parameters all;
    for (const Operator &op : network.operators) {
        const auto found = weights.operators.find(op.name);
        all.push_back(found == weights.operators.end() ? std::vector<double>{} : found->second);
    }
    return all;
}

Weights weights_of(const Parameters &parameters, const Network &network, const std::string &made_by) {
    Weights weights;
    weights.network = network.id;
    weights.made_by = made_by;
    for (std::size_t i = 0; i < parameters.size(); ++i)
        if (!parameters[i].empty())
            weights.operators[network.operators[i].name] = parameters[i];
    return weights;
}

std::vector<std::uint8_t> classified(const std::vector<double> &outputs, std::int64_t classes) {
    std::vector<std::uint8_t> labels;
    for (auto image = outputs.begin(); image != outputs.end(); image += classes)
        labels.push_back(static_cast<std::uint8_t>(std::max_element(image, image + classes) - image));
    return labels;
}

template const described::Type &described::type_of<Weights>();

} // namespace convcast
