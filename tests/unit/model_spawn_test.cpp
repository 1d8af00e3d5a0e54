// Programs that are started: what they read, write and are told, and how they end.
#include "model/base/spawn.hpp"
#include "model/base/text.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <string_view>
#include <system_error>

namespace convcast {
namespace {

TEST(Child, ReadsWritesAndExits) {
    const MemoryFile in("read\n"), out, log;
    Child child({"sh", "-c", "cat; echo $MINE; echo wrong >&2; exit 3"},
                {in.descriptor(), out.descriptor(), log.descriptor()}, {"MINE=told"});
    const Child::End end = child.end();
    EXPECT_EQ(end.status, 3);
    EXPECT_EQ(end.signal, 0);
    EXPECT_EQ(out.content(), "read\ntold\n");
    EXPECT_EQ(log.content(), "wrong\n");
}

TEST(Child, SaysTheSignalThatEndedIt) {
    sigset_t blocked, before; // by this program, not by those that it starts
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    const Child::End end = Child({"sh", "-c", "kill -TERM $$; exit 0"}, {-1, -1, -1}).end();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    EXPECT_EQ(end.signal, SIGTERM);
    EXPECT_NE(end.status, 0);
}

TEST(Child, AProgramThatIsNotThereIsAnError) {
    EXPECT_THROW(Child({"/nonexistent/program"}, {-1, -1, -1}), std::system_error);
}

TEST(Utf8, CharactersAndWhatIsNone) {
    for (const std::string_view text : {"", "ascii", "Größe", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"})
        EXPECT_TRUE(is_utf8(text)) << text;
    for (const std::string_view text : {"\xC3", "\x80", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80",
                                        "\xF5\x80\x80\x80", "a\xF4\x90\x80\x80"})
        EXPECT_FALSE(is_utf8(text));
    EXPECT_EQ(character_bytes("\xE2\x82\xAC and more"), 3u);
}

} // namespace
} // namespace convcast
