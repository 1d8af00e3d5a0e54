// What the process says that tries kernels of the user's own becomes their cases' status. A shell stands in
// for that process; needs no GPU.
#include "executor/try_own.hpp"
#include "model/base/errors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string>
#include <utility>

namespace convcast {
namespace {

Run three_own_cases() {
    Run run;
    for (const char *kernel : {"own:a", "own:b", "own:c"}) {
        Case &item = run.cases.emplace_back();
        item.shape = "n1c1h8w8k1r3s3";
        item.baseline = kernel;
        item.status = Status::not_run;
    }
    return run;
}

std::set<std::size_t> tried_by(Run &run, const std::string &script) {
    return try_own_kernels_apart(run, "/bin/sh", {"-c", script});
}

TEST(TryOwn, EachCaseHasItsLine) {
    convcast::Run run = three_own_cases();
    EXPECT_THAT(tried_by(run, "printf 'call\\nok\\nbad first\\vsecond\\ncall\\nok\\n'"),
                testing::ElementsAre(1));
    EXPECT_EQ(run.cases[1].status, Status::failed);
    EXPECT_EQ(run.cases[1].reason, "first\nsecond");
    EXPECT_EQ(run.cases[0].status, Status::not_run);
    EXPECT_EQ(run.cases[2].status, Status::not_run);
}

/// The first process tries all three and ends in the second; the next one is given the third alone.
TEST(TryOwn, AProcessThatEndsIsFollowedByAnotherForTheRest) {
    for (const auto &[end, why] : {std::pair{"exit 1", "the process that called it for the first time ended"},
                                   {"kill -ALRM $$", "it did not return within 10 s and was stopped"}}) {
        convcast::Run run = three_own_cases();
        EXPECT_THAT(tried_by(run, std::string("if grep -q own:b; then printf 'call\\nok\\ncall\\nba'; ") +
                                      end + "; fi; printf 'call\\nok\\n'"),
                    testing::ElementsAre(1));
        EXPECT_THAT(run.cases[1].reason.value_or(""), testing::StartsWith(why));
    }
}

TEST(TryOwn, AProcessThatTriesNothingIsAnError) {
    convcast::Run run = three_own_cases();
    EXPECT_THROW(tried_by(run, "exit 1"), GpuError);
    EXPECT_THROW((void)try_own_kernels_apart(run, "/nonexistent/program", {}), GpuError);
}

} // namespace
} // namespace convcast
