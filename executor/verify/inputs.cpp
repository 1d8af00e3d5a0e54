#include "executor/verify/inputs.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace convcast {
namespace {

/// The i-th number of the splitmix64 sequence of `seed`.
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t i) {
    std::uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

template <class T, class Convert>
std::vector<std::byte> stored_as(std::span<const float> values, const Convert &convert) {
    std::vector<std::byte> memory(values.size() * sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) {
        const T element = convert(values[i]);
        std::memcpy(memory.data() + i * sizeof(T), &element, sizeof(T));
    }
    return memory;
}

/// Of zero and normal halves with no more than 11 significant bits: another bias, fewer bits.
std::uint16_t half_bits(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 16 & 0x8000U, magnitude = bits & 0x7FFFFFFFU;
    return static_cast<std::uint16_t>(magnitude == 0 ? sign : sign | ((magnitude >> 13) - (112U << 10)));
}

/// [outer][channels][inner] to [outer][inner][channels].
std::vector<float> channels_behind(const std::vector<float> &values, std::int64_t channels,
                                   std::int64_t inner) {
    std::vector<float> moved(values.size());
    const auto plane = static_cast<std::size_t>(channels * inner);
    for (std::size_t outer = 0; outer < values.size(); outer += plane)
        for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c)
            for (std::size_t i = 0; i < static_cast<std::size_t>(inner); ++i)
                moved[outer + i * static_cast<std::size_t>(channels) + c] =
                    values[outer + c * static_cast<std::size_t>(inner) + i];
    return moved;
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
    const std::int64_t exact = std::int64_t{1} << (shape.dtype == DataType::f16 ? 11 : 24);
    std::int64_t most = 8;
    while (most > 1 && most * most * products >= exact)
        --most;
    const auto values = static_cast<std::uint64_t>(2 * most + 1);
    return make_inputs(shape, seed, [&](std::uint64_t bits) {
        return static_cast<float>(static_cast<std::int64_t>((bits >> 32) % values) - most);
    });
}

Inputs real_inputs(const ConvShape &shape, std::uint64_t seed) {
    if (shape.dtype == DataType::i8)
        return make_inputs(shape, seed,
                           [](std::uint64_t bits) { return static_cast<float>(bits >> 56) - 128.0F; });
    if (shape.dtype == DataType::f16)
        return make_inputs(shape, seed, [](std::uint64_t bits) { // the odd multiples of 2^-11
            const auto odd = static_cast<std::int64_t>(bits >> 52 | 1U) - (std::int64_t{1} << 11);
            return static_cast<float>(odd) * 0x1p-11F;
        });
    return make_inputs(shape, seed, [](std::uint64_t bits) {
        // The odd multiples of 2^-23 in (-1, 1): exact in float, symmetric, never zero.
        const auto odd = static_cast<std::int64_t>(bits >> 40 | 1U) - (std::int64_t{1} << 23);
        return static_cast<float>(odd) * 0x1p-23F;
    });
}

std::vector<std::byte> stored(std::span<const float> values, DataType type) {
    if (type == DataType::f16)
        return stored_as<std::uint16_t>(values, half_bits);
    if (type == DataType::i8)
        return stored_as<std::int8_t>(values, [](float value) { return static_cast<std::int8_t>(value); });
    return stored_as<float>(values, [](float value) { return value; });
}

Inputs laid_out(Inputs inputs, const ConvShape &shape, Layout layout) {
    if (layout == Layout::channels_first)
        return inputs;
    return {channels_behind(inputs.input, shape.c, shape.h * shape.w),
            channels_behind(inputs.filters, shape.c / shape.groups, shape.r * shape.s)};
}

} // namespace convcast
