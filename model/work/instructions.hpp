// Warp instructions beside arithmetic and loads of operands that the same lines of source take in every
// kernel. What a kernel's code takes more or less, its facts say (W1 of docs/equations.md).
#pragma once

namespace convcast::instructions {

// Warp instructions each, rounded: the middle of what each takes in the kernels as compiled and counted for
// sm_90.
inline constexpr double unrolled_copy = 3.0; ///< a copy or load at a constant offset from the one before
inline constexpr double copy = 14.0;         ///< one in a loop: comparison, two addresses, the copy
inline constexpr double divided_copy = 28.0; ///< whose place is found by a division besides
inline constexpr double guard = 4.0;         ///< whether a value lies inside the map
inline constexpr double iteration = 5.0;     ///< of a loop: counter, comparison, branch, moved pointers
inline constexpr double loop = 20.0;         ///< before its first iteration: bounds and addresses
inline constexpr double place = 60.0;        ///< of an output or a pixel, found by two divisions
inline constexpr double store = 7.0;         ///< of an output or four, at a constant offset
inline constexpr double placed_store = 18.0; ///< whose address and bounds are computed
inline constexpr double step = 48.0;         ///< of a pipeline: waits, barrier, pointers of the next buffers
inline constexpr double warp = 80.0;         ///< its start and end: parameters, own place in the grid

} // namespace convcast::instructions
