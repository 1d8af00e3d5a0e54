// A profile like a real one of an H200, with every number, curve and link, made of round rules instead of
// measurements.
#pragma once

#include "model/base/described.hpp"
#include "model/machine/profile.hpp"
#include "tests/unit/sample_run.hpp"

#include <fmt/format.h>

#include <cstring>

namespace convcast::sample {

/// Eq. M1 with noise, from 1 to 128 KiB an SM.
inline FlightCurve flight_curve(double latency, double bandwidth, double exponent, Noise &noise) {
    FlightCurve curve;
    for (double per_sm = 1024.0; per_sm < 1.4e5; per_sm *= 1.414213562373095) {
        const double v = 132.0 * per_sm;
        const double time =
            std::pow(std::pow(latency, exponent) + std::pow(v / bandwidth, exponent), 1.0 / exponent);
        curve.bytes_in_flight.push_back(std::round(v));
        curve.bandwidth.push_back(v / time * noise(0.02));
    }
    const auto bytes_for = [&](double share) {
        return latency * bandwidth * std::pow(std::pow(share, -exponent) - 1.0, -1.0 / exponent);
    };
    curve.fit =
        FlightFit{latency, bandwidth, exponent, 0.021, latency * bandwidth, bytes_for(0.9), bytes_for(0.95)};
    return curve;
}

/// A line whose y follow `of`; the spread is 2 % of y.
template <class Of>
CurveSeries line(const std::string &name, const std::vector<double> &xs, Noise &noise, Of of) {
    CurveSeries series;
    series.name = name;
    for (const double x : xs) {
        const double y = of(x) * noise(0.01);
        series.x.push_back(x);
        series.y.push_back(y);
        series.low.push_back(y * (1.0 - 0.02 * noise(0.9)));
        series.high.push_back(y * (1.0 + 0.03 * noise(0.9)));
    }
    return series;
}

inline std::vector<double> doubling(double first, double last, double factor = 2.0) {
    std::vector<double> values;
    for (double x = first; x <= last * 1.0000001; x *= factor)
        values.push_back(std::round(x));
    return values;
}

inline void add_curves(GpuProfile &profile) {
    Noise noise;
    profile.dram_read_curve = flight_curve(690e-9 / 1.98 * 1.9, 4.7e12, 2.1, noise);
    profile.dram_write_curve = flight_curve(560e-9, 4.4e12, 1.6, noise);
    profile.dram_copy_curve = flight_curve(720e-9, 4.1e12, 1.7, noise);
    profile.l2_read_curve = flight_curve(150e-9, 9.3e12, 2.6, noise);
    profile.l2_write_curve = flight_curve(210e-9, 6.1e12, 1.4, noise);
    profile.dram_copy_curve->fit.reset();

    const auto plateau = [](double x, double first, double second, double at) {
        return x <= at ? first : second - (second - first) * std::pow(at / x, 3.0);
    };
    auto &curves = profile.curves;
    curves["latency_by_footprint"] = {"footprint", "B", "latency", "clk", true, true, {}};
    curves["latency_by_footprint"].series = {
        line("", doubling(4096.0, 268435456.0, 1.3), noise, [&](double x) {
            return plateau(x, 39.0, plateau(x, 260.0, plateau(x, 300.0, 690.0, 5.2e7), 2.6e7), 2.2e5);
        })};
    curves["tlb_latency"] = {"region", "B", "latency", "clk", true, false, {}};
    curves["tlb_latency"].series = {line("", doubling(268435456.0, 17179869184.0), noise,
                                         [&](double x) { return plateau(x, 690.0, 1120.0, 2.1e9); })};
    curves["constant_latency"] = {"footprint", "B", "latency", "clk", true, false, {}};
    curves["constant_latency"].series = {line("", doubling(512.0, 65536.0), noise, [&](double x) {
        return plateau(x, 27.0, plateau(x, 92.0, 250.0, 32768.0), 2048.0);
    })};
    curves["l2_latency"] = {"SM", "1", "latency", "clk", false, false, {}};
    std::vector<double> sms;
    for (int sm = 0; sm < 132; ++sm)
        sms.push_back(sm);
    curves["l2_latency"].series = {
        line("", sms, noise, [](double sm) { return static_cast<int>(sm) / 2 % 2 == 0 ? 221.0 : 263.0; })};
    const std::vector<double> widths = {4.0, 8.0, 16.0};
    curves["l1_bandwidth"] = {"bytes a lane", "B", "bandwidth", "B/clk", true, false, {}};
    curves["l1_bandwidth"].series = {
        line("", widths, noise, [](double x) { return x < 5.0 ? 63.0 : 117.0; })};
    curves["shared_bandwidth"] = {"bytes a lane", "B", "bandwidth", "B/clk", true, false, {}};
    curves["shared_bandwidth"].series = {line("", widths, noise, [](double) { return 127.0; })};
    curves["element_width"] = {
        "elements a lane loads at once", "1", "useful bandwidth", "B/clk", true, false, {}};
    for (const int bytes : {1, 2, 4, 8})
        curves["element_width"].series.push_back(
            line(fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s"), doubling(1.0, 16.0 / bytes), noise,
                 [&](double x) { return std::min(127.0, 32.0 * x * bytes); }));
    curves["conflicts"] = {"lanes in one bank", "1", "time of a warp's load", "clk", false, false, {}};
    curves["conflicts"].series = {
        line("", {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32}, noise, [](double x) { return 1.0 + 1.0 * x; })};
    curves["banks"] = {"stride, words", "1", "time of a warp's load", "clk", true, true, {}};
    curves["banks"].series = {line("", {1, 2, 3, 4, 8, 16, 32, 64}, noise,
                                   [](double x) { return x == 3.0 ? 1.1 : 0.1 + std::min(x, 32.0); })};
    curves["shared_broadcast"] = {"lanes per address", "1", "time of a warp's load", "clk", true, false, {}};
    for (const int bytes : {4, 8, 16})
        curves["shared_broadcast"].series.push_back(
            line(fmt::format("{} bytes a lane", bytes), doubling(1.0, 32.0), noise,
                 [&](double x) { return std::max(1.0, bytes / 4.0 / x); }));
    curves["stride_granularity"] = {"stride", "B", "bytes moved per useful byte", "1", true, true, {}};
    for (const char *level : {"DRAM", "L2 to SM"})
        curves["stride_granularity"].series.push_back(line(level, doubling(4.0, 512.0), noise, [&](double x) {
            return std::min(x / 4.0, *level == 'D' ? 16.0 : 8.0);
        }));
    curves["segment_granularity"] = {"segment", "B", "bytes moved per useful byte", "1", true, true, {}};
    for (const char *level : {"DRAM, aligned", "DRAM, anywhere", "L2 to SM, aligned", "L2 to SM, anywhere"})
        curves["segment_granularity"].series.push_back(
            line(level, doubling(4.0, 256.0), noise, [&](double x) {
                const double granule = *level == 'D' ? 64.0 : 32.0;
                return std::max(1.0, granule / x) * (level[std::strlen(level) - 1] == 'e' ? 1.4 : 1.0);
            }));
    curves["ffma_by_ilp"] = {"warps of an SM", "1", "rate", "fma/clk", true, false, {}};
    for (const int ilp : {1, 2, 4, 8})
        curves["ffma_by_ilp"].series.push_back(
            line(fmt::format("{} independent FFMA{}", ilp, ilp == 1 ? "" : "s"), doubling(1.0, 32.0), noise,
                 [&](double x) { return std::min(126.0, 32.0 * x * ilp / 4.0); }));
    curves["ffma_by_operands"] = {"FFMAs of the outer product", "1", "rate", "fma/clk", true, false, {}};
    curves["ffma_by_operands"].series = {
        line("", {4, 8, 16, 32, 64, 128}, noise, [](double x) { return 96.0 + 30.0 * (1.0 - 4.0 / x); })};
    curves["ffma_beside_shared"] = {"FFMAs per load", "1", "time of an iteration", "clk", true, false, {}};
    for (const char *mix : {"together", "longer alone", "sum"})
        curves["ffma_beside_shared"].series.push_back(line(mix, doubling(1.0, 64.0), noise, [&](double x) {
            const double longer = std::max(4.0 * x, 32.0), sum = 4.0 * x + 32.0;
            return *mix == 't' ? 0.3 * sum + 0.7 * longer : *mix == 'l' ? longer : sum;
        }));
    curves["barrier_latency"] = {"warps of a CTA", "1", "time of a barrier", "clk", true, false, {}};
    for (const int ctas : {1, 2})
        curves["barrier_latency"].series.push_back(
            line(fmt::format("{} CTA{} an SM", ctas, ctas == 1 ? "" : "s"), doubling(1.0, 32.0), noise,
                 [&](double x) { return 18.0 + 1.3 * x * ctas; }));
    curves["atomic_rate"] = {"distinct addresses", "1", "time per add", "s", true, true, {}};
    curves["atomic_rate"].series = {
        line("", {1, 32, 1024, 65536}, noise, [](double x) { return 4.2e-10 / std::min(x, 400.0) + 1e-12; })};
    curves["launch_by_grid"] = {"CTAs", "1", "time of an empty kernel", "s", true, true, {}};
    curves["launch_by_grid"].series = {
        line("", doubling(1.0, 8448.0), noise, [](double x) { return 2.5e-6 + 0.6e-9 * x; })};
    curves["new_probe"] = {"things", "1", "other things", "Hz", false, false, {}};
    for (int i = 0; i < 8; ++i)
        curves["new_probe"].series.push_back(line(fmt::format("{} held fixed in this line", i),
                                                  {1, 2, 3, 4, 5}, noise,
                                                  [&](double x) { return 1e9 + 1e8 * x * i; }));
}

/// Values of the size of an H200's where it has them, else some of that unit.
inline GpuProfile profile() {
    GpuProfile profile = find_profile("h200");
    Noise noise;
    profile.l1_seen_bytes = {Bytes(221184.0), Source::measured, "latency_by_footprint"};
    profile.l2_seen_bytes = {Bytes(28.5 * 1048576.0), Source::measured, "latency_by_footprint"};
    profile.constant_l1_seen_bytes = {Bytes(2048.0), Source::measured, "constant_latency"};
    profile.l2_latency = {Cycles(243.0), Source::measured, "l2_latency (footprint_bytes=4194304, sm=17)"};
    boost::mp11::mp_for_each<described::Members<GpuProfile>>([&](auto member) {
        auto &field = profile.*member.pointer;
        using Field = std::decay_t<decltype(field)>;
        if constexpr (described::IsOptional<Field>::value)
            if constexpr (described::IsParam<typename Field::value_type>::value) {
                using Q = decltype(field->value);
                if (!field)
                    field = {Q(std::is_same_v<Q, Seconds>     ? 3.1e-6
                               : std::is_same_v<Q, Bandwidth> ? 55e9
                               : std::is_same_v<Q, Bytes>     ? 32.0
                               : std::is_same_v<Q, Cycles>    ? 29.0
                                                              : 1.0),
                             Source::measured, std::string(member.name) + " (threads=256)"};
                const double v = field->value.value;
                field->spread = Spread{v * (1.0 - 0.004 * noise(0.9)), v, v * (1.0 + 0.006 * noise(0.9)), 15};
                field->interval = Interval{v * (1.0 - 0.001 * noise(0.9)), v * (1.0 + 0.002 * noise(0.9))};
            }
    });
    profile.l2_latency->populations = {221.4, 263.1};
    profile.half_rate.reset();
    profile.missing = {{"half_rate", "probe half_rate failed: out of registers"},
                       {"peer_all_pairs_bandwidth", "one GPU: nothing to copy to"},
                       {"peers", "one GPU: nothing to copy to"}};
    profile.peer_all_pairs_bandwidth.reset();
    profile.checks = {
        {"little_law", true, "V_s by the curve, 3.13 MiB, and latency x bandwidth, 3.09 MiB"},
        {"l2_capacity", false, "L2 as seen, 28.5 MiB, is less than half of what the driver says, 60 MiB"}};
    profile.notes = {"l2_latency: two groups of SMs, at 221 and 263 clk"};
    for (int from = 0; from < 4; ++from)
        for (int to = 0; to < 4; ++to)
            if (from != to)
                profile.peers.push_back(
                    {from, to, from + to != 3, Bandwidth((from + to == 3 ? 26e9 : 392e9) * noise(0.01)),
                     Bandwidth((from + to == 3 ? 40e9 : 760e9) * noise(0.01)), Seconds(1.9e-6)});
    add_curves(profile);
    return profile;
}

} // namespace convcast::sample
