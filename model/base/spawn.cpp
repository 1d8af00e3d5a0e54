#include "model/base/spawn.hpp"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace convcast {
namespace {

/// Pointers to the texts and a nullptr at the end, as the system takes them.
std::vector<char *> pointers(std::vector<std::string> &texts) {
    std::vector<char *> out;
    for (std::string &text : texts)
        out.push_back(text.data());
    out.push_back(nullptr);
    return out;
}

} // namespace

MemoryFile::MemoryFile(const std::string &content) : descriptor_(memfd_create("convcast", MFD_CLOEXEC)) {
    std::size_t done = 0;
    while (descriptor_ >= 0 && done < content.size()) {
        const ssize_t count = ::write(descriptor_, content.data() + done, content.size() - done);
        if (count < 0 && errno != EINTR)
            break;
        done += count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    if (descriptor_ < 0 || done < content.size()) {
        const int failed = errno;
        ::close(descriptor_);
        throw std::system_error(failed, std::generic_category(), "no memory for the file");
    }
    ::lseek(descriptor_, 0, SEEK_SET);
}

MemoryFile::~MemoryFile() {
    ::close(descriptor_);
}

std::string MemoryFile::content() const {
    std::string text;
    ::lseek(descriptor_, 0, SEEK_SET);
    std::array<char, 65536> part{};
    for (ssize_t count = 0; (count = ::read(descriptor_, part.data(), part.size())) > 0;)
        text.append(part.data(), static_cast<std::size_t>(count));
    return text;
}

Child::Child(std::vector<std::string> words, const std::array<int, 3> &streams,
             std::vector<std::string> environment) {
    for (char **entry = environ; *entry != nullptr; ++entry) {
        const std::string_view own = *entry;
        const std::string_view name = own.substr(0, std::min(own.find('='), own.size() - 1) + 1);
        if (std::none_of(environment.begin(), environment.end(),
                         [&](const std::string &given) { return given.starts_with(name); }))
            environment.emplace_back(own);
    }
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    for (std::size_t i = 0; i < streams.size(); ++i)
        if (streams[i] >= 0)
            ::posix_spawn_file_actions_adddup2(&actions, streams[i], static_cast<int>(i));
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    const int failed = ::posix_spawnp(&id_, words.front().c_str(), &actions, &attributes,
                                      pointers(words).data(), pointers(environment).data());
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0)
        throw std::system_error(failed, std::generic_category(), words.front());
}

Child::~Child() {
    (void)end();
}

Child::End Child::end() {
    if (id_ < 0)
        return {};
    int status = 0;
    while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
    id_ = -1;
    return WIFSIGNALED(status) ? End{1, WTERMSIG(status)} : End{WEXITSTATUS(status), 0};
}

} // namespace convcast
