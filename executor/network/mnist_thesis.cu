// Cibil's network as his thesis runs it: forward and back, naive (chapter 4.1) and with data laid out for the threads (4.2).
// FP32. What the thesis does not say is marked: it prints no biases and no kernel of the way back.
//
// naive_...     a block an image; images, maps and weights in global memory, loops over filters
// oriented_...  for the images of a stream, which lie behind each other for every pixel: neighbouring threads take neighbouring
//               images. The convolution is 25 launches, one for each place of the filter, that add to the maps by atomicAdd and
//               skip inputs that are zero. The ReLU lays the maps out anew, so that the 16 pixels of a window come from 16 arrays.

#include "executor/network/mnist.cuh"

namespace {

constexpr int map_edge = 24, map_area = map_edge * map_edge, window_area = pool * pool;
constexpr int warp = 32, block_images = 128;
constexpr unsigned all_lanes = 0xffffffffU;

/// Gradient of the mean half squared error by the sum before the logistic.
__device__ float by_sum_of(float out, bool is_target, int images) {
    return (out - (is_target ? 1.0f : 0.0f)) * out * (1.0f - out) / images;
}

/// The first of the largest pixels of a window, of 24 x 24 pixels.
__device__ int largest_at(const float *window) {
    int first = 0;
    float most = window[0];
    for (int at = 1; at < window_area; ++at)
        if (const float value = window[at / pool * map_edge + at % pool]; value > most)
            most = value, first = at;
    return first / pool * map_edge + first % pool;
}

/// The sum of a warp's values, in lane 0.
__device__ float warp_sum(float value) {
#pragma unroll
    for (int distance = warp / 2; distance > 0; distance /= 2)
        value += __shfl_down_sync(all_lanes, value, distance);
    return value;
}

} // namespace

/// Both ways: zeroes the gradient, which is added to.
extern "C" __global__ void thesis_clear(float *gradient) {
    if (const int at = blockIdx.x * blockDim.x + threadIdx.x; at < parameter_count)
        gradient[at] = 0.0f;
}

/// Both ways: parameters -= rate * (gradient + decay * parameters), with a velocity where there is momentum.
extern "C" __global__ void thesis_update(const float *gradient, const float *settings, float *velocity, float *parameters) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < parameter_count)
        descend(gradient[at], settings, velocity, parameters, at);
}

// ---- naive: block b is image b ----

extern "C" __global__ void naive_convolve(const float *images, const float *parameters, float *maps) {
    const int row = threadIdx.x / map_edge, column = threadIdx.x % map_edge;
    const float *corner = images + static_cast<long long>(blockIdx.x) * image_area + row * image_edge + column;
    for (int filter = 0; filter < filter_count; ++filter) {
        float sum = 0.0f;
        for (int r = 0; r < filter_edge; ++r)
            for (int s = 0; s < filter_edge; ++s)
                sum += corner[r * image_edge + s] * parameters[filter * filter_area + r * filter_edge + s];
        maps[(blockIdx.x * filter_count + filter) * map_area + threadIdx.x] = sum;
    }
}

extern "C" __global__ void naive_relu(const float *maps, const float *parameters, float *out) {
    for (int filter = 0; filter < filter_count; ++filter) {
        const int at = (blockIdx.x * filter_count + filter) * map_area + threadIdx.x;
        out[at] = fmaxf(maps[at] + parameters[biases_at + filter], 0.0f);
    }
}

/// Zeroes the sums of the dense layer too, which naive_dense adds to.
extern "C" __global__ void naive_pool(const float *maps, float *pooled, float *sums) {
    const int row = threadIdx.x / pooled_edge, column = threadIdx.x % pooled_edge;
    for (int filter = 0; filter < filter_count; ++filter) {
        const float *window = maps + (blockIdx.x * filter_count + filter) * map_area + row * pool * map_edge + column * pool;
        pooled[blockIdx.x * features + filter * pooled_area + threadIdx.x] = window[largest_at(window)];
    }
    if (threadIdx.x < outputs)
        sums[blockIdx.x * outputs + threadIdx.x] = 0.0f;
}

/// A thread an input; the thesis' listing overwrites where it must add.
extern "C" __global__ void naive_dense(const float *pooled, const float *parameters, float *sums) {
    const float input = pooled[blockIdx.x * features + threadIdx.x];
    for (int output = 0; output < outputs; ++output)
        atomicAdd(&sums[blockIdx.x * outputs + output], input * parameters[weights_at + output * features + threadIdx.x]);
}

/// A thread an output. `by_sums`: gradient of the loss.
extern "C" __global__ void naive_outputs(const float *sums, const float *parameters, const unsigned char *labels, int count,
                                         float *out, float *by_sums) {
    const int at = blockIdx.x * outputs + threadIdx.x;
    const float value = 1.0f / (1.0f + __expf(-(sums[at] + parameters[dense_biases_at + threadIdx.x])));
    out[at] = value;
    by_sums[at] = by_sum_of(value, labels[blockIdx.x] == threadIdx.x, count);
}

/// A thread an input. The listing of the way back is missing in the thesis; this and what follows keeps its launches.
extern "C" __global__ void naive_dense_back(const float *pooled, const float *by_sums, const float *parameters,
                                            float *by_pooled, float *gradient) {
    const float input = pooled[blockIdx.x * features + threadIdx.x];
    float sum = 0.0f;
    for (int output = 0; output < outputs; ++output) {
        const float by = by_sums[blockIdx.x * outputs + output];
        const int weight = weights_at + output * features + threadIdx.x;
        sum += by * parameters[weight];
        atomicAdd(&gradient[weight], by * input);
    }
    by_pooled[blockIdx.x * features + threadIdx.x] = sum;
    if (threadIdx.x < outputs)
        atomicAdd(&gradient[dense_biases_at + threadIdx.x], by_sums[blockIdx.x * outputs + threadIdx.x]);
}

/// Max gate: a window's gradient goes to the first of its largest pixels.
extern "C" __global__ void naive_pool_back(const float *maps, const float *by_pooled, float *by_maps) {
    const int row = threadIdx.x / pooled_edge, column = threadIdx.x % pooled_edge;
    for (int filter = 0; filter < filter_count; ++filter) {
        const int corner = (blockIdx.x * filter_count + filter) * map_area + row * pool * map_edge + column * pool;
        for (int at = 0; at < window_area; ++at)
            by_maps[corner + at / pool * map_edge + at % pool] = 0.0f;
        by_maps[corner + largest_at(maps + corner)] = by_pooled[blockIdx.x * features + filter * pooled_area + threadIdx.x];
    }
}

extern "C" __global__ void naive_relu_back(const float *maps, float *by_maps) {
    for (int filter = 0; filter < filter_count; ++filter)
        if (const int at = (blockIdx.x * filter_count + filter) * map_area + threadIdx.x; !(maps[at] > 0.0f))
            by_maps[at] = 0.0f;
}

/// Multiply and add gates: a thread a weight of a filter, or its bias.
extern "C" __global__ void naive_convolve_back(const float *images, const float *by_maps, float *gradient) {
    if (threadIdx.x >= weights_at)
        return;
    const bool bias = threadIdx.x >= biases_at;
    const int filter = bias ? threadIdx.x - biases_at : threadIdx.x / filter_area, place = threadIdx.x % filter_area;
    const float *by = by_maps + (blockIdx.x * filter_count + filter) * map_area;
    const float *corner = images + static_cast<long long>(blockIdx.x) * image_area + place / filter_edge * image_edge +
                          place % filter_edge;
    float sum = 0.0f;
    for (int at = 0; at < map_area; ++at)
        sum += by[at] * (bias ? 1.0f : corner[at / map_edge * image_edge + at % map_edge]);
    atomicAdd(&gradient[threadIdx.x], sum);
}

// ---- data-oriented: `count` images of a stream; element x image ----

/// Zeroes what is added to: maps and sums of the dense layer.
extern "C" __global__ void oriented_clear(float *maps, float *sums, int count) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < filter_count * map_area * count)
        maps[at] = 0.0f;
    if (at < outputs * count)
        sums[at] = 0.0f;
}

/// Adds the products of one place of all filters. A thread takes a pixel of the map.
extern "C" __global__ void oriented_convolve(const float *images, const float *parameters, float *maps, int count, int turn) {
    __shared__ float weights[filter_count];
    if (threadIdx.x < filter_count)
        weights[threadIdx.x] = parameters[threadIdx.x * filter_area + turn];
    __syncthreads();
    const int at = blockIdx.x * blockDim.x + threadIdx.x, row = at / (map_edge * count);
    if (row >= map_edge)
        return;
    const int skipped = row * (image_edge - map_edge) + turn / filter_edge * image_edge + turn % filter_edge;
    const float input = images[at + skipped * count];
    if (input == 0.0f)
        return;
    for (int filter = 0; filter < filter_count; ++filter)
        atomicAdd(&maps[at + filter * map_area * count], input * weights[filter]);
}

/// `relaid`: place in the window x filter x window x image.
extern "C" __global__ void oriented_relu(const float *maps, const float *parameters, float *relaid, int count) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x, image = at % count, pixel = at / count;
    const int filter = pixel / map_area, row = pixel % map_area / map_edge, column = pixel % map_edge;
    if (filter >= filter_count)
        return;
    const int place = row % pool * pool + column % pool, window = row / pool * pooled_edge + column / pool;
    relaid[((place * filter_count + filter) * pooled_area + window) * count + image] =
        fmaxf(maps[at] + parameters[biases_at + filter], 0.0f);
}

/// `pooled` and the place of each maximum: filter x window x image.
extern "C" __global__ void oriented_pool(const float *relaid, float *pooled, int *places, int count) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= features * count)
        return;
    int first = 0;
    float most = relaid[at];
#pragma unroll
    for (int place = 1; place < window_area; ++place)
        if (const float value = relaid[place * features * count + at]; value > most)
            most = value, first = place;
    pooled[at] = most;
    places[at] = first;
}

/// A block an input and 128 images, a thread an image; the thesis' listing overwrites where it must add.
extern "C" __global__ void oriented_dense(const float *pooled, const float *parameters, float *sums, int count) {
    __shared__ float weights[outputs];
    const int feature = blockIdx.x % features, image = blockIdx.x / features * block_images + threadIdx.x;
    if (threadIdx.x < outputs)
        weights[threadIdx.x] = parameters[weights_at + threadIdx.x * features + feature];
    __syncthreads();
    const float input = image < count ? pooled[feature * count + image] : 0.0f;
    if (input > 0.0f)
        for (int output = 0; output < outputs; ++output)
            atomicAdd(&sums[output * count + image], input * weights[output]);
}

/// A block an output and 128 images. `out`: image x output; `total`: images of all streams.
extern "C" __global__ void oriented_outputs(const float *sums, const float *parameters, const unsigned char *labels, int count,
                                            int total, float *out, float *by_sums) {
    const int output = blockIdx.x % outputs, image = blockIdx.x / outputs * block_images + threadIdx.x;
    if (image >= count)
        return;
    const int at = output * count + image;
    const float value = 1.0f / (1.0f + __expf(-(sums[at] + parameters[dense_biases_at + output])));
    out[image * outputs + output] = value;
    by_sums[at] = by_sum_of(value, labels[image] == output, total);
}

/// A block an input and 128 images; no listing of the way back in the thesis.
extern "C" __global__ void oriented_dense_back(const float *pooled, const float *by_sums, const float *parameters,
                                               float *by_pooled, float *gradient, int count) {
    const int feature = blockIdx.x % features, image = blockIdx.x / features * block_images + threadIdx.x;
    const bool there = image < count;
    const float input = there ? pooled[feature * count + image] : 0.0f;
    float sum = 0.0f;
#pragma unroll
    for (int output = 0; output < outputs; ++output) {
        const float by = there ? by_sums[output * count + image] : 0.0f;
        sum += by * parameters[weights_at + output * features + feature];
        const float by_weight = warp_sum(by * input), by_bias = warp_sum(by);
        if (threadIdx.x % warp == 0) {
            atomicAdd(&gradient[weights_at + output * features + feature], by_weight);
            if (feature == 0)
                atomicAdd(&gradient[dense_biases_at + output], by_bias);
        }
    }
    if (there)
        by_pooled[feature * count + image] = input > 0.0f ? sum : 0.0f;
}

/// A block a window of a filter and 128 images: the maximum's gradient goes to all places of the filter.
extern "C" __global__ void oriented_convolve_back(const float *images, const float *by_pooled, const int *places,
                                                  float *gradient, int count) {
    const int feature = blockIdx.x % features, image = blockIdx.x / features * block_images + threadIdx.x;
    const int filter = feature / pooled_area, window = feature % pooled_area;
    const bool there = image < count;
    const int place = there ? places[feature * count + image] : 0;
    const float by = there ? by_pooled[feature * count + image] : 0.0f;
    const int first = (window / pooled_edge * pool + place / pool) * image_edge + window % pooled_edge * pool + place % pool;
#pragma unroll
    for (int tap = 0; tap < filter_area; ++tap) {
        const int pixel = first + tap / filter_edge * image_edge + tap % filter_edge;
        const float sum = warp_sum(there ? by * images[pixel * count + image] : 0.0f);
        if (threadIdx.x % warp == 0)
            atomicAdd(&gradient[filter * filter_area + tap], sum);
    }
    const float bias = warp_sum(by);
    if (threadIdx.x % warp == 0)
        atomicAdd(&gradient[biases_at + filter], bias);
}
