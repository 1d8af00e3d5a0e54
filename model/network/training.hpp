// What a training is asked and gives, and the file of trained parameters.
#pragma once

#include "model/network/network.hpp"
#include "model/network/reference.hpp"

#include <boost/describe.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

struct TrainingOptions {
    std::int64_t batch = 2048, epochs = 300;
    double rate = 0.2; ///< of gradient descent, on the mean loss of a batch
    std::uint64_t seed = 0;
    std::optional<Parameters> start; ///< instead of those of the seed
};

/// Trained parameters: of each operator that has some, in the order of its kernel (KCRS, outputs x inputs).
struct Weights {
    std::string schema = "convcast/weights/1";
    std::string network;
    std::string made_by; ///< how they were trained
    std::map<std::string, std::vector<double>> operators;
    BOOST_DESCRIBE_CLASS(Weights, (), (schema, network, made_by, operators), (), ())

    static constexpr Range range_of(std::string_view) { return {-1e6, 1e6}; }
};

struct TrainingRun {
    std::string schema = "convcast/training/1";
    std::string network;
    std::int64_t batch = 0, epochs = 0, steps = 0;
    double rate = 0.0;
    std::map<std::string, std::string> conditions;
    Seconds time_s;                  ///< all epochs, host to host, without loading
    std::optional<Seconds> step_s;   ///< `time_s` over the steps
    double accuracy = 0.0;           ///< share of the test images classified right
    double reference_accuracy = 0.0; ///< the same parameters on the CPU in double, on `checked` images
    std::int64_t test_images = 0, checked = 0, disagreements = 0;
    Weights weights;
    BOOST_DESCRIBE_CLASS(TrainingRun, (),
                         (schema, network, batch, epochs, steps, rate, conditions, time_s, step_s, accuracy,
                          reference_accuracy, test_images, checked, disagreements, weights),
                         (), ())
};

/// Throws InputError for weights of another network, of another size, missing or beyond what the network has.
Weights read_weights(const std::string &text, const std::string &file, const Network &network);

/// The weights that ship under the network's name, or a file by its path. Throws UsageError (unknown) or
/// InputError.
Weights find_weights(const std::string &name_or_file, const Network &network);

/// By operator index, as kernels and the reference take them.
Parameters parameters_of(const Weights &weights, const Network &network);
Weights weights_of(const Parameters &parameters, const Network &network, const std::string &made_by);

/// Of each image the first of the largest of its `classes` numbers.
std::vector<std::uint8_t> classified(const std::vector<double> &outputs, std::int64_t classes);

} // namespace convcast
