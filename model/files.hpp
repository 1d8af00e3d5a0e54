// Whole files in and out. "-" is standard input or output.
#pragma once

#include <string>

namespace convcast {

/// Throws InputError with the reason.
std::string read_file(const std::string &path);

/// All or nothing: writes beside the target and renames. Throws InputError with the reason (no such folder, not
/// permitted, disk full) and leaves what was there before.
void write_file_atomically(const std::string &path, const std::string &text);

} // namespace convcast
