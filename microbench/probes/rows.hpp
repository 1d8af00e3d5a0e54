// The rows of probe.hpp by family, each beside the device code of its probes.
#pragma once

#include "microbench/probe.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace convcast {

std::vector<Probe> arithmetic_probes();
std::vector<Probe> latency_probes();
std::vector<Probe> bandwidth_probes();
std::vector<Probe> shared_memory_probes();
std::vector<Probe> synchronisation_probes();
/// Probes that must run before all others. Once two streams of a process have had work by turns, each kernel
/// of a graph takes 0.1 to 0.2 us longer until the process ends (docs/evidence.md, N2).
std::vector<Probe> first_probes();
std::vector<Probe> launch_probes();

/// Of a kernel template every combination of arguments, for example instances("f<{}, {}>", {{"1", "2"},
/// {"true"}}).
std::vector<std::string> instances(const std::string &pattern,
                                   const std::vector<std::vector<std::string>> &arguments);

/// What the results of a CTA add up to whose thread i leaves value(i), modulo 2^32.
template <class Value> std::uint32_t sum_over(unsigned threads, const Value &value) {
    std::uint32_t sum = 0;
    for (unsigned thread = 0; thread < threads; ++thread)
        sum += value(thread);
    return sum;
}

/// Axes that several curves have.
inline constexpr CurveAxis bandwidth_axis{"bandwidth", "B/s", true}, latency_axis{"latency", "clk", true},
    lane_bytes_axis{"bytes a lane", "B", true},
    sm_bandwidth_axis{"useful bandwidth of an SM", "B/clk", false},
    barrier_axis{"time of a barrier", "clk", false}, add_axis{"time of an add", "s", true};

} // namespace convcast
