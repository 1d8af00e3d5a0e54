// What the kernels of ladders do, as their ladder declares it: expressions of a launch's grid, of its block
// and of the sizes of the operators. Equation N5 of docs/equations.md; the format: docs/ladders.md.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/describe.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

/// Named expressions. Each may name others, of its own table and of those around it.
using Texts = std::map<std::string, std::string>;

/// The first 4-byte word that each thread t of a CTA touches, a whole-number expression. As a name in other
/// expressions it has where the words lie behind it: window.shared, window.global, window.constant are the
/// passes of a warp on average, of constant memory its different addresses.
struct DeclaredAccess {
    std::string threads;               ///< that take part
    std::optional<std::int64_t> width; ///< words of a thread; absent: 1
    std::optional<std::string> where;  ///< threads of them that take part; absent: all
    std::string word;
    CONVCAST_MEMBERS(DeclaredAccess, threads, width, where, word)

    static constexpr Range range_of(std::string_view) { return {1.0, 4.0}; }
};

/// A phase has "name", "like" (another phase of the ladder, whose expressions it takes and may replace),
/// "if" (it is left out where that is 0), fields of LaunchPhase and names of its own.
struct DeclaredKernel {
    std::optional<std::string> like; ///< kernel that has the same phases
    double code = 0.0;               ///< instructions of 16 bytes, as NVRTC 13.0 compiles it for 9.0
    std::int64_t registers = 0, static_shared_bytes = 0;
    Texts let;
    std::map<std::string, DeclaredAccess> accesses;
    std::vector<Texts> phases;
    std::vector<Texts> last; ///< that the last CTA alone does when all have ended
    Texts totals; ///< of LaunchWork, instead of what its operands are: written_bytes of the last one
    CONVCAST_MEMBERS(DeclaredKernel, like, code, registers, static_shared_bytes, let, accesses, phases, last,
                     totals)

    static constexpr Range range_of(std::string_view) { return {0.0, 1e6}; }
};

struct DeclaredWork {
    std::optional<std::string> also; ///< network whose ladder has more names, accesses and phases
    Texts let;
    std::map<std::string, DeclaredAccess> accesses;
    std::map<std::string, Texts> phases;
    std::map<std::string, DeclaredKernel> kernels;
    CONVCAST_MEMBERS(DeclaredWork, also, let, accesses, phases, kernels)
};

/// A stretch of a kernel between two barriers, or a loop of it: each busy warp goes `rounds` times through
/// the same instructions. All numbers but the first three are of one warp and one round.
struct LaunchPhase {
    std::string name;
    double warps = 1.0; ///< of a CTA that have work; where none are declared, all
    double rounds = 1.0;
    double instructions = 0.0; ///< issued, multiply-adds included
    double products = 0.0;  ///< of them multiply-adds of three registers, which read more than a bank serves
    double passes = 0.0;    ///< wavefronts of shared memory and of L1
    double constants = 0.0; ///< different addresses of constant memory, served one after another
    double chain = 0.0;     ///< dependent additions and multiply-adds
    double shuffles = 0.0;  ///< that wait for each other
    /// Loads that wait for each other. Those of L2 wait for DRAM where L2 has lost what they read (N7).
    double l2_waits = 0.0, l1_waits = 0.0, shared_waits = 0.0;
    double l2_hits = 0.0; ///< loads of L2 that wait for each other, of what it has whatever else it lost
    double constant_waits = 0.0;
    double cluster_waits = 0.0, cluster_meets = 0.0; ///< reads of another CTA's memory; meetings of a cluster
    double grid_meets = 0.0;                         ///< of all CTAs of an image
    double barriers = 0.0;                           ///< of the CTA, in a round
    double l2_read_bytes = 0.0, l2_written_bytes = 0.0; ///< of a CTA, where many move in a short time
    CONVCAST_MEMBERS(LaunchPhase, warps, rounds, instructions, products, passes, constants, chain, shuffles,
                     l2_waits, l2_hits, l1_waits, shared_waits, constant_waits, cluster_waits, cluster_meets,
                     grid_meets, barriers, l2_read_bytes, l2_written_bytes)
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
    CONVCAST_MEMBERS(LaunchWork, code, l2_read_bytes, read_bytes, written_bytes, partial_bytes, atomics,
                     atomic_lines)
};

} // namespace convcast
