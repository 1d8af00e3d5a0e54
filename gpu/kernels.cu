// The stop-watch's own kernels. One sample is: flush, gate, the measured work, clock probe.
// All names start with convcast_ so that activity records of other kernels cannot be taken for these.

struct SampleSlot { // as in gpu/kernels.hpp
    unsigned long long probe_cycles;
    unsigned long long probe_nanoseconds;
    unsigned gate_timed_out;
    unsigned padding;
};

__device__ inline unsigned long long global_nanoseconds() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    return now;
}

// Evicts everything else from L2 by reading a buffer of at least twice its size. Reading, because a memset would
// leave dirty lines whose write-back is then charged to the measured kernel. The buffer holds zeros, so the sum is
// never 1 and nothing is ever written.
extern "C" __global__ void convcast_flush(const uint4 *buffer, unsigned long long count, unsigned *never) {
    unsigned sum = 0;
    const unsigned long long stride = 1ull * gridDim.x * blockDim.x;
    for (unsigned long long i = 1ull * blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
        const uint4 v = __ldcg(buffer + i);
        sum |= v.x | v.y | v.z | v.w;
    }
    if (sum == 1)
        *never = sum;
}

// Holds the stream until the host has queued the whole sample, so that launch latency is not measured. The timeout
// makes a hang impossible where the queued work itself waits for the stream.
extern "C" __global__ void convcast_gate(const volatile unsigned *released, unsigned ticket,
                                         unsigned long long timeout_ns, SampleSlot *slot) {
    const unsigned long long start = global_nanoseconds();
    unsigned timed_out = 0;
    while (static_cast<int>(*released - ticket) < 0) {
        if (global_nanoseconds() - start > timeout_ns) {
            timed_out = 1;
            break;
        }
    }
    slot->gate_timed_out = timed_out;
}

// SM cycles over wall time on one SM. Starts and ends right after a tick of the global timer, whose period is up to
// a microsecond, so that the period does not limit the precision.
extern "C" __global__ void convcast_clock_probe(unsigned long long window_ns, SampleSlot *slot) {
    const unsigned long long before = global_nanoseconds();
    unsigned long long start = before;
    while (start == before)
        start = global_nanoseconds();
    const long long start_cycles = clock64();
    unsigned long long end = start;
    while (end - start < window_ns)
        end = global_nanoseconds();
    const long long end_cycles = clock64();
    slot->probe_cycles = static_cast<unsigned long long>(end_cycles - start_cycles);
    slot->probe_nanoseconds = end - start;
}

// Known length, for testing the stop-watch.
extern "C" __global__ void convcast_sleep(unsigned long long nanoseconds) {
    const unsigned long long start = global_nanoseconds();
    while (global_nanoseconds() - start < nanoseconds) {
    }
}
