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
    std::vector<float> pixels; ///< image by image
    std::vector<std::uint8_t> labels;
};

/// `classes`: labels are from 0 to classes - 1. The texts are the files' bytes, unpacked; the names are for
/// messages. Throws InputError for another magic number, a file that is longer or shorter than its header
/// says, a label that is out of range, and files of different lengths.
LabelledImages read_idx(const std::string &images, const std::string &images_name, const std::string &labels,
                        const std::string &labels_name, int classes);

/// The set `train` or `t10k` of a folder with the four files under their usual names, with or without .gz.
/// Throws InputError that names what was looked for.
LabelledImages read_idx_folder(const std::string &folder, const std::string &set, int classes);

/// Images for training where no data set is at hand: CI and first tries. `count` images of ten classes, each
/// class a grating of its own direction and width, shifted at random and under noise. The same for the same
/// seed.
LabelledImages generated_images(const ImageShape &shape, std::int64_t count, std::uint64_t seed);

} // namespace convcast
