#include "reports/network_figures.hpp"

#include "model/base/errors.hpp"
#include "reports/explained.hpp"
#include "reports/figure_layout.hpp"
#include "reports/html.hpp"
#include "reports/lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace convcast {
namespace {

constexpr std::size_t style_of_dense = 4; ///< the style of dense layers

std::string with_unit(Seconds time) {
    return microseconds(time) + " µs";
}

/// An empty figure with the texts of docs/report.md, whose title names the network and the batch.
Figure figure_of(const std::string &id, const NetworkRun &run) {
    Figure figure = explained_figure(id, "Figures of a network");
    figure.title = fmt::format(fmt::runtime(figure.title), run.network, run.first().batch);
    return figure;
}

/// A row of marks for each rung, µs; the title counts the forecasts within 10 %.
Figure rungs_figure(const NetworkRun &run) {
    Figure figure = figure_of("ladder", run);
    Series forecast{"forecast", styles::forecast, Drawn::points, true},
        measured{"measured", styles::measured}, cold{"measured, cold L2", styles::context},
        published{"published" + (run.published_gpu ? ", " + *run.published_gpu : std::string()), 4};
    std::size_t pairs = 0, within = 0;
    for (const NetworkCase &rung : run.cases) {
        if (!rung.id)
            continue;
        const double row = figure.add_row(*rung.id);
        const auto add = [&](Series &series, const std::optional<Seconds> &time) {
            if (time)
                series.add(time->value * us_per_s, row,
                           *rung.id + ", " + series.name + ": " + with_unit(*time));
        };
        add(forecast, rung.forecast_s());
        add(measured, rung.measured_s());
        if (rung.measured)
            add(cold, rung.measured->cold_s);
        if (rung.batch == run.published_images.value_or(1))
            add(published, rung.published_s);
        if (run.comparable(rung)) {
            ++pairs;
            within += std::abs(*rung.forecast_s() / *rung.measured_s() - 1.0) <= 0.1 ? 1 : 0;
        }
    }
    if (pairs > 0)
        figure.title += fmt::format(": {} of {} forecasts within 10 %", within, pairs);
    figure.add_drawn({std::move(published), std::move(cold), std::move(forecast), std::move(measured)});
    return figure;
}

/// The layer that a launch is named by: the first operator that it computes.
std::string layer_of(const KernelForecast &launch) {
    return launch.operators.empty() ? launch.kernel : launch.operators.front();
}

/// The layers that have a colour of their own, in the order in which they first come: those whose launches
/// take most time in all rungs together.
std::vector<std::string> named_layers(const NetworkRun &run) {
    constexpr std::size_t most = 4; // more are hard to tell apart, besides "other layers" and "launching"
    std::vector<std::string> layers;
    std::map<std::string, double> time;
    for (const NetworkCase &rung : run.cases)
        for (const KernelForecast &launch : rung.kernels_forecast) {
            add_once(layers, layer_of(launch));
            time[layer_of(launch)] += launch.time_s.value;
        }
    std::vector<std::string> longest = layers;
    std::ranges::stable_sort(longest, std::greater(), [&](const std::string &layer) { return time[layer]; });
    longest.resize(std::min(most, longest.size()));
    std::erase_if(
        layers, [&](const std::string &layer) { return std::ranges::find(longest, layer) == longest.end(); });
    return layers;
}

/// A row for each rung: its launches' forecasts one behind the other, then what launching costs; µs.
Figure launches_figure(const NetworkRun &run) {
    Figure figure = figure_of("ladder_launches", run);
    const std::vector<std::string> layers = named_layers(run);
    for (const std::string &layer : layers)
        figure.series.push_back({layer, figure.series.size(), Drawn::bars});
    figure.series.push_back({"other layers", styles::context, Drawn::bars});
    figure.series.push_back({"launching", styles::context, Drawn::bars, true});
    for (const NetworkCase &rung : run.cases) {
        if (!rung.id || rung.kernels_forecast.empty())
            continue;
        const double row = figure.add_row(*rung.id);
        double at = 0.0;
        const auto add = [&](std::size_t series, const std::string &what, double us) {
            figure.series[series].add_bar(at, at + us, row,
                                          fmt::format("{}, {}: {:.2f} µs", *rung.id, what, us));
            at += us;
        };
        for (const KernelForecast &launch : rung.kernels_forecast)
            add(static_cast<std::size_t>(std::ranges::find(layers, layer_of(launch)) - layers.begin()),
                launch.kernel, launch.time_s.value * us_per_s);
        if (const auto total = rung.forecast_s())
            add(layers.size() + 1, "launching", total->value * us_per_s - at);
    }
    std::erase_if(figure.series, [](const Series &series) { return series.points.empty(); });
    return figure;
}

/// What a row of a timeline shows of the launches of a stream.
enum class BarRow { forecast, measured, error };

/// A launch of a timeline, as forecast or as measured.
struct LaunchBar {
    const NetworkLaunch &launch;
    BarRow shows;
    Seconds ends_s, time_s;
    std::optional<double> ratio; ///< forecast / measured
    std::pair<std::int64_t, BarRow> row() const { return {launch.stream.value_or(0), shows}; }
};

const char *name_of(BarRow row) {
    return row == BarRow::forecast   ? "forecast"
           : row == BarRow::measured ? "measured"
                                     : "forecast / measured";
}

/// An empty series for launches other than convolutions. Outlines reuse the strategies' colours.
Series series_of(LaunchKind kind) {
    using enum LaunchKind;
    switch (kind) {
    case dense:
    case columns:
        return {"dense layer", style_of_dense, Drawn::bars};
    case to_columns:
    case to_rows:
        return {"turned for a dense layer", style_of_dense, Drawn::bars, true};
    case pooling:
        return {"pooling", 0, Drawn::bars, true};
    case gather:
    case placed:
        return {"gather", 1, Drawn::bars, true};
    case elementwise:
        return {"number by number", 2, Drawn::bars, true};
    case layer_norm:
        return {"layer norm", 3, Drawn::bars, true};
    case softmax:
        return {"softmax", 5, Drawn::bars, true};
    case unknown:
        return {"not known, bytes alone", styles::measured, Drawn::bars};
    default:
        return {"other", styles::context, Drawn::bars};
    }
}

/// An empty series for launches with a forecast / measured of `ratio`: the further off, the darker.
Series series_of_error(double ratio) {
    constexpr double near = 0.10, far = 0.25;
    const double off = std::abs(ratio - 1.0);
    return off <= near  ? Series{"forecast within 10 %", styles::context, Drawn::bars, true}
           : off <= far ? Series{"10 to 25 % off", styles::context, Drawn::bars}
                        : Series{"more than 25 % off", styles::measured, Drawn::bars};
}

/// Adds the bars to a timeline. Each stream has up to three rows: the forecast, below it what was measured,
/// and below that the measured bars again, coloured by how far each forecast is off.
void draw_timeline(Figure &figure, const std::vector<LaunchBar> &bars) {
    // Convolutions are most of a network: each strategy has a colour, so that launches can be told apart.
    constexpr std::array<std::size_t, 5> style_of_strategy = {0, 1, 2, 3, 5}; // 4 is that of dense layers
    std::vector<Series> others, errors;
    // The series of a list that has the name of `empty`, which is added if there is none.
    const auto in = [](std::vector<Series> &list, const Series &empty) -> Series & {
        Series *known = first_with(list, &Series::name, empty.name);
        return known != nullptr ? *known : list.emplace_back(empty);
    };
    const auto convolution_by = [&](const std::string &strategy) -> Series & {
        const std::size_t style = style_of_strategy[figure.series.size() % style_of_strategy.size()];
        return in(figure.series,
                  {"convolution by " + strategy.substr(0, strategy.find(':')), style, Drawn::bars});
    };
    std::map<std::pair<std::int64_t, BarRow>, double> rows;
    for (const LaunchBar &bar : bars)
        rows[bar.row()] = 0.0;
    const bool one_stream = rows.empty() || rows.rbegin()->first.first == 0;
    for (auto &[row, place] : rows)
        place = figure.add_row(one_stream ? name_of(row.second)
                                          : fmt::format("stream {}, {}", row.first, name_of(row.second)));
    for (const LaunchBar &bar : bars) {
        Series &series = bar.shows == BarRow::error ? in(errors, series_of_error(*bar.ratio))
                         : bar.launch.kind == LaunchKind::convolution
                             ? convolution_by(bar.launch.strategy())
                             : in(others, series_of(bar.launch.kind));
        series.add_bar(std::max(0.0, (bar.ends_s - bar.time_s).value) * us_per_s, bar.ends_s.value * us_per_s,
                       rows.at(bar.row()),
                       fmt::format("{}{}, {}: {}, ends at {}{}", join(bar.launch.operators, "+"),
                                   bar.launch.node ? " (" + *bar.launch.node + ")" : "",
                                   bar.shows == BarRow::forecast ? "forecast" : "measured",
                                   with_unit(bar.time_s), with_unit(bar.ends_s),
                                   bar.ratio ? fmt::format("; forecast / measured {:.2f}", *bar.ratio) : ""));
    }
    figure.add_drawn(std::move(others));
    std::ranges::sort(errors, {}, [](const Series &series) {
        return series.hollow ? 0 : series.style == styles::context ? 1 : 2;
    });
    figure.add_drawn(std::move(errors));
}

/// When each launch of the traced call ended after its beginning; empty where a launch was not timed.
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

std::vector<Figure> ladder_figures(const NetworkRun &run) {
    return {rungs_figure(run), launches_figure(run)};
}

Figure scaling_figure(std::span<const ScalingPoint> points, const std::string &id, const std::string &title,
                      const std::string &gpu, std::span<const ScalingPoint> measured) {
    Figure figure{id, title,
                  measured.empty()
                      ? "Forecast for the " + gpu + "."
                      : "On GPUs of this kind: " + gpu + ". Lines are forecast, marks measured."};
    figure.x = {"GPUs", Scale::binary};
    figure.y = {"efficiency", Scale::linear, 0.0, 1.05};
    const auto draw = [&](std::span<const ScalingPoint> of, const char *how, Drawn drawn) {
        Series strong{std::string("the batch divided (strong)") + how, 0, drawn},
            weak{std::string("a batch for each (weak)") + how, 1, drawn};
        for (const ScalingPoint &point : of) {
            const auto add = [&](Series &series, double efficiency, Seconds time) {
                series.add(static_cast<double>(point.gpus), efficiency,
                           fmt::format("{} GPUs: {}{}", point.gpus, with_unit(time), how));
            };
            add(strong, point.strong_efficiency, point.strong_s);
            add(weak, point.weak_efficiency, point.weak_s);
        }
        figure.add_drawn({std::move(strong), std::move(weak)});
    };
    draw(points, "", Drawn::lines);
    draw(measured, ", measured", Drawn::points);
    figure.no_data = "there is no forecast for several GPUs";
    return figure;
}

Figure speed_up_figure(const NetworkRun &run) {
    Figure figure = figure_of("speed_up", run);
    figure.references = {{Guide::diagonal, 1.0, "as many times as GPUs", 1}};
    // Shares of a step that ran on the same GPU speed nothing up: their measured times are not drawn.
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
                        series.add(static_cast<double>(c->devices), *times_of->speed_up,
                                   fmt::format("{}, {} GPUs, {} images: {}, {}", to_text(split), c->devices,
                                               batch, times(*times_of->speed_up), how));
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
    for_each_series(figure, [&](const Series &series) {
        for (const Point &point : series.points)
            least = std::min(least, point.y);
    });
    constexpr double room = 1.1;
    figure.x.low = 1.0 / room, figure.x.high = figure.y.high = room * most;
    figure.y.low = std::exp2(std::floor(std::log2(least / room)));
    return figure;
}

Figure network_layers_figure(const NetworkRun &run) {
    constexpr double least_share = 0.005; // of the time, for a row of its own; chosen
    const NetworkCase &item = run.first();
    const std::vector<NetworkLaunch> &launches = item.launches;
    Figure figure = figure_of("network_layers", run);
    figure.caption =
        fmt::format("Forecast, one CUDA graph; launches of less than {:.1f} % of the time together.",
                    100.0 * least_share);
    // As many rows as a page of a paper has room for.
    constexpr std::size_t most = 40;
    std::vector<const NetworkLaunch *> named;
    for (const NetworkLaunch &launch : launches)
        if (launch.share >= least_share)
            named.push_back(&launch);
    if (named.size() > most) {
        std::ranges::stable_sort(named, std::greater(), &NetworkLaunch::share);
        named.resize(most);
        figure.caption =
            fmt::format("Forecast, one CUDA graph; the {} longest of {} launches, the others together.", most,
                        launches.size());
    }
    const std::set<const NetworkLaunch *> rows(named.begin(), named.end());
    Series convolutions{"convolution", 0, Drawn::bars}, dense{"dense layer", style_of_dense, Drawn::bars},
        others{"other", styles::context, Drawn::bars};
    const auto add = [&](Series &series, const std::string &name, const std::string &label, Seconds time) {
        series.add_bar(
            0.0, time.value * us_per_s, figure.add_row(name),
            fmt::format("{}: {}, {:.1f} %", label, with_unit(time), 100.0 * (time / *item.forecast_s())));
    };
    Seconds rest(0.0);
    for (const NetworkLaunch &launch : launches) {
        if (!rows.contains(&launch)) {
            rest += launch.time_s;
            continue;
        }
        const std::string &name = launch.operators.front();
        if (!launch.candidates.empty())
            add(convolutions, name, name + " by " + launch.strategy(), launch.time_s);
        else
            add(launch.shape ? dense : others, name, name, launch.time_s);
    }
    if (const std::size_t small = launches.size() - rows.size(); small > 0)
        add(others, fmt::format("{} more", small), fmt::format("{} launches", small), rest);
    if (const auto longest = std::ranges::max_element(launches, {}, &NetworkLaunch::share);
        longest != launches.end())
        figure.title = fmt::format("{}, batch {}: {} takes most, {:.1f} % of the time", run.network,
                                   item.batch, longest->operators.front(), 100.0 * longest->share);
    figure.add_drawn({std::move(convolutions), std::move(dense), std::move(others)});
    return figure;
}

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
    const std::vector<NetworkLaunch> &launches = run.first().launches;
    const std::vector<Seconds> ends = ends_of(run);
    const double share = untraced_share(run);
    std::vector<LaunchBar> bars;
    Seconds summed(0.0);
    for (std::size_t i = 0; i < launches.size(); ++i) {
        const NetworkLaunch &launch = launches[i];
        summed += launch.time_s;
        const Seconds end = launch.ends_s.value_or(summed),
                      time = launch.begins_s ? end - *launch.begins_s : launch.time_s;
        const Seconds measured = ends.empty() ? Seconds(0.0) : launch.measured->time_s.median_s * share;
        const auto ratio = measured > Seconds(0.0) ? std::optional(launch.time_s / measured) : std::nullopt;
        bars.push_back({launch, BarRow::forecast, end, time, ratio});
        if (ends.empty())
            continue;
        bars.push_back({launch, BarRow::measured, ends[i], measured, ratio});
        if (ratio)
            bars.push_back({launch, BarRow::error, ends[i], measured, ratio});
    }
    Figure figure = figure_of("network_timeline", run);
    figure.title +=
        (run.first().ran() ? ", on " : ", as forecast for ") + gpu_name(run.conditions, run.profile_id);
    draw_timeline(figure, bars);
    if (!run.first().ran()) {
        figure.caption = "Each launch with the gap before it.";
        return figure;
    }
    if (!ends.empty())
        figure.caption +=
            " " + remark(launches.front().measured->ends_s ? "launches_ended" : "launches_summed");
    if (share != 1.0)
        figure.caption += " " + remark("timeline_traced", share, with_unit(*run.first().measured->time_s));
    return figure;
}

} // namespace convcast
