// Reads and writes whole files; "-" is standard input or output. A name that ends in .gz is compressed.
#pragma once

#include <string>
#include <string_view>

struct gzFile_s; // of zlib

namespace convcast {

/// The text of a file; a gzip file is unpacked, whatever its name. Throws InputError with the reason, also if
/// the file begins with a NUL byte or has more than 512 MiB (an ONNX model: 2 GiB), packed or unpacked.
std::string read_file(const std::string &path);

/// The same for a file that is no text, and so may begin with a NUL byte.
std::string read_bytes(const std::string &path);

/// The text as a gzip file of one member, without a time stamp, so that equal texts give equal bytes.
std::string gzip(const std::string &text);

/// The bytes of a gzip file unpacked; any other text as it is. `name` is what messages call it. Throws
/// InputError.
std::string unpacked(std::string text, const std::string &name);

/// What messages call a file: its path, or "standard input".
std::string shown_name(const std::string &path);

/// Whether something has this path, a folder too; false also for a path that is not valid.
bool file_exists(const std::string &path);

/// Whether both paths lead to one file, or, if one does not exist, are the same. "-" is no file.
bool same_file(const std::string &one, const std::string &other);

/// Writes a file as a whole or not at all: writes beside it and renames. A file that is replaced hands on its
/// mode; if `path` is a symbolic link, the file that it leads to is replaced. Devices and pipes are written
/// through. Throws InputError with the reason (no such folder, not permitted, disk full) and leaves what was
/// there before; throws ClosedPipe if nobody reads any more.
void write_file_atomically(const std::string &path, const std::string &text);

/// Throws InputError, as write_file_atomically would, if a file cannot be written there; changes nothing.
void check_writable(const std::string &path);

/// An empty file beside `target`, of a name that no file had. It is to be written and then to take the
/// target's place; if it has not, it is removed with this object, and by exit_now.
class TemporaryFile {
  public:
    /// If `target` is a symbolic link, the file that it leads to is meant. The new file gets the mode of the
    /// file that it is to replace, else that of umask. Throws InputError.
    explicit TemporaryFile(const std::string &target);
    ~TemporaryFile();
    TemporaryFile(const TemporaryFile &) = delete;
    TemporaryFile &operator=(const TemporaryFile &) = delete;

    const std::string &path() const { return path_; }
    /// The descriptor by which it is open for writing; the caller closes it. Call once.
    int take_descriptor();
    /// Renames the file to the target. Throws InputError.
    void replace_target();

  private:
    std::string shown_, target_, path_;
    int descriptor_ = -1;
};

/// A file that is written piece by piece, packed if its name ends in .gz or .tgz, and takes its place at
/// finish(). Its functions throw as write_file_atomically does. A path of "-" is a file of that name.
class OutputFile {
  public:
    explicit OutputFile(const std::string &path);
    ~OutputFile();
    OutputFile(const OutputFile &) = delete;
    OutputFile &operator=(const OutputFile &) = delete;

    void write(std::string_view text);
    void finish();

  private:
    std::string shown_;
    TemporaryFile part_;
    int descriptor_;
    /// Writes to a duplicate of the descriptor; in zlib's transparent mode if the file is not packed.
    gzFile_s *packing_;
};

/// A folder that is removed, with its content, with this object and by exit_now, unless it is kept.
class TemporaryFolder {
  public:
    /// Makes a folder of a new name in the system's folder for temporary files (TMPDIR). Throws InputError.
    TemporaryFolder();
    /// Makes the folder `path`, and those that it lies in. If it exists already, it is left alone, never
    /// removed, and path() is "". Throws InputError.
    explicit TemporaryFolder(const std::string &path);
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder &) = delete;
    TemporaryFolder &operator=(const TemporaryFolder &) = delete;

    const std::string &path() const { return path_; }
    /// Lets the folder stay, as what was to be written is complete. path() is "" then.
    void keep();

  private:
    std::string path_;
};

/// A new folder, which is written beside `target` and takes that name at take_place(). If it has not, it is
/// removed with this object, and by exit_now.
class NewFolder {
  public:
    /// Throws InputError if something has the name `target` already, unless it is an empty folder.
    explicit NewFolder(const std::string &target);
    /// Throws as the constructor does, and makes nothing.
    static void check(const std::string &target);

    /// The folder to write into until take_place().
    const std::string &path() const { return part_.path(); }
    /// Renames the folder to the target. Throws InputError.
    void take_place();

  private:
    std::string target_;
    TemporaryFolder part_;
};

/// Makes the folder, and those that it lies in, if they do not exist. Throws InputError with the reason.
void make_folder(const std::string &path);

/// Removes temporary files and folders and ends the program with the exit code `code`. Runs no destructors
/// and waits for no thread. Takes a lock, so a signal handler must not call it.
[[noreturn]] void exit_now(int code);

} // namespace convcast
