#include "cli/onnx_list.hpp"

#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/readable.hpp"
#include "model/base/spawn.hpp"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

namespace convcast::cli {
namespace {

/// Where the reader stands in a build folder and where it is installed; empty if in neither.
std::string reader_program() {
    namespace fs = std::filesystem;
    std::error_code none;
    const fs::path folder = fs::read_symlink("/proc/self/exe", none).parent_path();
    for (const fs::path &place : {folder / "convcast-onnx", folder / "../libexec/convcast/convcast-onnx"})
        if (::access(place.c_str(), X_OK) == 0)
            return place.string();
    return {};
}

/// A file in memory that a child reads or writes.
class MemoryFile {
  public:
    explicit MemoryFile(const std::string &content = {})
        : descriptor_(memfd_create("convcast", MFD_CLOEXEC)) {
        std::size_t done = 0;
        while (descriptor_ >= 0 && done < content.size()) {
            const ssize_t count = ::write(descriptor_, content.data() + done, content.size() - done);
            if (count < 0 && errno != EINTR)
                break;
            done += count > 0 ? static_cast<std::size_t>(count) : 0;
        }
        if (descriptor_ < 0 || done < content.size())
            throw InputError("ONNX", std::string("no memory for the file: ") + std::strerror(errno));
        ::lseek(descriptor_, 0, SEEK_SET);
    }
    ~MemoryFile() { ::close(descriptor_); }
    MemoryFile(const MemoryFile &) = delete;
    MemoryFile &operator=(const MemoryFile &) = delete;

    int descriptor() const { return descriptor_; }
    std::string content() const {
        std::string text;
        ::lseek(descriptor_, 0, SEEK_SET);
        std::array<char, 65536> part{};
        for (ssize_t count = 0; (count = ::read(descriptor_, part.data(), part.size())) > 0;)
            text.append(part.data(), static_cast<std::size_t>(count));
        return text;
    }

  private:
    int descriptor_;
};

} // namespace

const char *const how_to_read_onnx =
    "Type: apt-get install libonnx-dev libprotobuf-dev, then ./quickstart in convcast's sources";

bool reads_onnx() {
    return !reader_program().empty();
}

namespace {

OnnxReading reading_of(const std::string &bytes, const std::string &file, const std::string &input_size) {
    std::string program = reader_program();
    if (program.empty())
        throw InputError(
            file, std::string("is an ONNX file, and convcast-onnx, which reads them, was not built. ") +
                      how_to_read_onnx + "; other formats of lists need nothing (docs/study.md)");
    const MemoryFile in(bytes), out, log;
    std::string size = input_size;
    std::array<char *, 3> arguments = {program.data(), size.empty() ? nullptr : size.data(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in.descriptor(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, log.descriptor(), STDERR_FILENO);
    pid_t child = 0;
    const int spawned =
        posix_spawn(&child, program.c_str(), &actions, SpawnAttributes().get(), arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (spawned != 0)
        throw InputError(file, "cannot start " + program + ": " + std::strerror(spawned));
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        const std::string said = log.content();
        throw InputError(file + " (ONNX)",
                         "the ONNX library cannot read it: " +
                             (WIFSIGNALED(status)
                                  ? "it was ended by signal " + std::to_string(WTERMSIG(status))
                                  : shortened(said.substr(0, said.find('\n')), 300)));
    }
    return described::read_document<OnnxReading>(out.content(), file, "convcast/onnx/1");
}

/// "mobilenet_v2" of "models/MobileNet-v2.onnx.gz"
std::string network_id_of(const std::string &file) {
    std::string name = std::filesystem::path(file).filename().string(), id;
    for (const char *end : {".gz", ".onnx"})
        if (name.ends_with(end))
            name.resize(name.size() - std::string(end).size());
    for (const char c : name)
        id += c >= 'A' && c <= 'Z'                               ? static_cast<char>(c - 'A' + 'a')
              : (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c
                                                                 : '_';
    return is_id(id) ? id : "network";
}

} // namespace

ShapeList read_onnx(const std::string &bytes, const std::string &file, const std::string &input_size) {
    return list_of(reading_of(bytes, file, input_size), file);
}

ImportedNetwork read_onnx_network(const std::string &bytes, const std::string &file,
                                  const std::string &input_size) {
    const OnnxReading reading = reading_of(bytes, file, input_size);
    ImportedNetwork imported = import_onnx(reading.graph.value_or(OnnxGraph{}), network_id_of(file), file);
    imported.remarks.insert(imported.remarks.end(), reading.remarks.begin(), reading.remarks.end());
    return imported;
}

} // namespace convcast::cli
