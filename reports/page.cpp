#include "model/machine/profile.hpp"
#include "reports/explained.hpp"
#include "reports/page_writer.hpp"
#include "reports/report_figures.hpp"
#include "reports/write_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

namespace {

/// What the forecast would take: the case with the shortest forecast of each shape.
struct Choices {
    std::vector<const CaseRow *> best; ///< one for each shape, in the order of the run
    std::int64_t calls = 0;            ///< of all shapes of all studies, as often as a study has each
    Seconds total_s;                   ///< all calls, one after another
};

Choices choices_of(const ReportStatistics &statistics) {
    Choices out;
    std::map<std::string, std::size_t> place;                          // of a shape among the best
    std::map<std::pair<std::string, std::string>, std::int64_t> calls; // of a study's shape
    for (const CaseRow &r : statistics.cases) {
        if (r.baseline || !r.predicted_s || (r.status != Status::ok && r.status != Status::not_run))
            continue;
        calls.emplace(std::pair(r.study.value_or(""), r.shape), r.calls);
        const auto [at, fresh] = place.try_emplace(r.shape, out.best.size());
        if (fresh)
            out.best.push_back(&r);
        else if (*r.predicted_s < *out.best[at->second]->predicted_s)
            out.best[at->second] = &r;
    }
    for (const auto &[of, n] : calls) {
        out.calls += n;
        out.total_s += *out.best[place.at(of.second)]->predicted_s * static_cast<double>(n);
    }
    return out;
}

/// What every forecast of a time assumes; the page says it once, among the conditions.
std::vector<std::string> common_assumptions(const Run &run) {
    std::vector<std::string> common;
    bool first = true;
    for (const Case &c : run.cases) {
        if (!c.strategy || !c.prediction || !c.prediction->time_s)
            continue;
        const std::vector<std::string> &its = c.prediction->assumptions;
        if (first)
            common = its;
        else
            std::erase_if(common,
                          [&](const std::string &said) { return std::ranges::find(its, said) == its.end(); });
        first = false;
    }
    return common;
}

/// Notes that the run was recorded with other device or measuring code than this program has; none if it was
/// not, or if the program cannot tell.
std::vector<PagePart> stale_notes(const RunPage &page) {
    std::vector<PagePart> notes;
    const auto note = [&](const char *what, const std::string &then, const std::string &now) {
        if (!now.empty() && then != now)
            notes.push_back(small_print(remark(
                "other_code", what, then.empty() ? "(none recorded)" : escape_xml(then), escape_xml(now))));
    };
    note("device", page.run.producer.device_code_hash, page.current.device_code_hash);
    note("measuring", page.run.producer.measuring_code_hash, page.current.measuring_code_hash);
    return notes;
}

/// What was asked, in one line: "chang_single · 18 shapes · 306 kernels · 2026-11-24".
std::string asked(const RunPage &page) {
    std::set<std::string> studies, shapes;
    std::set<std::pair<std::string, std::string>> asked_shapes; // of each study
    for (const CaseRow &r : page.statistics.cases) {
        shapes.insert(r.shape);
        asked_shapes.emplace(r.study.value_or(""), r.shape);
        if (r.study)
            studies.insert(*r.study);
    }
    const auto date = page.run.conditions.find("date");
    const std::int64_t baselines =
        std::ranges::count_if(page.run.cases, [](const Case &c) { return !c.strategy; });
    std::vector<std::string> asked = {count(std::ssize(asked_shapes), "shape", "shapes")};
    if (asked_shapes.size() > shapes.size())
        asked.back() += fmt::format(" ({} of them distinct)", shapes.size());
    if (!studies.empty())
        asked.insert(asked.begin(), join({studies.begin(), studies.end()}));
    asked.push_back(count(std::ssize(page.run.cases) - baselines, "kernel", "kernels"));
    if (baselines > 0)
        asked.push_back(count(baselines, "baseline case", "baseline cases"));
    if (date != page.run.conditions.end())
        asked.push_back(date->second.substr(0, 10));
    return join(asked, " · ");
}

/// The cards of a run that measured forecast cases: error, cuDNN, regret, and the worst strategy.
std::vector<Card> cards(const RunPage &page) {
    const ErrorStatistics &all = *page.statistics.errors_of("all");
    const double off = *all.bias - 1.0;
    std::vector<Card> cards = {
        {percent_text(*all.median, 1), word_button("median", "median") + " " + word_button("error", "error"),
         fmt::format("9 of 10 within {}; {}", percent_text(*all.p90, 1),
                     std::abs(off) < 0.005
                         ? "neither too fast nor too slow"
                         : percent_text(std::abs(off), 1) +
                               (off < 0.0 ? " too fast on average" : " too slow on average"))}};
    if (page.compared()) {
        const SpeedupStatistics &best = *page.statistics.overall("cudnn");
        const SpeedupStatistics *layouts = page.statistics.overall("cudnn, NHWC too");
        std::string more = times(*best.geomean) + " geometric mean, least " + times(*best.min);
        if (layouts != nullptr)
            more += "; " + times(*layouts->geomean) + " with NHWC";
        if (best.without > 0)
            more += fmt::format("; {} of {} shapes were compared", best.n, best.n + best.without);
        cards.push_back({fmt::format("{} of {}", best.wins, best.n), "shapes faster than cuDNN", more});
    }
    if (const RankingAccuracy *choice = page.statistics.accuracy.of_forecast())
        cards.push_back({percent_text(choice->mean_regret, 1),
                         "lost by following the forecast (" + word_button("regret", "regret") + "), mean",
                         fmt::format("the fastest of the measured settings was picked for {} of {} of the "
                                     "test part; {} lost at worst",
                                     choice->hits, count(choice->shapes, "shape", "shapes"),
                                     percent_text(choice->max_regret, 1))});
    // The strategy with the largest median error: where the forecast is wrong.
    const std::vector<const ErrorStatistics *> strategies = page.statistics.by_error();
    if (strategies.size() > 1) {
        const ErrorStatistics &worst = *strategies.front();
        cards.push_back(
            {percent_text(*worst.median, 1), "median error of " + breakable(worst.group) + ", the worst",
             fmt::format("{} {} on average, {}", percent_text(std::abs(*worst.bias - 1.0), 1),
                         *worst.bias < 1.0 ? "too fast" : "too slow", count(worst.n, "case", "cases"))});
    }
    return cards;
}

/// HTML of one strategy's errors, a mark for each case on a line from -50 % to +50 %; errors beyond are
/// chevrons at its ends. A stroke shows the bias.
std::string strip(const RunPage &page, const ErrorStatistics &errors) {
    constexpr double half_width = 120.0, limit = 0.5; // of the drawing, 240 units wide
    const auto x_of = [&](double error) {
        return half_width * (1.0 + std::clamp(error, -limit, limit) / limit);
    };
    const auto is_of = [&](const CaseRow &r) { return !r.baseline && r.error && r.group == errors.group; };
    const auto is_beyond = [](const CaseRow &r) { return std::abs(*r.error) > limit; };
    const auto marks = [&](bool beyond) {
        std::string path;
        std::vector<std::string> places;
        for (std::size_t place = 0; place < page.shown.size(); ++place) {
            const CaseRow &r = page.statistics.cases[page.shown[place]];
            if (!is_of(r) || is_beyond(r) != beyond)
                continue;
            const char *shape = !beyond ? "h0" // a dot, or a chevron that points to where the error lies
                                : *r.error > 0.0 ? "m-3-3l4 3l-4 3"
                                                 : "m3-3l-4 3l4 3";
            // The height means nothing: 7 and 9 spread the cases, so that equal errors are seen apart.
            path += fmt::format("M{:.1f} {}{}", x_of(*r.error), 4 + r.id * 7 % 9, shape);
            places.push_back(std::to_string(place));
        }
        return path.empty() ? ""
                            : fmt::format("<path class=\"marks {}\" data-cases=\"{}\" d=\"{}\"/>",
                                          beyond ? "beyond" : "dots", join(places, ","), path);
    };
    const auto outside = std::ranges::count_if(page.statistics.cases,
                                               [&](const CaseRow &r) { return is_of(r) && is_beyond(r); });
    return fmt::format(
        "<svg class=\"strip\" viewBox=\"0 0 240 16\" preserveAspectRatio=\"none\" role=\"img\" "
        "aria-label=\"errors of {0} from −50 % to +50 %\"><path class=\"band\" d=\"M96 0h48v16h-48z\"/><path "
        "class=\"zero\" d=\"M120 0v16\"/>{1}{2}<path class=\"bias\" d=\"M{3:.1f} 0v16\"/></svg>{4}",
        escape_xml(errors.group), marks(false), marks(true), x_of(*errors.bias - 1.0),
        outside == 0 ? "" : fmt::format("<small>{} beyond ±50\u00a0%</small>", outside));
}

/// A table with a strip of errors for each strategy, the worst first.
Group strips(const RunPage &page) {
    const std::vector<const ErrorStatistics *> rows = page.statistics.by_error();
    std::string lines;
    for (const ErrorStatistics *e : rows)
        lines += fmt::format(
            "<tr data-strategy=\"{0}\"><th scope=\"row\">{4}</th><td>{1}</td><td>{2}</td><td>{3}</td></tr>\n",
            escape_xml(e->group), strip(page, *e), percent_text(*e->median, 1), percent_text(*e->p90, 1),
            breakable(e->group));
    return {"<figure id=\"f-by_strategy\">",
            "</figure>\n",
            {heading(rows.size() < 2
                         ? "Error of each case"
                         : fmt::format("{} is best, {} worst; each mark a case",
                                       escape_xml(rows.back()->group), escape_xml(rows.front()->group))),
             Html{"<div class=\"scroll\"><table class=\"strips\"><thead><tr><th "
                  "scope=\"col\">strategy</th><th scope=\"col\">error, %<div "
                  "class=\"axis\"><span>−50</span><span>0</span><span>+50</span></div></th><th "
                  "scope=\"col\">median</th><th scope=\"col\">9 of 10</th></tr></thead><tbody>\n" +
                  lines + "</tbody></table></div><figcaption>" + remark("strips") + "</figcaption>"}}};
}

/// The first screen: cards and figures, or the answer in words where no forecast can be held against a time.
Section overview_section(RunPage &page) {
    Section section{"overview", "overview", ""};
    if (page.shown.size() < page.statistics.cases.size())
        section.parts.push_back(paragraph(remark("part_of_the_cases", page.shown.size(),
                                                 count(std::ssize(page.statistics.cases), "case", "cases")),
                                          "note"));
    if (!page.measured()) {
        section.parts.push_back(answer_paragraph(answer(page.statistics)));
        return section;
    }
    section.parts.push_back(cards(page));
    std::vector<PagePart> screen = page.figures_of("overview");
    screen.push_back(strips(page));
    section.parts.push_back(beside("screen", std::move(screen)));
    return section;
}

/// What the forecast would take for each shape; empty if a forecast can be held against a measurement.
Section choices_section(RunPage &page) {
    const Choices choices = choices_of(page.statistics);
    const std::vector<const CaseRow *> &best = choices.best;
    if (page.measured() || best.empty())
        return {};
    constexpr std::size_t most = 500; // rows; chosen: nobody reads more
    const bool named = std::ranges::any_of(best, [](const CaseRow *row) { return row->layer.has_value(); });
    Table table{{{"layer"},
                 {"shape"},
                 {"forecast", As::time},
                 {"calls", As::number},
                 {"interval", As::time},
                 {"over the speed of light", As::factor},
                 {"strategy"},
                 {"limiter"}}};
    for (const CaseRow *row : std::span(best).first(std::min(best.size(), most))) {
        const Prediction &p = *page.run.cases[static_cast<std::size_t>(row->id)].prediction;
        Cell strategy(row->group);
        strategy.under = row->knobs();
        table.rows.push_back(
            {row->layer, page.case_cell(row->id, row->shape), row->predicted_s,
             named ? Cell(row->calls) : Cell(),
             p.time_low_s && p.time_high_s ? Cell(Between{p.time_low_s->value, p.time_high_s->value})
                                           : Cell(),
             row->tier0_s && row->tier0_s->value > 0.0 ? Cell(*row->predicted_s / *row->tier0_s) : Cell(),
             strategy, row->limiter});
    }
    Section section{"choices", "choices", "What the forecast would take"};
    section.parts.push_back(Listing{without_empty_columns(std::move(table), {"layer", "calls"}), "choices"});
    if (best.size() > most)
        section.parts.push_back(small_print(fmt::format("The first {} of {} shapes.", most, best.size())));
    return section;
}

Section cases_section(RunPage &page) {
    Section section{"cases", "cases",
                    page.shown.size() == page.statistics.cases.size() ? "All cases"
                                                                      : "Cases, a part of them"};
    if (page.statistics.cases.empty())
        section.parts.push_back(paragraph("The run holds no case."));
    section.parts.push_back(Html{embedded_text("cases.html")});
    if (page.explanations.without_tree > 0)
        section.parts.push_back(
            small_print(remark("bars_alone", count(static_cast<std::int64_t>(page.explanations.without_tree),
                                                   "forecast", "forecasts"))));
    return section;
}

/// How the run was timed, and at which clocks; nothing of a run without measurements.
std::vector<Fact> clocks(const RunPage &page) {
    double clock_low = 0.0, clock_high = 0.0;
    std::int64_t throttled = 0;
    std::set<std::string> methods, l2;
    for (const Case &c : page.run.cases)
        for (const Measurement &m : c.measurements) {
            if (m.sm_clock_hz) {
                const double mhz = m.sm_clock_hz->value / 1e6;
                clock_low = clock_low > 0.0 ? std::min(clock_low, mhz) : mhz;
                clock_high = std::max(clock_high, mhz);
            }
            throttled += m.throttled_samples.value_or(0);
            methods.insert(m.method);
            l2.insert(word_of(m.l2));
        }
    std::vector<Fact> facts;
    if (clock_high > 0.0)
        facts.push_back({"SM clock seen", clock_high - clock_low < 1.0
                                              ? fmt::format("{:.0f} MHz", clock_high)
                                              : fmt::format("{:.0f} to {:.0f} MHz", clock_low, clock_high)});
    if (!methods.empty())
        append(facts, {{"timed by", join({methods.begin(), methods.end()})},
                       {"L2", join({l2.begin(), l2.end()}, " and ") + "; cold is the headline"},
                       {"throttled samples", std::to_string(throttled)}});
    return facts;
}

/// The page's glossary: the words of docs/report.md, and the run's studies.
Html notation(const RunPage &page) {
    std::string out = "<h3 id=\"notation\">Words</h3>\n<dl class=\"glossary\">\n";
    for (const std::vector<std::string> &word : explained("Words of the page of a run"))
        out += fmt::format("<div><dt id=\"word-{}\">{}</dt><dd>{}</dd></div>\n", file_name(word.at(0)),
                           word[0], escape_xml(word.at(1)));
    out += "<div><dt>study</dt><dd>a list of shapes that a paper measured. ";
    for (const Study &study : page.studies)
        out += escape_xml(study.id + ": " + study.title + "; " + study.citation + ". ");
    return {out + "</dd></div>\n</dl>\n"};
}

std::vector<PagePart> method(const RunPage &page) {
    std::vector<PagePart> parts;
    if (page.timed())
        parts = {Html{"<h3 id=\"measuring\">How it was measured</h3>\n"}, paragraph(remark("measuring"))};
    append(parts,
           {Html{"<h3 id=\"method\">Where the forecast is from</h3>\n"}, paragraph(remark("forecast"))});
    return parts;
}

Section about_section(RunPage &page) {
    Section section{"about", "about", "Conditions, method, words"};
    std::vector<PagePart> &parts = section.parts;
    parts.push_back(Html{"<h3 id=\"conditions\">Conditions</h3>\n"});
    std::vector<Fact> facts = facts_of(page.run.conditions);
    append(facts, clocks(page));
    append(facts, {{"convcast", page.run.producer.version},
                   {"profile",
                    page.run.profile_id + (page.run.profile_hash.empty() ? "" : " " + page.run.profile_hash)},
                   {"device code", page.run.producer.device_code_hash},
                   {"measuring code", page.run.producer.measuring_code_hash}});
    parts.push_back(std::move(facts));
    append(parts, stale_notes(page));
    for (const std::string &assumption : page.common)
        parts.push_back(small_print("Assumed of every forecast: " + escape_xml(assumption)));
    const bool any_ok =
        std::ranges::any_of(page.statistics.cases, [](const CaseRow &r) { return r.status == Status::ok; });
    if (!page.statistics.statuses.empty())
        parts.push_back(details(count(std::ssize(page.run.cases), "case", "cases") + ": what became of them",
                                {Listing{explained_table<StatusCount>(
                                    "statuses", page.statistics.statuses,
                                    {{"status", [](const StatusCount &s) { return word_of(s.status); }}})}},
                                !any_ok));
    append(parts, method(page));
    parts.push_back(notation(page));
    return section;
}

Page page_of(RunPage page) {
    const std::string gpu = gpu_name(page.run.conditions, page.run.profile_id);
    Page out{(page.timed() ? "convcast: forecast and measured" : "convcast: forecast") +
                 (gpu.empty() ? std::string() : (page.timed() ? " on " : " for ") + gpu),
             answer(page.statistics)};
    out.head = {paragraph(escape_xml(asked(page)), "asked")};
    for (const auto section :
         {overview_section, accuracy_section, speed_section, choices_section, regimes_section, work_section,
          timelines_section, cases_section, about_section})
        out.sections.push_back(section(page));
    out.data = script_cases(page_columns(page.run, page.statistics, page.shown, page.explanations),
                            page.explanations.chunks);
    for (const char *name :
         {"MWP-CWP", "speed of light", "compute bound", "memory bound", "exposed", "median"})
        out.words.emplace_back(name, name);
    return out;
}

} // namespace

RunPage::RunPage(const Run &its_run, std::span<const Study> its_studies,
                 const ReportStatistics &its_statistics, const Producer &its_current,
                 std::vector<Figure> its_figures)
    : run(its_run), studies(its_studies), statistics(its_statistics), current(its_current),
      shown(cases_of_page(statistics)), figures(std::move(its_figures)), common(common_assumptions(run)),
      explanations(explain(run, statistics, shown, common)) {
    draw_for_page(figures, shown, statistics.cases.size());
}

bool RunPage::timed() const {
    return std::ranges::any_of(run.cases, [](const Case &c) { return !c.measurements.empty(); });
}

Cell RunPage::case_cell(std::int64_t id, const std::string &text) const {
    Cell cell(text);
    const auto found = std::lower_bound(shown.begin(), shown.end(), static_cast<std::size_t>(id));
    if (found != shown.end() && *found == static_cast<std::size_t>(id))
        cell.link = "#case=" + std::to_string(found - shown.begin());
    return cell;
}

std::vector<PagePart> RunPage::figures_of(const std::string &part) {
    constexpr std::size_t many = 4000; // marks: the page has such a figure once, not also for a large screen
    std::vector<PagePart> parts;
    for (Figure &f : figures)
        if (const std::size_t points = f.point_count(); f.part == part && points > 0) {
            const SvgUse use = part == "overview" || part == "maps" ? SvgUse::in_column
                               : !f.panels.empty()                  ? SvgUse::in_screen
                               : points < many                      ? SvgUse::in_pair
                                                                    : SvgUse::in_column;
            parts.push_back(Drawing{std::move(f), use, part != "maps"});
        }
    return parts;
}

std::string answer(const ReportStatistics &statistics) {
    const ErrorStatistics *all = statistics.errors_of("all");
    const SpeedupStatistics *best = statistics.overall("cudnn");
    const SpeedupStatistics *layouts = statistics.overall("cudnn, NHWC too");
    const SpeedupStatistics *direct = statistics.overall("cudnn without Winograd and FFT");
    std::int64_t forecasts = 0, timed = 0;
    for (const CaseRow &row : statistics.cases) {
        forecasts += !row.baseline && row.predicted_s ? 1 : 0;
        timed += row.cold_s || row.warm_s ? 1 : 0;
    }
    if (statistics.cases.empty())
        return "This run holds no case.";
    const auto off = [](double share) { return fmt::format("{:.1f}\u00a0%", 100.0 * share); };
    std::string text;
    if (all != nullptr)
        text = remark("answer_error", count(all->n, "measured case", "measured cases"), off(*all->median),
                      off(*all->p90), "90\u00a0%", off(*all->max),
                      std::abs(*all->bias - 1.0) < 0.005
                          ? "neither too fast nor too slow"
                          : off(std::abs(*all->bias - 1.0)) + (*all->bias < 1.0 ? " too fast" : " too slow"));
    else if (timed > 0)
        text = "No measured case of ours has a forecast, so nothing can be said about its error.";
    else if (const Choices choices = choices_of(statistics); !choices.best.empty())
        text =
            remark("answer_unmeasured", microseconds(choices.total_s), count(choices.calls, "call", "calls"),
                   count(std::ssize(choices.best), "shape", "shapes"), count(forecasts, "kernel", "kernels"));
    else
        text = "Nothing was measured in this run, and no case that can run has a forecast.";
    if (best != nullptr) {
        text += " " + remark("answer_speed", best->wins, count(best->n, "shape", "shapes"),
                             best->n - best->wins, times(*best->geomean));
        if (layouts != nullptr)
            text += fmt::format(", {} with cuDNN's NHWC plans among them", times(*layouts->geomean));
        if (direct != nullptr)
            text += fmt::format("; against cuDNN without Winograd and FFT it wins {} of {}, {}", direct->wins,
                                direct->n, times(*direct->geomean));
        text += ".";
        if (best->without > 0)
            text += fmt::format(" {} could not be compared.", count(best->without, "shape", "shapes"));
    } else if (timed > 0) {
        text += " No shape was measured on both sides, so there is no comparison with cuDNN.";
    }
    return text;
}

PageReport report_on(const Run &run, std::span<const Study> studies, const ReportStatistics &statistics,
                     const Producer &current) {
    const auto page = [&run, studies, &statistics, current](std::vector<Figure> figures) {
        return page_of(RunPage(run, studies, statistics, current, std::move(figures)));
    };
    return {gpu_name(run.conditions, run.profile_id), figures_of(run, statistics, studies), page,
            case_columns(statistics)};
}

} // namespace convcast
