#include "model/base/files.hpp"

#include "model/base/errors.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace convcast {
namespace {

struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

/// Most bytes that are read of a file, packed or unpacked: /dev/zero never ends, and a small hostile file may
/// unpack to anything. A run of 20,000 cases with forecasts has 450 MB. model/base/json.cpp limits how many
/// values a text of this length may have.
constexpr std::size_t most_text = std::size_t{512} << 20;

/// Most bytes that are read of a file which begins like `text`. A model of ONNX, which has its weights
/// inside, begins with the field of its version (a byte 8); the most that its format allows is 2 GiB.
std::size_t most_of(std::string_view text) {
    return text.starts_with('\x08') ? most_text * 4 : most_text;
}

/// What a caller expects of a file: a text, which must not begin with a NUL byte, or anything.
enum class Content { text, bytes };

[[noreturn]] void too_long(const std::string &path, const char *what, Content content) {
    if (content == Content::bytes)
        throw InputError(path, std::string(what) + " more than 512 MiB, the most that is read of a file");
    throw InputError(path,
                     std::string(what) +
                         " more than 512 MiB, the most that is read of a text as a whole; of a document "
                         "of lines, a case a line, any number is read: -o run.jsonl or run.jsonl.gz "
                         "writes one, and convcast merge joins parts to one");
}

/// All that `file` has until its end; `path` is what messages call it.
std::string read_all(std::FILE *file, const std::string &path, Content content) {
    std::string text;
    char buffer[1 << 16];
    for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, file)) > 0;) {
        text.append(buffer, got);
        if (content == Content::text && text.front() == '\0') // so /dev/zero ends at once
            throw InputError(path, "is no text: it begins with a NUL byte");
        if (text.size() > most_of(text))
            too_long(path, "has", content);
    }
    if (std::ferror(file) != 0)
        throw InputError(path, std::string("cannot be read: ") + std::strerror(errno));
    return text;
}

constexpr int gzip_window = 15 + 16; // zlib: the largest window, and 16 for the format gzip

/// Whether a file's bytes begin as those of gzip do.
bool is_packed(std::string_view text) {
    return text.starts_with("\x1f\x8b");
}

/// The text of a gzip file of one member or several. Throws InputError if anything else follows.
std::string unpack(const std::string &packed, const std::string &path, Content content) {
    z_stream stream{};
    if (inflateInit2(&stream, gzip_window) != Z_OK)
        throw InputError(path, "cannot be unpacked: out of memory");
    const std::unique_ptr<z_stream, int (*)(z_stream *)> end(&stream, inflateEnd);
    // zlib reads through a pointer that is not const, and never writes to it.
    stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(packed.data()));
    stream.avail_in = static_cast<uInt>(packed.size());
    std::string text;
    char buffer[1 << 16];
    for (bool more = true; more;) {
        stream.next_out = reinterpret_cast<Bytef *>(buffer);
        stream.avail_out = sizeof buffer;
        const int state = inflate(&stream, Z_NO_FLUSH);
        text.append(buffer, sizeof buffer - stream.avail_out);
        if ((state != Z_OK && state != Z_STREAM_END) || (state == Z_OK && stream.avail_out == sizeof buffer))
            throw InputError(path, "is a damaged or cut gzip file");
        if (text.size() > most_of(text))
            too_long(path, "unpacks to", content);
        if (state == Z_STREAM_END) {
            more = stream.avail_in > 0;
            if (more && !is_packed(std::string_view(packed).substr(packed.size() - stream.avail_in)))
                throw InputError(path, "has " + std::to_string(stream.avail_in) +
                                           " bytes behind the end of its gzip data; expected nothing there");
            inflateReset(&stream);
        }
    }
    return text;
}

[[noreturn]] void fail_to_write(const std::string &path, int error) {
    if (error == EPIPE)
        throw ClosedPipe(path + " is closed");
    throw InputError(path, std::string("cannot be written: ") + std::strerror(error));
}

/// Whether a path is a device such as /dev/null, or a named pipe: no rename may replace it.
bool is_special(const std::string &path) {
    struct stat existing {};
    return ::stat(path.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode) && !S_ISDIR(existing.st_mode);
}

/// The file that a chain of symbolic links leads to, whether it exists or not.
std::string without_links(const std::string &path) {
    constexpr int most_links = 40; // as many as Linux follows
    std::filesystem::path target = path;
    std::error_code failed;
    for (int links = 0; std::filesystem::is_symlink(target, failed); ++links) {
        if (links == most_links)
            fail_to_write(path, ELOOP);
        const std::filesystem::path next = std::filesystem::read_symlink(target, failed);
        target = next.is_absolute() ? next : target.parent_path() / next;
    }
    return target.string();
}

/// The temporaries that exist now. Never destroyed: other threads may write files while the program ends.
struct Temporaries {
    std::mutex mutex;
    std::set<std::string> paths, folders;
};
Temporaries &temporaries() {
    static Temporaries *const all = new Temporaries;
    return *all;
}

/// Whether a file must be on the disk before it is closed, so that a rename never leaves an empty one behind.
enum class Sync { no, yes };

/// Writes the text and closes `file`, which is nullptr if opening it has failed (errno says why). Throws as
/// write_file_atomically does; `path` is what messages call the file.
void write_and_close(std::FILE *file, const std::string &text, const std::string &path, Sync sync) {
    if (file == nullptr)
        fail_to_write(path, errno);
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size() &&
                         std::fflush(file) == 0 && (sync == Sync::no || ::fsync(::fileno(file)) == 0);
    const int error = errno;
    const bool closed = std::fclose(file) == 0;
    if (!written || !closed)
        fail_to_write(path, written ? errno : error);
}

/// The text, unpacked if it is gzip. `content` only words the message about its length.
std::string unpacked_if_gzip(std::string text, const std::string &name, Content content) {
    return is_packed(text) ? unpack(text, name, content) : text;
}

/// What a file holds, or standard input ("-"), unpacked if it is gzip.
std::string read_content(const std::string &path, Content content) {
    if (path == "-")
        return unpacked_if_gzip(read_all(stdin, "standard input", content), "standard input", content);
    // fopen opens a folder too, and only reading it would fail. A path without a file is left to fopen's
    // message.
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored))
        throw InputError(path, "is a folder, expected a file");
    const File file(std::fopen(path.c_str(), "rb"));
    if (!file)
        throw InputError(path, std::string("cannot be opened: ") + std::strerror(errno));
    return unpacked_if_gzip(read_all(file.get(), path, content), path, content);
}

} // namespace

std::string gzip(const std::string &text) {
    z_stream stream{};
    if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, gzip_window, 9, Z_DEFAULT_STRATEGY) != Z_OK)
        throw std::bad_alloc();
    const std::unique_ptr<z_stream, int (*)(z_stream *)> end(&stream, deflateEnd);
    std::string packed(deflateBound(&stream, text.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef *>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    deflate(&stream, Z_FINISH);
    packed.resize(stream.total_out);
    return packed;
}

std::string unpacked(std::string text, const std::string &name) {
    return unpacked_if_gzip(std::move(text), name, Content::text);
}

std::string read_file(const std::string &path) {
    return read_content(path, Content::text);
}

std::string read_bytes(const std::string &path) {
    return read_content(path, Content::bytes);
}

bool same_file(const std::string &one, const std::string &other) {
    if (one == "-" || other == "-")
        return false;
    std::error_code failed;
    const bool same = std::filesystem::equivalent(one, other, failed);
    return failed ? std::filesystem::path(one).lexically_normal() ==
                        std::filesystem::path(other).lexically_normal()
                  : same;
}

TemporaryFile::TemporaryFile(const std::string &target) : shown_(target), target_(without_links(target)) {
    struct stat existing {};
    const bool replaces = ::stat(target_.c_str(), &existing) == 0 && S_ISREG(existing.st_mode);
    const std::scoped_lock lock(temporaries().mutex);
    for (int error = EEXIST; error == EEXIST;) {
        path_ = target_ + fmt::format(".part{:08x}", std::random_device{}());
        // Exclusive: neither a file nor a link that somebody else put there is written through.
        descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                             replaces ? 0600 : 0666);
        error = descriptor_ < 0 ? errno : 0;
        if (error != 0 && error != EEXIST)
            fail_to_write(shown_, error);
    }
    temporaries().paths.insert(path_);
    if (replaces)
        (void)::fchmod(descriptor_, existing.st_mode & 0777); // a file system without modes has none to keep
}

TemporaryFile::~TemporaryFile() {
    if (descriptor_ >= 0)
        ::close(descriptor_);
    if (path_.empty())
        return;
    const std::scoped_lock lock(temporaries().mutex);
    ::unlink(path_.c_str());
    temporaries().paths.erase(path_);
}

int TemporaryFile::take_descriptor() {
    return std::exchange(descriptor_, -1);
}

void TemporaryFile::replace_target() {
    const std::scoped_lock lock(temporaries().mutex);
    if (::rename(path_.c_str(), target_.c_str()) != 0)
        fail_to_write(shown_, errno);
    temporaries().paths.erase(path_);
    path_.clear();
}

OutputFile::OutputFile(const std::string &path)
    : shown_(path), part_(path), descriptor_(part_.take_descriptor()),
      packing_(gzdopen(::dup(descriptor_), path.ends_with(".gz") || path.ends_with(".tgz") ? "wb6" : "wbT")) {
    if (packing_ == nullptr)
        throw InputError(path, "cannot be written: out of memory");
}

OutputFile::~OutputFile() {
    if (packing_ != nullptr)
        gzclose(packing_);
    ::close(descriptor_);
}

void OutputFile::write(std::string_view text) {
    constexpr std::size_t at_once = 1 << 20; // zlib takes no more than an int counts
    for (; !text.empty(); text.remove_prefix(std::min(at_once, text.size())))
        if (gzwrite(packing_, text.data(), static_cast<unsigned>(std::min(at_once, text.size()))) == 0)
            fail_to_write(shown_, errno);
}

void OutputFile::finish() {
    if (gzclose(std::exchange(packing_, nullptr)) != Z_OK)
        fail_to_write(shown_, errno);
    if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) // as of what cannot be synchronised
        fail_to_write(shown_, errno);
    part_.replace_target();
}

TemporaryFolder::TemporaryFolder() {
    std::error_code failed;
    const std::filesystem::path beside = std::filesystem::temp_directory_path(failed);
    if (failed)
        throw InputError("TMPDIR", "is no folder for temporary files: " + failed.message());
    std::string name = (beside / "convcast_XXXXXX").string();
    const std::scoped_lock lock(temporaries().mutex);
    if (::mkdtemp(name.data()) == nullptr)
        throw InputError(name, std::string("cannot make a folder: ") + std::strerror(errno));
    path_ = name;
    temporaries().folders.insert(path_);
}

TemporaryFolder::TemporaryFolder(const std::string &path) {
    const std::filesystem::path above = std::filesystem::path(path).parent_path();
    if (!above.empty())
        make_folder(above.string());
    const std::scoped_lock lock(temporaries().mutex);
    std::error_code failed;
    const bool made = std::filesystem::create_directory(path, failed);
    if (failed)
        throw InputError(path, "cannot make this folder: " + failed.message());
    if (!made)
        return;
    path_ = path;
    temporaries().folders.insert(path_);
}

TemporaryFolder::~TemporaryFolder() {
    if (path_.empty())
        return;
    std::error_code none;
    std::filesystem::remove_all(path_, none);
    keep();
}

void TemporaryFolder::keep() {
    const std::scoped_lock lock(temporaries().mutex);
    temporaries().folders.erase(path_);
    path_.clear();
}

namespace {

std::string without_slash(std::string path) {
    while (path.size() > 1 && path.ends_with('/'))
        path.pop_back();
    return path;
}

/// A path beside the target that nothing has. Throws InputError if the target cannot be replaced.
std::string name_beside(const std::string &target) {
    NewFolder::check(target);
    std::error_code failed;
    std::random_device random;
    std::string name;
    do
        name = fmt::format("{}.{:08x}.unfinished", target, random());
    while (std::filesystem::exists(name, failed));
    return name;
}

} // namespace

void NewFolder::check(const std::string &target) {
    std::error_code failed;
    const std::filesystem::file_status existing = std::filesystem::symlink_status(target, failed);
    const bool exists = std::filesystem::exists(existing);
    if (exists && !std::filesystem::is_directory(existing))
        throw InputError(target, "is there already and is no folder; name a folder that does not exist yet");
    if (exists && !std::filesystem::is_empty(target, failed))
        throw InputError(target, "is a folder that is not empty, and nothing in it is written over; name a "
                                 "folder that does not exist yet, or empty this one");
    if (exists && failed)
        throw InputError(target, "cannot be looked into: " + failed.message());
}

NewFolder::NewFolder(const std::string &target)
    : target_(without_slash(target)), part_(name_beside(target_)) {}

void NewFolder::take_place() {
    std::error_code failed;
    std::filesystem::rename(part_.path(), target_, failed); // of an empty folder it takes the place
    if (failed)
        throw InputError(target_, "cannot be made: " + failed.message());
    part_.keep();
}

void make_folder(const std::string &path) {
    std::error_code failed;
    std::filesystem::create_directories(path, failed);
    if (failed)
        throw InputError(path, "cannot make this folder: " + failed.message());
}

void exit_now(int code) {
    temporaries().mutex.lock(); // for good: no file is made or renamed any more
    for (const std::string &path : temporaries().paths)
        ::unlink(path.c_str());
    std::error_code none;
    for (const std::string &folder : temporaries().folders)
        std::filesystem::remove_all(folder, none);
    ::_exit(code);
}

void write_file_atomically(const std::string &path, const std::string &content) {
    const std::string text = path.ends_with(".gz") ? gzip(content) : content;
    if (path == "-") {
        if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
            fail_to_write("standard output", errno);
    } else if (is_special(path)) {
        write_and_close(std::fopen(path.c_str(), "wb"), text, path, Sync::no);
    } else {
        TemporaryFile file(path);
        write_and_close(::fdopen(file.take_descriptor(), "wb"), text, path, Sync::yes);
        file.replace_target();
    }
}

void check_writable(const std::string &path) {
    std::error_code ignored;
    if (path == "-" || is_special(path))
        return;
    if (std::filesystem::is_directory(path, ignored))
        throw InputError(path, "is a folder, expected a file");
    const TemporaryFile file(path);
}

std::string shown_name(const std::string &path) {
    return path == "-" ? "standard input" : path;
}

bool file_exists(const std::string &path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
}

} // namespace convcast
