// Leaves the last row of every plane unwritten.
__global__ void leaves_outputs(const float *input, const float *filters, float *output, int n, int c, int h, int w,
                               int k, int r, int s, int p, int q) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * k * p * q || i / q % p == p - 1)
        return;
    const int x = i % q, y = i / q % p, f = i / q / p % k, image = i / q / p / k;
    float sum = 0.0f;
    for (int channel = 0; channel < c; ++channel)
        for (int a = 0; a < r; ++a)
            for (int b = 0; b < s; ++b)
                sum += input[((image * c + channel) * h + y + a) * w + x + b] *
                       filters[((f * c + channel) * r + a) * s + b];
    output[i] = sum;
}
