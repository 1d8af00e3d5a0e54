// How the ranks of a training find each other, agree that they were asked the same, and hear when one of them
// ends: over TCP with rank 0 in the middle, or over pairs of sockets between threads of one process. What
// they say is short; gradients travel by NCCL.
#pragma once

#include "model/base/errors.hpp"
#include "model/network/ranks.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

/// A rank ended before its time, or did not come. Exit code 4, as of a GPU that stops answering.
struct RankLost : GpuError {
    using GpuError::GpuError;
};

/// Closed when its owner ends.
class Socket {
  public:
    explicit Socket(int handle = -1) : handle_(handle) {}
    Socket(Socket &&other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
    Socket &operator=(Socket &&other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Socket();
    int handle() const { return handle_; }
    bool is_open() const { return handle_ >= 0; }

  private:
    int handle_;
};

class Meeting {
  public:
    /// What a rank was asked, each with its name: "network" -> "mnist".
    using Asked = std::map<std::string, std::string>;

    /// Returns when all ranks have come and were asked the same. Throws UsageError for a port in use, ranks
    /// that were asked different things or a rank that came twice; RankLost where some do not come within
    /// the limit. Every rank then throws, with the sentence of rank 0.
    Meeting(const RankPlace &place, const Asked &asked,
            std::chrono::milliseconds limit = std::chrono::seconds(25));

    /// For ranks that are threads of this process, in their order.
    static std::vector<Meeting> of_threads(int ranks);

    // When it ends the others hear that this rank has left: its sockets close.

    int rank() const { return rank_; }
    int size() const { return size_; }

    /// Rank 0 says something, every rank returns it. Throws RankLost.
    std::string from_first(const std::string &said);
    /// Each rank says something; rank 0 returns all in their order, the others nothing. Throws RankLost.
    std::vector<std::string> to_first(const std::string &said);

    /// A sentence if a rank has left, without waiting.
    std::optional<std::string> who_left();
    /// Whether it was rank 0 that is gone, without a word.
    bool first_ended() const { return first_ended_; }

    /// Tells the others why this rank leaves before its time.
    void leave(const std::string &why);

  private:
    struct Peer {
        Socket socket;
        std::string name; ///< "rank 1 on node02 (process 4711)"
    };

    Meeting() = default;
    void wait_for_all(const RankPlace &place, const Asked &asked);
    void join_first(const RankPlace &place, const Asked &asked);
    std::optional<std::string> why_not_together(const Peer &peer, int rank, const Asked &its,
                                                const Asked &asked);
    /// Takes the socket of a rank that says hello, and leaves that of another guest.
    void seat(Socket &socket, const std::string &hello, const Asked &asked);
    [[noreturn]] void refuse(const std::string &why);
    [[noreturn]] void part(const std::string &why);
    std::string heard_from(Peer &peer);
    std::optional<std::string> why_gone(Peer &peer);

    int rank_ = 0, size_ = 1;
    std::chrono::steady_clock::time_point until_; ///< of the first words
    std::vector<Peer> peers_;                     ///< of rank 0 all others by rank - 1, of the others rank 0
    bool first_ended_ = false;
};

} // namespace convcast
