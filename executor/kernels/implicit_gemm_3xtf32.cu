// implicit_gemm_3xtf32: a convolution as a matrix product on tensor cores, pixels of all images by filters
// over (c, r, s), with the accuracy of FP32. Every factor is the sum of two TF32 numbers, hi = x rounded to
// 11 bits and lo = the rest rounded likewise, and x w = hi hi + hi lo + lo hi up to 2^-22 (Ootomo and Yokota
// 2022).
//   producers (one warpgroup): per step, pixels as im2col would lay them out by asynchronous copies, and the
//     filters, split and laid out by implicit_gemm_3xtf32_filters, by one bulk copy
//   consumers (TilePixels / 64 warpgroups): pixels from shared memory to registers, split there, and
//     wgmma m64 x TileK x 8 with the filters in shared memory, three a row of 8 values
// A row is 8 values of (c, r, s): 8 channels of one tap where channels come in eights (ByChannel), else 8
// successive values, which lie anywhere (Tabled: looked up). Tensor cores add with truncation, so a sum of
// many products drifts towards zero: after `chunk_rows` rows the accumulators are added to FP32 sums by
// FADDs, which round. Small maps: Split CTAs of a cluster take shares of the steps and add up through each
// other's shared memory, in the same order each time.
#include "executor/kernels/tensor.cuh"

using namespace convcast;

template <int Images, int Channels, int Height, int Width, int Filters, int Groups, int R, int S, int StrideH,
          int StrideW, int PadH, int PadW, int DilationH, int DilationW, int TileK, int TilePixels, int Depth,
          int Stages, int Split, bool ByChannel, bool Tabled, int ProducerRegisters, int ConsumerRegisters>
__global__ void __maxnreg__(REGISTER_CAP)
    implicit_gemm_3xtf32(const float *__restrict__ input, const float *__restrict__ prepared,
                         float *__restrict__ output, ConvArgs) {
    constexpr int P = (Height + 2 * PadH - DilationH * (R - 1) - 1) / StrideH + 1;
    constexpr int Q = (Width + 2 * PadW - DilationW * (S - 1) - 1) / StrideW + 1;
    constexpr int pixels_of_image = P * Q, pixels = Images * pixels_of_image;
    constexpr int plane = Height * Width, taps = R * S, values = Channels * taps;
    constexpr bool padded = PadH > 0 || PadW > 0;
    constexpr bool wide_pixels =
        ByChannel && taps == 1 && StrideH * StrideW == 1 && !padded && plane % 4 == 0;
    constexpr bool whole_pixels = pixels % TilePixels == 0, whole_tiles = Filters % TileK == 0;

    constexpr int row_values = 8; // of one wgmma: 32 bytes
    constexpr int rows = (values + row_values - 1) / row_values, steps = (rows + Depth - 1) / Depth;
    constexpr int chunk_rows = 16, chunk_steps = chunk_rows / Depth;
    constexpr int pitch = TilePixels + 8; // four rows of 8 pixels then lie in 32 banks
    constexpr int filter_row_floats = 2 * TileK * row_values, filter_floats = Depth * filter_row_floats;
    constexpr int stage_floats = filter_floats + Depth * row_values * pitch;
    constexpr int consumer_groups = TilePixels / 64, consumers = consumer_groups * 128, producers = 128;
    constexpr int filter_tiles = (Filters + TileK - 1) / TileK;
    extern __shared__ __align__(128) float shared[];
    const unsigned full = shared_address(shared + Stages * stage_floats), empty = full + 8 * Stages;

    const int tid = threadIdx.x, lane = tid % 32;
    struct Task {
        int part, filter_tile, pixel0, group;
    };
    const auto task_of = [](unsigned x, unsigned y) {
        return Task{static_cast<int>(x % Split), static_cast<int>(x / Split % filter_tiles),
                    static_cast<int>(x / (Split * filter_tiles)) * TilePixels, static_cast<int>(y)};
    };
    const auto step_from = [](int part) { return steps * part / Split; };
    const int first_step = step_from(blockIdx.x % Split), last_step = step_from(blockIdx.x % Split + 1);

    if (tid == 0) {
        for (int i = 0; i < Stages; ++i) {
            barrier_init(full + 8 * i, producers + 1); // and the one that announces the filters
            barrier_init(empty + 8 * i, consumers / 32);
        }
        barriers_ready();
    }
    __syncthreads();

    if (tid >= consumers) {
        // ---- producers ----
        set_registers_down<ProducerRegisters>();
        const int thread = tid - consumers;
        const auto [part, filter_tile, pixel0, group] = task_of(blockIdx.x, blockIdx.y);
        constexpr int unit = wide_pixels ? 4 : 1, units = TilePixels / unit;
        // Threads side by side along the pixels; where there are more threads, they share the channels.
        constexpr int lanes = units < producers ? units == 48 ? 32 : units : producers;
        constexpr int sharers = producers / lanes, per_thread = (units + lanes - 1) / lanes;
        const int copy_unit = thread % lanes,
                  sharer = sharers == 1 ? 0 : thread / lanes; // 0: offsets are constants
        const float *from[per_thread];
        int y[per_thread], x[per_thread];
#pragma unroll
        for (int i = 0; i < per_thread; ++i) {
            const int pixel = pixel0 + (copy_unit + i * lanes) * unit;
            const int image = pixel / pixels_of_image, p = pixel % pixels_of_image / Q, q = pixel % Q;
            y[i] = p * StrideH - PadH, x[i] = q * StrideW - PadW;
            from[i] = input + (static_cast<long long>(image) * Groups + group) * Channels * plane +
                      y[i] * Width + x[i] + (ByChannel ? sharer * plane : 0);
            if (!whole_pixels && pixel >= pixels)
                y[i] = -(1 << 30); // outside of every image: zeros
        }
        const auto inside = [&](int i, int dy, int dx) {
            if constexpr (!padded)
                return whole_pixels || y[i] >= 0;
            else
                return static_cast<unsigned>(y[i] + dy) < static_cast<unsigned>(Height) &&
                       static_cast<unsigned>(x[i] + dx) < static_cast<unsigned>(Width);
        };
        // Where a value lies: computed, or looked up where that is dear and the table small.
        struct Place {
            int offset, dy, dx;
        };
        const auto place_of = [](int value) {
            const int tap = value % taps, dy = tap / S * DilationH, dx = tap % S * DilationW;
            return Place{value / taps * plane + dy * Width + dx, dy, dx};
        };
        int2 *const places = reinterpret_cast<int2 *>(shared + Stages * stage_floats + 4 * Stages);
        if constexpr (Tabled) {
            for (int value = thread; value < steps * Depth * row_values; value += producers) {
                const Place place = place_of(value);
                places[value] = make_int2(place.offset, place.dy << 16 | place.dx);
            }
            barrier_of_some<1, producers>();
        }
        const float *from_filters =
            prepared +
            (static_cast<long long>(group * filter_tiles + filter_tile) * steps + first_step) * filter_floats;
        // Which row is next; nothing is divided in the loop, as one warp's latencies are all that its copies
        // wait for.
        int row = first_step * Depth;
        int dy = row % taps / S * DilationH, dx = row % S * DilationW;
        long long offset = row / taps * (static_cast<long long>(row_values) * plane) + dy * Width + dx;
        int slot = 0, turn = 0;
        if (thread == 0) // which alone reads what the launch before has prepared
            wait_for_launch_before();
        for (int step = first_step; step < last_step; ++step) {
            if (step >= first_step + Stages)
                barrier_wait(empty + 8 * slot, turn ^ 1);
            float *const stage = shared + slot * stage_floats;
            if (thread == 0) {
                barrier_expect(full + 8 * slot, filter_floats * 4);
                copy_bulk(stage, from_filters, filter_floats * 4, full + 8 * slot);
            }
            from_filters += filter_floats;
#pragma unroll
            for (int d = 0; d < Depth; ++d, ++row) {
                float *const to =
                    stage + filter_floats + (d * row_values + sharer) * pitch + copy_unit * unit;
                if constexpr (ByChannel) {
#pragma unroll
                    for (int i = 0; i < per_thread; ++i) {
                        if (units % lanes != 0 && copy_unit + i * lanes >= units)
                            break;
                        const bool outside = row >= rows || !inside(i, dy, dx);
                        const float *const there = from[i] + offset;
#pragma unroll
                        for (int c = 0; c < row_values; c += sharers)
                            copy_async_unless<unit>(to + c * pitch + i * lanes * unit, there + c * plane,
                                                    outside);
                    }
                    dx += DilationW, offset += DilationW;
                    if (dx == S * DilationW) {
                        dx = 0, dy += DilationH;
                        offset += DilationH * Width - S * DilationW;
                        if (dy == R * DilationH) {
                            dy = 0;
                            offset += static_cast<long long>(row_values) * plane - R * DilationH * Width;
                        }
                    }
                } else {
#pragma unroll
                    for (int v = 0; v < row_values; v += sharers) {
                        const int value = row * row_values + v + sharer;
                        Place place;
                        if constexpr (Tabled)
                            place = {places[value].x, places[value].y >> 16, places[value].y & 0xFFFF};
                        else
                            place = place_of(value);
#pragma unroll
                        for (int i = 0; i < per_thread; ++i) {
                            if (units % lanes != 0 && copy_unit + i * lanes >= units)
                                break;
                            copy_async_unless<1>(to + v * pitch + i * lanes, from[i] + place.offset,
                                                 value >= values || !inside(i, place.dy, place.dx));
                        }
                    }
                }
            }
            arrive_when_copied(full + 8 * slot);
            if (++slot == Stages)
                slot = 0, turn ^= 1;
        }
        copy_async_wait_all();
        if constexpr (Split > 1) {
            cluster_sync();
            cluster_sync();
        }
        return;
    }

    // ---- consumers ----
    set_registers_up<ConsumerRegisters>();
    // A warp has 16 pixels; a lane two neighbours of them, as rows lane / 4 and lane / 4 + 8 of the fragment.
    const int its_pixel = tid / 32 * 16 + lane / 4 * 2;
    constexpr int accumulators = TileK / 2;
    float sum[accumulators] = {}, partial[accumulators];
    const auto release = [&](int slot) {
        __syncwarp();
        if (lane == 0)
            barrier_arrive(empty + 8 * slot);
    };
    int slot = 0, turn = 0;
    for (int chunk = first_step; chunk < last_step; chunk += chunk_steps) {
        const int end = chunk + chunk_steps < last_step ? chunk + chunk_steps : last_step;
        int held = -1;
        for (int step = chunk; step < end; ++step) {
            barrier_wait(full + 8 * slot, turn);
            const float *const stage = shared + slot * stage_floats;
            const float *const of_pixels = stage + filter_floats + lane % 4 * pitch + its_pixel;
            const unsigned long long of_filters = matrix_descriptor(shared_address(stage));
            unsigned hi[2][4], lo[2][4];
            float2 low, high;
            const auto load = [&](int d) {
                low = *reinterpret_cast<const float2 *>(of_pixels + d * row_values * pitch);
                high = *reinterpret_cast<const float2 *>(of_pixels + (d * row_values + 4) * pitch);
            };
            load(0);
#pragma unroll
            for (int d = 0; d < Depth; ++d) {
                split_tf32(low.x, hi[d % 2][0], lo[d % 2][0]);
                split_tf32(low.y, hi[d % 2][1], lo[d % 2][1]);
                split_tf32(high.x, hi[d % 2][2], lo[d % 2][2]);
                split_tf32(high.y, hi[d % 2][3], lo[d % 2][3]);
                // In units of 16 bytes: a row's filters, hi before lo.
                constexpr int row_units = filter_row_floats / 4;
                const unsigned long long filters_hi = of_filters + d * row_units,
                                         filters_lo = filters_hi + row_units / 2;
                wgmma_fence();
                wgmma(partial, lo[d % 2], filters_hi, d > 0 || step > chunk);
                wgmma(partial, hi[d % 2], filters_lo, 1);
                wgmma(partial, hi[d % 2], filters_hi, 1);
                wgmma_commit();
                if (d + 1 < Depth)
                    load(d + 1);
                wgmma_wait<1>(); // the row before is done: its registers and, at last, its stage are free
                if (d == 0 && held >= 0)
                    release(held);
            }
            held = slot;
            if (++slot == Stages)
                slot = 0, turn ^= 1;
        }
        wgmma_wait<0>();
        release(held);
#pragma unroll
        for (int i = 0; i < accumulators; ++i) {
            asm volatile("" : "+f"(partial[i])); // not read before the wait
            sum[i] += partial[i];
        }
    }

    // ---- results ----
    const uint2 block = block_index_again();
    const auto [part, filter_tile, pixel0, group] = task_of(block.x, block.y);
    const int filter0 = filter_tile * TileK;
    output += (static_cast<long long>(group) * Filters + filter0) * pixels_of_image;
    constexpr long long image_floats = static_cast<long long>(Groups) * Filters * pixels_of_image;
    if constexpr (Split == 1) {
        const int pixel = pixel0 + its_pixel;
        constexpr bool pairs = pixels_of_image % 2 == 0;
        float *to[2];
#pragma unroll
        for (int i = 0; i < 2; ++i)
            to[i] = output + (pixel + i) / pixels_of_image * image_floats + (pixel + i) % pixels_of_image;
#pragma unroll
        for (int j = 0; j < accumulators; j += 2) {
            const int m = j / 4 * 8 + lane % 4 * 2 + j % 4 / 2;
            const int at = j / 4 * 4 + j % 4 / 2;
            if (whole_tiles || filter0 + m < Filters) {
                if constexpr (pairs) {
                    if (whole_pixels || pixel < pixels)
                        *reinterpret_cast<float2 *>(to[0] + static_cast<long long>(m) * pixels_of_image) =
                            make_float2(sum[at], sum[at + 2]);
                } else {
#pragma unroll
                    for (int i = 0; i < 2; ++i)
                        if (whole_pixels || pixel + i < pixels)
                            to[i][static_cast<long long>(m) * pixels_of_image] = sum[at + 2 * i];
                }
            }
        }
    } else {
        // Partial sums meet in shared memory, [filter][pixel]; every CTA of the cluster adds up its share of
        // the filters.
        constexpr int sum_pitch = TilePixels + 4; // lanes of a store then lie in different banks
        barrier_of_some<2, consumers>();          // no other warp still reads its pixels
#pragma unroll
        for (int j = 0; j < accumulators; j += 2) {
            const int m = j / 4 * 8 + lane % 4 * 2 + j % 4 / 2;
            const int at = j / 4 * 4 + j % 4 / 2;
            *reinterpret_cast<float2 *>(shared + m * sum_pitch + its_pixel) =
                make_float2(sum[at], sum[at + 2]);
        }
        cluster_sync();
        constexpr int share = TileK / Split * TilePixels;
        constexpr int under_way = 16; // loads of a thread at once
#pragma unroll under_way / Split
        for (int at = tid; at < share; at += consumers) {
            const int m = part * (TileK / Split) + at / TilePixels, its = at % TilePixels,
                      pixel = pixel0 + its;
            float total = 0.0f;
#pragma unroll
            for (int rank = 0; rank < Split; ++rank)
                total += load_from_cta(shared + m * sum_pitch + its, rank);
            if ((whole_tiles || filter0 + m < Filters) && (whole_pixels || pixel < pixels))
                output[pixel / pixels_of_image * image_floats + static_cast<long long>(m) * pixels_of_image +
                       pixel % pixels_of_image] = total;
        }
        cluster_sync(); // no CTA ends while others read its sums
    }
}
