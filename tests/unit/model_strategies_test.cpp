#include "model/base/errors.hpp"
#include "model/plan/occupancy.hpp"
#include "model/predict.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace convcast;
using testing::HasSubstr;
using testing::ThrowsMessage;

namespace {

/// What is forecast of a strategy for a shape, with what is known of the GPU.
Case case_of(const std::string &strategy, const std::string &shape, const char *gpu = "h200") {
    const GpuProfile profile = find_profile(gpu);
    return predict(parse_strategy(strategy), ConvShape::parse(shape), profile, knowledge_for(profile));
}

/// The same of a strategy that does the shape.
Case good_case(const std::string &strategy, const std::string &shape) {
    Case item = case_of(strategy, shape);
    EXPECT_EQ(item.status, Status::ok) << strategy << " " << shape << ": " << item.reason.value_or("");
    return item;
}

/// Its plan, and the first launch of it.
Plan plan_of(const std::string &strategy, const std::string &shape) {
    return good_case(strategy, shape).prediction.value().plan.value();
}
Partition partition_of(const std::string &strategy, const std::string &shape) {
    return plan_of(strategy, shape).launches.at(0);
}
/// The plan of a setting that has all knobs: it runs with these.
Plan plan_of_setting(const char *knobs, const char *shape) {
    const Case item = good_case(knobs, shape);
    EXPECT_EQ(item.strategy, knobs);
    return item.prediction.value().plan.value();
}

/// A setting that is refused, and words of the reason.
struct Refusal {
    std::string setting;
    const char *shape, *why;
    std::optional<Status> status = std::nullopt; ///< absent: any but ok
    const char *gpu = "h200";
};
void refuses(const std::vector<Refusal> &refusals) {
    for (const Refusal &row : refusals) {
        SCOPED_TRACE(row.setting + " " + row.shape);
        const Case item = case_of(row.setting, row.shape, row.gpu);
        EXPECT_NE(item.status, Status::ok);
        EXPECT_EQ(item.status, row.status.value_or(item.status));
        EXPECT_THAT(item.reason.value_or(""), HasSubstr(row.why));
    }
}
constexpr Status unsupported = Status::unsupported, infeasible = Status::infeasible;

TEST(Strategies, TextRoundTripsWithEveryKnob) {
    for (const StrategyDoc &doc : strategy_docs()) {
        const Strategy plain = parse_strategy(doc.name);
        EXPECT_EQ(parse_strategy(to_text(plain)), plain);
        for (const KnobDoc &knob : doc.knobs)
            EXPECT_THAT(to_text(plain), HasSubstr(knob.name + "="));
    }
    EXPECT_EQ(to_text(parse_strategy("stride_fixed_block:tile_k=64,tile_w=128")),
              "stride_fixed_block:segment_bytes=0,tile_w=128,tile_k=64,stages=2,filters_per_thread=0");
}

TEST(Strategies, BadTextsSayWhatWasExpected) {
    for (const auto &[text, says] : std::initializer_list<std::pair<const char *, const char *>>{
             {"fitler_split", "did you mean 'filter_split'?"},
             {"stride_fixed_block:tile_x=3", "did you mean 'tile_w'?"},
             {"stride_fixed_block:tile_w=abc", "tile_w must be an integer from 0 to 256"},
             {"stride_fixed_block:tile_w=1000", "got '1000'"},
             {"map_split:pieces", "expected knob=value"},
             {"map_split:pieces=1,pieces=2", "stands twice"},
             {"", "unknown strategy"}})
        EXPECT_THAT([text = text] { parse_strategy(text); }, ThrowsMessage<UsageError>(HasSubstr(says)))
            << text;
}

TEST(Strategies, ResolvedTextHasNoAutomaticKnobLeft) {
    for (const char *shape : {"n1c1h224w224k64r3s3", "n1c64h56w56k64r3s3"})
        for (const std::string &name : strategy_names()) {
            const Case item = case_of(name, shape);
            if (item.status != Status::ok)
                continue;
            EXPECT_THAT(*item.strategy, testing::Not(testing::ContainsRegex("=0(,|$)")));
            const Case again = case_of(*item.strategy, shape);
            EXPECT_EQ(*again.strategy, *item.strategy);
            EXPECT_EQ(again.prediction->time_s, item.prediction->time_s);
        }
}

TEST(Strategies, EachSaysWhatItCannotDo) {
    refuses({
        {"filter_split", "n1c2h8w8k4r3s3", "need c = 1"},
        {"stride_fixed_block", "n1c1h8w8k4r3s3", "c = 1 has filter_split"},
        {"map_split", "n1c1h8w8k4r3s3_pad1x1", "no padding"},
        {"row_register", "n1c1h8w8k4r3s3_str2x2", "stride 1"},
        {"filter_split:pieces=7", "n1c1h8w8k4r3s3", "exceeds the 6 output rows"},
        {"filter_split", "n1c1h4w60000k4r3s3", "do not fit"},
        {"stride_fixed_block:tile_k=20,filters_per_thread=16", "n1c8h8w8k4r3s3",
         "no multiple of filters_per_thread"},
        {"row_register:tile_w=48", "n1c1h8w80k4r3s3", "no multiple of"},
    });
}

TEST(Strategies, HugeShapesAreAnsweredAtOnce) {
    for (const char *shape : {"n1c1h1000000000w1k1000r1s1", "n60000c100h30000w30000k1000r1s1",
                              "n1c1h1w1000000000k7r1s1", "n1c1h30000w30000k60000r31s31"})
        for (const std::string &name : strategy_names()) {
            const Case item = case_of(name, shape);
            EXPECT_TRUE(item.status == Status::ok || item.reason.has_value()) << name << " " << shape;
        }
}

TEST(PatchRegister, CountsByHand) {
    // 8 x 10 outputs, 6 filters, 9 taps: 4,320 FMAs where every output is computed once.
    const auto fmas = [](const char *strategy) {
        return *partition_of(strategy, "n1c1h10w12k6r3s3").work.fmas;
    };
    EXPECT_EQ(fmas("patch_register:rows=4,vector=1"), 8.0 * 10 * 6 * 9);
    EXPECT_EQ(fmas("patch_register:rows=3,vector=1"),
              9.0 * 10 * 6 * 9); // the last group of 3 overlaps by a row
    EXPECT_EQ(fmas("patch_register:rows=1,vector=4"),
              8.0 * 10 * 6 * 9); // vectors go on in the next row: 10 of them in a band of 4 rows
    EXPECT_EQ(fmas("patch_register:rows=8,vector=1"), 8.0 * 10 * 6 * 9);

    const Partition tile =
        partition_of("patch_register:rows=2,vector=4,threads=32,tile_k=4", "n3c1h10w10k6r3s3");
    EXPECT_EQ(tile.template_arguments, (std::vector<std::int64_t>{3, 3, 2, 4, 8, 1, 1, 1, 0, 0}));
    EXPECT_EQ(tile.grid, (std::array<std::int64_t, 3>{
                             1, 2, 3}));      // 4 row groups x 2 vectors in 32 threads; 6 filters by 4
    EXPECT_EQ(tile.shared_bytes, 4 * 12 * 4); // 9 taps padded to 12
    EXPECT_EQ(*tile.work.l2_write_bytes, 3.0 * 6 * 8 * 8 * 4); // aligned stores: whole sectors
}

TEST(PatchRegister, KeepsSectorsWhole) {
    // 6 x 10 outputs: a band of 4 rows is five sectors, a plane seven and a half.
    const Partition two =
        partition_of("patch_register:rows=1,vector=4,threads=32,tile_k=2", "n3c1h8w12k5r3s3");
    EXPECT_EQ(two.template_arguments, (std::vector<std::int64_t>{3, 3, 1, 4, 10, 4, 2, 1, 0, 0}));
    // 2 bands of 10 vectors; filters 0 2 | 4 and 1 3, which is half empty beside them.
    EXPECT_EQ(two.grid, (std::array<std::int64_t, 3>{1, 4, 3}));
    // A map of 2 rows has no band of 4.
    const Partition few = partition_of("patch_register:rows=1,vector=4,tile_k=2", "n1c1h4w12k5r3s3");
    EXPECT_EQ(few.template_arguments, (std::vector<std::int64_t>{3, 3, 1, 4, 10, 2, 1, 1, 0, 0}));
    // One filter's taps need no shared memory.
    EXPECT_EQ(partition_of("patch_register:tile_k=1", "n1c1h8w12k5r3s3").shared_bytes, 0);
}

TEST(PatchRegister, LargeOutputsLeaveTheMapInL2) {
    const auto arguments = [](const char *shape) {
        return partition_of("patch_register:rows=1,vector=4,threads=128,tile_k=8", shape).template_arguments;
    };
    const std::int64_t chunks = 7, streamed = 8;
    const auto small = arguments("n1c1h512w512k32r3s3"), large = arguments("n1c1h1024w1024k32r3s3"),
               huge = arguments("n1c1h2048w2048k32r3s3");
    EXPECT_EQ(small[streamed], 0); // 33 MB, L2 has 63
    EXPECT_EQ(large[streamed], 1);
    EXPECT_EQ(large[chunks], 1);
    EXPECT_EQ(huge[streamed], 1);
    EXPECT_EQ(huge[chunks], 4); // a map of 16 MiB in pieces of a twelfth of L2
}

TEST(PatchRegister, SaysWhatDoesNotFit) {
    refuses({
        {"patch_register", "n1c2h8w8k4r3s3", "need c = 1"},
        {"patch_register:vector=4", "n1c1h7w7k4r3s3", "planes of 25 outputs"},
        {"patch_register:vector=4,rows=8", "n1c1h10w12k6r3s3", "more rows than the map has"},
        {"patch_register:rows=8", "n1c1h7w7k4r3s3", "more rows than the map has"},
        {"patch_register:threads=48", "n1c1h8w8k4r3s3", "multiple of 32"},
        {"patch_register:vector=2", "n1c1h8w8k4r3s3", "1 or 4"},
    });
}

TEST(DepthwiseRegister, CountsByHand) {
    // Two patches of 8 x 4 outputs. The 8 rows are all there are: 22 of their 24 pairs of row and tap lie in
    // the map, 3 columns of the filter and 4 outputs each.
    const Partition whole = partition_of("depthwise_register:rows=8,columns=4", "n1c1h8w8k1r3s3_pad1x1");
    EXPECT_EQ(whole.work.fmas, 2.0 * 4 * 3 * 22);
    EXPECT_EQ(whole.grid, (std::array<std::int64_t, 3>{1, 1, 1}));
    EXPECT_EQ(whole.shared_bytes, 0);
    // 16 filters of 8 channels, 2 x 7 patches of a plane, images along y.
    const Partition many =
        partition_of("depthwise_register:rows=7,columns=2,threads=64", "n3c8h14w14k16r3s3_pad1x1_g8");
    EXPECT_EQ(many.work.fmas, 3.0 * 16 * 14 * 14 * 9);
    EXPECT_EQ(many.grid, (std::array<std::int64_t, 3>{4, 3, 1})); // 224 patches
    EXPECT_DOUBLE_EQ(many.step.load_bytes, *many.work.l2_read_bytes / 12.0);
}

TEST(DepthwiseRegister, RefusesWhatIsTooMuchToUnroll) {
    refuses({
        {"depthwise_register", "n1c8h8w8k8r3s3_g4", "4 groups of 8 channels", unsupported},
        {"depthwise_register", "n1c4h40w40k4r9s9_g4", "more than 49 taps", unsupported},
        {"depthwise_register", "n1c4h512w512k4r3s3_pad200x200_dil200x200_g4", "401 x 401", unsupported},
        {"depthwise_register", "n1c4h4097w8k4r2s1_dil4096x1_g4", "4097 x 1", unsupported},
        {"depthwise_register", "n1c1h1w1000000001k1r1s2_dil1x1000000000", "1 x 1000000001", unsupported},
        {"depthwise_register:rows=8", "n1c4h8003w8k4r3s3_str1000x1_g4", "7003 rows", infeasible},
        {"depthwise_register:columns=4", "n1c4h14w14k4r3s3_pad1x1_g4", "does not divide the 14", infeasible},
        {"depthwise_register:columns=3", "n1c4h14w14k4r3s3_pad1x1_g4", "1, 2 or 4", infeasible},
        {"depthwise_register:threads=33", "n1c4h14w14k4r3s3_pad1x1_g4", "multiple of 32", infeasible},
    });
    good_case("depthwise_register", "n1c4h8003w8k4r3s3_str1000x1_g4");
}

TEST(DepthwiseRegister, PixelsBeyondTheRegistersWait) {
    // 29 rows of 5 pixels. Of the 112 registers, 9 taps and 13 places leave 90 for them.
    EXPECT_EQ(partition_of("depthwise_register:rows=14,columns=2", "n1c1h112w112k1r3s3_str2x2_pad1x1")
                  .drain.line_waits,
              1.0);
    EXPECT_EQ(partition_of("depthwise_register:rows=4,columns=4", "n1c1h28w28k1r3s3_pad1x1").drain.line_waits,
              0.0);
    // A row of outputs above the map needs no pixel.
    EXPECT_EQ(partition_of("depthwise_register", "n1c8h1w8k8r1s1_str11x1_pad5x0_g8").drain.line_waits, 0.0);
}

TEST(DepthwiseRegister, SmallPatchesTakeFewRegisters) {
    // 9 pixels, 9 taps and 13 places are 32 registers, so that an SM holds as many CTAs as it can hold at
    // all; the cap that is compiled in is 48.
    const Partition small =
        partition_of("depthwise_register:rows=1,columns=1,threads=64", "n1c480h14w14k480r3s3_pad1x1_g480");
    EXPECT_EQ(small.register_cap, 48);
    EXPECT_EQ(small.ctas_per_sm, 32);
    // 14 rows of 4 pixels, 9 taps and 13 places: 80.
    EXPECT_EQ(
        partition_of("depthwise_register:rows=14,columns=2,threads=64", "n1c480h14w14k480r3s3_pad1x1_g480")
            .ctas_per_sm,
        12);
}

TEST(DepthwiseRegister, StoresPassL1AsLoadsDo) {
    // A tap is one word. A row of 32 words begins in a line of 128 bytes, and ends in another one but for one
    // of 32 places: (63 / 32 lines + 2) / 3 (F12). A pixel, the tap, and the output as the pixel.
    const Partition one = partition_of("depthwise_register:rows=1,columns=1,threads=32", "n1c1h1w32k1r1s1");
    EXPECT_DOUBLE_EQ(one.step.shared_wavefronts, 1.0 + 2.0 * (63.0 / 32.0 + 2.0) / 3.0);
}

TEST(DepthwiseRegister, PartsOfSectorsCountAsFarAsDramTakesThem) {
    // Rows of 33 outputs, each a patch: two warps write the sector in which they meet. DRAM takes nothing.
    const Partition kept =
        partition_of("depthwise_register:rows=7,columns=1,threads=64", "n1c8h7w33k8r1s1_g8");
    EXPECT_EQ(kept.work.dram_write_bytes, 0.0);
    EXPECT_EQ(kept.partial_write_bytes, 0.0);
    // 1 GB of outputs, of which DRAM takes nearly all.
    const char *much = "n64c128h181w181k128r1s1_g128";
    const Partition lost = partition_of("depthwise_register:rows=7,columns=1,threads=64", much);
    const double output = double(ConvShape::parse(much).output_bytes()),
                 share = *lost.work.dram_write_bytes / output;
    EXPECT_GT(share, 0.9);
    EXPECT_DOUBLE_EQ(*lost.partial_write_bytes, share * 2.0 * (*lost.work.l2_write_bytes - output));
}

TEST(PrepareFilters, MovesWhatThereIs) {
    // A filter of 9 values for each of 32 channels: little of a CTA's tile of 32 filters by 32 values.
    const char *shape = "n1c32h14w14k32r3s3_pad1x1_g32";
    for (const char *strategy : {"implicit_gemm:filters=2", "implicit_gemm_3xtf32"}) {
        const Partition prepare = plan_of(strategy, shape).prepare.at(0);
        const double ctas = double(prepare.ctas);
        EXPECT_DOUBLE_EQ(ctas * double(prepare.steps) * prepare.step.load_bytes, 32.0 * 9 * 4) << strategy;
        EXPECT_DOUBLE_EQ(ctas * prepare.drain.store_bytes, *prepare.work.l2_write_bytes) << strategy;
    }
}

TEST(GroupedRegister, CountsByHand) {
    // 16 patches of 2 x 4 outputs in the two images. A group's 4 filters lie in 4 * 36 words of shared
    // memory; for its 4 channels, of 4 x 6 pixels each, there are registers two at a time.
    const Partition part =
        partition_of("grouped_register:rows=2,columns=4,filters=4,threads=32", "n2c8h8w8k8r3s3_pad1x1_g2");
    EXPECT_EQ(part.work.fmas, 2.0 * 8 * 8 * 8 * 9 * 4);
    EXPECT_EQ(part.grid, (std::array<std::int64_t, 3>{1, 2, 1}));
    EXPECT_EQ(part.shared_bytes, 4 * 4 * 36);
    EXPECT_EQ(part.steps, 2);
    EXPECT_EQ(part.step.fmas, 2.0 * 16 * 8 * 4 * 9);
    EXPECT_EQ(part.drain.line_waits, 1.0); // 144 values: 5 of a thread, loaded together
    // A warp stores 32 neighbouring values of a filter 4 words apart, in 8 banks: 4 passes. A filter of 36
    // ends in the second warp, and the next one begins a bank further: 4, 4, 3, 3 passes, and 2 of the last
    // 16 values. Each of 36 loads of a tap of 4 filters takes 2.
    EXPECT_EQ(part.work.shared_wavefronts, 2.0 * (16 + 36 * 2));
    // 8 filters of a group, two at a time: 4 CTAs read the same pixels.
    const Partition split =
        partition_of("grouped_register:rows=2,columns=4,filters=2,threads=32", "n2c8h8w8k16r3s3_pad1x1_g2");
    EXPECT_EQ(split.grid, (std::array<std::int64_t, 3>{4, 2, 1}));
    EXPECT_EQ(split.sharing_ctas, 4.0);
}

TEST(GroupedRegister, RefusesWhatItDoesNotDo) {
    refuses({
        {"grouped_register", "n1c8h8w8k8r3s3", "this one has one", unsupported},
        {"grouped_register", "n1c8h8w8k8r3s3_g8", "not depthwise", unsupported},
        {"grouped_register:filters=8", "n1c8h8w8k12r3s3_g2", "does not divide the 6 filters", infeasible},
        {"grouped_register:channels=4", "n1c12h8w8k12r3s3_g2", "6 channels of a group", infeasible},
        {"grouped_register:rows=8,columns=4,filters=4", "n1c8h8w8k8r3s3_pad1x1_g2", "at most 96 are built",
         infeasible},
        {"grouped_register", "n1c131072h1w1k131072r1s1_g65536", "more than 65535 groups", infeasible},
    });
    // No knob is given: patches become so small that they can be built.
    EXPECT_EQ(partition_of("grouped_register", "n1c16h28w28k16r7s7_pad3x3_g2").template_arguments[10], 1);
    // Two channels of 2^30 pixels are further apart than 32 bits can say.
    EXPECT_EQ(partition_of("grouped_register", "n1c8h32768w32768k2r1s1_str2x2_g2_i8").steps, 4);
}

TEST(Depthwise, WholeColumnsLeaveOutTapsBesideTheMap) {
    // 7 rows of 3 taps, of which the first lacks one above and the last one below: 19 a column of the filter.
    const Partition launch = partition_of("depthwise:rows=7,planes=8", "n2c32h7w7k32r3s3_pad1x1_g32");
    EXPECT_EQ(launch.work.fmas, 2.0 * 32 * 7 * 3 * 19);
    EXPECT_EQ(launch.grid[0], 8);
    // 8 planes of 7 rows of 7 pixels and a zero, a zero before them and room for one; taps in columns of
    // four; outputs, with room to lie as in the tensor.
    EXPECT_EQ(launch.shared_bytes, (2 + 8 * 7 * 8 + 2) * 4 + 8 * 3 * 4 * 4 + 8 * 49 * 4 + 16);
}

TEST(Depthwise, BandsComputeEveryTap) {
    // Two bands of 8 rows, each of two threads a column; the taps above and below read zeros.
    const Partition launch = partition_of("depthwise:rows=4,tile_h=8", "n1c4h16w16k4r3s3_pad1x1_g4");
    EXPECT_EQ(launch.work.fmas, 4.0 * 16 * 16 * 9);
    EXPECT_EQ(launch.grid, (std::array<std::int64_t, 3>{4, 2, 1}));
    EXPECT_EQ(launch.threads, 32);
    // 10 rows of 16 pixels and 8 zeros, 8 zeros before them, and 4 floats of room.
    EXPECT_EQ(launch.shared_bytes, (8 + 4 + 10 * 24) * 4 + 3 * 4 * 4);
}

TEST(Depthwise, AMultiplierHasThatManyFiltersOfAPlane) {
    const Partition launch = partition_of("depthwise:rows=7,tile_h=14", "n1c4h16w16k12r3s3_g4");
    EXPECT_EQ(launch.work.fmas, 12.0 * 2 * 14 * 7 * 9);
    EXPECT_EQ(launch.template_arguments.at(12), 3);
}

TEST(Depthwise, BandsAreNoWholeColumns) {
    // A thread has 7 rows, of which the bands store 4 and 3; shared memory holds the rows that it reads.
    const Partition launch = partition_of("depthwise:rows=7,tile_h=4", "n1c64h7w7k64r3s3_pad1x1_g64");
    EXPECT_EQ(launch.grid, (std::array<std::int64_t, 3>{64, 2, 1}));
    EXPECT_EQ(launch.template_arguments.at(2), 0);
    EXPECT_EQ(launch.shared_bytes,
              304 + 3 * 4 * 4 + 4 * 7 * 4 + 16); // (1 + 1 + 9 * 8) * 4 in whole vectors: 304
}

TEST(Depthwise, EveryShapeHasSettingsThatRunAgain) {
    // Long maps, long strides, one output, many rows: knobs stay in their range, and what is settled is
    // settled.
    for (const char *shape : {"n1c64h5000w1k64r3s1_pad1x0_g64", "n1c8h2000w16k8r3s3_str100x1_g8",
                              "n1c8h512w512k8r3s3_str512x512_g8", "n1c8h9000w3k8r3s3_pad1x1_g8"}) {
        const Case item = good_case("depthwise", shape);
        EXPECT_EQ(case_of(item.strategy.value(), shape).strategy, item.strategy);
    }
}

TEST(Depthwise, RefusesWithReasons) {
    refuses({
        {"depthwise", "n1c8h8w8k8r3s3_g4", "4 groups of 8 channels", unsupported},
        {"depthwise", "n1c2h8w8k256r3s3_g2", "more than 64 filters a channel", unsupported},
        {"depthwise:planes=9", "n1c8h8w8k8r3s3_g8", "exceeds the 8 channels", infeasible},
        {"depthwise:planes=4,tile_h=2", "n1c8h8w8k8r3s3_g8", "have all their rows", infeasible},
        {"depthwise:planes=2", "n1c64h5000w1k64r3s1_pad1x0_g64", "have all their rows", infeasible},
        {"depthwise", "n1c1h2147483647w1k1r3s1_str16x1_pad1x0_i8", "exceeds 32 bits", unsupported},
        {"depthwise", "n2c43826195h1w1k43826195r7s7_pad3x3_g43826195_i8", "exceeds 32 bits", unsupported},
        {"depthwise:threads=40", "n1c8h8w8k8r3s3_g8", "multiple of 32", infeasible},
    });
}

TEST(ImplicitGemm, PlanByHand) {
    const char *knobs =
        "implicit_gemm:tile_k=64,tile_pixels=64,thread_k=8,thread_pixels=4,slice_channels=2,stages=3,"
        "warp_split=1,split=2,filters=1,staging=1,columns=1";
    const Plan plan = plan_of_setting(knobs, "n1c64h56w56k64r3s3_pad1x1");
    ASSERT_EQ(plan.launches.size(), 1U);
    EXPECT_TRUE(plan.prepare.empty());
    const Partition &part = plan.launches[0];
    EXPECT_EQ(part.grid,
              (std::array<std::int64_t, 3>{49 * 2, 1, 1})); // 3136 pixels, one tile of filters, two parts
    EXPECT_EQ(part.cluster, 2);
    EXPECT_EQ(part.threads, 8 * 16);
    EXPECT_EQ(part.shared_bytes, 3 * 18 * (68 + 64) * 4); // 2 channels of 9 taps; filter rows padded by 4
    EXPECT_EQ(part.steps, 16);
    EXPECT_EQ(part.step.fmas, 18 * 64 * 64);
    EXPECT_EQ(part.work.fmas, 49.0 * 64 * 9 * 64 * 64);
    EXPECT_EQ(part.template_arguments.size(), 24U);
}

TEST(ImplicitGemm, PaddedRowsOfRawFiltersTakeTurns) {
    const auto turns = [](const std::string &shape, int slice, int filters) {
        const std::string knobs =
            "implicit_gemm:tile_k=32,tile_pixels=64,thread_k=4,thread_pixels=8,slice_channels=" +
            std::to_string(slice) + ",stages=3,warp_split=1,split=1,filters=" + std::to_string(filters) +
            ",staging=1,columns=1";
        return partition_of(knobs, shape).line_turns;
    };
    // 64 * 12,544 pixels in tiles of 64. Eight rows of 32 B at a pitch of 48 B are two lines of L2: 8
    // requests, and one more where a row crosses from one line of shared memory to the next.
    EXPECT_DOUBLE_EQ(turns("n64c8h112w112k64r1s1", 8, 1).value(), 12544 * 9 / 2.0);
    EXPECT_DOUBLE_EQ(turns("n64c16h112w112k32r1s1", 16, 1).value(),
                     12544 * 11 / 4.0); // of 64 B at 80 B: three more
    EXPECT_DOUBLE_EQ(turns("n64c16h112w112k32r1s1", 8, 1).value(),
                     2 * 12544 * 9 / 4.0);               // two steps, each of half of every row
    EXPECT_FALSE(turns("n64c12h112w112k64r1s1", 12, 1)); // rows of 48 B lie as they do in memory
    EXPECT_FALSE(turns("n64c8h112w112k64r1s1", 8, 2));   // prepared filters do
}

TEST(ImplicitGemm, PlanOfStagedRowsByHand) {
    const char *knobs =
        "implicit_gemm:tile_k=64,tile_pixels=64,thread_k=8,thread_pixels=8,slice_channels=4,stages=2,"
        "warp_split=1,split=1,filters=1,staging=2,columns=7";
    const Partition part = plan_of_setting(knobs, "n1c64h56w56k64r3s3_pad1x1").launches.at(0);
    EXPECT_EQ(part.kernel, "implicit_gemm_rows");
    EXPECT_EQ(part.grid, (std::array<std::int64_t, 3>{49, 1, 1})); // 56 rows of 7 units, 8 units a tile
    EXPECT_EQ(part.threads, 8 * 8);
    // 8 units touch two output rows, so four of the input, of 56 pixels, three times; filter rows padded by 4
    EXPECT_EQ(part.shared_bytes, 2 * 4 * (9 * 68 + 3 * 4 * 56) * 4);
    EXPECT_EQ(part.steps, 16);
    EXPECT_EQ(part.step.fmas, 36 * 64 * 64);
    EXPECT_EQ(part.work.fmas, 49.0 * 64 * 9 * 64 * 64);
    // A 1 x 1 filter sees an image as one row.
    const auto arguments = partition_of("implicit_gemm:staging=2", "n2c16h6w6k16r1s1").template_arguments;
    EXPECT_EQ(arguments.at(2), 1);
    EXPECT_EQ(arguments.at(3), 36);
}

TEST(ImplicitGemm, PreparedFiltersComeFromTheWorkspace) {
    const Case item =
        good_case("implicit_gemm:filters=2,slice_channels=2,warp_split=1,split=1", "n2c6h20w20k10r3s3_g2");
    const Plan &plan = item.prediction.value().plan.value();
    ASSERT_EQ(plan.prepare.size(), 1U);
    EXPECT_EQ(plan.workspace_bytes,
              2 * (4 * 9) * 8 * 4); // 2 groups, 3 channels in slices of 2, 5 filters up to 8
    EXPECT_EQ(plan.prepare[0].operands.at(0).memory, Memory::filters);
    EXPECT_EQ(plan.prepare[0].operands.at(1).memory, Memory::workspace);
    EXPECT_EQ(plan.launches[0].operands.at(1).memory, Memory::workspace);
    // It starts early: its gap is behind the launch that prepares.
    EXPECT_TRUE(plan.launches[0].early.value_or(false));
    EXPECT_FALSE(plan.prepare[0].early.value_or(false));
    const Term &term = *item.prediction->term;
    EXPECT_TRUE(std::none_of(term.children.begin(), term.children.end(),
                             [](const Term &child) { return child.name == "further launches"; }));
}

TEST(ImplicitGemm, RefusesWithReasons) {
    const std::string tile = "implicit_gemm:tile_k=32,tile_pixels=32,thread_k=4,thread_pixels=4";
    refuses({
        {"implicit_gemm", "n1c8h80w80k8r64s1", "at most 63 rows"},
        {"implicit_gemm", "n1c8h8w8k8r3s3_f16", "only FP32"},
        {tile + ",split=8,staging=1", "n1c4h8w8k8r3s3", "split = 8 exceeds the 2 steps"},
        {tile + ",slice_channels=9", "n1c8h8w8k8r1s1", "exceeds the 8 channels"},
        {tile + ",split=3,staging=1", "n1c8h8w8k8r1s1", "1, 2, 4 or 8"},
        {tile + ",columns=2,staging=1", "n1c8h8w8k8r3s3", "for staged rows"},
        {tile + ",columns=9,staging=2", "n1c8h8w8k8r3s3", "units of a row"},
        {tile + ",filters=2,staging=2", "n1c8h8w8k8r3s3", "as they lie"},
        {tile + ",stages=3,staging=2", "n1c8h8w8k8r3s3", "two buffers"},
        {tile + ",slice_channels=3,staging=2", "n1c8h8w8k8r3s3", "divide the 8"},
        {"implicit_gemm:tile_k=48", "n1c4h8w8k8r3s3", "knobs"},
        {"implicit_gemm:tile_k=16,tile_pixels=16,thread_k=8,thread_pixels=8,warp_split=1", "n1c8h8w8k8r1s1",
         "no whole warps"},
    });
}

TEST(Winograd, PlanByHand) {
    const char *knobs = "winograd:tile=4,tile_k=64,tile_pixels=32,thread_k=8,thread_pixels=4,slice_channels="
                        "8,stages=4,chunks=2";
    const Plan plan = plan_of_setting(knobs, "n1c20h56w54k60r3s3_pad1x1");
    ASSERT_EQ(plan.prepare.size(), 1U);
    ASSERT_EQ(plan.launches.size(), 6U); // three of each chunk
    // 36 points; 14 x 14 tiles of 4 x 4 outputs, 98 of a chunk up to 32: 128 and 68; 20 channels up to 24; 60
    // filters up to 64.
    EXPECT_EQ(plan.workspace_bytes, 36 * 4 * (24 * 64 + 24 * 128 + 60 * 128));
    EXPECT_EQ(plan.transformed_fmas, 36.0 * 196 * 20 * 60);
    EXPECT_FALSE(plan.prepare[0].early);
    for (const Partition &part : plan.launches)
        EXPECT_EQ(part.early, true) << part.kernel;
    const Partition &product = plan.launches[4];
    EXPECT_EQ(&main_launch(plan), &plan.launches[1]);
    EXPECT_EQ(product.kernel, "winograd");
    EXPECT_EQ(product.tile_begin, 128);
    EXPECT_EQ(product.tile_count, 68);
    EXPECT_EQ(product.grid, (std::array<std::int64_t, 3>{3, 36, 1}));
    EXPECT_EQ(product.threads, 8 * 8);
    EXPECT_EQ(product.steps, 3);
    EXPECT_EQ(product.work.fmas, 3.0 * 36 * 24 * 64 * 32);
    // Transforms of one dimension: 8 multiply-adds for 6 pixels, 3 for 3 taps, 3 for 4 outputs.
    EXPECT_EQ(plan.launches[3].work.fmas, 24.0 * 68 * 12 * 8);
    EXPECT_EQ(plan.launches[5].work.fmas, 60.0 * 96 * 10 * 3); // whole lines of 32 tiles
    EXPECT_EQ(plan.prepare[0].work.fmas, 24.0 * 64 * 9 * 3);
    // 54 columns are no multiple of 4: outputs go through shared memory.
    EXPECT_EQ(plan.launches[5].template_arguments, (std::vector<std::int64_t>{6, 3, 1}));
    // The bound is of its own multiply-adds: it may be faster than any direct convolution.
    const auto bound = [](const char *strategy) {
        return case_of(strategy, "n1c20h56w54k60r3s3_pad1x1").prediction->times.tier0_s->value;
    };
    EXPECT_LT(bound(knobs), bound("implicit_gemm"));
}

TEST(Winograd, CtasOfAProductSpreadEvenly) {
    const Plan plan = plan_of("winograd:tile=4,tile_k=64,tile_pixels=32", "n1c256h28w28k256r3s3");
    const Partition &product = main_launch(plan);
    EXPECT_EQ(product.ctas, 4 * 2 * 36);
    EXPECT_EQ(product.ctas_per_sm, 3); // 288 on 132 SMs, though more would fit
}

TEST(Winograd, RefusesWithReasons) {
    refuses({
        {"winograd", "n1c8h8w8k8r7s7", "3x3 and 5x5"},
        {"winograd", "n1c8h8w8k8r3s5", "3x3 and 5x5"},
        {"winograd", "n1c8h8w8k8r3s3_str2x2", "stride 1"},
        {"winograd", "n1c8h8w8k8r3s3_g2", "no groups"},
        {"winograd", "n1c8h8w8k8r3s3_f16", "only FP32"},
        {"winograd", "n1c1h8w8k8r3s3", "one channel"},
        {"winograd:tile=6", "n1c8h18w18k8r5s5", "4, 6 or 8 points"},
        {"winograd:tile=3", "n1c8h18w18k8r3s3", "4, 6 or 8 points"},
        {"winograd:tile_k=32,tile_pixels=256,thread_k=4,thread_pixels=4,slice_channels=5", "n1c8h18w18k8r3s3",
         "slice_channels"},
        {"winograd:tile_k=32,tile_pixels=16,thread_k=8,thread_pixels=8", "n1c8h18w18k8r3s3",
         "no whole warps"},
    });
}

TEST(ImplicitGemm3xTf32, PlanByHand) {
    const char *knobs = "implicit_gemm_3xtf32:tile_k=64,tile_pixels=128,depth=4,stages=3,split=2";
    const Plan plan = plan_of_setting(knobs, "n1c64h56w56k100r3s3_pad1x1");
    ASSERT_EQ(plan.launches.size(), 1U);
    ASSERT_EQ(plan.prepare.size(), 1U);
    const Partition &part = plan.launches[0];
    // 3136 pixels in 25 tiles, 100 filters in 2, two parts each.
    EXPECT_EQ(part.grid, (std::array<std::int64_t, 3>{25 * 2 * 2, 1, 1}));
    EXPECT_EQ(part.cluster, 2);
    EXPECT_EQ(part.threads, 3 * 128);
    EXPECT_EQ(part.steps, 9); // 72 rows of 8 values, 4 a step, shared by two
    // Of a row of 8 values: two parts of 64 filters, and 128 pixels padded by 8; two barriers a stage.
    EXPECT_EQ(part.shared_bytes, 3 * (4 * 8 * (2 * 64 + 136) * 4 + 16));
    EXPECT_EQ(part.step.tensor_fmas, 3.0 * 32 * 64 * 128);
    EXPECT_EQ(part.work.fmas, 0.0);
    EXPECT_EQ(part.work.tensor_fmas, 3.0 * 576 * (25 * 128) * 128);
    EXPECT_EQ(plan.workspace_bytes, 2 * 576 * 128 * 4);
    EXPECT_TRUE(uses_tensor_cores(plan));
    EXPECT_EQ(part.architecture_features, true);
    EXPECT_EQ(plan.prepare[0].architecture_features, std::nullopt);
}

TEST(ImplicitGemm, ByFilterSharesQuadsUnevenly) {
    const char *knobs = "implicit_gemm:tile_k=32,tile_pixels=32,thread_k=4,thread_pixels=8,slice_channels=4,"
                        "stages=3,warp_split=4,split=1,filters=1,staging=1,columns=1";
    // 36 values of a step are 9 quads; four warps, one of each scheduler, have 2, 2, 2 and 3.
    EXPECT_DOUBLE_EQ(partition_of(knobs, "n1c16h26w26k896r3s3_pad1x1").busiest_scheduler.value(),
                     3.0 / (9.0 / 4.0));
}

/// As instrumented code counts loads and stores on an H200, filters' preparation included. The chip's own
/// counter sees 14,301 and 22,068: loads that wait while tensor cores read count more than once there.
TEST(ImplicitGemm3xTf32, WavefrontsByAddressAreExact) {
    const auto work_of = [](const char *strategy) {
        return case_of(strategy, "n1c56h14w14k3r5s5").prediction->work.value();
    };
    const Work small = work_of("implicit_gemm_3xtf32:tile_k=32,tile_pixels=64,depth=4,stages=3,split=8"),
               large = work_of("implicit_gemm_3xtf32:tile_k=32,tile_pixels=256,depth=4,stages=4,split=1");
    EXPECT_DOUBLE_EQ(*small.shared_wavefronts, 12864);
    EXPECT_DOUBLE_EQ(*large.shared_wavefronts, 17344);
}

TEST(ImplicitGemm3xTf32, LanesWithoutAPixelMeetNoBank) {
    const auto step_of = [](const char *shape) {
        return predict(
                   parse_strategy("implicit_gemm_3xtf32:tile_k=64,tile_pixels=64,depth=4,stages=2,split=1"),
                   ConvShape::parse(shape), find_profile("h200"))
            .prediction->plan->launches[0]
            .step;
    };
    // Of 4 rows: 4 warps' 4 passes, 3 products by 64 filters of 32 B, and those filters' two parts; 32 values
    // of 64 pixels, of which there is one: the first warp's copy takes a pass and one to write, the second's
    // only that.
    constexpr double beside = 4 * 4 * 4 + 4 * 3 * 16 + 4 * 2 * 16;
    EXPECT_DOUBLE_EQ(step_of("n1c64h1w1k64r1s1").shared_wavefronts, beside + 32 * (2.0 + 1.0));
    // 32 images, 64 words apart: 32 lines, and the same bank 32 times; the second warp has none.
    EXPECT_DOUBLE_EQ(step_of("n32c64h1w1k64r1s1").shared_wavefronts,
                     beside + 32 * ((32 + 2 * 32) / 3.0 + 1.0 + 1.0));
}

TEST(ImplicitGemm3xTf32, RefusesWithReasons) {
    refuses({
        {"implicit_gemm_3xtf32", "n1c8h8w8k8r3s3", "compute capability 9.0", {}, "gtx1080ti"},
        {"implicit_gemm_3xtf32", "n1c8h8w8k8r3s3_f16", "only FP32"},
        {"implicit_gemm_3xtf32:split=8", "n1c8h8w8k8r3s3", "exceeds the 3 steps"},
        {"implicit_gemm_3xtf32:tile_k=48", "n1c8h8w8k8r3s3", "32, 64 or 128"},
        {"implicit_gemm_3xtf32:tile_k=128,tile_pixels=256", "n1c8h8w8k8r3s3", "registers"},
    });
}

/// What needs a rate of tensor cores has no time on a profile without it; and it never ranks before FFMAs.
TEST(ImplicitGemm3xTf32, TimeNeedsTheRateOfTensorCores) {
    GpuProfile profile = find_profile("h200");
    const ConvShape shape = ConvShape::parse("n32c256h56w56k256r3s3_pad1x1");
    const Strategy strategy = parse_strategy("implicit_gemm_3xtf32");
    profile.tf32_mma_rate.reset();
    profile.missing["tf32_mma_rate"] = "not measured";
    const Case without = predict(strategy, shape, profile, knowledge_for(profile));
    ASSERT_EQ(without.status, Status::ok);
    EXPECT_FALSE(without.prediction->time_s);
    EXPECT_THAT(*without.prediction->reason, HasSubstr("tf32_mma_rate (not measured)"));
    Param<FmasPerCycle> rate;
    rate.value.value = 1000.0;
    profile.tf32_mma_rate = rate;
    const Case with = predict(strategy, shape, profile, knowledge_for(profile));
    ASSERT_TRUE(with.prediction->time_s);
    const double ffma = predict(parse_strategy("implicit_gemm"), shape, profile, knowledge_for(profile))
                            .prediction->time_s->value;
    EXPECT_LT(with.prediction->time_s->value, ffma);
    const std::vector<Case> ranked =
        choose(shape, profile, knowledge_for(profile), {"implicit_gemm_3xtf32", "naive_global"});
    EXPECT_THAT(*ranked.front().strategy, HasSubstr("naive_global"));
}

TEST(Occupancy, ByHand) {
    const GpuProfile gpu = find_profile("h200");
    EXPECT_EQ(resident_ctas(gpu, 512, 64, 0), 2); // 65,536 / (512 * 64)
    EXPECT_EQ(resident_ctas(gpu, 256, 128, 0), 2);
    EXPECT_EQ(resident_ctas(gpu, 128, 192, 0), 2);    // 10 warps of 6,144 registers in 65,536
    EXPECT_EQ(resident_ctas(gpu, 32, 32, 0), 32);     // no more CTAs on an SM
    EXPECT_EQ(resident_ctas(gpu, 32, 32, 100000), 2); // (100,000 + 1,024) up to 128, in 233,472
    EXPECT_EQ(resident_ctas(gpu, 32, 32, 232449), 0); // over the limit of a CTA
    EXPECT_EQ(resident_ctas(gpu, 2048, 32, 0), 0);
}

TEST(Forecast, AProfileWithoutANumberGivesRulesButNoTime) {
    GpuProfile profile = find_profile("gtx1080ti");
    profile.launch_floor.reset();
    const Case item = predict(parse_strategy("map_split"), ConvShape::parse("n1c1h28w28k512r3s3"), profile,
                              knowledge_for(profile));
    ASSERT_TRUE(item.prediction.has_value());
    EXPECT_FALSE(item.prediction->time_s.has_value());
    EXPECT_THAT(*item.prediction->reason, HasSubstr("launch_floor"));
    EXPECT_EQ(item.prediction->rules->n_fma, 66048);
    EXPECT_EQ(item.prediction->rules->v_s_bytes, 86016);
    EXPECT_TRUE(item.prediction->regimes->paper.has_value());
}

TEST(Forecast, EachGpuOfThePapersHasATimeWithARange) {
    for (const char *gpu : {"gtx1080ti", "titanx_maxwell", "k40m", "k80", "gt750m"})
        for (const char *text : {"n1c1h256w256k32r3s3", "n1c64h56w56k64r3s3"}) {
            const char *strategy = ConvShape::parse(text).c == 1 ? "row_register" : "block_register";
            const Prediction p = case_of(strategy, text, gpu).prediction.value();
            ASSERT_TRUE(p.time_s && p.assumed_low_s && p.assumed_high_s)
                << gpu << " " << p.reason.value_or("");
            EXPECT_LT(*p.assumed_low_s, *p.time_s) << gpu;
            EXPECT_GT(*p.assumed_high_s, *p.time_s) << gpu;
            EXPECT_THAT(p.assumptions, Contains(HasSubstr("launch_floor"))) << gpu;
        }
    EXPECT_FALSE(case_of("naive_global", "n1c64h56w56k64r3s3").prediction->assumed_low_s);
}

TEST(Forecast, RegimeRule) {
    EXPECT_EQ(regime_by_rule(100.0, 100.0, 0.0, 1.0), Regime::compute_hidden);
    EXPECT_EQ(regime_by_rule(99.0, 100.0, 2.0, 1.0), Regime::bulk_hidden);
    EXPECT_EQ(regime_by_rule(99.0, 100.0, 0.5, 1.0), Regime::exposed);
    EXPECT_EQ(measured_regime(0.6, 0.0, 0.9, 0.9), Regime::compute_hidden);
    EXPECT_EQ(measured_regime(0.5, 0.5, 0.7, 0.1), Regime::bulk_hidden);
    EXPECT_EQ(measured_regime(0.5, 0.5, 0.6, 0.1), Regime::exposed);
}

} // namespace
