// A ring of buffers as implicit_gemm_3xtf32 has it, and nothing else: one warp copies, a warpgroup reads, and
// both wait for each other through mbarriers. It shows which of its parts compute-sanitizer's racecheck takes
// for races.
//
// Why there is none. Buffer b of Stages is written in step t (t % Stages == b) and read in the same step.
//   Write before read: what writes the buffer completes the phase t / Stages of full[b], by arrivals of the
//     copying threads (plain stores: release; cp.async: cp.async.mbarrier.arrive.noinc, which arrives when the
//     thread's copies are done) or by complete_tx of the bulk copy. A reader passes barrier_wait(full[b]) of
//     that phase only then (try_wait acquires), so the write happens before the read. A bulk copy and a wgmma
//     are both of the async proxy; a bulk copy is visible to any thread that has seen its complete_tx.
//   Read before the next write: a warp reads, waits for its wgmmas where it has them (wait_group 0: their reads
//     of shared memory are done), synchronises the warp and arrives at empty[b] (release); the copying warp
//     writes step t + Stages only after barrier_wait(empty[b]) of phase t / Stages (acquire), which takes the
//     arrivals of all reading warps.
//   The sums over the ring: a reader stores there after a named barrier of all readers. Each of them has waited
//     for the last phase of every full[b] before, so no copy is under way, and no one reads a buffer any more.
//   Others' sums: between barrier.cluster.arrive (release) and wait (acquire) of all threads of the cluster;
//     a second one lets no CTA end before all have read.
// Only `Racy` has a race: it leaves out the named barrier before the sums.
template <int Copy, int Read, int Sums, int Unrolled, int Barrier, int Racy>
__global__ void race_ring(const float *__restrict__ input, float *__restrict__ output, int steps_asked) {
    constexpr int plain = 0, asynchronous = 1, bulk = 2; // Copy
    constexpr int by_wgmma = 1;                          // Read; 0: by loads
    constexpr int of_cta = 1, of_cluster = 2;            // Sums; 0: none
    constexpr int most_steps = 8, stages = 2, readers = 128, copiers = 32;
    constexpr int columns = 32, values = 8, stage_floats = columns * values;
    __shared__ __align__(128) float ring[stages * stage_floats];
    __shared__ __align__(8) unsigned long long barriers[2 * stages];
    const unsigned full = convcast::shared_address(barriers), empty = full + 8 * stages;
    const int tid = threadIdx.x, lane = tid % 32;
    const int steps = Unrolled ? most_steps : steps_asked;

    if (tid == 0) {
        for (int i = 0; i < stages; ++i) {
            convcast::barrier_init(full + 8 * i, Copy == bulk ? 1 : copiers);
            convcast::barrier_init(empty + 8 * i, readers / 32);
        }
        convcast::barriers_ready();
    }
    __syncthreads();

    float sum[columns / 2] = {};
    const auto copy = [&](int step) {
        const int slot = step % stages;
        if (step >= stages)
            convcast::barrier_wait(empty + 8 * slot, (step / stages - 1) % 2);
        float *const to = ring + slot * stage_floats;
        const float *const from = input + step * stage_floats;
        if constexpr (Copy == bulk) {
            if (lane == 0) {
                convcast::barrier_expect(full + 8 * slot, stage_floats * 4);
                convcast::copy_bulk(to, from, stage_floats * 4, full + 8 * slot);
            }
        } else if constexpr (Copy == asynchronous) {
            for (int i = lane; i < stage_floats; i += copiers)
                convcast::copy_async_unless<1>(to + i, from + i, false);
            convcast::arrive_when_copied(full + 8 * slot);
        } else {
            for (int i = lane; i < stage_floats; i += copiers)
                to[i] = from[i];
            convcast::barrier_arrive(full + 8 * slot);
        }
    };
    const auto read = [&](int step) {
        const int slot = step % stages;
        convcast::barrier_wait(full + 8 * slot, step / stages % 2);
        const float *const stage = ring + slot * stage_floats;
        if constexpr (Read == by_wgmma) {
            const unsigned ones[4] = {0x3F800000U, 0x3F800000U, 0x3F800000U, 0x3F800000U};
            convcast::wgmma_fence();
            convcast::wgmma(sum, ones, convcast::matrix_descriptor(convcast::shared_address(stage)), 1);
            convcast::wgmma_commit();
            convcast::wgmma_wait<0>();
        } else {
            // As a lane's fragment of the product with a matrix of ones: sums of its columns' values.
            for (int i = 0; i < columns / 2; ++i) {
                const int column = i / 4 * 8 + lane % 4 * 2 + i % 2;
                for (int v = 0; v < values; ++v)
                    sum[i] += stage[column / 8 * 64 + v / 4 * 32 + column % 8 * 4 + v % 4];
            }
        }
        __syncwarp();
        if (lane == 0)
            convcast::barrier_arrive(empty + 8 * slot);
    };
    const auto together = [&] { // all threads, once a step: orders what the mbarriers order already
        if constexpr (Barrier)
            convcast::barrier_of_some<1, readers + copiers>();
    };
    const bool copies = tid >= readers;
    if constexpr (Unrolled) {
#pragma unroll
        for (int step = 0; step < most_steps; ++step) {
            if (copies)
                copy(step);
            else
                read(step);
            together();
        }
    } else {
        if (copies)
            for (int step = 0; step < steps; ++step) {
                copy(step);
                together();
            }
        else
            for (int step = 0; step < steps; ++step) {
                read(step);
                together();
            }
    }
    if (copies) {
        if constexpr (Copy == asynchronous)
            convcast::copy_async_wait_all();
        if constexpr (Sums == of_cluster) {
            convcast::cluster_sync();
            convcast::cluster_sync();
        }
        return;
    }
    if constexpr (Read == by_wgmma)
        for (float &value : sum)
            asm volatile("" : "+f"(value)); // not read before the wait

    float *const to = output + (blockIdx.x * readers + tid) * (columns / 2 + 1);
    for (int i = 0; i < columns / 2; ++i)
        to[i] = sum[i];
    if constexpr (Sums != 0) {
        if constexpr (!Racy)
            convcast::barrier_of_some<2, readers>();
        ring[tid] = sum[0];
        if constexpr (Sums == of_cluster) {
            convcast::cluster_sync();
            to[columns / 2] = convcast::load_from_cta(ring + (tid + 1) % readers, 0) +
                              convcast::load_from_cta(ring + (tid + 1) % readers, 1);
            convcast::cluster_sync();
        } else {
            convcast::barrier_of_some<2, readers>();
            to[columns / 2] = ring[(tid + 1) % readers];
        }
    }
}
