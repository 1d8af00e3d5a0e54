// Starts other programs, and gives them files in memory.
#pragma once

#include <sys/types.h>

#include <array>
#include <string>
#include <vector>

namespace convcast {

/// A file in memory that another program reads or writes through descriptor().
class MemoryFile {
  public:
    /// A file with `content`, to be read from its beginning. Throws std::system_error without memory.
    explicit MemoryFile(const std::string &content = {});
    ~MemoryFile();
    MemoryFile(const MemoryFile &) = delete;
    MemoryFile &operator=(const MemoryFile &) = delete;

    int descriptor() const { return descriptor_; }
    /// All that the file has now. Moves its position to the end.
    std::string content() const;

  private:
    int descriptor_;
};

/// A program that this one has started.
class Child {
  public:
    /// Starts words[0], which is looked for in PATH, with the other words as its arguments and no signal
    /// blocked. `streams` are descriptors for its standard input, output and error; -1 leaves this program's
    /// own. It gets this program's environment, where "NAME=VALUE" in `environment` replaces or adds
    /// variables. Throws std::system_error.
    explicit Child(std::vector<std::string> words, const std::array<int, 3> &streams,
                   std::vector<std::string> environment = {});
    /// Waits for its end.
    ~Child();
    Child(const Child &) = delete;
    Child &operator=(const Child &) = delete;

    struct End {
        int status = 0; ///< its exit code; 1 if a signal ended it
        int signal = 0; ///< the signal that ended it; 0: none
    };
    /// Waits for its end and tells how it ended. A second call returns zeros.
    End end();

  private:
    pid_t id_ = -1;
};

} // namespace convcast
