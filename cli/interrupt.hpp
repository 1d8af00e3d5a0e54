// Ctrl-C (SIGINT), SIGTERM and SIGHUP. All threads block them, and one of its own waits for them: a signal
// handler may do nothing that keeps a document, and NVRTC, which compiles a kernel for seconds, sets handlers
// of its own meanwhile.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>

namespace convcast::cli {

constexpr int interrupted_code = 130; ///< exit code; main.cpp lists them all

/// From here on an interrupt ends the program with `interrupted_code` and leaves no temporary file. A signal
/// that is ignored, as by nohup, stays ignored. Called once, by main, before there are other threads.
/// Programs that are started inherit the block: model/base/spawn.hpp lifts it for them.
void end_on_interrupts();

/// Says what an interrupt does before it ends the program, while this object lives; one lives at a time. The
/// third interrupt ends the program at once.
class OnInterrupt {
  public:
    /// `grace` after the first interrupt, or at the second, another thread calls `last_words`, which may only
    /// touch what a mutex guards, and ends the program. Before that the work may call finish() instead.
    explicit OnInterrupt(std::function<void()> last_words, std::chrono::milliseconds grace = {});
    ~OnInterrupt();
    OnInterrupt(const OnInterrupt &) = delete;
    OnInterrupt &operator=(const OnInterrupt &) = delete;

    /// Set by the first interrupt.
    static const std::atomic<bool> &flag();

    /// Calls `last_words`, unless another thread is doing so, and ends the program.
    [[noreturn]] static void finish();
};

} // namespace convcast::cli
