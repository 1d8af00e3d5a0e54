// Whole files in and out. "-" is standard input or output. Names that end in .gz are compressed.
#pragma once

#include <string>
#include <string_view>

struct gzFile_s; // of zlib

namespace convcast {

/// A gzip file is unpacked, whatever its name. Throws InputError with the reason.
std::string read_file(const std::string &path);

/// The same of a file that is no text.
std::string read_bytes(const std::string &path);

/// A text as one gzip member. Without a time stamp, so that equal text gives equal bytes.
std::string gzip(const std::string &text);

/// The text of a gzip file's bytes; any other text as it is. `name` is what messages call it. Throws
/// InputError.
std::string unpacked(std::string text, const std::string &name);

/// What messages call a file: its path, or "standard input".
std::string shown_name(const std::string &path);

/// False also for a name that no file can have.
bool file_exists(const std::string &path);

/// Whether both names lead to one file, by the file itself where it exists; "-" is none.
bool same_file(const std::string &one, const std::string &other);

/// All or nothing: writes beside the target and renames. A file that is there keeps its mode, and a symbolic
/// link keeps being one: the file that it leads to is replaced. Throws InputError with the reason (no such
/// folder, not permitted, disk full) and leaves what was there before, ClosedPipe where nobody reads any
/// more.
void write_file_atomically(const std::string &path, const std::string &text);

/// Throws InputError, as write_file_atomically would, if a file cannot be written there; changes nothing.
void check_writable(const std::string &path);

/// An empty file beside `target`, of a name that no file had, which is to take the target's place. It is
/// removed with this object, and by exit_now, if it has not done so.
class TemporaryFile {
  public:
    /// Where `target` is a symbolic link, the file that it leads to is meant. Gets the mode of a file that is
    /// there, else that of umask. Throws InputError.
    explicit TemporaryFile(const std::string &target);
    ~TemporaryFile();
    TemporaryFile(const TemporaryFile &) = delete;
    TemporaryFile &operator=(const TemporaryFile &) = delete;

    const std::string &path() const { return path_; }
    /// What it is opened with for writing; the caller closes it.
    int take_descriptor();
    /// Throws InputError.
    void replace_target();

  private:
    std::string shown_, target_, path_;
    int descriptor_ = -1;
};

/// A file that is written piece by piece, packed where its name ends in .gz or .tgz, and takes its place when
/// all is written. Throws as write_file_atomically does.
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
    gzFile_s
        *packing_; ///< its own descriptor is another of the same file; writes as it is what is not packed
};

/// A folder that is removed, with all that is in it, with this object and by exit_now.
class TemporaryFolder {
  public:
    /// A new one, where the system has those of programs. Throws InputError.
    TemporaryFolder();
    /// This one until keep(), if it is made here; one that was there before is left alone. Throws InputError.
    explicit TemporaryFolder(const std::string &path);
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder &) = delete;
    TemporaryFolder &operator=(const TemporaryFolder &) = delete;

    const std::string &path() const { return path_; }
    /// What was to be written is complete: the folder stays.
    void keep();

  private:
    std::string path_;
};

/// A new folder that takes its place when all of it is written. It is removed with this object, and by
/// exit_now, if it has not done so.
class NewFolder {
  public:
    /// Throws InputError where there is something of this name already, unless it is an empty folder.
    explicit NewFolder(const std::string &target);
    /// The same without making anything.
    static void check(const std::string &target);

    /// Where to write until then: a folder beside the target.
    const std::string &path() const { return part_.path(); }
    /// Throws InputError.
    void take_place();

  private:
    std::string target_;
    TemporaryFolder part_;
};

/// Makes the folder, and those that it lies in, where there is none. Throws InputError with the reason.
void make_folder(const std::string &path);

/// Ends the program with `code`, without destructors and whatever its threads do, but for temporary files and
/// folders, which are removed. For a thread, not for a signal handler.
[[noreturn]] void exit_now(int code);

} // namespace convcast
