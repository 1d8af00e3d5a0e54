// A step of training Vadlamudi's network: six kernels. FP32, the same sums in every run.
//
//   28 x 28 -> conv 5 x 5, 32 filters -> maximum of 2 x 2 -> conv 5 x 5, 64 filters -> maximum of 2 x 2 -> dense 64 -> dense 10
//   with biases, and ReLU after all but the last; loss: cross entropy of the softmax; gradient: mean over the batch
//
// train_forward      both convolutions with pooling, a block an image; of each window the maximum and where it lies
// train_dense_parts  dense layer 1, 16 images and 64 inputs a block
// train_dense_back   adds these parts up; dense layer 2, the loss, and back through both dense layers
// train_inputs_back  back through convolution 2 to its inputs and from there to the filters of convolution 1, a block an image
// train_filters_back to the filters of convolution 2, 16 of them and four images a block
// train_update       adds all parts of the gradient up, in order, and moves the parameters
//
// Of a window only the maximum has a gradient. So a window of convolution 2 costs 25 products a channel on the way back, where
// four pixels would cost 100. The lanes of a warp take the 32 channels: which pixel it is, is the same for all of them.

#include "executor/network/fashion_mnist.cuh"

namespace {

constexpr int map_size = channels1 * pooled_area1, inputs = inputs1, units = outputs1, classes = outputs2;
constexpr int filters2_count = channels2 * channels1 * filter_area;
constexpr unsigned char no_gradient = 4; ///< in place of the maximum's pixel: the ReLU gives 0 there

// Parameters of all operators behind each other.
constexpr int biases1_at = channels1 * filter_area, filters2_at = biases1_at + channels1,
              biases2_at = filters2_at + filters2_count, weights1_at = biases2_at + channels2,
              dense_biases1_at = weights1_at + units * inputs, weights2_at = dense_biases1_at + units,
              dense_biases2_at = weights2_at + classes * units, parameter_count = dense_biases2_at + classes;

// Parts of the gradient: of an image, of four images, of sixteen images.
constexpr int part1_size = filters2_at, part2_size = filters2_count + channels2,
              dense_part_size = units * inputs + (parameter_count - dense_biases1_at);
constexpr int filters_images = 4, dense_images = 16;

__device__ int image_at(const int *order, int at) {
    return order == nullptr ? at : order[at];
}

// ---- forward ----

constexpr int stages = 4; ///< in which the second filters come

constexpr int forward_threads = 512, slices = 8, slice_filters = 8, thread_channels = 4;

struct ForwardShared {
    union {
        float filters2[channels1][filter_area][channels2];
        float parts[slices][channels2][area2]; ///< when the filters are used up
    };
    float map[channels1][pooled_area1];
    float image[image_area];
    float filters1[filter_area][channels1];
    float biases1[channels1];
};

__device__ void start_filters(ForwardShared &shared, const float *filters2) {
    constexpr int stage_size = filters2_count / 4 / stages;
    for (int stage = 0; stage < stages; ++stage) {
        for (int at = threadIdx.x; at < stage_size; at += forward_threads)
            start_copy(reinterpret_cast<float4 *>(shared.filters2) + stage * stage_size + at,
                       reinterpret_cast<const float4 *>(filters2) + stage * stage_size + at);
        end_copy_group();
    }
}

/// The first of the largest of a window's four pixels, with its bias and ReLU.
__device__ float largest_of(const float (&window)[4], float bias, unsigned char &place) {
    float most = window[0];
    int first = 0;
#pragma unroll
    for (int at = 1; at < 4; ++at)
        if (window[at] > most)
            most = window[at], first = at;
    place = most + bias > 0.0f ? first : no_gradient;
    return fmaxf(most + bias, 0.0f);
}

/// A thread takes a window of the pooled map and four channels.
__device__ void first_pair(ForwardShared &shared, float *map, unsigned char *places) {
    for (int task = threadIdx.x; task < map_size / thread_channels; task += forward_threads) {
        const int window = task % pooled_area1, first_channel = task / pooled_area1 * thread_channels;
        const float *corner = shared.image + window / pooled1 * 2 * image_edge + window % pooled1 * 2;
        float pixels[6][6];
        read_window(pixels, corner);
        float sums[thread_channels][4] = {};
#pragma unroll
        for (int tap = 0; tap < filter_area; ++tap) {
            const float4 four = *reinterpret_cast<const float4 *>(&shared.filters1[tap][first_channel]);
            const float weights[thread_channels] = {four.x, four.y, four.z, four.w};
#pragma unroll
            for (int i = 0; i < thread_channels; ++i)
#pragma unroll
                for (int at = 0; at < 4; ++at)
                    sums[i][at] += weights[i] * pixels[tap / filter_edge + at / 2][tap % filter_edge + at % 2];
        }
#pragma unroll
        for (int i = 0; i < thread_channels; ++i) {
            const int at = (first_channel + i) * pooled_area1 + window;
            unsigned char place;
            const float most = largest_of(sums[i], shared.biases1[first_channel + i], place);
            shared.map[first_channel + i][window] = most;
            map[at] = most, places[at] = place;
        }
    }
}

/// A thread takes eight filters, a row of eight pixels and an eighth of the channels; two warps all filters and rows.
__device__ void second_convolution(const ForwardShared &shared, float (&sums)[slice_filters][edge2]) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row = lane % edge2, filter = (warp % 2 * 4 + lane / edge2) * slice_filters;
#pragma unroll 1
    for (int stage = 0; stage < stages; ++stage) {
        wait_copies(stages - 1 - stage);
        __syncthreads();
        const int c = stage * slices + warp / 2;
#pragma unroll 1
        for (int r = 0; r < filter_edge; ++r) {
            float pixels[pooled1];
#pragma unroll
            for (int i = 0; i < pooled1; i += 4)
                *reinterpret_cast<float4 *>(pixels + i) =
                    *reinterpret_cast<const float4 *>(shared.map[c] + (row + r) * pooled1 + i);
#pragma unroll
            for (int s = 0; s < filter_edge; ++s) {
                float weights[slice_filters];
#pragma unroll
                for (int i = 0; i < slice_filters; i += 4)
                    *reinterpret_cast<float4 *>(weights + i) =
                        *reinterpret_cast<const float4 *>(&shared.filters2[c][r * filter_edge + s][filter + i]);
#pragma unroll
                for (int k = 0; k < slice_filters; ++k)
#pragma unroll
                    for (int q = 0; q < edge2; ++q)
                        sums[k][q] += weights[k] * pixels[q + s];
            }
        }
    }
}

__device__ void store_parts(ForwardShared &shared, const float (&sums)[slice_filters][edge2]) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row = lane % edge2, filter = (warp % 2 * 4 + lane / edge2) * slice_filters;
    __syncthreads(); // nobody reads the filters
#pragma unroll
    for (int k = 0; k < slice_filters; ++k)
#pragma unroll
        for (int q = 0; q < edge2; q += 4)
            *reinterpret_cast<float4 *>(&shared.parts[warp / 2][filter + k][row * edge2 + q]) =
                float4{sums[k][q], sums[k][q + 1], sums[k][q + 2], sums[k][q + 3]};
    __syncthreads();
}

/// Adds the slices' parts up and takes the maxima.
__device__ void second_pooling(const ForwardShared &shared, const float *biases2, float *out, unsigned char *places) {
    for (int at = threadIdx.x; at < inputs; at += forward_threads) {
        const int k = at / pooled_area2, window = at % pooled_area2;
        const int corner = window / pooled2 * 2 * edge2 + window % pooled2 * 2;
        float sums[4] = {};
#pragma unroll
        for (int slice = 0; slice < slices; ++slice) {
            const float2 upper = *reinterpret_cast<const float2 *>(&shared.parts[slice][k][corner]);
            const float2 lower = *reinterpret_cast<const float2 *>(&shared.parts[slice][k][corner + edge2]);
            sums[0] += upper.x, sums[1] += upper.y, sums[2] += lower.x, sums[3] += lower.y;
        }
        out[at] = largest_of(sums, biases2[k], places[at]);
    }
}

} // namespace

/// The second filters as channel x place x filter, and as filter x place x channel.
extern "C" __global__ void train_prepare(const float *parameters, float *by_filter, float *by_channel) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= filters2_count)
        return;
    const int k = at / (channels1 * filter_area), c = at / filter_area % channels1, place = at % filter_area;
    by_filter[(c * filter_area + place) * channels2 + k] = parameters[filters2_at + at];
    by_channel[(k * filter_area + place) * channels1 + c] = parameters[filters2_at + at];
}

/// Image `order[b]` in block b, or image b where there is no order. `filters2`: channel x place x filter. `maps`: maxima of the
/// first convolution, `pooled` of the second, channels first; of each the pixel of its window in `places1` and `places2`.
extern "C" __global__ void __launch_bounds__(forward_threads, 1)
    train_forward(const float *images, const int *order, const float *parameters, const float *filters2, float *maps,
                  unsigned char *places1, float *pooled, unsigned char *places2) {
    extern __shared__ float4 memory[];
    ForwardShared &shared = *reinterpret_cast<ForwardShared *>(memory);
    start_filters(shared, filters2);
    const float4 *from =
        reinterpret_cast<const float4 *>(images + static_cast<long long>(image_at(order, blockIdx.x)) * image_area);
    if (threadIdx.x < image_area / 4)
        reinterpret_cast<float4 *>(shared.image)[threadIdx.x] = from[threadIdx.x];
    for (int at = threadIdx.x; at < channels1 * filter_area; at += forward_threads)
        shared.filters1[at % filter_area][at / filter_area] = parameters[at];
    if (threadIdx.x < channels1)
        shared.biases1[threadIdx.x] = parameters[biases1_at + threadIdx.x];
    __syncthreads();
    first_pair(shared, maps + blockIdx.x * map_size, places1 + blockIdx.x * map_size);
    float sums[slice_filters][edge2] = {};
    second_convolution(shared, sums);
    store_parts(shared, sums);
    second_pooling(shared, parameters + biases2_at, pooled + blockIdx.x * inputs, places2 + blockIdx.x * inputs);
}

// ---- dense layers ----

namespace {

constexpr int dense_threads = 256, input_slices = 16, slice_inputs = inputs / input_slices;
constexpr int thread_images = dense_images * slice_inputs / dense_threads;
constexpr int padded_images = dense_images + 4, padded_units = units + 4; ///< rows of 16 bytes in different banks

struct DenseShared {
    float by_hidden[dense_images][padded_units];  ///< gradient of the loss by the sums of the first dense layer
    float by_hidden_turned[units][padded_images]; ///< the same, images last
    float in[dense_images][slice_inputs]; ///< of this slice
    float weights1[units][slice_inputs + 1];
    float weights2[classes][units + 1];
    float hidden[dense_images][units + 1];
    float outs[dense_images][classes];
    float by_outs[dense_images][classes]; ///< and by the outputs
};

/// This block's inputs and weights of the first dense layer.
__device__ void load_slice(DenseShared &shared, const float *pooled, const float *parameters, int first, int count,
                           int slice) {
    for (int at = threadIdx.x; at < dense_images * slice_inputs; at += dense_threads) {
        const int image = at / slice_inputs, input = at % slice_inputs;
        shared.in[image][input] =
            first + image < count ? pooled[(first + image) * inputs + slice * slice_inputs + input] : 0.0f;
    }
    for (int at = threadIdx.x; at < units * slice_inputs; at += dense_threads)
        shared.weights1[at / slice_inputs][at % slice_inputs] =
            parameters[weights1_at + at / slice_inputs * inputs + slice * slice_inputs + at % slice_inputs];
}

/// Hidden units, outputs and the gradient of the loss by both; every slice's block computes them again.
__device__ void forward_and_loss(DenseShared &shared, const float *parts, const float *parameters,
                                 const unsigned char *labels, const int *order, int first, int count) {
    for (int at = threadIdx.x; at < dense_images * units; at += dense_threads) {
        const int image = at / units, unit = at % units;
        float sum = parameters[dense_biases1_at + unit];
        if (first + image < count)
#pragma unroll
            for (int slice = 0; slice < input_slices; ++slice)
                sum += parts[((first + image) * input_slices + slice) * units + unit];
        shared.hidden[image][unit] = fmaxf(sum, 0.0f);
    }
    for (int at = threadIdx.x; at < classes * units; at += dense_threads)
        shared.weights2[at / units][at % units] = parameters[weights2_at + at];
    __syncthreads();
    const int image = threadIdx.x / classes, output = threadIdx.x % classes;
    if (image < dense_images) {
        float sums[4] = {};
#pragma unroll
        for (int unit = 0; unit < units; ++unit)
            sums[unit % 4] += shared.weights2[output][unit] * shared.hidden[image][unit];
        shared.outs[image][output] = (sums[0] + sums[1]) + (sums[2] + sums[3]) + parameters[dense_biases2_at + output];
    }
    __syncthreads();
    if (image < dense_images) {
        float most = shared.outs[image][0], sum = 0.0f;
#pragma unroll
        for (int other = 1; other < classes; ++other)
            most = fmaxf(most, shared.outs[image][other]);
#pragma unroll
        for (int other = 0; other < classes; ++other)
            sum += expf(shared.outs[image][other] - most);
        float by_out = 0.0f;
        if (first + image < count) {
            const float target = labels[image_at(order, first + image)] == output ? 1.0f : 0.0f;
            by_out = (expf(shared.outs[image][output] - most) / sum - target) / count;
        }
        shared.by_outs[image][output] = by_out;
    }
    __syncthreads();
    for (int at = threadIdx.x; at < dense_images * units; at += dense_threads) {
        const int its_image = at / units, unit = at % units;
        float sum = 0.0f;
#pragma unroll
        for (int other = 0; other < classes; ++other)
            sum += shared.by_outs[its_image][other] * shared.weights2[other][unit];
        sum = shared.hidden[its_image][unit] > 0.0f ? sum : 0.0f;
        shared.by_hidden[its_image][unit] = sum;
        shared.by_hidden_turned[unit][its_image] = sum;
    }
    __syncthreads();
}

/// Gradient by the slice's inputs, and the part of that by its weights.
__device__ void slice_back(const DenseShared &shared, float *by_pooled, float *part, int first, int count, int slice) {
    const int input = threadIdx.x % slice_inputs, quarter = threadIdx.x / slice_inputs;
    float sums[thread_images] = {};
#pragma unroll 8
    for (int unit = 0; unit < units; ++unit) {
        const float weight = shared.weights1[unit][input];
        const float4 by = *reinterpret_cast<const float4 *>(&shared.by_hidden_turned[unit][quarter * thread_images]);
        sums[0] += weight * by.x, sums[1] += weight * by.y, sums[2] += weight * by.z, sums[3] += weight * by.w;
    }
#pragma unroll
    for (int i = 0; i < thread_images; ++i)
        if (const int image = first + quarter * thread_images + i; image < count)
            by_pooled[image * inputs + slice * slice_inputs + input] = sums[i];
    constexpr int thread_units = units * slice_inputs / dense_threads;
    float by_weights[thread_units] = {};
#pragma unroll 4
    for (int image = 0; image < dense_images; ++image) {
        const float x = shared.in[image][input];
#pragma unroll
        for (int i = 0; i < thread_units; i += 4) {
            const float4 by = *reinterpret_cast<const float4 *>(&shared.by_hidden[image][quarter * thread_units + i]);
            by_weights[i] += by.x * x, by_weights[i + 1] += by.y * x;
            by_weights[i + 2] += by.z * x, by_weights[i + 3] += by.w * x;
        }
    }
#pragma unroll
    for (int i = 0; i < thread_units; ++i)
        part[(quarter * thread_units + i) * inputs + slice * slice_inputs + input] = by_weights[i];
}

/// The part of the gradient by biases of the first dense layer, weights and biases of the second, in the parameters' order;
/// the blocks of the slices share them.
__device__ void small_gradients(const DenseShared &shared, float *part, int slice) {
    const int at = slice * dense_threads + threadIdx.x;
    if (at >= units + classes * units + classes)
        return;
    float sum = 0.0f;
#pragma unroll
    for (int image = 0; image < dense_images; ++image)
        if (at < units)
            sum += shared.by_hidden[image][at];
        else if (at < units + classes * units)
            sum += shared.by_outs[image][(at - units) / units] * shared.hidden[image][(at - units) % units];
        else
            sum += shared.by_outs[image][at - units - classes * units];
    part[at] = sum;
}

} // namespace

/// Block b: images of group b / 16, inputs of slice b % 16. `parts`: image x slice x unit.
extern "C" __global__ void __launch_bounds__(dense_threads)
    train_dense_parts(const float *pooled, int count, const float *parameters, float *parts) {
    extern __shared__ float4 memory[];
    DenseShared &shared = *reinterpret_cast<DenseShared *>(memory);
    const int slice = blockIdx.x % input_slices, first = blockIdx.x / input_slices * dense_images;
    load_slice(shared, pooled, parameters, first, count, slice);
    __syncthreads();
    const int unit = threadIdx.x % units, quarter = threadIdx.x / units;
    float sums[thread_images] = {};
#pragma unroll 8
    for (int input = 0; input < slice_inputs; ++input) {
        const float weight = shared.weights1[unit][input];
#pragma unroll
        for (int i = 0; i < thread_images; ++i)
            sums[i] += weight * shared.in[quarter * thread_images + i][input];
    }
#pragma unroll
    for (int i = 0; i < thread_images; ++i)
        if (const int image = first + quarter * thread_images + i; image < count)
            parts[(image * input_slices + slice) * units + unit] = sums[i];
}

/// Blocks as above. `out`: outputs of the network; `by_pooled`: gradient by the inputs of the dense layers; `dense_parts`: of each
/// group of images the gradient by weights1, biases1, weights2 and biases2.
extern "C" __global__ void __launch_bounds__(dense_threads)
    train_dense_back(const float *pooled, const unsigned char *labels, const int *order, int count, const float *parameters,
                     const float *parts, float *out, float *by_pooled, float *dense_parts) {
    extern __shared__ float4 memory[];
    DenseShared &shared = *reinterpret_cast<DenseShared *>(memory);
    const int slice = blockIdx.x % input_slices, group = blockIdx.x / input_slices, first = group * dense_images;
    load_slice(shared, pooled, parameters, first, count, slice);
    forward_and_loss(shared, parts, parameters, labels, order, first, count);
    float *part = dense_parts + group * dense_part_size;
    slice_back(shared, by_pooled, part, first, count, slice);
    small_gradients(shared, part + units * inputs, slice);
    if (slice == input_slices - 1 && threadIdx.x < dense_images * classes && first + threadIdx.x / classes < count)
        out[first * classes + threadIdx.x] = shared.outs[threadIdx.x / classes][threadIdx.x % classes];
}

// ---- back through the second convolution ----

namespace {

constexpr int inputs_threads = 512, inputs_warps = inputs_threads / 32, filter_quarters = inputs_warps / pooled2;
constexpr int strip_rows = filter_edge + 1, strip_pixels = strip_rows * pooled1; ///< pixels under a row of four windows
constexpr int conv1_numbers = filter_area + 1;                                  ///< a filter and its bias

struct InputsShared {
    union {
        float filters2[channels2][filter_area][channels1];
        struct {
            float strips[inputs_warps][strip_pixels][channels1]; ///< when the filters are used up
            float by_filters1[inputs_warps][conv1_numbers][channels1];
        };
    };
    float4 by_pooled[channels2 * pooled2]; ///< of a row of windows
    uchar4 places2[channels2 * pooled2];
    float image[image_area];
    unsigned char places1[map_size];
};

/// Starts the copies of all filters, in the order in which the warps' quarters take them.
__device__ void start_filters(InputsShared &shared, const float *filters2) {
    constexpr int run = filters2_count / 4 / filter_quarters / stages;
    for (int stage = 0; stage < stages; ++stage) {
        for (int at = threadIdx.x; at < run * filter_quarters; at += inputs_threads) {
            const int place = (at / run * stages + stage) * run + at % run;
            start_copy(reinterpret_cast<float4 *>(shared.filters2) + place,
                       reinterpret_cast<const float4 *>(filters2) + place);
        }
        end_copy_group();
    }
}

/// Adds the gradient of a window to the pixels under it, of a strip six rows high.
template <int window, int place>
__device__ void scatter(float (&strip)[strip_rows][pooled1], const float (&weights)[filter_area], float by) {
#pragma unroll
    for (int tap = 0; tap < filter_area; ++tap)
        strip[tap / filter_edge + place / 2][2 * window + tap % filter_edge + place % 2] += weights[tap] * by;
}

template <int window>
__device__ void scatter(float (&strip)[strip_rows][pooled1], const float (&weights)[filter_area], float by, int place) {
    switch (place) {
    case 0:
        return scatter<window, 0>(strip, weights, by);
    case 1:
        return scatter<window, 1>(strip, weights, by);
    case 2:
        return scatter<window, 2>(strip, weights, by);
    case 3:
        return scatter<window, 3>(strip, weights, by);
    default:
        return;
    }
}

/// A warp takes a row of four windows and a quarter of the filters, a lane a channel.
__device__ void second_back(const InputsShared &shared, float (&strip)[strip_rows][pooled1]) {
    constexpr int stage_filters = channels2 / filter_quarters / stages;
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 % pooled2, quarter = threadIdx.x / 32 / pooled2;
#pragma unroll 1
    for (int stage = 0; stage < stages; ++stage) {
        wait_copies(stages - 1 - stage);
        __syncthreads();
#pragma unroll 1
        for (int i = 0; i < stage_filters; ++i) {
            const int k = (quarter * stages + stage) * stage_filters + i;
            float weights[filter_area];
#pragma unroll
            for (int tap = 0; tap < filter_area; ++tap)
                weights[tap] = shared.filters2[k][tap][lane];
            const float4 by = shared.by_pooled[k * pooled2 + row];
            const uchar4 place = shared.places2[k * pooled2 + row];
            scatter<0>(strip, weights, by.x, place.x);
            scatter<1>(strip, weights, by.y, place.y);
            scatter<2>(strip, weights, by.z, place.z);
            scatter<3>(strip, weights, by.w, place.w);
        }
    }
    __syncthreads(); // nobody reads the filters
}

/// Adds the strips up at a pixel of the map, for the lane's channel.
__device__ float by_map(const InputsShared &shared, int y, int x) {
    const int first_row = max(0, (y - strip_rows + 2) / 2), last_row = min(pooled2 - 1, y / 2);
    float sum = 0.0f;
    for (int row = first_row; row <= last_row; ++row)
#pragma unroll
        for (int quarter = 0; quarter < filter_quarters; ++quarter)
            sum += shared.strips[quarter * pooled2 + row][(y - 2 * row) * pooled1 + x][threadIdx.x % 32];
    return sum;
}

/// A warp takes every 16th pixel of the map: on to the filters of the first convolution.
__device__ void first_back(InputsShared &shared, float *part) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float sums[filter_area] = {}, bias = 0.0f;
    for (int at = warp; at < pooled_area1; at += inputs_warps) {
        const int y = at / pooled1, x = at % pooled1, place = shared.places1[lane * pooled_area1 + at];
        const float sum = by_map(shared, y, x), by = place == no_gradient ? 0.0f : sum;
        const float *corner = shared.image + (2 * y + place % 4 / 2) * image_edge + 2 * x + place % 2;
#pragma unroll
        for (int tap = 0; tap < filter_area; ++tap)
            sums[tap] += by * corner[tap / filter_edge * image_edge + tap % filter_edge];
        bias += by;
    }
#pragma unroll
    for (int tap = 0; tap < filter_area; ++tap)
        shared.by_filters1[warp][tap][lane] = sums[tap];
    shared.by_filters1[warp][filter_area][lane] = bias;
    __syncthreads();
    for (int at = threadIdx.x; at < part1_size; at += inputs_threads) {
        const int k = at % channels1, tap = at / channels1;
        float sum = 0.0f;
#pragma unroll
        for (int other = 0; other < inputs_warps; ++other)
            sum += shared.by_filters1[other][tap][k];
        part[tap < filter_area ? k * filter_area + tap : biases1_at + k] = sum;
    }
}

} // namespace

/// `filters2`: filter x place x channel. `parts1`: of each image the gradient by the first filters and their biases.
extern "C" __global__ void __launch_bounds__(inputs_threads, 1)
    train_inputs_back(const float *images, const int *order, const float *filters2, const float *by_pooled,
                      const unsigned char *places2, const unsigned char *places1, float *parts1) {
    extern __shared__ float4 memory[];
    InputsShared &shared = *reinterpret_cast<InputsShared *>(memory);
    start_filters(shared, filters2);
    const int image = blockIdx.x;
    if (threadIdx.x < image_area / 4)
        reinterpret_cast<float4 *>(shared.image)[threadIdx.x] = reinterpret_cast<const float4 *>(
            images + static_cast<long long>(image_at(order, image)) * image_area)[threadIdx.x];
    for (int at = threadIdx.x; at < map_size / 4; at += inputs_threads)
        reinterpret_cast<uchar4 *>(shared.places1)[at] = reinterpret_cast<const uchar4 *>(places1 + image * map_size)[at];
    if (threadIdx.x < inputs / 4) {
        shared.by_pooled[threadIdx.x] = reinterpret_cast<const float4 *>(by_pooled + image * inputs)[threadIdx.x];
        shared.places2[threadIdx.x] = reinterpret_cast<const uchar4 *>(places2 + image * inputs)[threadIdx.x];
    }
    float strip[strip_rows][pooled1] = {};
    second_back(shared, strip);
#pragma unroll
    for (int at = 0; at < strip_pixels; ++at)
        shared.strips[threadIdx.x / 32][at][threadIdx.x % 32] = strip[at / pooled1][at % pooled1];
    __syncthreads();
    first_back(shared, parts1 + image * part1_size);
}

namespace {

constexpr int filters_threads = 384, filters_warps = filters_threads / 32, block_filters = 16, warp_filters = 4;
constexpr int filter_groups = block_filters / warp_filters, item_slices = filters_warps / filter_groups;
constexpr int padded_channels = channels1 + 1;

struct FiltersShared {
    union {
        float maps[filters_images][pooled_area1][padded_channels];
        float parts[item_slices][block_filters * filter_area * channels1]; ///< when the maps are used up
    };
    float by_pooled[filters_images][block_filters * pooled_area2];
    unsigned char places2[filters_images][block_filters * pooled_area2];
};

/// Adds a window's gradient times the pixels under its maximum to a filter's gradient.
template <int place>
__device__ void gather(float (&sums)[filter_area], const float (&pixels)[strip_rows][strip_rows], float by) {
#pragma unroll
    for (int tap = 0; tap < filter_area; ++tap)
        sums[tap] += by * pixels[tap / filter_edge + place / 2][tap % filter_edge + place % 2];
}

__device__ void gather(float (&sums)[filter_area], const float (&pixels)[strip_rows][strip_rows], float by, int place) {
    switch (place) {
    case 0:
        return gather<0>(sums, pixels, by);
    case 1:
        return gather<1>(sums, pixels, by);
    case 2:
        return gather<2>(sums, pixels, by);
    case 3:
        return gather<3>(sums, pixels, by);
    default:
        return;
    }
}

/// Maps as pixel x channel, and what flows back to the block's filters.
__device__ void load_maps(FiltersShared &shared, const float *maps, const float *by_pooled, const unsigned char *places2,
                          int first, int count, int first_filter) {
    const int there = min(filters_images, count - first);
#pragma unroll 8
    for (int at = threadIdx.x; at < filters_images * map_size; at += filters_threads) {
        const int image = at / map_size, c = at % map_size / pooled_area1, pixel = at % pooled_area1;
        shared.maps[image][pixel][c] = image < there ? maps[first * map_size + at] : 0.0f;
    }
    for (int at = threadIdx.x; at < filters_images * block_filters * pooled_area2; at += filters_threads) {
        const int image = at / (block_filters * pooled_area2), rest = at % (block_filters * pooled_area2);
        const int from = (first + image) * inputs + first_filter * pooled_area2 + rest;
        const unsigned char place = image < there ? places2[from] : no_gradient;
        shared.places2[image][rest] = place;
        shared.by_pooled[image][rest] = place == no_gradient ? 0.0f : by_pooled[from];
    }
    __syncthreads();
}

/// A warp takes four filters and a third of the windows of all images, a lane a channel.
__device__ void gather_windows(const FiltersShared &shared, float (&sums)[warp_filters][filter_area]) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, filter = warp % filter_groups * warp_filters;
#pragma unroll 1
    for (int item = warp / filter_groups; item < filters_images * pooled_area2; item += item_slices) {
        const int image = item / pooled_area2, window = item % pooled_area2;
        const int corner = window / pooled2 * 2 * pooled1 + window % pooled2 * 2;
        float pixels[strip_rows][strip_rows];
#pragma unroll
        for (int r = 0; r < strip_rows; ++r)
#pragma unroll
            for (int s = 0; s < strip_rows; ++s)
                pixels[r][s] = shared.maps[image][corner + r * pooled1 + s][lane];
#pragma unroll
        for (int k = 0; k < warp_filters; ++k)
            gather(sums[k], pixels, shared.by_pooled[image][(filter + k) * pooled_area2 + window],
                   shared.places2[image][(filter + k) * pooled_area2 + window]);
    }
}

} // namespace

/// Block b: images of group b / 4, filters 16 (b % 4) and on. `parts2`: of each group the gradient by the second filters, as
/// filter x place x channel, and by their biases.
extern "C" __global__ void __launch_bounds__(filters_threads, 1)
    train_filters_back(const float *maps, int count, const float *by_pooled, const unsigned char *places2, float *parts2) {
    extern __shared__ float4 memory[];
    FiltersShared &shared = *reinterpret_cast<FiltersShared *>(memory);
    constexpr int quarters = channels2 / block_filters;
    const int first_filter = blockIdx.x % quarters * block_filters, group = blockIdx.x / quarters;
    load_maps(shared, maps, by_pooled, places2, group * filters_images, count, first_filter);
    float sums[warp_filters][filter_area] = {};
    gather_windows(shared, sums);
    __syncthreads(); // nobody reads the maps
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int k = 0; k < warp_filters; ++k)
#pragma unroll
        for (int tap = 0; tap < filter_area; ++tap)
            shared.parts[warp / filter_groups]
                        [((warp % filter_groups * warp_filters + k) * filter_area + tap) * channels1 + lane] = sums[k][tap];
    __syncthreads();
    float *part = parts2 + static_cast<long long>(group) * part2_size;
    for (int at = threadIdx.x; at < block_filters * filter_area * channels1; at += filters_threads) {
        float sum = 0.0f;
#pragma unroll
        for (int slice = 0; slice < item_slices; ++slice)
            sum += shared.parts[slice][at];
        part[first_filter * filter_area * channels1 + at] = sum;
    }
    if (threadIdx.x < block_filters) {
        float sum = 0.0f;
        for (int image = 0; image < filters_images; ++image)
#pragma unroll
            for (int window = 0; window < pooled_area2; ++window)
                sum += shared.by_pooled[image][threadIdx.x * pooled_area2 + window];
        part[filters2_count + first_filter + threadIdx.x] = sum;
    }
}

// ---- update ----

namespace {

__device__ float sum_of(const float *parts, int stride, int count) {
    float sums[8] = {};
    int at = 0;
    for (; at + 8 <= count; at += 8)
#pragma unroll
        for (int i = 0; i < 8; ++i)
            sums[i] += parts[static_cast<long long>(at + i) * stride];
    for (; at < count; ++at)
        sums[0] += parts[static_cast<long long>(at) * stride];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/// Where the number with index `at` of the parts stands among the parameters and, of a second filter, in the copy
/// `by_filter`: neighbours take neighbouring channels.
struct Place {
    int parameter, turned;
};

__device__ Place place_of(int at) {
    if (at < filters2_at || at >= biases2_at)
        return {at, 0};
    const int from = at - filters2_at;
    const int k = from / (channels1 * filter_area), place = from / channels1 % filter_area, c = from % channels1;
    return {filters2_at + (k * channels1 + c) * filter_area + place, (c * filter_area + place) * channels2 + k};
}

/// The sum of all parts of a number of the gradient.
__device__ float gradient_of(int at, int count, const float *parts1, const float *parts2, const float *dense_parts) {
    const int groups2 = (count + filters_images - 1) / filters_images,
              dense_groups = (count + dense_images - 1) / dense_images;
    if (at < filters2_at)
        return sum_of(parts1 + at, part1_size, count);
    if (at < biases2_at)
        return sum_of(parts2 + at - filters2_at, part2_size, groups2);
    if (at < weights1_at)
        return sum_of(parts2 + filters2_count + at - biases2_at, part2_size, groups2);
    return sum_of(dense_parts + at - weights1_at, dense_part_size, dense_groups);
}

/// `settings`: rate, momentum, decay; velocity = momentum velocity + gradient + decay parameter, and parameter -= rate
/// velocity. Both copies of the second filters (train_prepare) follow.
__device__ void move(int at, const Place &place, float gradient, const float *settings, float *parameters,
                     float *velocity, float *by_filter, float *by_channel) {
    const int parameter = place.parameter;
    const float before = parameters[parameter],
                speed = settings[1] * velocity[parameter] + gradient + settings[2] * before,
                after = before - settings[0] * speed;
    velocity[parameter] = speed;
    parameters[parameter] = after;
    if (at >= filters2_at && at < biases2_at) {
        by_filter[place.turned] = after;
        by_channel[at - filters2_at] = after;
    }
}

} // namespace

/// A thread a parameter.
extern "C" __global__ void train_update(int count, const float *settings, const float *parts1, const float *parts2,
                                        const float *dense_parts, float *parameters, float *velocity, float *gradient,
                                        float *by_filter, float *by_channel) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= parameter_count)
        return;
    const Place place = place_of(at);
    const float sum = gradient_of(at, count, parts1, parts2, dense_parts);
    gradient[place.parameter] = sum;
    move(at, place, sum, settings, parameters, velocity, by_filter, by_channel);
}
