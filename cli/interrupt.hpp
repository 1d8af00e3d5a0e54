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

/// What an interrupt does first, for as long as this object lives; there is one at a time. The third
/// interrupt ends the program whatever it does.
class OnInterrupt {
  public:
    /// After `grace`, or at the second interrupt, a thread of its own calls `last_words`, which therefore may
    /// only touch what a mutex guards, and ends the program. Within `grace` the work may call finish()
    /// instead.
    explicit OnInterrupt(std::function<void()> last_words, std::chrono::milliseconds grace = {});
    ~OnInterrupt();
    OnInterrupt(const OnInterrupt &) = delete;
    OnInterrupt &operator=(const OnInterrupt &) = delete;

    /// Set by the first interrupt.
    static const std::atomic<bool> &flag();

    /// The last words, unless another thread is saying them, then the program's end.
    [[noreturn]] static void finish();
};

} // namespace convcast::cli
