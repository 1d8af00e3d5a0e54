// Images and labels as IDX: the first byte says how many of the bytes behind it are the file of labels.
#include "model/network/idx.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <algorithm>

using namespace convcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    if (size == 0)
        return -1;
    const std::string bytes(reinterpret_cast<const char *>(data) + 1, size - 1);
    const std::size_t cut = std::min<std::size_t>(data[0], bytes.size());
    try {
        const LabelledImages read = read_idx(bytes.substr(cut), "images", bytes.substr(0, cut), "labels", 10);
        const auto elements_of = static_cast<std::size_t>(read.shape[0] * read.shape[1] * read.shape[2]);
        if (read.labels.empty() || read.pixels.size() != read.labels.size() * elements_of)
            std::abort();
        for (const float pixel : read.pixels)
            if (!(pixel >= 0.0F && pixel <= 1.0F))
                std::abort();
    } catch (const InputError &) {
        return -1;
    }
    return 0;
}
