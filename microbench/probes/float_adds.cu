// How fast are atomic adds of floats to few and to many lines?
//
// All lanes of a warp add to the same word, the first of a line, and want no result (RED): L2 gets an add a lane. Each
// warp takes the lines in a random order of its own, so that all are equally busy. Floats take longer than integers.

extern "C" __global__ void float_adds(float *words, unsigned lines, unsigned line_words, unsigned adds) {
    unsigned state = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 2654435769u; // golden ratio: spreads the warps
    for (unsigned i = 0; i < adds; ++i) {
        state = state * 1664525u + 1013904223u;
        atomicAdd(words + (state >> 8) % lines * line_words, 1.0f);
    }
}
