#include "model/paper/papers.hpp"

#include "model/base/divide.hpp"
#include "model/base/errors.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace convcast::papers {
namespace {

/// Rules 1 to 3 for P or Q (`name`): the smallest integer in [lower, upper], 1 if there is none. Rule 1 keeps
/// n_fma FMAs of all `work` in a piece and allows `most` pieces; rule 2 bounds the pieces from below by
/// numerator / denominator, with which a piece fits shared memory; a denominator of 0 or less: none fits.
PieceChoice choose_pieces(std::int64_t work, std::int64_t n_fma, std::int64_t most, std::int64_t numerator,
                          std::int64_t denominator, const std::string &name) {
    PieceChoice choice;
    choice.upper = std::min(work / n_fma, most);
    if (denominator > 0)
        choice.lower = std::max<std::int64_t>(1, ceil_div(numerator, denominator));
    if (!choice.lower)
        choice.why = "no " + name + " makes it fit in shared memory";
    else if (choice.upper < 1)
        choice.why = "even " + name + " = 1 gives fewer FMAs than N_FMA = " + std::to_string(n_fma);
    else if (*choice.lower > choice.upper)
        choice.why = name + " must be at least " + std::to_string(*choice.lower) + " to fit and at most " +
                     std::to_string(choice.upper) + " to keep N_FMA";
    choice.in_range = choice.why.empty();
    choice.chosen = choice.in_range ? *choice.lower : 1;
    return choice;
}

} // namespace

std::string missing_for_table1(const GpuProfile &profile) {
    std::vector<std::string> missing;
    if (!profile.dram_latency)
        missing.emplace_back("dram_latency");
    if (!profile.dram_read_bandwidth)
        missing.emplace_back("dram_read_bandwidth");
    if (!profile.sm_clock)
        missing.emplace_back("sm_clock");
    return join(missing);
}

Rules table1(const GpuProfile &profile) {
    if (const std::string missing = missing_for_table1(profile); !missing.empty())
        throw InputError("profile " + profile.id,
                         "the papers' rules need " + missing +
                             ", which this profile lacks; `convcast measure` finds them on "
                             "GPUs of compute capability 7.5 and newer");
    return table1_rules(profile);
}

std::int64_t d1_bytes(const ConvShape &s, std::int64_t n_sm, std::int64_t p) {
    return share_bytes(s, n_sm, p);
}

std::int64_t th1_fmas(const ConvShape &s, std::int64_t n_sm, std::int64_t p) {
    return share_fmas(s, n_sm, p);
}

std::int64_t d2_bytes(const ConvShape &s, std::int64_t n_sm, std::int64_t q) {
    return (s.r * s.s * ceil_div(s.k, q) + (ceil_div(s.h, n_sm) + s.r - 1) * s.w) * 4;
}

std::int64_t th2_fmas(const ConvShape &s, std::int64_t n_sm, std::int64_t q) {
    return share_fmas(s, q, n_sm);
}

Division divide_single_channel(const ConvShape &s, const GpuProfile &profile) {
    const std::int64_t n_fma = *table1(profile).n_fma;
    const std::int64_t n_sm = profile.limits.sm_count;
    const std::int64_t shared = profile.limits.shared_bytes_per_sm;
    const std::int64_t taps = s.r * s.s;
    const std::int64_t filters = ceil_div(s.k, n_sm);
    const std::int64_t rows = ceil_div(s.h, n_sm);
    Division d;
    // Rule 2 says D1, or D2, <= shared; solved for P and Q it gives these quotients. An element has 4 bytes.
    d.p = choose_pieces(taps * filters * s.h * s.w, n_fma, s.h, 4 * s.h * s.w,
                        shared - 4 * taps * filters + (1 - s.r) * 4 * s.w, "P");
    d.q = choose_pieces(taps * s.k * rows * s.w, n_fma, s.k, 4 * s.k * taps,
                        shared - 4 * s.w * (rows + s.r - 1), "Q");
    d.d1 = d1_bytes(s, n_sm, d.p.chosen);
    d.d2 = d2_bytes(s, n_sm, d.q.chosen);
    d.th1 = th1_fmas(s, n_sm, d.p.chosen);
    d.th2 = th2_fmas(s, n_sm, d.q.chosen);
    d.method = d.d1 < d.d2 ? 1 : 2;
    d.pieces_p = d.method == 1 ? d.p.chosen : 1;
    d.pieces_q = d.method == 2 ? d.q.chosen : 1;
    d.overruns_shared = d.method == 1 ? d.p.in_range && d.d1 > shared : d.q.in_range && d.d2 > shared;
    return d;
}

std::int64_t share_bytes(const ConvShape &s, std::int64_t filter_shares, std::int64_t map_shares) {
    const std::int64_t rows = map_shares == 1 ? s.h : ceil_div(s.h, map_shares) + s.r - 1; // with the overlap
    return (s.r * s.s * ceil_div(s.k, filter_shares) + rows * s.w) * 4;
}

std::int64_t share_fmas(const ConvShape &s, std::int64_t filter_shares, std::int64_t map_shares) {
    return s.r * s.s * ceil_div(s.k, filter_shares) * ceil_div(s.h, map_shares) * s.w;
}

std::optional<Redivision> redivide(const ConvShape &s, const GpuProfile &profile) {
    const Rules table = table1(profile);
    const Division d = divide_single_channel(s, profile);
    if ((d.method == 1 ? d.th1 : d.th2) >= *table.n_fma)
        return std::nullopt;
    const std::int64_t n_sm = profile.limits.sm_count;
    std::optional<Redivision> best;
    for (std::int64_t filter_shares = 1; filter_shares <= std::min(n_sm, s.k); ++filter_shares) {
        const std::int64_t map_shares = n_sm / filter_shares;
        if (filter_shares * map_shares != n_sm || map_shares > s.p())
            continue;
        Redivision next{filter_shares, map_shares, share_bytes(s, filter_shares, map_shares),
                        share_fmas(s, filter_shares, map_shares)};
        next.moved_bytes = n_sm * next.share_bytes;
        next.exceeds_v_s = next.moved_bytes > *table.v_s_bytes;
        if (next.share_bytes > profile.limits.shared_bytes_per_sm)
            continue;
        // Above V_s the fewest bytes are best, below it the most; above it is better than below.
        const bool better = !best || (next.exceeds_v_s != best->exceeds_v_s
                                          ? next.exceeds_v_s
                                          : (next.moved_bytes < best->moved_bytes) == next.exceeds_v_s &&
                                                next.moved_bytes != best->moved_bytes);
        if (better)
            best = next;
    }
    return best;
}

std::int64_t lines_per_segment(std::int64_t segment_bytes, std::int64_t filter_width) {
    return ceil_div(segment_bytes, filter_width * 4);
}

std::int64_t lines_touched(std::int64_t segment_bytes, std::int64_t filter_width) {
    // A segment may start at the last value of a filter row, unless it is whole rows.
    if (segment_bytes / 4 % filter_width == 0)
        return segment_bytes / 4 / filter_width;
    return (segment_bytes / 4 + filter_width - 2) / filter_width + 1;
}

std::int64_t tile_k_min(std::int64_t n_fma, std::int64_t segment_bytes, std::int64_t tile_w) {
    return ceil_div(n_fma * 4, segment_bytes * tile_w);
}

std::int64_t step_fmas(std::int64_t segment_bytes, std::int64_t tile_w, std::int64_t tile_k) {
    return segment_bytes / 4 * tile_k * tile_w;
}

std::int64_t step_bytes(std::int64_t segment_bytes, std::int64_t filter_width, std::int64_t tile_w,
                        std::int64_t tile_k) {
    return segment_bytes * tile_k + lines_per_segment(segment_bytes, filter_width) * tile_w * 4;
}

std::int64_t bank_ratio(Bytes bank_width, std::int64_t element_bytes) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(bank_width.value) / element_bytes);
}

std::int64_t pixel_uses(std::int64_t filter_height, std::int64_t filter_width, std::int64_t filters) {
    return filter_height * filter_width * filters;
}

double shared_reads(std::int64_t pixels, std::int64_t filter_width) {
    return static_cast<double>(pixels + filter_width - 1) / static_cast<double>(pixels * filter_width);
}

double global_reads(std::int64_t filter_height) {
    return 1.0 / static_cast<double>(filter_height);
}

} // namespace convcast::papers
