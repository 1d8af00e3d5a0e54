#include "model/shape/training_part.hpp"

#include "model/base/hash.hpp"

#include <cstdint>
#include <string>

namespace convcast {

std::uint64_t seed_of(const std::string &text) {
    return std::stoull(content_hash({text}).substr(0, 16), nullptr, 16);
}

bool in_training_part(const std::string &shape_id) {
    return seed_of(shape_id) % 5 == 0;
}

} // namespace convcast
