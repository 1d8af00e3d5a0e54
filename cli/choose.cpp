#include "cli/progress.hpp"
#include "cli/question.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "executor/baselines.hpp"
#include "model/errors.hpp"
#include "model/files.hpp"
#include "model/forecast.hpp"

#include <boost/describe.hpp>

#include <fmt/format.h>

namespace convcast::cli {

int choose(const Words &words) {
    std::vector<Option> options = question_options();
    options.push_back({"top", Option::text});
    const Arguments arguments("choose", words, options, 0);
    if (arguments.has("help"))
        return write_file_atomically("-", help_text("choose")), 0;
    const Question question = read_question("choose", arguments);
    const int top = arguments.integer("top", 5, 1, 100000);
    for (const std::string &text : question.strategies)
        if (is_baseline(text) || text.find(':') != std::string::npos)
            throw UsageError(
                "choose: it tries the knobs itself; --strategy takes a strategy's name, one of " +
                join(strategy_names()) + ", got '" + text + "'");

    std::vector<Case> chosen;
    std::string text;
    for (const AskedShape &asked : question.shapes) {
        std::vector<Case> ranked = convcast::choose(asked.shape, question.profile, question.strategies,
                                                    static_cast<std::size_t>(top));
        std::vector<std::vector<std::string>> rows;
        int rank = 0;
        const bool rankable =
            !ranked.empty() && ranked.front().prediction && ranked.front().prediction->time_s;
        if (!rankable && !ranked.empty() && ranked.front().prediction)
            note("not ranked: " + ranked.front().prediction->reason.value_or("no times"));
        for (Case &item : ranked) {
            if (item.status == Status::ok && ++rank > top)
                continue;
            const bool ok = item.status == Status::ok;
            const bool timed = ok && item.prediction->time_s;
            rows.push_back(
                {ok && rankable ? std::to_string(rank) : "-",
                 timed ? short_time(*item.prediction->time_s) : "-",
                 timed ? fmt::format("{:.2f}", *item.prediction->time_s / *ranked.front().prediction->time_s)
                       : "-",
                 ok ? item.prediction->limiter.value_or("-")
                    : boost::describe::enum_to_string(item.status, "?"),
                 // which setting was refused says nothing: all were
                 ok ? *item.strategy
                    : item.strategy->substr(0, item.strategy->find(':')) + ": " + item.reason.value_or("")});
            item.study = asked.study;
            if (ok)
                chosen.push_back(std::move(item));
        }
        text += bold(asked.shape.id()) + " on " + question.profile.name + "\n" +
                table({{"rank", Align::right},
                       {"time", Align::right},
                       {"/ best", Align::right},
                       {"limiter"},
                       {"strategy"}},
                      rows, terminal_width()) +
                "\n";
    }
    if (arguments.has("json") || arguments.has("output"))
        text = write_run(new_run(question.profile, std::move(chosen)));
    write_file_atomically(arguments.text("output", "-"), text);
    return 0;
}

} // namespace convcast::cli
