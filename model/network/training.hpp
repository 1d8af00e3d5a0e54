// What a training is asked and gives, and the file of trained parameters.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/describe.hpp"
#include "model/network/ladder.hpp"
#include "model/network/network.hpp"
#include "model/network/network_run.hpp"
#include "model/network/reference.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

/// What a training is asked.
struct TrainingOptions {
    Descent descent;
    std::int64_t epochs = 1;               ///< those of `descent`, or 0: only classify the test images
    std::uint64_t seed = 0;                ///< of the first parameters and the order of the images
    std::string tested_on = "test images"; ///< the images that accuracy is of, in words
    std::optional<Parameters> start;       ///< first parameters; absent: those of the seed
};

/// The rate of an epoch, from 0: half a cosine from all of descent.rate towards 0, half of it in the middle.
double rate_of_epoch(const Descent &descent, std::int64_t epoch);

/// The order of `count` images in an epoch: indices, shuffled anew for every epoch, the same for one seed.
std::vector<std::int32_t> order_of_epoch(std::int64_t count, std::uint64_t seed, std::int64_t epoch);

/// Trained parameters: of each operator that has some, in the order of its kernel (KCRS, outputs x inputs).
struct Weights {
    std::string schema = "convcast/weights/1";
    std::string network;
    std::string made_by; ///< how they were trained
    std::map<std::string, std::vector<double>> operators;
    CONVCAST_MEMBERS(Weights, schema, network, made_by, operators)

    // A trained parameter is near 1: beyond this only broken files come.
    static constexpr Range range_of(std::string_view) { return {-1e6, 1e6}; }
};

/// The document of one training, and the trained parameters.
struct TrainedNetwork {
    NetworkRun run;
    Weights weights;
};

/// Sets steps and time of item.training, which is there, and with `steps` > 0 the measured time of one.
void set_training_time(NetworkCase &item, std::int64_t steps, Seconds time);

/// Reads a file of weights. Throws InputError with every problem: weights of another network, of another
/// size, missing, or of operators that the network does not have.
Weights read_weights(const std::string &text, const std::string &file, const Network &network);

/// The weights that ship under a network's name, or a file by its path; "-": standard input. Throws
/// UsageError (unknown) or InputError.
Weights find_weights(const std::string &name_or_file, const Network &network);

/// Each number rounded to four decimals, as files of weights have them.
Parameters rounded(Parameters parameters);

/// Weights by index of the operator, as kernels and the reference take them; empty for one that has none.
Parameters parameters_of(const Weights &weights, const Network &network);
Weights weights_of(const Parameters &parameters, const Network &network, const std::string &made_by);

/// By image, its class: the index of the largest of its `classes` outputs, of equal ones the first.
std::vector<std::uint8_t> classified(const std::vector<double> &outputs, std::int64_t classes);

extern template const described::Type &described::type_of<Weights>();

} // namespace convcast
