// Waits for a number that never comes.
__global__ void endless(const float *input, const float *filters, float *output, int n, int c, int h, int w, int k,
                        int r, int s, int p, int q) {
    volatile float *seen = output;
    while (seen[0] != 12345.0f) {
    }
}
