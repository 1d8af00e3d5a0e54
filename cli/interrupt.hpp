// Ctrl-C (SIGINT), SIGTERM and SIGHUP. A thread of its own waits for them, as nothing that a signal handler
// may do keeps a document, and as other threads cannot be stopped: NVRTC compiles a kernel for seconds.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>

namespace convcast::cli {

constexpr int interrupted_code = 130; ///< exit code; main.cpp lists them all

/// From here on an interrupt ends the program with `interrupted_code` and leaves no temporary file. A signal
/// that is ignored, as by nohup, stays ignored. Called once, by main.
void end_on_interrupts();

/// What an interrupt does first, for as long as this object lives; there is one at a time. The third
/// interrupt ends the program whatever it does.
class OnInterrupt {
  public:
    /// After `grace`, or at the second interrupt, the waiting thread calls `last_words`, which therefore may
    /// only touch what a mutex guards, and ends the program. Within `grace` the work may call finish()
    /// instead.
    OnInterrupt(std::function<void()> last_words, std::chrono::milliseconds grace);
    ~OnInterrupt();
    OnInterrupt(const OnInterrupt &) = delete;
    OnInterrupt &operator=(const OnInterrupt &) = delete;

    /// Set by the first interrupt.
    static const std::atomic<bool> &flag();

    /// The last words, unless the waiting thread is saying them, then the program's end.
    [[noreturn]] static void finish();
};

} // namespace convcast::cli
