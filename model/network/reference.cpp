#include "model/network/reference.hpp"

#include "model/base/divide.hpp"
#include "model/base/parallel.hpp"
#include "model/base/split_mix.hpp"
#include "model/network/operator_type.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// A network with one image: runs its operators forwards, then backwards.
class OneImage {
  public:
    OneImage(const Network &network, const Parameters &parameters, const double *image,
             std::optional<std::uint8_t> label)
        : network_(network), parameters_(parameters), image_(image), label_(label) {}

    void run_forward() {
        for (const Operator &op : network_.operators)
            outputs_.emplace_back(as_size(elements(op.output)));
        for (std::size_t i = 0; i < network_.operators.size(); ++i)
            type_of(network_.operators[i].kind).forward(step(i), outputs_[i].data());
    }

    /// After run_forward: adds the gradient of this image's loss, times `by_loss`, to `by_parameters`.
    void run_backward(double by_loss, Parameters &by_parameters) {
        OperatorOutputs by_outputs; // derivatives by each output, added up by the operators that read it
        for (const Operator &op : network_.operators)
            by_outputs.emplace_back(as_size(elements(op.output)), 0.0);
        std::vector<double> by_image(as_size(elements(network_.input)), 0.0); // nobody asks for it
        by_outputs.back().assign(by_outputs.back().size(), by_loss);
        for (std::size_t i = network_.operators.size(); i-- > 0;) {
            OperatorBackward back{{}, by_parameters[i]};
            for (const std::size_t source : network_.sources(i))
                back.by_in.push_back(source == Network::input_index ? by_image.data()
                                                                    : by_outputs[source].data());
            type_of(network_.operators[i].kind)
                .backward(step(i), outputs_[i].data(), by_outputs[i].data(), back);
        }
    }

    const OperatorOutputs &outputs() const { return outputs_; }

  private:
    /// Operator i with its inputs, parameters and label.
    OperatorStep step(std::size_t i) const {
        OperatorStep step{network_.operators[i], network_.input_shapes(i), {}, parameters_[i], label_};
        for (const std::size_t source : network_.sources(i))
            step.in.push_back(source == Network::input_index ? image_ : outputs_[source].data());
        return step;
    }

    const Network &network_;
    const Parameters &parameters_;
    const double *image_;
    std::optional<std::uint8_t> label_;
    OperatorOutputs outputs_;
};

/// Image number `image` of a batch, with its label if there are labels.
OneImage image_of(const Network &network, std::span<const double> images, const Parameters &parameters,
                  std::span<const std::uint8_t> labels, std::size_t image) {
    return {network, parameters, images.data() + image * as_size(elements(network.input)),
            labels.empty() ? std::nullopt : std::optional(labels[image])};
}

/// What the filters of operator `op` of seeded_parameters are multiplied by in steady_parameters. sqrt(2) if
/// a function follows, since a relu halves the mean square; not for a logistic, whose results are bounded. A
/// quarter if the result is added to a shortcut, so that many additions hardly grow (chosen). Follows the
/// operator's readers in the list through biases and scales up to the first other one.
double gain_of(const Network &network, std::size_t op) {
    constexpr double beside_shortcut = 0.25;
    for (std::size_t i = op + 1; i < network.operators.size(); ++i) {
        const std::vector<std::size_t> sources = network.sources(i);
        if (std::find(sources.begin(), sources.end(), op) == sources.end())
            continue;
        const OperatorKind kind = network.operators[i].kind;
        if (kind == OperatorKind::add)
            return beside_shortcut;
        if (kind != OperatorKind::bias && kind != OperatorKind::scale)
            return is_elementwise(kind) && sources.size() == 1 && kind != OperatorKind::logistic
                       ? std::sqrt(2.0)
                       : 1.0;
        op = i;
    }
    return 1.0;
}

} // namespace

Parameters seeded_parameters(const Network &network, std::uint64_t seed) {
    Parameters all;
    for (std::size_t i = 0; i < network.operators.size(); ++i) {
        const Operator &op = network.operators[i];
        std::vector<double> &of = all.emplace_back(as_size(network.parameters(i)));
        constexpr double small = 0.1; // of biases and scales, which have no `outputs`
        const double middle = op.kind == OperatorKind::scale ? 1.0 : 0.0;
        const double range =
            !op.outputs || of.empty()
                ? small
                : std::sqrt(3.0 * static_cast<double>(*op.outputs) / static_cast<double>(of.size()));
        for (std::size_t j = 0; j < of.size(); ++j) {
            const double unit = SplitMix64(SplitMix64(seed + i)() + j).uniform();
            of[j] = static_cast<double>(static_cast<float>(middle + (2.0 * unit - 1.0) * range));
        }
    }
    return all;
}

Parameters steady_parameters(const Network &network, std::uint64_t seed) {
    Parameters all = seeded_parameters(network, seed);
    for (std::size_t i = 0; i < all.size(); ++i)
        if (const double gain = network.operators[i].outputs ? gain_of(network, i) : 1.0; gain != 1.0)
            for (double &value : all[i])
                value = static_cast<double>(static_cast<float>(value * gain));
    return all;
}

OperatorOutputs forward(const Network &network, std::int64_t batch, std::span<const double> images,
                        const Parameters &parameters, std::span<const std::uint8_t> labels) {
    OperatorOutputs all;
    for (const Operator &op : network.operators)
        all.emplace_back(as_size(batch * elements(op.output)));
    in_parallel(as_size(batch), [&](std::size_t image) {
        OneImage one = image_of(network, images, parameters, labels, image);
        one.run_forward();
        for (std::size_t i = 0; i < all.size(); ++i)
            std::copy(one.outputs()[i].begin(), one.outputs()[i].end(),
                      all[i].begin() + static_cast<std::ptrdiff_t>(image * one.outputs()[i].size()));
    });
    return all;
}

Parameters gradient(const Network &network, std::int64_t batch, std::span<const double> images,
                    const Parameters &parameters, std::span<const std::uint8_t> labels) {
    Parameters zeros = parameters;
    for (std::vector<double> &of : zeros)
        std::fill(of.begin(), of.end(), 0.0);
    // Gradients are added up in the order of the images, so that any number of cores gives the same sum. Only
    // some are held at once (chosen): each has as many numbers as there are parameters.
    constexpr std::size_t most_at_once = 64;
    Parameters sums = zeros;
    for (std::size_t first = 0; first < as_size(batch); first += most_at_once) {
        std::vector<Parameters> by_image(std::min(most_at_once, as_size(batch) - first), zeros);
        in_parallel(by_image.size(), [&](std::size_t image) {
            OneImage one = image_of(network, images, parameters, labels, first + image);
            one.run_forward();
            one.run_backward(1.0 / static_cast<double>(batch), by_image[image]);
        });
        for (const Parameters &one : by_image)
            for (std::size_t i = 0; i < sums.size(); ++i)
                for (std::size_t j = 0; j < sums[i].size(); ++j)
                    sums[i][j] += one[i][j];
    }
    return sums;
}

} // namespace convcast
