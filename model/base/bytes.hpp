// Files that are no text.
#pragma once

#include <string>

namespace convcast {

/// All bytes of a file, as read_file gives those of a text: a gzip file is unpacked. Throws InputError with
/// the reason.
std::string read_bytes(const std::string &path);

} // namespace convcast
