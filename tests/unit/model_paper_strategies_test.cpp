// Plans of the papers' kernels, worked by hand. The toy GPU has 10 SMs with 64 KB of shared memory.
#include "model/paper/papers.hpp"
#include "model/predict.hpp"
#include "model/record/study.hpp"
#include "model/work/shared_access.hpp"

#include <gmock/gmock.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

using namespace convcast;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

struct Answer {
    std::string text;
    Feasible feasible;
    const Partition &launch(std::size_t i = 0) const { return feasible.plan.launches.at(i); }
};

Answer planned(const std::string &strategy, const std::string &shape, const char *gpu = "toy") {
    const GpuProfile profile = find_profile(gpu);
    auto made = plan(parse_strategy(strategy), ConvShape::parse(shape), profile);
    if (const auto *why = std::get_if<Infeasible>(&made))
        throw std::runtime_error(strategy + " " + shape + ": " + why->why);
    PlannedStrategy &good = std::get<PlannedStrategy>(made);
    return {to_text(good.strategy), std::move(good.feasible)};
}

std::string refused(const std::string &strategy, const std::string &shape, const char *gpu = "toy") {
    const GpuProfile profile = find_profile(gpu);
    auto made = plan(parse_strategy(strategy), ConvShape::parse(shape), profile);
    const auto *why = std::get_if<Infeasible>(&made);
    return why ? why->why : "";
}

/// The pieces that the paper's rules give, or the next of which D is no more than S_shared.
std::int64_t honoured(std::int64_t paper, std::int64_t most, std::int64_t room,
                      const std::function<std::int64_t(std::int64_t)> &bytes) {
    for (std::int64_t pieces = paper; pieces <= most; ++pieces)
        if (bytes(pieces) <= room)
            return pieces;
    return paper; // no number fits: the paper's then runs on fewer rows at a time
}

// On every shape of the study, of both GPUs, the number of pieces that runs is the paper's, with the paper's
// two CTAs of 512 threads an SM.
TEST(Divisions, PiecesAreThePapers) {
    for (const char *gpu : {"gtx1080ti", "h200"}) {
        const GpuProfile profile = find_profile(gpu);
        const std::int64_t n_sm = profile.limits.sm_count, room = profile.limits.shared_bytes_per_sm;
        for (const std::string &shape : find_study("chang_single").shapes) {
            SCOPED_TRACE(std::string(gpu) + " " + shape);
            const ConvShape s = ConvShape::parse(shape);
            const papers::Division d = papers::divide_single_channel(s, profile);
            const Answer p = planned("filter_split", shape, gpu), q = planned("map_split", shape, gpu);
            EXPECT_EQ(p.launch().pieces, honoured(d.p.chosen, s.p(), room, [&](std::int64_t pieces) {
                          return papers::d1_bytes(s, n_sm, pieces);
                      }));
            EXPECT_EQ(q.launch().pieces, honoured(d.q.chosen, s.k, room, [&](std::int64_t pieces) {
                          return papers::d2_bytes(s, n_sm, pieces);
                      }));
            for (const Answer *answer : {&p, &q}) {
                EXPECT_EQ(answer->launch().threads, 512);
                EXPECT_GE(answer->launch().ctas_per_sm, 2);
                EXPECT_LE(answer->launch().register_cap, 64);
                EXPECT_EQ(answer->feasible.rules.run_pieces, answer->launch().pieces);
            }
        }
    }
}

// 512 x 512, K = 5, M = 32 on the 1080 Ti: by rows in pairs of CTAs Q = 1 does not fit, by columns it does.
TEST(Divisions, OneBufferHoldsWhatDCounts) {
    EXPECT_EQ(planned("map_split", "n1c1h512w512k32r5s5", "gtx1080ti").text, "map_split:pieces=1,buffers=1");
    EXPECT_THAT(refused("map_split:buffers=2", "n1c1h512w512k32r5s5", "gtx1080ti"), HasSubstr("do not fit"));
    // P = 12 of 508 rows: 43 rows of a piece, 4 of the next, of 256 + 4 columns, and 2 filters of 25, in 28
    // each and whole lines.
    const Answer one = planned("filter_split", "n1c1h512w512k32r5s5", "gtx1080ti");
    EXPECT_EQ(one.text, "filter_split:pieces=12,buffers=1,map_shares=1");
    EXPECT_EQ(one.launch().shared_bytes, (47 * 260 + 64) * 4);
    EXPECT_EQ(one.launch().kernel, "split_walk");
    EXPECT_EQ(one.launch().steps, 51); // a quarter of 43 rows is 10
    EXPECT_EQ(one.launch().stages, 4);
    EXPECT_EQ(planned("filter_split:buffers=2", "n1c1h512w512k32r5s5", "gtx1080ti").text,
              "filter_split:pieces=64,buffers=2,map_shares=1");
}

TEST(Divisions, NoQFitsSoRowsAreSharedFurther) {
    const Answer two = planned("map_split", "n1c1h1024w1024k32r1s1", "gtx1080ti"); // 37 rows of 4096 bytes
    EXPECT_EQ(two.text, "map_split:pieces=1,buffers=1");
    EXPECT_EQ(two.launch().parts, 56);
    EXPECT_EQ(two.launch().tile_h, 19);
    EXPECT_THAT(two.feasible.rules.remarks.back(), HasSubstr("54 shares"));
}

TEST(Divisions, StepFourRedivides) {
    const Answer four = planned("filter_split:map_shares=0", "n1c1h56w56k256r1s1", "gtx1080ti");
    EXPECT_EQ(four.text, "filter_split:pieces=1,buffers=1,map_shares=4");
    EXPECT_EQ(four.launch().tile_k, 37);
    EXPECT_EQ(four.launch().tile_h, 14);
    EXPECT_EQ(four.launch().parts, 28);
    EXPECT_EQ(four.feasible.paper_round_bytes * 28, 91952);
    // Where an SM has N_FMA there is nothing to redivide.
    EXPECT_EQ(planned("filter_split:map_shares=0", "n1c1h112w112k128r3s3", "gtx1080ti").text,
              "filter_split:pieces=1,buffers=2,map_shares=1");
    EXPECT_THAT(refused("filter_split:map_shares=2,buffers=2", "n1c1h56w56k256r1s1"),
                HasSubstr("needs buffers = 1"));
    EXPECT_THAT(refused("filter_split:map_shares=11", "n1c1h56w56k256r1s1"), HasSubstr("exceeds the 10 SMs"));
    EXPECT_THAT(refused("filter_split:buffers=1", "n1c1h56w56k256r7s7"), HasSubstr("25 values at most"));
}

// The multiply-adds of all CTAs are the convolution's, whatever the shares and pieces.
TEST(Divisions, WalkComputesEveryOutputOnce) {
    for (const char *strategy :
         {"filter_split:buffers=1", "filter_split:buffers=1,pieces=3", "filter_split:map_shares=3",
          "map_split:buffers=1", "map_split:buffers=1,pieces=5"})
        for (const char *shape : {"n1c1h19w21k7r3s3", "n2c1h40w32k23r5s5", "n1c1h9w8k64r1s1"}) {
            SCOPED_TRACE(std::string(strategy) + " " + shape);
            EXPECT_EQ(planned(strategy, shape).launch().work.fmas, ConvShape::parse(shape).fmas().value);
        }
}

TEST(Infeasible, HasThePapersRulesOfTheShape) {
    const Case item = predict(parse_strategy("map_split:buffers=2"), ConvShape::parse("n1c1h512w512k32r5s5"),
                              find_profile("gtx1080ti"));
    EXPECT_EQ(item.status, Status::infeasible);
    ASSERT_TRUE(item.rules);
    EXPECT_EQ(item.rules->candidate_q, 1);
    EXPECT_EQ(item.rules->candidate_p, 12);
    EXPECT_EQ(item.rules->d1_bytes, 96456);
}

TEST(SharedPasses, ByHand) {
    const auto taken = [](std::int64_t threads, int width, auto word) {
        return shared_passes(Banks{}, threads, width, word).taken;
    };
    EXPECT_EQ(taken(32, 1, [](std::int64_t t) { return t; }), 1);
    EXPECT_EQ(taken(32, 1, [](std::int64_t) { return 7; }), 1);       // one word for all lanes
    EXPECT_EQ(taken(32, 1, [](std::int64_t t) { return 2 * t; }), 2); // lanes t and t + 16 share a bank
    EXPECT_EQ(taken(32, 1, [](std::int64_t t) { return 32 * t; }), 32);
    EXPECT_EQ(taken(32, 2, [](std::int64_t t) { return 2 * t; }), 2); // 64 words
    EXPECT_EQ(taken(32, 4, [](std::int64_t t) { return 4 * t; }), 4); // 128 words
    EXPECT_EQ(taken(32, 4, [](std::int64_t) { return 0; }),
              architecture_for(90).numbers.uniform_wide_wavefronts->value);
    EXPECT_EQ(taken(48, 1, [](std::int64_t t) { return t; }), 2); // a warp and a half
    EXPECT_EQ(shared_passes(Banks{}, 32, 1, [](std::int64_t t) { return 2 * t; }).least, 1);
}

TEST(NaiveGlobal, PlanByHand) {
    const Answer one = planned("naive_global", "n1c2h10w10k4r3s3");
    EXPECT_THAT(one.launch().grid, ElementsAre(1, 1, 1)); // 4 * 8 * 8 outputs
    EXPECT_EQ(one.launch().steps, 2);
    EXPECT_EQ(one.launch().work.fmas, 256 * 18);
    EXPECT_EQ(one.launch().work.shared_wavefronts, 0);
    // 8 rows of 8 outputs need the 10 x 10 map of each channel once, the second right behind the first, and
    // all filters: 4 * 18 values.
    EXPECT_NEAR(*one.launch().work.l2_read_bytes, 800 + (4 * 72 + 28), 1e-9);
    EXPECT_EQ(one.launch().sector_share, 1.0);
    // Groups halve the products: 3 * 3 * 2 of 4 channels; taps in the padding count as well.
    const Answer grouped = planned("naive_global:threads=64", "n1c4h10w10k4r3s3_pad1x1_g2");
    EXPECT_EQ(grouped.launch().work.fmas, 4 * 10 * 10 * 18);
    EXPECT_EQ(grouped.launch().grid[0], 7);
    EXPECT_THAT(grouped.launch().template_arguments, ElementsAre(3, 3, 64, 1, 0));
}

TEST(NaiveGlobal, ChannelsOfOnePixelShareASector) {
    // 64 channels of one pixel are 8 sectors of the map and of each filter: every eighth step reaches new
    // ones.
    const Answer whole = planned("naive_global", "n1c64h1w1k64r1s1");
    EXPECT_EQ(whole.launch().sector_share, 0.125);
    EXPECT_EQ(whole.launch().steps, 64);
    EXPECT_NEAR(*whole.launch().work.l2_read_bytes, 64 * 4 + (64 * 64 * 4 + 28), 1e-9);
    // 65 channels: the 32 filters of a warp begin at every place of a sector.
    EXPECT_EQ(planned("naive_global", "n1c65h1w1k64r1s1").launch().sector_share, 1.0);
    EXPECT_EQ(planned("naive_global", "n1c68h1w1k64r1s1").launch().sector_share, 0.25);
    EXPECT_EQ(planned("naive_global", "n1c64h2w2k64r2s2").launch().sector_share, 0.5);
    EXPECT_EQ(planned("naive_global", "n1c64h8w8k64r1s1").launch().sector_share, 1.0);
    EXPECT_EQ(planned("naive_shared:map=2", "n1c64h2w2k64r1s1").launch().sector_share, 0.5);
}

TEST(NaiveGlobal, ResidentCtasAreThoseOfTheCompiledRegisters) {
    // 256 threads, of which an SM has 2,048, with 32 registers of 65,536; with 40 there is room for 6 CTAs.
    EXPECT_EQ(planned("naive_global", "n1c16h28w28k16r1s3", "h200").launch().ctas_per_sm, 8);
    for (const char *shape : {"n1c16h28w28k16r2s2", "n1c16h28w28k16r3s2"}) // 36 and 40, as compiled
        EXPECT_EQ(planned("naive_global", shape, "h200").launch().ctas_per_sm, 6) << shape;
}

TEST(NaiveGlobal, ManyOutputs) {
    // 2^32 outputs: counted in 64 bits; 2^42: more than 2^31 - 1 CTAs of 1024 threads.
    EXPECT_EQ(planned("naive_global", "n1c1h65536w65536k1r1s1").launch().template_arguments.back(), 1);
    EXPECT_EQ(planned("naive_global", "n1c1h1024w1024k1r1s1").launch().template_arguments.back(), 0);
    EXPECT_THAT(refused("naive_global:threads=1024", "n4c1h1048576w1048576k1r1s1"),
                HasSubstr("more than 2^31 - 1 CTAs"));
}

TEST(NaiveShared, TheFashionMnistLayers) {
    // A CTA per filter; 28 x 28 pixels and 25 filter values, up to a multiple of 4, in shared memory.
    const Answer first = planned("naive_shared", "n1c1h28w28k32r5s5");
    EXPECT_EQ(first.text, "naive_shared:tile_w=24,tile_h=24,map=1");
    EXPECT_THAT(first.launch().grid, ElementsAre(1, 32, 1));
    EXPECT_EQ(first.launch().threads, 576);
    EXPECT_EQ(first.launch().shared_bytes, (28 + 784) * 4);
    EXPECT_EQ(first.launch().work.fmas, 24 * 24 * 32 * 25);
    // 12 x 12 x 32 pixels and 800 filter values: 8 x 8 threads.
    const Answer second = planned("naive_shared", "n1c32h12w12k64r5s5");
    EXPECT_EQ(second.launch().threads, 64);
    EXPECT_EQ(second.launch().shared_bytes, (800 + 32 * 144) * 4);
    // Per tap 2 warps read pixels: 4 rows of 8, 12 apart: 0..7, 12..19, 24..31, 36..43; 36..39 fall on 4..7.
    // And a filter value each.
    EXPECT_EQ(second.launch().work.shared_wavefronts, 64 * 800.0 * (2 * 2 + 2));
    EXPECT_EQ(second.launch().work.shared_conflicts, 64 * 800.0 * 2);
}

TEST(NaiveShared, ATileOfOnePixelTakesNoDivision) {
    // Its one thread copies 64 pixels and 64 filter values, 14 instructions each.
    const Answer one = planned("naive_shared", "n1c64h1w1k8r1s1");
    EXPECT_EQ(one.text, "naive_shared:tile_w=1,tile_h=1,map=1");
    EXPECT_EQ(one.launch().step.copying, 64 * 14 + 64 * 14);
    // Two pixels a channel: two threads take 64 turns at the pixels, which are divided (28), and 32 at the
    // filter.
    EXPECT_EQ(planned("naive_shared", "n1c64h1w2k8r1s1").launch().step.copying, 64 * 28 + 32 * 14);
    // The 64 pixels lie one after another: 8 sectors, not 64.
    EXPECT_EQ(one.launch().step.load_bytes, 64 * 4 + 64 * 4);
}

TEST(NaiveShared, TheMapStaysOutsideWhereItDoesNotFit) {
    const std::string shape = "n1c64h56w56k64r3s3_pad1x1_str2x2";
    // 28 x 28 outputs of stride 2 need 57 x 57 pixels of 64 channels.
    EXPECT_EQ(planned("naive_shared", shape).text, "naive_shared:tile_w=28,tile_h=28,map=2");
    EXPECT_EQ(planned("naive_shared", shape).launch().shared_bytes, 64 * 9 * 4);
    EXPECT_THAT(refused("naive_shared:map=1", shape), HasSubstr("does not fit beside the filter"));
    EXPECT_THAT(refused("naive_shared", "n1c4h9w9k4r3s3_str3x1"), HasSubstr("strides 1 and 2"));
    EXPECT_THAT(refused("naive_shared", "n1c4h9w9k4r3s3_g2"), HasSubstr("one group"));
    EXPECT_THAT(refused("naive_shared", "n1c4h9w9k4r3s3_dil2x2"), HasSubstr("no dilation"));
}

TEST(BlockRegister, ThePapersBestByHand) {
    const Answer three = planned("block_register", "n1c64h56w56k64r3s3", "h200");
    EXPECT_EQ(three.text,
              "block_register:tile_w=32,tile_h=4,tile_k=64,pixels_per_thread=16,filters_per_thread=4,"
              "channels=2,unit=4");
    const Partition &launch = three.launch();
    EXPECT_EQ(launch.threads, 64 / 4 * 32 * 4 / 16);
    EXPECT_THAT(launch.grid, ElementsAre(2 * 14, 1, 1)); // ceil(54 / 32) * ceil(54 / 4)
    EXPECT_EQ(launch.steps, 32);
    // Two buffers of 2 * 9 rows of 64 + 4 filters and 2 * 6 rows of 32 + 4 pixels.
    EXPECT_EQ(launch.shared_bytes, 2 * (18 * 68 + 12 * 36) * 4);
    EXPECT_EQ(launch.step.fmas, 18 * 64 * 128);
    EXPECT_EQ(launch.work.fmas, 28.0 * 32 * 18 * 64 * 128);
    // Of a channel and filter row: 18 pixels in 5 reads, one word for each half-warp (2 passes), but of the
    // last only two pixels are used (1 pass); 3 times 4 filter values, 16 threads next to each other in each
    // half-warp (64 words, 2 passes each).
    EXPECT_EQ(launch.step.shared_wavefronts, 4.0 * 6 * (4 * 2 + 1 + 3 * 4));
    EXPECT_EQ(planned("block_register", "n1c64h56w56k64r5s5", "h200").text,
              "block_register:tile_w=32,tile_h=8,tile_k=32,pixels_per_thread=8,filters_per_thread=8,channels="
              "1,unit=4");
    EXPECT_EQ(planned("block_register", "n1c64h80w80k64r7s7", "h200").text,
              "block_register:tile_w=64,tile_h=4,tile_k=32,pixels_per_thread=8,filters_per_thread=8,channels="
              "1,unit=4");
}

TEST(BlockRegister, OneWarpCopiesThePixelsOfSingleTaps) {
    // 4 warps. Of 16 taps 8 filters are copied at a time: 8 turns of each warp. The 4 rows of 8 copies are
    // 32 threads' at once: in each of 16 channels a turn of the first warp. A turn and its copy are 24.
    const Answer one = planned("block_register", "n1c64h56w56k64r1s1", "h200");
    EXPECT_EQ(one.text, "block_register:tile_w=32,tile_h=4,tile_k=64,pixels_per_thread=16,"
                        "filters_per_thread=4,channels=16,unit=4");
    const double first = (8 + 16) * 24, others = 8 * 24;
    EXPECT_EQ(one.launch().threads, 128);
    EXPECT_EQ(one.launch().step.copying, first + 3 * others);
    EXPECT_EQ(one.launch().longest_copier, first / ((first + 3 * others) / 4));
    // Short elements wait in registers while others are computed.
    EXPECT_EQ(planned("block_register", "n1c8h20w64k64r3s3_f16").launch().step.copying, 0.0);
}

TEST(BlockRegister, UnmatchedReadsTakeMoreInstructions) {
    const Answer one = planned("block_register:unit=1", "n1c64h56w56k64r3s3", "h200");
    const Answer four = planned("block_register:unit=4", "n1c64h56w56k64r3s3", "h200");
    // 18 + 3 * 4 reads of a row against 5 + 3.
    EXPECT_NEAR(one.launch().step.instructions - four.launch().step.instructions, 4 * 6 * (30 - 8), 1e-6);
}

TEST(BlockRegister, RefusesWithReasons) {
    const char *shape = "n1c4h20w20k8r3s3";
    EXPECT_THAT(refused("block_register:tile_w=24,pixels_per_thread=16", shape),
                HasSubstr("of pixels_per_thread = 16"));
    EXPECT_THAT(refused("block_register:tile_k=20,filters_per_thread=8", shape),
                HasSubstr("of filters_per_thread = 8"));
    EXPECT_THAT(refused("block_register:pixels_per_thread=2,unit=4", shape),
                HasSubstr("multiples of unit = 4"));
    EXPECT_THAT(refused("block_register:channels=5", shape), HasSubstr("exceeds the 4"));
    EXPECT_THAT(refused("block_register:unit=3", shape), HasSubstr("unit must be"));
    EXPECT_THAT(refused("block_register", "n1c4h20w20k8r3s3_pad1x1"), HasSubstr("no padding"));
}

TEST(RowRegister, UnitsAreReadAsOne) {
    // 128 outputs of a row by 32 threads: 5 fetches; 4 + 2 pixels are 2 reads of 128 bits, 4 passes each.
    const Answer four = planned("row_register:tile_w=128,unit=4,units=1", "n1c1h130w130k8r3s3");
    EXPECT_EQ(four.launch().threads, 32);
    EXPECT_EQ(four.launch().step.shared_wavefronts, 5 + 2 * 4);
    EXPECT_EQ(four.launch().work.shared_conflicts, 0);
    EXPECT_EQ(four.launch().shared_bytes, (128 + 4) * 4);
    EXPECT_EQ(four.launch().template_arguments.back(), 1); // 128 outputs a row are whole units
    EXPECT_EQ(planned("row_register:tile_w=128,unit=4,units=1", "n1c1h130w131k8r3s3")
                  .launch()
                  .template_arguments.back(),
              0);
}

TEST(RowRegister, BanksOfEightBytes) {
    // Chen's layouts on a K40m, W = 256. Of single pixels 256 threads: 258 pixels are stored by 9 warps, each
    // of 8 warps reads 3 words in a pass each.
    const Answer one = planned("row_register:tile_w=256,unit=1,units=1", "n1c1h258w258k8r3s3", "k40m");
    EXPECT_EQ(one.launch().threads, 256);
    EXPECT_EQ(one.launch().step.shared_wavefronts, 9 + 3 * 8);
    // Of pairs W / n = 128 threads: each of 4 warps reads 2 units of 8 bytes, in a pass each.
    const Answer two = planned("row_register:tile_w=256,unit=2,units=1", "n1c1h258w258k8r3s3", "k40m");
    EXPECT_EQ(two.launch().threads, 128);
    EXPECT_EQ(two.launch().step.shared_wavefronts, 9 + 2 * 4);
    EXPECT_EQ(two.launch().work.shared_conflicts, 0);
    EXPECT_EQ(two.text, "row_register:tile_w=256,tile_h=8,unit=2,units=1,tile_k=8");
    EXPECT_EQ(two.feasible.rules.pixel_uses, 3 * 3 * 8);
}

TEST(BlockRegister, BanksOfEightBytes) {
    // Table 1's 3 x 3: a step of 2 channels has 6 rows, of which a thread reads 16 + 2 pixels and 3 * 4
    // filter values; 4 warps. Every load of a warp is one pass, as 16 lanes have one address and 16
    // neighbouring words of filters are half a pass, or pairs of them a whole one.
    const auto passes = [](const char *unit) {
        return planned(std::string("block_register:unit=") + unit, "n1c64h64w64k64r3s3", "k40m")
            .launch()
            .step.shared_wavefronts;
    };
    EXPECT_EQ(passes("1"), 4 * 6 * (18 + 12));
    EXPECT_EQ(passes("2"), 4 * 6 * (9 + 6));
    const Answer table1 = planned("block_register:unit=2", "n1c64h64w64k64r3s3", "k40m");
    EXPECT_EQ(table1.text,
              "block_register:tile_w=32,tile_h=4,tile_k=64,pixels_per_thread=16,filters_per_thread=4,"
              "channels=2,unit=2");
    EXPECT_EQ(table1.launch().threads, 128);
    EXPECT_DOUBLE_EQ(*table1.feasible.rules.shared_reads, 18.0 / 48.0);
    EXPECT_DOUBLE_EQ(*table1.feasible.rules.global_reads, 1.0 / 3.0);
    EXPECT_EQ(table1.feasible.rules.pixel_uses, 9 * 64);
    EXPECT_EQ(planned("block_register:unit=2", "n1c64h64w64k64r5s5", "k40m").launch().threads, 128);
    EXPECT_EQ(planned("block_register:unit=2", "n1c64h128w128k64r7s7", "k40m").text,
              "block_register:tile_w=64,tile_h=4,tile_k=32,pixels_per_thread=8,filters_per_thread=8,"
              "channels=1,unit=2");
}

TEST(ShortElements, TheirUnitIsWhatABankHolds) {
    for (const auto &[type, unit, ratio] :
         {std::tuple{"", 1, 1.0}, std::tuple{"_f16", 2, 2.0}, std::tuple{"_i8", 4, 4.0}}) {
        const Answer row = planned("row_register", std::string("n1c1h20w130k8r3s3") + type);
        EXPECT_EQ(row.launch().template_arguments.at(3), unit) << type;
        EXPECT_EQ(row.feasible.rules.bank_ratio, ratio) << type;
        EXPECT_EQ(row.launch().constant_bytes, 8 * 9 * 4 / unit);
        EXPECT_EQ(row.launch().work.dram_read_bytes, (20 * 130 + 8 * 9) * 4 / unit);
        const Answer block = planned("block_register", std::string("n1c8h20w64k64r3s3") + type);
        EXPECT_EQ(block.feasible.rules.bank_ratio, ratio) << type;
        EXPECT_EQ(block.launch().work.dram_read_bytes, (8 * 20 * 64 + 8 * 64 * 9) * 4 / unit);
        EXPECT_EQ(block.launch().template_arguments.size(), unit == 1 ? 10U : 11U);
    }
    EXPECT_THAT(refused("filter_split", "n1c1h20w130k8r3s3_f16"), HasSubstr("only FP32"));
    EXPECT_THAT(refused("implicit_gemm", "n1c8h20w130k8r3s3_i8"), HasSubstr("only FP32"));
}

TEST(ShortElements, UnmatchedReadsTakeMorePasses) {
    const auto wavefronts = [](const char *unit, const char *type) {
        return planned(std::string("block_register:unit=") + unit, std::string("n1c64h64w64k64r3s3") + type)
            .launch()
            .step.shared_wavefronts;
    };
    EXPECT_GT(wavefronts("1", "_f16"), 1.5 * wavefronts("2", "_f16"));
    EXPECT_GT(wavefronts("1", "_i8"), 2.5 * wavefronts("4", "_i8"));
}

TEST(StrideFixedBlock, AChannelAStep) {
    // S = 9 * 4: 64 steps of one channel, 3 lines each; filters 12 floats apart, offsets 12, lines 128 + 4.
    const Answer chen =
        planned("stride_fixed_block:segment_bytes=1,tile_w=128,tile_k=64", "n1c64h56w56k64r3s3", "h200");
    EXPECT_THAT(chen.text, HasSubstr("segment_bytes=36,"));
    EXPECT_THAT(chen.feasible.rules.remarks, testing::Contains(HasSubstr("rule 1: S = 36")));
    EXPECT_EQ(chen.launch().steps, 64);
    EXPECT_EQ(chen.launch().shared_bytes, 2 * (65 * 12 + 3 * 132) * 4);
    EXPECT_EQ(chen.launch().step.fmas, 9 * 64 * 128);
    EXPECT_EQ(planned(chen.text, "n1c64h56w56k64r3s3", "h200").text, chen.text);
    EXPECT_THAT(refused("stride_fixed_block:segment_bytes=36", "n1c64h56w56k64r5s5", "h200"),
                HasSubstr("r * s * 4 = 100"));
    EXPECT_EQ(planned("stride_fixed_block:segment_bytes=128", "n1c64h56w56k64r3s3", "h200").launch().steps,
              18);
}

TEST(FilterStream, PlanByHand) {
    // M' = ceil(64 / 10) = 7: a group of 8 of all channels; 64 = 9 * 7 + 1.
    const Answer stream = planned("filter_stream:rows=4,channels=2,stages=2", "n1c64h56w56k64r3s3");
    const Partition &launch = stream.launch();
    EXPECT_THAT(launch.grid, ElementsAre(10, 1, 1));
    EXPECT_EQ(launch.bank_floats, 8 * 576);
    EXPECT_EQ(launch.shared_bytes, (launch.bank_floats + 2 * 2 * launch.band_floats) * 4);
    EXPECT_EQ(launch.band_floats, (launch.tile_h + 2) * 56);
    EXPECT_EQ(launch.steps, launch.pieces * 32);
    // 54 rows are 14 units of 4 however they are cut into bands of whole units.
    EXPECT_EQ(launch.work.fmas, 10.0 * 14 * 54 * 4 * 8 * 576);
    EXPECT_THAT(stream.feasible.rules.remarks,
                ElementsAre("the filters' 147456 bytes stay cached: N_sm * S_shared = 655360"));
    EXPECT_THAT(refused("filter_stream", "n1c512h7w7k512r5s5"),
                HasSubstr("M' = 52 filters of all channels need"));
}

TEST(MapStream, PlanByHand) {
    // ceil(54 / 10) = 6 rows an SM: 9 CTAs of 5 * 56 + 54 = 334 positions, 3 blocks of 32 * 4.
    const Answer stream = planned("map_stream:tile_k=16,stages=2", "n1c64h56w56k64r3s3");
    const Partition &launch = stream.launch();
    EXPECT_THAT(launch.grid, ElementsAre(9, 1, 1));
    EXPECT_EQ(launch.band_floats, 8 * 56);
    // c channels need (2 * 16 * 9 + 448) * c + 128 floats: 22 fit 16,384 (c = 22: 16,320), so 3 pieces of 22.
    EXPECT_EQ(launch.pieces, 3);
    EXPECT_EQ(launch.shared_bytes, (736 * 22 + 128) * 4);
    EXPECT_EQ(launch.steps, 3 * 4);
    EXPECT_EQ(launch.work.fmas, 9.0 * 3 * 128 * 64 * 576);
    EXPECT_THAT(stream.feasible.rules.remarks,
                ElementsAre("the map's 802816 bytes do not stay cached: N_sm * S_shared = 655360",
                            HasSubstr("not all channels fit: 3 pieces")));
    EXPECT_THAT(refused("map_stream:pieces=1,tile_k=16", "n1c64h56w56k64r3s3"), HasSubstr("pieces = 1"));
}

TEST(ChannelSplit, PlanByHand) {
    // C' = ceil(64 / 10) = 7: 10 parts of 54 * 54 * 64 partial sums.
    const Answer split = planned("channel_split:tile_h=8,tile_k=32", "n1c64h56w56k64r3s3");
    ASSERT_EQ(split.feasible.plan.launches.size(), 2U);
    const Partition &launch = split.launch();
    EXPECT_THAT(launch.grid, ElementsAre(10, 1, 1));
    EXPECT_EQ(split.feasible.plan.workspace_bytes, 10 * 54 * 54 * 64 * 4);
    EXPECT_EQ(launch.shared_bytes, (32 * 63 + 2 * 7 * 10 * 56) * 4);
    EXPECT_EQ(launch.steps, 2 * 7);
    // 6 bands of 2 units of 4 rows, and one of 6 rows: 2 units; 16 groups of 4 filters.
    EXPECT_EQ(launch.work.fmas, 14.0 * 54 * 16 * 16 * 576);
    const Partition &sum = split.launch(1);
    EXPECT_EQ(sum.kernel, "channel_split_sum");
    EXPECT_EQ(sum.parts, 10);
    EXPECT_EQ(sum.work.l2_read_bytes, 10.0 * 54 * 54 * 64 * 4);
    EXPECT_EQ(sum.operands.at(0).memory, Memory::workspace);
    EXPECT_EQ(sum.operands.at(1).memory, Memory::output);
    EXPECT_THAT(refused("channel_split", "n1c1h8w8k8r3s3"), HasSubstr("one channel"));
    EXPECT_THAT(refused("channel_split", "n64c64h1000w1000k64r1s1"), HasSubstr("more than 8 GiB"));
}

TEST(ChannelSplit, ShortColumnsLeaveRegistersForTwoCtas) {
    // The compiler takes 54 to 64 registers of 512 threads, for which an SM has 65,536; the cap is 96.
    for (const char *shape : {"n2c64h1w1k64r1s1", "n2c64h2w2k64r1s1", "n2c64h3w3k64r3s3"}) {
        EXPECT_EQ(planned("channel_split", shape, "h200").launch().ctas_per_sm, 2) << shape;
        EXPECT_EQ(planned("channel_split", shape, "h200").launch().register_cap, 96) << shape;
    }
    for (const char *shape : {"n2c64h4w4k64r1s1", "n2c64h4w4k64r3s3"}) // 70 and 71
        EXPECT_EQ(planned("channel_split", shape, "h200").launch().ctas_per_sm, 1) << shape;
}

TEST(Strategies, FewCandidatesEach) {
    for (const std::string &name : strategy_names())
        EXPECT_LE(candidates(name).size(), 61U) << name;
}

} // namespace
