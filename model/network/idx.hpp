// Images and labels: of IDX files, as MNIST and Fashion-MNIST are given, plain or gzip; or drawn.
#pragma once

#include "model/network/operator.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace convcast {

/// Images with a label each. Pixels are from 0 to 1.
struct LabelledImages {
    ImageShape shape{};
    std::vector<float> pixels; ///< image by image, row by row
    std::vector<std::uint8_t> labels;
};

/// Images and labels from the unpacked bytes of two IDX files, whose names are for messages. Labels are from
/// 0 to `classes` - 1. Throws InputError for another magic number, a file that is longer or shorter than its
/// header says, a label out of range, and not as many labels as images.
LabelledImages read_idx(const std::string &images, const std::string &images_name, const std::string &labels,
                        const std::string &labels_name, int classes);

/// The set `train` or `t10k` of a folder with the four files under their usual names, with or without .gz.
/// Throws InputError that names what was looked for.
LabelledImages read_idx_folder(const std::string &folder, const std::string &set, int classes);

/// Images for training where no data set is at hand (CI, first tries): `count` images of ten classes, each a
/// grating of its own direction and width, shifted at random, with noise. The same for the same seed.
LabelledImages generated_images(const ImageShape &shape, std::int64_t count, std::uint64_t seed);

} // namespace convcast
