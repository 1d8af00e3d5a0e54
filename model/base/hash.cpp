#include "model/base/hash.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace convcast {

std::string content_hash(const std::vector<std::string> &texts) {
    std::string all;
    for (const std::string &text : texts)
        all += std::to_string(text.size()) + ":" + text;
    const XXH128_hash_t hash = XXH3_128bits(all.data(), all.size());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

} // namespace convcast
