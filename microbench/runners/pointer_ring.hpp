// Chases through device memory: what the latency probes and the one between GPUs share.
#pragma once

#include "microbench/runners/harness.hpp"

namespace convcast::probe {

inline constexpr std::size_t line_bytes = 128; // of L2; a node of a ring each

/// As in probes/chase.cu.
struct ChaseEnd {
    std::uint64_t node, addresses;
};

/// `lines` of the first `slots` lines of memory, evenly spread, each at a random place, in random order.
std::vector<std::uint32_t> scattered_lines(std::size_t lines, std::size_t slots);

/// A random single cycle: next[i] comes after i.
std::vector<std::uint32_t> random_cycle(std::size_t nodes);

/// The node `hops` behind `node`.
std::uint32_t after(const std::vector<std::uint32_t> &next, std::uint32_t node, std::size_t hops);

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
};

/// Each sample is taken by another CTA of a grid with one for each SM, hence mostly by another SM; one more
/// before is unseen. Clocks per hop. `knobs` are added to those that tell of ring and options.
ProbeSamples chase(ProbeContext &context, const Module &module, const PointerRing &ring, const char *probe,
                   const ChaseOptions &options, std::map<std::string, double> knobs = {});

} // namespace convcast::probe
