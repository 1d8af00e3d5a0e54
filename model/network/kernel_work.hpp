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

/// An access to memory by a CTA: the first 4-byte word that each thread t touches. Other expressions name
/// what it costs, on average over warps, by the access and the memory: window.shared and window.global are
/// wavefronts, window.constant is how many different addresses a warp reads.
struct DeclaredAccess {
    std::string threads;               ///< expression: threads 0 to this - 1 may take part
    std::optional<std::int64_t> width; ///< words that a thread touches; absent: 1
    std::optional<std::string> where;  ///< expression of t: not 0 where t takes part; absent: all threads do
    std::string word;                  ///< whole-number expression of t: the index of the word
    CONVCAST_MEMBERS(DeclaredAccess, threads, width, where, word)

    static constexpr Range range_of(std::string_view) { return {1.0, 4.0}; }
};

/// What a ladder declares of a kernel. A phase has "name", "like" (another phase of the ladder, whose
/// expressions it takes and may replace), "if" (0: it is left out), fields of LaunchPhase and names of its
/// own.
struct DeclaredKernel {
    std::optional<std::string> like; ///< kernel that has the same phases
    double code = 0.0;               ///< instructions of 16 bytes, as NVRTC 13.0 compiles it for 9.0
    std::int64_t registers = 0, static_shared_bytes = 0;
    Texts let; ///< names for all its expressions
    std::map<std::string, DeclaredAccess> accesses;
    std::vector<Texts> phases; ///< in the order in which a CTA comes to them
    std::vector<Texts> last;   ///< that the last CTA alone does when all have ended
    Texts totals; ///< fields of LaunchWork that are not what the launch's operands, grid and block give
    CONVCAST_MEMBERS(DeclaredKernel, like, code, registers, static_shared_bytes, let, accesses, phases, last,
                     totals)

    // Above this only broken files come.
    static constexpr Range range_of(std::string_view) { return {0.0, 1e6}; }
};

/// What a ladder declares of the work of its kernels.
struct DeclaredWork {
    std::optional<std::string> also; ///< network whose ladder's names, accesses and phases are taken as well
    Texts let;                       ///< names for the expressions of all kernels
    std::map<std::string, DeclaredAccess> accesses;
    std::map<std::string, Texts> phases; ///< that phases of kernels may be "like"
    std::map<std::string, DeclaredKernel> kernels;
    CONVCAST_MEMBERS(DeclaredWork, also, let, accesses, phases, kernels)
};

/// A stretch of a kernel between two barriers, or a loop of it: each busy warp goes `rounds` times through
/// the same instructions. Numbers are of one warp and one round where nothing else is said.
struct LaunchPhase {
    std::string name;
    double warps = 1.0;        ///< of a CTA that have work; where none are declared, all
    double rounds = 1.0;       ///< how often a warp goes through the phase
    double instructions = 0.0; ///< issued, multiply-adds included
    double products = 0.0;  ///< of them multiply-adds of three registers, which read more than a bank serves
    double passes = 0.0;    ///< wavefronts of shared memory and of L1
    double constants = 0.0; ///< different addresses of constant memory, served one after another
    double chain = 0.0;     ///< additions and multiply-adds that each need the result of the one before
    double shuffles = 0.0;  ///< shuffles that each need the result of the one before
    /// Loads that each wait for the one before. Those of L2 wait for DRAM if L2 lost its bytes (N7).
    double l2_waits = 0.0, l1_waits = 0.0, shared_waits = 0.0;
    double l2_hits = 0.0;        ///< such loads from L2 that it never has to bring from DRAM
    double constant_waits = 0.0; ///< such loads from constant memory
    double cluster_waits = 0.0, cluster_meets = 0.0; ///< reads of another CTA's memory; barriers of a cluster
    double grid_meets = 0.0;                         ///< barriers of all CTAs of an image
    double barriers = 0.0;                           ///< barriers of the CTA in a round
    double l2_read_bytes = 0.0, l2_written_bytes = 0.0; ///< of a CTA, where all CTAs move theirs at once
    CONVCAST_MEMBERS(LaunchPhase, warps, rounds, instructions, products, passes, constants, chain, shuffles,
                     l2_waits, l2_hits, l1_waits, shared_waits, constant_waits, cluster_waits, cluster_meets,
                     grid_meets, barriers, l2_read_bytes, l2_written_bytes)
};

/// What one launch does, counted.
struct LaunchWork {
    std::int64_t ctas = 0, threads = 0, registers = 0, shared_bytes = 0; ///< registers of a thread
    std::int64_t cluster = 1;                     ///< CTAs that must be resident at once
    double code = 0.0;                            ///< instructions of the kernel as compiled
    double l2_read_bytes = 0.0;                   ///< that all CTAs together ask L2 for
    double read_bytes = 0.0, written_bytes = 0.0; ///< of tensors, each byte once
    double partial_bytes = 0.0; ///< of sectors that a store touches and does not fill, for each such store
    double atomics = 0.0;       ///< adds in L2 (N10): those of a warp to different words of a sector are one
    double atomic_lines = 0.0;  ///< lines of 128 bytes that these go to at the same time
    std::vector<LaunchPhase> phases;
    std::vector<LaunchPhase> last; ///< that the last CTA alone does when all have ended
    CONVCAST_MEMBERS(LaunchWork, code, l2_read_bytes, read_bytes, written_bytes, partial_bytes, atomics,
                     atomic_lines)
};

} // namespace convcast
