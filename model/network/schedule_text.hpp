// A schedule as text: a line for each launch of a network, with what it computes, by which strategy, in which
// layout and on which stream. What to_text prints parse_schedule reads. Grammar: docs/networks.md.
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

/// A line such as "launch conv1+bias1+relu1 layout=images stream=0 strategy=winograd:tile=4" or, with
/// `turns`, "turn pool5 layout=columns stream=0".
struct ScheduleLine {
    bool turns = false; ///< a turn, which only changes the layout of the output of its one operator
    std::vector<std::string> operators; ///< names, which the text joins by '+'; a turn may also name "input"
    bool columns = false;               ///< layout of what it writes (Tensor::columns)
    std::int64_t stream = 0;
    std::optional<Strategy> strategy; ///< absent: the forecast's choice
    std::string note;                 ///< printed as a comment, not read
    std::size_t line = 0;             ///< number in the file, from 1
};

/// A line such as "rung one_kernel": a rung of the network's ladder, whose launches data/ladders has.
struct ScheduleRung {
    std::string id;
    std::string note;
    std::size_t line = 0;
};

/// The text as data. A schedule has either lines or rungs.
struct Schedule {
    std::string network; ///< id
    std::int64_t batch = 1;
    std::vector<ScheduleLine> lines;
    std::vector<ScheduleRung> rungs;
    std::string note; ///< printed as a comment above it; may have several lines
};

/// The text with every field of every line, aligned: the inverse of read_schedule but for comments.
std::string to_text(const Schedule &schedule);

/// A schedule with all that is wrong in its text, which launches_of says with what is wrong for a network.
struct ScheduleReading {
    Schedule schedule;
    std::string file; ///< for messages
    std::vector<InputProblem> problems;
    std::size_t network_line = 1,
                last_line = 1; ///< numbers of the line that names the network, and of the last
};
/// Throws nothing.
ScheduleReading parse_schedule(const std::string &text, const std::string &file);

/// Throws InputError with every problem at once, by file and line.
Schedule read_schedule(const std::string &text, const std::string &file);

inline constexpr std::int64_t most_streams = 16; ///< of a schedule: chosen

/// Whether the kernels of a strategy can do the end of a launch (InNetwork::ends) for a shape; or a sentence
/// on why they do not compute it. Absent strategy: the forecast's choice.
using AskedStrategy =
    std::function<std::variant<bool, std::string>(const std::optional<Strategy> &, const ConvShape &)>;

/// The launches of a network as a schedule says them. Throws InputError with every problem of the text and of
/// what it asks for: operators that are unknown, missing or there twice, inputs that no line before computes
/// in their layout, strategies and fusions that there are no kernels for.
std::vector<ScheduledLaunch> launches_of(const ScheduleReading &reading, const Network &network,
                                         const AskedStrategy &asked);

/// The ladder with only the rungs that a schedule names, in the schedule's order. Throws InputError with
/// every problem of the text and every rung that the ladder does not have.
Ladder rungs_of(const ScheduleReading &reading, Ladder ladder);

/// The launches of a network as a schedule, which to_text prints.
Schedule described_schedule(const Network &network, std::int64_t batch,
                            const std::vector<ScheduledLaunch> &launches);

} // namespace convcast
