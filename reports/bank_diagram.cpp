#include "reports/bank_diagram.hpp"

#include "model/work/shared_access.hpp"
#include "reports/diagram_canvas.hpp"
#include "reports/papers/context.hpp"
#include "reports/partition_diagram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace convcast {
namespace {

/// What the banks deliver in one wavefront.
struct Wavefront {
    std::vector<std::vector<int>> banks; ///< [bank][element of it]: the lane that asked for it; -1: none did
    std::int64_t first_lane = shared_banks, last_lane = -1;
    std::int64_t used = 0; ///< elements that a lane asked for
};

/// One load instruction of a warp.
struct Load {
    std::int64_t begin; ///< the first lane's first element
    std::vector<Wavefront> wavefronts;
};

/// The load in which the first lane reads from element `begin` on, in the wavefronts that warp_passes()
/// counts: if a lane reads more than a bank is wide, a part of the warp is served at a time; accesses to
/// different places of one bank are served one after the other.
Load load_of(const PaperBanks &read, std::int64_t bank_bytes, std::int64_t begin) {
    const std::int64_t element = read.element_bytes,
                       in_bank = std::max<std::int64_t>(1, bank_bytes / element), // elements
        taken = std::max<std::int64_t>(1, read.unit * element / bank_bytes),      // banks of a lane
        together = warp_lanes / taken; // lanes that are served at a time
    Load load{begin, {}};
    for (std::int64_t group = 0; group < warp_lanes; group += together) {
        const std::size_t before = load.wavefronts.size();
        // Of each bank the places that were asked for, in order: the first is served in the first wavefront.
        std::array<std::vector<std::int64_t>, std::size_t(shared_banks)> places;
        for (std::int64_t lane = group; lane < group + together; ++lane)
            for (std::int64_t i = 0; i < read.unit; ++i) {
                const std::int64_t at = begin + lane * read.unit + i, place = at / in_bank;
                std::vector<std::int64_t> &asked = places[static_cast<std::size_t>(place % shared_banks)];
                const auto found = std::find(asked.begin(), asked.end(), place);
                const std::size_t pass = before + static_cast<std::size_t>(found - asked.begin());
                if (found == asked.end())
                    asked.push_back(place);
                if (pass == load.wavefronts.size())
                    load.wavefronts.push_back({std::vector<std::vector<int>>(
                        std::size_t(shared_banks), std::vector<int>(std::size_t(in_bank), -1))});
                Wavefront &wavefront = load.wavefronts[pass];
                wavefront.banks[static_cast<std::size_t>(place % shared_banks)]
                               [static_cast<std::size_t>(at % in_bank)] = int(lane);
                wavefront.first_lane = std::min(wavefront.first_lane, lane);
                wavefront.last_lane = std::max(wavefront.last_lane, lane);
                ++wavefront.used;
            }
    }
    return load;
}

/// The loads that are drawn: all of one warp, each a `unit` further than the one before; or, where the read
/// has a row, one of each warp of that row.
std::vector<Load> loads_of(const PaperBanks &read, std::int64_t bank_bytes) {
    std::vector<Load> loads;
    const std::int64_t warp = warp_lanes * read.unit;
    if (read.row)
        for (std::int64_t begin = 0; begin + warp <= *read.row - read.halo.value_or(0); begin += warp)
            loads.push_back(load_of(read, bank_bytes, begin));
    else
        for (std::int64_t i = 0; i < read.loads.value_or(1); ++i)
            loads.push_back(load_of(read, bank_bytes, i * read.unit));
    return loads;
}

/// "Warp 0: elements 0 to 63", "Load of elements 2 to 65"
std::string words_of(const PaperBanks &read, const Load &load) {
    const std::int64_t end = load.begin + warp_lanes * read.unit - 1;
    return fmt::format("{} elements {} to {}",
                       read.row ? fmt::format("Warp {}:", load.begin / (warp_lanes * read.unit)) : "Load of",
                       load.begin, end);
}

/// A row of boxes, one for each bank. Returns the lower end.
double draw_wavefront(diagram::Canvas &canvas, const Wavefront &wavefront, double y) {
    using namespace diagram;
    constexpr double high = 8.0;
    const double bank = (canvas.width() - 2.0 * gap) / double(shared_banks);
    for (std::size_t b = 0; b < wavefront.banks.size(); ++b) {
        const std::vector<int> &elements = wavefront.banks[b];
        const double cell = bank / double(elements.size()), left = gap + double(b) * bank;
        for (std::size_t i = 0; i < elements.size(); ++i)
            if (elements[i] >= 0)
                canvas.patch(left + double(i) * cell, y, cell, high, map_colour,
                             elements[i] % 2 == 0 ? When::now : When::next);
        canvas.rect(left, y, bank, high, "fill=\"none\" stroke=\"#444\" stroke-width=\"0.5\"");
    }
    return y + high + 1.0;
}

} // namespace

std::string bank_diagram(const PaperBanks &read, const GpuProfile &profile, const PaperWidth &width) {
    using namespace diagram;
    const std::int64_t bank_bytes = bank_bytes_of(profile);
    Canvas canvas(width.bp);
    double y = canvas.heading(
        gap, fmt::format("{}: 32 banks of {} bytes, bank 0 at the left", short_name(profile), bank_bytes));
    for (const Load &load : loads_of(read, bank_bytes)) {
        canvas.text(gap, y, words_of(read, load));
        y += line_height + 1.0;
        for (const Wavefront &wavefront : load.wavefronts) {
            y = draw_wavefront(canvas, wavefront, y);
            canvas.text(gap, y,
                        fmt::format("lanes {} to {}: {} of {} bytes", wavefront.first_lane,
                                    wavefront.last_lane, wavefront.used * read.element_bytes,
                                    shared_banks * bank_bytes));
            y += line_height + gap;
        }
    }
    if (read.row && read.halo.value_or(0) > 0) {
        canvas.text(gap, y, fmt::format("and {} elements of the next block, the halo", *read.halo));
        const double cell = (canvas.width() - 2.0 * gap) / double(shared_banks) * double(read.element_bytes) /
                            double(bank_bytes);
        y += line_height + 1.0;
        canvas.patch(gap, y, cell * double(*read.halo), 8.0, map_colour, When::halo);
        y += 8.0 + gap;
    }
    y = canvas.legend(y + gap, {{When::now, map_colour, "even lane"}, {When::next, map_colour, "odd lane"}});
    return canvas.finish(y, read.title);
}

std::string bank_caption(const PaperBanks &read, const GpuProfile &profile) {
    const std::int64_t bank_bytes = bank_bytes_of(profile);
    const Load load = load_of(read, bank_bytes, 0);
    const std::size_t wavefronts = load.wavefronts.size();
    const std::int64_t bytes = warp_lanes * read.unit * read.element_bytes;
    return fmt::format("{}, banks of {} bytes: each lane of a warp reads {} of {} in one instruction. {} {} "
                       "of up to {} bytes {} {} bytes, {:.0f} % of what the banks can deliver. Each row is a "
                       "wavefront, each box a bank; white is what no lane asked for.",
                       short_name(profile), bank_bytes, count(read.unit, "element", "elements"),
                       count(read.element_bytes, "byte", "bytes"), wavefronts,
                       wavefronts == 1 ? "wavefront" : "wavefronts", shared_banks * bank_bytes,
                       wavefronts == 1 ? "brings" : "bring", bytes,
                       100.0 * double(bytes) / double(wavefronts * std::size_t(shared_banks * bank_bytes)));
}

} // namespace convcast
