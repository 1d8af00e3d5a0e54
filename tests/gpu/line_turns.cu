// What a line of L2 takes for a request of a CTA, where all CTAs ask for the same few lines (F36 of
// docs/equations.md).
//
//   nvcc -O3 -arch=sm_90 -o line_turns tests/gpu/line_turns.cu && ./line_turns > line_turns.tsv
//
// 25,088 CTAs of 64 threads each copy the same rows from global to shared memory by 16 bytes (cp.async, past
// L1), wait for them and end. In global memory rows follow each other; in shared memory they begin `pitch`
// bytes apart. Where the pitch is that of the rows, what is a line there is a line here, and requests are
// merged on their way; where it is not, each piece that lies alike in both lines is a request, and a line
// serves them one after another. `own` are bytes that each CTA copies besides, of its own. Smaller tiles of
// shared memory let more CTAs run on an SM. A row of the output has the times of five launches behind one
// that warms up.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        if (const cudaError_t error = call; error != cudaSuccess) {                                          \
            std::fprintf(stderr, "line_turns: %s: %s\n", #call, cudaGetErrorString(error));                  \
            std::exit(1);                                                                                    \
        }                                                                                                    \
    } while (false)

constexpr unsigned ctas = 25088, threads = 64;
constexpr int launches = 5;

__device__ void copy_16(float *to, const float *from) {
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from));
}

__global__ void copy(const float *same, unsigned rows, unsigned row, unsigned pitch, const float *own,
                     unsigned own_units, float *sink) {
    extern __shared__ __align__(128) float shared[];
    const unsigned units = row / 4; // of a row
    for (unsigned i = threadIdx.x; i < rows * units; i += threads)
        copy_16(shared + i / units * pitch + i % units * 4, same + i * 4);
    const float *mine = own + static_cast<size_t>(blockIdx.x) * own_units * 4;
    for (unsigned i = threadIdx.x; i < own_units; i += threads)
        copy_16(shared + rows * pitch + i * 4, mine + i * 4);
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    if (shared[threadIdx.x % (rows * pitch)] == 1.0f) // never: all is zero
        sink[threadIdx.x] = 1.0f;
}

int main() {
    cudaDeviceProp gpu;
    int runtime = 0, driver = 0, kilohertz = 0;
    CHECK(cudaGetDeviceProperties(&gpu, 0));
    CHECK(cudaRuntimeGetVersion(&runtime));
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0));
    char date[32];
    const std::time_t now = std::time(nullptr);
    std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
    std::printf("# tests/gpu/line_turns.cu on %s, %d SMs, at most %d MHz; CUDA %d, driver %d; %s; %u CTAs of "
                "%u threads\n",
                gpu.name, gpu.multiProcessorCount, kilohertz / 1000, runtime, driver, date, ctas, threads);
    std::printf("# rows\trow_bytes\tpitch_bytes\town_bytes\tctas_per_sm\tus\n");
    constexpr size_t same_bytes = 1 << 20, own_bytes = size_t{ctas} * 4096;
    float *same, *own, *sink;
    CHECK(cudaMalloc(&same, same_bytes));
    CHECK(cudaMalloc(&own, own_bytes));
    CHECK(cudaMalloc(&sink, threads * sizeof(float)));
    CHECK(cudaMemset(same, 0, same_bytes));
    CHECK(cudaMemset(own, 0, own_bytes));
    CHECK(cudaFuncSetAttribute(copy, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10));
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    const struct {
        unsigned rows, row, pitch; // floats
    } layouts[] = {{64, 8, 8},   {64, 8, 12},  {32, 8, 8},     {32, 8, 12},    {32, 16, 16}, {32, 16, 20},
                   {64, 16, 16}, {64, 16, 20}, {16, 32, 32},   {16, 32, 36},   {32, 32, 32}, {32, 32, 36},
                   {32, 64, 64}, {32, 64, 68}, {32, 128, 128}, {32, 128, 132}, {8, 4, 4},    {8, 4, 8},
                   {64, 4, 4},   {64, 4, 8},   {8, 64, 64},    {8, 64, 68},    {1, 512, 512}};
    for (const auto &layout : layouts)
        for (const unsigned own_units : {0u, 64u, 256u})
            for (const unsigned of_sm : {8u, 16u}) {
                const unsigned tile = layout.rows * layout.pitch * 4 + own_units * 16,
                               part = 200 * 1024 / of_sm;
                if (tile > part)
                    continue;
                std::printf("%u\t%u\t%u\t%u\t%u\t", layout.rows, layout.row * 4, layout.pitch * 4,
                            own_units * 16, of_sm);
                for (int i = 0; i <= launches; ++i) {
                    CHECK(cudaEventRecord(begin));
                    copy<<<ctas, threads, part>>>(same, layout.rows, layout.row, layout.pitch, own, own_units,
                                                  sink);
                    CHECK(cudaEventRecord(end));
                    CHECK(cudaEventSynchronize(end));
                    float ms = 0.0f;
                    CHECK(cudaEventElapsedTime(&ms, begin, end));
                    if (i > 0) // the first warms up
                        std::printf(i < launches ? "%.1f " : "%.1f\n", 1e3f * ms);
                }
            }
}
