// What loads of L1 and shared memory cost by their width and by the places of a warp's lanes, and what moves
// at once.
#include "microbench/curves.hpp"
#include "microbench/derived.hpp"
#include "microbench/patterns.hpp"
#include "microbench/probes/rows.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr unsigned loads = 8, warps = 32; // of a thread at once, as in shared.cu and l1.cu; of a CTA
constexpr unsigned many = 2000,
                   few = 512; // iterations; the fewer where conflicts make a load cost up to 32 clocks

/// Warps on each SM that load `bytes` a lane, lane l at byte place(l) of shared memory; the next load and the
/// next warp move on by 512 bytes.
template <class Place>
ClockedLaunch shared_read(const std::string &bytes, unsigned iterations, double amount_of_load,
                          const Place &place) {
    const auto width = static_cast<unsigned>(std::stoul(bytes));
    std::vector<std::uint32_t> lanes;
    for (unsigned lane = 0; lane < 32; ++lane)
        lanes.push_back(place(lane));
    std::uint32_t sum = 0;
    for (unsigned warp = 0; warp < warps; ++warp)
        for (unsigned load = 0; load < loads; ++load)
            for (const std::uint32_t lane : lanes)
                sum += loaded_at(lane + 512 * (warp % 16 + load), width);
    return {.kernel = "shared_read<" + bytes + ">",
            .amount = amount_of_load * warps * loads * iterations,
            .threads = 32 * warps,
            .scalars = {iterations},
            .memory = std::move(lanes),
            .results = 32 * warps,
            .sum = sum * iterations};
}

/// Neighbouring lanes read neighbouring bytes.
ClockedLaunch shared_side_by_side(const ProbePoint &at) {
    const unsigned bytes = at["bytes_per_lane"];
    return shared_read(std::to_string(bytes), many, 32.0 * bytes,
                       [&](unsigned lane) { return bytes * lane; });
}

ClockedLaunch shared_broadcast(const ProbePoint &at) {
    const unsigned bytes = at["bytes_per_lane"], sharers = at["lanes_per_address"];
    return shared_read(std::to_string(bytes), few, 1.0,
                       [&](unsigned lane) { return bytes * (lane / sharers); });
}

ClockedLaunch bank_stride(const ProbePoint &at) {
    const unsigned stride = at["stride_words"];
    return shared_read("4", few, 1.0, [&](unsigned lane) { return 4 * stride * lane; });
}

ClockedLaunch bank_conflict(const ProbePoint &at) {
    constexpr unsigned row_words = 32; // banks; as probe banks finds on every GPU since Fermi
    const unsigned degree = at["degree"];
    // The last group is smaller where the degree does not divide 32: no bank is busier than `degree`.
    return shared_read("4", few, 1.0,
                       [&](unsigned lane) { return 4 * (row_words * (lane % degree) + lane / degree); });
}

ClockedLaunch elements(const ProbePoint &at) {
    if (at["element_bytes"] > at["bytes_per_lane"])
        return {};
    ClockedLaunch launch = shared_side_by_side(at);
    launch.knobs = {{"elements", at["bytes_per_lane"] / at["element_bytes"]}};
    return launch;
}

ClockedLaunch l1_read(const ProbePoint &at) {
    constexpr unsigned starts = 16, chunk_words = 128; // as in l1.cu
    static_assert(many % starts == 0);
    const unsigned bytes = at["bytes_per_lane"];
    std::uint32_t sum = 0; // of one warp in `starts` iterations, wherever it begins
    for (unsigned start = 0; start < starts; ++start)
        for (unsigned load = 0; load < loads; ++load)
            for (unsigned word = 0; word < 8 * bytes; ++word)
                sum += word_at(chunk_words * (start + load) + word);
    return {.kernel = "l1_read<" + std::to_string(bytes / 4) + ">",
            .amount = 32.0 * bytes * warps * loads * many,
            .threads = 32 * warps,
            .scalars = {many},
            .memory = words((starts + loads) * chunk_words),
            .results = 32 * warps,
            .knobs = {{"footprint_bytes", (starts + loads - 1) * chunk_words * 4.0}},
            .sum = sum * (many / starts) * warps};
}

} // namespace

std::vector<Probe> shared_memory_probes() {
    constexpr CurveAxis warp_load("time of a warp's load", "clk", true);
    const ProbeCurve by_width{lane_bytes_axis, sm_bandwidth_axis, Better::highest, {"bytes_per_lane"}};
    const std::vector<std::string> widths = {"1", "2", "4", "8", "16", "32", "64"};
    return {
        Probe("l1_bandwidth", "How many bytes that hit L1 does an SM read a clock?", "l1.cu", "B/clk",
              "neighbouring lanes, hits of L1, by clock64 of the median SM",
              {.fields = {{"l1_bandwidth", Better::highest}}, .curve = by_width},
              {.axes = {{"bytes_per_lane", {4, 8, 16}}, {"threads", {1024}}, {"loads", {8}}},
               .launch = l1_read}),
        Probe("shared_bandwidth", "How many bytes of shared memory does an SM read a clock?", "shared.cu",
              "B/clk", "conflict-free, by clock64 of the median SM",
              {.fields = {{"shared_bandwidth", Better::highest}}, .curve = by_width},
              {.axes = {{"bytes_per_lane", {4, 8, 16}}, {"threads", {1024}}, {"loads", {8}}},
               .launch = shared_side_by_side}),
        Probe("shared_broadcast", "What does a shared load cost when lanes share addresses?", "shared.cu",
              "clk",
              "clocks of the median SM per load of a warp; neighbouring lanes share, groups are neighbours",
              {.curve = ProbeCurve(CurveAxis("lanes that share an address", "1", true), warp_load,
                                   Better::lowest, {"lanes_per_address"}, "bytes_per_lane", "{} B a lane")},
              {.axes = {{"bytes_per_lane", {4, 8, 16}},
                        {"lanes_per_address", {1, 2, 4, 8, 16, 32}},
                        {"threads", {1024}}},
               .launch = shared_broadcast}),
        Probe("banks", "How many banks has shared memory, and how wide are they?", "shared.cu", "clk",
              "clocks of the median SM per LDS.32 of a warp",
              {.fields = {{"bank_width"}, {"bank_count"}},
               .curve = ProbeCurve(CurveAxis("stride", "words", true), warp_load, Better::lowest,
                                   {"stride_words"}),
               .derive = derive_banks},
              {.axes = {{"stride_words", {1, 2, 3, 4, 8, 16, 32, 64}}, {"threads", {1024}}},
               .launch = bank_stride}),
        Probe("conflicts", "What does a shared load cost when so many lanes meet in one bank?", "shared.cu",
              "clk",
              "clocks of the median SM per LDS.32 of a warp; groups of lanes, each in one bank and in "
              "rows of their "
              "own",
              {.fields = {{"conflict_cost"}},
               .curve =
                   ProbeCurve(CurveAxis("lanes that meet in a bank", "1", false),
                              CurveAxis("time of a warp's load", "clk", false), Better::lowest, {"degree"}),
               .derive = derive_conflict_cost},
              {.axes = {{"degree", {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32}}, {"threads", {1024}}},
               .launch = bank_conflict}),
        Probe("element_width", "How many elements of 1, 2, 4 or 8 bytes must a lane load at once?",
              "shared.cu", "B/clk",
              "neighbouring lanes, one load a lane whatever the elements; by clock64 of the median SM",
              {.fields = {{"matched_elements_1_byte"},
                          {"matched_elements_2_byte"},
                          {"matched_elements_4_byte"},
                          {"matched_elements_8_byte"}},
               .curve = ProbeCurve(CurveAxis("elements a lane loads at once", "1", true), sm_bandwidth_axis,
                                   Better::highest, {"elements"}, "element_bytes", "elements of {} B"),
               .derive = derive_matched_elements},
              {.axes = {{"bytes_per_lane", {1, 2, 4, 8, 16}},
                        {"element_bytes", {1, 2, 4, 8}},
                        {"threads", {1024}}},
               .launch = elements}),
        Probe("stride_granularity", "What moves when lanes read 4 bytes at a stride?", "stride.cu", "B/s",
              "useful bytes over time, 4 B a lane, L2 flushed before",
              {.fields = {{"sector_bytes"}}, .derive = derive_sector, .draw = draw_strides}),
        Probe("segment_granularity", "What moves when segments of some bytes are read from random places?",
              "segment.cu", "B/s", "useful bytes over time, 4 B a lane, L2 flushed before",
              {.fields = {{"dram_granule_bytes"}}, .derive = derive_granule, .draw = draw_segments},
              {.templates = instances("segment_{}<{}, {}>", {{"read", "sum"}, widths, {"true", "false"}})}),
    };
}

} // namespace convcast
