// Chases through device memory: what the latency probes and the one between GPUs share.
#pragma once

#include "microbench/runners/harness.hpp"

namespace convcast::probe {

inline constexpr std::size_t line_bytes = 128; // of L2; a node of a ring each

/// As in probes/chase.cu.
struct ChaseEnd {
    std::uint64_t node, addresses;
};

/// A cycle through lines of device memory; each holds the address of the one visited next.
class PointerRing {
  public:
    /// `chase`: probes/chase.cu. `memory` holds every line of `order` and must outlive the ring. Writes the
    /// ring on `stream`, which must be of the calling thread's device, as the memory is.
    PointerRing(const Module &chase, void *memory, std::vector<std::uint32_t> order, cudaStream_t stream);

    /// Writes the pointers anew.
    void link(cudaStream_t stream);

    std::size_t nodes() const { return order_.size(); }

    /// Of the node that is `position` hops behind the first.
    std::uint64_t address(std::size_t position) const {
        return memory_ + line_bytes * std::uint64_t{order_[position % order_.size()]};
    }

    std::uint64_t memory() const { return memory_; }

  private:
    Kernel link_;
    std::uint64_t memory_;
    std::vector<std::uint32_t> order_;
    DeviceBuffer<std::uint32_t> order_on_device_;
};

/// Nodes of a ring whose lines every slice of L2 has some of, few enough to lie in the near half of an L2 of
/// two parts.
std::size_t near_nodes(const ProbeContext &context);

/// Launches a chase of one sample, by the CTA `chosen` of a grid with one for each SM; `position` is where it
/// begins.
using ChaseLaunch = std::function<void(unsigned chosen, std::size_t position, ChaseEnd *end, Span *spans)>;

/// Takes samples by another CTA, hence mostly by another SM, each; one more before is unseen. Clocks per hop.
/// A chase goes `warm` and then `hops` nodes further than the one before it, and `proof` throws if it did not
/// do its work. The note names the SMs.
void chase(ProbeContext &context, ProbeSamples &samples, unsigned warm, unsigned hops, std::size_t count,
           const ChaseLaunch &launch,
           const std::function<void(const ChaseEnd &end, std::size_t position)> &proof);

struct ChaseOptions {
    unsigned warm = 0; ///< hops before those that are timed, on from where the sample before ended
    unsigned hops = 0; ///< both are multiples of 32
    bool through_l1 = false;
    /// L2 is flushed before each sample.
    bool cold = false;
    /// The SM that chases reads every line before, so that L2 holds what it can of a ring too long for warm
    /// hops.
    bool touch = false;
    std::size_t samples = sample_count;
    std::string note{}; ///< behind that of the row
};

/// A chase by loads. `knobs` are added to those that tell of ring and options.
ProbeSamples chase_by_loads(ProbeContext &context, const Module &module, const PointerRing &ring,
                            const ChaseOptions &options, Knobs knobs);

} // namespace convcast::probe
