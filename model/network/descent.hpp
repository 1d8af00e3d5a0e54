// Gradient descent as data: its settings, its rate over the epochs, and the order in which an epoch takes the
// images.
#pragma once

#include "model/base/checked.hpp"

#include <boost/describe.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace convcast {

/// Steps of velocity = momentum * velocity + gradient of the mean loss + decay * parameters, and
/// parameters -= rate * velocity.
struct Descent {
    std::int64_t batch = 1, epochs = 1;
    double rate = 0.0; ///< of the first epoch
    double momentum = 0.0, decay = 0.0;
    BOOST_DESCRIBE_CLASS(Descent, (), (batch, epochs, rate, momentum, decay), (), ())

    static constexpr Range range_of(std::string_view name) {
        if (name == "momentum" || name == "decay")
            return {0.0, 1.0};
        if (name == "rate")
            return {1e-9, 1e3};
        return name == "epochs" ? Range{0.0, 1e6} : Range{1.0, 1e6};
    }
};

/// Falls from the rate of the settings along half a cosine towards 0: epoch 0 has all of it, the one in the
/// middle half.
double rate_of_epoch(const Descent &descent, std::int64_t epoch);

/// Numbers 0 to count - 1, shuffled anew for every epoch; the same for the same seed.
std::vector<std::int32_t> order_of_epoch(std::int64_t count, std::uint64_t seed, std::int64_t epoch);

} // namespace convcast
