// What a network is run on where only its kernels matter, drawn from a seed.
#pragma once

#include "model/network/reference.hpp"

#include <cstdint>
#include <vector>

namespace convcast {

struct NetworkData {
    std::vector<float> images;
    std::vector<std::uint8_t>
        labels; ///< below the number of outputs, or below 10 of a network that ends in a loss
    Parameters parameters;
};

struct DataKind {
    bool integers = false; ///< so small that sums of small networks are exact in any order
    bool relus = false; ///< for deep networks of ReLUs: images of variance 1, parameters of relu_parameters
};

NetworkData network_data(const Network &network, std::int64_t batch, std::uint64_t seed,
                         const DataKind &kind);

} // namespace convcast
