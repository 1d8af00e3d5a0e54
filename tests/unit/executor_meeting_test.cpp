// Ranks of a training meet, agree and part without a GPU: as threads with sockets of loopback.
#include "executor/network/meeting.hpp"

#include <gmock/gmock.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace convcast {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// A socket that listens at a port which nobody else has.
class Listener {
  public:
    Listener() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr *>(&address), size), 0);
        EXPECT_EQ(::listen(socket_, 1), 0);
        EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr *>(&address), &size), 0);
        port_ = ntohs(address.sin_port);
    }
    ~Listener() { ::close(socket_); }
    int port() const { return port_; }

  private:
    int socket_, port_ = 0;
};

int free_port() {
    return Listener().port();
}

RankPlace place_of(int rank, int size, int port) {
    RankPlace place;
    place.rank = rank, place.size = size, place.port = port;
    return place;
}

const Meeting::Asked mnist = {{"network", "mnist"}, {"batch", "2048"}};

/// What goes wrong when such a rank comes, or what it does with the meeting.
std::string said_by(const RankPlace &place, const Meeting::Asked &asked,
                    const std::function<std::string(Meeting &)> &then,
                    milliseconds limit = milliseconds(8000)) {
    try {
        Meeting meeting(place, asked, limit);
        return then(meeting);
    } catch (const std::exception &error) {
        return error.what();
    }
}

std::string together(Meeting &) {
    return "together";
}

std::function<std::string()> comes(int rank, int size, int port, const Meeting::Asked &asked = mnist,
                                   milliseconds limit = milliseconds(8000)) {
    return [=] { return said_by(place_of(rank, size, port), asked, together, limit); };
}

/// What each of several ranks says, all started at once.
std::vector<std::string> all_said(const std::vector<std::function<std::string()>> &ranks) {
    std::vector<std::future<std::string>> said;
    for (const auto &rank : ranks)
        said.push_back(std::async(std::launch::async, rank));
    std::vector<std::string> texts;
    for (auto &text : said)
        texts.push_back(text.get());
    return texts;
}

TEST(Meeting, ThreeRanksTellEachOther) {
    const int port = free_port();
    const auto rank = [&](int its) {
        return [=] {
            return said_by(place_of(its, 3, port), mnist, [its](Meeting &meeting) {
                std::string heard = meeting.from_first(its == 0 ? "hello" : "nobody hears this");
                for (const std::string &text : meeting.to_first("rank " + std::to_string(its)))
                    heard += ", " + text;
                return heard;
            });
        };
    };
    EXPECT_THAT(all_said({rank(2), rank(0), rank(1)}),
                ElementsAre("hello", "hello, rank 0, rank 1, rank 2", "hello"));
}

TEST(Meeting, ThreadsOfOneProcessDoTheSame) {
    std::vector<Meeting> meetings = Meeting::of_threads(3);
    std::vector<std::future<std::vector<std::string>>> said;
    for (Meeting &meeting : meetings)
        said.push_back(std::async(std::launch::async, [&meeting] {
            return meeting.to_first(meeting.from_first("word") + std::to_string(meeting.rank()));
        }));
    EXPECT_THAT(said[0].get(), ElementsAre("word0", "word1", "word2"));
}

TEST(Meeting, OneRankWaitsForNobody) {
    Meeting meeting(place_of(0, 1, 1), mnist);
    EXPECT_EQ(meeting.from_first("alone"), "alone");
    EXPECT_THAT(meeting.to_first("x"), ElementsAre("x"));
    EXPECT_FALSE(meeting.who_left());
}

TEST(Meeting, RanksThatWereAskedOtherThingsAreNamed) {
    const int port = free_port();
    const auto said =
        all_said({comes(0, 2, port), comes(1, 2, port, {{"network", "fashion_mnist"}, {"batch", "2048"}})});
    for (const std::string &text : said)
        EXPECT_THAT(text, AllOf(HasSubstr("rank 1 on "), HasSubstr("another network than rank 0"),
                                HasSubstr("fashion_mnist instead of mnist")));
}

TEST(Meeting, ARankThatWasAskedMoreIsNamedToo) {
    const int port = free_port();
    Meeting::Asked more = mnist;
    more["--epochs"] = "3";
    for (const std::string &text : all_said({comes(0, 2, port), comes(1, 2, port, more)}))
        EXPECT_THAT(text, HasSubstr("another --epochs than rank 0: 3 instead of none"));
}

TEST(Meeting, RanksThatCountDifferentlyAreNamed) {
    const int port = free_port();
    for (const std::string &text : all_said({comes(0, 2, port), comes(2, 3, port)}))
        EXPECT_THAT(text, HasSubstr("another number of ranks than rank 0: 3 instead of 2"));
}

TEST(Meeting, OneRankTwiceIsRefused) {
    const int port = free_port();
    const auto said = all_said({comes(0, 3, port), comes(1, 3, port), comes(1, 3, port)});
    for (const std::string &text : said)
        EXPECT_THAT(text, HasSubstr("two processes say that they are rank 1: "));
}

TEST(Meeting, ARankThatDoesNotComeIsNamed) {
    const int port = free_port();
    const auto said =
        all_said({comes(0, 4, port, mnist, milliseconds(400)), comes(2, 4, port, mnist, milliseconds(400))});
    for (const std::string &text : said)
        EXPECT_THAT(text, HasSubstr("ranks that did not come to 127.0.0.1:" + std::to_string(port) +
                                    " in time: 1, 3, of 4 ranks"));
}

TEST(Meeting, WithoutRankZeroTheOthersSayWhereTheyLooked) {
    const int port = free_port();
    EXPECT_THAT(said_by(place_of(1, 2, port), mnist, together, milliseconds(200)),
                HasSubstr("rank 0 does not listen at 127.0.0.1:" + std::to_string(port)));
}

TEST(Meeting, APortInUseIsRefusedWithAnotherOne) {
    const Listener taken;
    EXPECT_THAT(said_by(place_of(0, 2, taken.port()), mnist, together),
                AllOf(HasSubstr("the port " + std::to_string(taken.port()) + " is in use"),
                      HasSubstr("--meet 127.0.0.1:" + std::to_string(taken.port() + 1))));
}

TEST(Meeting, AnUnknownHostIsNamed) {
    RankPlace place = place_of(1, 2, 29517);
    place.host = "no.such.host.invalid";
    EXPECT_THAT(said_by(place, mnist, together, milliseconds(200)), HasSubstr("no.such.host.invalid"));
}

/// A scanner of ports, or a browser.
TEST(Meeting, StrangersAreSentAway) {
    const int port = free_port();
    const auto stranger = [&](const std::string &bytes) {
        return [=] {
            const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
            sockaddr_in address{};
            address.sin_family = AF_INET;
            address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            address.sin_port = htons(static_cast<std::uint16_t>(port));
            while (::connect(socket, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0)
                std::this_thread::sleep_for(milliseconds(5));
            (void)::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            ::close(socket);
            return std::string("away");
        };
    };
    const auto said = all_said({comes(0, 2, port), stranger("GET / HTTP/1.1\r\n\r\n"),
                                stranger(std::string("\0\0\0\4wxyz!", 9)), stranger(""), [&] {
                                    std::this_thread::sleep_for(milliseconds(200));
                                    return said_by(place_of(1, 2, port), mnist, together);
                                }});
    EXPECT_EQ(said.front(), "together");
    EXPECT_EQ(said.back(), "together");
}

TEST(Meeting, StrangersWhoSayNothingHoldNobodyUp) {
    const int port = free_port();
    std::vector<int> silent;
    const auto said = all_said(
        {comes(0, 2, port, mnist, milliseconds(2500)), [&] {
             sockaddr_in address{};
             address.sin_family = AF_INET;
             address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
             address.sin_port = htons(static_cast<std::uint16_t>(port));
             for (int i = 0; i < 10; ++i) {
                 silent.push_back(::socket(AF_INET, SOCK_STREAM, 0));
                 while (::connect(silent.back(), reinterpret_cast<sockaddr *>(&address), sizeof address) != 0)
                     std::this_thread::sleep_for(milliseconds(5));
             }
             return said_by(place_of(1, 2, port), mnist, together, milliseconds(2500));
         }});
    for (const int socket : silent)
        ::close(socket);
    EXPECT_THAT(said, ElementsAre("together", "together"));
}

TEST(Meeting, IsAlsoByIpv6) {
    const int port = free_port();
    const auto rank = [&](int its) {
        RankPlace place = place_of(its, 2, port);
        place.host = "::1";
        return said_by(place, mnist, together, milliseconds(1500));
    };
    const auto said = all_said({[&] { return rank(0); }, [&] { return rank(1); }});
    if (said.front().find("cannot listen") != std::string::npos ||
        said.front().find("not known here") != std::string::npos)
        GTEST_SKIP() << "no IPv6 here: " << said.front();
    EXPECT_THAT(said, ElementsAre("together", "together"));
}

/// A rank ends while rank 0 waits for the words of another one, which is busy.
TEST(Meeting, WhoWaitsForOneRankNoticesTheEndOfAnother) {
    std::vector<Meeting> meetings = Meeting::of_threads(3);
    std::future<std::string> first = std::async(std::launch::async, [&] {
        try {
            (void)meetings[0].to_first("x");
        } catch (const RankLost &lost) {
            return std::string(lost.what());
        }
        return std::string("noticed nothing");
    });
    meetings[2].leave("out of memory");
    EXPECT_EQ(first.get(), "out of memory");
    EXPECT_EQ(meetings[1].who_left(), "out of memory");
    EXPECT_FALSE(meetings[1].first_ended());
}

TEST(Meeting, WordsThatNobodyHasHeardDoNotHideAnEnd) {
    std::vector<Meeting> meetings = Meeting::of_threads(2);
    {
        Meeting gone = std::move(meetings[1]);
        (void)gone.to_first("words");
    }
    EXPECT_EQ(meetings[0].who_left(), "rank 1 ended");
    std::vector<Meeting> others = Meeting::of_threads(2);
    { const Meeting gone = std::move(others[0]); }
    EXPECT_EQ(others[1].who_left(), "rank 0 ended");
    EXPECT_TRUE(others[1].first_ended());
}

/// `leaves` of three ranks ends; what the other two notice while they wait for a GPU.
std::vector<std::string> noticed(int leaves, const std::string &why) {
    std::vector<Meeting> meetings = Meeting::of_threads(3);
    std::vector<std::future<std::string>> said;
    for (int rank = 0; rank < 3; ++rank)
        said.push_back(std::async(
            std::launch::async,
            [&why, leaves, rank, given = std::move(meetings[static_cast<std::size_t>(rank)])]() mutable {
                Meeting mine = std::move(given); // which ends with this thread
                if (rank == leaves) {
                    if (!why.empty())
                        mine.leave(why);
                    return std::string("left");
                }
                for (int i = 0; i < 1000; ++i) {
                    if (const auto sentence = mine.who_left())
                        return *sentence;
                    std::this_thread::sleep_for(milliseconds(2));
                }
                return std::string("noticed nothing");
            }));
    std::vector<std::string> texts;
    for (auto &text : said)
        texts.push_back(text.get());
    return texts;
}

TEST(Meeting, ARankThatEndsIsNoticedByAll) {
    EXPECT_THAT(noticed(2, ""), ElementsAre("rank 2 ended", "rank 2 ended", "left"));
    EXPECT_THAT(noticed(0, ""), ElementsAre("left", "rank 0 ended", "rank 0 ended"));
}

TEST(Meeting, ARankThatLeavesSaysWhy) {
    EXPECT_THAT(noticed(1, "out of memory"), ElementsAre("out of memory", "left", "out of memory"));
}

TEST(Meeting, WordsOfARankThatEndedAreItsEnd) {
    std::vector<Meeting> meetings = Meeting::of_threads(2);
    { const Meeting gone = std::move(meetings[1]); }
    EXPECT_THROW((void)meetings[0].to_first("x"), RankLost);
    std::vector<Meeting> others = Meeting::of_threads(2);
    { const Meeting gone = std::move(others[0]); }
    EXPECT_THROW((void)others[1].from_first("x"), RankLost);
}

} // namespace
} // namespace convcast
