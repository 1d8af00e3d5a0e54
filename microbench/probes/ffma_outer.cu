// How many FFMAs a clock does an SM sustain when outer products of other sizes decide which registers they
// read?
//
// a_ij = x_i * w_j + a_ij for a tile of rows x columns: three registers an FFMA from a file of two banks, so
// full speed needs the reuse cache. Larger tiles leave the compiler less choice of banks; the order of the
// tile's FFMAs decides what can be reused: row by row (snake = 0), or every other row backwards (snake = 1),
// so that w_j stays where a row ends. Two to four warps a scheduler and four accumulators at least hide the
// latency. Small integers, so the sums are exact and known; all operands of a thread are computed
// differently, or the compiler would keep equal ones in one register.

constexpr int ffmas = 512; // between two branches

template <int rows, int columns, int snake>
__global__ __launch_bounds__(256, rows *columns > 64 ? 1 : 2) void ffma_outer(unsigned iterations,
                                                                              unsigned *sink, Span *spans) {
    float x[rows], w[columns], a[rows][columns];
#pragma unroll
    for (int i = 0; i < rows; ++i)
        x[i] = 1.0f + i + threadIdx.x % 2;
#pragma unroll
    for (int j = 0; j < columns; ++j)
        w[j] = 1.0f + j + threadIdx.x % 3;
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
        for (int j = 0; j < columns; ++j)
            a[i][j] = 0.0f;
    const Span span = begin_span();
#pragma unroll
    for (int i = 0; i < rows; ++i)
        pin(x[i]);
#pragma unroll
    for (int j = 0; j < columns; ++j)
        pin(w[j]);
#pragma unroll 1
    for (unsigned iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (int step = 0; step < ffmas / (rows * columns); ++step) {
#pragma unroll
            for (int i = 0; i < rows; ++i) {
#pragma unroll
                for (int j = 0; j < columns; ++j) {
                    const int column = snake && i % 2 ? columns - 1 - j : j;
                    a[i][column] = __fmaf_rn(x[i], w[column], a[i][column]);
                }
            }
        }
    }
    unsigned sum = 0;
#pragma unroll
    for (int i = 0; i < rows; ++i) {
#pragma unroll
        for (int j = 0; j < columns; ++j) {
            pin(a[i][j]);
            sum += static_cast<unsigned>(a[i][j]);
        }
    }
    end_span(span, spans);
    sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
