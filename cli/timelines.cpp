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

std::vector<std::string> line_of(const std::string &name, const std::string &source,
                                 const std::vector<CtaSpan> &spans) {
    const TimelineSummary s = summary_of(spans);
    return {name,
            source,
            std::to_string(s.ctas),
            std::to_string(s.sms),
            std::to_string(s.most_at_once),
            short_time(s.start_s),
            short_time(s.makespan_s),
            short_time(s.mean_cta_s),
            short_time(s.cta_p05_s) + " to " + short_time(s.cta_p95_s),
            fmt::format("{:.1f} %", 100.0 * s.tail_share)};
}

void append_lines(std::vector<std::vector<std::string>> &rows, const std::string &source,
                  const Timeline &timeline) {
    const std::vector<CtaSpan> spans = spans_of(timeline);
    for (std::size_t launch = 0; launch < timeline.launches.size(); ++launch) {
        std::vector<CtaSpan> its;
        std::copy_if(spans.begin(), spans.end(), std::back_inserter(its),
                     [&](const CtaSpan &span) { return span.launch == static_cast<std::int64_t>(launch); });
        rows.push_back(line_of(timeline.launches[launch].kernel, source, its));
    }
    if (timeline.launches.size() > 1)
        rows.push_back(line_of("the call", source, spans));
}

} // namespace

void check_timeline_count(const std::string &verb, const std::vector<Case> &cases) {
    const auto drawn = std::count_if(cases.begin(), cases.end(), [](const Case &item) {
        return item.strategy && item.status != Status::infeasible && item.status != Status::unsupported;
    });
    if (drawn > most_timeline_cases)
        throw UsageError(
            fmt::format("{}: --timeline is for at most {} cases, these are {}; ask for fewer shapes or "
                        "name strategies",
                        verb, most_timeline_cases, drawn));
}

bool can_have_timeline(const Case &item) {
    const std::int64_t ctas = planned_ctas(item);
    if (ctas > most_timeline_ctas)
        note(fmt::format("{} {} has no timeline: {} CTAs, more than {}", item.shape, *item.strategy, ctas,
                         most_timeline_ctas));
    return ctas > 0 && ctas <= most_timeline_ctas;
}

void add_forecast_timeline(Case &item, const GpuProfile &profile, const Knowledge &knowledge) {
    if (can_have_timeline(item))
        add_timeline(item, profile, knowledge);
}

std::string timeline_text(const Case &item) {
    std::vector<std::vector<std::string>> rows;
    if (item.prediction && item.prediction->timeline)
        append_lines(rows, "forecast", *item.prediction->timeline);
    for (const Measurement &m : item.measurements)
        if (m.timeline)
            append_lines(rows, "measured", *m.timeline);
    if (rows.empty())
        return {};
    return table({{"timeline"},
                  {"", Align::left, Keep::must},
                  {"CTAs", Align::right},
                  {"SMs", Align::right},
                  {"at once", Align::right},
                  {"begins", Align::right, Keep::low},
                  {"makespan", Align::right, Keep::must},
                  {"mean CTA", Align::right},
                  {"5 to 95 %", Align::right, Keep::low},
                  {"tail", Align::right, Keep::high}},
                 rows, terminal_width());
}

} // namespace convcast::cli
