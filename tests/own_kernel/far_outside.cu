// Writes where there is no memory: the GPU ends the process's work.
__global__ void far_outside(const float *input, const float *filters, float *output, int n, int c, int h, int w, int k,
                            int r, int s, int p, int q) {
    output[(1LL << 40) + threadIdx.x] = input[0] * filters[0];
}
