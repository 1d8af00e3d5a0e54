// Whole files in and out. "-" is standard input or output. Names that end in .gz are compressed.
#pragma once

#include <string>

namespace convcast {

/// A gzip file is unpacked, whatever its name. Throws InputError with the reason.
std::string read_file(const std::string &path);

/// False also for a name that no file can have.
bool file_exists(const std::string &path);

/// Whether both names lead to one file, by the file itself where it exists; "-" is none.
bool same_file(const std::string &one, const std::string &other);

/// All or nothing: writes beside the target and renames. Throws InputError with the reason (no such folder, not
/// permitted, disk full) and leaves what was there before.
void write_file_atomically(const std::string &path, const std::string &text);

/// Throws InputError, as write_file_atomically would, if a file cannot be written there; changes nothing.
void check_writable(const std::string &path);

} // namespace convcast
