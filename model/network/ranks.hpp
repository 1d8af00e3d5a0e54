// Processes that train together, one GPU each: which of them this one is, as a launcher's environment or the
// command line says, and where they meet.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

constexpr int most_ranks = 4096;

struct RankPlace {
    int rank = 0, size = 1;
    std::string host = "127.0.0.1";
    int port = 29517; ///< rank 0 listens there
    bool operator==(const RankPlace &) const = default;
};

/// Another port beside one.
constexpr int next_port(int port) {
    return port < 65535 ? port + 1 : port - 1;
}

/// The value of a variable of the environment; absent where it is not set.
using Environment = std::function<std::optional<std::string>(const std::string &name)>;

/// `rank`: "1/4", or "auto" for what torchrun, Open MPI or Slurm say. `meet`: "host:port", or absent: the
/// launcher's MASTER_ADDR and MASTER_PORT, or else this host. Throws UsageError: a rank that is none, no
/// launcher, ranks of several hosts that nobody said where to meet.
RankPlace rank_place(const std::string &rank, const std::optional<std::string> &meet,
                     const Environment &environment);

/// Some of the images of a batch, or some rows of windows.
struct ImageShare {
    std::int64_t first = 0, count = 0;
    bool operator==(const ImageShare &) const = default;
};
/// The first ranks have one image more where the batch does not divide; of a batch smaller than the number of
/// ranks the last ones have none.
ImageShare share_of_rank(std::int64_t batch, int rank, int ranks);

} // namespace convcast
