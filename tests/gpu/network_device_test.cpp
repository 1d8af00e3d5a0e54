// Kernels of networks on a GPU: every rung right, for one image and for batches that do not fill their last
// group.
#include "executor/network/run_ladder.hpp"
#include "executor/network/sequential.hpp"
#include "tests/gpu/require_gpu.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace convcast {
namespace {

/// Rungs that ran; the others were refused.
int expect_right(const std::string &name, std::int64_t batch) {
    const Device device(0);
    Compiler compiler;
    const Network network = find_network(name);
    LadderOptions options;
    options.batch = batch;
    options.seed = 20240601;
    options.time = false;
    int right = 0;
    for (const RungResult &rung :
         run_ladder(compiler, device, find_ladder(network), network, options).rungs) {
        EXPECT_TRUE(rung.status == Status::ok || rung.status == Status::infeasible)
            << name << " " << rung.id << ": " << rung.reason.value_or("");
        right += rung.status == Status::ok;
    }
    return right;
}

TEST(NetworkLadder, FashionMnistIsRightForOneImage) {
    CONVCAST_NEED_GPU();
    EXPECT_GE(expect_right("fashion_mnist", 1), 14);
}

TEST(NetworkLadder, FashionMnistIsRightForBatches) {
    CONVCAST_NEED_GPU();
    for (const std::int64_t batch : {2, 7, 65, 300})
        EXPECT_GE(expect_right("fashion_mnist", batch), 5);
}

TEST(NetworkLadder, MnistsGradientIsThatOfTheReference) {
    CONVCAST_NEED_GPU();
    for (const std::int64_t batch : {1, 13, 128})
        EXPECT_EQ(expect_right("mnist", batch), 2);
}

} // namespace
} // namespace convcast
