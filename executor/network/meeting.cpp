#include "executor/network/meeting.hpp"

#include "model/base/text.hpp"

#include <fmt/format.h>

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
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace convcast {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// ---- words on a socket: four bytes of length, a letter that says what they are, and their bytes ----

constexpr char words_letter = 'w', leaving_letter = 'l';
constexpr std::size_t most_bytes = 1 << 20, header_bytes = 5;
constexpr const char *greeting = "convcast ranks 1";

struct Heard {
    enum class What { words, leaving, gone, late } what = What::gone;
    std::string text;
};

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

bool say(int socket, char what, const std::string &text) {
    std::string all(header_bytes, what);
    for (int i = 0; i < 4; ++i)
        all[static_cast<std::size_t>(i)] = static_cast<char>(text.size() >> (8 * (3 - i)) & 0xff);
    all += text;
    return text.size() <= most_bytes && send_bytes(socket, all.data(), all.size());
}

/// Whether there is something to read, or an end, before `until`; absent: as long as it takes.
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

Heard hear(int socket, const std::optional<Clock::time_point> &until) {
    Heard heard;
    const auto read = [&](char *to, std::size_t count) {
        while (count > 0) {
            if (!readable(socket, until)) {
                heard.what = Heard::What::late;
                return false;
            }
            const ssize_t got = ::recv(socket, to, count, 0);
            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0)
                return false;
            to += got;
            count -= static_cast<std::size_t>(got);
        }
        return true;
    };
    std::array<char, header_bytes> header{};
    if (!read(header.data(), header.size()))
        return heard;
    std::size_t size = 0;
    for (std::size_t i = 0; i < 4; ++i)
        size = size << 8 | static_cast<unsigned char>(header[i]);
    const char what = header.back();
    if (size > most_bytes || (what != words_letter && what != leaving_letter))
        return heard; // no convcast
    heard.text.resize(size);
    if (read(heard.text.data(), size))
        heard.what = what == words_letter ? Heard::What::words : Heard::What::leaving;
    return heard;
}

// ---- what ranks are asked, as text ----

std::string as_text(const Meeting::Asked &asked) {
    std::string text = greeting;
    for (const auto &[name, value] : asked)
        text += "\n" + name + "\t" + value;
    return text;
}

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

/// Open until its owner takes it.
class Socket {
  public:
    explicit Socket(int handle) : handle_(handle) {}
    Socket(Socket &&other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
    Socket &operator=(Socket &&) = delete;
    ~Socket() {
        if (handle_ >= 0)
            ::close(handle_);
    }
    int handle() const { return handle_; }
    int take() { return std::exchange(handle_, -1); }

  private:
    int handle_;
};

/// Short words go at once, and a host that is cut off is noticed within 20 seconds.
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

/// `listens`: on all interfaces, since a host often knows its own name as one of loopback only; but of
/// loopback on nothing else.
Addresses addresses_of(const RankPlace &place, bool listens) {
    const bool loopback = place.host == "localhost" || place.host == "::1" || place.host.starts_with("127.");
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = listens ? AI_PASSIVE : 0;
    addrinfo *found = nullptr;
    const int error = ::getaddrinfo(listens && !loopback ? nullptr : place.host.c_str(),
                                    std::to_string(place.port).c_str(), &hints, &found);
    if (error != 0)
        throw UsageError("run: the host '" + shortened(place.host) +
                         "' of --meet is not known here: " + ::gai_strerror(error));
    return {found, &::freeaddrinfo};
}

std::string where(const RankPlace &place) {
    return fmt::format("{}:{}", place.host, place.port);
}

Socket listening_at(const RankPlace &place) {
    int error = 0;
    const Addresses addresses = addresses_of(place, true);
    for (const addrinfo *at = addresses.get(); at != nullptr; at = at->ai_next) {
        Socket socket(::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol));
        const int yes = 1;
        (void)::setsockopt(socket.handle(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        if (::bind(socket.handle(), at->ai_addr, at->ai_addrlen) == 0 &&
            ::listen(socket.handle(), most_ranks) == 0)
            return socket;
        error = errno;
    }
    if (error == EADDRINUSE)
        throw UsageError(fmt::format("run: the port {} is in use, perhaps by another training; another one, "
                                     "given to every rank: --meet {}:{}",
                                     place.port, place.host, place.port + 1));
    throw UsageError("run: rank 0 cannot listen at " + where(place) + ": " + std::strerror(error));
}

/// Of a connection to rank 0; tried again until it listens.
Socket connected_to(const RankPlace &place, Clock::time_point until) {
    constexpr milliseconds pause(50);
    int error = 0;
    do {
        const Addresses addresses = addresses_of(place, false);
        for (const addrinfo *at = addresses.get(); at != nullptr; at = at->ai_next) {
            Socket socket(::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol));
            if (::connect(socket.handle(), at->ai_addr, at->ai_addrlen) == 0)
                return socket;
            error = errno;
        }
        std::this_thread::sleep_for(pause);
    } while (Clock::now() < until);
    throw RankLost("rank 0 does not listen at " + where(place) + ": " + std::strerror(error) +
                   ". Was it started, and is that its host?");
}

std::string own_name(int rank) {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0)
        host = {'?'};
    return fmt::format("rank {} on {} (process {})", rank, host.data(), ::getpid());
}

std::string list_of(const std::vector<int> &ranks) {
    constexpr std::size_t most = 8;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(most, ranks.size()); ++i)
        names.push_back(std::to_string(ranks[i]));
    return join(names) + (ranks.size() > most ? fmt::format(" and {} more", ranks.size() - most) : "");
}

} // namespace

Meeting::Meeting(const RankPlace &place, const Asked &asked, milliseconds limit)
    : rank_(place.rank), size_(place.size), until_(Clock::now() + limit) {
    if (size_ == 1)
        return;
    Asked said = asked;
    said["number of ranks"] = std::to_string(size_);
    try {
        if (rank_ == 0)
            wait_for_all(place, said);
        else
            join_first(place, said);
    } catch (...) {
        for (const Peer &peer : peers_)
            if (peer.socket >= 0)
                ::close(peer.socket);
        throw;
    }
}

Meeting::Meeting(Meeting &&other) noexcept
    : rank_(other.rank_), size_(other.size_), until_(other.until_), peers_(std::exchange(other.peers_, {})) {}

Meeting::~Meeting() {
    for (const Peer &peer : peers_)
        if (peer.socket >= 0)
            ::close(peer.socket);
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
        all.front().peers_.push_back({ends[0], fmt::format("rank {}", rank)});
        all[static_cast<std::size_t>(rank)].peers_.push_back({ends[1], "rank 0"});
    }
    return all;
}

std::optional<std::string> Meeting::why_not_together(const Peer &peer, int rank, const Asked &its,
                                                     const Asked &asked) {
    for (const auto &[name, value] : asked)
        if (const auto found = its.find(name); found == its.end() || found->second != value)
            return fmt::format(
                "{} was started with another {} than rank 0: {} instead of {}. Every rank takes "
                "the same command and the same files",
                peer.name, name, found == its.end() ? "none" : shortened(found->second), shortened(value));
    if (rank < 1 || rank >= size_)
        return fmt::format("{} is none of ranks 1 to {}", peer.name, size_ - 1);
    if (const Peer &before = peers_[static_cast<std::size_t>(rank - 1)]; before.socket >= 0)
        return fmt::format("two processes say that they are rank {}: {} and {}", rank, before.name,
                           peer.name);
    return std::nullopt;
}

void Meeting::wait_for_all(const RankPlace &place, const Asked &asked) {
    constexpr milliseconds hello(3000);
    const Socket listens = listening_at(place);
    peers_.resize(static_cast<std::size_t>(size_ - 1));
    for (int missing = size_ - 1; missing > 0;) {
        if (!readable(listens.handle(), until_)) {
            std::vector<int> absent;
            for (int rank = 1; rank < size_; ++rank)
                if (peers_[static_cast<std::size_t>(rank - 1)].socket < 0)
                    absent.push_back(rank);
            part(fmt::format(
                "ranks that did not come to {} in time: {}, of {} ranks. Were they started, and is "
                "that the host of rank 0?",
                where(place), list_of(absent), size_));
        }
        Socket socket(::accept4(listens.handle(), nullptr, nullptr, SOCK_CLOEXEC));
        if (socket.handle() < 0)
            continue;
        tune(socket.handle());
        const Heard heard = hear(socket.handle(), std::min(until_, Clock::now() + hello));
        auto its = heard.what == Heard::What::words ? from_text(heard.text) : std::nullopt;
        if (!its)
            continue; // something else that tried this port
        const int rank = number_of<int>((*its)["rank"]).value_or(-1);
        Peer peer{-1, shortened((*its)["name"])};
        if (const auto why = why_not_together(peer, rank, *its, asked)) {
            (void)say(socket.handle(), leaving_letter, *why);
            for (const Peer &other : peers_)
                if (other.socket >= 0)
                    (void)say(other.socket, leaving_letter, *why);
            throw UsageError("run: " + *why);
        }
        peer.socket = socket.take();
        peers_[static_cast<std::size_t>(rank - 1)] = std::move(peer);
        --missing;
    }
    (void)from_first("");
}

void Meeting::join_first(const RankPlace &place, const Asked &asked) {
    Socket socket = connected_to(place, until_);
    tune(socket.handle());
    Asked hello = asked;
    hello["rank"] = std::to_string(rank_);
    hello["name"] = own_name(rank_);
    (void)say(socket.handle(), words_letter, as_text(hello));
    // Rank 0 gives up before this one does, and then says why.
    const Heard heard = hear(socket.handle(), until_ + std::chrono::seconds(3));
    if (heard.what == Heard::What::leaving)
        throw UsageError("run: " + heard.text);
    if (heard.what != Heard::What::words)
        throw RankLost("rank 0 at " + where(place) +
                       (heard.what == Heard::What::late ? " does not answer" : " left") +
                       " before all ranks had come");
    peers_.push_back({socket.take(), "rank 0"});
}

void Meeting::leave(const std::string &why) {
    for (const Peer &peer : peers_)
        if (peer.socket >= 0)
            (void)say(peer.socket, leaving_letter, why);
}

void Meeting::part(const std::string &why) {
    leave(why);
    throw RankLost(why);
}

std::string Meeting::heard_from(Peer &peer) {
    Heard heard = hear(peer.socket, std::nullopt);
    if (heard.what == Heard::What::words)
        return std::move(heard.text);
    const std::string why = heard.what == Heard::What::leaving ? heard.text : peer.name + " ended";
    if (rank_ == 0)
        leave(why);
    throw RankLost(why);
}

std::string Meeting::from_first(const std::string &said) {
    if (rank_ != 0)
        return heard_from(peers_.front());
    for (const Peer &peer : peers_)
        if (!say(peer.socket, words_letter, said))
            part(peer.name + " ended");
    return said;
}

std::vector<std::string> Meeting::to_first(const std::string &said) {
    if (rank_ != 0) {
        if (!say(peers_.front().socket, words_letter, said))
            (void)heard_from(peers_.front()); // its reason, if it had one
        return {};
    }
    std::vector<std::string> all = {said};
    for (Peer &peer : peers_)
        all.push_back(heard_from(peer));
    return all;
}

std::optional<std::string> Meeting::who_left() {
    for (Peer &peer : peers_) {
        std::array<char, header_bytes> header{};
        const ssize_t got = ::recv(peer.socket, header.data(), header.size(), MSG_PEEK | MSG_DONTWAIT);
        const bool nothing_yet = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
        const bool leaves = got == static_cast<ssize_t>(header.size()) && header.back() == leaving_letter;
        if (nothing_yet || (got > 0 && !leaves))
            continue;
        const std::string why = leaves ? hear(peer.socket, std::nullopt).text : peer.name + " ended";
        if (rank_ == 0)
            leave(why);
        return why;
    }
    return std::nullopt;
}

} // namespace convcast
