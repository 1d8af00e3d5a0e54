#include "tests/gpu/race_cases.hpp"

#include "executor/launch/kernel_source.hpp"
#include "model/choose/setting.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

enum class End { least, greatest };

const char *name_of(End end) {
    return end == End::least ? "least" : "greatest";
}

/// Knob values that can be an extreme: small ones, multiples of a tile's units, powers of two, the shape's
/// own sizes. Without 0, which leaves the choice to the model.
std::vector<int> values_of(const KnobDoc &knob, const ConvShape &shape) {
    std::set<std::int64_t> values = {knob.low, knob.high};
    for (std::int64_t value = 1; value <= 64; ++value)
        values.insert({value, 16 * value});
    for (std::int64_t value = 128; value <= 65536; value *= 2)
        values.insert(value);
    for (const std::int64_t size : {shape.n, shape.c, shape.k, shape.p(), shape.q(), shape.p() * shape.q()})
        values.insert({size, (size + 3) / 4 * 4});
    values.insert(4 * shape.r * shape.s);
    values.insert(knob.candidates.begin(), knob.candidates.end());
    std::vector<int> inside;
    for (const std::int64_t value : values)
        if (value > 0 && value >= knob.low && value <= knob.high)
            inside.push_back(static_cast<int>(value));
    return inside;
}

std::optional<PlannedStrategy> planned(const std::string &text, const ConvShape &shape,
                                       const GpuProfile &profile) {
    auto result = plan(parse_strategy(text), shape, profile);
    if (auto *good = std::get_if<PlannedStrategy>(&result))
        return std::move(*good);
    return std::nullopt;
}

std::string with_knob(const std::string &text, const KnobDoc &knob, int value) {
    return text + (text.find(':') == std::string::npos ? ":" : ",") + knob.name + "=" + std::to_string(value);
}

/// `text` with the knob at its least or greatest value that can be planned and runs as it is, not cut to what
/// the shape needs; empty if there is none.
std::string at_end(const std::string &text, const KnobDoc &knob, End end, const ConvShape &shape,
                   const GpuProfile &profile) {
    std::vector<int> values = values_of(knob, shape);
    if (end == End::greatest)
        std::reverse(values.begin(), values.end());
    for (const int value : values)
        if (std::string with = with_knob(text, knob, value);
            const auto good = planned(with, shape, profile)) {
            const std::string runs = to_text(good->strategy) + ",",
                              wanted = knob.name + "=" + std::to_string(value);
            if (runs.find(":" + wanted + ",") != std::string::npos ||
                runs.find("," + wanted + ",") != std::string::npos)
                return with;
        }
    return {};
}

/// One knob after another, as far as each goes beside those before it.
std::string all_at_end(const StrategyDoc &strategy, End end, const ConvShape &shape,
                       const GpuProfile &profile) {
    std::string text = strategy.name;
    for (const KnobDoc &knob : strategy.knobs)
        if (std::string with = at_end(text, knob, end, shape, profile); !with.empty())
            text = std::move(with);
    return text;
}

/// What tells launches of one shape apart.
std::string launch_texts(const Plan &plan) {
    std::string text;
    for (const std::vector<Partition> *parts : {&plan.prepare, &plan.launches})
        for (const Partition &part : *parts) {
            text += name_expression(part);
            for (const std::int64_t number :
                 {part.register_cap, part.threads, part.shared_bytes, part.grid[0], part.grid[1],
                  part.grid[2], part.cluster.value_or(1), part.filter_begin, part.filter_count, part.parts,
                  part.pieces, part.bank_floats, part.band_floats, part.tile_h, part.tile_k,
                  part.tile_begin.value_or(0), part.tile_count.value_or(0)})
                text += " " + std::to_string(number);
            text += "\n";
        }
    return text;
}

/// Ends that a knob reaches only beside others: tiles of which all sizes must be given, and what races were
/// once reported of, rings of few buffers in a cluster.
struct Several {
    const char *strategy;
    std::array<const char *, 3> shapes;
};
constexpr std::array several_knobs = {
    Several{"implicit_gemm:tile_k=256,tile_pixels=16,thread_k=16,thread_pixels=4",
            {"n1c4h17w6k130r3s1", "n1c64h7w7k65r1s1", "n1c20h16w15k64r5s5"}},
    Several{"implicit_gemm:tile_k=256,tile_pixels=64,thread_k=16,thread_pixels=8",
            {"n2c12h9w9k12r3s3_pad1x1_g12", "n1c64h7w7k65r1s1", "n1c20h16w15k64r5s5"}},
    Several{"implicit_gemm:tile_k=16,tile_pixels=256,thread_k=4,thread_pixels=16",
            {"n3c7h12w11k20r3s2_str2x2_pad1x2", "n1c64h14w14k64r1s1_str2x2", "n2c48h7w9k24r3s3_pad1x1"}},
    Several{"winograd:tile=2,tile_pixels=32,chunks=4096",
            {"n3c4h30w30k35r3s3_pad0x2", "n2c48h7w9k24r3s3_pad1x1", "n1c20h16w15k64r5s5"}},
    Several{"implicit_gemm_3xtf32:tile_k=32,tile_pixels=64,depth=4,stages=2,split=8",
            {"n3c33h9w14k65r5s5_pad2x2_dil2x2", "n2c48h7w9k24r3s3_pad1x1", "n1c128h4w4k20r3s3"}},
    Several{"implicit_gemm_3xtf32:tile_k=128,tile_pixels=256,depth=2,stages=2,split=2",
            {"n3c33h9w14k65r5s5_pad2x2_dil2x2", "n2c48h7w9k24r3s3_pad1x1", "n1c20h16w15k64r5s5"}},
    Several{"implicit_gemm_3xtf32:tile_k=64,tile_pixels=64,depth=2,stages=2,split=1",
            {"n3c33h9w14k65r5s5_pad2x2_dil2x2", "n2c48h7w9k24r3s3_pad1x1", "n1c20h16w15k64r5s5"}},
};

class List {
  public:
    explicit List(const GpuProfile &profile) : profile_(profile) {}

    /// Whether the setting can be planned; it is not added twice.
    bool add(const std::string &text, const ConvShape &shape, const std::string &why) {
        std::optional<PlannedStrategy> good = planned(text, shape, profile_);
        if (!good)
            return false;
        if (seen_.insert(shape.id() + "\n" + launch_texts(good->feasible.plan)).second)
            cases_.push_back({shape, to_text(good->strategy), why, std::move(good->feasible.plan)});
        return true;
    }
    std::vector<RaceCase> take() { return std::move(cases_); }

  private:
    const GpuProfile &profile_;
    std::set<std::string> seen_;
    std::vector<RaceCase> cases_;
};

} // namespace

const std::vector<std::string> &race_shapes() {
    static const std::vector<std::string> shapes = {
        // one channel
        "n1c1h1w1k1r1s1", "n1c1h7w7k1r3s3", "n1c1h3w3k5r3s3", "n1c1h9w13k9r5s5", "n2c1h13w31k33r1s1",
        "n3c1h8w17k13r3s3", "n1c1h64w5k7r3s3", "n1c1h5w130k3r3s3", "n1c1h15w16k2r7s7", "n2c1h11w12k6r3s5",
        "n1c1h20w7k4r7s1", "n1c1h4w67k5r1s3", "n1c1h30w29k7r3s3", "n1c1h28w28k64r5s5", "n3c1h12w14k5r2s2",
        "n1c1h16w40k130r1s1", "n1c1h13w12k6r6s4", "n1c1h5w42k3r3s3_f16", "n2c1h13w31k5r3s3_i8",
        "n1c1h12w17k9r2s4_f16",
        // several, as the papers have them
        "n1c8h1w1k1r1s1", "n2c3h7w7k1r3s3", "n1c3h3w3k9r3s3", "n2c5h9w10k20r3s3", "n1c64h7w7k65r1s1",
        "n2c64h8w8k33r1s1", "n1c13h31w4k17r3s3", "n1c6h4w65k12r3s3", "n2c8h9w8k16r5s5", "n1c5h8w20k17r2s2",
        "n1c3h13w31k33r3s3", "n3c7h11w9k10r7s7", "n1c33h6w10k5r1s3", "n2c16h10w11k40r3s3", "n1c96h5w5k3r3s3",
        "n1c4h17w6k130r3s1", "n1c9h12w12k12r4s6", "n5c2h6w6k31r3s3", "n1c20h16w15k64r5s5",
        "n1c128h4w4k20r3s3", "n1c5h8w20k17r2s2_f16", "n1c4h8w11k9r5s5_i8", "n2c3h9w13k33r3s3_f16",
        "n1c64h6w7k9r1s1_i8",
        // stride, padding, dilation, groups
        "n3c33h9w14k65r5s5_pad2x2_dil2x2", "n2c4h9w8k6r3s2_str2x3_pad1x2_dil2x1_g2",
        "n3c4h30w30k35r3s3_pad0x2", "n2c8h8w7k33r3s3_pad1x1", "n1c8h5w5k8r1s1_g8",
        "n2c12h9w9k12r3s3_pad1x1_g12", "n2c3h15w16k20r7s7_str2x2_pad3x3", "n1c64h14w14k64r1s1_str2x2",
        "n3c7h12w11k20r3s2_str2x2_pad1x2", "n2c6h8w8k10r1s1_pad1x1", "n1c1h3w3k2r5s5_pad2x2",
        "n2c8h15w14k12r3s3_str1x2_pad2x1_dil2x1_g2", "n1c6h9w10k9r5s5_pad2x1", "n2c48h7w9k24r3s3_pad1x1",
        "n1c10h7w40k5r1s7_pad0x9_dil1x3", "n4c5h6w7k3r3s3_str3x3_pad2x2",
        // several channels a group
        "n2c12h9w7k12r3s3_pad1x1_g3", "n1c8h14w14k16r5s5_str2x2_pad2x2_g4", "n3c10h17w20k15r3s5_pad1x2_g5",
        "n1c64h7w7k64r3s3_pad1x1_g2", "n2c16h16w16k16r3s3_pad2x2_dil2x2_g4", "n5c32h7w7k32r1s1_g4",
        "n1c8h14w14k8r3s3_pad1x1_g2_f16", "n1c14h15w9k14r3s3_pad1x1_g7_i8"};
    return shapes;
}

std::vector<RaceCase> race_cases(const GpuProfile &profile, std::size_t shapes_per_extreme) {
    std::vector<ConvShape> shapes;
    std::transform(race_shapes().begin(), race_shapes().end(), std::back_inserter(shapes), ConvShape::parse);
    List list(profile);
    std::size_t turn = 0; // where an extreme's shapes begin, so that all shapes have their turn
    for (const StrategyDoc &strategy : strategy_docs()) {
        std::vector<ConvShape> its;
        for (const ConvShape &shape : shapes)
            if (list.add(strategy.name, shape, "default"))
                its.push_back(shape);
        const auto on_some = [&](const std::string &why, const auto &setting) {
            std::size_t done = 0;
            for (std::size_t i = 0; i < its.size() && done < shapes_per_extreme; ++i) {
                const ConvShape &shape = its[(turn + i) % its.size()];
                if (const std::string text = setting(shape); !text.empty() && list.add(text, shape, why))
                    ++done;
            }
            turn += shapes_per_extreme + 1;
        };
        for (const End end : {End::least, End::greatest}) {
            for (const KnobDoc &knob : strategy.knobs)
                on_some(knob.name + " " + name_of(end), [&](const ConvShape &shape) {
                    return at_end(strategy.name, knob, end, shape, profile);
                });
            on_some(std::string("all knobs ") + name_of(end),
                    [&](const ConvShape &shape) { return all_at_end(strategy, end, shape, profile); });
        }
    }
    for (const Several &several : several_knobs)
        for (const char *shape : several.shapes)
            list.add(several.strategy, ConvShape::parse(shape), "several knobs");
    return list.take();
}

std::vector<std::string> kernels_of(const Plan &plan) {
    std::set<std::string> names;
    for (const std::vector<Partition> *parts : {&plan.prepare, &plan.launches})
        for (const Partition &part : *parts)
            names.insert(name_expression(part));
    return {names.begin(), names.end()};
}

} // namespace convcast
