#include "executor/network/network_source.hpp"

#include "model/base/hash.hpp"

namespace convcast {

std::string network_code_hash() {
    std::vector<std::string> texts;
    for (const EmbeddedFile &file : network_sources) {
        texts.push_back(file.path);
        texts.push_back(file.text);
    }
    return content_hash(texts);
}

} // namespace convcast
