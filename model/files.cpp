#include "model/files.hpp"

#include "model/errors.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include <unistd.h>

namespace convcast {
namespace {

struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

std::string read_all(std::FILE *file, const std::string &path) {
    std::string text;
    char buffer[1 << 16];
    for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, file)) > 0;)
        text.append(buffer, got);
    if (std::ferror(file) != 0)
        throw InputError(path, std::string("cannot be read: ") + std::strerror(errno));
    return text;
}

} // namespace

std::string read_file(const std::string &path) {
    if (path == "-")
        return read_all(stdin, "standard input");
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored))
        throw InputError(path, "is a folder, expected a file");
    const File file(std::fopen(path.c_str(), "rb"));
    if (!file)
        throw InputError(path, std::string("cannot be opened: ") + std::strerror(errno));
    return read_all(file.get(), path);
}

void write_file_atomically(const std::string &path, const std::string &text) {
    if (path == "-") {
        if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
            throw InputError("standard output", std::string("cannot be written: ") + std::strerror(errno));
        return;
    }
    // A device such as /dev/null or a named pipe is written through: it cannot be replaced by a rename.
    std::error_code ignored;
    const bool special = std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored) &&
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
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0 &&
                         (special || ::fsync(::fileno(file)) == 0);
    const int code = errno;
    const bool closed = std::fclose(file) == 0;
    if (!written || !closed) {
        errno = written ? errno : code;
        fail("cannot be written");
    }
    if (!special && std::rename(target.c_str(), path.c_str()) != 0)
        fail("cannot be written");
}

} // namespace convcast
