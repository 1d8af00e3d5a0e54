// run --network of a network without a ladder: all of it, with the launches of its forecast.
#include "cli/device.hpp"
#include "cli/network.hpp"
#include "cli/network_cases.hpp"
#include "cli/terminal.hpp"
#include "cli/version.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/network/whole_run.hpp"
#include "reports/network_page.hpp"
#include "reports/statistics.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

namespace convcast::cli {
namespace {

std::string with_spread(Seconds time, Seconds low, Seconds high) {
    return fmt::format("{} ({} to {})", short_time(time), short_time(low), short_time(high));
}

std::string with_spread(const std::optional<TimeSpread> &time) {
    return time ? with_spread(time->median_s, time->p05_s, time->p95_s) : "-";
}

std::string whole_heading(const NetworkRun &run) {
    const NetworkCase &its = run.first();
    std::string text =
        bold(fmt::format("{} on {}, batch {}", run.network, run.conditions.at("gpu"), its.batch)) + "\n";
    if (its.reason)
        return text + "  " + name_of(its.status) + ": " + *its.reason + "\n";
    text +=
        fmt::format("  outputs of all images within {:.1e} of double precision in relative L2; weights: {}\n",
                    *its.output_error, *its.weights);
    if (!its.measured)
        return text;
    const Seconds call = *its.measured->time_s;
    return text +
           fmt::format("  one CUDA graph of {} nodes, replayed in a row: {}, {:.0f} images a second\n",
                       *its.nodes, with_spread(call, *its.measured->low_s, *its.measured->high_s),
                       static_cast<double>(its.batch) / call.value) +
           fmt::format("  forecast {}: {}; the layers' multiply-adds at the full FMA rate would take {}\n",
                       short_time(*its.forecast_s()), signed_percent(*its.forecast_s() / call - 1.0),
                       short_time(*its.light_s)) +
           fmt::format("  one call while kernels are traced: {}, cold L2 {}; launch by launch {}\n\n",
                       with_spread(its.traced->graph_s), with_spread(its.traced->graph_cold_s),
                       with_spread(its.traced->stream_s));
}

} // namespace

int run_whole_network(const Arguments &arguments, std::optional<ScheduleReading> schedule) {
    arguments.refuse_options_of("network without ladder");
    const std::string output = arguments.text("output", "-");
    if (output != "-")
        check_writable(output);
    const AskedPlan asked = plan_asked_network(arguments, std::move(schedule));
    if (const auto why = why_not_whole(asked.plan.network))
        arguments.refuse(*why);
    NetworkRun run =
        run_whole_on_device(asked.plan, arguments.integer("device"), arguments.text("save-tensors", ""));
    for (const auto &[name, value] : asked.conditions)
        run.conditions.emplace(name, value);
    run.conditions["version"] = producer().version;
    write_network(arguments, run, whole_heading(run) + table(launches_table(run)));
    return code_of(run);
}

} // namespace convcast::cli
