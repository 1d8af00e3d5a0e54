#include "microbench/runners/harness.hpp"

#include <array>
#include <span>

namespace convcast::probe {
namespace {

constexpr unsigned threads = 1024, warps = threads / 32,
                   loads = 8; // of a thread; loads as in shared.cu, l1.cu

/// Which byte of shared memory each lane of a warp reads; the next load and the next warp move on by 512.
using Lanes = std::array<std::uint32_t, 32>;

template <class Place> Lanes lanes_at(const Place &place) {
    Lanes lanes{};
    for (unsigned lane = 0; lane < 32; ++lane)
        lanes[lane] = place(lane);
    return lanes;
}

Lanes neighbours(unsigned bytes) {
    return lanes_at([&](unsigned lane) { return bytes * lane; });
}

/// What a load of so many bytes at `byte` adds up to, of memory filled with word_at().
std::uint32_t loaded_at(std::uint32_t byte, unsigned bytes) {
    if (bytes < 4) {
        const std::uint32_t from = word_at(byte / 4) >> (8 * (byte % 4));
        return from & ((1u << (8 * bytes)) - 1);
    }
    std::uint32_t sum = 0;
    for (unsigned word = 0; word < bytes / 4; ++word)
        sum += word_at(byte / 4 + word);
    return sum;
}

/// Rates of 32 warps on each SM that read `bytes` a lane at `lanes`.
std::vector<Rate> shared_rates(const ProbeContext &context, const Module &module, unsigned bytes,
                               const Lanes &lanes, unsigned iterations, Seconds warm_up) {
    const Kernel kernel = module.kernel("shared_read<" + std::to_string(bytes) + ">");
    const DeviceBuffer<std::uint32_t> places{std::span<const std::uint32_t>(lanes)};
    DeviceBuffer<std::uint32_t> sink(std::size_t{sms(context)} * threads);
    sink.fill_bytes(0);
    const std::uint32_t *const places_data = places.data();
    std::uint32_t *const sink_data = sink.data();
    std::vector<Rate> found = rates(context, sms(context), warm_up, [&](Span *spans) {
        kernel.launch_with(dim3(sms(context)), dim3(threads), 0, context.watch.stream(), places_data,
                           iterations, sink_data, spans);
    });
    std::uint32_t expected = 0;
    for (unsigned warp = 0; warp < warps; ++warp)
        for (unsigned load = 0; load < loads; ++load)
            for (const std::uint32_t lane : lanes)
                expected += loaded_at(lane + 512 * (warp % 16 + load), bytes);
    expect_sum(sink, expected * iterations * sms(context), "shared_read");
    return found;
}

double clocks_per_load(const Rate &rate, unsigned iterations) {
    return rate.cycles_per_cta / (static_cast<double>(warps) * loads * iterations);
}

/// Of loads that cost up to 32 clocks; the fewer for conflicts.
constexpr unsigned many = 2000, few = 512;

} // namespace

Samples shared_bandwidth(ProbeContext &context, const Module &module) {
    Samples all;
    for (const unsigned bytes : {4u, 8u, 16u})
        all.push_back(samples_from(
            shared_rates(context, module, bytes, neighbours(bytes), many, warm_up_after(all)),
            "shared_bandwidth", "B/clk", {{"bytes_per_lane", bytes}, {"threads", threads}, {"loads", loads}},
            "conflict-free, by clock64 of the median SM",
            [&](const Rate &rate) { return 32.0 * bytes / clocks_per_load(rate, many); }));
    return all;
}

Samples shared_broadcast(ProbeContext &context, const Module &module) {
    Samples all;
    for (const unsigned bytes : {4u, 8u, 16u})
        for (const unsigned sharers : {1u, 2u, 4u, 8u, 16u, 32u}) {
            const Lanes lanes = lanes_at([&](unsigned lane) { return bytes * (lane / sharers); });
            all.push_back(samples_from(
                shared_rates(context, module, bytes, lanes, few, warm_up_after(all)), "shared_broadcast",
                "clk", {{"bytes_per_lane", bytes}, {"lanes_per_address", sharers}, {"threads", threads}},
                "clocks of the median SM per load of a warp; neighbouring lanes share, groups are neighbours",
                [](const Rate &rate) { return clocks_per_load(rate, few); }));
        }
    return all;
}

Samples banks(ProbeContext &context, const Module &module) {
    Samples all;
    for (const unsigned stride : {1u, 2u, 3u, 4u, 8u, 16u, 32u, 64u}) {
        const Lanes lanes = lanes_at([&](unsigned lane) { return 4 * stride * lane; });
        all.push_back(samples_from(shared_rates(context, module, 4, lanes, few, warm_up_after(all)), "banks",
                                   "clk", {{"stride_words", stride}, {"threads", threads}},
                                   "clocks of the median SM per LDS.32 of a warp",
                                   [](const Rate &rate) { return clocks_per_load(rate, few); }));
    }
    return all;
}

Samples conflicts(ProbeContext &context, const Module &module) {
    constexpr unsigned row_words = 32; // banks; as probe banks finds on every GPU since Fermi
    Samples all;
    for (const unsigned degree : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 12u, 16u, 24u, 32u}) {
        // The last group is smaller where the degree does not divide 32: no bank is busier than `degree`.
        const Lanes lanes =
            lanes_at([&](unsigned lane) { return 4 * (row_words * (lane % degree) + lane / degree); });
        all.push_back(
            samples_from(shared_rates(context, module, 4, lanes, few, warm_up_after(all)), "conflicts", "clk",
                         {{"degree", degree}, {"threads", threads}},
                         "clocks of the median SM per LDS.32 of a warp; groups of lanes, each in one "
                         "bank and in rows of their own",
                         [](const Rate &rate) { return clocks_per_load(rate, few); }));
    }
    return all;
}

Samples element_width(ProbeContext &context, const Module &module) {
    Samples all;
    for (const unsigned bytes : {1u, 2u, 4u, 8u, 16u}) {
        const std::vector<Rate> found =
            shared_rates(context, module, bytes, neighbours(bytes), many, warm_up_after(all));
        for (const unsigned element : {1u, 2u, 4u, 8u})
            if (element <= bytes)
                all.push_back(samples_from(
                    found, "element_width", "B/clk",
                    {{"element_bytes", element},
                     {"elements", bytes / element},
                     {"bytes_per_lane", bytes},
                     {"threads", threads}},
                    "neighbouring lanes, one load a lane whatever the elements; by clock64 of the median SM",
                    [&](const Rate &rate) { return 32.0 * bytes / clocks_per_load(rate, many); }));
    }
    return all;
}

Samples l1_bandwidth(ProbeContext &context, const Module &module) {
    constexpr unsigned iterations = many, starts = 16, chunk_words = 128; // as in l1.cu
    static_assert(iterations % starts == 0);
    const FilledBuffer buffer(context, (starts + loads) * chunk_words * sizeof(std::uint32_t));
    const auto *const data = reinterpret_cast<const std::uint32_t *>(buffer.data.data());
    Samples all;
    for (const unsigned bytes : {4u, 8u, 16u}) {
        const unsigned words = bytes / 4;
        const Kernel kernel = module.kernel("l1_read<" + std::to_string(words) + ">");
        DeviceBuffer<std::uint32_t> sink(std::size_t{sms(context)} * threads);
        sink.fill_bytes(0);
        std::uint32_t *const sink_data = sink.data();
        const std::vector<Rate> found = rates(context, sms(context), warm_up_after(all), [&](Span *spans) {
            kernel.launch_with(dim3(sms(context)), dim3(threads), 0, context.watch.stream(), data, iterations,
                               sink_data, spans);
        });
        std::uint32_t expected = 0; // of one warp in `starts` iterations, wherever it begins
        for (unsigned start = 0; start < starts; ++start)
            for (unsigned load = 0; load < loads; ++load)
                for (unsigned word = 0; word < 32 * words; ++word)
                    expected += word_at(chunk_words * (start + load) + word);
        expect_sum(sink, expected * (iterations / starts) * warps * sms(context), "l1_read");
        all.push_back(
            samples_from(found, "l1_bandwidth", "B/clk",
                         {{"bytes_per_lane", bytes},
                          {"threads", threads},
                          {"loads", loads},
                          {"footprint_bytes", (starts + loads - 1) * chunk_words * 4.0}},
                         "neighbouring lanes, hits of L1, by clock64 of the median SM",
                         [&](const Rate &rate) { return 32.0 * bytes / clocks_per_load(rate, iterations); }));
    }
    return all;
}

} // namespace convcast::probe
