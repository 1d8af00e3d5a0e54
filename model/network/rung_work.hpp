// What a launch of a rung does, counted from its grid, its block, the operators that it computes and where
// their operands lie. Equation N5 of docs/equations.md.
#pragma once

#include "model/machine/architecture.hpp"
#include "model/network/ladder.hpp"
#include "model/network/network.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// A stretch of a kernel between two barriers, or a loop of it: each busy warp goes `rounds` times through
/// the same instructions. All numbers but the first three are of one warp and one round.
struct LaunchPhase {
    std::string name;
    double warps = 1.0; ///< of a CTA that have work
    double rounds = 1.0;
    double instructions = 0.0; ///< issued, multiply-adds included
    double products = 0.0;  ///< of them multiply-adds of three registers, which read more than a bank serves
    double passes = 0.0;    ///< wavefronts of shared memory and of L1
    double constants = 0.0; ///< different addresses of constant memory, served one after another
    double chain = 0.0;     ///< dependent additions and multiply-adds
    double shuffles = 0.0;  ///< that wait for each other
    /// Loads that wait for each other. Those of L2 wait for DRAM where L2 has lost what they read (N7).
    double l2_waits = 0.0, l1_waits = 0.0, shared_waits = 0.0;
    double constant_waits = 0.0;
    double cluster_waits = 0.0, cluster_meets = 0.0; ///< reads of another CTA's memory; meetings of a cluster
    double grid_meets = 0.0;                         ///< of all CTAs of an image
    double barriers = 0.0;                           ///< of the CTA, in a round
    double l2_read_bytes = 0.0, l2_written_bytes = 0.0; ///< of a CTA, where many move in a short time
};

struct LaunchWork {
    std::int64_t ctas = 0, threads = 0, registers = 0, shared_bytes = 0; ///< registers of a thread
    std::int64_t cluster = 1;                     ///< CTAs that must be resident at once
    double code = 0.0;                            ///< instructions of the kernel as compiled
    double l2_read_bytes = 0.0;                   ///< that all CTAs ask for
    double read_bytes = 0.0, written_bytes = 0.0; ///< of tensors, each byte once
    double partial_bytes = 0.0;                   ///< of sectors that stores touch and do not fill, each time
    double atomics = 0.0;      ///< adds in L2: to different addresses of a sector at once, to one in turn
    double atomic_lines = 0.0; ///< lines of 128 bytes that these go to at the same time
    std::vector<LaunchPhase> phases;
    std::vector<LaunchPhase> last; ///< that the last CTA alone does when all have ended
};

/// Absent for a kernel that nobody has counted.
std::optional<LaunchWork> work_of(const LadderLaunch &launch, const Rung &rung, const Network &network,
                                  std::int64_t images, const Gpu &gpu);

/// A kernel as NVRTC 13.0 compiles it for compute capability 9.0.
struct CompiledKernel {
    const char *name;
    double code; ///< instructions of 16 bytes
    std::int64_t registers, static_shared_bytes;
};
const std::vector<CompiledKernel> &compiled_kernels();

} // namespace convcast
