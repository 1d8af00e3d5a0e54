#include "cli/interrupt.hpp"

#include "model/base/errors.hpp"
#include "model/base/files.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace convcast::cli {
namespace {

std::atomic<bool> interrupted = false;
std::atomic<int> interrupts = 0;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "a signal handler may use no others");
int to_thread[2] = {-1, -1}; ///< a pipe: a byte for each interrupt

/// Never destroyed: the waiting thread lives as long as the program.
struct LastWords {
    std::mutex mutex;
    std::function<void()> say;
    std::chrono::milliseconds grace{0};
};
LastWords &last_words() {
    static LastWords *const all = new LastWords;
    return *all;
}

extern "C" void on_signal(int) {
    const int error = errno;
    interrupted = true;
    if (++interrupts >= 3)
        ::_exit(interrupted_code);
    const char byte = 0;
    (void)!::write(to_thread[1], &byte, 1);
    errno = error;
}

void wait_for_interrupts() {
    char byte = 0;
    while (::read(to_thread[0], &byte, 1) != 1) {
    }
    std::chrono::milliseconds grace{0};
    {
        const std::scoped_lock lock(last_words().mutex);
        grace = last_words().grace;
    }
    pollfd next{to_thread[0], POLLIN, 0};
    if (grace.count() > 0)
        (void)::poll(&next, 1, static_cast<int>(grace.count()));
    OnInterrupt::finish();
}

} // namespace

void end_on_interrupts() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return; // too many open files: a signal then ends the program as the system does
    for (int end = 0; end < 2; ++end) { // never in the place of a standard stream that is closed
        to_thread[end] = ::fcntl(ends[end], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        ::close(ends[end]);
    }
    if (to_thread[0] < 0 || to_thread[1] < 0)
        return;
    std::thread(wait_for_interrupts).detach();
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction action {};
        if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN)
            continue;
        action = {};
        action.sa_handler = on_signal;
        action.sa_flags = SA_RESTART;
        (void)::sigaction(signal, &action, nullptr);
    }
}

OnInterrupt::OnInterrupt(std::function<void()> say, std::chrono::milliseconds grace) {
    const std::scoped_lock lock(last_words().mutex);
    last_words().say = std::move(say);
    last_words().grace = grace;
}

OnInterrupt::~OnInterrupt() {
    const std::scoped_lock lock(last_words().mutex);
    last_words().say = nullptr;
    last_words().grace = std::chrono::milliseconds(0);
}

const std::atomic<bool> &OnInterrupt::flag() {
    return interrupted;
}

void OnInterrupt::finish() {
    last_words().mutex.lock(); // for good: whoever comes second waits here for the program's end
    if (last_words().say) {
        try {
            last_words().say();
        } catch (const ClosedPipe &) {
        } catch (const std::exception &error) {
            std::fprintf(stderr, "convcast: %s\n", error.what());
        }
        std::fflush(stdout);
    }
    exit_now(interrupted_code);
}

} // namespace convcast::cli
