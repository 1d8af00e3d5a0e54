#include "cli/interrupt.hpp"

#include "model/base/errors.hpp"
#include "model/base/files.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace convcast::cli {
namespace {

std::atomic<bool> interrupted = false;

/// What an interrupt does first: that of the OnInterrupt that lives.
struct LastWords {
    std::mutex speaking;                            ///< guards `say`
    std::function<void()> say;                      ///< empty where no OnInterrupt lives
    std::atomic<std::chrono::milliseconds> grace{}; ///< atomic, since a thread may hold `speaking` for good
};
/// Never destroyed, since the thread of `watch` uses it as long as the program lives.
LastWords &last_words() {
    static LastWords *const all = new LastWords;
    return *all;
}

/// The thread that takes the signals, which all threads have blocked. After the first one the work has
/// `grace` to call finish(); then, or at the second, a thread calls it. The third ends the program at once.
void watch(sigset_t signals) {
    const auto wait_for_one = [&] {
        for (int signal = 0; ::sigwait(&signals, &signal) != 0;) {
        }
    };
    wait_for_one();
    interrupted = true;
    const std::chrono::milliseconds grace = last_words().grace;
    const timespec most = {grace.count() / 1000, grace.count() % 1000 * 1'000'000};
    const bool came_again = ::sigtimedwait(&signals, nullptr, &most) > 0;
    std::thread(OnInterrupt::finish).detach();
    if (!came_again)
        wait_for_one();
    wait_for_one();
    ::_exit(interrupted_code);
}

} // namespace

void end_on_interrupts() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction action {};
        if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&signals, signal);
    }
    // Threads that are made later inherit the mask. No handler is set: NVRTC puts handlers of its own in the
    // place of ours while it compiles, and they crash or exit with 4. A blocked signal reaches no handler.
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::thread(watch, signals).detach();
}

OnInterrupt::OnInterrupt(std::function<void()> say, std::chrono::milliseconds grace) {
    const std::scoped_lock lock(last_words().speaking);
    last_words().grace = grace; // first, as `watch` reads it without the lock
    last_words().say = std::move(say);
}

OnInterrupt::~OnInterrupt() {
    const std::scoped_lock lock(last_words().speaking);
    last_words().say = nullptr;
    last_words().grace = std::chrono::milliseconds(0);
}

const std::atomic<bool> &OnInterrupt::flag() {
    return interrupted;
}

void OnInterrupt::finish() {
    last_words().speaking.lock(); // for good: a second thread that comes here waits for the program's end
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
