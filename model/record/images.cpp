#include "model/record/images.hpp"

#include "model/base/described.hpp"
#include "model/base/embedded.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> shipped_image_files;

void GreyImage::check(const FieldProblem &problem) const {
    if (rows.empty() || rows.front().empty())
        problem("rows", "expected rows of pixels, for example \"00af\", found none");
    for (std::size_t y = 0; y < rows.size(); ++y) {
        const std::string row = "rows/" + std::to_string(y);
        if (rows[y].size() != rows.front().size())
            problem(row, "expected as many pixels as in the first row");
        if (rows[y].find_first_not_of("0123456789abcdef") != std::string::npos)
            problem(row, "expected a digit from 0 to f for each pixel");
    }
}

void GreyImages::check(const FieldProblem &problem) const {
    if (images.empty())
        problem("images", "expected at least one image, found none");
    for (std::size_t i = 0; i < images.size(); ++i)
        if (images[i].rows.size() != images.front().rows.size() ||
            (!images[i].rows.empty() && images[i].rows.front().size() != images.front().rows.front().size()))
            problem("images/" + std::to_string(i), "expected an image of the size of the first");
}

GreyImages read_images(const std::string &text, const std::string &file) {
    return described::read_document<GreyImages>(text, file);
}

std::vector<std::string> shipped_images() {
    return names_of(shipped_image_files);
}

GreyImages find_images(const std::string &name) {
    const NamedText file = named_file("data set with images", name, shipped_image_files, "");
    return read_images(file.text, file.place);
}

template const described::Type &described::type_of<GreyImages>();

} // namespace convcast
