// Compiling what plans ask for: how a launch becomes a request, and a sweep's kernels, each compiled once.
#pragma once

#include "gpu/compile.hpp"
#include "model/record/run.hpp"

#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace convcast {

/// What a launch of a convolution in a network does besides (executor/network/conv_end.cuh).
struct ConvEnd {
    bool in_network = false; ///< compiled with its lines for networks
    bool bias = false, add = false;
    std::string function; ///< statements over `T x`
};

/// How the kernel of a launch is compiled. Needs no GPU.
CompileRequest request_for(const Launch &launch, int compute_capability, const ConvEnd &end = {});

/// The distinct requests of some plans, in order of appearance.
std::vector<CompileRequest> requests_for(std::span<const Plan> plans, int compute_capability);

/// Compiled kernels of a sweep, each compiled once; one that does not compile is kept as the reason.
class KernelCache {
  public:
    KernelCache(Compiler &compiler, int compute_capability)
        : compiler_(compiler), compute_capability_(compute_capability) {}
    /// Waits for the kernels in hand, not for those that no thread has begun.
    virtual ~KernelCache();

    /// Compiles what `plans` need and is not there yet, in their order, by `threads` threads behind the
    /// caller.
    void compile_ahead(std::span<const Plan> plans, unsigned threads);
    void compile_ahead(std::vector<CompileRequest> requests, unsigned threads);

    /// Returns when all of it is compiled. `progress` is called by this thread.
    void wait(const Compiler::Progress &progress = {});

    /// Waits for a kernel that is being compiled ahead, compiles now one that was not asked for. Throws
    /// GpuError with the log of a kernel that does not compile. `end`: of a convolution of a network.
    const CompiledModule &compiled(const Partition &partition, const ConvEnd &end = {});

  protected:
    /// How a kernel is compiled, where another one does it otherwise (executor/timeline/timeline.cpp).
    virtual CompileRequest request_of(const Partition &partition, const ConvEnd &end) const {
        return request_for(partition, compute_capability_, end);
    }

  private:
    struct Job {
        CompileRequest request;
        std::promise<Compiler::Outcome> outcome;
    };
    void work();
    Compiler::Outcome outcome_of(const CompileRequest &request) const;

    Compiler &compiler_;
    int compute_capability_;
    std::map<std::string, std::shared_future<Compiler::Outcome>> outcomes_;
    std::mutex jobs_mutex_;
    std::deque<Job> jobs_; ///< that no thread has begun
    std::vector<std::jthread> pool_;
};

} // namespace convcast
