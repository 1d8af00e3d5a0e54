// How long does a kernel take that loads a number, stores it and does nothing else?

extern "C" __global__ void smallest_copy(const float *from, float *to) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i];
}
