// Processes that train together, one GPU each (ranks): which of them this process is, as a launcher's
// environment or the command line says, and where they meet.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// Of one training: chosen, above this only slips come.
constexpr int most_ranks = 4096;

/// Which of `size` ranks a process is, and where rank 0 listens for the others.
struct RankPlace {
    int rank = 0, size = 1;
    std::string host = "127.0.0.1";
    int port = 29517; ///< chosen: beside 29500, where torchrun listens
    bool operator==(const RankPlace &) const = default;
};

/// A port next to another one.
constexpr int next_port(int port) {
    return port < 65535 ? port + 1 : port - 1;
}

/// The value of a variable of the environment; absent where it is not set.
using Environment = std::function<std::optional<std::string>(const std::string &name)>;

/// `rank`: "1/4", or "auto" for what torchrun, Open MPI or Slurm say. `meet`: "host:port" of rank 0; absent:
/// MASTER_ADDR and MASTER_PORT of the environment, or else this host. Throws UsageError for a text that is no
/// rank, for "auto" without a launcher, and for ranks of several hosts if nothing says where to meet.
RankPlace rank_place(const std::string &rank, const std::optional<std::string> &meet,
                     const Environment &environment);

/// Neighbours among the images of a batch, or among rows of pooling windows: `count` of them from `first` on.
struct ImageShare {
    std::int64_t first = 0, count = 0;
    bool operator==(const ImageShare &) const = default;
};
/// The images of a rank. Where the number of ranks does not divide the batch the first ranks have one image
/// more; of fewer images than ranks the last ranks have none.
ImageShare share_of_rank(std::int64_t batch, int rank, int ranks);

} // namespace convcast
