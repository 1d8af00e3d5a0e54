// run --network of a network without a ladder: all of it, with the launches of its forecast.
#include "cli/device.hpp"
#include "cli/network.hpp"
#include "cli/terminal.hpp"
#include "cli/version.hpp"
#include "model/base/document.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/network/whole_run.hpp"
#include "reports/network_page.hpp"
#include "reports/statistics.hpp"

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

std::string whole_heading(const NetworkRun &run) {
    const NetworkMeasurement &measured = *run.measured;
    std::string text =
        bold(fmt::format("{} on {}, batch {}", run.network, run.conditions.at("gpu"), run.batch)) + "\n";
    if (measured.reason)
        return text + "  " + boost::describe::enum_to_string(measured.status, "?") + ": " + *measured.reason +
               "\n";
    text +=
        fmt::format("  outputs of all images within {:.1e} of double precision in relative L2; weights: {}\n",
                    measured.l2_error, measured.weights);
    if (!measured.replayed_s)
        return text;
    const Seconds call = measured.replayed_s->median_s;
    return text +
           fmt::format("  one CUDA graph of {} nodes, replayed in a row: {}, {:.0f} images a second\n",
                       run.nodes, with_spread(measured.replayed_s),
                       static_cast<double>(run.batch) / call.value) +
           fmt::format("  forecast {}: {}; the layers' multiply-adds at the full FMA rate would take {}\n",
                       short_time(run.time_s), signed_percent(run.time_s / call - 1.0),
                       short_time(run.light_s)) +
           fmt::format("  one call while kernels are traced: {}, cold L2 {}; launch by launch {}\n\n",
                       with_spread(measured.graph_s), with_spread(measured.graph_cold_s),
                       with_spread(measured.stream_s));
}

} // namespace

int run_whole_network(const Arguments &arguments, std::optional<ScheduleReading> schedule) {
    for (const char *other : training_options)
        if (arguments.has(other))
            throw UsageError("run: --" + std::string(other) +
                             " is of training, which needs a network with a ladder");
    const std::string output = arguments.text("output", "-");
    if (output != "-")
        check_writable(output);
    const AskedPlan asked = plan_asked_network("run", arguments, std::move(schedule));
    if (const auto why = why_not_whole(asked.plan.network))
        throw UsageError("run: " + *why);
    NetworkRun run =
        run_whole_on_device(asked.plan, arguments.integer("device"), arguments.text("save-tensors", ""));
    for (const auto &[name, value] : asked.conditions)
        run.conditions.emplace(name, value);
    run.conditions["version"] = producer().version;
    const bool as_document = arguments.has("json") || arguments.has("output");
    write_file_atomically(
        output, as_document ? to_text(described::write(run))
                            : printable(whole_heading(run) + table(launches_table(run), terminal_width())));
    return run.measured->status == Status::ok ? 0 : 1;
}

} // namespace convcast::cli
