#include "model/base/errors.hpp"
#include "model/network/ranks.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace convcast {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Environment of(std::map<std::string, std::string> variables) {
    return [variables = std::move(variables)](const std::string &name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
}

RankPlace place(int rank, int size, const std::string &host, int port) {
    RankPlace its;
    its.rank = rank, its.size = size, its.host = host, its.port = port;
    return its;
}

TEST(Ranks, AreGivenByHand) {
    EXPECT_EQ(rank_place("1/4", std::nullopt, of({})), place(1, 4, "127.0.0.1", 29517));
    EXPECT_EQ(rank_place("0/2", "node01:4000", of({})), place(0, 2, "node01", 4000));
    EXPECT_EQ(rank_place("0/2", "[fe80::1]:4000", of({})).host, "fe80::1");
}

TEST(Ranks, AreThoseOfTorchrunWhichListensItself) {
    const std::map<std::string, std::string> variables = {{"RANK", "5"},
                                                          {"WORLD_SIZE", "8"},
                                                          {"LOCAL_RANK", "1"},
                                                          {"LOCAL_WORLD_SIZE", "4"},
                                                          {"MASTER_ADDR", "host"},
                                                          {"MASTER_PORT", "29400"},
                                                          {"TORCHELASTIC_RUN_ID", "none"}};
    EXPECT_EQ(rank_place("auto", std::nullopt, of(variables)), place(5, 8, "host", 29401));
    EXPECT_EQ(rank_place("auto", "other:1", of(variables)), place(5, 8, "other", 1));
}

TEST(Ranks, OfOpenMpiGoBeforeThoseOfTheJobAroundIt) {
    EXPECT_EQ(rank_place("auto", std::nullopt,
                         of({{"OMPI_COMM_WORLD_RANK", "1"},
                             {"OMPI_COMM_WORLD_SIZE", "2"},
                             {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                             {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                             {"SLURM_PROCID", "0"},
                             {"SLURM_NTASKS", "2"}})),
              place(1, 2, "127.0.0.1", 29517));
}

TEST(Ranks, OfSlurmOnOneHostMeetAtAPortOfTheirJob) {
    const auto of_job = [](const std::string &nodes) {
        return of({{"SLURM_PROCID", "3"},
                   {"SLURM_NTASKS", "4"},
                   {"SLURM_LOCALID", "1"},
                   {"SLURM_JOB_NUM_NODES", nodes},
                   {"SLURM_JOB_ID", "12034"}});
    };
    EXPECT_EQ(rank_place("auto", std::nullopt, of_job("1")), place(3, 4, "127.0.0.1", 29551));
    EXPECT_THAT([&] { (void)rank_place("auto", std::nullopt, of_job("2")); },
                ThrowsMessage<UsageError>(HasSubstr("--meet node01:29517")));
}

TEST(Ranks, MeetWhereMasterAddrSays) {
    EXPECT_EQ(rank_place("0/2", std::nullopt, of({{"MASTER_ADDR", "n1"}})), place(0, 2, "n1", 29517));
    EXPECT_EQ(rank_place("0/2", std::nullopt, of({{"MASTER_ADDR", "fd00::1"}, {"MASTER_PORT", "5"}})),
              place(0, 2, "fd00::1", 5));
    EXPECT_EQ(rank_place("auto", std::nullopt,
                         of({{"RANK", "0"},
                             {"WORLD_SIZE", "2"},
                             {"MASTER_ADDR", "n1"},
                             {"MASTER_PORT", "65535"},
                             {"TORCHELASTIC_RUN_ID", "x"}})),
              place(0, 2, "n1", 65534));
    EXPECT_EQ(rank_place("auto", std::nullopt, of({{"RANK", "0"}, {"WORLD_SIZE", "1"}})).size, 1);
    EXPECT_THAT(
        [] {
            (void)rank_place("0/2", std::nullopt, of({{"MASTER_ADDR", "n1"}, {"MASTER_PORT", "abc"}}));
        },
        ThrowsMessage<UsageError>(HasSubstr("MASTER_ADDR with MASTER_PORT must be")));
}

TEST(Ranks, ThatAreNoneAreRefused) {
    for (const char *text : {"2/2", "-1/2", "1", "1/", "/2", "1/2/3", "a/b", "0/5000", ""})
        EXPECT_THAT([&] { (void)rank_place(text, std::nullopt, of({})); },
                    ThrowsMessage<UsageError>(HasSubstr("Example: --rank 0/2")))
            << text;
    for (const char *text : {"node", "node:", ":5", "node:0", "node:70000", "node:x", "", "::1", "[]:5000"})
        EXPECT_THAT([&] { (void)rank_place("0/2", text, of({})); },
                    ThrowsMessage<UsageError>(HasSubstr("Example: --meet node01:29517")))
            << text;
    EXPECT_THAT([] { (void)rank_place("auto", std::nullopt, of({})); },
                ThrowsMessage<UsageError>(HasSubstr("none of torchrun, Open MPI and Slurm")));
    EXPECT_THAT(
        [] {
            (void)rank_place("auto", std::nullopt, of({{"RANK", "4"}, {"WORLD_SIZE", "4"}}));
        },
        ThrowsMessage<UsageError>(HasSubstr("RANK=4 and WORLD_SIZE=4")));
}

TEST(Ranks, HaveSharesOfABatchThatDifferByOneImage) {
    std::int64_t next = 0;
    for (int rank = 0; rank < 3; ++rank) {
        const ImageShare share = share_of_rank(8, rank, 3);
        EXPECT_EQ(share.first, next);
        EXPECT_EQ(share.count, rank < 2 ? 3 : 2);
        next += share.count;
    }
    EXPECT_EQ(share_of_rank(2, 2, 3).count, 0);
    EXPECT_EQ(share_of_rank(2, 1, 3).first, 1);
}

} // namespace
} // namespace convcast
