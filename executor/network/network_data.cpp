#include "executor/network/network_data.hpp"

#include "model/base/split_mix.hpp"
#include "model/network/reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace convcast {

NetworkData network_data(const Network &network, std::int64_t batch, std::uint64_t seed,
                         const DataKind &kind) {
    SplitMix64 random(seed);
    NetworkData data;
    data.parameters = kind.deep ? steady_parameters(network, seed) : seeded_parameters(network, seed);
    data.images.resize(static_cast<std::size_t>(batch * elements(network.input)));
    const double width = kind.deep ? 2.0 * std::sqrt(3.0) : 1.0;
    for (float &pixel : data.images)
        pixel = kind.integers ? static_cast<float>(random() % 3)
                              : static_cast<float>(width * (random.share() - 0.5));
    const std::int64_t classes = elements(network.operators.back().output);
    for (std::int64_t i = 0; i < batch; ++i)
        data.labels.push_back(static_cast<std::uint8_t>(
            random() % static_cast<std::uint64_t>(std::clamp<std::int64_t>(classes, 10, 256))));
    if (kind.integers) // of the many products of a dense layer most are with 0
        for (std::size_t i = 0; i < data.parameters.size(); ++i)
            for (double &value : data.parameters[i]) {
                const std::uint64_t drawn = random();
                const bool zero = network.operators[i].kind == OperatorKind::dense && drawn % 8 != 0;
                value = zero ? 0.0 : static_cast<double>((drawn >> 8) % 3) - 1.0;
            }
    return data;
}

} // namespace convcast
