// How long does a kernel take that does nothing, and how soon does the next one start?

extern "C" __global__ void empty() {}

// Started early, it waits for the end of the kernel before it and does nothing else.
extern "C" __global__ void empty_early() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Keeps the stream busy while the host queues what is to be timed.
extern "C" __global__ void hold(unsigned long long nanoseconds) {
    const unsigned long long start = nanoseconds_now();
    while (nanoseconds_now() - start < nanoseconds) {
    }
}
