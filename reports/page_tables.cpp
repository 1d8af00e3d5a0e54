#include "reports/page_writer.hpp"

#include "reports/explained.hpp"
#include "reports/report_figures.hpp"
#include "reports/report_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// A table of the cases that the forecast misses most.
Group farthest(const RunPage &page) {
    constexpr std::size_t most = 20;
    std::vector<const CaseRow *> rows;
    for (const CaseRow &row : page.statistics.cases)
        if (!row.baseline && row.error)
            rows.push_back(&row);
    std::ranges::sort(rows, {},
                      [](const CaseRow *row) { return std::pair(-std::abs(*row->error), row->id); });
    rows.resize(std::min(most, rows.size()));
    Table table{{{"shape"}, {"error", As::number}, {"forecast", As::time}, {"measured", As::time}}};
    for (const CaseRow *row : rows) {
        Cell shape = page.case_cell(row->id, row->shape);
        shape.under = row->group;
        table.rows.push_back({std::move(shape), signed_percent(*row->error), row->predicted_s, row->cold_s});
    }
    return {"<div>", "</div>\n", {Listing{std::move(table), "farthest", "Where it is farthest off"}}};
}

/// The tables of Accuracy, folded; nothing where no time can be compared.
std::vector<PagePart> accuracy_tables(const RunPage &page) {
    const Accuracy &a = page.statistics.accuracy;
    if (a.times.empty())
        return {};
    return {details("By the part of the shapes: training and test, and against other models",
                    {Listing{times_table(a)}, small_print(remark("parts")),
                     Listing{work_table(a), "", "Work over the test part"},
                     Listing{rankings_table(a), "", "Ranking the measured settings of a shape, test part"}})};
}

/// The gains that papers published beside those of this run, folded; nothing where there are none.
std::vector<PagePart> published(const RunPage &page) {
    Table table{{{"study"},
                 {"GPU"},
                 {"baseline"},
                 {"remark"},
                 {"that kernel here"},
                 {"average", As::factor},
                 {"range", As::factor},
                 {"that kernel here, as run, against cuDNN", As::factor},
                 {"our fastest here", As::factor}}};
    for (const Study &study : page.studies)
        for (const PublishedGain &gain : study.published) {
            std::optional<double> own, best;
            if (gain.baseline.starts_with("cuDNN"))
                for (const SpeedupStatistics &s : page.statistics.speedups)
                    if (s.study == study.id && s.against == "cudnn")
                        (s.ours == "our fastest" ? best : own) = s.geomean;
            table.rows.push_back(
                {study.id, gain.gpu, gain.baseline, gain.remark, join(study.paper_kernels), gain.average,
                 gain.low && gain.high ? Cell(Between{*gain.low, *gain.high}) : Cell(), own, best});
        }
    if (table.rows.empty())
        return {};
    return {details("What the papers published", {Listing{std::move(table)}})};
}

/// Our fastest beside cuDNN's for each shape, folded; of very many the least speed-ups.
Group shapes(const RunPage &page) {
    constexpr std::size_t most = 150; // more rows than anyone reads; the CSV files beside the page have all
    std::vector<ShapeRow> rows = page.statistics.shapes;
    if (rows.size() > most) {
        std::ranges::stable_sort(rows, {}, [](const ShapeRow &row) { return row.speedup.value_or(1e300); });
        rows.resize(most);
    }
    const auto of = [&page](std::optional<std::int64_t> ShapeRow::*id) {
        return [&page, id](const ShapeRow &shape) {
            return shape.*id ? page.case_cell(*(shape.*id), page.statistics.row(*(shape.*id)).name)
                             : Cell("not measured");
        };
    };
    return details(
        rows.size() < page.statistics.shapes.size()
            ? fmt::format("Shape by shape: the {} least speed-ups of {}", most, page.statistics.shapes.size())
            : std::string("Shape by shape"),
        {Listing{explained_table<ShapeRow>("shapes", rows,
                                           {{"ours", of(&ShapeRow::ours)},
                                            {"cudnn", of(&ShapeRow::cudnn)},
                                            {"papers", of(&ShapeRow::papers)},
                                            {"tensor cores", of(&ShapeRow::ours_tensor_cores)}})}});
}

/// The maps of regimes beside each other, with the caption of the first, which holds for all, below them.
std::vector<PagePart> maps(RunPage &page) {
    std::vector<PagePart> maps = page.figures_of("maps");
    if (maps.empty())
        return {};
    const std::string caption = std::get<Drawing>(maps.front()).figure.caption;
    return {beside("maps", std::move(maps)), small_print(escape_xml(caption))};
}

/// Both sides of each launch's timeline, and the forecast over the measurement.
Table timeline_table(const std::vector<const TimelineRow *> &rows) {
    Table table{{{"launch"},
                 {""},
                 {"CTAs", As::number},
                 {"SMs", As::number},
                 {"most on an SM at once", As::number},
                 {"begins", As::time},
                 {"makespan", As::time},
                 {"mean CTA", As::time},
                 {"5 %", As::time},
                 {"95 %", As::time},
                 {"tail", As::share}}};
    const auto add = [&](const std::string &launch, const char *source,
                         const std::optional<TimelineSummary> &its) {
        if (its)
            table.rows.push_back({launch, source, its->ctas, its->sms, its->most_at_once, its->start_s,
                                  its->makespan_s, its->mean_cta_s, its->cta_p05_s, its->cta_p95_s,
                                  its->tail_share});
    };
    const auto ratio = [](Seconds forecast, Seconds measured) {
        return measured.value > 0.0 ? Cell(fmt::format("{:.3f}", forecast / measured)) : Cell();
    };
    const Cell none{};
    for (const TimelineRow *row : rows) {
        add(row->launch, "forecast", row->forecast);
        add(row->launch, "measured", row->measured);
        if (!row->forecast || !row->measured)
            continue;
        const TimelineSummary &f = *row->forecast, &m = *row->measured;
        table.rows.push_back({row->launch, "forecast / measured", none, none, none, none,
                              ratio(f.makespan_s, m.makespan_s), ratio(f.mean_cta_s, m.mean_cta_s),
                              ratio(f.cta_p05_s, m.cta_p05_s), ratio(f.cta_p95_s, m.cta_p95_s), none});
    }
    return table;
}

} // namespace

Section accuracy_section(RunPage &page) {
    if (!page.measured())
        return {};
    Section section{"accuracy", "accuracy", "Accuracy"};
    const ErrorStatistics &all = *page.statistics.errors_of("all");
    section.heading = fmt::format("Accuracy: {} off in the median, {} at worst", percent_text(*all.median, 1),
                                  percent_text(*all.max, 1));
    std::vector<PagePart> pair = page.figures_of("accuracy");
    pair.push_back(farthest(page));
    const PagePart below = small_print(
        remark("errors", escape_xml(page.statistics.error), escape_xml(page.statistics.percentile)));
    section.parts = {
        beside("pair", std::move(pair)),
        details("The numbers, by strategy",
                {Listing{explained_table<ErrorStatistics>("errors", page.statistics.errors)}, below})};
    append(section.parts, accuracy_tables(page));
    return section;
}

Section regimes_section(RunPage &page) {
    const RegimeTables &r = page.statistics.regimes;
    std::vector<PagePart> maps_of = maps(page), pair = page.figures_of("regimes");
    if (r.opinions.empty() && maps_of.empty() && pair.empty())
        return {};
    Section section{"regimes", "regimes", "Regimes: what hides the memory latency"};
    if (const RegimeStatistics *forecast = over_all(r, "forecast"))
        section.heading = fmt::format("Regimes: the forecast agrees with the counters on {} of {} cases ({})",
                                      forecast->agree, forecast->n, worth_of(*forecast));
    section.parts.push_back(
        paragraph(remark("regimes", word_button("compute bound", "compute"),
                         word_button("memory bound", "memory"), word_button("exposed", "exposed")),
                  "lead"));
    append(section.parts, std::move(maps_of));
    section.parts.push_back(beside("pair", std::move(pair)));
    const PagePart below = small_print(remark("agreement"));
    if (!r.opinions.empty())
        section.parts.push_back(details("Which opinion agrees with the counters",
                                        {Listing{regimes_table(r)}, below, Listing{said_regimes_table(r)}}));
    return section;
}

Section work_section(RunPage &page) {
    if (page.statistics.work_errors.empty())
        return {};
    std::vector<double> off;
    for (const WorkRow &w : page.statistics.work)
        if (w.counted > 0.0)
            off.push_back(std::abs(w.predicted / w.counted - 1.0));
    Section section{"work", "work", "Work"};
    if (!off.empty())
        section.heading = fmt::format("Work: half of {} forecasts within {} of the counters", off.size(),
                                      percent_text(percentile(off, 0.5), 1));
    using W = WorkStatistics;
    const CellsOf<W> own = {
        {"farthest off at", [&page](const W &w) {
             return w.worst_case ? page.case_cell(*w.worst_case, page.statistics.row(*w.worst_case).shape)
                                 : Cell();
         }}};
    section.parts = {paragraph(remark("work"), "lead"), beside("pair", page.figures_of("work")),
                     details("The numbers, by strategy and quantity",
                             {Listing{explained_table<W>("work_errors", page.statistics.work_errors, own)},
                              small_print(remark("work_errors"))})};
    return section;
}

Section speed_section(RunPage &page) {
    if (!page.compared()) // there would be little but dashes
        return {};
    Section section{"speed", "speed", "Speed, beside cuDNN"};
    const SpeedupStatistics &best = *page.statistics.overall("cudnn");
    section.heading =
        fmt::format("Speed: faster than cuDNN on {} of {}", best.wins, count(best.n, "shape", "shapes"));
    using S = SpeedupStatistics;
    section.parts = {beside("pair", page.figures_of("speed")),
                     Listing{explained_table<S>(
                         "studies", page.statistics.speedups,
                         {{"speed-up of", [](const S &s) { return s.ours + " over " + s.against; }}})},
                     small_print(remark("speed")),
                     Listing{explained_table<NetworkStatistics>("networks", page.statistics.networks), "",
                             "Networks: all convolutions, each with its fastest"}};
    append(section.parts, published(page));
    section.parts.push_back(shapes(page));
    return section;
}

/// For each case with a timeline: its numbers, what the stamps of its CTAs cost, and its figures.
Section timelines_section(RunPage &page) {
    if (page.statistics.timelines.empty())
        return {};
    Section section{"timelines", "timelines", "When each CTA runs, and on which SM"};
    std::vector<PagePart> &parts = section.parts;
    parts.push_back(paragraph(remark("timelines")));
    std::map<std::int64_t, std::vector<const TimelineRow *>> cases;
    for (const TimelineRow &row : page.statistics.timelines)
        cases[row.id].push_back(&row);
    for (const auto &[id, rows] : cases) {
        parts.push_back(heading(
            html_of(page.case_cell(id, page.statistics.row(id).shape + " " + page.statistics.row(id).name))));
        for (const Measurement &m : page.run.cases[static_cast<std::size_t>(id)].measurements)
            if (m.timeline && m.timeline->call_s) // what the stamps cost
                parts.push_back(small_print(remark("stamped", microseconds(*m.timeline->call_s),
                                                   microseconds(m.time_s), m.timeline->step_ns.value_or(0))));
        parts.push_back(Listing{timeline_table(rows)});
        for (Figure &f : page.figures)
            if (f.id.starts_with(fmt::format("timeline_{}_", id)))
                parts.push_back(Drawing{std::move(f)});
    }
    if (cases.size() > most_drawn_timelines)
        parts.push_back(small_print(fmt::format("The first {} are drawn.", most_drawn_timelines)));
    return section;
}

} // namespace convcast
