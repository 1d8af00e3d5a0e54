// Pictures of a data set that ship, for a paper's figure that shows some: data/images.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/describe.hpp"
#include "model/base/document.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

struct GreyImage {
    std::string name;              ///< of what it shows: "Trouser"
    std::int64_t number = 0;       ///< in its data set, from 0 on
    std::vector<std::string> rows; ///< a digit a pixel, from 0 to f
    CONVCAST_MEMBERS(GreyImage, name, number, rows)

    static constexpr Range range_of(std::string_view) { return {0.0, 1e9}; } ///< of `number`
    void check(const FieldProblem &problem) const; ///< rows of one length, of hexadecimal digits
};

struct GreyImages {
    std::string schema = "convcast/images/1";
    std::string title;   ///< for a caption: which data set, which of its images
    std::string licence; ///< whose they are, and under which terms
    std::vector<GreyImage> images;
    CONVCAST_MEMBERS(GreyImages, schema, title, licence, images)

    void check(const FieldProblem &problem) const; ///< at least one image, all of one size
};

/// Throws InputError with every problem at once.
GreyImages read_images(const std::string &text, const std::string &file);

/// The names of the data sets of which images ship.
std::vector<std::string> shipped_images();
/// By a name of shipped_images(). Throws UsageError for another.
GreyImages find_images(const std::string &name);

extern template const described::Type &described::type_of<GreyImages>();

} // namespace convcast
