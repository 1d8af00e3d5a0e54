// Vadlamudi's network on Fashion-MNIST, kernel by kernel up the ladder of the paper, and past it. FP32, one image for
// each block row of the grid (blockIdx.y); filters KCRS, weights outputs x inputs, tensors channels first.
//
//   conv1   28 x 28 -> 32 x 24 x 24    25 products an output      pool1 -> 32 x 12 x 12
//   conv2           -> 64 x 8 x 8     800 products an output      pool2 -> 64 x 4 x 4 = 1024
//   dense1          -> 64                                         dense2 -> 10
//
// Biases and ReLU are added where a convolution or dense kernel writes. The ladder, in the paper's order:
//   global      every layer from global memory; the first filters from constant memory
//   shared      one layer after the other keeps what its block reads in shared memory
//   constant    the image too in constant memory, and the first filters without a copy in shared memory
//   fused       convolution and pooling in one kernel: six kernels become five, then four
// Behind the paper: sums of dense layers by all threads of a block, more threads in conv2, channels of conv2 copied while
// others are added up, and one kernel for all.

#include "executor/network/fashion_mnist.cuh"

namespace {

constexpr int edge1 = 24, area1 = edge1 * edge1;

__device__ float relu(float x) {
    return fmaxf(x, 0.0f);
}

/// 25 products, in the order in which the paper's listing writes them down.
__device__ float filtered(const float *filter, const float *pixels, int row_pixels) {
    float sum = 0.0f;
#pragma unroll
    for (int r = 0; r < filter_edge; ++r)
#pragma unroll
        for (int s = 0; s < filter_edge; ++s)
            sum += filter[r * filter_edge + s] * pixels[r * row_pixels + s];
    return sum;
}

/// The largest of a 2 x 2 window.
__device__ float largest(const float *window, int row_pixels) {
    return fmaxf(fmaxf(window[0], window[1]), fmaxf(window[row_pixels], window[row_pixels + 1]));
}

__device__ float warp_sum(float x) {
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2)
        x += __shfl_xor_sync(all_lanes, x, lanes);
    return x;
}

} // namespace

/// What the paper keeps in constant memory. Both filter sets with the image are 211,136 bytes and do not fit 65,536.
__constant__ float constant_filters1[channels1 * filter_area];
__constant__ float constant_image[image_edge * image_edge];

// ---- the first convolution: a block a filter, 32 x 32 threads, of which 24 x 24 compute ----

extern "C" __global__ void conv1_global(const float *images, const float *biases, float *out) {
    const int i = threadIdx.y, j = threadIdx.x, filter = blockIdx.x;
    if (i >= edge1 || j >= edge1)
        return;
    const float *image = images + blockIdx.y * image_edge * image_edge;
    const float sum = filtered(constant_filters1 + filter * filter_area, image + i * image_edge + j, image_edge);
    out[(blockIdx.y * channels1 + filter) * area1 + i * edge1 + j] = relu(sum + biases[filter]);
}

/// The image in constant memory, the block's filter in shared memory. One image only.
extern "C" __global__ void conv1_shared(const float *filters, const float *biases, float *out) {
    __shared__ float its_filter[filter_area];
    const int i = threadIdx.y, j = threadIdx.x, filter = blockIdx.x;
    if (i < filter_edge && j < filter_edge)
        its_filter[i * filter_edge + j] = filters[filter * filter_area + i * filter_edge + j];
    __syncthreads();
    if (i < edge1 && j < edge1)
        out[filter * area1 + i * edge1 + j] =
            relu(filtered(its_filter, constant_image + i * image_edge + j, image_edge) + biases[filter]);
}

/// Image and filters in constant memory. One image only.
extern "C" __global__ void conv1_constant(const float *biases, float *out) {
    const int i = threadIdx.y, j = threadIdx.x, filter = blockIdx.x;
    if (i < edge1 && j < edge1)
        out[filter * area1 + i * edge1 + j] =
            relu(filtered(constant_filters1 + filter * filter_area, constant_image + i * image_edge + j, image_edge) +
                 biases[filter]);
}

/// And the pooling behind it. One image only.
extern "C" __global__ void conv1_pool1(const float *biases, float *out) {
    __shared__ float map[area1];
    const int i = threadIdx.y, j = threadIdx.x, filter = blockIdx.x;
    if (i < edge1 && j < edge1)
        map[i * edge1 + j] =
            relu(filtered(constant_filters1 + filter * filter_area, constant_image + i * image_edge + j, image_edge) +
                 biases[filter]);
    __syncthreads();
    if (i < pooled1 && j < pooled1)
        out[filter * pooled_area1 + i * pooled1 + j] = largest(map + 2 * (i * edge1 + j), edge1);
}

/// The same with the image in shared memory: lanes read different pixels at once, which constant memory serves one by one.
extern "C" __global__ void conv1_pool1_shared(const float *images, const float *filters, const float *biases, float *out) {
    __shared__ float map[area1], image[image_edge * image_edge], its_filter[filter_area];
    const int i = threadIdx.y, j = threadIdx.x, thread = i * 32 + j, filter = blockIdx.x;
    if (thread < image_edge * image_edge)
        image[thread] = images[blockIdx.y * image_edge * image_edge + thread];
    else if (thread - image_edge * image_edge < filter_area)
        its_filter[thread - image_edge * image_edge] = filters[filter * filter_area + thread - image_edge * image_edge];
    __syncthreads();
    if (i < edge1 && j < edge1)
        map[i * edge1 + j] = relu(filtered(its_filter, image + i * image_edge + j, image_edge) + biases[filter]);
    __syncthreads();
    if (i < pooled1 && j < pooled1)
        out[(blockIdx.y * channels1 + filter) * pooled_area1 + i * pooled1 + j] =
            largest(map + 2 * (i * edge1 + j), edge1);
}

// ---- pooling: a block a channel ----

extern "C" __global__ void pool1_global(const float *in, float *out) {
    const int i = threadIdx.y, j = threadIdx.x;
    const int channel = blockIdx.y * channels1 + blockIdx.x;
    if (i < pooled1 && j < pooled1)
        out[channel * pooled_area1 + i * pooled1 + j] = largest(in + channel * area1 + 2 * (i * edge1 + j), edge1);
}

extern "C" __global__ void pool1_shared(const float *in, float *out) {
    __shared__ float map[area1];
    const int i = threadIdx.y, j = threadIdx.x;
    const int channel = blockIdx.y * channels1 + blockIdx.x;
    if (i < pooled1 && j < pooled1)
        for (int r = 0; r < 2; ++r)
            for (int s = 0; s < 2; ++s)
                map[(2 * i + r) * edge1 + 2 * j + s] = in[channel * area1 + (2 * i + r) * edge1 + 2 * j + s];
    __syncthreads();
    if (i < pooled1 && j < pooled1)
        out[channel * pooled_area1 + i * pooled1 + j] = largest(map + 2 * (i * edge1 + j), edge1);
}

extern "C" __global__ void pool2_global(const float *in, float *out) {
    const int i = threadIdx.y, j = threadIdx.x;
    const int channel = blockIdx.y * channels2 + blockIdx.x;
    if (i < pooled2 && j < pooled2)
        out[channel * pooled_area2 + i * pooled2 + j] = largest(in + channel * area2 + 2 * (i * edge2 + j), edge2);
}

extern "C" __global__ void pool2_shared(const float *in, float *out) {
    __shared__ float map[area2];
    const int i = threadIdx.y, j = threadIdx.x;
    const int channel = blockIdx.y * channels2 + blockIdx.x;
    map[i * edge2 + j] = in[channel * area2 + i * edge2 + j];
    __syncthreads();
    if (i < pooled2 && j < pooled2)
        out[channel * pooled_area2 + i * pooled2 + j] = largest(map + 2 * (i * edge2 + j), edge2);
}

// ---- the second convolution: a block a filter, 8 x 8 threads of 800 products ----

extern "C" __global__ void conv2_global(const float *in, const float *filters, const float *biases, float *out) {
    const int i = threadIdx.y, j = threadIdx.x, filter = blockIdx.x;
    const float *pixels = in + blockIdx.y * channels1 * pooled_area1 + i * pooled1 + j;
    float sum = 0.0f;
    for (int c = 0; c < channels1; ++c)
        sum += filtered(filters + (filter * channels1 + c) * filter_area, pixels + c * pooled_area1, pooled1);
    out[(blockIdx.y * channels2 + filter) * area2 + i * edge2 + j] = relu(sum + biases[filter]);
}

namespace {

/// Of one output of a block that has its filter and all input in shared memory: copied by its 64 threads.
__device__ float conv2_of_block(const float *in, const float *filters, float *map, float *filter) {
    const int thread = threadIdx.y * edge2 + threadIdx.x;
    for (int at = thread; at < channels1 * filter_area; at += area2)
        filter[at] = filters[blockIdx.x * channels1 * filter_area + at];
    for (int at = thread; at < channels1 * pooled_area1; at += area2)
        map[at] = in[blockIdx.y * channels1 * pooled_area1 + at];
    __syncthreads();
    float sum = 0.0f;
    for (int c = 0; c < channels1; ++c)
        sum += filtered(filter + c * filter_area, map + c * pooled_area1 + threadIdx.y * pooled1 + threadIdx.x, pooled1);
    return sum;
}

} // namespace

extern "C" __global__ void conv2_shared(const float *in, const float *filters, const float *biases, float *out) {
    __shared__ float map[channels1 * pooled_area1], filter[channels1 * filter_area];
    const float sum = conv2_of_block(in, filters, map, filter);
    out[(blockIdx.y * channels2 + blockIdx.x) * area2 + threadIdx.y * edge2 + threadIdx.x] =
        relu(sum + biases[blockIdx.x]);
}

extern "C" __global__ void conv2_pool2(const float *in, const float *filters, const float *biases, float *out) {
    __shared__ float map[channels1 * pooled_area1], filter[channels1 * filter_area], result[area2];
    const int i = threadIdx.y, j = threadIdx.x;
    result[i * edge2 + j] = relu(conv2_of_block(in, filters, map, filter) + biases[blockIdx.x]);
    __syncthreads();
    if (i < pooled2 && j < pooled2)
        out[(blockIdx.y * channels2 + blockIdx.x) * pooled_area2 + i * pooled2 + j] =
            largest(result + 2 * (i * edge2 + j), edge2);
}

/// Eight times the threads: each of eight groups sums four channels, so that 16 warps of an SM hide each other's waits.
extern "C" __global__ void conv2_pool2_wide(const float *in, const float *filters, const float *biases, float *out) {
    constexpr int groups = 8, group_channels = channels1 / groups, threads = groups * area2;
    __shared__ float4 map[channels1 * pooled_area1 / 4], filter[channels1 * filter_area / 4];
    __shared__ float part[groups][area2];
    const int pixel = threadIdx.x % area2, group = threadIdx.x / area2;
    const float4 *its_filter = reinterpret_cast<const float4 *>(filters) + blockIdx.x * channels1 * filter_area / 4;
    const float4 *its_input = reinterpret_cast<const float4 *>(in) + blockIdx.y * channels1 * pooled_area1 / 4;
    for (int at = threadIdx.x; at < channels1 * filter_area / 4; at += threads)
        filter[at] = its_filter[at];
    for (int at = threadIdx.x; at < channels1 * pooled_area1 / 4; at += threads)
        map[at] = its_input[at];
    __syncthreads();
    const float *weights = reinterpret_cast<const float *>(filter), *pixels = reinterpret_cast<const float *>(map);
    float sum = 0.0f;
    for (int c = group * group_channels; c < (group + 1) * group_channels; ++c)
        sum += filtered(weights + c * filter_area,
                        pixels + c * pooled_area1 + pixel / edge2 * pooled1 + pixel % edge2, pooled1);
    part[group][pixel] = sum;
    __syncthreads();
    if (threadIdx.x < area2) {
        for (int other = 1; other < groups; ++other)
            sum += part[other][pixel];
        part[0][pixel] = relu(sum + biases[blockIdx.x]);
    }
    __syncthreads();
    if (threadIdx.x < pooled_area2)
        out[(blockIdx.y * channels2 + blockIdx.x) * pooled_area2 + threadIdx.x] =
            largest(part[0] + 2 * (threadIdx.x / pooled2 * edge2 + threadIdx.x % pooled2), edge2);
}

/// The same, and the copies of the next channels are under way while some are added up: a group takes every eighth channel,
/// so that the first eight are there for all groups when the first quarter of the block's data has come.
extern "C" __global__ void conv2_pool2_prefetch(const float *in, const float *filters, const float *biases, float *out) {
    constexpr int groups = 8, stages = channels1 / groups, threads = groups * area2;
    constexpr int map_loads = groups * pooled_area1 / 4, filter_loads = groups * filter_area / 4; // of a stage, 16 bytes each
    static_assert(map_loads + filter_loads <= threads);
    __shared__ float4 map[stages * map_loads], filter[stages * filter_loads];
    __shared__ float part[groups][area2];
    const int thread = threadIdx.x, pixel = thread % area2, group = thread / area2;
    const float4 *its_filter = reinterpret_cast<const float4 *>(filters) + blockIdx.x * stages * filter_loads;
    const float4 *its_input = reinterpret_cast<const float4 *>(in) + blockIdx.y * stages * map_loads;
#pragma unroll
    for (int stage = 0; stage < stages; ++stage) {
        if (thread < map_loads)
            start_copy(map + stage * map_loads + thread, its_input + stage * map_loads + thread);
        else if (thread - map_loads < filter_loads)
            start_copy(filter + stage * filter_loads + thread - map_loads,
                       its_filter + stage * filter_loads + thread - map_loads);
        end_copy_group();
    }
    const float bias = biases[blockIdx.x];
    const float *weights = reinterpret_cast<const float *>(filter) + group * filter_area;
    const float *pixels =
        reinterpret_cast<const float *>(map) + group * pooled_area1 + pixel / edge2 * pooled1 + pixel % edge2;
    float sum = 0.0f;
#pragma unroll
    for (int stage = 0; stage < stages; ++stage) {
        wait_copies(stages - 1 - stage);
        __syncthreads();
        sum += filtered(weights + stage * groups * filter_area, pixels + stage * groups * pooled_area1, pooled1);
    }
    part[group][pixel] = sum;
    __syncthreads();
    if (thread < area2) {
        for (int other = 1; other < groups; ++other)
            sum += part[other][pixel];
        part[0][pixel] = relu(sum + bias);
    }
    __syncthreads();
    if (thread < pooled_area2)
        out[(blockIdx.y * channels2 + blockIdx.x) * pooled_area2 + thread] =
            largest(part[0] + 2 * (thread / pooled2 * edge2 + thread % pooled2), edge2);
}

// ---- dense layers ----

namespace {

__device__ float inner_product(const float *in, const float *weights, int count) {
    float sum = 0.0f;
    for (int at = 0; at < count; ++at)
        sum += in[at] * weights[at];
    return sum;
}

} // namespace

/// A thread an output.
extern "C" __global__ void dense1_global(const float *in, const float *weights, const float *biases, float *out) {
    const int unit = threadIdx.x;
    const float sum = inner_product(in + blockIdx.y * inputs1, weights + unit * inputs1, inputs1);
    out[blockIdx.y * outputs1 + unit] = relu(sum + biases[unit]);
}

extern "C" __global__ void dense2_global(const float *in, const float *weights, const float *biases, float *out) {
    const int unit = threadIdx.x;
    const float sum = inner_product(in + blockIdx.y * outputs1, weights + unit * outputs1, outputs1);
    out[blockIdx.y * outputs2 + unit] = sum + biases[unit];
}

/// A block an output: its threads multiply, its first thread adds up.
extern "C" __global__ void dense1_shared(const float *in, const float *weights, const float *biases, float *out) {
    __shared__ float inputs[inputs1], weight[inputs1], products[inputs1];
    const int at = threadIdx.y * 32 + threadIdx.x, unit = blockIdx.x;
    inputs[at] = in[blockIdx.y * inputs1 + at];
    weight[at] = weights[unit * inputs1 + at];
    __syncthreads();
    products[at] = inputs[at] * weight[at];
    __syncthreads();
    if (at != 0)
        return;
    float sum = 0.0f;
    for (int i = 0; i < inputs1; ++i)
        sum += products[i];
    out[blockIdx.y * outputs1 + unit] = relu(sum + biases[unit]);
}

extern "C" __global__ void dense2_shared(const float *in, const float *weights, const float *biases, float *out) {
    __shared__ float inputs[outputs1], weight[outputs1], products[outputs1];
    const int at = threadIdx.x, unit = blockIdx.x;
    inputs[at] = in[blockIdx.y * outputs1 + at];
    weight[at] = weights[unit * outputs1 + at];
    __syncthreads();
    products[at] = inputs[at] * weight[at];
    __syncthreads();
    if (at != 0)
        return;
    float sum = 0.0f;
    for (int i = 0; i < outputs1; ++i)
        sum += products[i];
    out[blockIdx.y * outputs2 + unit] = sum + biases[unit];
}

/// A block of 256 threads an output; warps add up by shuffles.
extern "C" __global__ void dense1_tree(const float *in, const float *weights, const float *biases, float *out) {
    __shared__ float sums[8];
    const int unit = blockIdx.x, at = threadIdx.x;
    const float4 x = reinterpret_cast<const float4 *>(in + blockIdx.y * inputs1)[at];
    const float4 w = reinterpret_cast<const float4 *>(weights + unit * inputs1)[at];
    const float sum = warp_sum(x.x * w.x + x.y * w.y + x.z * w.z + x.w * w.w);
    if (at % 32 == 0)
        sums[at / 32] = sum;
    __syncthreads();
    if (at != 0)
        return;
    float total = 0.0f;
    for (int warp = 0; warp < 8; ++warp)
        total += sums[warp];
    out[blockIdx.y * outputs1 + unit] = relu(total + biases[unit]);
}

/// A warp an output, all in one block.
extern "C" __global__ void dense2_tree(const float *in, const float *weights, const float *biases, float *out) {
    const int unit = threadIdx.x / 32, lane = threadIdx.x % 32;
    const float2 x = reinterpret_cast<const float2 *>(in + blockIdx.y * outputs1)[lane];
    const float2 w = reinterpret_cast<const float2 *>(weights + unit * outputs1)[lane];
    const float sum = warp_sum(x.x * w.x + x.y * w.y);
    if (lane == 0)
        out[blockIdx.y * outputs2 + unit] = sum + biases[unit];
}

#if __CUDA_ARCH__ >= 900
// ---- one kernel: 16 clusters of 8 blocks an image ----
//
// A block computes four channels of the first pair, and what these add to four filters of the second; the eight blocks
// of a cluster add up their parts through each other's shared memory, pool, and each multiplies the 8 numbers that it
// then has by their columns of the first dense layer. The last block of an image to arrive adds up the 128 parts and
// does the second dense layer. Every block asks for all that it reads from global memory before it computes.

namespace {

constexpr int cluster_blocks = 8, clusters = 16, one_blocks = cluster_blocks * clusters, one_threads = 288;
constexpr int its_channels = channels1 / cluster_blocks, its_filters = channels2 / clusters;
constexpr int its_outputs = its_filters * area2 / cluster_blocks, its_pooled = its_outputs / 4;

__device__ unsigned cluster_rank() {
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ void cluster_arrive() {
    asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
}
__device__ void cluster_wait() {
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}

/// A float at the same place of another block's shared memory.
__device__ float of_block(const float *mine, unsigned rank) {
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(mine));
    unsigned theirs;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(theirs) : "r"(address), "r"(rank));
    float value;
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(theirs) : "memory");
    return value;
}

struct OneShared {
    float image[image_edge * image_edge];
    float filter1[its_channels * filter_area];
    float4 filter2[its_channels * filter_area]; ///< the cluster's four filters side by side
    float4 weight[outputs1 * its_pooled / 4];
    float map[its_channels * pooled_area1];
    float part[its_channels][its_filters * area2];
    float sum[its_filters * area2]; ///< that the cluster's other blocks read
    float result[its_outputs], pooled[its_pooled];
    float total[4][outputs1];
    alignas(8) float hidden[outputs1];
    float biases1[its_channels], biases2[its_filters], dense_biases1[outputs1], dense_biases2[outputs2];
    float2 weights2[outputs2][outputs1 / 2];
    bool last;
};

/// Parameters of the network.
struct OneParameters {
    const float *filters1, *biases1, *filters2, *biases2, *weights1, *dense_biases1, *weights2, *dense_biases2;
};

__device__ void load_one(OneShared &shared, const float *image, const OneParameters &p, unsigned cluster, unsigned rank) {
    const int thread = threadIdx.x;
    if (thread < image_edge * image_edge / 4)
        reinterpret_cast<float4 *>(shared.image)[thread] = reinterpret_cast<const float4 *>(image)[thread];
    if (thread < its_channels * filter_area)
        shared.filter1[thread] = p.filters1[rank * its_channels * filter_area + thread];
    for (int at = thread; at < its_filters * its_channels * filter_area; at += one_threads) {
        const int filter = at / (its_channels * filter_area), tap = at % (its_channels * filter_area);
        reinterpret_cast<float *>(shared.filter2)[tap * its_filters + filter] =
            p.filters2[((cluster * its_filters + filter) * channels1 + rank * its_channels) * filter_area + tap];
    }
    const int column = cluster * its_filters * pooled_area2 + rank * its_pooled;
    if (thread < outputs1 * its_pooled / 4)
        shared.weight[thread] =
            reinterpret_cast<const float4 *>(p.weights1 + thread / 2 * inputs1 + column)[thread % 2];
    for (int at = thread; at < outputs2 * outputs1 / 2; at += one_threads)
        shared.weights2[0][at] = reinterpret_cast<const float2 *>(p.weights2)[at];
    if (thread < outputs1)
        shared.dense_biases1[thread] = p.dense_biases1[thread];
    else if (thread - outputs1 < outputs2)
        shared.dense_biases2[thread - outputs1] = p.dense_biases2[thread - outputs1];
    if (thread < its_channels)
        shared.biases1[thread] = p.biases1[rank * its_channels + thread];
    else if (thread - its_channels < its_filters)
        shared.biases2[thread - its_channels] = p.biases2[cluster * its_filters + thread - its_channels];
}

/// Four channels of the first convolution, pooled: a thread a window, twice.
__device__ void first_pair(OneShared &shared) {
    for (int at = threadIdx.x; at < its_channels * pooled_area1; at += one_threads) {
        const int channel = at / pooled_area1, y = at % pooled_area1 / pooled1 * 2, x = at % pooled1 * 2;
        const float *filter = shared.filter1 + channel * filter_area;
        float pixels[6][6];
        read_window(pixels, shared.image + y * image_edge + x);
        float sums[2][2] = {};
#pragma unroll
        for (int r = 0; r < filter_edge; ++r)
#pragma unroll
            for (int s = 0; s < filter_edge; ++s) {
                const float weight = filter[r * filter_edge + s];
#pragma unroll
                for (int window = 0; window < 4; ++window)
                    sums[window / 2][window % 2] += weight * pixels[r + window / 2][s + window % 2];
            }
        shared.map[at] =
            relu(fmaxf(fmaxf(sums[0][0], sums[0][1]), fmaxf(sums[1][0], sums[1][1])) + shared.biases1[channel]);
    }
}

/// What the block's channels add to the cluster's filters: a thread a pixel and channel, all filters.
__device__ void second_convolution(OneShared &shared) {
    const int thread = threadIdx.x;
    if (thread < its_channels * area2) {
        const int channel = thread / area2, pixel = thread % area2;
        const float *pixels = shared.map + channel * pooled_area1 + pixel / edge2 * pooled1 + pixel % edge2;
        const float4 *filter = shared.filter2 + channel * filter_area;
        float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
        for (int tap = 0; tap < filter_area; ++tap) {
            const float x = pixels[tap / filter_edge * pooled1 + tap % filter_edge];
            const float4 w = filter[tap];
            sum.x += w.x * x, sum.y += w.y * x, sum.z += w.z * x, sum.w += w.w * x;
        }
        float *part = shared.part[channel] + pixel;
        part[0] = sum.x, part[area2] = sum.y, part[2 * area2] = sum.z, part[3 * area2] = sum.w;
    }
    __syncthreads();
    if (thread < its_filters * area2)
        shared.sum[thread] =
            (shared.part[0][thread] + shared.part[1][thread]) + (shared.part[2][thread] + shared.part[3][thread]);
}

/// Sums of the cluster's eight blocks for this block's half of a filter's map, pooled.
__device__ void second_pool(OneShared &shared, unsigned rank) {
    const int thread = threadIdx.x;
    if (thread < cluster_blocks * its_outputs) {
        const int output = thread / cluster_blocks;
        float sum = of_block(shared.sum + rank * its_outputs + output, thread % cluster_blocks);
#pragma unroll
        for (int lanes = cluster_blocks / 2; lanes > 0; lanes /= 2)
            sum += __shfl_xor_sync(all_lanes, sum, lanes);
        if (thread % cluster_blocks == 0)
            shared.result[output] = relu(sum + shared.biases2[rank / 2]);
    }
    __syncthreads();
    if (thread < its_pooled)
        shared.pooled[thread] = largest(shared.result + 2 * (thread / pooled2 * edge2 + thread % pooled2), edge2);
    __syncthreads();
}

/// The block's columns of the first dense layer.
__device__ void first_dense(const OneShared &shared, float *parts) {
    const int unit = threadIdx.x;
    if (unit >= outputs1)
        return;
    const float4 w = shared.weight[2 * unit], v = shared.weight[2 * unit + 1];
    const float *x = shared.pooled;
    parts[unit] = ((w.x * x[0] + w.y * x[1]) + (w.z * x[2] + w.w * x[3])) +
                  ((v.x * x[4] + v.y * x[5]) + (v.z * x[6] + v.w * x[7]));
}

/// All parts of the first dense layer in order, then the second: by the last block.
__device__ void last_layers(OneShared &shared, const float *parts, float *out) {
    const int thread = threadIdx.x, unit = thread % outputs1, quarter = thread / outputs1;
    if (quarter < 4) {
        float sum = 0.0f;
#pragma unroll
        for (int block = 0; block < one_blocks / 4; ++block)
            sum += __ldcg(parts + (quarter * (one_blocks / 4) + block) * outputs1 + unit);
        shared.total[quarter][unit] = sum;
    }
    __syncthreads();
    if (thread < outputs1)
        shared.hidden[thread] = relu((shared.total[0][thread] + shared.total[1][thread]) +
                                     (shared.total[2][thread] + shared.total[3][thread]) + shared.dense_biases1[thread]);
    __syncthreads();
    const int lane = thread % 32;
    for (int output = thread / 32; output < outputs2; output += one_threads / 32) {
        const float2 w = shared.weights2[output][lane], x = reinterpret_cast<const float2 *>(shared.hidden)[lane];
        const float sum = warp_sum(x.x * w.x + x.y * w.y);
        if (lane == 0)
            out[output] = sum + shared.dense_biases2[output];
    }
}

} // namespace

/// `parts`: one_blocks x 64 floats an image. `arrived`: a counter an image, 0 before the first call; each call leaves 0.
extern "C" __global__ void __launch_bounds__(one_threads)
    one_kernel(const float *images, const float *filters1, const float *biases1, const float *filters2,
               const float *biases2, const float *weights1, const float *dense_biases1, const float *weights2,
               const float *dense_biases2, float *parts, unsigned *arrived, float *out) {
    __shared__ OneShared shared;
    const OneParameters p = {filters1, biases1, filters2, biases2, weights1, dense_biases1, weights2, dense_biases2};
    const unsigned rank = cluster_rank(), cluster = blockIdx.x / cluster_blocks;
    float *its_parts = parts + blockIdx.y * one_blocks * outputs1;
    load_one(shared, images + blockIdx.y * image_edge * image_edge, p, cluster, rank);
    __syncthreads();
    first_pair(shared);
    __syncthreads();
    second_convolution(shared);
    cluster_arrive();
    cluster_wait();
    second_pool(shared, rank);
    cluster_arrive(); // it has read what it needs of the others
    first_dense(shared, its_parts + blockIdx.x * outputs1);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        shared.last = atomicInc(arrived + blockIdx.y, one_blocks - 1) == one_blocks - 1;
    __syncthreads();
    if (shared.last) {
        __threadfence();
        last_layers(shared, its_parts, out + blockIdx.y * outputs2);
    }
    cluster_wait(); // no block leaves while another still reads its shared memory
}
#endif
