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

/// Whether an operator can have a name: up to 200 visible characters of ASCII, without those that separate
/// the words of a schedule or a document, and not "input".
bool is_operator_name(const std::string &text);

/// Whether a tensor of one image can have these sizes: each 1 or more, and together at most 2^31 numbers.
bool is_bounded(const ImageShape &shape);

/// A network: operators in an order in which each reads only the images and operators before it.
struct Network {
    std::string schema = "convcast/network/1";
    std::string id; ///< "resnet50"
    std::string title;
    std::string citation;
    ImageShape input{};                              ///< of one image
    std::optional<std::vector<std::string>> outputs; ///< names of operators; absent: the last
    std::vector<Operator> operators;
    CONVCAST_MEMBERS(Network, schema, id, title, citation, input, outputs, operators)

    /// Of sizes of the input: above this only broken files come.
    static constexpr Range range_of(std::string_view) { return {1.0, 1e6}; }
    /// That names differ, inputs come before what reads them, and shapes are those that the inputs give.
    void check(const FieldProblem &problem) const;

    static constexpr std::size_t input_index = static_cast<std::size_t>(-1);
    /// The inputs of an operator: indices of the operators that give them, `input_index` for the images.
    std::vector<std::size_t> sources(std::size_t index) const;
    /// Operators whose outputs the network gives, in order; the last operator is always one.
    std::vector<std::size_t> output_indices() const;
    /// The shape of what a source gives: of the image for `input_index`, else of that operator's output.
    const ImageShape &shape_of(std::size_t source) const;
    /// Shapes of an operator's sources.
    std::vector<ImageShape> input_shapes(std::size_t index) const;
    /// "input" for `input_index`.
    const std::string &name_of(std::size_t source) const;
    /// The index of the operator of this name; absent if there is none.
    std::optional<std::size_t> operator_named(const std::string &name) const;

    /// How many numbers an operator has that training changes; and all operators together.
    std::int64_t parameters(std::size_t index) const;
    std::int64_t all_parameters() const;
};

/// A network from the text of a file. Throws InputError with every problem at once, by file, line and place.
Network read_network(const std::string &text, const std::string &file);

/// A shipped network by id, or a file by its path. Throws UsageError (unknown) or InputError.
Network find_network(const std::string &name_or_file);
std::vector<std::string> shipped_networks();

/// The network without the losses at its end: what an inference computes.
Network without_losses(Network network);

/// The operator whose output has the most numbers; absent if the input has as many.
std::optional<std::size_t> largest_tensor(const Network &network);

/// The largest batch with which no tensor of the network has more than 2^31 numbers.
std::int64_t most_images(const Network &network);

extern template const described::Type &described::type_of<Network>();

} // namespace convcast
