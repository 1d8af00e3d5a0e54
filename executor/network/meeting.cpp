#include "executor/network/meeting.hpp"

#include "model/base/text.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace convcast {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// ---- messages on a socket: four bytes of length, big-endian; a letter for the kind; the text ----

constexpr std::size_t most_bytes = 1 << 20; // above this it is no message of convcast
constexpr std::size_t header_bytes = 5;
constexpr const char *greeting = "convcast ranks 1";

/// A message that was received. `gone` and `late` are never sent: the connection ended, or time was up.
struct Heard {
    enum class What : char { words = 'w', leaving = 'l', refusing = 'r', gone = '-', late = '+' };
    What what = What::gone;
    std::string text;
};

/// Sends all bytes; false if the connection has ended.
bool send_bytes(int socket, const char *bytes, std::size_t count) {
    while (count > 0) {
        const ssize_t sent = ::send(socket, bytes, count, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        bytes += sent;
        count -= static_cast<std::size_t>(sent);
    }
    return true;
}

/// Sends a message; false if the connection has ended or the text is too long.
bool say(const Socket &socket, Heard::What what, const std::string &text) {
    std::string all(header_bytes, static_cast<char>(what));
    for (int i = 0; i < 4; ++i)
        all[static_cast<std::size_t>(i)] = static_cast<char>(text.size() >> (8 * (3 - i)) & 0xff);
    all += text;
    return text.size() <= most_bytes && send_bytes(socket.handle(), all.data(), all.size());
}

/// Waits until there is something to read or the connection ended; false at `until`. `until` absent: no
/// limit.
bool readable(int socket, const std::optional<Clock::time_point> &until) {
    for (;;) {
        const milliseconds left =
            until ? std::chrono::duration_cast<milliseconds>(*until - Clock::now()) : milliseconds(-1);
        if (until && left.count() < 0)
            return false;
        pollfd one{socket, POLLIN, 0};
        const int found = ::poll(&one, 1, static_cast<int>(left.count()));
        if (found > 0)
            return true;
        if (found == 0 || errno != EINTR)
            return false;
    }
}

/// A message that arrives in parts, read without waiting.
class Incoming {
  public:
    /// Reads what has arrived. True when the message is complete or the connection ended, false if more has
    /// to come.
    bool take(int socket) {
        while (bytes_.size() < wanted()) {
            std::array<char, 4096> part{};
            const std::size_t room = std::min(part.size(), wanted() - bytes_.size());
            const ssize_t got = ::recv(socket, part.data(), room, MSG_DONTWAIT);
            if (got < 0 && errno == EINTR)
                continue;
            if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
                return false;
            if (got <= 0)
                return gone_ = true;
            bytes_.append(part.data(), static_cast<std::size_t>(got));
            if (bytes_.size() >= header_bytes && kind() == Heard::What::gone)
                return gone_ = true; // the other end is not convcast
        }
        return true;
    }

    Heard heard() const { return gone_ ? Heard{} : Heard{kind(), bytes_.substr(header_bytes)}; }

  private:
    /// Bytes of the header, or of the whole message once its header is there.
    std::size_t wanted() const {
        return bytes_.size() < header_bytes ? header_bytes : header_bytes + text_size();
    }
    std::size_t text_size() const {
        std::size_t size = 0;
        for (std::size_t i = 0; i < 4; ++i)
            size = size << 8 | static_cast<unsigned char>(bytes_[i]);
        return size;
    }
    /// `gone` for a header that convcast does not send.
    Heard::What kind() const {
        const auto what = static_cast<Heard::What>(bytes_[header_bytes - 1]);
        const bool known =
            what == Heard::What::words || what == Heard::What::leaving || what == Heard::What::refusing;
        return known && text_size() <= most_bytes ? what : Heard::What::gone;
    }

    std::string bytes_;
    bool gone_ = false;
};

/// Waits for the next message; `late` at `until`, absent: no limit.
Heard hear(int socket, const std::optional<Clock::time_point> &until) {
    Incoming incoming;
    while (!incoming.take(socket))
        if (!readable(socket, until))
            return {Heard::What::late, ""};
    return incoming.heard();
}

// ---- options of a rank as text: the greeting, then lines of a name, a tab and a value ----

std::string as_text(const Meeting::Asked &asked) {
    std::string text = greeting;
    for (const auto &[name, value] : asked)
        text += "\n" + name + "\t" + value;
    return text;
}

/// Absent if the text does not begin with the greeting.
std::optional<Meeting::Asked> from_text(const std::string &text) {
    Meeting::Asked asked;
    const std::vector<std::string> lines = split(text, '\n');
    if (lines.empty() || lines.front() != greeting)
        return std::nullopt;
    for (auto line = lines.begin() + 1; line != lines.end(); ++line)
        if (const std::size_t tab = line->find('\t'); tab != std::string::npos)
            asked[line->substr(0, tab)] = line->substr(tab + 1);
    return asked;
}

// ---- sockets ----

/// Sets options of TCP: short messages are sent at once, and a host that is cut off is noticed within 20
/// seconds (5 s idle, then 3 probes 5 s apart; 20 s for data that nobody acknowledges).
void tune(int socket) {
    const auto set = [&](int level, int option, int value) {
        (void)::setsockopt(socket, level, option, &value, sizeof value);
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set(IPPROTO_TCP, TCP_KEEPCNT, 3);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, 20'000);
}

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

std::string where(const RankPlace &place) {
    const bool ipv6 = place.host.find(':') != std::string::npos;
    return fmt::format(fmt::runtime(ipv6 ? "[{}]:{}" : "{}:{}"), place.host, place.port);
}

/// The addresses of `host`, or of all interfaces if it is null. Throws UsageError for an unknown host.
Addresses addresses_of(const char *host, const RankPlace &place) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = host == nullptr ? AI_PASSIVE : 0;
    addrinfo *found = nullptr;
    const int error = ::getaddrinfo(host, std::to_string(place.port).c_str(), &hints, &found);
    if (error != 0)
        throw UsageError("run: the host '" + shortened(place.host) +
                         "' of --meet is not known here: " + ::gai_strerror(error));
    return {found, &::freeaddrinfo};
}

/// A socket that listens at the place's port. It listens on all interfaces, since many hosts resolve their
/// own name to loopback; if the place names loopback, on loopback alone. Throws UsageError if it cannot
/// listen.
Socket listening_at(const RankPlace &place) {
    const bool loopback = place.host == "localhost" || place.host == "::1" || place.host.starts_with("127.");
    const Addresses addresses = addresses_of(loopback ? place.host.c_str() : nullptr, place);
    int error = 0;
    for (const int family : {AF_INET6, AF_INET}) // a socket of IPv6 accepts IPv4 too
        for (const addrinfo *at = addresses.get(); at != nullptr; at = at->ai_next) {
            if (at->ai_family != family)
                continue;
            Socket socket(
                ::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at->ai_protocol));
            const int yes = 1, no = 0;
            (void)::setsockopt(socket.handle(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
            (void)::setsockopt(socket.handle(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
            if (::bind(socket.handle(), at->ai_addr, at->ai_addrlen) == 0 &&
                ::listen(socket.handle(), most_ranks) == 0)
                return socket;
            error = error == EADDRINUSE ? error : errno;
        }
    RankPlace other = place;
    other.port = next_port(place.port);
    if (error == EADDRINUSE)
        throw UsageError(
            fmt::format("run: the port {} is in use, perhaps by another training; another one, given "
                        "to every rank: --meet {}",
                        place.port, where(other)));
    throw UsageError("run: rank 0 cannot listen at " + where(place) + ": " + std::strerror(error));
}

/// Connects a non-blocking socket, which blocks afterwards. False at `until` or on an error, which errno then
/// has.
bool connects(const Socket &socket, const addrinfo &to, Clock::time_point until) {
    if (::connect(socket.handle(), to.ai_addr, to.ai_addrlen) != 0) {
        if (errno != EINPROGRESS)
            return false;
        const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now());
        pollfd one{socket.handle(), POLLOUT, 0};
        if (::poll(&one, 1, std::max(0, static_cast<int>(left.count()))) <= 0)
            return errno = ETIMEDOUT, false;
        int error = 0;
        socklen_t size = sizeof error;
        (void)::getsockopt(socket.handle(), SOL_SOCKET, SO_ERROR, &error, &size);
        if (error != 0)
            return errno = error, false;
    }
    return ::fcntl(socket.handle(), F_SETFL, 0) == 0; // it may wait from now on
}

/// A connection to rank 0, tried again until rank 0 listens. Throws RankLost at `until`.
Socket connected_to(const RankPlace &place, Clock::time_point until) {
    constexpr milliseconds pause(50);
    int error = 0;
    do {
        const Addresses addresses = addresses_of(place.host.c_str(), place);
        for (const addrinfo *at = addresses.get(); at != nullptr; at = at->ai_next) {
            Socket socket(
                ::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at->ai_protocol));
            if (connects(socket, *at, until))
                return socket;
            error = errno;
        }
        std::this_thread::sleep_for(pause);
    } while (Clock::now() < until);
    throw RankLost("rank 0 does not listen at " + where(place) + ": " + std::strerror(error) +
                   ". Was it started, is that its host, and did it end with an error of its own?");
}

/// The Peer::name of this process.
std::string own_name(int rank) {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0)
        host = {'?'};
    return fmt::format("rank {} on {} (process {})", rank, host.data(), ::getpid());
}

/// A connection whose first message, which says which rank it is, has not arrived yet.
struct Guest {
    Socket socket;
    Incoming hello;
    Clock::time_point until; ///< then it is dropped
};

} // namespace

Socket::~Socket() {
    if (is_open())
        ::close(handle_);
}

Meeting::Meeting(const RankPlace &place, const Asked &asked, milliseconds limit)
    : rank_(place.rank), size_(place.size), until_(Clock::now() + limit) {
    if (size_ == 1)
        return;
    Asked said = asked;
    said["number of ranks"] = std::to_string(size_);
    if (rank_ == 0)
        wait_for_all(place, said);
    else
        join_first(place, said);
}

std::vector<Meeting> Meeting::of_threads(int ranks) {
    std::vector<Meeting> all;
    for (int rank = 0; rank < ranks; ++rank) {
        all.push_back(Meeting());
        all.back().rank_ = rank, all.back().size_ = ranks;
    }
    for (int rank = 1; rank < ranks; ++rank) {
        std::array<int, 2> ends{};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
            throw GpuError(std::string("no pair of sockets between two threads: ") + std::strerror(errno));
        all.front().peers_.push_back({Socket(ends[0]), fmt::format("rank {}", rank)});
        all[static_cast<std::size_t>(rank)].peers_.push_back({Socket(ends[1]), "rank 0"});
    }
    return all;
}

std::optional<std::string> Meeting::why_not_together(const Peer &peer, int rank, const Asked &theirs,
                                                     const Asked &asked) {
    std::set<std::string> names;
    for (const auto *map : {&asked, &theirs})
        for (const auto &[name, value] : *map)
            names.insert(name);
    for (const std::string &name : names) {
        const auto value_in = [&](const Asked &map) {
            const auto found = map.find(name);
            return found == map.end() ? "none" : shortened(found->second);
        };
        if (value_in(theirs) != value_in(asked))
            return fmt::format(
                "{} was started with another {} than rank 0: {} instead of {}. Every rank takes the "
                "same command and the same files",
                peer.name, name, value_in(theirs), value_in(asked));
    }
    if (rank < 1 || rank >= size_)
        return fmt::format("{} is none of ranks 1 to {}", peer.name, size_ - 1);
    if (const Peer &before = peers_[static_cast<std::size_t>(rank - 1)]; before.socket.is_open())
        return fmt::format("two processes say that they are rank {}: {} and {}", rank, before.name,
                           peer.name);
    return std::nullopt;
}

void Meeting::refuse(const std::string &why) {
    for (const Peer &peer : peers_)
        if (peer.socket.is_open())
            (void)say(peer.socket, Heard::What::refusing, why);
    throw UsageError("run: " + why);
}

void Meeting::seat(Socket &socket, const std::string &hello, const Asked &asked) {
    auto theirs = from_text(hello);
    if (!theirs)
        return; // not convcast: something else has tried this port
    const int rank = number_of<int>((*theirs)["rank"]).value_or(-1);
    Peer peer{Socket(), shortened((*theirs)["name"])};
    theirs->erase("rank");
    theirs->erase("name");
    if (const auto why = why_not_together(peer, rank, *theirs, asked)) {
        (void)say(socket, Heard::What::refusing, *why);
        refuse(*why);
    }
    peer.socket = std::move(socket);
    peers_[static_cast<std::size_t>(rank - 1)] = std::move(peer);
}

/// Rank 0: accepts connections and reads their first messages until every rank has come. Gives up at until_.
void Meeting::wait_for_all(const RankPlace &place, const Asked &asked) {
    constexpr milliseconds hello(3000); // chosen: how long a connection may take to say who it is
    const Socket listens = listening_at(place);
    peers_.resize(static_cast<std::size_t>(size_ - 1));
    std::list<Guest> guests;
    const auto absent = [&] {
        std::vector<std::string> ranks;
        for (int rank = 1; rank < size_; ++rank)
            if (!peers_[static_cast<std::size_t>(rank - 1)].socket.is_open())
                ranks.push_back(std::to_string(rank));
        return ranks;
    };
    while (!absent().empty()) {
        std::vector<pollfd> sockets = {{listens.handle(), POLLIN, 0}};
        for (const Guest &guest : guests)
            sockets.push_back({guest.socket.handle(), POLLIN, 0});
        constexpr int pause = 100; // ms
        (void)::poll(sockets.data(), sockets.size(), pause);
        if (Clock::now() > until_)
            part(fmt::format(
                "ranks that did not come to {} in time: {}, of {} ranks. Were they started, and is that "
                "the host of rank 0?",
                where(place), join_some(absent(), 8), size_));
        Socket socket(::accept4(listens.handle(), nullptr, nullptr, SOCK_CLOEXEC));
        if (socket.handle() >= 0) {
            tune(socket.handle());
            guests.push_back({std::move(socket), {}, Clock::now() + hello});
        } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ECONNABORTED) {
            part(std::string("rank 0 cannot take another connection: ") + std::strerror(errno) +
                 "; `ulimit -n` says how many it may have");
        }
        for (auto guest = guests.begin(); guest != guests.end();) {
            const bool said = guest->hello.take(guest->socket.handle());
            const Heard hello_heard = said ? guest->hello.heard() : Heard{};
            if (hello_heard.what == Heard::What::words)
                seat(guest->socket, hello_heard.text, asked);
            guest = said || Clock::now() > guest->until ? guests.erase(guest) : std::next(guest);
        }
    }
    if (const auto why = who_left()) // a rank gave up while the last one came
        throw RankLost(*why);
    (void)from_first(""); // join_first() of the others waits for this
}

/// Other ranks: connect to rank 0, say who they are, and wait until rank 0 says that all have come.
void Meeting::join_first(const RankPlace &place, const Asked &asked) {
    Socket socket = connected_to(place, until_);
    tune(socket.handle());
    Asked hello = asked;
    hello["rank"] = std::to_string(rank_);
    hello["name"] = own_name(rank_);
    (void)say(socket, Heard::What::words, as_text(hello));
    // 3 s more than rank 0 waits: it gives up first and then says why.
    const Heard heard = hear(socket.handle(), until_ + std::chrono::seconds(3));
    if (heard.what == Heard::What::refusing)
        throw UsageError("run: " + heard.text);
    if (heard.what == Heard::What::leaving)
        throw RankLost(heard.text);
    if (heard.what != Heard::What::words)
        throw RankLost("rank 0 at " + where(place) +
                       (heard.what == Heard::What::late ? " does not answer" : " left") +
                       " before all ranks had come");
    peers_.push_back({std::move(socket), "rank 0"});
}

void Meeting::leave(const std::string &why) {
    for (const Peer &peer : peers_)
        if (peer.socket.is_open())
            (void)say(peer.socket, Heard::What::leaving, why);
}

void Meeting::part(const std::string &why) {
    leave(why);
    throw RankLost(why);
}

std::string Meeting::heard_from(Peer &peer) {
    constexpr milliseconds pause(100);
    while (!readable(peer.socket.handle(), Clock::now() + pause))
        if (const auto why = who_left()) // perhaps another rank than the one that should speak
            throw RankLost(*why);
    Heard heard = hear(peer.socket.handle(), std::nullopt);
    if (heard.what == Heard::What::words)
        return std::move(heard.text);
    const std::string why = heard.what == Heard::What::leaving ? heard.text : peer.name + " ended";
    first_ended_ = rank_ > 0 && heard.what != Heard::What::leaving;
    if (rank_ == 0)
        leave(why);
    throw RankLost(why);
}

std::string Meeting::from_first(const std::string &said) {
    if (rank_ != 0)
        return heard_from(peers_.front());
    for (const Peer &peer : peers_)
        if (!say(peer.socket, Heard::What::words, said))
            part(peer.name + " ended");
    return said;
}

std::vector<std::string> Meeting::to_first(const std::string &said) {
    if (rank_ != 0) {
        if (!say(peers_.front().socket, Heard::What::words, said))
            (void)heard_from(peers_.front()); // throws, with the reason of rank 0 if it gave one
        return {};
    }
    std::vector<std::string> all = {said};
    for (Peer &peer : peers_)
        all.push_back(heard_from(peer));
    return all;
}

std::optional<std::string> Meeting::why_gone(Peer &peer) {
    pollfd one{peer.socket.handle(), POLLIN | POLLRDHUP, 0};
    if (::poll(&one, 1, 0) <= 0)
        return std::nullopt;
    const bool ended = (one.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
    std::array<char, header_bytes> header{};
    const ssize_t got = ::recv(peer.socket.handle(), header.data(), header.size(), MSG_PEEK | MSG_DONTWAIT);
    const bool leaves = got == static_cast<ssize_t>(header.size()) &&
                        header.back() == static_cast<char>(Heard::What::leaving);
    if (!ended && !leaves)
        return std::nullopt; // a text that nobody has asked for yet
    constexpr milliseconds at_once(500);
    for (;;) { // texts may have arrived before the reason
        const Heard heard = hear(peer.socket.handle(), Clock::now() + at_once);
        if (heard.what == Heard::What::leaving)
            return heard.text;
        if (heard.what == Heard::What::words)
            continue;
        first_ended_ = rank_ > 0;
        return peer.name + " ended";
    }
}

std::optional<std::string> Meeting::who_left() {
    for (Peer &peer : peers_)
        if (const auto why = why_gone(peer)) {
            if (rank_ == 0)
                leave(*why);
            return why;
        }
    return std::nullopt;
}

} // namespace convcast
