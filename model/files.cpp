#include "model/files.hpp"

#include "model/errors.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

#include <unistd.h>
#include <zlib.h>

namespace convcast {
namespace {

struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

/// Of a document's text, unpacked or as it came, and of a packed file: /dev/zero never ends, and a small
/// hostile file unpacks to anything. A run of 20,000 cases with forecasts has 450 MB. What a text of this
/// length can take as a tree, model/json.hpp limits.
constexpr std::size_t most_text = std::size_t{512} << 20;

[[noreturn]] void too_long(const std::string &path, const char *what) {
    throw InputError(path, std::string(what) +
                               " more than 512 MiB, the most that is read; a run can be split, see "
                               "convcast run --help, --shard");
}

std::string read_all(std::FILE *file, const std::string &path) {
    std::string text;
    char buffer[1 << 16];
    for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, file)) > 0;) {
        text.append(buffer, got);
        if (text.front() == '\0') // so /dev/zero ends at once
            throw InputError(path, "is no text: it begins with a NUL byte");
        if (text.size() > most_text)
            too_long(path, "has");
    }
    if (std::ferror(file) != 0)
        throw InputError(path, std::string("cannot be read: ") + std::strerror(errno));
    return text;
}

constexpr int gzip_window = 15 + 16;

bool is_packed(std::string_view text) {
    return text.starts_with("\x1f\x8b");
}

/// A gzip file is one member or several, whose texts follow each other; nothing else may follow.
std::string unpack(const std::string &packed, const std::string &path) {
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
        if (text.size() > most_text)
            too_long(path, "unpacks to");
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

/// Without a time stamp, so that equal text gives equal files.
std::string pack(const std::string &text) {
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

} // namespace

std::string read_file(const std::string &path) {
    const auto unpacked = [](std::string text, const std::string &name) {
        return is_packed(text) ? unpack(text, name) : text;
    };
    if (path == "-")
        return unpacked(read_all(stdin, "standard input"), "standard input");
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored))
        throw InputError(path, "is a folder, expected a file");
    const File file(std::fopen(path.c_str(), "rb"));
    if (!file)
        throw InputError(path, std::string("cannot be opened: ") + std::strerror(errno));
    return unpacked(read_all(file.get(), path), path);
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

void write_file_atomically(const std::string &path, const std::string &content) {
    const std::string text = path.ends_with(".gz") ? pack(content) : content;
    if (path == "-") {
        if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
            throw InputError("standard output", std::string("cannot be written: ") + std::strerror(errno));
        return;
    }
    // A device such as /dev/null or a named pipe is written through: it cannot be replaced by a rename.
    std::error_code ignored;
    const bool special = std::filesystem::exists(path, ignored) &&
                         !std::filesystem::is_regular_file(path, ignored) &&
                         !std::filesystem::is_directory(path, ignored);
    const std::string target = special ? path : path + ".part" + std::to_string(::getpid());
    const auto fail = [&](const char *what) {
        const int code = errno;
        if (!special)
            std::remove(target.c_str());
        throw InputError(path, std::string(what) + ": " + std::strerror(code));
    };
    std::FILE *file = std::fopen(target.c_str(), "wb");
    if (file == nullptr)
        fail("cannot be written");
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size() &&
                         std::fflush(file) == 0 && (special || ::fsync(::fileno(file)) == 0);
    const int code = errno;
    const bool closed = std::fclose(file) == 0;
    if (!written || !closed) {
        errno = written ? errno : code;
        fail("cannot be written");
    }
    if (!special && std::rename(target.c_str(), path.c_str()) != 0)
        fail("cannot be written");
}

void check_writable(const std::string &path) {
    std::error_code ignored;
    if (path == "-" ||
        (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored) &&
         !std::filesystem::is_directory(path, ignored)))
        return;
    if (std::filesystem::is_directory(path, ignored))
        throw InputError(path, "is a folder, expected a file");
    const std::string target = path + ".part" + std::to_string(::getpid());
    const File file(std::fopen(target.c_str(), "wb"));
    if (!file)
        throw InputError(path, std::string("cannot be written: ") + std::strerror(errno));
    std::remove(target.c_str());
}

bool file_exists(const std::string &path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
}

} // namespace convcast
