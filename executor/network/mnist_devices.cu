// Cibil's network on several GPUs. FP32. Compiled with mnist.cu, once for each number of rows that a GPU has.
//
// The rows split gives a GPU OWN_ROWS of the six rows of pooling windows and the image's rows that these need: four for
// each and four more, which its neighbour reads too (the halo). A block takes eight images, as in mnist.cu.
//   rows_forward   convolution to pooled features of the GPU's own rows; where parameters are split too also what these
//                  add to the ten dense sums
//   ... features or sums go to the other GPUs ...
//   rows_back      dense layer, loss and gradient of the GPU's own filters' part and weights
// The batch split runs mnist_step on a GPU's images. Both then need
//   gather         the gradient of a GPU: the blocks' parts in order
//   ... gradients go to the other GPUs ...
//   update_summed, update_rows   add the GPUs' gradients in order, the same on every GPU, and move the parameters
// Of its weights a GPU's own features have theirs: own parameters lie behind each other as filters, biases, weights
// (10 x own features), biases of the dense layer.

#include "executor/network/mnist.cu"

#ifndef OWN_ROWS
#define OWN_ROWS 6
#endif

constexpr int most_devices = 8;
constexpr int convolution_count = weights_at; ///< filters and their biases

/// Which rows of windows each GPU has: device g those from first[g] to first[g + 1].
struct Shares {
    int devices;
    int first[most_devices + 1];
};

#if OWN_ROWS <= 3 // of two GPUs and more

namespace {

constexpr int own_rows = OWN_ROWS, own_windows = own_rows * pooled_edge, own_features = filter_count * own_windows;
constexpr int own_image_rows = own_rows * pool + filter_edge - 1, own_area = own_image_rows * image_edge;
constexpr int own_threads = block_images * own_windows;
constexpr int own_dense_biases_at = weights_at + outputs * own_features, own_count = own_dense_biases_at + outputs;

/// `all` values, each by one thread: those that `is_there` are from[at], the others 0. All loads stand before the first
/// store, so that they wait together.
template <int all, class Value, class IsThere, class Store>
__device__ void load_together(const Value *__restrict__ from, const IsThere &is_there, const Store &store) {
    constexpr int turns = (all + own_threads - 1) / own_threads;
    Value values[turns];
#pragma unroll
    for (int i = 0; i < turns; ++i) {
        const int at = threadIdx.x + i * own_threads;
        values[i] = at < all && is_there(at) ? from[at] : Value{};
    }
#pragma unroll
    for (int i = 0; i < turns; ++i)
        if (const int at = threadIdx.x + i * own_threads; at < all)
            store(at, values[i]);
}

__device__ void load_images(float *to, const float *images, int first, int count) {
    const int there = min(block_images, count - first) * own_area / 4;
    load_together<block_images * own_area / 4>(
        reinterpret_cast<const float4 *>(images + static_cast<long long>(first) * own_area),
        [&](int at) { return at < there; }, [&](int at, float4 value) { reinterpret_cast<float4 *>(to)[at] = value; });
}

/// Numbers that begin at a multiple of 16 bytes, four at a time.
template <int count> __device__ void load_numbers(float *to, const float *from) {
    load_together<count / 4>(
        reinterpret_cast<const float4 *>(from), [](int) { return true; },
        [&](int at, float4 value) { reinterpret_cast<float4 *>(to)[at] = value; });
}

__device__ int corner_of(int image, int window) {
    return image * own_area + window / pooled_edge * pool * image_edge + window % pooled_edge * pool;
}

struct __align__(16) ForwardShared {
    float images[block_images * own_area];
    float weights[outputs * own_features];
    float2 filters[filter_area][filter_count / 2];
    float pooled[block_images][own_features];
    float biases[filter_count];
};
static_assert(weights_at % 4 == 0 && own_features % 4 == 0 && own_area % 4 == 0, "loads of four numbers");

struct __align__(16) BackShared {
    float images[block_images * own_area];
    float weights[outputs * features];
    float pooled[block_images][features];
    float own[block_images][own_features];
    Slope slopes[filter_count][own_threads];
    float slope[block_images][outputs];
    float parts[block_images][(filter_area + 1) * filter_count];
};

/// Sum of products of an image's features with an output's weights by eight neighbouring lanes; all get it.
template <int count> __device__ float dense_sum(const float *weights, const float *values) {
    constexpr int lanes = 8;
    float sums[2] = {};
#pragma unroll
    for (int i = 0; i < (count + lanes - 1) / lanes; ++i) {
        const int at = threadIdx.x % lanes + i * lanes;
        if (count % lanes == 0 || at < count)
            sums[i % 2] += weights[at] * values[at];
    }
    float sum = sums[0] + sums[1];
#pragma unroll
    for (int far = lanes / 2; far > 0; far /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, far, lanes);
    return sum;
}

/// Calls `visit(image, output)` on eight lanes each, for all of a block's images; every lane of a warp takes part.
template <class Visit> __device__ void for_sums(const Visit &visit) {
    constexpr int lanes = 8;
    static_assert(own_threads % 16 == 0, "half warps are whole");
    constexpr int groups = own_threads / 32 * 32 / lanes; // of whole warps
    const int group = threadIdx.x / lanes;
    if (group >= groups)
        return;
    for (int at = group; at < (block_images * outputs + groups - 1) / groups * groups; at += groups)
        visit(min(at, block_images * outputs - 1) / outputs, min(at, block_images * outputs - 1) % outputs);
}

} // namespace

/// `images`: count x own_image_rows x 28. `features`: count x own features; `places`: which of a window's sixteen pixels
/// is the largest. `parameters`: all of them, or own ones where `sums` (count x 10) is not null.
extern "C" __global__ void __launch_bounds__(own_threads)
    rows_forward(const float *images, int count, const float *parameters, float *own, unsigned char *places,
                 float *sums) {
    __shared__ ForwardShared shared;
    const int first = blockIdx.x * block_images, there = min(block_images, count - first);
    load_images(shared.images, images, first, count);
    for (int at = threadIdx.x; at < filter_count * filter_area; at += own_threads)
        reinterpret_cast<float *>(shared.filters[at % filter_area])[at / filter_area] = parameters[at];
    for (int at = threadIdx.x; at < filter_count; at += own_threads)
        shared.biases[at] = parameters[biases_at + at];
    if (sums != nullptr)
        load_numbers<outputs * own_features>(shared.weights, parameters + weights_at);
    __syncthreads();

    const int image = threadIdx.x / own_windows, window = threadIdx.x % own_windows;
    float pixels[patch][patch];
    read_pixels(pixels, shared.images + corner_of(image, window));
    unsigned char *its_places = places + (static_cast<long long>(first) + image) * own_features;
#pragma unroll 1 // a third of the code, which is read from memory once a launch
    for (int pair = 0; pair < filter_count / 2; ++pair) {
        const Maxima maxima = maxima_of(pixels, shared.filters, pair);
        const int one = 2 * pair * own_windows + window, other = one + own_windows;
        shared.pooled[image][one] = fmaxf(maxima.most.x + shared.biases[2 * pair], 0.0f);
        shared.pooled[image][other] = fmaxf(maxima.most.y + shared.biases[2 * pair + 1], 0.0f);
        if (image < there) {
            its_places[one] = static_cast<unsigned char>(maxima.first);
            its_places[other] = static_cast<unsigned char>(maxima.second);
        }
    }
    __syncthreads();
    for (int at = threadIdx.x; at < there * own_features; at += own_threads)
        own[static_cast<long long>(first) * own_features + at] = (&shared.pooled[0][0])[at];
    if (sums == nullptr)
        return;
    for_sums([&](int its_image, int output) {
        const float sum = dense_sum<own_features>(shared.weights + output * own_features, shared.pooled[its_image]);
        if (threadIdx.x % 8 == 0 && its_image < there)
            sums[(static_cast<long long>(first) + its_image) * outputs + output] = sum;
    });
}

namespace {

/// A GPU's features of the block's images, which has `rows` of windows, to their places among all.
template <int rows> __device__ void load_share(BackShared &shared, const float *from, int there, int first_row) {
    constexpr int its_windows = rows * pooled_edge, its_features = filter_count * its_windows;
    load_together<block_images * its_features>(
        from, [&](int at) { return at < there * its_features; },
        [&](int at, float value) {
            const int feature = at % its_features;
            shared.pooled[at / its_features][feature / its_windows * pooled_area + first_row * pooled_edge +
                                             feature % its_windows] = value;
        });
}

/// All features of the block's images in the order of one GPU, from those of the GPUs behind each other: of a GPU count x
/// its features.
__device__ void load_features(BackShared &shared, const float *all, const Shares &shares, int first, int count) {
    const int there = min(block_images, count - first);
    for (int device = 0; device < shares.devices; ++device) {
        const int first_row = shares.first[device], rows = shares.first[device + 1] - first_row;
        const float *from = all + static_cast<long long>(count) * filter_count * pooled_edge * first_row +
                            static_cast<long long>(first) * filter_count * pooled_edge * rows;
        if (rows == 3)
            load_share<3>(shared, from, there, first_row);
        else if (rows == 2)
            load_share<2>(shared, from, there, first_row);
        else
            load_share<1>(shared, from, there, first_row);
    }
}

/// Where an own feature stands among all.
__device__ int among_all(int own_feature, int first_row) {
    return own_feature / own_windows * pooled_area + first_row * pooled_edge + own_feature % own_windows;
}

/// Gradient of the loss by the own maxima, and where these lie.
__device__ void back_to_pixels(BackShared &shared, const unsigned char *places, int first, int there, int stride,
                               int first_row) {
    const int image = threadIdx.x / own_windows, window = threadIdx.x % own_windows;
    const int corner = corner_of(image, window);
#pragma unroll
    for (int filter = 0; filter < filter_count; ++filter) {
        const int feature = filter * own_windows + window;
        const int weight = stride == own_features ? feature : among_all(feature, first_row);
        float sum = 0.0f;
#pragma unroll
        for (int output = 0; output < outputs; ++output)
            sum += shared.slope[image][output] * shared.weights[output * stride + weight];
        const int place =
            image < there ? places[(static_cast<long long>(first) + image) * own_features + feature] : 0;
        shared.slopes[filter][threadIdx.x] = {shared.own[image][feature] > 0.0f ? sum : 0.0f,
                                              corner + place / pool * image_edge + place % pool};
    }
    __syncthreads();
}

/// The block's part of the own gradient. A filter's number is added up image by image, then over the images.
__device__ void write_own_gradient(BackShared &shared, float *part) {
    constexpr int numbers = filter_count * (filter_area + 1);
    for (int at = threadIdx.x; at < numbers * block_images; at += own_threads) {
        const int number = at % numbers, image = at / numbers;
        const bool bias = number >= biases_at;
        const int filter = bias ? number - biases_at : number / filter_area, tap = number % filter_area;
        const int offset = tap / filter_edge * image_edge + tap % filter_edge;
        float sums[2] = {};
#pragma unroll 3
        for (int i = 0; i < own_windows; i += 2)
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const Slope slope = shared.slopes[filter][image * own_windows + i + j];
                sums[j] += bias ? slope.by_pixel : slope.by_pixel * shared.images[slope.at + offset];
            }
        shared.parts[image][number] = sums[0] + sums[1];
    }
    for (int at = threadIdx.x; at < outputs * own_features + outputs; at += own_threads) {
        const bool bias = at >= outputs * own_features;
        const int output = bias ? at - outputs * own_features : at / own_features, feature = at % own_features;
        float sum = 0.0f;
#pragma unroll
        for (int image = 0; image < block_images; ++image)
            sum += shared.slope[image][output] * (bias ? 1.0f : shared.own[image][feature]);
        part[weights_at + at] = sum;
    }
    __syncthreads();
    for (int at = threadIdx.x; at < numbers; at += own_threads) {
        float sum = 0.0f;
#pragma unroll
        for (int image = 0; image < block_images; ++image)
            sum += shared.parts[image][at];
        part[at] = sum;
    }
}

} // namespace

/// Behind the exchange. `features`: of all GPUs, behind each other; null where `sums`, devices x count x 10, has what each
/// GPU's features add. `each`: 1 / count. `parameters` and `parts` are own ones where sums are given, and parts always.
/// No gradient where `parts` is null.
extern "C" __global__ void __launch_bounds__(own_threads)
    rows_back(const float *images, const unsigned char *labels, int count, const float *parameters,
              const float *all_features, const float *sums, const float *own, const unsigned char *places, Shares shares,
              int device, float *out, float *parts) {
    __shared__ BackShared shared;
    const int first = blockIdx.x * block_images, there = min(block_images, count - first);
    const int stride = sums == nullptr ? features : own_features;
    const float *dense_biases = parameters + weights_at + outputs * stride;
    if (sums == nullptr) {
        load_numbers<outputs * features>(shared.weights, parameters + weights_at);
        load_features(shared, all_features, shares, first, count);
    } else {
        load_numbers<outputs * own_features>(shared.weights, parameters + weights_at);
    }
    if (parts != nullptr) {
        load_images(shared.images, images, first, count);
        load_together<block_images * own_features>(
            own + static_cast<long long>(first) * own_features, [&](int at) { return at < there * own_features; },
            [&](int at, float value) { (&shared.own[0][0])[at] = value; });
    }
    __syncthreads();

    const float each = 1.0f / count;
    const auto end = [&](int image, int output, float sum) {
        const float value = 1.0f / (1.0f + __expf(-(sum + dense_biases[output])));
        const bool is_there = image < there;
        if (is_there)
            out[(static_cast<long long>(first) + image) * outputs + output] = value;
        const float target = is_there && labels[first + image] == output ? 1.0f : 0.0f;
        shared.slope[image][output] = is_there ? each * (value - target) * value * (1.0f - value) : 0.0f;
    };
    if (sums == nullptr) {
        for_sums([&](int image, int output) {
            const float sum = dense_sum<features>(shared.weights + output * features, shared.pooled[image]);
            if (threadIdx.x % 8 == 0)
                end(image, output, sum);
        });
    } else {
        for (int at = threadIdx.x; at < block_images * outputs; at += own_threads) {
            const long long from = static_cast<long long>(first) * outputs + min(at, there * outputs - 1);
            float sum = 0.0f;
            for (int from_device = 0; from_device < shares.devices; ++from_device)
                sum += sums[static_cast<long long>(from_device) * count * outputs + from];
            end(at / outputs, at % outputs, sum);
        }
    }
    if (parts == nullptr)
        return;
    __syncthreads();
    back_to_pixels(shared, places, first, there, stride, shares.first[device]);
    write_own_gradient(shared, parts + static_cast<long long>(blockIdx.x) * own_count);
}

#endif

/// gradient = share * sum of the blocks' parts.
extern "C" __global__ void gather(const float *__restrict__ parts, int blocks, int count, float share, float *gradient) {
    const int at = blockIdx.x * 32 + threadIdx.x;
    const float sum = sum_of_parts(parts, blocks, count, at);
    if (threadIdx.y == 0 && at < count)
        gradient[at] = share * sum;
}

/// parameters -= rate * gradient of `count` numbers. The first `summed` are the sum of all GPUs' gradients, which lie
/// `stride` apart, in their order; the others are the own ones.
extern "C" __global__ void update_summed(const float *gradients, int stride, int devices, int own, int summed,
                                         int count, float rate, float *parameters, float *gradient) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count)
        return;
    float sum = 0.0f;
    if (at < summed)
        for (int device = 0; device < devices; ++device)
            sum += gradients[device * stride + at];
    else
        sum = gradients[own * stride + at];
    gradient[at] = sum;
    parameters[at] -= rate * sum;
}

/// The same of all parameters from own gradients of rows: a weight has its gradient on the GPU with its feature, and every
/// GPU has that of the dense layer's biases.
extern "C" __global__ void update_rows(const float *gradients, int stride, Shares shares, float rate,
                                       float *parameters, float *gradient) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= parameter_count)
        return;
    float sum = 0.0f;
    if (at < convolution_count) {
        for (int device = 0; device < shares.devices; ++device)
            sum += gradients[device * stride + at];
    } else {
        const int weight = min(at - weights_at, outputs * features - 1), feature = weight % features;
        const int filter = feature / pooled_area, row = feature % pooled_area / pooled_edge;
        int device = 0;
        while (row >= shares.first[device + 1])
            ++device;
        const int rows = shares.first[device + 1] - shares.first[device];
        const int its_feature = (filter * rows + row - shares.first[device]) * pooled_edge + feature % pooled_edge;
        sum = at < dense_biases_at
                  ? gradients[device * stride + weights_at + weight / features * filter_count * rows * pooled_edge +
                              its_feature]
                  : gradients[weights_at + outputs * filter_count * shares.first[1] * pooled_edge + at -
                              dense_biases_at];
    }
    gradient[at] = sum;
    parameters[at] -= rate * sum;
}
