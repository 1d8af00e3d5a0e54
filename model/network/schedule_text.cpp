#include "model/network/schedule_text.hpp"

#include "model/base/readable.hpp"
#include "model/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

constexpr const char *launch_example = "launch conv1+bias1+relu1 layout=images stream=0 strategy=winograd";
constexpr const char *images_name = "input";
constexpr std::int64_t most_schedule_batch = std::int64_t{1} << 31; ///< the most that most_images can be

/// The words of a line, up to the '#' of a comment.
std::vector<std::string> words_of(std::string_view line) {
    constexpr const char *blanks = " \t\r";
    line = line.substr(0, line.find('#'));
    std::vector<std::string> words;
    for (std::size_t begin = 0; (begin = line.find_first_not_of(blanks, begin)) != std::string_view::npos;) {
        const std::size_t end = std::min(line.find_first_of(blanks, begin), line.size());
        words.emplace_back(line.substr(begin, end - begin));
        begin = end;
    }
    return words;
}

/// Reads the text of a schedule line by line and collects what is wrong.
class ScheduleParser {
  public:
    explicit ScheduleParser(const std::string &file) { reading_.file = file; }

    ScheduleReading parse(std::string_view text) && {
        for (const std::string_view line : lines_of(text)) {
            ++line_;
            if (const std::vector<std::string> words = words_of(line); !words.empty())
                statement(words);
        }
        reading_.last_line = std::max<std::size_t>(line_, 1);
        line_ = reading_.last_line;
        if (!named_)
            problem("expected a line that names the network, for example: network resnet50");
        if (!sized_)
            problem("expected a line with the number of images, for example: batch 1");
        if (reading_.schedule.lines.empty() && reading_.schedule.rungs.empty())
            problem(std::string("expected launches, for example: ") + launch_example);
        if (!reading_.schedule.lines.empty() && !reading_.schedule.rungs.empty())
            problem("expected launches or implementations of a ladder, found both; take the lines of one "
                    "kind out");
        return std::move(reading_);
    }

  private:
    void problem(const std::string &message) {
        reading_.problems.push_back({reading_.file + ":" + std::to_string(line_), message});
    }

    /// A line that is neither empty nor a comment.
    void statement(const std::vector<std::string> &words) {
        const std::string &first = words.front();
        if (first == "launch" || first == "turn")
            return launch(words);
        const std::vector<std::string> known = {"network", "batch", "launch", "turn", "rung"};
        if (std::find(known.begin(), known.end(), first) == known.end())
            return problem("expected a line that begins with " + join(known) + ", found '" +
                           shortened(first, 60) + "'" + did_you_mean(first, known) +
                           " For example: " + launch_example);
        if (words.size() != 2)
            return problem("expected one word behind " + first + ", for example: " +
                           (first == "batch"  ? "batch 1"
                            : first == "rung" ? "rung one_kernel"
                                              : "network resnet50"));
        if (first == "network") {
            require_once(named_, first);
            reading_.schedule.network = words[1];
            reading_.network_line = line_;
            if (!is_id(words[1]))
                problem("expected small letters, digits and _, for example: network resnet50");
        } else if (first == "batch") {
            require_once(sized_, first);
            const auto batch = number_of<std::int64_t>(words[1]);
            if (!batch || *batch < 1 || *batch > most_schedule_batch)
                problem("expected a number of images from 1, for example: batch 32, found '" +
                        shortened(words[1], 60) + "'");
            else
                reading_.schedule.batch = *batch;
        } else if (!is_id(words[1])) {
            problem("expected small letters, digits and _, for example: rung one_kernel");
        } else {
            reading_.schedule.rungs.push_back({words[1], "", line_});
        }
    }

    /// Of a line that may stand once: a problem if it was `seen`, which is set.
    void require_once(bool &seen, const std::string &word) {
        if (seen)
            problem("there is a line before that begins with " + word + "; keep one of them");
        seen = true;
    }

    /// A line that begins with "launch" or "turn".
    void launch(const std::vector<std::string> &words) {
        ScheduleLine line;
        line.turns = words.front() == "turn";
        line.line = line_;
        const std::string example =
            line.turns ? "turn pool5 layout=columns stream=0" : std::string(launch_example);
        if (words.size() < 2 || words[1].find('=') != std::string::npos)
            return problem((line.turns ? "expected the operator whose output is laid out otherwise, or input"
                                       : "expected the operators that the launch computes") +
                           std::string(", for example: ") + example);
        line.operators = split(words[1], '+');
        for (const std::string &name : line.operators)
            if (!is_operator_name(name) && name != images_name)
                return problem("expected names of operators joined by +, found '" + shortened(words[1], 60) +
                               "'; for example: " + example);
        if (line.turns && line.operators.size() > 1)
            problem("expected the name of one operator or input, found '" + shortened(words[1], 60) +
                    "'; for example: " + example);
        std::set<std::string> seen;
        for (std::size_t i = 2; i < words.size(); ++i)
            field(words[i], line, seen, example);
        if (line.turns && !seen.contains("layout"))
            problem("expected the layout that it is turned to, for example: " + example);
        reading_.schedule.lines.push_back(std::move(line));
    }

    /// A word such as "layout=images" of a line. `seen`: its keys so far; `example`: a right line.
    void field(const std::string &word, ScheduleLine &line, std::set<std::string> &seen,
               const std::string &example) {
        const std::size_t equals = word.find('=');
        const std::string key = word.substr(0, equals);
        const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
        std::vector<std::string> known = {"layout", "stream"};
        if (!line.turns)
            known.emplace_back("strategy");
        if (std::find(known.begin(), known.end(), key) == known.end() || equals == std::string::npos)
            return problem("expected " + join(known, "=..., ") + "=..., found '" + shortened(word, 60) + "'" +
                           did_you_mean(key, known) + " For example: " + example);
        if (!seen.insert(key).second)
            problem(key + " is there twice; keep one of them");
        if (key == "layout") {
            if (value != "images" && value != "columns")
                problem("layout: expected images (one image behind the other) or columns (each number of all "
                        "images side by side), found '" +
                        shortened(value, 60) + "'; for example: layout=images");
            line.columns = value == "columns";
        } else if (key == "stream") {
            const auto stream = number_of<std::int64_t>(value);
            if (!stream || *stream < 0 || *stream >= most_streams)
                problem(
                    fmt::format("stream: expected a number from 0 to {}, found '{}'; for example: stream=0",
                                most_streams - 1, shortened(value, 60)));
            else
                line.stream = *stream;
        } else {
            try {
                line.strategy = parse_strategy(value);
            } catch (const UsageError &error) {
                problem(std::string("strategy: ") + error.what());
            }
        }
    }

    ScheduleReading reading_;
    std::size_t line_ = 0;               ///< number of the line at hand
    bool named_ = false, sized_ = false; ///< a line says the network, the batch
};

/// Throws InputError for a schedule of another network, without what else its lines do not have of this one.
void require_network(const ScheduleReading &reading, const std::string &network) {
    if (reading.schedule.network.empty() || reading.schedule.network == network)
        return;
    std::vector<InputProblem> problems = reading.problems;
    problems.push_back({fmt::format("{}:{}", reading.file, reading.network_line),
                        "the schedule is of the network '" + shortened(reading.schedule.network, 60) +
                            "', expected: network " + network});
    throw InputError(std::move(problems));
}

/// Makes launches_of: finds the lines' operators in a network and checks that lines can be launches.
class ScheduleBinder {
  public:
    ScheduleBinder(const ScheduleReading &reading, const Network &network, const AskedStrategy &asked)
        : reading_(reading), network_(network), asked_(asked), problems_(reading.problems),
          readers_(readers_of(network)) {}

    std::vector<ScheduledLaunch> run() && {
        for (const ScheduleLine &line : reading_.schedule.lines) {
            line_ = line.line;
            if (line.turns)
                turn(line);
            else
                launch(line);
        }
        line_ = reading_.last_line;
        require_all_computed();
        if (problems_.empty())
            require_output_last();
        if (!problems_.empty()) {
            std::stable_sort(problems_.begin(), problems_.end(), [&](const auto &one, const auto &other) {
                return line_of(one) < line_of(other);
            });
            throw InputError(std::move(problems_));
        }
        place_parts(network_, launches_, reading_.schedule.batch);
        return std::move(launches_);
    }

  private:
    /// The number behind "file:", by which problems are sorted.
    static long long line_of(const InputProblem &problem) {
        return std::atoll(problem.place.substr(problem.place.rfind(':') + 1).c_str());
    }
    void problem(const std::string &message) {
        problems_.push_back({reading_.file + ":" + std::to_string(line_), message});
    }

    const std::string &name_of(std::size_t i) const { return network_.name_of(i); }
    bool is_available(const Tensor &tensor) const {
        return tensor == Tensor{} || available_.contains(tensor);
    }

    /// Index of an operator, or with `or_images` input_index of "input". Absent, with a problem, if none.
    std::optional<std::size_t> find(const std::string &name, bool or_images) {
        if (or_images && name == images_name)
            return Network::input_index;
        if (const auto found = network_.operator_named(name))
            return found;
        std::vector<std::string> names;
        for (const Operator &op : network_.operators)
            names.push_back(op.name);
        problem("no operator '" + name + "' in " + network_.id + did_you_mean(name, names) +
                " Expected its operators, for example: launch " + names.front());
        return std::nullopt;
    }

    /// A line that changes a layout.
    void turn(const ScheduleLine &line) {
        const auto of = find(line.operators.front(), true);
        if (!of)
            return;
        const Tensor wanted{*of, line.columns}, other{*of, !line.columns};
        if (is_available(wanted))
            problem(name_of(*of) + " already lies in " + (line.columns ? "columns" : "images") +
                    "; leave the line out");
        else if (!is_available(other))
            problem(name_of(*of) + " is not there yet; expected the line that computes it before this one");
        available_.insert(wanted);
        launches_.push_back(layout_change_to(wanted));
        launches_.back().stream = line.stream;
    }

    /// A line of a launch. If it is wrong its operators still count as computed: one slip, one problem.
    void launch(const ScheduleLine &line) {
        std::vector<std::size_t> operators;
        for (const std::string &name : line.operators)
            if (const auto i = find(name, false))
                operators.push_back(*i);
        for (const std::size_t i : operators)
            if (const auto [found, fresh] = computed_.try_emplace(i, line_); !fresh)
                problem(name_of(i) + " is computed twice, the first time in line " +
                        std::to_string(found->second) + "; leave it out here or there");
        if (operators.size() == line.operators.size())
            check(line, operators);
        for (const std::size_t i :
             operators) // what the line stores; of one with a slip all that it may have meant
            if (i == operators.back() || operators.size() != line.operators.size())
                available_.insert({i, line.columns});
    }

    /// Appends the launch of a line whose operators are all known, or adds why it cannot be one.
    void check(const ScheduleLine &line, const std::vector<std::size_t> &operators) {
        const std::size_t first = operators.front();
        const Operator &op = network_.operators[first];
        ScheduledLaunch launch = launch_of(network_, first, reading_.schedule.batch, line.columns);
        launch.stream = line.stream;
        launch.strategy = line.strategy;
        if (launch.kind == LaunchKind::dense && reading_.schedule.batch >= least_columns)
            return problem(
                fmt::format("{} is a dense layer, and of {} images or more these are computed in columns: "
                            "expected layout=columns, and before it: turn {} layout=columns stream={}",
                            op.name, least_columns, name_of(network_.sources(first).front()), line.stream));
        if (line.columns && launch.kind != LaunchKind::columns && !is_elementwise(op.kind))
            return problem(op.name + " (" + boost::describe::enum_to_string(op.kind, "?") +
                           ") is computed image by image: expected layout=images");
        for (const ImageShape &shape : network_.input_shapes(first))
            if (line.columns && launch.kind == LaunchKind::elementwise && shape != op.output)
                return problem(op.name + " reads tensors of different shapes, which is done image by image: "
                                         "expected layout=images");
        for (const std::size_t source : network_.sources(first)) {
            require_available({source, line.columns}, op.name, line.stream);
            launch.reads.push_back({source, line.columns});
        }
        const bool planned = launch.kind == LaunchKind::convolution || launch.kind == LaunchKind::columns;
        bool ends = true;
        if (line.strategy && !planned)
            problem(op.name + " (" + boost::describe::enum_to_string(op.kind, "?") +
                    ") has one kernel: expected no strategy=" +
                    (launch.kind == LaunchKind::dense ? ", or layout=columns" : ""));
        if (planned) {
            auto answer = asked_(line.strategy, *launch.shape);
            if (const auto *why = std::get_if<std::string>(&answer))
                problem("strategy: " + *why + "; expected one that does " + launch.shape->id() +
                        ", or no strategy=, which takes the forecast's choice, for example: launch " +
                        op.name);
            ends = std::holds_alternative<std::string>(answer) || std::get<bool>(answer);
        }
        for (std::size_t j = 1; j < operators.size(); ++j) {
            if (const auto why = why_not_joined(network_, launch, operators[j], readers_, available_,
                                                [&] { return ends; })) {
                problem("cannot be one launch: " + *why +
                        "; expected a line of its own, for example: launch " + rest_of(line, j) + " layout=" +
                        (line.columns ? "columns" : "images") + fmt::format(" stream={}", line.stream));
                return;
            }
            append_operator(network_, launch, operators[j]);
        }
        launches_.push_back(std::move(launch));
    }

    /// The operators of a line from number `from` on, as the text has them.
    static std::string rest_of(const ScheduleLine &line, std::size_t from) {
        return join(std::vector<std::string>(line.operators.begin() + static_cast<std::ptrdiff_t>(from),
                                             line.operators.end()),
                    "+");
    }

    /// A problem if no line before stores the tensor that operator `reader` reads in this layout.
    void require_available(const Tensor &tensor, const std::string &reader, std::int64_t stream) {
        if (is_available(tensor))
            return;
        const std::string &name = name_of(tensor.of);
        if (is_available({tensor.of, !tensor.columns}))
            problem(fmt::format(
                "the layouts do not chain: {} reads {} in {}, found it in {}; expected before "
                "this line: turn {} layout={} stream={}",
                reader, name, tensor.columns ? "columns" : "images", tensor.columns ? "images" : "columns",
                name, tensor.columns ? "columns" : "images", stream));
        else if (!computed_.contains(tensor.of))
            problem(reader + " reads " + name +
                    ", which no line before this one computes; expected: launch " + name +
                    (name == reader ? "" : " ...") + " before it");
        else
            problem(reader + " reads " + name +
                    ", which a launch does not write where it ends with another operator; expected " + name +
                    " last in its line");
    }

    /// A problem if operators have no line.
    void require_all_computed() {
        if (reading_.schedule.lines.empty()) {
            if (!reading_.schedule.rungs.empty()) // that there is neither has been said
                problem(
                    "expected launches, found implementations of a ladder, whose launches are its own; for "
                    "example: launch " +
                    network_.operators.front().name + " layout=images stream=0");
            return;
        }
        std::vector<std::string> names;
        for (std::size_t i = 0; i < network_.operators.size(); ++i)
            if (!computed_.contains(i))
                names.push_back(network_.operators[i].name);
        if (names.empty())
            return;
        problem(fmt::format("no line computes {} of {}; expected every operator in one line, for example: "
                            "launch {} layout=images stream=0",
                            join_some(names, 8), network_.id, names.front()));
    }

    /// A problem unless the last line writes the network's output image by image.
    void require_output_last() {
        const std::size_t last = network_.operators.size() - 1;
        if (launches_.empty() || launches_.back().writes == Tensor{last, false})
            return;
        if (is_available({last, false}))
            problem("expected the line that writes " + name_of(last) +
                    ", the network's output, at the end; put it behind the others");
        else
            problem("the network's output lies in columns; expected at the end: turn " + name_of(last) +
                    " layout=images stream=0");
    }

    const ScheduleReading &reading_;
    const Network &network_;
    const AskedStrategy &asked_;
    std::vector<InputProblem> problems_;
    std::vector<std::size_t> readers_;            ///< of readers_of
    std::map<std::size_t, std::size_t> computed_; ///< by operator, number of its line
    std::set<Tensor> available_;                  ///< what the lines so far store
    std::vector<ScheduledLaunch> launches_;
    std::size_t line_ = 0; ///< number of the line at hand
};

} // namespace

std::string to_text(const Schedule &schedule) {
    std::string text;
    for (const std::string &note : split(schedule.note, '\n'))
        if (!note.empty())
            text += "# " + note + "\n";
    text += fmt::format("network {}\nbatch {}\n", schedule.network, schedule.batch);
    std::size_t wide = 0;
    for (const ScheduleRung &rung : schedule.rungs)
        wide = std::max(wide, rung.id.size());
    for (const ScheduleRung &rung : schedule.rungs)
        text += "rung " +
                (rung.note.empty() ? rung.id : fmt::format("{:<{}}  # {}", rung.id, wide, rung.note)) + "\n";
    wide = 0;
    for (const ScheduleLine &line : schedule.lines)
        wide = std::max(wide, join(line.operators, "+").size());
    for (const ScheduleLine &line : schedule.lines)
        text += fmt::format("{:<6} {:<{}} layout={:<7} stream={}{}{}\n", line.turns ? "turn" : "launch",
                            join(line.operators, "+"), wide, line.columns ? "columns" : "images", line.stream,
                            line.strategy ? " strategy=" + to_text(*line.strategy) : "",
                            line.note.empty() ? "" : "  # " + line.note);
    return text;
}

ScheduleReading parse_schedule(const std::string &text, const std::string &file) {
    return ScheduleParser(file).parse(text);
}

Schedule read_schedule(const std::string &text, const std::string &file) {
    ScheduleReading reading = parse_schedule(text, file);
    if (!reading.problems.empty())
        throw InputError(std::move(reading.problems));
    return std::move(reading.schedule);
}

std::vector<ScheduledLaunch> launches_of(const ScheduleReading &reading, const Network &network,
                                         const AskedStrategy &asked) {
    require_network(reading, network.id);
    return ScheduleBinder(reading, network, asked).run();
}

Ladder rungs_of(const ScheduleReading &reading, Ladder ladder) {
    require_network(reading, ladder.network);
    std::vector<InputProblem> problems = reading.problems;
    std::vector<std::string> known;
    for (const Rung &rung : ladder.rungs)
        known.push_back(rung.id);
    std::vector<Rung> rungs;
    std::set<std::string> seen;
    for (const ScheduleRung &named : reading.schedule.rungs) {
        const std::string place = fmt::format("{}:{}", reading.file, named.line);
        const auto found = std::find(known.begin(), known.end(), named.id);
        if (found == known.end())
            problems.push_back({place, "the ladder of " + ladder.network + " has no implementation '" +
                                           named.id + "'" + did_you_mean(named.id, known) + " Expected of " +
                                           join(known) + "; for example: rung " + known.front()});
        else if (!seen.insert(named.id).second)
            problems.push_back({place, "rung " + named.id + " is there twice; keep one of them"});
        else
            rungs.push_back(ladder.rungs[static_cast<std::size_t>(found - known.begin())]);
    }
    if (!problems.empty())
        throw InputError(std::move(problems));
    ladder.rungs = std::move(rungs);
    return ladder;
}

Schedule described_schedule(const Network &network, std::int64_t batch,
                            const std::vector<ScheduledLaunch> &launches) {
    Schedule schedule;
    schedule.network = network.id;
    schedule.batch = batch;
    for (const ScheduledLaunch &launch : launches) {
        ScheduleLine &line = schedule.lines.emplace_back();
        line.turns = launch.operators.empty();
        for (const std::size_t i : launch.operators)
            line.operators.push_back(network.operators[i].name);
        if (line.turns)
            line.operators.push_back(network.name_of(launch.writes.of));
        line.columns = launch.writes.columns;
        line.stream = launch.stream;
        line.strategy = launch.strategy;
    }
    return schedule;
}

} // namespace convcast
