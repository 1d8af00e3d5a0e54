#include "gpu/stream.hpp"

#include <functional>

namespace convcast {

OnDevice::OnDevice(int ordinal) {
    check(cudaGetDevice(&before_), "cudaGetDevice");
    check(cudaSetDevice(ordinal), "cudaSetDevice");
}

bool enable_peer_access(int from, int to) {
    int possible = 0;
    check(cudaDeviceCanAccessPeer(&possible, from, to), "cudaDeviceCanAccessPeer");
    if (!possible)
        return false;
    const OnDevice here(from);
    const cudaError_t error = cudaDeviceEnablePeerAccess(to, 0);
    if (error == cudaErrorPeerAccessAlreadyEnabled)
        (void)cudaGetLastError();
    else
        check(error, "cudaDeviceEnablePeerAccess");
    return true;
}

Stream::Stream(Kind kind) {
    check(cudaStreamCreateWithFlags(&handle_,
                                    kind == Kind::ordered ? cudaStreamDefault : cudaStreamNonBlocking),
          "cudaStreamCreateWithFlags");
}

Stream::~Stream() {
    if (!handle_)
        return;
    (void)cudaStreamSynchronize(handle_); // after an exception, work may still use what is freed next
    (void)cudaStreamDestroy(handle_);
}

Event::Event(Kind kind) {
    check(cudaEventCreateWithFlags(&handle_, kind == Kind::timed ? cudaEventDefault : cudaEventDisableTiming),
          "cudaEventCreateWithFlags");
}

Event::~Event() {
    if (handle_)
        (void)cudaEventDestroy(handle_);
}

bool Event::passed() const {
    const cudaError_t state = cudaEventQuery(handle_);
    if (state == cudaErrorNotReady) {
        (void)cudaGetLastError(); // no error, though it is kept as one
        return false;
    }
    check(state, "cudaEventQuery");
    return true;
}

Seconds Event::since(const Event &begin) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin.handle_, handle_), "cudaEventElapsedTime");
    return Seconds(1e-3 * static_cast<double>(milliseconds));
}

Graph::Graph(cudaStream_t stream, const std::function<void()> &queue) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    try {
        queue();
    } catch (...) {
        (void)cudaStreamEndCapture(stream, &graph);
        (void)cudaGetLastError(); // the capture's end repeats the error that is thrown
        if (graph)
            (void)cudaGraphDestroy(graph);
        throw;
    }
    check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    const cudaError_t made = cudaGraphInstantiate(&executable_, graph, 0);
    (void)cudaGraphDestroy(graph);
    check(made, "cudaGraphInstantiate");
    const cudaError_t uploaded = cudaGraphUpload(executable_, stream);
    if (uploaded != cudaSuccess)
        (void)cudaGraphExecDestroy(executable_);
    check(uploaded, "cudaGraphUpload");
}

} // namespace convcast
