#include "model/base/utf8.hpp"

#include <cstddef>
#include <string_view>

namespace convcast {

std::size_t character_bytes(std::string_view text) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned lead = byte(0);
    const std::size_t bytes = lead < 0x80                   ? 1
                              : lead >= 0xC2 && lead < 0xE0 ? 2
                              : lead >= 0xE0 && lead < 0xF0 ? 3
                              : lead >= 0xF0 && lead < 0xF5 ? 4
                                                            : 0;
    if (bytes > text.size())
        return 0;
    for (std::size_t i = 1; i < bytes; ++i)
        if ((byte(i) & 0xC0) != 0x80)
            return 0;
    const bool beyond = bytes > 2 && ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F) ||
                                      (lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F));
    return beyond ? 0 : bytes; // overlong, surrogates, beyond Unicode
}

bool is_utf8(std::string_view text) {
    while (!text.empty() && character_bytes(text) > 0)
        text.remove_prefix(character_bytes(text));
    return text.empty();
}

} // namespace convcast
