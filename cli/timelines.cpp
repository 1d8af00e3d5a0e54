#include "cli/timelines.hpp"

#include "cli/progress.hpp"
#include "cli/terminal.hpp"
#include "model/again.hpp"
#include "model/base/errors.hpp"
#include "model/time/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace convcast::cli {
namespace {

/// A row of a table of timelines.
struct TimelineRow {
    std::string name;   ///< of the kernel, or "the call"
    std::string source; ///< "forecast" or "measured"
    TimelineSummary summary;
};

/// Appends a row for each launch of a timeline, and one for the call where it has several.
void append_rows(std::vector<TimelineRow> &rows, const std::string &source, const Timeline &timeline) {
    const std::vector<CtaSpan> spans = spans_of(timeline);
    for (std::size_t launch = 0; launch < timeline.launches.size(); ++launch) {
        std::vector<CtaSpan> of_launch;
        std::ranges::copy_if(spans, std::back_inserter(of_launch), [&](const CtaSpan &span) {
            return span.launch == static_cast<std::int64_t>(launch);
        });
        rows.push_back({timeline.launches[launch].kernel, source, summary_of(of_launch)});
    }
    if (timeline.launches.size() > 1)
        rows.push_back({"the call", source, summary_of(spans)});
}

} // namespace

bool can_have_timeline(const Case &item) {
    const std::int64_t ctas = planned_ctas(item);
    if (ctas > most_timeline_ctas)
        note(fmt::format("{} {} has no timeline: {} CTAs, more than {}", item.shape, *item.strategy, ctas,
                         most_timeline_ctas));
    return ctas > 0 && ctas <= most_timeline_ctas;
}

void add_forecast_timelines(std::vector<Case> &cases, const GpuProfile &profile, const Knowledge &knowledge,
                            const Arguments &arguments) {
    const auto drawn = std::ranges::count_if(cases, [](const Case &item) {
        return item.strategy && item.status != Status::infeasible && item.status != Status::unsupported;
    });
    if (drawn > most_timeline_cases)
        arguments.refuse(
            fmt::format("--timeline is for at most {} cases, these are {}; ask for fewer shapes or "
                        "name strategies",
                        most_timeline_cases, drawn));
    for (Case &item : cases)
        if (can_have_timeline(item))
            add_timeline(item, profile, knowledge);
}

std::string timeline_text(const Case &item) {
    std::vector<TimelineRow> rows;
    if (item.prediction && item.prediction->timeline)
        append_rows(rows, "forecast", *item.prediction->timeline);
    for (const Measurement &m : item.measurements)
        if (m.timeline)
            append_rows(rows, "measured", *m.timeline);
    using Line = const TimelineRow &;
    const auto time = [](Seconds TimelineSummary::*member) {
        return [member](Line row) { return short_time(row.summary.*member); };
    };
    return table(table_of<TimelineRow>(
        rows, {{{"timeline"}, &TimelineRow::name},
               {{"", As::text, Keep::must}, &TimelineRow::source},
               {{"CTAs", As::number}, [](Line row) { return row.summary.ctas; }},
               {{"SMs", As::number}, [](Line row) { return row.summary.sms; }},
               {{"at once", As::number}, [](Line row) { return row.summary.most_at_once; }},
               {{"begins", As::number, Keep::low}, time(&TimelineSummary::start_s)},
               {{"makespan", As::number, Keep::must}, time(&TimelineSummary::makespan_s)},
               {{"mean CTA", As::number}, time(&TimelineSummary::mean_cta_s)},
               {{"5 to 95 %", As::number, Keep::low},
                [](Line row) {
                    return short_time(row.summary.cta_p05_s) + " to " + short_time(row.summary.cta_p95_s);
                }},
               {{"tail", As::share, Keep::high}, [](Line row) { return row.summary.tail_share; }}}));
}

} // namespace convcast::cli
