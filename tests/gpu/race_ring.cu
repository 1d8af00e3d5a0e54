// The ring of buffers that implicit_gemm_3xtf32 has for its pixels, and nothing else. One warp copies, a
// warpgroup reads, and both wait for each other through mbarriers: step t uses buffer t % stages.
//   copiers  wait until the buffer is empty, fill it by cp.async, and let cp.async.mbarrier.arrive.noinc
//   arrive
//            at full[buffer] once a thread's copies are there
//   readers  wait until it is full, load their values, __syncwarp, and lane 0 arrives at empty[buffer]
// racecheck reports loads against the copies that fill the buffer again (tests/gpu/false_alarm.hpp).
//
// Why there is no race, by the memory consistency model of the PTX ISA (parity_of: the phase that is waited
// for).
//   Write before read. full[b] completes its phase n when all copiers' asynchronous arrivals of the buffer's
//   use n are there, each after the copies of its thread. A reader's mbarrier.try_wait (acquire) of that
//   phase follows. Read before the next write. A lane's load comes before its __syncwarp (bar.warp.sync,
//   which orders memory among the lanes of the warp), that before lane 0's mbarrier.arrive (release) at
//   empty[b], that before the phase's end, for which all reading warps must arrive; a copier's
//   mbarrier.try_wait (acquire) observes that end, and its cp.async comes later in its program. Each of these
//   is an edge of causality order, which is transitive: the load comes before the copy and cannot see what it
//   writes. Phases. A warp arrives once a use. It cannot arrive for use n + 1 before full[b] ends phase n +
//   1, for which every copier has waited for the end of empty[b]'s phase n. So no phase takes arrivals of two
//   uses, and no one is two phases late, which a parity could not tell.
//
// ByLane: every lane arrives at empty[b] for itself, and no __syncwarp is needed. The tool then sees the
// order. Barrier: all threads meet once a step at a named barrier besides, which orders again what is
// ordered. Nor does
//   the tool report this one.
// Racy: with a race, so that the tool's silence about the others means something. At the end the readers
// exchange
//   their sums in the ring; the barrier between store and load is left out.
template <int ByLane, int Barrier, int Racy>
__global__ void race_ring(const float *__restrict__ input, float *__restrict__ output, int steps) {
    constexpr int stages = 2, readers = 128, copiers = 32, stage_floats = 2 * readers;
    __shared__ __align__(128) float ring[stages * stage_floats];
    __shared__ __align__(8) unsigned long long barriers[2 * stages];
    const unsigned full = convcast::shared_address(barriers), empty = full + 8 * stages;
    const int tid = threadIdx.x, lane = tid % 32;

    if (tid == 0) {
        for (int i = 0; i < stages; ++i) {
            convcast::barrier_init(full + 8 * i, copiers);
            convcast::barrier_init(empty + 8 * i, ByLane ? readers : readers / 32);
        }
        convcast::barriers_ready();
    }
    __syncthreads();

    const auto parity_of = [](int use) { return use % 2; };
    const auto meet = [] {
        if constexpr (Barrier)
            convcast::barrier_of_some<1, readers + copiers>();
    };
    if (tid >= readers) {
        for (int step = 0; step < steps; ++step) {
            const int slot = step % stages, use = step / stages;
            if (use > 0)
                convcast::barrier_wait(empty + 8 * slot, parity_of(use - 1));
            for (int i = lane; i < stage_floats; i += copiers)
                convcast::copy_async_unless<1>(ring + slot * stage_floats + i,
                                               input + step * stage_floats + i, false);
            convcast::arrive_when_copied(full + 8 * slot);
            meet();
        }
        convcast::copy_async_wait_all();
        return;
    }

    float sum = 0.0f;
    for (int step = 0; step < steps; ++step) {
        const int slot = step % stages, use = step / stages;
        convcast::barrier_wait(full + 8 * slot, parity_of(use));
        const float2 pair = *reinterpret_cast<const float2 *>(ring + slot * stage_floats + 2 * tid);
        sum += pair.x + pair.y;
        if constexpr (!ByLane)
            __syncwarp();
        if (ByLane || lane == 0)
            convcast::barrier_arrive(empty + 8 * slot);
        meet();
    }
    convcast::barrier_of_some<2, readers>(); // no one reads a buffer any more
    ring[tid] = sum;
    if constexpr (!Racy)
        convcast::barrier_of_some<2, readers>();
    float *const to = output + 2 * (blockIdx.x * readers + tid);
    to[0] = sum;
    to[1] = ring[(tid + 1) % readers];
}
