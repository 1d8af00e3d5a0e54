#include "reports/pdf.hpp"

#include "model/base/errors.hpp"
#include "model/base/files.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {
namespace {

/// The environment with a fixed date, so that the PDF's bytes do not depend on the clock.
std::vector<char *> reproducible_environment(std::string &date) {
    constexpr std::string_view name = "SOURCE_DATE_EPOCH=";
    date = std::string(name) + "0";
    std::vector<char *> out;
    for (char **entry = environ; *entry != nullptr; ++entry)
        if (!std::string_view(*entry).starts_with(name))
            out.push_back(*entry);
    out.push_back(date.data());
    out.push_back(nullptr);
    return out;
}

} // namespace

std::string svg_to_pdf(const std::filesystem::path &svg, const std::filesystem::path &pdf) try {
    std::vector<std::string> words = {"rsvg-convert", "--format=pdf", svg.string()};
    std::vector<char *> arguments;
    for (std::string &word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::string date;
    std::vector<char *> environment = reproducible_environment(date);
    TemporaryFile part(pdf.string());
    const int descriptor = part.take_descriptor();
    pid_t child = 0;
    posix_spawn_file_actions_t actions; // what fails is said by us
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, descriptor, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const int spawned =
        posix_spawnp(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    ::close(descriptor);
    if (spawned != 0)
        return std::string("no PDF: cannot run rsvg-convert: ") + std::strerror(spawned);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return "no PDF: rsvg-convert failed on " + svg.string();
    part.replace_target();
    return "";
} catch (const InputError &error) {
    return std::string("no PDF: ") + error.what();
}

} // namespace convcast
