// What is written can be read: seeded random shapes of every kind, every strategy, and the texts that plans
// give.
#include "model/base/errors.hpp"
#include "model/base/parallel.hpp"
#include "model/network/schedule_text.hpp"
#include "model/predict.hpp"
#include "model/record/run.hpp"
#include "model/record/sweep.hpp"
#include "model/strategies/list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <mutex>
#include <random>
#include <string>
#include <variant>
#include <vector>

using namespace convcast;

namespace {

/// Half of them of one kind that a strategy was made for, half of anything that a convolution can be.
class Shapes {
  public:
    ConvShape next() {
        ConvShape s;
        s.n = any({1, 1, 1, 2, 7, 32, 128});
        s.c = chance(4) ? 1 : size(1, chance(10) ? 8192 : 1024);
        s.k = size(1, chance(10) ? 8192 : 1024);
        s.r = any({1, 1, 3, 3, 5, 7, size(1, 12)});
        s.s = chance(6) ? any({1, 3, 5, 7, size(1, 12)}) : s.r;
        s.h = chance(5) ? 1 : size(1, chance(10) ? 8192 : 300);
        s.w = chance(3) ? size(1, chance(10) ? 8192 : 300) : s.h;
        if (chance(2)) {
            s.stride_h = size(1, 4), s.stride_w = chance(4) ? size(1, 4) : s.stride_h;
            s.pad_h = size(0, s.r), s.pad_w = chance(4) ? size(0, s.s) : s.pad_h;
            s.dilation_h = size(1, 3), s.dilation_w = chance(4) ? size(1, 3) : s.dilation_h;
            s.dtype = any({DataType::f32, DataType::f32, DataType::f16, DataType::i8});
            if (chance(4)) {
                s.groups = any({2, 4, 32, size(1, 64)});
                s.c = (s.c + s.groups - 1) / s.groups * s.groups;
                s.k = (s.k + s.groups - 1) / s.groups * s.groups;
            }
        }
        // Large enough for its filter.
        s.h = std::max(s.h, s.dilation_h * (s.r - 1) + 1 - 2 * s.pad_h);
        s.w = std::max(s.w, s.dilation_w * (s.s - 1) + 1 - 2 * s.pad_w);
        return s;
    }

    std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

  private:
    bool chance(unsigned one_in) { return below(one_in) == 0; }
    /// As often from 1 to 10 as from 10 to 100.
    std::int64_t size(std::int64_t low, std::int64_t high) {
        std::int64_t top = high;
        while (top > low + 10 && chance(2))
            top = low + (top - low) / 10;
        return low + static_cast<std::int64_t>(below(static_cast<std::size_t>(top - low + 1)));
    }
    template <class T> T any(std::initializer_list<T> list) { return std::data(list)[below(list.size())]; }
    std::int64_t any(std::initializer_list<std::int64_t> list) { return std::data(list)[below(list.size())]; }

    std::mt19937_64 random_{20261122};
};

/// "" if the text of what was planned is read as what was planned.
std::string unlike(const Strategy &planned) {
    const std::string text = to_text(planned);
    try {
        const std::string again = to_text(parse_strategy(text)); // names every knob
        return again == text ? "" : text + " is read as " + again;
    } catch (const UsageError &error) {
        return error.what();
    }
}

TEST(DocumentsProperty, EveryTextThatAPlanGivesIsReadAsItsKnobs) {
    constexpr std::size_t count = 10000;
    const std::vector<GpuProfile> gpus = {find_profile("h200"), find_profile("gtx1080ti"),
                                          find_profile("k40m")};
    struct Question {
        ConvShape shape;
        std::vector<Strategy> settings;
    };
    // The rules' own setting, which is where plans choose every knob, and two of the candidates.
    std::vector<std::vector<Strategy>> all;
    for (const std::string &name : strategy_names())
        all.push_back(candidates(name));
    Shapes shapes;
    std::vector<Question> questions(count);
    for (Question &question : questions) {
        question.shape = shapes.next();
        for (const std::vector<Strategy> &settings : all) {
            question.settings.push_back(settings.front());
            for (int i = 0; i < 2; ++i)
                question.settings.push_back(settings[shapes.below(settings.size())]);
        }
    }
    std::mutex counting;
    std::size_t planned = 0;
    std::vector<std::string> wrong;
    in_parallel(count, [&](std::size_t i) {
        const Question &question = questions[i];
        const std::string id = question.shape.id();
        std::vector<std::string> its;
        std::size_t here = 0;
        if (ConvShape::parse(id).id() != id)
            its.push_back(id + " is read as " + ConvShape::parse(id).id());
        for (const Strategy &setting : question.settings) {
            if (const std::string why = unlike(setting); !why.empty())
                its.push_back(why);
            const auto result = plan(setting, question.shape, gpus[i % gpus.size()]);
            if (const auto *good = std::get_if<PlannedStrategy>(&result)) {
                ++here;
                if (const std::string why = unlike(good->strategy); !why.empty())
                    its.push_back(id + ": " + why);
            }
        }
        const std::scoped_lock lock(counting);
        planned += here;
        wrong.insert(wrong.end(), its.begin(), its.end());
    });
    EXPECT_GT(planned, 10 * count) << "most shapes were infeasible: the test looks at little";
    for (std::size_t i = 0; i < std::min<std::size_t>(20, wrong.size()); ++i)
        ADD_FAILURE() << wrong[i];
    EXPECT_EQ(wrong.size(), 0u);
}

TEST(DocumentsProperty, EveryForecastIsReadAsItWasWritten) {
    Shapes shapes;
    convcast::Run run;
    for (int i = 0; i < 40; ++i) {
        const ConvShape shape = shapes.next();
        const GpuProfile profile = find_profile(i % 4 == 3 ? "toy" : "h200");
        for (const std::string &name : strategy_names()) {
            run.cases.push_back(predict(parse_strategy(name), shape, profile));
            for (const std::string &text : sweep_settings(name, shape, profile, {}, 1))
                run.cases.push_back(predict(parse_strategy(text), shape, profile));
        }
    }
    const std::string text = write_run(run);
    const convcast::Run again = read_run(text, "run.json");
    for (const UnreadCase &unread : again.unread)
        ADD_FAILURE() << unread.problems.front().place << ": " << unread.problems.front().message;
    EXPECT_TRUE(write_run(again) == text);
}

TEST(DocumentsProperty, EveryScheduleIsReadAsItIsPrinted) {
    constexpr int count = 300;
    std::mt19937 random(7);
    const auto below = [&](std::size_t most) { return static_cast<std::size_t>(random() % most); };
    const std::vector<std::string> names = strategy_names();
    for (int i = 0; i < count; ++i) {
        Schedule schedule;
        schedule.network = "net_" + std::to_string(below(100));
        schedule.batch = 1 + static_cast<std::int64_t>(below(100000));
        schedule.note = "several words # and = signs\nin two lines";
        const std::size_t lines = 1 + below(20);
        for (std::size_t j = 0; j < lines; ++j) {
            ScheduleLine &line = schedule.lines.emplace_back();
            line.turns = below(5) == 0;
            for (std::size_t op = line.turns ? 0 : below(4); line.operators.size() <= op;)
                line.operators.push_back("op" + std::to_string(below(1000)));
            line.columns = below(2) == 0;
            line.stream = static_cast<std::int64_t>(below(most_streams));
            if (!line.turns && below(2) == 0) {
                const std::vector<Strategy> settings = candidates(names[below(names.size())]);
                line.strategy = settings[below(settings.size())];
            }
            line.note = below(2) == 0 ? "" : "9.41 us # stream=3";
        }
        const std::string text = to_text(schedule);
        const Schedule again = read_schedule(text, "printed");
        EXPECT_EQ(again.network, schedule.network);
        EXPECT_EQ(again.batch, schedule.batch);
        ASSERT_EQ(again.lines.size(), schedule.lines.size()) << text;
        for (std::size_t j = 0; j < lines; ++j) {
            const ScheduleLine &read = again.lines[j], &printed = schedule.lines[j];
            EXPECT_EQ(read.turns, printed.turns);
            EXPECT_EQ(read.operators, printed.operators);
            EXPECT_EQ(read.columns, printed.columns);
            EXPECT_EQ(read.stream, printed.stream);
            EXPECT_EQ(read.strategy ? to_text(*read.strategy) : "",
                      printed.strategy ? to_text(*printed.strategy) : "");
        }
    }
}

} // namespace
