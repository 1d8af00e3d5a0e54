// Bytes a second of DRAM and L2, by bytes in flight, and what moves at once.
#include "microbench/derived.hpp"
#include "microbench/probes/rows.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace convcast {
namespace {

ClockedLaunch store_sectors(const ProbePoint &at) {
    constexpr unsigned iterations = 64, line_words = 32, sector_lanes = 8; // as in store_sectors.cu
    const unsigned lanes = at["lanes"], threads = at["threads"], places = at["places"], runs = 32 / lanes;
    const double sectors = lanes < sector_lanes ? runs : 32.0 / sector_lanes; // of a warp's store
    return {.kernel = "store_sectors<{lanes}>",
            .amount = sectors * iterations * places * threads / 32,
            .threads = threads,
            .scalars = {iterations},
            .memory =
                std::vector<std::uint32_t>(threads / 32 * places * runs * line_words, ~std::uint32_t{0}),
            .memory_of_cta = true,
            .spread = true,
            .right = [=](std::size_t word, std::uint32_t seen) {
                const std::size_t place = word / (runs * line_words) % places;
                return seen == (word % line_words < lanes ? iterations - 1 + place : ~std::uint32_t{0});
            }};
}

} // namespace

std::vector<Probe> bandwidth_probes() {
    const ProbeCurve in_flight{
        CurveAxis("bytes in flight", "B", true), bandwidth_axis, Better::highest, {"bytes_in_flight"}};
    const std::vector<std::string> batches = {"1", "2", "4", "8"};
    return {
        Probe("dram_read_bandwidth", "How fast can DRAM be read?", "dram_read.cu", "B/s",
              "16 B a lane, read only, L2 flushed before",
              {.fields = {{"dram_read_bandwidth", Better::highest}}}),
        Probe("dram_write_bandwidth", "How fast can DRAM be written?", "dram_write.cu", "B/s",
              "16 B a lane, write only, the same writes ran right before",
              {.fields = {{"dram_write_bandwidth", Better::highest}}}),
        Probe("dram_copy_bandwidth", "How fast can DRAM be read and written at once?", "dram_copy.cu", "B/s",
              "16 B a lane, bytes read and bytes written together; the same copy ran right before",
              {.fields = {{"dram_copy_bandwidth", Better::highest}}},
              {.templates = instances("dram_copy<{}, {}, false>", {{"4", "8"}, {"false", "true"}})}),
        Probe("dram_read_curve", "How fast is DRAM read with so many bytes in flight?", "dram_read.cu", "B/s",
              "16 B a lane, read only, L2 flushed before",
              {.fields = {{"dram_read_curve"}, {"knee_exponent"}}, .curve = in_flight},
              {.templates = instances("dram_read<{}>", {batches})}),
        Probe("dram_write_curve", "How fast is DRAM written with so many bytes in flight?", "dram_write.cu",
              "B/s",
              "16 B a lane; a thread waits by __threadfence after each batch of stores; the same writes "
              "ran right before",
              {.fields = {{"dram_write_curve"}}, .curve = in_flight},
              {.templates = instances("dram_write_fenced<{}>", {batches})}),
        Probe("dram_copy_curve", "How fast is DRAM copied with so many bytes in flight?", "dram_copy.cu",
              "B/s",
              "16 B a lane, bytes read and bytes written together; a thread waits by __threadfence after "
              "each batch of stores; the same copy ran right before",
              {.fields = {{"dram_copy_curve"}}, .curve = in_flight},
              {.templates = instances("dram_copy<{}, false, true>", {batches})}),
        Probe("l2_read_bandwidth", "How fast can all SMs read from L2?", "l2_read.cu", "B/s",
              "16 B a lane, past L1, L2 warm; warps draw tickets for 32 KiB each",
              {.fields = {{"l2_read_bandwidth", Better::highest}}},
              {.templates = {"l2_read_all<4>", "l2_read_slices<8>", "l2_read_slices<16>"}}),
        Probe("l2_write_bandwidth", "How fast can all SMs write to L2?", "l2_write.cu", "B/s",
              "16 B a lane, L2 warm; warps draw tickets for 32 KiB each",
              {.fields = {{"l2_write_bandwidth", Better::highest}}}, {.templates = {"l2_write<4, false>"}}),
        Probe("l2_read_curve", "How fast is L2 read with so many bytes in flight?", "l2_read.cu", "B/s",
              "16 B a lane, past L1, L2 warm; warps draw tickets for 32 KiB each",
              {.fields = {{"l2_read_curve"}}, .curve = in_flight},
              {.templates = instances("l2_read_tickets<{}>", {batches})}),
        Probe("l2_write_curve", "How fast is L2 written with so many bytes in flight?", "l2_write.cu", "B/s",
              "16 B a lane, L2 warm; warps draw tickets for 32 KiB each; a thread waits by __threadfence "
              "after each batch of stores",
              {.fields = {{"l2_write_curve"}}, .curve = in_flight},
              {.templates = instances("l2_write<{}, true>", {batches})}),
        Probe("store_sectors", "What does a store take that fills sectors, and one that does not?",
              "store_sectors.cu", "clk",
              "4 B a lane, runs of lanes begin lines, data in L2, all SMs store; until a fence says that "
              "they are "
              "performed, by clock64 of the median SM, for each sector",
              {.fields = {{"sector_store_time", Better::lowest, {{"lanes", 32.0}}},
                          {"partial_sector_store_time", Better::lowest, {{"lanes", 4.0}}}},
               .curve =
                   ProbeCurve(CurveAxis("lanes that store side by side", "1", true),
                              CurveAxis("time of an SM's sector", "clk", false), Better::lowest, {"lanes"})},
              {.axes = {{"lanes", {32, 8, 4, 1}}, {"threads", {512}}, {"places", {4}}},
               .launch = store_sectors}),
    };
}

} // namespace convcast
