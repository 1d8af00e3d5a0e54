// run --network of a network without a ladder: all of it, with the launches of its forecast.
#include "cli/device.hpp"
#include "cli/network.hpp"
#include "cli/terminal.hpp"
#include "cli/version.hpp"
#include "model/base/document.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/network/whole_run.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

std::string with_spread(const std::optional<TimeSpread> &time) {
    return time ? fmt::format("{} ({} to {})", short_time(time->median_s), short_time(time->p05_s),
                              short_time(time->p95_s))
                : "-";
}

std::string over(Seconds forecast, const std::optional<TimeSpread> &time) {
    return time ? fmt::format("{:+.1f} %", 100.0 * (forecast / time->median_s - 1.0)) : "-";
}

std::string whole_heading(const WholeRun &run) {
    std::string text =
        bold(fmt::format("{} on {}, batch {}", run.network, run.conditions.at("gpu"), run.batch)) + "\n";
    if (run.reason)
        return text + "  " + boost::describe::enum_to_string(run.status, "?") + ": " + *run.reason + "\n";
    text +=
        fmt::format("  outputs of all images within {:.1e} of double precision in relative L2; weights: {}\n",
                    run.l2_error, run.weights);
    if (!run.graph_s)
        return text;
    return text +
           fmt::format("  one CUDA graph of {} nodes, replayed in a row: {}, {:.0f} images a second\n",
                       run.nodes, with_spread(run.replayed_s),
                       static_cast<double>(run.batch) / run.replayed_s->median_s.value) +
           fmt::format("  forecast {}: {}; the layers' multiply-adds at the full FMA rate would take {}\n",
                       short_time(run.forecast_s), over(run.forecast_s, run.replayed_s),
                       short_time(run.light_s)) +
           fmt::format("  one call while kernels are traced: {}, cold L2 {}; launch by launch {}\n\n",
                       with_spread(run.graph_s), with_spread(run.graph_cold_s), with_spread(run.stream_s));
}

std::string whole_table(const WholeRun &run) {
    std::vector<std::vector<std::string>> rows;
    for (const WholeLaunch &launch : run.launches)
        rows.push_back({name_of(launch.kind, launch.operators),
                        launch.time_s ? short_time(launch.time_s->median_s) : "-",
                        launch.time_s ? fmt::format("{:.1f} %", 100.0 * launch.share) : "-",
                        short_time(launch.forecast_s), over(launch.forecast_s, launch.time_s),
                        launch.l2_error ? fmt::format("{:.0e}", *launch.l2_error) : "-",
                        launch.strategy.value_or(launch.shape.value_or("-"))});
    return table({{"operators", Align::left, Keep::must, Fit::cut},
                  {"time", Align::right, Keep::must},
                  {"share", Align::right},
                  {"forecast", Align::right, Keep::high},
                  {"error", Align::right, Keep::must},
                  {"off", Align::right, Keep::low},
                  {"strategy or shape", Align::left, Keep::must, Fit::knobs}},
                 rows, terminal_width());
}

} // namespace

std::string name_of(LaunchKind kind, const std::vector<std::string> &operators) {
    const std::string names = join(operators, "+");
    return kind == LaunchKind::to_columns ? names + " to columns"
           : kind == LaunchKind::to_rows  ? names + " to rows"
                                          : names;
}

int run_whole_network(const Arguments &arguments, std::optional<ScheduleReading> schedule) {
    for (const char *other : {"data", "epochs", "rate", "weights", "from"})
        if (arguments.has(other))
            throw UsageError("run: --" + std::string(other) +
                             " is of training, which needs a network with a ladder");
    const std::string output = arguments.text("output", "-");
    if (output != "-")
        check_writable(output);
    const AskedPlan asked = plan_asked_network("run", arguments, std::move(schedule));
    if (const auto why = why_not_whole(asked.plan.network))
        throw UsageError("run: " + *why);
    WholeRun run = run_whole_on_device(asked.plan, arguments.integer("device"));
    for (const auto &[name, value] : asked.conditions)
        run.conditions.emplace(name, value);
    run.conditions["version"] = producer().version;
    const bool as_document = arguments.has("json") || arguments.has("output");
    write_file_atomically(output, as_document ? to_text(described::write(run))
                                              : printable(whole_heading(run) + whole_table(run)));
    return run.status == Status::ok ? 0 : 1;
}

} // namespace convcast::cli
