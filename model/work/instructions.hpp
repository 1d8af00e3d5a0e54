// Prices: warp instructions that a few common lines of source take, beside FFMAs and loads of their
// operands. How many more or fewer a kernel takes, its facts say (W1 of docs/equations.md).
#pragma once

namespace convcast::instructions {

// Rounded: the middle of what each took in the kernels as compiled and counted for sm_90.
inline constexpr double unrolled_copy = 3.0; ///< a copy or load at a constant offset from the one before
inline constexpr double copy = 14.0;         ///< a copy in a loop: comparison, two addresses, the copy
inline constexpr double divided_copy = 28.0; ///< a copy whose place is found by a division besides
inline constexpr double guard = 4.0;         ///< whether a value lies inside the map
inline constexpr double iteration = 5.0;     ///< an iteration: counter, comparison, branch, moved pointers
inline constexpr double loop = 20.0;         ///< a loop before its first iteration: bounds and addresses
inline constexpr double place = 60.0;        ///< the place of an output or a pixel, found by two divisions
inline constexpr double store = 7.0;         ///< a store of an output or four, at a constant offset
inline constexpr double placed_store = 18.0; ///< a store whose address and bounds are computed
inline constexpr double step = 48.0; ///< a pipeline step: waits, barrier, pointers of the next buffers
inline constexpr double warp = 80.0; ///< a warp's start and end: parameters, own place in the grid

} // namespace convcast::instructions
