// How the ranks of a training find each other, check that they were started with the same options, and hear
// when one of them ends. Rank 0 has a connection to every other rank: TCP, or a pair of sockets between
// threads of one process. Only short texts are sent; gradients travel by NCCL.
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

/// Another rank ended early, or did not come. The program ends with exit code 4, as for a GPU that stops
/// answering.
struct RankLost : GpuError {
    using GpuError::GpuError;
};

/// A socket's descriptor, closed by the destructor; -1 is none.
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

/// The connections of one rank. The destructor closes them, which tells the others that this rank has left.
/// Texts have at most 1 MiB.
class Meeting {
  public:
    /// The options that a rank was started with, by name: "network" -> "mnist".
    using Asked = std::map<std::string, std::string>;

    /// Connects with all ranks; returns when all have come with the same options. Throws UsageError for a
    /// port in use, different options or a rank that came twice; RankLost if some ranks do not come within
    /// the limit. Every rank then throws, with the sentence of rank 0.
    Meeting(const RankPlace &place, const Asked &asked,
            std::chrono::milliseconds limit = std::chrono::seconds(25));

    /// One meeting for each of `ranks` ranks that are threads of this process, in the order of the ranks.
    static std::vector<Meeting> of_threads(int ranks);

    int rank() const { return rank_; }
    int size() const { return size_; }

    // All ranks call one of these two, in the same order. They wait, and throw RankLost if a rank leaves.

    /// Sends the text of rank 0 to all: returns it on every rank. What other ranks pass is not used.
    std::string from_first(const std::string &said);
    /// Sends the text of every rank to rank 0: returns all there in the order of ranks, and nothing
    /// elsewhere.
    std::vector<std::string> to_first(const std::string &said);

    /// A sentence if a rank has left; absent if none has. Does not wait. Rank 0 also tells the other ranks.
    std::optional<std::string> who_left();
    /// Whether rank 0 has ended without telling why. Always false on rank 0.
    bool first_ended() const { return first_ended_; }

    /// Tells the others why this rank leaves before its time.
    void leave(const std::string &why);

  private:
    /// Another rank.
    struct Peer {
        Socket socket;    ///< not open before that rank has come
        std::string name; ///< "rank 1 on node02 (process 4711)"
    };

    Meeting() = default;
    void wait_for_all(const RankPlace &place, const Asked &asked);
    void join_first(const RankPlace &place, const Asked &asked);
    /// A sentence if the peer, which says that it is `rank` with the options `theirs`, cannot take part.
    std::optional<std::string> why_not_together(const Peer &peer, int rank, const Asked &theirs,
                                                const Asked &asked);
    /// Rank 0: takes the connection if `hello` is a rank's first message, else leaves the socket to the
    /// caller. refuse()s if that rank cannot take part.
    void seat(Socket &socket, const std::string &hello, const Asked &asked);
    [[noreturn]] void refuse(const std::string &why); ///< tells all why; throws UsageError
    [[noreturn]] void part(const std::string &why);   ///< tells all why; throws RankLost
    std::string heard_from(Peer &peer);               ///< waits for the next text of a rank; throws RankLost
    std::optional<std::string> why_gone(Peer &peer);  ///< absent if the rank is there; does not wait

    int rank_ = 0, size_ = 1;
    std::chrono::steady_clock::time_point until_; ///< when all ranks must have come
    std::vector<Peer> peers_;                     ///< on rank 0: rank i at i - 1; on the others: rank 0 alone
    bool first_ended_ = false;
};

} // namespace convcast
