// Whole networks on a GPU: small ones exact on integers and right on reals in every way of running them, and
// the reference in double against that of the CPU.
#include "executor/network/run_network.hpp"
#include "executor/network/whole_network.hpp"
#include "executor/network/whole_reference.hpp"
#include "tests/gpu/every_operator.hpp"
#include "tests/gpu/require_gpu.hpp"
#include "tests/unit/recorded_networks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace convcast {
namespace {

using WholeNetworkDevice = OnGpu;

std::string small_network(const std::string &end) {
    return R"({"schema": "convcast/network/1", "id": "small", "title": "t", "citation": "c", "input": [4, 14, 14],
        "operators": [
        {"name": "a", "kind": "convolution", "outputs": 8, "window": [3, 3], "pad": [1, 1], "output": [8, 14, 14]},
        {"name": "a_bias", "kind": "bias", "output": [8, 14, 14]},
        {"name": "a_relu", "kind": "relu", "output": [8, 14, 14]},
        {"name": "b", "kind": "convolution", "outputs": 8, "window": [3, 3], "pad": [1, 1], "output": [8, 14, 14]},
        {"name": "b_bias", "kind": "bias", "output": [8, 14, 14]},
        {"name": "b_add", "kind": "add", "from": ["b_bias", "a_relu"], "output": [8, 14, 14]},
        {"name": "b_relu", "kind": "relu", "output": [8, 14, 14]},
        {"name": "p", "kind": "max_pooling", "window": [3, 3], "stride": [2, 2], "pad": [1, 1], "output": [8, 7, 7]},
        {"name": "c", "kind": "convolution", "outputs": 12, "window": [1, 1], "stride": [2, 2], "output": [12, 4, 4]},
        {"name": "c_relu", "kind": "relu", "output": [12, 4, 4]})" +
           end + "]}";
}

const std::string exact_end = R"(,
        {"name": "d", "kind": "dense", "outputs": 20, "output": [20, 1, 1]},
        {"name": "d_bias", "kind": "bias", "output": [20, 1, 1]},
        {"name": "d_relu", "kind": "relu", "output": [20, 1, 1]},
        {"name": "e", "kind": "dense", "outputs": 10, "output": [10, 1, 1]},
        {"name": "e_bias", "kind": "bias", "output": [10, 1, 1]})";

const std::string other_end = R"(,
        {"name": "q", "kind": "average_pooling", "window": [4, 4], "output": [12, 1, 1]},
        {"name": "d", "kind": "dense", "outputs": 20, "output": [20, 1, 1]},
        {"name": "d_logistic", "kind": "logistic", "output": [20, 1, 1]},
        {"name": "s", "kind": "softmax", "output": [20, 1, 1]})";

PlannedNetwork plan_small(const std::string &end, std::int64_t batch,
                          const std::vector<std::string> &strategies) {
    return planned_on_h200(read_network(small_network(end), "small.json"), only_time(batch, strategies));
}

void expect_right(const PlannedNetwork &plan, bool integers) {
    const Device device(0);
    Compiler compiler;
    WholeOptions options;
    options.integers = integers;
    options.time = false;
    const NetworkRun run = run_whole(compiler, device, plan, options);
    EXPECT_EQ(run.first().status, Status::ok) << run.first().reason.value_or("");
}

void expect_right_whole(const std::string &end, const std::vector<std::string> &strategies, bool integers) {
    for (const std::int64_t batch : {1, 3, 4, 9, 12}) {
        SCOPED_TRACE(batch);
        expect_right(plan_small(end, batch, strategies), integers);
    }
}

TEST_F(WholeNetworkDevice, SmallIntegersAreExact) {
    expect_right_whole(exact_end, {"implicit_gemm"}, true);
}

TEST_F(WholeNetworkDevice, ConvolutionsThatCannotEndAreExactToo) {
    expect_right_whole(exact_end, {"naive_global"}, true);
}

TEST_F(WholeNetworkDevice, RealsAreRightByAnyStrategy) {
    expect_right_whole(other_end, {}, false);
    expect_right_whole(other_end, {"winograd", "implicit_gemm"}, false);
}

TEST_F(WholeNetworkDevice, EveryOperatorIsRight) {
    for (const std::int64_t batch : {1, 3, 9}) {
        SCOPED_TRACE(batch);
        expect_right(planned_on_h200(network_of_every_operator(), only_time(batch)), false);
    }
}

/// Two convolutions of the image on two streams; what joins them waits for both.
PlannedNetwork plan_forked() {
    const Network network = read_network(
        R"({"schema": "convcast/network/1", "id": "forked", "title": "t", "citation": "c", "input": [4, 14, 14],
        "operators": [
        {"name": "a", "kind": "convolution", "outputs": 8, "window": [3, 3], "pad": [1, 1], "output": [8, 14, 14]},
        {"name": "b", "kind": "convolution", "from": ["input"], "outputs": 8, "window": [1, 1], "output": [8, 14, 14]},
        {"name": "sum", "kind": "add", "from": ["a", "b"], "output": [8, 14, 14]},
        {"name": "p", "kind": "max_pooling", "window": [2, 2], "output": [8, 7, 7]},
        {"name": "q", "kind": "max_pooling", "from": ["sum"], "window": [2, 2], "output": [8, 7, 7]},
        {"name": "end", "kind": "add", "from": ["p", "q"], "output": [8, 7, 7]}]})",
        "forked.json");
    NetworkQuestion question = only_time(3);
    question.schedule = parse_schedule("network forked\nbatch 3\n"
                                       "launch a strategy=implicit_gemm stream=1\n"
                                       "launch b strategy=implicit_gemm stream=2\n"
                                       "launch sum\nlaunch p stream=1\nlaunch q stream=2\nlaunch end\n",
                                       "forked.schedule");
    return planned_on_h200(network, question);
}

TEST_F(WholeNetworkDevice, StreamsOfAScheduleAreExactAndWaitForEachOther) {
    const Device device(0);
    Compiler compiler;
    const PlannedNetwork plan = plan_forked();
    WholeOptions options;
    options.integers = true;
    const NetworkRun run = run_whole(compiler, device, plan, options);
    ASSERT_EQ(run.first().status, Status::ok) << run.first().reason.value_or("");
    CONVCAST_SKIP_IF(run.conditions.at("method") == "activity"
                         ? std::nullopt
                         : std::optional<std::string>("CUPTI gives no records of activity here"));
    const auto begins = [&](std::size_t i) { return run.first().launches[i].measured->begins_s.value(); };
    const auto ends = [&](std::size_t i) { return run.first().launches[i].measured->ends_s.value(); };
    EXPECT_GE(begins(2), std::max(ends(0), ends(1)));
    EXPECT_GE(begins(3), ends(2));
    EXPECT_GE(begins(5), std::max(ends(3), ends(4)));
}

TEST_F(WholeNetworkDevice, ReferenceIsThatOfTheCpu) {
    const Device device(0);
    Compiler compiler;
    constexpr std::int64_t batch = 3;
    for (const std::string &end : {exact_end, other_end}) {
        const PlannedNetwork plan = plan_small(end, batch, {});
        const Network &network = plan.network;
        const Parameters parameters = seeded_parameters(network, 5);
        std::vector<float> images(static_cast<std::size_t>(batch * elements(network.input)));
        for (std::size_t i = 0; i < images.size(); ++i)
            images[i] = static_cast<float>(i * 37 % 101) / 101.0F - 0.4F;
        WholeNetwork whole(compiler, device, plan, 1);
        whole.load(images, parameters, nullptr);
        WholeReference reference(compiler, device.facts().compute_capability(), network, batch);
        reference.forward(
            whole.images(), batch, [&](std::size_t op) { return whole.parameters(op); }, nullptr);
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        const OperatorOutputs cpu =
            forward(network, batch, std::vector<double>(images.begin(), images.end()), parameters);
        for (std::size_t op = 0; op < cpu.size(); ++op) {
            const std::vector<double> gpu = reference.output(op);
            ASSERT_EQ(gpu.size(), cpu[op].size());
            for (std::size_t i = 0; i < gpu.size(); ++i)
                ASSERT_NEAR(gpu[i], cpu[op][i], 1e-12) << network.operators[op].name << " " << i;
        }
    }
}

} // namespace
} // namespace convcast
