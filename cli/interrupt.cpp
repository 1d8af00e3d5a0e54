#include "cli/interrupt.hpp"

#include "model/base/errors.hpp"
#include "model/base/files.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
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

/// Never destroyed: the threads that use it live as long as the program.
struct Interrupts {
    std::mutex counting;
    std::condition_variable came;
    int count = 0;
    std::mutex speaking; ///< guards the last words
    std::function<void()> last_words;
    std::chrono::milliseconds grace{0};
};
Interrupts &interrupts() {
    static Interrupts *const all = new Interrupts;
    return *all;
}

/// Takes the signals, which every thread has blocked, one after another.
void count_interrupts(sigset_t signals) {
    for (int signal = 0;;) {
        if (::sigwait(&signals, &signal) != 0)
            continue;
        interrupted = true;
        const std::scoped_lock lock(interrupts().counting);
        if (++interrupts().count >= 3)
            ::_exit(interrupted_code);
        interrupts().came.notify_all();
    }
}

void wait_for_interrupts() {
    std::unique_lock lock(interrupts().counting);
    interrupts().came.wait(lock, [] { return interrupts().count > 0; });
    std::chrono::milliseconds grace{0};
    {
        const std::scoped_lock words(interrupts().speaking);
        grace = interrupts().grace;
    }
    interrupts().came.wait_for(lock, grace, [] { return interrupts().count > 1; });
    lock.unlock();
    OnInterrupt::finish();
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
    std::thread(count_interrupts, signals).detach();
    std::thread(wait_for_interrupts).detach();
}

OnInterrupt::OnInterrupt(std::function<void()> say, std::chrono::milliseconds grace) {
    const std::scoped_lock lock(interrupts().speaking);
    interrupts().last_words = std::move(say);
    interrupts().grace = grace;
}

OnInterrupt::~OnInterrupt() {
    const std::scoped_lock lock(interrupts().speaking);
    interrupts().last_words = nullptr;
    interrupts().grace = std::chrono::milliseconds(0);
}

const std::atomic<bool> &OnInterrupt::flag() {
    return interrupted;
}

void OnInterrupt::finish() {
    interrupts().speaking.lock(); // for good: whoever comes second waits here for the program's end
    if (interrupts().last_words) {
        try {
            interrupts().last_words();
        } catch (const ClosedPipe &) {
        } catch (const std::exception &error) {
            std::fprintf(stderr, "convcast: %s\n", error.what());
        }
        std::fflush(stdout);
    }
    exit_now(interrupted_code);
}

} // namespace convcast::cli
