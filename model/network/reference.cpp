#include "model/network/reference.hpp"

#include "model/base/parallel.hpp"
#include "model/base/split_mix.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace convcast {
namespace {

std::size_t index_of(std::int64_t value) {
    return static_cast<std::size_t>(value);
}

/// Calls each(pixel's index in its channel, place in the window) for the pixels of a window that lie in the
/// image, row by row.
template <class Each>
void for_window(const ConvShape &shape, std::int64_t p, std::int64_t q, const Each &each) {
    for (std::int64_t r = 0; r < shape.r; ++r)
        for (std::int64_t s = 0; s < shape.s; ++s) {
            const std::int64_t y = p * shape.stride_h - shape.pad_h + r,
                               x = q * shape.stride_w - shape.pad_w + s;
            if (y >= 0 && y < shape.h && x >= 0 && x < shape.w)
                each(y * shape.w + x, r * shape.s + s);
        }
}

/// A pooling's windows as those of a convolution of one channel.
ConvShape window_shape(const Operator &op, const ImageShape &input) {
    Operator windows = op;
    windows.kind = OperatorKind::convolution;
    windows.outputs = 1;
    windows.stride = op.stride ? op.stride : op.window;
    return *as_convolution(windows, {1, input[1], input[2]}, 1);
}

/// The first of the largest pixels of a window.
std::int64_t largest_of(const ConvShape &shape, std::int64_t p, std::int64_t q, const double *channel) {
    std::int64_t at = -1;
    for_window(shape, p, q, [&](std::int64_t pixel, std::int64_t) {
        if (at < 0 || channel[pixel] > channel[at])
            at = pixel;
    });
    return at;
}

/// One image of one operator: what it reads and writes.
struct Step {
    const Operator &op;
    const ImageShape &in_shape;
    const double *in, *other; ///< `other` is the second input of an add
    const std::vector<double> &parameters;
    std::optional<std::uint8_t> label;
};

void convolve(const Step &step, double *out) {
    const ConvShape shape = *as_convolution(step.op, step.in_shape, 1);
    const std::int64_t area = shape.h * shape.w, window = shape.r * shape.s;
    for (std::int64_t k = 0; k < shape.k; ++k)
        for (std::int64_t p = 0; p < shape.p(); ++p)
            for (std::int64_t q = 0; q < shape.q(); ++q) {
                double sum = 0.0;
                for (std::int64_t c = 0; c < shape.c; ++c) {
                    const double *pixels = step.in + c * area;
                    const double *filter = step.parameters.data() + (k * shape.c + c) * window;
                    for_window(shape, p, q, [&](std::int64_t pixel, std::int64_t place) {
                        sum += pixels[pixel] * filter[place];
                    });
                }
                *out++ = sum;
            }
}

void pool(const Step &step, double *out) {
    const ConvShape shape = window_shape(step.op, step.in_shape);
    for (std::int64_t c = 0; c < step.in_shape[0]; ++c) {
        const double *channel = step.in + c * shape.h * shape.w;
        for (std::int64_t p = 0; p < shape.p(); ++p)
            for (std::int64_t q = 0; q < shape.q(); ++q) {
                double sum = 0.0;
                for_window(shape, p, q, [&](std::int64_t pixel, std::int64_t) { sum += channel[pixel]; });
                *out++ = step.op.kind == OperatorKind::max_pooling
                             ? channel[largest_of(shape, p, q, channel)]
                             : sum / static_cast<double>(shape.r * shape.s);
            }
    }
}

std::vector<double> softmax_of(const double *in, std::int64_t count) {
    const double largest = *std::max_element(in, in + count);
    std::vector<double> out;
    double sum = 0.0;
    for (std::int64_t i = 0; i < count; ++i)
        sum += out.emplace_back(std::exp(in[i] - largest));
    for (double &value : out)
        value /= sum;
    return out;
}

void compute(const Step &step, double *out) {
    const std::int64_t count = elements(step.in_shape), area = step.in_shape[1] * step.in_shape[2];
    switch (step.op.kind) {
    case OperatorKind::convolution:
    case OperatorKind::dense:
        return convolve(step, out);
    case OperatorKind::max_pooling:
    case OperatorKind::average_pooling:
        return pool(step, out);
    case OperatorKind::bias:
        for (std::int64_t i = 0; i < count; ++i)
            out[i] = step.in[i] + step.parameters[index_of(i / area)];
        return;
    case OperatorKind::relu:
        for (std::int64_t i = 0; i < count; ++i)
            out[i] = std::max(step.in[i], 0.0);
        return;
    case OperatorKind::logistic:
        for (std::int64_t i = 0; i < count; ++i)
            out[i] = 1.0 / (1.0 + std::exp(-step.in[i]));
        return;
    case OperatorKind::add:
        for (std::int64_t i = 0; i < count; ++i)
            out[i] = step.in[i] + step.other[i];
        return;
    case OperatorKind::softmax: {
        const std::vector<double> shares = softmax_of(step.in, count);
        std::copy(shares.begin(), shares.end(), out);
        return;
    }
    case OperatorKind::half_squared_error:
        *out = 0.0;
        for (std::int64_t i = 0; i < count; ++i) {
            const double off = (i == *step.label ? 1.0 : 0.0) - step.in[i];
            *out += 0.5 * off * off;
        }
        return;
    case OperatorKind::cross_entropy:
        *out = -std::log(softmax_of(step.in, count)[*step.label]);
        return;
    }
}

/// What flows back into one image of an operator: by its inputs, and by its parameters.
struct Backward {
    double *by_in, *by_other;
    std::vector<double> &by_parameters;
};

void convolve_back(const Step &step, const double *by_out, const Backward &back) {
    const ConvShape shape = *as_convolution(step.op, step.in_shape, 1);
    const std::int64_t area = shape.h * shape.w, window = shape.r * shape.s;
    for (std::int64_t k = 0; k < shape.k; ++k)
        for (std::int64_t p = 0; p < shape.p(); ++p)
            for (std::int64_t q = 0; q < shape.q(); ++q) {
                const double by = *by_out++;
                for (std::int64_t c = 0; by != 0.0 && c < shape.c; ++c)
                    for_window(shape, p, q, [&](std::int64_t pixel, std::int64_t place) {
                        const std::int64_t weight = (k * shape.c + c) * window + place;
                        back.by_parameters[index_of(weight)] += by * step.in[c * area + pixel];
                        back.by_in[c * area + pixel] += by * step.parameters[index_of(weight)];
                    });
            }
}

void pool_back(const Step &step, const double *by_out, const Backward &back) {
    const ConvShape shape = window_shape(step.op, step.in_shape);
    for (std::int64_t c = 0; c < step.in_shape[0]; ++c) {
        const std::int64_t begin = c * shape.h * shape.w;
        for (std::int64_t p = 0; p < shape.p(); ++p)
            for (std::int64_t q = 0; q < shape.q(); ++q) {
                const double by = *by_out++;
                if (step.op.kind == OperatorKind::max_pooling)
                    back.by_in[begin + largest_of(shape, p, q, step.in + begin)] += by;
                else
                    for_window(shape, p, q, [&](std::int64_t pixel, std::int64_t) {
                        back.by_in[begin + pixel] += by / static_cast<double>(shape.r * shape.s);
                    });
            }
    }
}

void compute_back(const Step &step, const double *out, const double *by_out, const Backward &back) {
    const std::int64_t count = elements(step.in_shape), area = step.in_shape[1] * step.in_shape[2];
    switch (step.op.kind) {
    case OperatorKind::convolution:
    case OperatorKind::dense:
        return convolve_back(step, by_out, back);
    case OperatorKind::max_pooling:
    case OperatorKind::average_pooling:
        return pool_back(step, by_out, back);
    case OperatorKind::bias:
        for (std::int64_t i = 0; i < count; ++i) {
            back.by_in[i] += by_out[i];
            back.by_parameters[index_of(i / area)] += by_out[i];
        }
        return;
    case OperatorKind::relu:
        for (std::int64_t i = 0; i < count; ++i)
            back.by_in[i] += step.in[i] > 0.0 ? by_out[i] : 0.0;
        return;
    case OperatorKind::logistic:
        for (std::int64_t i = 0; i < count; ++i)
            back.by_in[i] += by_out[i] * out[i] * (1.0 - out[i]);
        return;
    case OperatorKind::add:
        for (std::int64_t i = 0; i < count; ++i)
            back.by_in[i] += by_out[i], back.by_other[i] += by_out[i];
        return;
    case OperatorKind::softmax: {
        double weighted = 0.0;
        for (std::int64_t i = 0; i < count; ++i)
            weighted += by_out[i] * out[i];
        for (std::int64_t i = 0; i < count; ++i)
            back.by_in[i] += out[i] * (by_out[i] - weighted);
        return;
    }
    case OperatorKind::half_squared_error:
        for (std::int64_t i = 0; i < count; ++i)
            back.by_in[i] += *by_out * (step.in[i] - (i == *step.label ? 1.0 : 0.0));
        return;
    case OperatorKind::cross_entropy: {
        const std::vector<double> shares = softmax_of(step.in, count);
        for (std::int64_t i = 0; i < count; ++i)
            back.by_in[i] += *by_out * (shares[index_of(i)] - (i == *step.label ? 1.0 : 0.0));
        return;
    }
    }
}

/// OperatorOutputs of one image as the operators of a network read and write them.
class OneImage {
  public:
    OneImage(const Network &network, const Parameters &parameters, const double *image,
             std::optional<std::uint8_t> label)
        : network_(network), parameters_(parameters), image_(image), label_(label) {}

    void run_forward() {
        for (const Operator &op : network_.operators)
            outputs_.emplace_back(index_of(elements(op.output)));
        for (std::size_t i = 0; i < network_.operators.size(); ++i)
            compute(step(i), outputs_[i].data());
    }

    /// After run_forward: adds `by_loss` times the gradient of this image's loss.
    void run_backward(double by_loss, Parameters &by_parameters) {
        OperatorOutputs by_outputs;
        for (const Operator &op : network_.operators)
            by_outputs.emplace_back(index_of(elements(op.output)), 0.0);
        std::vector<double> by_image(index_of(elements(network_.input)), 0.0); // nobody asks for it
        by_outputs.back().assign(by_outputs.back().size(), by_loss);
        for (std::size_t i = network_.operators.size(); i-- > 0;) {
            const std::vector<std::size_t> sources = network_.sources(i);
            const auto into = [&](std::size_t source) {
                return source == Network::input_index ? by_image.data() : by_outputs[source].data();
            };
            compute_back(step(i), outputs_[i].data(), by_outputs[i].data(),
                         {into(sources.front()), into(sources.back()), by_parameters[i]});
        }
    }

    const OperatorOutputs &outputs() const { return outputs_; }

  private:
    Step step(std::size_t i) {
        const std::vector<std::size_t> sources = network_.sources(i);
        const auto data = [&](std::size_t source) {
            return source == Network::input_index ? image_ : outputs_[source].data();
        };
        const ImageShape &in_shape = network_.shape_of(sources.front());
        return {network_.operators[i], in_shape,       data(sources.front()),
                data(sources.back()),  parameters_[i], label_};
    }

    const Network &network_;
    const Parameters &parameters_;
    const double *image_;
    std::optional<std::uint8_t> label_;
    OperatorOutputs outputs_;
};

OneImage image_of(const Network &network, std::span<const double> images, const Parameters &parameters,
                  std::span<const std::uint8_t> labels, std::size_t image) {
    return {network, parameters, images.data() + image * index_of(elements(network.input)),
            labels.empty() ? std::nullopt : std::optional(labels[image])};
}

} // namespace

Parameters seeded_parameters(const Network &network, std::uint64_t seed) {
    Parameters all;
    for (std::size_t i = 0; i < network.operators.size(); ++i) {
        const Operator &op = network.operators[i];
        const ImageShape input = network.input_shapes(i).front();
        std::vector<double> &of = all.emplace_back(index_of(parameters(op, input)));
        const double range =
            op.kind == OperatorKind::bias || of.empty()
                ? 0.1
                : std::sqrt(3.0 * static_cast<double>(*op.outputs) / static_cast<double>(of.size()));
        for (std::size_t j = 0; j < of.size(); ++j) {
            const double unit = SplitMix64(SplitMix64(seed + i)() + j).uniform();
            of[j] = static_cast<double>(static_cast<float>((2.0 * unit - 1.0) * range));
        }
    }
    return all;
}

OperatorOutputs forward(const Network &network, std::int64_t batch, std::span<const double> images,
                        const Parameters &parameters, std::span<const std::uint8_t> labels) {
    OperatorOutputs all;
    for (const Operator &op : network.operators)
        all.emplace_back(index_of(batch * elements(op.output)));
    in_parallel(index_of(batch), [&](std::size_t image) {
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
    // By image, added up in their order: the same sum on any number of cores. Some images at a time, since
    // each has as many numbers as there are parameters.
    constexpr std::size_t most_at_once = 64;
    Parameters sums = zeros;
    for (std::size_t first = 0; first < index_of(batch); first += most_at_once) {
        std::vector<Parameters> by_image(std::min(most_at_once, index_of(batch) - first), zeros);
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
