// What of executor/ needs no GPU and no CUDA: the reference, the inputs, the gates and the device code as
// text.
#include "executor/baselines/names.hpp"
#include "executor/count/case_counts.hpp"
#include "executor/kept_run.hpp"
#include "executor/launch/kernel_source.hpp"
#include "executor/verify/gates.hpp"
#include "executor/verify/inputs.hpp"
#include "executor/verify/reference.hpp"
#include "model/base/errors.hpp"
#include "model/strategies/list.hpp"
#include "tests/gpu/host_reference.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace convcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> counting(std::int64_t count, float first = 1.0F) {
    std::vector<float> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), first);
    return values;
}

std::vector<double> values_of(const ConvShape &shape, const std::vector<float> &input,
                              const std::vector<float> &filters) {
    std::vector<double> values;
    for (const ReferenceElement &element : reference(shape, input, filters))
        values.push_back(element.value);
    return values;
}

TEST(Reference, IsTheDefinition) {
    const std::vector<float> ones(9, 1.0F);
    struct Row {
        const char *shape;
        std::vector<float> input, filters;
        std::vector<double> output;
        const char *what;
    };
    for (const Row &row : {
             // 1 2 3
             // 4 5 6   with   1 2   gives   1+4+12+20 = 37  2+6+15+24 = 47
             // 7 8 9          3 4           4+10+21+32 = 67 5+12+24+36 = 77
             Row{"n1c1h3w3k1r2s2", counting(9), counting(4), {37, 47, 67, 77}, "slid, not flipped"},
             {"n1c1h2w2k1r3s3_pad1x1",
              counting(4),
              ones,
              {10, 10, 10, 10},
              "sees all of the image everywhere"},
             {"n1c1h1w2k1r1s2_pad0x1", {5, 7}, {1, 10}, {50, 75, 7}, "padding of columns only"},
             {"n1c1h3w5k1r1s1_str2x3", counting(15), {1}, {1, 4, 11, 14}, "a stride skips outputs"},
             {"n1c1h1w5k1r1s2_dil1x3", counting(5), {1, 100}, {401, 502}, "dilation spreads the filter"},
             {"n1c4h1w1k4r1s1_g2",
              {10, 20, 30, 40},
              {1, 0, 0, 1, 1, 0, 0, 1},
              {10, 20, 30, 40},
              "two groups see their own channels"},
             {"n2c2h1w1k2r1s1", {1, 2, 3, 4}, {1, 10, 100, 1000}, {21, 2100, 43, 4300}, "in their order"},
         })
        EXPECT_EQ(values_of(ConvShape::parse(row.shape), row.input, row.filters), row.output)
            << row.shape << ": " << row.what;
}

TEST(Reference, MagnitudeSumsAbsoluteProducts) {
    const ConvShape shape = ConvShape::parse("n1c1h1w3k1r1s3");
    const std::vector<float> input = {1, -2, 3}, filters = {4, 5, -6};
    const std::vector<ReferenceElement> output = reference(shape, input, filters);
    ASSERT_EQ(output.size(), 1U);
    EXPECT_EQ(output[0].value, 4 - 10 - 18);
    EXPECT_EQ(output[0].magnitude, 4 + 10 + 18);
}

TEST(Reference, IndexIsNKPQ) {
    const ConvShape shape = ConvShape::parse("n2c1h4w5k3r1s1");
    EXPECT_EQ(output_index(shape, 0), (OutputIndex{0, 0, 0, 0}));
    EXPECT_EQ(output_index(shape, ((1 * 3 + 2) * 4 + 3) * 5 + 4), (OutputIndex{1, 2, 3, 4}));
}

TEST(Inputs, SameSeedSameNumbers) {
    const ConvShape shape = ConvShape::parse("n2c3h5w7k4r3s3");
    for (const auto make : {integer_inputs, real_inputs}) {
        const Inputs a = make(shape, 7), b = make(shape, 7), c = make(shape, 8);
        EXPECT_EQ(a.input, b.input);
        EXPECT_EQ(a.filters, b.filters);
        EXPECT_NE(a.input, c.input);
        EXPECT_EQ(a.input.size(), 210U);
        EXPECT_EQ(a.filters.size(), 108U);
    }
}

TEST(Inputs, IntegerSumsAreExactInFloat) {
    for (const char *text :
         {"n1c1h9w9k1r3s3", "n1c512h9w9k2r5s5", "n1c40000h5w5k1r5s5", "n1c600000h5w5k1r5s5"}) {
        const ConvShape shape = ConvShape::parse(text);
        const Inputs inputs = integer_inputs(shape, 1);
        float most = 0.0F;
        for (const std::vector<float> *values : {&inputs.input, &inputs.filters})
            for (const float value : *values) {
                EXPECT_EQ(value, std::round(value));
                most = std::max(most, std::abs(value));
            }
        EXPECT_GE(most, 1.0F);
        EXPECT_LT(most * most * static_cast<float>(shape.c * shape.r * shape.s), 0x1p24F) << text;
    }
}

TEST(Inputs, RealsAreZeroMeanWithinOne) {
    const Inputs inputs = real_inputs(ConvShape::parse("n1c1h400w500k1r3s3"), 3);
    double sum = 0.0, squares = 0.0;
    for (const float value : inputs.input) {
        EXPECT_GT(value, -1.0F);
        EXPECT_LT(value, 1.0F);
        EXPECT_NE(value, 0.0F);
        sum += value;
        squares += static_cast<double>(value) * static_cast<double>(value);
    }
    const double count = 200000.0;
    EXPECT_NEAR(sum / count, 0.0, 0.01); // the mean's deviation is 0.58 / sqrt(count)
    EXPECT_NEAR(squares / count, 1.0 / 3.0, 0.01);
}

TEST(Inputs, ShortElementsHoldThemExactly) {
    for (const char *text : {"n1c64h9w9k3r3s3_f16", "n1c3h9w9k2r5s5_f16", "n1c3h9w9k2r5s5_i8"}) {
        const ConvShape shape = ConvShape::parse(text);
        const bool half = shape.dtype == DataType::f16;
        for (const auto make : {integer_inputs, real_inputs}) {
            const Inputs inputs = make(shape, 11);
            const std::vector<std::byte> memory = stored(inputs.input, shape.dtype);
            ASSERT_EQ(memory.size(), static_cast<std::size_t>(shape.input_bytes()));
            for (std::size_t i = 0; i < inputs.input.size(); ++i) {
                double value = 0.0;
                if (half) { // sign, 5 bits of exponent from 15 on, 10 bits behind the leading one
                    const unsigned bits = std::to_integer<unsigned>(memory[2 * i]) |
                                          std::to_integer<unsigned>(memory[2 * i + 1]) << 8U;
                    const int exponent = static_cast<int>(bits >> 10U & 31U);
                    value = exponent == 0 ? 0.0 : std::ldexp(1.0 + (bits & 1023U) / 1024.0, exponent - 15);
                    value = (bits >> 15U) != 0 ? -value : value;
                } else {
                    value = static_cast<std::int8_t>(memory[i]);
                }
                ASSERT_EQ(value, inputs.input[i]) << text << " element " << i;
            }
        }
    }
    // Sums of small integers stay among those that a half holds.
    const ConvShape shape = ConvShape::parse("n1c16h9w9k3r3s3_f16");
    float most = 0.0F;
    for (const float value : integer_inputs(shape, 1).input)
        most = std::max(most, std::abs(value));
    EXPECT_LT(most * most * 144.0F, 2048.0F);
    EXPECT_EQ(most, 3.0F);
}

TEST(Inputs, ChannelsLast) {
    const ConvShape shape = ConvShape::parse("n2c3h1w2k2r1s1");
    const Inputs inputs{counting(12), counting(6)};
    const Inputs last = laid_out(inputs, shape, Layout::channels_last);
    EXPECT_THAT(last.input, ElementsAre(1, 3, 5, 2, 4, 6, 7, 9, 11, 8, 10, 12));
    EXPECT_EQ(last.filters, inputs.filters) << "filters of 1 x 1 lie the same";
    EXPECT_EQ(laid_out(inputs, shape, Layout::channels_first).input, inputs.input);
}

/// A convolution's reference and the output that rounds it to float.
struct Right {
    explicit Right(const char *text, Inputs (*make)(const ConvShape &, std::uint64_t) = real_inputs)
        : shape(ConvShape::parse(text)) {
        const Inputs inputs = make(shape, 5);
        expected = reference(shape, inputs.input, inputs.filters);
        for (const ReferenceElement &element : expected)
            output.push_back(static_cast<float>(element.value));
    }
    Verdict verdict(Gate gate) const {
        const double bound = gate == Gate::exact ? 0.0 : rounding_bound(shape);
        return judge(gate, shape, compare(output, expected, bound));
    }
    ConvShape shape;
    std::vector<ReferenceElement> expected;
    std::vector<float> output;
};

TEST(Gates, RightOutputsPass) {
    const Verdict exact = Right("n2c3h6w5k4r3s3", integer_inputs).verdict(Gate::exact);
    EXPECT_TRUE(exact.passed) << exact.message;
    EXPECT_EQ(exact.relative_l2_error, 0.0);
    EXPECT_EQ(exact.message, "");
    const Verdict rounding = Right("n2c3h6w5k4r3s3").verdict(Gate::rounding);
    EXPECT_TRUE(rounding.passed) << rounding.message;
    EXPECT_GT(rounding.relative_l2_error, 0.0);
    EXPECT_LT(rounding.max_error_ratio, 1.0);
    EXPECT_FALSE(rounding.first_bad);
}

TEST(Gates, OneUlpOffFailsTheFirstAndPassesTheSecond) {
    Right integers("n1c3h6w5k4r3s3", integer_inputs);
    integers.output[17] = std::nextafter(integers.output[17], 1e9F);
    const Verdict exact = integers.verdict(Gate::exact);
    EXPECT_FALSE(exact.passed);
    EXPECT_EQ(exact.first_bad, (OutputIndex{0, 1, 1, 2})); // 4 x 3 outputs a filter
    EXPECT_THAT(exact.message, HasSubstr("1 of 48 outputs are wrong, the first at n=0 k=1 p=1 q=2"));

    Right reals("n1c3h6w5k4r3s3");
    reals.output[17] = std::nextafter(reals.output[17], 1e9F);
    EXPECT_TRUE(reals.verdict(Gate::rounding).passed);
}

TEST(Gates, NotANumberIsCountedApart) {
    for (const Gate gate : {Gate::rounding, Gate::transformed}) {
        Right right("n1c3h6w5k4r3s3");
        right.output[0] = right.output[47] = std::numeric_limits<float>::quiet_NaN();
        const Verdict verdict = right.verdict(gate);
        EXPECT_FALSE(verdict.passed);
        EXPECT_EQ(verdict.not_a_number, 2);
        EXPECT_EQ(verdict.first_bad, (OutputIndex{0, 0, 0, 0}));
        EXPECT_LT(verdict.relative_l2_error, 1e-6);
        EXPECT_THAT(verdict.message, HasSubstr("2 of 48 outputs are not written"));
    }
}

TEST(Gates, AnInfinityFails) {
    for (const Gate gate : {Gate::rounding, Gate::transformed}) {
        Right right("n1c3h6w5k4r3s3");
        right.output[3] = std::numeric_limits<float>::infinity();
        EXPECT_FALSE(right.verdict(gate).passed);
    }
}

TEST(Gates, AnIndexErrorOfOneElementIsFound) {
    Right right("n1c16h30w30k4r3s3");
    std::swap(right.output[100], right.output[101]);
    const Verdict verdict = right.verdict(Gate::rounding);
    EXPECT_FALSE(verdict.passed);
    EXPECT_EQ(verdict.first_bad, (OutputIndex{0, 0, 3, 16})); // 28 outputs a row
    EXPECT_GT(verdict.max_error_ratio, 1.0);
}

TEST(Gates, ReducedPrecisionFails) {
    const ConvShape shape = ConvShape::parse("n1c16h12w12k4r3s3");
    Inputs inputs = real_inputs(shape, 9);
    Right right("n1c16h12w12k4r3s3");
    right.expected = reference(shape, inputs.input, inputs.filters);
    for (std::vector<float> *values : {&inputs.input, &inputs.filters})
        for (float &value : *values) // 11 bits of TF32
            value = static_cast<float>(std::nearbyint(value * 0x1p11F)) * 0x1p-11F;
    const std::vector<ReferenceElement> reduced = reference(shape, inputs.input, inputs.filters);
    for (std::size_t i = 0; i < reduced.size(); ++i)
        right.output[i] = static_cast<float>(reduced[i].value);
    EXPECT_FALSE(right.verdict(Gate::rounding).passed);
    EXPECT_FALSE(right.verdict(Gate::transformed).passed);
}

TEST(Gates, HalvesMayRoundAndIntegersMayNot) {
    Right halves("n1c16h12w12k4r3s3_f16");
    for (float &value : halves.output) { // to 11 bits
        int exponent = 0;
        const float mantissa = std::frexp(value, &exponent);
        value = std::ldexp(std::nearbyint(mantissa * 0x1p11F) * 0x1p-11F, exponent);
    }
    const Verdict rounded = halves.verdict(Gate::rounding);
    EXPECT_TRUE(rounded.passed) << rounded.message;
    EXPECT_GT(rounded.relative_l2_error, 1e-5);
    halves.output[5] += 0.1F;
    EXPECT_FALSE(halves.verdict(Gate::rounding).passed);

    Right integers("n1c16h12w12k4r3s3_i8");
    EXPECT_TRUE(integers.verdict(Gate::rounding).passed);
    integers.output[5] += 1.0F;
    const Verdict off = integers.verdict(Gate::rounding);
    EXPECT_FALSE(off.passed);
    EXPECT_THAT(off.message, HasSubstr("at n=0 k=0 p=0 q=5"));
}

TEST(Gates, ZeroMagnitudeAllowsNoError) {
    const ConvShape shape = ConvShape::parse("n1c1h1w1k1r1s1");
    const std::vector<ReferenceElement> zero = {{0.0, 0.0}};
    const std::vector<float> right = {0.0F}, wrong = {1e-30F};
    EXPECT_TRUE(judge(Gate::rounding, shape, compare(right, zero, rounding_bound(shape))).passed);
    EXPECT_FALSE(judge(Gate::rounding, shape, compare(wrong, zero, rounding_bound(shape))).passed);
}

TEST(Gates, TransformsHaveAGateOfTheirOwn) {
    for (const std::string &name : baselines())
        EXPECT_EQ(second_gate(name),
                  name.find("fft") != std::string::npos || name.find("winograd") != std::string::npos
                      ? Gate::transformed
                      : Gate::rounding)
            << name;
}

TEST(Gates, RoundedToTf32PassesOnlyItsOwnGate) {
    const ConvShape shape = ConvShape::parse("n1c32h9w9k8r3s3");
    Inputs inputs = real_inputs(shape, 5);
    const std::vector<ReferenceElement> right = reference(shape, inputs.input, inputs.filters);
    for (std::vector<float> *values : {&inputs.input, &inputs.filters})
        for (float &value : *values) { // 10 bits behind the leading one, as the tensor cores keep
            const std::uint32_t bits = std::bit_cast<std::uint32_t>(value) + 0x1000U;
            value = std::bit_cast<float>(bits & ~0x1FFFU);
        }
    std::vector<float> rounded;
    for (const ReferenceElement &element : reference(shape, inputs.input, inputs.filters))
        rounded.push_back(static_cast<float>(element.value));
    const Comparison seen = compare(rounded, right, rounding_bound(shape));
    EXPECT_TRUE(judge(Gate::tf32, shape, seen).passed);
    EXPECT_FALSE(judge(Gate::transformed, shape, seen).passed);
    EXPECT_FALSE(judge(Gate::rounding, shape, seen).passed);
}

TEST(Baselines, NamesAndFamilies) {
    for (const std::string &name : baselines()) {
        EXPECT_TRUE(is_baseline(name)) << name;
        EXPECT_NO_THROW(check_baseline(name)) << name;
        EXPECT_THAT(baselines_named(name), testing::Contains(name));
        EXPECT_EQ(is_true_fp32(name), name != "cudnn:tf32" && name != "cudnn:half") << name;
        EXPECT_EQ(type_of(name) == DataType::f16, name == "cudnn:half") << name;
        EXPECT_EQ(layout_of(name) == Layout::channels_last, name == "cudnn:graph_nhwc") << name;
    }
    EXPECT_EQ(baselines_named("cudnn").size(), baselines().size() - 2);
    EXPECT_EQ(baselines_named("cublas"), std::vector<std::string>{"cublas"});
    EXPECT_EQ(baselines_named("cudnn:graph"), std::vector<std::string>{"cudnn:graph"});
    EXPECT_FALSE(is_baseline("im2col"));
    EXPECT_THROW(check_baseline("cudnn:graf"), UsageError);
}

TEST(Baselines, PlansAreAllowedByTheirNotes) {
    PlanNotes plain, tensor, rounded, reduced, winograd, fft, unordered;
    tensor.tensor_cores = rounded.inputs_rounded = reduced.sums_rounded = true;
    winograd.winograd = fft.fft = unordered.nondeterministic = true;
    const auto who = [](const PlanNotes &notes) {
        std::string allowed;
        for (const std::string &name : baselines())
            if (is_picked_plan(name) && plan_allowed(name, notes))
                allowed += name.substr(name.find(':') + 1) + " ";
        return allowed;
    };
    EXPECT_EQ(who(plain), "graph graph_deterministic graph_direct tf32 graph_nhwc half ");
    EXPECT_EQ(who(tensor), "tf32 half ");
    EXPECT_EQ(who(rounded), "tf32 half ");
    EXPECT_EQ(who(reduced), "");
    EXPECT_EQ(who(winograd), "graph graph_deterministic tf32 graph_nhwc half ");
    EXPECT_EQ(who(fft), who(winograd));
    EXPECT_EQ(who(unordered), "graph graph_direct tf32 graph_nhwc half ");
    EXPECT_EQ(second_gate(plain), Gate::rounding);
    EXPECT_EQ(second_gate(unordered), Gate::rounding);
    EXPECT_EQ(second_gate(fft), Gate::transformed);
    EXPECT_EQ(second_gate(winograd), Gate::transformed);
    winograd.tensor_cores = true;
    EXPECT_EQ(second_gate(winograd), Gate::tf32);
}

TEST(KernelSource, EveryStrategyHasItsKernel) {
    for (const std::string &name : strategy_names()) {
        const std::string source = kernel_source(name);
        EXPECT_THAT(source,
                    testing::ContainsRegex(" " + name + "\\(const (float|typename Element<Type>::In) \\*"));
        EXPECT_THAT(source, HasSubstr("struct ConvArgs"));
        EXPECT_EQ(source.find("#include"), std::string::npos);
        EXPECT_EQ(source.find("#pragma once"), std::string::npos);
        EXPECT_EQ(source.find("struct ConvArgs"), source.rfind("struct ConvArgs"));
    }
    EXPECT_THROW(kernel_source("no_such_kernel"), UsageError);
}

TEST(KernelSource, NamesAndHashes) {
    Partition partition;
    partition.kernel = "filter_split";
    partition.template_arguments = {3, 3, 4, 4, 2, 1};
    EXPECT_EQ(name_expression(partition), "filter_split<3, 3, 4, 4, 2, 1>");
    EXPECT_EQ(device_code_hash().size(), 32U);
    EXPECT_EQ(measuring_code_hash().size(), 32U);
    EXPECT_NE(device_code_hash(), measuring_code_hash());
    for (const EmbeddedFile &file : measuring_sources)
        EXPECT_FALSE(file.bytes.empty()) << file.path;
}

// ---- exact counts ----

Case measured_case(const char *shape) {
    Case item;
    item.shape = shape;
    item.strategy = "naive_shared";
    item.status = Status::ok;
    Measurement &warm = item.measurements.emplace_back();
    warm.l2 = L2State::warm;
    Measurement &cold = item.measurements.emplace_back();
    cold.work.emplace().shared_wavefronts = 120.0;
    cold.counters = {{metrics::instructions, 7.0}};
    return item;
}

std::map<std::string, double> counted_exactly() {
    return {{metrics::thread_ffma, 4096.0},
            {metrics::thread_fadd, 3.0},
            {metrics::thread_fmul, 2.0},
            {metrics::asked_wavefronts_load, 70.0},
            {metrics::asked_wavefronts_store, 30.0},
            {metrics::asked_wavefronts_copy, 11.0}};
}

TEST(ExactCounts, AreLackedByMeasuredCasesOfStrategiesOnly) {
    Case item = measured_case("n1c1h9w9k4r3s3");
    EXPECT_TRUE(lacks_exact_counts(item));
    for (const std::string &name : exact_metric_names()) {
        Case most = item;
        for (const auto &[metric, value] : counted_exactly())
            if (metric != name)
                most.measurements[1].counters->emplace(metric, value);
        EXPECT_TRUE(lacks_exact_counts(most)) << name;
    }
    Case warm = item;
    warm.measurements.pop_back();
    EXPECT_FALSE(lacks_exact_counts(warm));
    Case wrong = item;
    wrong.status = Status::wrong_result;
    EXPECT_FALSE(lacks_exact_counts(wrong));
    Case baseline = item;
    baseline.strategy.reset();
    baseline.baseline = "cudnn:gemm";
    EXPECT_FALSE(lacks_exact_counts(baseline));
    add_exact_counts(item, counted_exactly());
    EXPECT_FALSE(lacks_exact_counts(item));
}

TEST(ExactCounts, GoBesideWhatWasCounted) {
    Case item = measured_case("n1c1h9w9k4r3s3");
    add_exact_counts(item, counted_exactly());
    const Measurement &cold = item.measurements[1];
    EXPECT_EQ(cold.work->fmas, 4096.0);
    EXPECT_EQ(cold.work->shared_wavefronts, 120.0);
    EXPECT_EQ(cold.work->shared_wavefronts_by_address, 100.0);
    EXPECT_EQ(cold.counters->size(), 7U);
    EXPECT_EQ(cold.counters->at(metrics::instructions), 7.0);
    EXPECT_EQ(cold.counters->at(metrics::asked_wavefronts_copy), 11.0);
    EXPECT_FALSE(item.measurements[0].work);
}

TEST(ExactCounts, AskForNoMoreThanTheChipServed) {
    Case item = measured_case("n1c1h9w9k4r3s3");
    item.measurements[1].work->shared_wavefronts = 90.0;
    add_exact_counts(item, counted_exactly());
    EXPECT_EQ(item.measurements[1].work->shared_wavefronts_by_address, 90.0);
    item = measured_case("n1c1h9w9k4r3s3");
    item.measurements[1].work.reset(); // counters were not permitted then
    item.measurements[1].counters.reset();
    add_exact_counts(item, counted_exactly());
    EXPECT_EQ(item.measurements[1].work->shared_wavefronts_by_address, 100.0);
}

TEST(ExactCounts, KnowNoFmasOfIntegers) {
    Case item = measured_case("n1c1h9w9k4r3s3_i8");
    add_exact_counts(item, counted_exactly());
    EXPECT_FALSE(item.measurements[1].work->fmas);
    EXPECT_EQ(item.measurements[1].work->shared_wavefronts_by_address, 100.0);
}

// ---- what an interrupted run leaves ----

Case case_of(const char *shape, Status status, const char *reason = nullptr) {
    Case item;
    item.shape = shape;
    item.baseline = "cublas";
    item.status = status;
    if (reason)
        item.reason = reason;
    return item;
}

TEST(KeptRuns, WhatWasOnlyForecastIsNotRun) {
    convcast::Run run;
    run.cases = {case_of("a", Status::ok), case_of("b", Status::infeasible, "no room"),
                 case_of("c", Status::ok), case_of("d", Status::failed, "as it was")};
    run.cases[2].measurements.emplace_back().time_s = Seconds(1e-3);
    EXPECT_TRUE(is_open(run.cases[0]));
    EXPECT_FALSE(is_open(run.cases[1]));
    EXPECT_FALSE(is_open(run.cases[2]));
    EXPECT_TRUE(is_open(run.cases[3])) << "it is tried again";
    mark_not_run(run);
    EXPECT_EQ(run.cases[0].status, Status::not_run);
    EXPECT_TRUE(run.cases[0].reason) << "why is said of every case that is not ok";
    EXPECT_EQ(run.cases[1].status, Status::infeasible);
    EXPECT_EQ(run.cases[2].status, Status::ok);
    EXPECT_EQ(run.cases[3].status, Status::failed);
    EXPECT_TRUE(is_open(run.cases[0])) << "a resumed run goes on with it";
}

TEST(KeptRuns, HoldWhatIsFinishedAndNothingElse) {
    convcast::Run run;
    run.cases = {case_of("a", Status::ok), case_of("b", Status::ok), case_of("c", Status::failed, "earlier"),
                 case_of("d", Status::ok), case_of("e", Status::ok)};
    mark_not_run(run);
    KeptRun kept(run);
    run.conditions["gpu"] = "a GPU";
    run.cases[0].status = Status::ok;
    run.cases[0].reason.reset();
    run.cases[0].measurements.emplace_back().time_s = Seconds(1e-3);
    run.cases[1].status = Status::wrong_result;
    run.cases[1].reason = "off by one";
    run.cases[2].status = Status::not_run; // as the executor leaves what it does not reach
    run.cases[2].reason = "interrupted";
    run.cases[3].status = Status::not_run;
    run.cases[3].reason = "the device was lost before it was counted";
    kept.update(run);
    run.cases[4].status = Status::ok; // behind its back
    convcast::Run left = kept.interrupted();
    EXPECT_EQ(left.conditions.at("gpu"), "a GPU");
    EXPECT_EQ(left.cases[0].status, Status::ok);
    EXPECT_EQ(left.cases[0].measurements.size(), 1U);
    EXPECT_EQ(left.cases[1].reason, "off by one");
    EXPECT_EQ(left.cases[2].status, Status::failed) << "what an earlier run found is not lost";
    EXPECT_EQ(left.cases[2].reason, "earlier");
    EXPECT_EQ(left.cases[3].status, Status::not_run);
    EXPECT_EQ(left.cases[4].status, Status::not_run);
    EXPECT_EQ(left.cases[4].reason, "interrupted");
    run.cases[0].measurements[0].work.emplace().fmas = 7.0; // counted later
    kept.update(run);
    EXPECT_FALSE(kept.interrupted().cases[0].measurements[0].work);
    kept.update(run, 0);
    EXPECT_EQ(kept.interrupted().cases[0].measurements[0].work->fmas, 7.0);
}

} // namespace
} // namespace convcast
