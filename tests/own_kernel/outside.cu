// Writes one element behind its output.
__global__ void outside(const float *input, const float *filters, float *output, int n, int c, int h, int w, int k,
                        int r, int s, int p, int q) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n * k * p * q)
        output[i] = input[0] * filters[0];
}
