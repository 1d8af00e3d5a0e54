// What a kernel of a chain takes that a graph launches (N2 of docs/equations.md), before and after another
// stream of the process has been busy by turns with the one that is timed.
//
//   nvcc -O3 -std=c++20 -arch=sm_90 -o launch_chains tests/gpu/launch_chains.cu
//   ./launch_chains > launch_chains.tsv
//
// A chain of 256 kernels minus one of 64, over 192. `empty` does nothing, `touch` loads a number and stores
// it. Both wait for the kernel before them where they start early (programmatic stream serialization);
// `touch` lets the next kernel start before it stores. The first column says what the process did before:
// nothing; turns of a memset on the default stream and a kernel on the timed stream, each waited for; kernels
// on 8 further streams at once. A row has the median of 15 differences, in nanoseconds.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        if (const cudaError_t error = call; error != cudaSuccess) {                                          \
            std::fprintf(stderr, "launch_chains: %s: %s\n", #call, cudaGetErrorString(error));               \
            std::exit(1);                                                                                    \
        }                                                                                                    \
    } while (false)

constexpr unsigned threads = 128;
constexpr int few = 64, many = 256, samples = 15;

__global__ void empty() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

__global__ void touch(const float *from, float *to) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    asm volatile("griddepcontrol.wait;" ::: "memory");
    float x;
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(x) : "l"(from + i) : "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    asm volatile("st.global.f32 [%0], %1;" ::"l"(to + i), "f"(x) : "memory");
}

struct Chain {
    bool touches, early;
    unsigned ctas;
};

struct Device {
    cudaStream_t stream = nullptr;
    float *from = nullptr, *to = nullptr;
};

void launch(const Device &device, const Chain &chain, int i) {
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = chain.ctas, config.blockDim = threads, config.stream = device.stream;
    config.attrs = &early, config.numAttrs = chain.early && i > 0 ? 1 : 0;
    const float *from = i % 2 ? device.to : device.from;
    float *to = i % 2 ? device.from : device.to;
    if (chain.touches)
        CHECK(cudaLaunchKernelEx(&config, touch, from, to));
    else
        CHECK(cudaLaunchKernelEx(&config, empty));
}

cudaGraphExec_t graph_of(const Device &device, const Chain &chain, int kernels) {
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamBeginCapture(device.stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < kernels; ++i)
        launch(device, chain, i);
    CHECK(cudaStreamEndCapture(device.stream, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return executable;
}

float microseconds(const Device &device, cudaGraphExec_t graph, cudaEvent_t begin, cudaEvent_t end) {
    CHECK(cudaEventRecord(begin, device.stream));
    CHECK(cudaGraphLaunch(graph, device.stream));
    CHECK(cudaEventRecord(end, device.stream));
    CHECK(cudaEventSynchronize(end));
    float milliseconds;
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    return 1e3f * milliseconds;
}

double nanoseconds_a_kernel(const Device &device, const Chain &chain) {
    const cudaGraphExec_t short_one = graph_of(device, chain, few), long_one = graph_of(device, chain, many);
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    std::vector<double> differences;
    for (int i = 0; i < samples + 1; ++i) { // the first one warms up
        const float less = microseconds(device, short_one, begin, end);
        differences.push_back(1e3 * (microseconds(device, long_one, begin, end) - less) / (many - few));
    }
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    CHECK(cudaGraphExecDestroy(short_one));
    CHECK(cudaGraphExecDestroy(long_one));
    std::sort(differences.begin() + 1, differences.end());
    return differences[1 + samples / 2];
}

void print_rows(const Device &device, const std::string &before) {
    for (const bool touches : {false, true})
        for (const bool early : {true, false})
            for (const unsigned ctas : {16u, 132u, 528u})
                std::printf("%s\t%s\t%s\t%u\t%.0f\n", before.c_str(), touches ? "touch" : "empty",
                            early ? "early" : "behind", ctas,
                            nanoseconds_a_kernel(device, {touches, early, ctas}));
}

int main() {
    cudaDeviceProp device_facts;
    CHECK(cudaGetDeviceProperties(&device_facts, 0));
    int runtime, driver;
    CHECK(cudaRuntimeGetVersion(&runtime));
    CHECK(cudaDriverGetVersion(&driver));
    char date[32];
    const std::time_t now = std::time(nullptr);
    std::strftime(date, sizeof date, "%FT%TZ", std::gmtime(&now));
    std::printf("# tests/gpu/launch_chains.cu on %s, CUDA %d, driver %d; %s; %u threads a CTA\n",
                device_facts.name, runtime, driver, date, threads);
    std::printf("# before\tkernel\tstart\tctas\tns\n");
    Device device;
    constexpr std::size_t bytes = std::size_t{4} << 20;
    CHECK(cudaMalloc(&device.from, bytes));
    CHECK(cudaMalloc(&device.to, bytes));
    CHECK(cudaMemset(device.from, 0, bytes));
    CHECK(cudaStreamCreateWithFlags(&device.stream, cudaStreamNonBlocking));
    print_rows(device, "nothing");
    for (int turns = 0; const int more : {20, 180, 400}) {
        for (int i = 0; i < more; ++i, ++turns) {
            CHECK(cudaMemset(device.to, 0, 5280));
            launch(device, {true, false, 132}, 0);
            CHECK(cudaStreamSynchronize(device.stream));
        }
        print_rows(device, std::to_string(turns) + " turns");
    }
    std::vector<cudaStream_t> others(8);
    for (cudaStream_t &other : others)
        CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    for (int i = 0; i < 10; ++i)
        for (const cudaStream_t other : others)
            touch<<<132, threads, 0, other>>>(device.from, device.to);
    CHECK(cudaDeviceSynchronize());
    print_rows(device, "8 streams");
}
