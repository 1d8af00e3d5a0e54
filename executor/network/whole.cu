// What a network computes between its convolutions by kernels of their own: dense layers of few images, pooling of whole
// channels, softmax, layer norm, and turning a tensor for dense layers of many images. Everything about shapes is a template
// argument. Behind this come the kernels that executor/network/whole_kernel.cpp makes of operators' device code.
//
// dense: each weight is read once. Lanes of a row's threads read neighbouring fours of weights, past L1, which keeps the
// inputs that all rows of an SM share; sums meet by shuffles and in shared memory, in the same order each time.

namespace {

/// Until the launch before has ended: every launch of a network may start early.
__device__ __forceinline__ void wait_for_launch_before() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

template <int Count> __device__ __forceinline__ void load_once(float (&to)[Count], const float *from) {
    if constexpr (Count == 4)
        asm("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
            : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
            : "l"(from));
    else
        asm("ld.global.nc.L1::no_allocate.f32 %0, [%1];" : "=f"(to[0]) : "l"(from));
}

/// Numbers that Threads threads share, one each in a round. In the last round a thread that has none left takes the last
/// number again: loads that nobody branches around start together.
template <int Numbers, int Threads> struct SharedRounds {
    static constexpr int count = (Numbers + Threads - 1) / Threads;
    static __device__ __forceinline__ bool takes_part(int round, int thread) {
        return (round + 1) * Threads <= Numbers || round * Threads + thread < Numbers;
    }
    static __device__ __forceinline__ int at(int round, int thread) {
        return takes_part(round, thread) ? round * Threads + thread : Numbers - 1;
    }
};

__device__ __forceinline__ float sum_of_warp(float value) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_down_sync(~0U, value, distance);
    return value;
}

/// Neighbours in one access, where they are four.
template <int Count> __device__ __forceinline__ void load(float (&to)[Count], const float *from) {
    if constexpr (Count == 4) {
        const float4 four = __ldg(reinterpret_cast<const float4 *>(from));
        to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
    } else {
        to[0] = __ldg(from);
    }
}
template <int Count> __device__ __forceinline__ void store(float *to, const float (&from)[Count]) {
    if constexpr (Count == 4)
        *reinterpret_cast<float4 *>(to) = {from[0], from[1], from[2], from[3]};
    else
        *to = from[0];
}

/// The end of a dense layer that has none.
struct Kept {
    static __device__ __forceinline__ float of(float sum) { return sum; }
};

} // namespace

/// 256 threads, RowThreads of them for each output. Wide: four inputs at once, where their number allows it.
template <int Images, int Inputs, int Outputs, int RowThreads, bool Bias, class End>
__global__ void __launch_bounds__(256) dense(const float *__restrict__ input, const float *__restrict__ weights,
                                             const float *__restrict__ bias, float *__restrict__ output) {
    constexpr int rows = 256 / RowThreads, warps = RowThreads / 32, wide = Inputs % 4 == 0 ? 4 : 1;
    using Rounds = SharedRounds<Inputs / wide, RowThreads>;
    const int row = blockIdx.x * rows + threadIdx.x / RowThreads, thread = threadIdx.x % RowThreads;
    const bool there = row < Outputs;
    const float *of_row = weights + static_cast<long long>(there ? row : 0) * Inputs;
    // Weights and biases are no launch's: the first of them are on their way before the launch before has ended.
    constexpr int ahead = Rounds::count < 4 ? Rounds::count : 4;
    float first[ahead][wide];
#pragma unroll
    for (int i = 0; i < ahead; ++i)
        load_once(first[i], of_row + wide * Rounds::at(i, thread));
    const float of_row_bias = Bias && there ? bias[row] : 0.0f;
    wait_for_launch_before();
    float sum[Images] = {};
    const auto add = [&](int i, const float (&w)[wide]) {
        const int at = wide * Rounds::at(i, thread);
#pragma unroll
        for (int image = 0; image < Images; ++image) {
            float x[wide];
            load(x, input + image * Inputs + at);
#pragma unroll
            for (int j = 0; j < wide; ++j)
                sum[image] = fmaf(Rounds::takes_part(i, thread) ? w[j] : 0.0f, x[j], sum[image]);
        }
    };
#pragma unroll
    for (int i = 0; i < ahead; ++i)
        add(i, first[i]);
#pragma unroll 8
    for (int i = ahead; i < Rounds::count; ++i) {
        float w[wide];
        load_once(w, of_row + wide * Rounds::at(i, thread));
        add(i, w);
    }
    __shared__ float of_warps[Images][8];
#pragma unroll
    for (int image = 0; image < Images; ++image) {
        sum[image] = sum_of_warp(sum[image]);
        if (warps > 1 && threadIdx.x % 32 == 0)
            of_warps[image][threadIdx.x / 32] = sum[image];
    }
    if constexpr (warps > 1)
        __syncthreads();
    if (!there || thread != 0)
        return;
#pragma unroll
    for (int image = 0; image < Images; ++image) {
        float total = sum[image];
#pragma unroll
        for (int warp = 1; warp < warps; ++warp)
            total += of_warps[image][threadIdx.x / 32 + warp];
        total += of_row_bias;
        output[image * Outputs + row] = End::of(total);
    }
}

/// Windows that are whole channels of Area pixels: Threads each, a warp or all of a CTA.
template <bool Max, int Area, int Threads>
__global__ void __launch_bounds__(256)
    pool_channels(const float *__restrict__ input, float *__restrict__ output, long long channels) {
    wait_for_launch_before();
    const long long channel = blockIdx.x * (256LL / Threads) + threadIdx.x / Threads;
    const auto join = [](float a, float b) { return Max ? fmaxf(a, b) : a + b; };
    const int thread = threadIdx.x % Threads;
    const float none = Max ? -__int_as_float(0x7f800000) : 0.0f;
    constexpr int wide = Area % 4 == 0 ? 4 : 1;
    using Rounds = SharedRounds<Area / wide, Threads>;
    const float *pixels = input + (channel < channels ? channel : 0) * Area;
    float result = none;
#pragma unroll(Rounds::count <= 16 ? Rounds::count : 8)
    for (int i = 0; i < Rounds::count; ++i) {
        float some[wide];
        load(some, pixels + wide * Rounds::at(i, thread));
#pragma unroll
        for (int j = 0; j < wide; ++j)
            result = join(result, Rounds::takes_part(i, thread) ? some[j] : none);
    }
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        result = join(result, __shfl_down_sync(~0U, result, distance));
    if constexpr (Threads > 32) {
        __shared__ float of_warps[Threads / 32];
        if (threadIdx.x % 32 == 0)
            of_warps[threadIdx.x / 32] = result;
        __syncthreads();
        for (int warp = 1; thread == 0 && warp < Threads / 32; ++warp)
            result = join(result, of_warps[warp]);
    }
    if (thread == 0 && channel < channels)
        output[channel] = Max ? result : result / Area;
}

/// A pixel's numbers of all channels get mean 0 and variance 1. So many neighbouring pixels of an image a CTA, whose threads
/// share the channels; a thread keeps its numbers of its pixel where there are not too many.
template <int Channels, int Area, int Pixels>
__device__ __forceinline__ void layer_norm(const float *__restrict__ input, float *__restrict__ output, float added) {
    wait_for_launch_before();
    constexpr int groups = 256 / Pixels, its = (Channels + groups - 1) / groups, most_kept = 96;
    constexpr bool keeps = its <= most_kept, even = Channels % groups == 0;
    __shared__ float of_groups[2][groups][Pixels];
    const int lane = threadIdx.x % Pixels, group = threadIdx.x / Pixels, pixel = blockIdx.x * Pixels + lane;
    const bool there = pixel < Area;
    const long long first = static_cast<long long>(blockIdx.y) * Channels * Area + pixel;
    float kept[keeps ? its : 1];
    const auto number = [&](int i) { // of channel group + groups * i; 0 beyond the last
        const int c = group + groups * i;
        return there && (even || c < Channels) ? __ldg(input + first + c * Area) : 0.0f;
    };
    if constexpr (keeps) {
#pragma unroll
        for (int i = 0; i < its; ++i)
            kept[i] = number(i);
    }
    const auto sum_of_channels = [&](int round, auto value) {
        float sum = 0.0f;
#pragma unroll(keeps ? its : 8)
        for (int i = 0; i < its; ++i)
            if (even || group + groups * i < Channels)
                sum += value(keeps ? kept[keeps ? i : 0] : number(i));
        of_groups[round][group][lane] = sum;
        __syncthreads();
        sum = 0.0f;
#pragma unroll
        for (int i = 0; i < groups; ++i)
            sum += of_groups[round][i][lane];
        return sum;
    };
    const float mean = sum_of_channels(0, [](float x) { return x; }) / Channels;
    const float variance = sum_of_channels(1, [&](float x) { return (x - mean) * (x - mean); }) / Channels;
    const float by = 1.0f / sqrtf(variance + added);
#pragma unroll(keeps ? its : 8)
    for (int i = 0; i < its; ++i)
        if (there && (even || group + groups * i < Channels))
            output[first + (group + groups * i) * Area] = ((keeps ? kept[keeps ? i : 0] : number(i)) - mean) * by;
}

/// A block an image.
template <int Count>
__global__ void __launch_bounds__(256) softmax(const float *__restrict__ input, float *__restrict__ output) {
    wait_for_launch_before();
    __shared__ float of_warps[8];
    const float *of_image = input + static_cast<long long>(blockIdx.x) * Count;
    const auto of_block = [&](float value, auto join) {
        for (int distance = 16; distance > 0; distance /= 2)
            value = join(value, __shfl_xor_sync(~0U, value, distance));
        __syncthreads();
        if (threadIdx.x % 32 == 0)
            of_warps[threadIdx.x / 32] = value;
        __syncthreads();
        value = of_warps[0];
        for (int warp = 1; warp < 8; ++warp)
            value = join(value, of_warps[warp]);
        return value;
    };
    using Rounds = SharedRounds<Count, 256>;
    const auto number = [&](int round) { return __ldg(of_image + Rounds::at(round, threadIdx.x)); };
    float largest = -__int_as_float(0x7f800000);
#pragma unroll 8
    for (int i = 0; i < Rounds::count; ++i)
        largest = fmaxf(largest, number(i)); // a number that is taken again is as large
    largest = of_block(largest, [](float a, float b) { return fmaxf(a, b); });
    float sum = 0.0f;
#pragma unroll 8
    for (int i = 0; i < Rounds::count; ++i)
        sum += Rounds::takes_part(i, threadIdx.x) ? expf(number(i) - largest) : 0.0f;
    sum = of_block(sum, [](float a, float b) { return a + b; });
#pragma unroll 8
    for (int i = 0; i < Rounds::count; ++i)
        if (Rounds::takes_part(i, threadIdx.x))
            output[static_cast<long long>(blockIdx.x) * Count + Rounds::at(i, threadIdx.x)] =
                expf(number(i) - largest) / sum;
}

/// [rows][columns] to [columns][rows], by tiles of 32 x 32 whose rows of 33 floats have no bank conflicts.
template <int Rows, int Columns>
__global__ void __launch_bounds__(256) turn(const float *__restrict__ input, float *__restrict__ output) {
    wait_for_launch_before();
    __shared__ float tile[32][33];
    const int lane = threadIdx.x % 32, line = threadIdx.x / 32;
    const long long row0 = blockIdx.y * 32LL, column0 = blockIdx.x * 32LL;
#pragma unroll
    for (int i = 0; i < 32; i += 8)
        if (row0 + line + i < Rows && column0 + lane < Columns)
            tile[line + i][lane] = input[(row0 + line + i) * Columns + column0 + lane];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 32; i += 8)
        if (column0 + line + i < Columns && row0 + lane < Rows)
            output[(column0 + line + i) * Rows + row0 + lane] = tile[lane][line + i];
}
