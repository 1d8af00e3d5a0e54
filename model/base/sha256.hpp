// SHA-256 as sha256sum prints it, so that files can be checked without this program.
#pragma once

#include <string>
#include <string_view>

namespace convcast {

/// FIPS 180-4 over the bytes; 64 hex digits.
std::string sha256(std::string_view bytes);

} // namespace convcast
