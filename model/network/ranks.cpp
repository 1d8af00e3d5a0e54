#include "model/network/ranks.hpp"

#include "model/base/errors.hpp"
#include "model/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace convcast {
namespace {

/// The environment variables by which a launcher tells a process which of several it is. `local_size`: how
/// many of them are on its host; nullptr where there is no such variable.
struct Launcher {
    const char *name, *rank, *size, *local_size;
};
// Open MPI before Slurm: within a job of Slurm mpirun's processes have both, and Slurm's are of the one that
// started mpirun.
constexpr Launcher launchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", nullptr},
};
constexpr const char *rank_example = "Example: --rank 0/2 and --rank 1/2";

/// A whole number from `least` to `most`; absent for anything else.
std::optional<int> number(const std::optional<std::string> &text, int least, int most) {
    const auto value = text ? number_of<int>(*text) : std::nullopt;
    return value && *value >= least && *value <= most ? value : std::nullopt;
}

/// Whether all ranks of the launcher are on this host. Without Slurm's number of nodes: yes.
bool on_one_host(const Launcher &launcher, const RankPlace &place, const Environment &environment) {
    if (place.size == 1)
        return true;
    if (launcher.local_size != nullptr)
        return number(environment(launcher.local_size), 1, most_ranks) == place.size;
    const auto nodes = environment("SLURM_STEP_NUM_NODES");
    return number(nodes ? nodes : environment("SLURM_JOB_NUM_NODES"), 1, most_ranks).value_or(1) == 1;
}

/// The rank that a launcher's environment says; sets `one_host` to on_one_host. Throws UsageError.
RankPlace launched(const Environment &environment, bool &one_host) {
    for (const Launcher &launcher : launchers) {
        const auto rank = environment(launcher.rank), size = environment(launcher.size);
        if (!rank || !size)
            continue;
        RankPlace place;
        const auto ranks = number(size, 1, most_ranks);
        const auto own = ranks ? number(rank, 0, *ranks - 1) : std::nullopt;
        if (!own)
            throw UsageError(fmt::format(
                "run: --rank auto takes {0} and {1} of {2}, expected a rank below the number of ranks, got "
                "{0}={3} and {1}={4}",
                launcher.rank, launcher.size, launcher.name, shortened(*rank), shortened(*size)));
        place.rank = *own, place.size = *ranks;
        one_host = on_one_host(launcher, place, environment);
        return place;
    }
    throw UsageError(
        fmt::format("run: --rank auto asks the launcher which rank this is, and none of torchrun, "
                    "Open MPI and Slurm started this process. {}",
                    rank_example));
}

/// The rank of a text such as "1/4". Throws UsageError.
RankPlace given(const std::string &text) {
    const std::size_t slash = text.find('/');
    const auto size =
        slash == std::string::npos ? std::nullopt : number(text.substr(slash + 1), 1, most_ranks);
    const auto rank = size ? number(text.substr(0, slash), 0, *size - 1) : std::nullopt;
    if (!rank)
        throw UsageError(
            fmt::format("run: --rank takes a number from 0 on and how many there are, up to {}, or "
                        "auto, got '{}'. {}",
                        most_ranks, shortened(text), rank_example));
    RankPlace place;
    place.rank = *rank;
    place.size = *size;
    return place;
}

/// Sets host and port by a text such as "node01:29517" or "[fe80::1]:29517". `said_by`: where the text is
/// from, for messages. Throws UsageError.
void meet_at(RankPlace &place, const std::string &text, const std::string &said_by) {
    constexpr int most_port = 65535;
    const std::size_t colon = text.rfind(':');
    const auto port =
        colon == std::string::npos ? std::nullopt : number(text.substr(colon + 1), 1, most_port);
    std::string host = text.substr(0, colon);
    const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']'; // [::1]:29517
    if (brackets)
        host = host.substr(1, host.size() - 2);
    if (!port || host.empty() || (!brackets && host.find_first_of(":[]") != std::string::npos))
        throw UsageError("run: " + said_by + " must be the host of rank 0 and a port from 1 to 65535, got '" +
                         shortened(text) + "'. Example: --meet node01:29517, or --meet [fe80::1]:29517");
    place.host = host;
    place.port = *port;
}

} // namespace

RankPlace rank_place(const std::string &rank, const std::optional<std::string> &meet,
                     const Environment &environment) {
    bool one_host = true;
    RankPlace place = rank == "auto" ? launched(environment, one_host) : given(rank);
    if (meet) {
        meet_at(place, *meet, "--meet");
        return place;
    }
    if (const auto host = environment("MASTER_ADDR"); host && !host->empty()) {
        const bool ipv6 = host->find(':') != std::string::npos && host->front() != '[';
        meet_at(place,
                (ipv6 ? "[" + *host + "]" : *host) + ":" +
                    environment("MASTER_PORT").value_or(std::to_string(place.port)),
                "MASTER_ADDR with MASTER_PORT");
        if (environment("TORCHELASTIC_RUN_ID")) // torchrun itself listens at that port
            place.port = next_port(place.port);
    } else if (!one_host) {
        throw UsageError(
            "run: the ranks are on several hosts, and nobody says where rank 0 listens. Example: "
            "--meet node01:29517, or MASTER_ADDR and MASTER_PORT in the environment");
    } else if (const auto job = number(environment("SLURM_JOB_ID"), 0, 1 << 30)) {
        place.port += *job % 1000; // so that jobs that share a host hardly ever share a port
    }
    return place;
}

ImageShare share_of_rank(std::int64_t batch, int rank, int ranks) {
    const std::int64_t each = batch / ranks, more = batch % ranks;
    return {rank * each + std::min<std::int64_t>(rank, more), each + (rank < more ? 1 : 0)};
}

} // namespace convcast
