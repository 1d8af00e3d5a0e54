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
    cudaStream_t made = nullptr;
    check(cudaStreamCreateWithFlags(&made, kind == Kind::ordered ? cudaStreamDefault : cudaStreamNonBlocking),
          "cudaStreamCreateWithFlags");
    handle_.reset(made);
}

cudaError_t Stream::end(cudaStream_t stream) {
    (void)cudaStreamSynchronize(stream);
    return cudaStreamDestroy(stream);
}

Event::Event(Kind kind) {
    cudaEvent_t made = nullptr;
    check(cudaEventCreateWithFlags(&made, kind == Kind::timed ? cudaEventDefault : cudaEventDisableTiming),
          "cudaEventCreateWithFlags");
    handle_.reset(made);
}

bool Event::passed() const {
    const cudaError_t state = cudaEventQuery(handle_.get());
    if (state == cudaErrorNotReady) {
        (void)cudaGetLastError(); // no error, though it is kept as one
        return false;
    }
    check(state, "cudaEventQuery");
    return true;
}

Seconds Event::since(const Event &begin) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin.handle_.get(), handle_.get()), "cudaEventElapsedTime");
    return Seconds(1e-3 * static_cast<double>(milliseconds));
}

Graph::Graph(cudaStream_t stream, const std::function<void()> &queue) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    const auto captured = [&](cudaError_t &error) {
        cudaGraph_t graph = nullptr;
        error = cudaStreamEndCapture(stream, &graph);
        return Owned<cudaGraph_t, cudaGraphDestroy>(graph);
    };
    cudaError_t ended = cudaSuccess;
    try {
        queue();
    } catch (...) {
        (void)captured(ended);
        (void)cudaGetLastError(); // the capture's end repeats the error that is thrown
        throw;
    }
    const Owned<cudaGraph_t, cudaGraphDestroy> graph = captured(ended);
    check(ended, "cudaStreamEndCapture");
    cudaGraphExec_t made = nullptr;
    check(cudaGraphInstantiate(&made, graph.get(), 0), "cudaGraphInstantiate");
    executable_.reset(made);
    check(cudaGraphUpload(made, stream), "cudaGraphUpload");
}

} // namespace convcast
