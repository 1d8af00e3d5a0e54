// Vadlamudi's network for many images: two kernels. FP32; filters KCRS, weights outputs x inputs, channels first.
//
// pairs_batch does both convolutions with their pooling. A block stays on its SM, keeps half of the second filters in
// shared memory and takes four images at a time: it computes the first pair for them, which the block with the other
// half computes as well (12 % more products), then its 32 filters of the second. A thread sums 4 filters by 8 pixels of
// a row, so that 160 FFMAs need 8 loads of shared memory.
// dense_batch does both dense layers for 16 images a block: a warp an eighth of the inputs, a lane two units of all images.
// prepare_filters2 and prepare_weights1 lay parameters out as these read them, once for each set of parameters.

#include "executor/network/fashion_mnist.cuh"

namespace {

constexpr int threads = 256, images_at_once = 4, half_filters = channels2 / 2;
constexpr int thread_filters = 4, thread_channels = 8;

struct PairsShared {
    float filters2[channels1][filter_area][half_filters];
    float filters1[filter_area][channels1];
    float biases1[channels1];
    float images[images_at_once][image_area];
    float maps[images_at_once][channels1][pooled_area1];
};

__device__ void load_filters(PairsShared &shared, const float *filters1, const float *biases1, const float *filters2,
                             int half) {
    const float4 *from = reinterpret_cast<const float4 *>(filters2) + half * channels1 * filter_area * half_filters / 4;
    for (int at = threadIdx.x; at < channels1 * filter_area * half_filters / 4; at += threads)
        reinterpret_cast<float4 *>(shared.filters2)[at] = from[at];
    for (int at = threadIdx.x; at < channels1 * filter_area; at += threads)
        shared.filters1[at % filter_area][at / filter_area] = filters1[at];
    if (threadIdx.x < channels1)
        shared.biases1[threadIdx.x] = biases1[threadIdx.x];
}

constexpr int group_loads = (images_at_once * image_area / 4 + threads - 1) / threads; ///< of a thread, 16 bytes each

/// Asks for the images from `first` on; what lies behind the last one is 0.
__device__ void fetch_images(float4 (&pixels)[group_loads], const float *images, int first, int count) {
    const float4 *from = reinterpret_cast<const float4 *>(images + static_cast<long long>(first) * image_area);
    const int there = min(images_at_once, count - first) * image_area / 4;
#pragma unroll
    for (int i = 0; i < group_loads; ++i) {
        const int at = threadIdx.x + i * threads;
        pixels[i] = at < there ? from[at] : float4{0.0f, 0.0f, 0.0f, 0.0f};
    }
}

__device__ void store_images(PairsShared &shared, const float4 (&pixels)[group_loads]) {
#pragma unroll
    for (int i = 0; i < group_loads; ++i)
        if (const int at = threadIdx.x + i * threads; at < images_at_once * image_area / 4)
            reinterpret_cast<float4 *>(shared.images[0])[at] = pixels[i];
}

/// A thread takes a window of the pooled map and eight channels.
__device__ void first_pair(PairsShared &shared) {
    constexpr int windows = images_at_once * pooled_area1;
    for (int task = threadIdx.x; task < windows * channels1 / thread_channels; task += threads) {
        const int window = task % windows, first_channel = task / windows * thread_channels;
        const int image = window / pooled_area1, place = window % pooled_area1;
        const float *corner = shared.images[image] + place / pooled1 * 2 * image_edge + place % pooled1 * 2;
        float pixels[6][6];
        read_window(pixels, corner);
        float sums[thread_channels][4] = {};
#pragma unroll
        for (int tap = 0; tap < filter_area; ++tap) {
            float weights[thread_channels];
#pragma unroll
            for (int i = 0; i < thread_channels; i += 4)
                *reinterpret_cast<float4 *>(weights + i) =
                    *reinterpret_cast<const float4 *>(&shared.filters1[tap][first_channel + i]);
#pragma unroll
            for (int i = 0; i < thread_channels; ++i)
#pragma unroll
                for (int corner_of = 0; corner_of < 4; ++corner_of)
                    sums[i][corner_of] +=
                        weights[i] * pixels[tap / filter_edge + corner_of / 2][tap % filter_edge + corner_of % 2];
        }
#pragma unroll
        for (int i = 0; i < thread_channels; ++i)
            shared.maps[image][first_channel + i][place] =
                fmaxf(fmaxf(fmaxf(sums[i][0], sums[i][1]), fmaxf(sums[i][2], sums[i][3])) +
                          shared.biases1[first_channel + i],
                      0.0f);
    }
}

/// A thread takes four filters and a row of eight pixels; the warp an image's eight rows.
__device__ void second_pair(const PairsShared &shared, const float *biases2, float *out, int first, int count,
                            int first_filter) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int image = warp / 2, row = lane % edge2, filter = (warp % 2 * 4 + lane / edge2) * thread_filters;
    float sums[thread_filters][edge2] = {};
    for (int c = 0; c < channels1; ++c) {
        const float *map = shared.maps[image][c] + row * pooled1;
#pragma unroll
        for (int r = 0; r < filter_edge; ++r) {
            float pixels[pooled1];
#pragma unroll
            for (int i = 0; i < pooled1; i += 4)
                *reinterpret_cast<float4 *>(pixels + i) = *reinterpret_cast<const float4 *>(map + r * pooled1 + i);
#pragma unroll
            for (int s = 0; s < filter_edge; ++s) {
                float weights[thread_filters];
                *reinterpret_cast<float4 *>(weights) =
                    *reinterpret_cast<const float4 *>(&shared.filters2[c][r * filter_edge + s][filter]);
#pragma unroll
                for (int k = 0; k < thread_filters; ++k)
#pragma unroll
                    for (int q = 0; q < edge2; ++q)
                        sums[k][q] += weights[k] * pixels[q + s];
            }
        }
    }
#pragma unroll
    for (int k = 0; k < thread_filters; ++k) {
        float pooled[edge2 / 2];
#pragma unroll
        for (int q = 0; q < edge2 / 2; ++q) {
            const float mine = fmaxf(sums[k][2 * q], sums[k][2 * q + 1]);
            pooled[q] = fmaxf(fmaxf(mine, __shfl_xor_sync(all_lanes, mine, 1)) + biases2[first_filter + filter + k], 0.0f);
        }
        if (row % 2 == 0 && first + image < count)
            *reinterpret_cast<float4 *>(
                out + (static_cast<long long>(first + image) * channels2 + first_filter + filter + k) * pooled_area2 +
                row / 2 * 4) = *reinterpret_cast<const float4 *>(pooled);
    }
}

} // namespace

/// KCRS filters of the second convolution as half x channel x place x filter.
extern "C" __global__ void prepare_filters2(const float *filters, float *prepared) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= channels2 * channels1 * filter_area)
        return;
    const int filter = at % half_filters, place = at / half_filters % (channels1 * filter_area),
              half = at / half_filters / (channels1 * filter_area);
    prepared[at] = filters[(half * half_filters + filter) * channels1 * filter_area + place];
}

/// Weights of the first dense layer as inputs x outputs.
extern "C" __global__ void prepare_weights1(const float *weights, float *prepared) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < inputs1 * outputs1)
        prepared[at] = weights[at % outputs1 * inputs1 + at / outputs1];
}

/// Filters as prepare_filters2 lays them out. An even number of blocks, of which two neighbours share the images. `out`: 1024 numbers an image.
extern "C" __global__ void __launch_bounds__(threads, 1)
    pairs_batch(const float *images, int count, const float *filters1, const float *biases1, const float *filters2,
                const float *biases2, float *out) {
    extern __shared__ float4 memory[];
    PairsShared &shared = *reinterpret_cast<PairsShared *>(memory);
    const int first_filter = blockIdx.x % 2 * half_filters;
    load_filters(shared, filters1, biases1, filters2, blockIdx.x % 2);
    const int step = gridDim.x / 2 * images_at_once;
    int first = blockIdx.x / 2 * images_at_once;
    float4 pixels[group_loads];
    fetch_images(pixels, images, first, count);
    for (; first < count; first += step) {
        store_images(shared, pixels);
        __syncthreads(); // and nobody reads the maps of the images before
        first_pair(shared);
        if (first + step < count)
            fetch_images(pixels, images, first + step, count);
        __syncthreads();
        second_pair(shared, biases2, out, first, count, first_filter);
    }
}

namespace {

constexpr int dense_images = 16, dense_slices = threads / 32, slice_inputs = inputs1 / dense_slices;

/// What dense_batch keeps in shared memory: inputs, and when all are read the slices' sums in their place.
struct DenseShared {
    union {
        float4 inputs[dense_images][inputs1 / 4];
        float2 parts[dense_slices][dense_images][outputs1 / 2];
        float hidden[dense_images][outputs1];
    };
    float biases1[outputs1], weights2[outputs1][outputs2];
};

/// Sums of a warp's slice of the inputs: a lane has two units of all images.
__device__ void dense_slice(const DenseShared &shared, const float2 *weights, int slice, float2 (&sums)[dense_images]) {
#pragma unroll 4
    for (int at = 0; at < slice_inputs; at += 4) {
        float2 w[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
            w[i] = weights[(slice * slice_inputs + at + i) * outputs1 / 2];
#pragma unroll
        for (int image = 0; image < dense_images; ++image) {
            const float4 x = shared.inputs[image][(slice * slice_inputs + at) / 4];
            sums[image].x += w[0].x * x.x, sums[image].y += w[0].y * x.x;
            sums[image].x += w[1].x * x.y, sums[image].y += w[1].y * x.y;
            sums[image].x += w[2].x * x.z, sums[image].y += w[2].y * x.z;
            sums[image].x += w[3].x * x.w, sums[image].y += w[3].y * x.w;
        }
    }
}

} // namespace

/// Weights of the first layer as prepare_weights1 lays them out.
extern "C" __global__ void __launch_bounds__(threads)
    dense_batch(const float *in, int count, const float *weights1, const float *biases1, const float *weights2,
                const float *biases2, float *out) {
    extern __shared__ float4 memory[];
    DenseShared &shared = *reinterpret_cast<DenseShared *>(memory);
    const int first = blockIdx.x * dense_images, there = min(dense_images, count - first);
    const float4 *from = reinterpret_cast<const float4 *>(in + static_cast<long long>(first) * inputs1);
    for (int at = threadIdx.x; at < dense_images * inputs1 / 4; at += threads)
        shared.inputs[0][at] = at < there * inputs1 / 4 ? from[at] : float4{0.0f, 0.0f, 0.0f, 0.0f};
    for (int at = threadIdx.x; at < outputs2 * outputs1; at += threads)
        shared.weights2[at % outputs1][at / outputs1] = weights2[at];
    if (threadIdx.x < outputs1)
        shared.biases1[threadIdx.x] = biases1[threadIdx.x];
    __syncthreads();
    const int slice = threadIdx.x / 32, lane = threadIdx.x % 32;
    float2 sums[dense_images] = {};
    dense_slice(shared, reinterpret_cast<const float2 *>(weights1) + lane, slice, sums);
    __syncthreads();
#pragma unroll
    for (int image = 0; image < dense_images; ++image)
        shared.parts[slice][image][lane] = sums[image];
    __syncthreads();
    constexpr int units = dense_images * outputs1 / threads; // of a thread
    float total[units];
#pragma unroll
    for (int i = 0; i < units; ++i) {
        const int at = threadIdx.x + i * threads;
        total[i] = shared.biases1[at % outputs1];
        for (int other = 0; other < dense_slices; ++other)
            total[i] += reinterpret_cast<const float *>(shared.parts[other])[at];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < units; ++i)
        shared.hidden[0][threadIdx.x + i * threads] = fmaxf(total[i], 0.0f);
    __syncthreads();
    const int image = threadIdx.x / 16, output = threadIdx.x % 16;
    if (image >= there || output >= outputs2)
        return;
    float sum = biases2[output];
    for (int unit = 0; unit < outputs1; ++unit)
        sum += shared.weights2[unit][output] * shared.hidden[image][unit];
    out[(first + image) * outputs2 + output] = sum;
}
