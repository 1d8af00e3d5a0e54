// A schedule as text: a line for each launch of a network, with what it computes, by which strategy, in which
// layout and on which stream. It prints and reads back as a strategy's knobs do. Grammar: docs/networks.md.
#pragma once

#include "model/base/errors.hpp"
#include "model/network/ladder.hpp"
#include "model/network/network.hpp"
#include "model/network/schedule.hpp"
#include "model/strategies/list.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace convcast {

/// "launch conv1+bias1+relu1 layout=images stream=0 strategy=winograd:tile=4", or with `turns` "turn pool5
/// layout=columns stream=0".
struct ScheduleLine {
    bool turns = false;                 ///< only lays a tensor out otherwise: that of its one operator
    std::vector<std::string> operators; ///< joined by '+'; a turn may also name "input"
    bool columns = false;               ///< of what it writes
    std::int64_t stream = 0;
    std::optional<Strategy> strategy; ///< absent: the forecast's choice
    std::string note;                 ///< printed as a comment, not read
    std::size_t line = 0;             ///< of the file
};

/// "rung one_kernel": a rung of the network's ladder, whose launches data/ladders has.
struct ScheduleRung {
    std::string id;
    std::string note;
    std::size_t line = 0;
};

struct Schedule {
    std::string network;
    std::int64_t batch = 1;
    std::vector<ScheduleLine> lines;
    std::vector<ScheduleRung> rungs; ///< of a ladder, instead of lines
    std::string note;                ///< printed as a comment above it
};

/// Every field of every line, columns below each other: the inverse of read_schedule but for comments.
std::string to_text(const Schedule &schedule);

/// A schedule with all that is wrong in its text: what is right of it can still be held against a network.
struct ScheduleReading {
    Schedule schedule;
    std::string file;
    std::vector<InputProblem> problems;
    std::size_t network_line = 1, last_line = 1;
};
ScheduleReading parse_schedule(const std::string &text, const std::string &file);

/// Throws InputError with every problem at once, by file and line.
Schedule read_schedule(const std::string &text, const std::string &file);

inline constexpr std::int64_t most_streams = 16; ///< of a schedule

/// Why the kernels of a strategy do not compute a shape, or else whether they can end with bias, add and
/// ReLU. Absent strategy: the forecast's choice.
using AskedStrategy =
    std::function<std::variant<bool, std::string>(const std::optional<Strategy> &, const ConvShape &)>;

/// The schedule's launches of a network. Throws InputError with every problem of the text and of what it asks
/// for: operators that are unknown, missing or there twice, inputs that no line before computes, layouts that
/// do not chain, strategies and fusions that there are no kernels for.
std::vector<ScheduledLaunch> launches_of(const ScheduleReading &reading, const Network &network,
                                         const AskedStrategy &asked);

/// The ladder with the rungs that a schedule names, in its order. Throws InputError with every problem of the
/// text and every rung that the ladder does not have.
Ladder rungs_of(const ScheduleReading &reading, Ladder ladder);

/// The schedule of launches, by names.
Schedule described_schedule(const Network &network, std::int64_t batch,
                            const std::vector<ScheduledLaunch> &launches);

} // namespace convcast
