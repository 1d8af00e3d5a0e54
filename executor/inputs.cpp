#include "executor/inputs.hpp"

namespace convcast {
namespace {

/// The i-th number of the splitmix64 sequence of `seed`.
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t i) {
    std::uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

template <class Make> Inputs make_inputs(const ConvShape &shape, std::uint64_t seed, const Make &make) {
    Inputs made{std::vector<float>(static_cast<std::size_t>(shape.input_elements())),
                std::vector<float>(static_cast<std::size_t>(shape.filter_elements()))};
    std::uint64_t i = 0;
    for (std::vector<float> *values : {&made.input, &made.filters})
        for (float &value : *values)
            value = make(random_bits(seed, i++));
    return made;
}

} // namespace

Inputs integer_inputs(const ConvShape &shape, std::uint64_t seed) {
    const std::int64_t products = shape.products();
    std::int64_t most = 8;
    while (most > 1 && most * most * products >= std::int64_t{1} << 24)
        --most;
    const auto values = static_cast<std::uint64_t>(2 * most + 1);
    return make_inputs(shape, seed, [&](std::uint64_t bits) {
        return static_cast<float>(static_cast<std::int64_t>((bits >> 32) % values) - most);
    });
}

Inputs real_inputs(const ConvShape &shape, std::uint64_t seed) {
    return make_inputs(shape, seed, [](std::uint64_t bits) {
        // The odd multiples of 2^-23 in (-1, 1): exact in float, symmetric, never zero.
        const auto odd = static_cast<std::int64_t>(bits >> 40 | 1U) - (std::int64_t{1} << 23);
        return static_cast<float>(odd) * 0x1p-23F;
    });
}

} // namespace convcast
