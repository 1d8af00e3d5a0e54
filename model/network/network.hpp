// A network: operators in order, each with its name and shape. Files: data/networks; docs/networks.md.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/describe.hpp"
#include "model/network/operator.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

/// Whether an operator can have the name: visible characters of ASCII but those that part the words of a
/// schedule, and not "input".
bool is_operator_name(const std::string &text);

/// Whether an image's tensor can have these sizes: each 1 or more, and at most 2^31 numbers.
bool is_bounded(const ImageShape &shape);

struct Network {
    std::string schema = "convcast/network/1";
    std::string id; ///< "resnet50"
    std::string title;
    std::string citation;
    ImageShape input{};                              ///< of one image
    std::optional<std::vector<std::string>> outputs; ///< names of operators; absent: the last
    std::vector<Operator> operators;
    CONVCAST_MEMBERS(Network, schema, id, title, citation, input, outputs, operators)

    static constexpr Range range_of(std::string_view) { return {1.0, 1e6}; }
    /// Names once each, inputs that come before, and shapes that chain.
    void check(const FieldProblem &problem) const;

    static constexpr std::size_t input_index = static_cast<std::size_t>(-1);
    /// Of an operator: indices of those that it takes its inputs from, `input_index` for the image.
    std::vector<std::size_t> sources(std::size_t index) const;
    /// Operators whose outputs the network gives, the last one among them.
    std::vector<std::size_t> output_indices() const;
    /// What a source gives: the image for `input_index`, else the output of that operator.
    const ImageShape &shape_of(std::size_t source) const;
    /// Shapes of an operator's sources.
    std::vector<ImageShape> input_shapes(std::size_t index) const;
    /// "input" for `input_index`.
    const std::string &name_of(std::size_t source) const;
    /// The operator of this name.
    std::optional<std::size_t> operator_named(const std::string &name) const;

    /// Numbers of an operator that training changes, and of all operators.
    std::int64_t parameters(std::size_t index) const;
    std::int64_t all_parameters() const;
};

/// Throws InputError with every problem at once, by file, line and place.
Network read_network(const std::string &text, const std::string &file);

/// A shipped network by id, or a file by its path. Throws UsageError (unknown) or InputError.
Network find_network(const std::string &name_or_file);
std::vector<std::string> shipped_networks();

/// The network without the losses at its end: what an inference computes.
Network without_losses(Network network);

/// The tensor of an image with the most numbers: an operator's output, or the input where it is absent.
std::optional<std::size_t> largest_tensor(const Network &network);

/// Largest batch for which no tensor of the network passes 2^31 elements.
std::int64_t most_images(const Network &network);

extern template const described::Type &described::type_of<Network>();

} // namespace convcast
