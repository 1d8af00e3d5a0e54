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

struct TrainingOptions {
    Descent descent;
    std::int64_t epochs = 1;               ///< those of `descent`, or 0: only classify
    std::uint64_t seed = 0;                ///< of the first parameters and the order of the images
    std::string tested_on = "test images"; ///< what the images are that accuracy is of
    std::optional<Parameters> start;       ///< instead of those of the seed
};

/// Falls from the rate of the settings along half a cosine towards 0: epoch 0 has all of it, the one in the
/// middle half.
double rate_of_epoch(const Descent &descent, std::int64_t epoch);

/// Numbers 0 to count - 1, shuffled anew for every epoch; the same for the same seed.
std::vector<std::int32_t> order_of_epoch(std::int64_t count, std::uint64_t seed, std::int64_t epoch);

/// Trained parameters: of each operator that has some, in the order of its kernel (KCRS, outputs x inputs).
struct Weights {
    std::string schema = "convcast/weights/1";
    std::string network;
    std::string made_by; ///< how they were trained
    std::map<std::string, std::vector<double>> operators;
    CONVCAST_MEMBERS(Weights, schema, network, made_by, operators)

    static constexpr Range range_of(std::string_view) { return {-1e6, 1e6}; }
};

/// A document of one training, and what it leaves.
struct TrainedNetwork {
    NetworkRun run;
    Weights weights;
};

/// Sets the time of a training of so many steps, and of one of them.
void took(NetworkCase &item, std::int64_t steps, Seconds time);

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

} // namespace convcast
