// What a training is asked and gives, and the file of trained parameters.
#pragma once

#include "model/base/checked.hpp"
#include "model/network/descent.hpp"
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
    Descent descent;
    std::int64_t epochs = 1;               ///< those of `descent`, or 0: only classify
    std::uint64_t seed = 0;                ///< of the first parameters and the order of the images
    std::string tested_on = "test images"; ///< what the images are that accuracy is of
    std::optional<Parameters> start;       ///< instead of those of the seed
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

/// What a rung makes of the test images.
struct RungAccuracy {
    std::string id;
    double accuracy = 0.0;
    std::int64_t disagreements = 0; ///< images that it classifies otherwise than the rung that accuracy is of
    BOOST_DESCRIBE_CLASS(RungAccuracy, (), (id, accuracy, disagreements), (), ())

    static constexpr std::optional<Range> range_of(std::string_view field) {
        return field == "accuracy" ? std::optional(Range{0.0, 1.0}) : std::nullopt;
    }
};

struct TrainingRun {
    std::string schema = "convcast/training/1";
    std::string network;
    std::string data, tested_on; ///< which images
    std::int64_t images = 0, epochs = 0, steps = 0;
    Descent descent;
    std::map<std::string, std::string> conditions;
    Seconds time_s;                  ///< all epochs, host to host, without loading
    std::optional<Seconds> step_s;   ///< `time_s` over the steps
    double accuracy = 0.0;           ///< share of the test images classified right
    double reference_accuracy = 0.0; ///< the same parameters on the CPU in double, on `checked` images
    std::int64_t test_images = 0, checked = 0, disagreements = 0;
    std::vector<RungAccuracy> rungs; ///< each that computes outputs, where nothing was trained
    Weights weights;                 ///< a document of its own
    BOOST_DESCRIBE_CLASS(TrainingRun, (),
                         (schema, network, data, tested_on, images, epochs, steps, descent, conditions,
                          time_s, step_s, accuracy, reference_accuracy, test_images, checked, disagreements,
                          rungs),
                         (), ())

    static constexpr std::optional<Range> range_of(std::string_view field) {
        if (field == "accuracy" || field == "reference_accuracy")
            return Range{0.0, 1.0};
        if (field == "images" || field == "test_images")
            return count_above_zero;
        return field == "step_s" ? std::optional(time_above_zero) : std::nullopt;
    }
    void
    check(const FieldProblem &problem) const; ///< of a network that has a ladder; no more than all images
};

/// Throws InputError for weights of another network, of another size, missing or beyond what the network has.
Weights read_weights(const std::string &text, const std::string &file, const Network &network);

/// The weights that ship under the network's name, or a file by its path. Throws UsageError (unknown) or
/// InputError.
Weights find_weights(const std::string &name_or_file, const Network &network);

/// Each number at four decimals, as a file of weights has it.
Parameters rounded(Parameters parameters);

/// By operator index, as kernels and the reference take them.
Parameters parameters_of(const Weights &weights, const Network &network);
Weights weights_of(const Parameters &parameters, const Network &network, const std::string &made_by);

/// Of each image the first of the largest of its `classes` numbers.
std::vector<std::uint8_t> classified(const std::vector<double> &outputs, std::int64_t classes);

extern template const described::Type &described::type_of<Weights>();
extern template const described::Type &described::type_of<TrainingRun>();

} // namespace convcast
