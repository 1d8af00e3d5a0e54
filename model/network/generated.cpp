#include "model/base/split_mix.hpp"
#include "model/network/idx.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace convcast {
namespace {

constexpr std::uint64_t drawn_classes = 10, drawn_directions = 5;

/// Waves of a class: by column and row, in radians a pixel.
struct Grating {
    double by_column, by_row;
};

Grating grating_of(std::uint64_t label) {
    const double angle = std::numbers::pi * static_cast<double>(label % drawn_directions) /
                         static_cast<double>(drawn_directions);
    const double pixels = label < drawn_directions ? 6.0 : 10.0; // of a wave
    const double frequency = 2.0 * std::numbers::pi / pixels;
    return {frequency * std::cos(angle), frequency * std::sin(angle)};
}

} // namespace

LabelledImages generated_images(const ImageShape &shape, std::int64_t count, std::uint64_t seed) {
    constexpr double noise = 0.5;
    SplitMix64 random(seed);
    LabelledImages images;
    images.shape = shape;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::uint64_t label = random() % drawn_classes;
        const Grating grating = grating_of(label);
        const double shift = 2.0 * std::numbers::pi * random.share();
        images.labels.push_back(static_cast<std::uint8_t>(label));
        for (std::int64_t at = 0; at < elements(shape); ++at) {
            const auto column = static_cast<double>(at % shape[2]),
                       row = static_cast<double>(at / shape[2] % shape[1]);
            const double wave = std::sin(grating.by_column * column + grating.by_row * row + shift);
            const double value = 0.5 + 0.25 * wave + noise * (random.share() - 0.5);
            images.pixels.push_back(static_cast<float>(std::clamp(value, 0.0, 1.0)));
        }
    }
    return images;
}

} // namespace convcast
