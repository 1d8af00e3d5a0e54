#include "reports/network_figures.hpp"

#include "model/base/errors.hpp"
#include "reports/html.hpp"
#include "reports/report_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace convcast {
namespace {

constexpr std::size_t style_of_dense = 4; ///< of dense layers, as 0 of convolutions and grey of others

std::string with_unit(Seconds time) {
    return microseconds(time) + " µs";
}

Figure rungs_figure(const NetworkRun &run) {
    Figure figure{
        "ladder", fmt::format("Implementations of {}, batch {}", run.network, run.first().batch), "", {}, {}};
    figure.caption =
        "Forecast and measured: one CUDA graph, L2 as the call before left it; cold: L2 flushed before. "
        "From the first implementation down, each does what the one above does and one thing more, or "
        "another way.";
    figure.x = {"time, µs", Scale::logarithmic, {}, {}, {}};
    figure.y.scale = Scale::category;
    Series forecast{"forecast", styles::forecast, Drawn::points, true},
        measured{"measured", styles::measured}, cold{"measured, cold L2", styles::context},
        published{"published" + (run.published_gpu ? ", " + *run.published_gpu : std::string()), 4};
    std::size_t pairs = 0, within = 0;
    for (const NetworkCase &rung : run.cases) {
        if (!rung.id)
            continue;
        const auto y = static_cast<double>(figure.y.categories.size());
        const auto add = [&](Series &series, const std::optional<Seconds> &time) {
            if (time)
                series.points.push_back(
                    {time->value * us_per_s, y, *rung.id + ", " + series.name + ": " + with_unit(*time), {}});
        };
        add(forecast, rung.forecast_s());
        add(measured, rung.measured_s());
        if (rung.measured)
            add(cold, rung.measured->cold_s);
        if (rung.batch == run.published_images.value_or(1))
            add(published, rung.published_s);
        figure.y.categories.push_back(*rung.id);
        if (run.comparable(rung)) {
            ++pairs;
            within += std::abs(*rung.forecast_s() / *rung.measured_s() - 1.0) <= 0.1 ? 1 : 0;
        }
    }
    if (pairs > 0)
        figure.title += fmt::format(": {} of {} forecasts within 10 %", within, pairs);
    for (Series *series : {&published, &cold, &forecast, &measured})
        if (!series->points.empty())
            figure.series.push_back(std::move(*series));
    figure.no_data = "no implementation has a time";
    return figure;
}

/// The layer that a launch is named by: the first operator that it computes.
std::string layer_of(const KernelForecast &launch) {
    return launch.operators.empty() ? launch.kernel : launch.operators.front();
}

/// Layers in the order in which they first come, of which those that take most in all rungs keep their names:
/// no more than can be told apart by colour.
std::vector<std::string> named_layers(const NetworkRun &run) {
    constexpr std::size_t most = 4; // beside the others and launching
    std::vector<std::string> layers;
    std::map<std::string, double> time;
    for (const NetworkCase &rung : run.cases)
        for (const KernelForecast &launch : rung.kernels_forecast) {
            if (!time.contains(layer_of(launch)))
                layers.push_back(layer_of(launch));
            time[layer_of(launch)] += launch.time_s.value;
        }
    std::vector<std::string> longest = layers;
    std::stable_sort(longest.begin(), longest.end(),
                     [&](const std::string &a, const std::string &b) { return time[a] > time[b]; });
    longest.resize(std::min(most, longest.size()));
    std::erase_if(layers, [&](const std::string &layer) {
        return std::find(longest.begin(), longest.end(), layer) == longest.end();
    });
    return layers;
}

Figure launches_figure(const NetworkRun &run) {
    Figure figure{
        "ladder_launches",
        fmt::format("What the forecasts of {} consist of, batch {}", run.network, run.first().batch),
        "",
        {},
        {}};
    figure.caption =
        "Launches one after another, each named by the first operator that it computes. Launching is "
        "the start of the first launch, the gaps between launches and copies to constant memory.";
    figure.x = {"time, µs", Scale::linear, 0.0, {}, {}};
    figure.y.scale = Scale::category;
    const std::vector<std::string> layers = named_layers(run);
    for (const std::string &layer : layers)
        figure.series.push_back({layer, figure.series.size(), Drawn::bars});
    figure.series.push_back({"other layers", styles::context, Drawn::bars});
    figure.series.push_back({"launching", styles::context, Drawn::bars, true});
    for (const NetworkCase &rung : run.cases) {
        if (!rung.id || rung.kernels_forecast.empty())
            continue;
        const auto y = static_cast<double>(figure.y.categories.size());
        figure.y.categories.push_back(*rung.id);
        double at = 0.0;
        const auto add = [&](std::size_t series, const std::string &what, double us) {
            figure.series[series].points.push_back(
                {at + us, y, fmt::format("{}, {}: {:.2f} µs", *rung.id, what, us), {}, at});
            at += us;
        };
        for (const KernelForecast &launch : rung.kernels_forecast) {
            const auto found = std::find(layers.begin(), layers.end(), layer_of(launch));
            add(static_cast<std::size_t>(found - layers.begin()), launch.kernel,
                launch.time_s.value * us_per_s);
        }
        if (const auto total = rung.forecast_s())
            add(layers.size() + 1, "launching", total->value * us_per_s - at);
    }
    std::erase_if(figure.series, [](const Series &series) { return series.points.empty(); });
    figure.no_data = "no implementation has a forecast";
    return figure;
}

/// A launch of a timeline.
struct LaunchBar {
    std::string name, row; ///< row: "forecast", "measured"
    std::string strategy;  ///< of a convolution, with its knobs; else ""
    LaunchKind kind = LaunchKind::elementwise;
    std::int64_t stream = 0;
    Seconds ends_s, time_s;
};

/// Rows by stream, within a stream in the order of the first bars.
Figure timeline_of(const std::vector<LaunchBar> &bars, const std::string &title) {
    Figure figure{"network_timeline", title, "", {}, {}};
    figure.x = {"time since the start of the call, µs", Scale::linear, 0.0, {}, {}};
    figure.y.scale = Scale::category;
    // Convolutions are most of a network: each strategy has a colour, so that launches can be told apart.
    constexpr std::array<std::size_t, 5> style_of_strategy = {0, 1, 2, 3, 5}; // without that of dense layers
    std::vector<Series> convolutions;
    Series dense{"dense layer", style_of_dense, Drawn::bars}, others{"other", styles::context, Drawn::bars};
    const auto convolution_by = [&](const std::string &strategy) -> Series & {
        const std::string name = "convolution by " + strategy.substr(0, strategy.find(':'));
        for (Series &series : convolutions)
            if (series.name == name)
                return series;
        const std::size_t style = style_of_strategy[convolutions.size() % style_of_strategy.size()];
        return convolutions.emplace_back(Series{name, style, Drawn::bars});
    };
    std::int64_t streams = 1;
    for (const LaunchBar &bar : bars)
        streams = std::max(streams, bar.stream + 1);
    std::map<std::pair<std::int64_t, std::string>, double> rows;
    for (std::int64_t stream = 0; stream < streams; ++stream)
        for (const LaunchBar &bar : bars)
            if (bar.stream == stream && !rows.contains({stream, bar.row})) {
                rows[{stream, bar.row}] = static_cast<double>(figure.y.categories.size());
                figure.y.categories.push_back(streams == 1 ? bar.row
                                                           : fmt::format("stream {}, {}", stream, bar.row));
            }
    for (const LaunchBar &bar : bars) {
        const double row = rows[{bar.stream, bar.row}];
        Series &series = bar.kind == LaunchKind::convolution ? convolution_by(bar.strategy)
                         : bar.kind == LaunchKind::dense || bar.kind == LaunchKind::columns ? dense
                                                                                            : others;
        series.points.push_back({bar.ends_s.value * us_per_s,
                                 row,
                                 fmt::format("{}, {}: {}, ends at {}", bar.name, bar.row,
                                             with_unit(bar.time_s), with_unit(bar.ends_s)),
                                 {},
                                 std::max(0.0, (bar.ends_s - bar.time_s).value) * us_per_s});
    }
    for (Series &series : convolutions)
        figure.series.push_back(std::move(series));
    for (Series *series : {&dense, &others})
        if (!series->points.empty())
            figure.series.push_back(std::move(*series));
    figure.no_data = "no launch has a time";
    return figure;
}

} // namespace

std::vector<Figure> ladder_figures(const NetworkRun &run) {
    return {rungs_figure(run), launches_figure(run)};
}

Figure scaling_figure(std::span<const ScalingPoint> points, const std::string &id, const std::string &title,
                      const std::string &gpu) {
    Figure figure{id, title, "", {}, {}};
    figure.caption = "Forecast for the " + gpu + ".";
    figure.x = {"GPUs", Scale::binary, {}, {}, {}};
    figure.y = {"efficiency", Scale::linear, 0.0, 1.05, {}};
    Series strong{"the batch divided (strong)", 0, Drawn::lines},
        weak{"a batch for each (weak)", 1, Drawn::lines};
    for (const ScalingPoint &point : points) {
        const auto gpus = static_cast<double>(point.gpus);
        strong.points.push_back({gpus,
                                 point.strong_efficiency,
                                 fmt::format("{} GPUs: {}", point.gpus, with_unit(point.strong_s)),
                                 {}});
        weak.points.push_back({gpus,
                               point.weak_efficiency,
                               fmt::format("{} GPUs: {}", point.gpus, with_unit(point.weak_s)),
                               {}});
    }
    figure.series = {std::move(strong), std::move(weak)};
    figure.no_data = "there is no forecast for several GPUs";
    return figure;
}

Figure speed_up_figure(const NetworkRun &run) {
    Figure figure{"speed_up", "Speed-up of a step of " + run.network + " over one GPU", "", {}, {}};
    figure.caption =
        "Lines are the forecast. A plot for each number of images a step; on the dashed line each GPU "
        "adds as much as the first.";
    figure.x = {"GPUs", Scale::binary, {}, {}, {}};
    figure.y = {"speed-up", Scale::binary, {}, {}, {}};
    figure.references = {{Guide::diagonal, 1.0, "as many times as GPUs", 1}};
    // What several shares on one GPU take is no speed-up.
    const bool shared = run.shares_a_gpu();
    if (shared)
        figure.caption += " The measured steps ran several shares on one GPU, which speeds nothing up.";
    int most = 1;
    std::map<std::int64_t, std::map<DeviceSplit, std::vector<const NetworkCase *>>> batches;
    for (const NetworkCase &c : run.cases)
        if (c.split && c.split != DeviceSplit::one) {
            batches[c.batch][*c.split].push_back(&c);
            most = std::max(most, c.devices);
        }
    for (const auto &[batch, splits] : batches) {
        Panel panel{fmt::format("{} images", batch), {}};
        for (const auto &[split, cases] : splits) {
            const auto style = static_cast<std::size_t>(split) - 1;
            Series forecast{to_text(split), style, Drawn::lines, false, {{1.0, 1.0, "one GPU", {}}}};
            Series measured{to_text(split) + ", measured", style, Drawn::points, true};
            for (const NetworkCase *c : cases) {
                const auto add = [&](Series &series, const std::optional<NetworkTimes> &times_of,
                                     const char *how) {
                    if (times_of && times_of->speed_up)
                        series.points.push_back(
                            {static_cast<double>(c->devices),
                             *times_of->speed_up,
                             fmt::format("{}, {} GPUs, {} images: {}, {}", to_text(split), c->devices, batch,
                                         times(*times_of->speed_up), how),
                             {}});
                };
                add(forecast, c->forecast, "forecast");
                if (!shared)
                    add(measured, c->measured, "measured");
            }
            for (Series *series : {&forecast, &measured})
                if (series->points.size() > (series == &forecast ? 1U : 0U))
                    panel.series.push_back(std::move(*series));
        }
        if (!panel.series.empty())
            figure.panels.push_back(std::move(panel));
    }
    double least = 1.0;
    for (const Panel &panel : figure.panels)
        for (const Series &series : panel.series)
            for (const Point &point : series.points)
                least = std::min(least, point.y);
    constexpr double room = 1.1;
    figure.x.low = 1.0 / room, figure.x.high = figure.y.high = room * most;
    figure.y.low = std::exp2(std::floor(std::log2(least / room)));
    figure.no_data = "no case is of several GPUs";
    return figure;
}

Figure network_layers_figure(const NetworkRun &run) {
    constexpr double least_share = 0.005;
    const NetworkCase &item = run.first();
    Figure figure{"network_layers",
                  fmt::format("What the launches of {} take, batch {}", run.network, run.first().batch),
                  "",
                  {},
                  {}};
    figure.caption =
        fmt::format("Forecast, one CUDA graph; launches of less than {:.1f} % of the time together.",
                    100.0 * least_share);
    // As many rows as a page of a paper has room for.
    constexpr std::size_t most = 40;
    std::vector<std::size_t> named;
    for (std::size_t i = 0; i < run.first().launches.size(); ++i)
        if (run.first().launches[i].share >= least_share)
            named.push_back(i);
    if (named.size() > most) {
        std::stable_sort(named.begin(), named.end(), [&](std::size_t a, std::size_t b) {
            return run.first().launches[a].share > run.first().launches[b].share;
        });
        named.resize(most);
        figure.caption =
            fmt::format("Forecast, one CUDA graph; the {} longest of {} launches, the others together.", most,
                        run.first().launches.size());
    }
    const std::set<std::size_t> rows(named.begin(), named.end());
    figure.x = {"time, µs", Scale::linear, 0.0, {}, {}};
    figure.y.scale = Scale::category;
    Series convolutions{"convolution", 0, Drawn::bars}, dense{"dense layer", style_of_dense, Drawn::bars},
        others{"other", styles::context, Drawn::bars};
    const auto add = [&](Series &series, const std::string &name, const std::string &label, Seconds time) {
        series.points.push_back(
            {time.value * us_per_s,
             static_cast<double>(figure.y.categories.size()),
             fmt::format("{}: {}, {:.1f} %", label, with_unit(time), 100.0 * (time / *item.forecast_s())),
             {},
             0.0});
        figure.y.categories.push_back(name);
    };
    Seconds rest(0.0);
    std::size_t small = 0;
    for (std::size_t i = 0; i < run.first().launches.size(); ++i) {
        const NetworkLaunch &launch = run.first().launches[i];
        if (!rows.contains(i)) {
            rest += launch.time_s, ++small;
            continue;
        }
        const std::string &name = launch.operators.front();
        if (!launch.candidates.empty())
            add(convolutions, name, name + " by " + launch.strategy(), launch.time_s);
        else
            add(launch.shape ? dense : others, name, name, launch.time_s);
    }
    if (small > 0)
        add(others, fmt::format("{} more", small), fmt::format("{} launches", small), rest);
    const auto longest =
        std::max_element(run.first().launches.begin(), run.first().launches.end(),
                         [](const NetworkLaunch &a, const NetworkLaunch &b) { return a.share < b.share; });
    if (longest != run.first().launches.end())
        figure.title = fmt::format("{}, batch {}: {} takes most, {:.1f} % of the time", run.network,
                                   run.first().batch, longest->operators.front(), 100.0 * longest->share);
    for (Series *series : {&convolutions, &dense, &others})
        if (!series->points.empty())
            figure.series.push_back(std::move(*series));
    figure.no_data = "the network has no launch";
    return figure;
}

namespace {

/// When each launch of the traced call ended; empty where no launch was timed.
std::vector<Seconds> traced_ends(const NetworkRun &run) {
    std::vector<Seconds> ends;
    Seconds summed(0.0);
    for (const NetworkLaunch &launch : run.first().launches) {
        if (!launch.measured)
            return {};
        summed += launch.measured->time_s.median_s;
        ends.push_back(launch.measured->ends_s.value_or(summed));
    }
    return ends;
}

} // namespace

double untraced_share(const NetworkRun &run) {
    const std::vector<Seconds> ends = traced_ends(run);
    const NetworkCase &item = run.first();
    if (ends.empty() || !item.measured || !item.measured->time_s)
        return 1.0;
    const Seconds traced = *std::max_element(ends.begin(), ends.end());
    return traced.value > 0.0 ? *item.measured->time_s / traced : 1.0;
}

std::vector<Seconds> ends_of(const NetworkRun &run) {
    std::vector<Seconds> ends = traced_ends(run);
    for (Seconds &end : ends)
        end = end * untraced_share(run);
    return ends;
}

Figure network_timeline_figure(const NetworkRun &run) {
    std::vector<LaunchBar> bars;
    const auto add = [&](const NetworkLaunch &launch, const std::string &row, Seconds ends, Seconds time) {
        bars.push_back({join(launch.operators, "+"), row, launch.strategy(), launch.kind,
                        launch.stream.value_or(0), ends, time});
    };
    Seconds summed(0.0);
    for (const NetworkLaunch &launch : run.first().launches) {
        summed += launch.time_s;
        const Seconds ends = launch.ends_s.value_or(summed);
        add(launch, "forecast", ends, launch.begins_s ? ends - *launch.begins_s : launch.time_s);
    }
    const std::vector<Seconds> ends = ends_of(run);
    const double share = untraced_share(run);
    for (std::size_t i = 0; i < ends.size(); ++i)
        add(run.first().launches[i], "measured", ends[i],
            run.first().launches[i].measured->time_s.median_s * share);
    const std::string gpu = gpu_name(run.conditions, run.profile_id);
    Figure figure =
        timeline_of(bars, fmt::format("Timeline of {}, batch {}, {} {}", run.network, run.first().batch,
                                      run.first().ran() ? "on" : "as forecast for", gpu));
    if (!run.first().ran()) {
        figure.caption = "Each launch with the gap before it.";
        return figure;
    }
    figure.caption = "Each launch from the end of what it waits for to its own.";
    const bool kept = !ends.empty() && run.first().launches.front().measured->ends_s.has_value();
    if (!ends.empty())
        figure.caption += kept ? " Measured: medians of CUPTI's records."
                               : " Measured: the median time of each launch by CUPTI's records, one after "
                                 "another, as this document does not have when it began.";
    if (share != 1.0)
        figure.caption += fmt::format(
            " Tracing makes the call longer, so its times are multiplied by {:.3f}: they end with the {} "
            "that the call takes without tracing.",
            share, with_unit(*run.first().measured->time_s));
    return figure;
}

} // namespace convcast
