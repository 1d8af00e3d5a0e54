// Samples of a GPU that does not exist, all of whose numbers are known: what every probe would give on it.
#pragma once

#include "microbench/fits.hpp"
#include "microbench/samples.hpp"
#include "model/base/split_mix.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace convcast::planted {

constexpr double clock_hz = 2e9, dram_latency_s = 300e-9, dram_bandwidth = 4e12, knee = 1.9;
constexpr double shared_clk = 29.0, l1_clk = 34.0, l2_near_clk = 265.0, l2_far_clk = 470.0, dram_clk = 600.0,
                 tlb_clk = 900.0, constant_l1_clk = 25.0, constant_l2_clk = 105.0, ffma_clk = 4.0;
constexpr double kib = 1024.0, mib = 1024.0 * kib;
constexpr double constant_l1_bytes = 2.0 * kib;

/// What differs between GPUs that tests look at.
struct Gpu {
    int bank_width = 4, bank_count = 32;
    double sector = 32.0, granule = 64.0;
    double l1_bytes = 192.0 * kib, l2_bytes = 50.0 * mib;
    bool two_part_l2 = true;
    bool counters = true;
    int gpus = 2;
    double noise = 0.003; ///< of every median, one standard deviation
};

inline double normal(SplitMix64 &random) {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - random.uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * random.uniform());
}

inline std::vector<double> around(double value) {
    std::vector<double> values;
    for (int i = -7; i <= 7; ++i)
        values.push_back(value * (1.0 + 1e-4 * i));
    return values;
}

inline ProbeSamples samples(std::string probe, std::string unit, std::vector<double> values,
                            std::map<std::string, double> knobs = {}) {
    ProbeSamples made{std::move(probe), std::move(unit), std::move(knobs), std::move(values), {}, "planted"};
    made.sm_clock_hz.assign(made.values.size(), clock_hz);
    return made;
}

/// Bandwidth by eq. M1.
inline double bandwidth_in_flight(double bytes, double latency_s, double bandwidth, double p) {
    return bytes / std::pow(std::pow(latency_s, p) + std::pow(bytes / bandwidth, p), 1.0 / p);
}

/// A knee softened over half an octave, as set conflicts do it.
inline double latency_at(const Gpu &gpu, double footprint) {
    const double past_l1 = std::clamp((footprint / gpu.l1_bytes - 1.0) / 0.5, 0.0, 1.0);
    const double past_half =
        gpu.two_part_l2 ? std::clamp((footprint / (0.4 * gpu.l2_bytes) - 1.0) / 0.4, 0.0, 1.0) : 0.0;
    const double past_l2 = footprint <= gpu.l2_bytes ? 0.0 : 1.0 - std::pow(gpu.l2_bytes / footprint, 4.0);
    const double l2 = l2_near_clk + past_half * (l2_far_clk - l2_near_clk);
    return l1_clk + past_l1 * (l2 - l1_clk) + past_l2 * (dram_clk - l2);
}

class Maker {
  public:
    explicit Maker(const Gpu &gpu) : gpu_(gpu) {}

    RawSamples make() {
        raw_.name = "Planted GPU";
        raw_.compute_capability = gpu_.bank_width == 8 ? "3.5" : "9.0";
        raw_.limits = {100,   128,  228 << 10, 227 << 10, 1024,
                       65536, 2048, 1024,      32,        static_cast<std::int64_t>(gpu_.l2_bytes),
                       4};
        raw_.max_sm_clock_hz = clock_hz;
        raw_.memory_clock_hz = 3.2e9;
        raw_.memory_bus_bits = 6144; // 4.9152e12 B/s
        raw_.conditions["driver"] = "planted";
        arithmetic();
        latencies();
        bandwidths();
        shared();
        granularity();
        launches();
        links();
        return std::move(raw_);
    }

  private:
    void add(const char *probe, const char *unit, double value, std::map<std::string, double> knobs = {}) {
        exact(probe, unit, value * (1.0 + gpu_.noise * normal(random_)), std::move(knobs));
    }

    /// Without noise, for what the driver counts exactly.
    void exact(const char *probe, const char *unit, double value, std::map<std::string, double> knobs = {}) {
        raw_.samples.push_back(samples(probe, unit, around(value), std::move(knobs)));
    }

    void arithmetic() {
        exact("sm_clock", "Hz", clock_hz);
        exact("ffma_latency", "clk", ffma_clk, {{"threads", 32.0}});
        exact("ffma_rate", "fma/clk", 126.0, {{"registers", 2.0}});
        exact("ffma_rate", "fma/clk", 90.0, {{"registers", 3.0}});
        for (const double ilp : {1.0, 2.0, 4.0, 8.0})
            for (const double warps : {1.0, 2.0, 4.0, 8.0, 16.0, 32.0})
                add("ffma_by_ilp", "fma/clk",
                    std::min({32.0 * warps * ilp / ffma_clk, 32.0 * std::min(warps, 4.0), 126.0}),
                    {{"ilp", ilp}, {"warps", warps}});
        for (const auto &[rows, columns] :
             {std::pair{2.0, 2.0}, {4.0, 2.0}, {4.0, 4.0}, {8.0, 4.0}, {8.0, 8.0}})
            add("ffma_by_operands", "fma/clk", 128.0 * rows * columns / (rows * columns + rows + columns),
                {{"rows", rows}, {"columns", columns}});
        for (const double ffmas : {0.0, 8.0, 16.0, 32.0, 64.0})
            for (const double loads : {0.0, 4.0})
                if (ffmas + loads >
                    0.0) // loads take 4 clk, FFMAs 0.25: even at 64 FFMAs; half of the shorter is hidden
                    exact("ffma_beside_shared", "clk",
                          std::max(0.25 * ffmas, 4.0 * loads) + 0.5 * std::min(0.25 * ffmas, 4.0 * loads),
                          {{"ffmas", ffmas}, {"loads", loads}});
        exact("half_rate", "fma/clk", 250.0, {{"accumulators", 16.0}});
        exact("int8_rate", "fma/clk", 500.0, {{"accumulators", 16.0}});
        exact("tf32_mma_rate", "fma/clk", 600.0, {{"wgmma", 0.0}});
        exact("tf32_mma_rate", "fma/clk", 1000.0, {{"wgmma", 1.0}});
    }

    void latencies() {
        exact("shared_latency", "clk", shared_clk);
        exact("l1_latency", "clk", l1_clk, {{"footprint_bytes", 16.0 * kib}});
        for (int sm = 0; sm < 33; ++sm)
            exact("l2_latency", "clk", l2_near_clk + (sm - 16), {{"footprint_bytes", 4.0 * mib}, {"sm", sm}});
        for (int quarter = 0; 4.0 * kib * std::exp2(quarter / 4.0) <= 5.0 * gpu_.l2_bytes; ++quarter) {
            const double bytes = std::round(32.0 * std::exp2(quarter / 4.0)) * 128.0;
            add("latency_by_footprint", "clk", latency_at(gpu_, bytes), {{"footprint_bytes", bytes}});
        }
        exact("dram_latency", "clk", dram_latency_s * clock_hz, {{"footprint_bytes", 256.0 * mib}});
        for (int doubling = 0; doubling < 7; ++doubling)
            exact("tlb_latency", "clk",
                  doubling < 4 ? dram_clk : dram_clk + (tlb_clk - dram_clk) * (doubling - 3) / 3.0,
                  {{"region_bytes", 256.0 * mib * std::exp2(doubling)}, {"lines", 1e6}});
        for (int half = 0; half <= 14; ++half) {
            const double bytes = std::round(8.0 * std::exp2(half / 2.0)) * 64.0;
            add("constant_latency", "clk",
                constant_l1_clk + std::clamp((bytes / constant_l1_bytes - 1.0) / 0.5, 0.0, 1.0) *
                                      (constant_l2_clk - constant_l1_clk),
                {{"footprint_bytes", bytes}});
        }
    }

    void flight(const char *probe, double latency_s, double bandwidth, double p) {
        for (const double over_little : {0.15, 0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0, 8.0})
            add(probe, "B/s",
                bandwidth_in_flight(over_little * latency_s * bandwidth, latency_s, bandwidth, p),
                {{"bytes_in_flight", over_little * latency_s * bandwidth}});
    }

    void bandwidths() {
        exact("dram_read_bandwidth", "B/s", 3.5e12, {{"loads", 1.0}});
        exact("dram_read_bandwidth", "B/s", dram_bandwidth, {{"loads", 4.0}});
        exact("dram_write_bandwidth", "B/s", 3.9e12);
        exact("dram_copy_bandwidth", "B/s", 3.7e12);
        flight("dram_read_curve", dram_latency_s, dram_bandwidth, knee);
        flight("dram_write_curve", 400e-9, 3.9e12, 2.5);
        flight("dram_copy_curve", 450e-9, 3.7e12, 1.5);
        exact("l2_read_bandwidth", "B/s", 9.5e12);
        exact("l2_write_bandwidth", "B/s", 6e12);
        flight("l2_read_curve", 150e-9, 9.5e12, 3.0);
        flight("l2_write_curve", 170e-9, 6e12, 2.0);
        for (const double bytes : {4.0, 8.0, 16.0}) {
            exact("l1_bandwidth", "B/clk", 120.0 + bytes / 4.0, {{"bytes_per_lane", bytes}});
            exact("shared_bandwidth", "B/clk",
                  std::min(32.0 * bytes, 1.0 * gpu_.bank_width * gpu_.bank_count) * 0.99,
                  {{"bytes_per_lane", bytes}});
        }
    }

    void shared() {
        for (const double bytes : {4.0, 8.0, 16.0})
            for (const double lanes : {1.0, 2.0, 4.0, 8.0, 16.0, 32.0})
                add("shared_broadcast", "clk", std::max(1.0, bytes / 4.0 / lanes),
                    {{"bytes_per_lane", bytes}, {"lanes_per_address", lanes}});
        for (const int stride : {1, 2, 3, 4, 8, 16, 32, 64})
            add("banks", "clk", 0.1 + 1.0 * conflict_degree(stride, gpu_.bank_width, gpu_.bank_count),
                {{"stride_words", stride}});
        for (const double degree : {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 12.0, 16.0, 24.0, 32.0})
            add("conflicts", "clk", std::max(1.6, 0.1 + degree), {{"degree", degree}});
        for (const double bytes : {1.0, 2.0, 4.0, 8.0})
            for (double elements = 1.0; bytes * elements <= 16.0; elements *= 2.0)
                add("element_width", "B/clk", 32.0 * std::min(bytes * elements, 1.0 * gpu_.bank_width) * 0.99,
                    {{"element_bytes", bytes}, {"elements", elements}});
    }

    void granularity() {
        const auto at_level = [&](double level, double granule) {
            for (double stride = 4.0; stride <= 512.0; stride *= 2.0)
                add("stride_granularity", "1", std::min(stride, granule) / 4.0,
                    {{"stride_bytes", stride}, {"level", level}});
            for (const double aligned : {0.0, 1.0})
                for (double segment = 4.0; segment <= 256.0; segment *= 2.0)
                    add("segment_granularity", "1",
                        std::max(segment, granule) / segment +
                            (aligned == 1.0 ? 0.0 : granule / 2.0 / segment),
                        {{"segment_bytes", segment}, {"aligned", aligned}, {"level", level}});
        };
        if (gpu_.counters) {
            at_level(1.0, gpu_.granule);
            at_level(2.0, gpu_.sector);
        }
        const double slower = std::max(gpu_.granule, gpu_.sector);
        for (double stride = 4.0; stride <= 512.0; stride *= 2.0)
            add("stride_granularity", "B/s", dram_bandwidth * 4.0 / std::min(stride, slower),
                {{"stride_bytes", stride}, {"level", 0.0}});
        for (const double aligned : {0.0, 1.0})
            for (double segment = 4.0; segment <= 256.0; segment *= 2.0)
                add("segment_granularity", "B/s",
                    dram_bandwidth * segment / std::max(segment, slower) * (0.8 + 0.1 * aligned),
                    {{"segment_bytes", segment}, {"aligned", aligned}, {"level", 0.0}});
    }

    void launches() {
        for (const double ctas : {1.0, 2.0})
            for (const double warps : {1.0, 2.0, 4.0, 8.0, 16.0, 32.0})
                add("barrier_latency", "clk", 20.0 + ctas * warps, {{"warps", warps}, {"ctas_per_sm", ctas}});
        exact("atomic_latency", "clk", 350.0);
        for (const double addresses : {1.0, 32.0, 1024.0, 65536.0})
            add("atomic_rate", "s", 1e-9 / std::min(addresses, 64.0), {{"addresses", addresses}});
        for (double lines = 1.0; lines <= 16384.0; lines *= 2.0)
            add("float_adds", "s", 2e-9 / std::min(lines, 128.0), {{"lines", lines}});
        for (const double ctas : {1.0, 2.0})
            exact("grid_sync", "s", ctas * 1.2e-6, {{"ctas_per_sm", ctas}});
        for (const double cluster : {2.0, 4.0, 8.0}) {
            exact("cluster_latency", "clk", 190.0 + cluster, {{"cluster", cluster}});
            for (const double bytes : {4.0, 16.0})
                exact("cluster_bandwidth", "B/clk", 15.0 - 0.01 * bytes + 4.0 / cluster,
                      {{"cluster", cluster}, {"bytes_per_lane", bytes}});
            exact("cluster_barrier", "clk", 380.0 + 2.0 * cluster, {{"cluster", cluster}});
            exact("cluster_room", "1", 132.0 - cluster, {{"cluster", cluster}});
        }
        for (const double lanes : {32.0, 8.0, 4.0, 1.0})
            exact("store_sectors", "clk", lanes < 8.0 ? 3.1 : 1.6, {{"lanes", lanes}});
        exact("launch_floor", "s", 1.2e-6);
        exact("smallest_copy", "s", 1.6e-6);
        exact("launch_gap", "s", 0.8e-6);
        exact("launch_period", "s", 2.4e-6, {{"graph", 0.0}});
        exact("launch_period", "s", 1.3e-6, {{"graph", 1.0}});
        exact("early_launch_period", "s", 0.6e-6, {});
        for (double ctas = 1.0; ctas <= 6400.0; ctas *= 2.0)
            exact("launch_by_grid", "s", std::max(1.2e-6, 0.9e-6 + 1e-9 * ctas), {{"ctas", ctas}});
        for (const double streams : {2.0, 4.0, 8.0, 16.0}) {
            exact("graph_meets", "s", 1e-6 * streams, {{"streams", streams}});
            exact("stream_meets", "s", 3e-6 * streams, {{"streams", streams}});
        }
        raw_.samples.push_back(
            samples("shared_capacity", "B", {1.0 * raw_.limits.shared_bytes_per_cta}, {{"kind", 1.0}}));
        raw_.samples.push_back(
            samples("shared_capacity", "B", {1.0 * raw_.limits.shared_bytes_per_sm}, {{"kind", 2.0}}));
    }

    void links() {
        exact("host_copy", "B/s", 52e9, {{"direction", 1.0}});
        exact("host_copy", "B/s", 54e9, {{"direction", 2.0}});
        exact("host_copy", "B/s", 90e9, {{"direction", 3.0}});
        for (const double direction : {1.0, 2.0})
            for (double bytes = 1024.0; bytes <= 67108864.0; bytes *= 4.0)
                exact("host_copy_sizes", "s", 1.5e-6 + bytes / 52e9,
                      {{"direction", direction}, {"bytes", bytes}});
        if (gpu_.gpus < 2) {
            raw_.skipped["peer_copy"] = raw_.skipped["peer_meets"] = raw_.skipped["peer_all_pairs"] =
                "one GPU";
            return;
        }
        for (int gpus = 2; gpus <= gpu_.gpus; ++gpus)
            exact("peer_meets", "s", 12e-6 + 1e-6 * gpus, {{"gpus", 1.0 * gpus}});
        for (int from = 0; from < gpu_.gpus; ++from)
            for (int to = 0; to < gpu_.gpus; ++to)
                if (from != to) {
                    const std::map<std::string, double> ends = {{"from", from}, {"to", to}};
                    const auto kind = [&](double which, double direct) {
                        auto knobs = ends;
                        knobs["kind"] = which;
                        knobs["direct"] = direct;
                        return knobs;
                    };
                    exact("peer_copy", "B/s", 30e9, kind(1.0, 0.0));
                    exact("peer_copy", "B/s", 380e9 + from, kind(1.0, 1.0));
                    exact("peer_copy", "B/s", 750e9, kind(2.0, 1.0));
                    exact("peer_copy", "s", 1.1e-6, kind(3.0, 1.0));
                }
        exact("peer_all_pairs", "B/s", 760e9, {{"gpus", gpu_.gpus}});
    }

    Gpu gpu_;
    SplitMix64 random_{1};
    RawSamples raw_;
};

inline RawSamples whole_gpu(const Gpu &gpu = {}) {
    return Maker(gpu).make();
}

inline std::vector<ProbeSamples>::iterator find(RawSamples &raw, const std::string &probe) {
    return std::find_if(raw.samples.begin(), raw.samples.end(),
                        [&](const ProbeSamples &one) { return one.probe == probe; });
}

/// Those samples alone: analysed faster than a whole GPU's.
inline RawSamples only(RawSamples raw, const std::string &probe) {
    std::erase_if(raw.samples, [&](const ProbeSamples &one) { return one.probe != probe; });
    return raw;
}

/// Every configuration of a probe becomes what `change` makes of it.
template <class Change> void change(RawSamples &raw, const std::string &probe, const Change &change) {
    for (ProbeSamples &one : raw.samples)
        if (one.probe == probe)
            change(one);
}

inline void remove(RawSamples &raw, const std::string &probe) {
    std::erase_if(raw.samples, [&](const ProbeSamples &one) { return one.probe == probe; });
}

} // namespace convcast::planted
