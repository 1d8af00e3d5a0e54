#include "model/network/idx.hpp"

#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/split_mix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <numbers>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace convcast {
namespace {

/// First words of IDX files: bytes (08) in three dimensions, and in one.
constexpr std::uint32_t images_magic = 0x00000803, labels_magic = 0x00000801;
constexpr float white = 255.0F;

/// An IDX file: its sizes by dimension, and the bytes behind its header.
struct Header {
    std::array<std::uint32_t, 3> sizes{1, 1, 1};
    std::string_view bytes;
};

/// Big-endian word number `word` of a file.
std::uint32_t word_at(const std::string &text, std::size_t word) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i)
        value = value << 8 | static_cast<std::uint8_t>(text[4 * word + i]);
    return value;
}

/// Throws InputError if the file has another magic number or not the bytes that its sizes say.
Header header_of(const std::string &text, const std::string &name, std::uint32_t magic,
                 std::size_t dimensions) {
    const std::size_t length = 4 * (1 + dimensions);
    const char *what = dimensions == 3 ? "images" : "labels";
    if (text.size() < length)
        throw InputError(
            name, fmt::format("expected an IDX file of {}, which starts with {} bytes of header, found "
                              "{} bytes in all",
                              what, length, text.size()));
    if (word_at(text, 0) != magic)
        throw InputError(name,
                         fmt::format("expected an IDX file of {}, which starts with {:#010x}, found {:#010x}",
                                     what, magic, word_at(text, 0)));
    Header header;
    std::string sizes;
    double bytes = 1.0; // a product of three words, which may pass 64 bits
    for (std::size_t i = 0; i < dimensions; ++i) {
        header.sizes[i] = word_at(text, 1 + i);
        sizes += (i == 0 ? "" : " x ") + std::to_string(header.sizes[i]);
        bytes *= static_cast<double>(header.sizes[i]);
    }
    if (bytes == 0.0)
        throw InputError(name, fmt::format("has no {}: its header says {}", what, sizes));
    if (bytes != static_cast<double>(text.size() - length))
        throw InputError(
            name, fmt::format("expected {} bytes behind the header, which says {}, found {}: the file "
                              "was cut or is no IDX file",
                              bytes < 1e15 ? fmt::format("{:.0f}", bytes) : fmt::format("{:.3g}", bytes),
                              sizes, text.size() - length));
    header.bytes = std::string_view(text).substr(length);
    return header;
}

// ---- images that are drawn ----

// Ten classes as MNIST has: five directions, each with a short and a long wave; all is chosen.
constexpr std::uint64_t drawn_classes = 10, drawn_directions = 5;

/// How fast the wave of a class goes on along a row and along a column, in radians a pixel.
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

LabelledImages read_idx(const std::string &images, const std::string &images_name, const std::string &labels,
                        const std::string &labels_name, int classes) {
    const Header pixels = header_of(images, images_name, images_magic, 3),
                 its_labels = header_of(labels, labels_name, labels_magic, 1);
    if (pixels.sizes[0] != its_labels.sizes[0])
        throw InputError(labels_name, fmt::format("has {} labels for the {} images of {}",
                                                  its_labels.sizes[0], pixels.sizes[0], images_name));
    LabelledImages out;
    out.shape = {1, pixels.sizes[1], pixels.sizes[2]};
    out.pixels.reserve(pixels.bytes.size());
    for (const char byte : pixels.bytes)
        out.pixels.push_back(static_cast<float>(static_cast<std::uint8_t>(byte)) / white);
    for (std::size_t i = 0; i < its_labels.bytes.size(); ++i) {
        const auto label = static_cast<std::uint8_t>(its_labels.bytes[i]);
        if (label >= classes)
            throw InputError(labels_name,
                             fmt::format("label {} is {}, expected 0 to {}", i, label, classes - 1));
        out.labels.push_back(label);
    }
    return out;
}

LabelledImages read_idx_folder(const std::string &folder, const std::string &set, int classes) {
    const auto path_of = [&](const std::string &kind) {
        const std::string plain = folder + "/" + set + "-" + kind + "-ubyte";
        for (const std::string &path : {plain, plain + ".gz"})
            if (file_exists(path)) {
                std::error_code failed;
                if (!std::filesystem::is_regular_file(path, failed)) // a pipe would be waited for
                    throw InputError(path, "is no regular file, expected an IDX file");
                return path;
            }
        throw InputError(folder, "expected the file " + set + "-" + kind + "-ubyte or " + set + "-" + kind +
                                     "-ubyte.gz, as in /usr/share/datasets/fashion-mnist of the package "
                                     "dataset-fashion-mnist");
    };
    const std::string images = path_of("images-idx3"), labels = path_of("labels-idx1");
    return read_idx(read_bytes(images), images, read_bytes(labels), labels, classes);
}

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
