// Programs that this one starts.
#pragma once

#include <sys/types.h>

#include <array>
#include <string>
#include <vector>

namespace convcast {

/// A file in memory that a program reads or writes. Throws std::system_error where there is no memory for it.
class MemoryFile {
  public:
    explicit MemoryFile(const std::string &content = {});
    ~MemoryFile();
    MemoryFile(const MemoryFile &) = delete;
    MemoryFile &operator=(const MemoryFile &) = delete;

    int descriptor() const { return descriptor_; }
    std::string content() const;

  private:
    int descriptor_;
};

class Child {
  public:
    /// Starts words[0], looked for as a shell does, with the other words as its arguments and no signal
    /// blocked. `streams` are its standard input, output and error; -1 leaves this program's own.
    /// `environment` has "NAME=VALUE" that replace this program's. Throws std::system_error.
    explicit Child(std::vector<std::string> words, const std::array<int, 3> &streams,
                   std::vector<std::string> environment = {});
    /// Waits for its end.
    ~Child();
    Child(const Child &) = delete;
    Child &operator=(const Child &) = delete;

    struct End {
        int status = 0; ///< as it exited; 1 where a signal ended it
        int signal = 0; ///< that ended it; 0: none
    };
    /// Waits for its end.
    End end();

  private:
    pid_t id_ = -1;
};

} // namespace convcast
