// How long does a kernel take that does nothing, and how soon does the next one start?

extern "C" __global__ void empty() {}
