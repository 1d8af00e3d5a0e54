// How an interrupt ends the program, in programs of their own.
#include "cli/interrupt.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace convcast::cli {
namespace {

using std::chrono::milliseconds;

/// Compiling a kernel, or waiting for a GPU that hangs.
void work_that_never_ends() {
    for (;;)
        std::this_thread::sleep_for(milliseconds(100));
}

/// As a terminal or `kill` does: the signal is sent to the process, not to a thread of it.
void interrupt(int signal) {
    ::kill(::getpid(), signal);
}

void say(const char *words) {
    std::fputs(words, stderr);
}

struct Interrupts : testing::Test {
    Interrupts() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
    void expect_within(milliseconds most) const {
        EXPECT_LT(std::chrono::steady_clock::now() - begin_, most + milliseconds(1000))
            << "and a slow machine";
    }

  private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

TEST_F(Interrupts, EndWhatHasNoLastWords) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        EXPECT_EXIT(
            {
                end_on_interrupts();
                interrupt(signal);
                work_that_never_ends();
            },
            testing::ExitedWithCode(130), "^$");
    expect_within(milliseconds(0));
}

TEST_F(Interrupts, WorkThatDoesNotEndGetsItsLastWordsAfterTheGrace) {
    EXPECT_EXIT(
        {
            end_on_interrupts();
            const OnInterrupt on_interrupt([] { say("kept"); }, milliseconds(300));
            interrupt(SIGINT);
            std::this_thread::sleep_for(milliseconds(100));
            say("still there, ");
            work_that_never_ends();
        },
        testing::ExitedWithCode(130), "^still there, kept$");
    expect_within(milliseconds(300));
}

TEST_F(Interrupts, WorkThatEndsByItselfSaysThemOnce) {
    EXPECT_EXIT(
        {
            end_on_interrupts();
            const OnInterrupt on_interrupt(
                [] {
                    say("kept");
                    std::this_thread::sleep_for(
                        milliseconds(400)); // past the grace: the other thread is there too
                },
                milliseconds(200));
            interrupt(SIGTERM);
            while (!OnInterrupt::flag())
                std::this_thread::sleep_for(milliseconds(1));
            OnInterrupt::finish();
        },
        testing::ExitedWithCode(130), "^kept$");
}

TEST_F(Interrupts, TheSecondEndsTheGrace) {
    EXPECT_EXIT(
        {
            end_on_interrupts();
            const OnInterrupt on_interrupt([] { say("kept"); }, milliseconds(60000));
            interrupt(SIGINT);
            std::this_thread::sleep_for(milliseconds(50));
            interrupt(SIGINT);
            work_that_never_ends();
        },
        testing::ExitedWithCode(130), "^kept$");
    expect_within(milliseconds(100));
}

TEST_F(Interrupts, TheThirdEndsEvenLastWords) {
    EXPECT_EXIT(
        {
            end_on_interrupts();
            const OnInterrupt on_interrupt(work_that_never_ends, milliseconds(0));
            for (int i = 0; i < 3; ++i) {
                interrupt(SIGINT);
                std::this_thread::sleep_for(milliseconds(50));
            }
            work_that_never_ends();
        },
        testing::ExitedWithCode(130), "^$");
    expect_within(milliseconds(150));
}

TEST_F(Interrupts, LastWordsThatFailSayWhy) {
    EXPECT_EXIT(
        {
            end_on_interrupts();
            const OnInterrupt on_interrupt([] { throw std::runtime_error("run.json: No space left"); },
                                           milliseconds(0));
            interrupt(SIGINT);
            work_that_never_ends();
        },
        testing::ExitedWithCode(130), "^convcast: run.json: No space left\n$");
}

TEST_F(Interrupts, LastWordsAreThoseOfTheWorkInHand) {
    EXPECT_EXIT(
        {
            end_on_interrupts();
            {
                const OnInterrupt on_interrupt([] { say("earlier"); }, milliseconds(60000));
            }
            interrupt(SIGINT);
            work_that_never_ends();
        },
        testing::ExitedWithCode(130), "^$");
    expect_within(milliseconds(0));
}

extern "C" void exit_with_four(int) {
    std::_Exit(4);
}

TEST_F(Interrupts, AHandlerThatALibrarySetsIsNotReached) { // as NVRTC does while it compiles
    EXPECT_EXIT(
        {
            end_on_interrupts();
            std::signal(SIGTERM, exit_with_four);
            std::thread(work_that_never_ends).detach();
            interrupt(SIGTERM);
            work_that_never_ends();
        },
        testing::ExitedWithCode(130), "^$");
}

TEST_F(Interrupts, AnIgnoredSignalStaysIgnored) {
    EXPECT_EXIT(
        {
            std::signal(SIGINT, SIG_IGN);
            end_on_interrupts();
            interrupt(SIGINT);
            std::this_thread::sleep_for(milliseconds(50));
            std::_Exit(OnInterrupt::flag() ? 1 : 7);
        },
        testing::ExitedWithCode(7), "^$");
}

} // namespace
} // namespace convcast::cli
