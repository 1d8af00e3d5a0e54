#include "reports/report_figures.hpp"

#include "reports/explained.hpp"
#include "reports/figure_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr std::size_t most_bars = 1500; ///< in a figure, where they are some 40 KB of a page
/// Lanes of all drawn SMs together that can still be told apart in the height of a plot.
constexpr std::int64_t most_lanes = 150;
constexpr double row_share = 0.9; ///< the share of an SM's room that its lanes fill; the rest sets SMs apart

/// A CTA, or several one after another. CTAs that an SM runs at once lie in lanes of it, one above the other.
struct Bar {
    CtaSpan span;
    std::int64_t lane = 0, ctas = 1;
    std::pair<std::int64_t, std::int64_t> place() const { return {span.sm, lane}; }
};

/// A bar for every CTA that takes time, in the first lane of its SM that is free; by SM, lane and time.
std::vector<Bar> bars_of(const Timeline &timeline) {
    std::vector<CtaSpan> spans = spans_of(timeline);
    std::ranges::stable_sort(spans, {}, &CtaSpan::start_s);
    std::map<std::int64_t, std::vector<Seconds>> lanes; // by SM: when each of its lanes is free again
    std::vector<Bar> bars;
    for (const CtaSpan &span : spans) {
        if (span.end_s == span.start_s)
            continue;
        std::vector<Seconds> &its = lanes[span.sm];
        auto free = std::ranges::find_if(its, [&](Seconds end) { return end <= span.start_s; });
        if (free == its.end())
            free = its.insert(its.end(), Seconds(0.0));
        *free = span.end_s;
        bars.push_back({span, free - its.begin()});
    }
    std::ranges::stable_sort(bars, {}, &Bar::place);
    return bars;
}

/// What the two drawings of a case, forecast and measured, share so that they can be compared.
struct TimelineFrame {
    std::int64_t sms = 1, lanes = 1; ///< lanes: of each SM
    double end_us = 0.0;             ///< of the axis of time
    /// One SM in so many is drawn.
    std::int64_t stride() const {
        return std::max<std::int64_t>(1, (sms * lanes + most_lanes - 1) / most_lanes);
    }
    /// Makes room for these bars too.
    void enlarge(const std::vector<Bar> &bars) {
        for (const Bar &bar : bars) {
            sms = std::max(sms, bar.span.sm + 1);
            lanes = std::max(lanes, bar.lane + 1);
            end_us = std::max(end_us, bar.span.end_s.value * us_per_s);
        }
    }
};

/// Joins up to `group` bars of one launch that follow each other in a lane to one bar.
std::vector<Bar> merged(const std::vector<Bar> &bars, std::int64_t group) {
    std::vector<Bar> out;
    for (const Bar &bar : bars) {
        if (!out.empty() && out.back().ctas < group && out.back().place() == bar.place() &&
            out.back().span.launch == bar.span.launch) {
            out.back().span.end_s = bar.span.end_s;
            ++out.back().ctas;
        } else {
            out.push_back(bar);
        }
    }
    return out;
}

/// Adds a series for each launch to `series`, or for each kernel where there are more launches than colours.
/// Returns the place there of each launch's series.
std::vector<std::size_t> add_series(const Timeline &timeline, std::vector<Series> &series) {
    const bool by_kernel = timeline.launches.size() > style_count;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < timeline.launches.size(); ++i) {
        const std::string name = by_kernel || timeline.launches.size() == 1
                                     ? timeline.launches[i].kernel
                                     : fmt::format("{}: {}", i + 1, timeline.launches[i].kernel);
        const auto found = by_kernel ? std::ranges::find(series, name, &Series::name) : series.end();
        places.push_back(static_cast<std::size_t>(found - series.begin()));
        if (found == series.end())
            series.push_back({name, series.size(), Drawn::spans});
    }
    return places;
}

/// One timeline of the case with this CaseRow::id; `source` is "forecast" or "measured", `bars` its CTAs.
Figure timeline_figure(const Case &item, std::size_t id, const Timeline &timeline, std::vector<Bar> bars,
                       const TimelineFrame &frame, const std::string &source) {
    const TimelineSummary summary = summary_of(spans_of(timeline));
    Figure figure{fmt::format("timeline_{}_{}", id, source),
                  fmt::format("CTAs on the SMs, {}: {} {}", source, item.shape, item.strategy.value_or(""))};
    figure.x = {"time since the first CTA's start, µs", Scale::linear, 0.0, frame.end_us};
    figure.y = {"SM", Scale::linear, 0.0, static_cast<double>(frame.sms)};
    const std::int64_t stride = frame.stride();
    std::erase_if(bars, [&](const Bar &bar) { return bar.span.sm % stride != 0; });
    const auto group = static_cast<std::int64_t>((bars.size() + most_bars - 1) / most_bars);
    if (group > 1)
        bars = merged(bars, group);
    const std::vector<std::size_t> places = add_series(timeline, figure.series);
    // Each series has a pale twin for every second CTA, or a full GPU would be one area.
    const std::size_t listed = figure.series.size();
    for (std::size_t i = 0; i < listed; ++i) {
        figure.series.push_back(figure.series[i]);
        figure.series.back().pale = figure.series.back().unlisted = true;
    }
    const double room = row_share * static_cast<double>(stride),
                 lane = room / static_cast<double>(frame.lanes);
    for (Series &series : figure.series)
        series.thickness = lane;
    std::int64_t place_in_lane = 0;
    for (std::size_t i = 0; i < bars.size(); ++i) {
        const Bar &bar = bars[i];
        place_in_lane = i > 0 && bars[i - 1].place() == bar.place() ? place_in_lane + 1 : 0;
        const bool pale = (bar.span.sm / stride + bar.lane + place_in_lane) % 2 == 1;
        figure.series[places[static_cast<std::size_t>(bar.span.launch)] + (pale ? listed : 0)].add_bar(
            bar.span.start_s.value * us_per_s, bar.span.end_s.value * us_per_s,
            static_cast<double>(bar.span.sm) + lane * (static_cast<double>(bar.lane) + 0.5),
            bar.ctas == 1 ? fmt::format("CTA {}", bar.span.cta)
                          : fmt::format("{} CTAs from {}", bar.ctas, bar.span.cta));
    }
    std::erase_if(figure.series,
                  [](const Series &series) { return series.unlisted && series.points.empty(); });
    figure.caption = remark("cta_timeline", source == "forecast" ? "Forecast" : "Measured", timeline.by,
                            summary.ctas, summary.makespan_s.value * us_per_s);
    if (stride > 1)
        figure.caption += fmt::format(" One SM in {} is drawn.", stride);
    if (group > 1)
        figure.caption += fmt::format(" A bar is up to {} CTAs one after another.", group);
    figure.no_data = "no CTA of it takes any time";
    return figure;
}

const Timeline *forecast_of(const Case &item) {
    return item.prediction && item.prediction->timeline ? &*item.prediction->timeline : nullptr;
}

const Timeline *measured_of(const Case &item) {
    for (const Measurement &m : item.measurements)
        if (m.timeline)
            return &*m.timeline;
    return nullptr;
}

/// The numbers of one launch, or of the whole call where `launch` is absent; none of what is not there.
std::optional<TimelineSummary> summary_of_part(const Timeline *timeline,
                                               std::optional<std::size_t> launch = {}) {
    if (timeline == nullptr || (launch && *launch >= timeline->launches.size()))
        return std::nullopt;
    std::vector<CtaSpan> spans = spans_of(*timeline);
    if (launch)
        std::erase_if(spans,
                      [&](const CtaSpan &span) { return span.launch != static_cast<std::int64_t>(*launch); });
    return summary_of(spans);
}

} // namespace

std::vector<Figure> timeline_figures(const Run &run) {
    std::vector<Figure> figures;
    std::size_t cases = 0;
    for (std::size_t id = 0; id < run.cases.size() && cases < most_drawn_timelines; ++id) {
        const Case &item = run.cases[id];
        const std::array timelines = {std::pair("forecast", forecast_of(item)),
                                      std::pair("measured", measured_of(item))};
        TimelineFrame frame;
        for (const auto &[source, timeline] : timelines)
            if (timeline != nullptr)
                frame.enlarge(bars_of(*timeline));
        for (const auto &[source, timeline] : timelines)
            if (timeline != nullptr)
                figures.push_back(timeline_figure(item, id, *timeline, bars_of(*timeline), frame, source));
        cases += timelines[0].second != nullptr || timelines[1].second != nullptr ? 1 : 0;
    }
    return figures;
}

std::vector<TimelineRow> timeline_rows(const Run &run) {
    std::vector<TimelineRow> rows;
    for (std::size_t id = 0; id < run.cases.size(); ++id) {
        const Timeline *forecast = forecast_of(run.cases[id]), *measured = measured_of(run.cases[id]);
        const Timeline *any = measured != nullptr ? measured : forecast;
        if (any == nullptr)
            continue;
        const auto its_id = static_cast<std::int64_t>(id);
        for (std::size_t i = 0; i < any->launches.size(); ++i)
            rows.push_back({its_id, fmt::format("{}: {}", i + 1, any->launches[i].kernel),
                            summary_of_part(forecast, i), summary_of_part(measured, i)});
        if (any->launches.size() > 1)
            rows.push_back({its_id, "the call", summary_of_part(forecast), summary_of_part(measured)});
    }
    return rows;
}

} // namespace convcast
