#include "reports/network_page.hpp"

#include "model/base/errors.hpp"
#include "reports/html.hpp"
#include "reports/network_figures.hpp"
#include "reports/report_figures.hpp"
#include "reports/statistics.hpp"

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

std::optional<Seconds> forecast_of(const RungResult &rung) {
    if (!rung.predicted)
        return std::nullopt;
    return rung.predicted->graph_s ? rung.predicted->graph_s : rung.predicted->stream_s;
}

Cell ratio_of(const std::optional<Seconds> &forecast, const std::optional<Seconds> &measured) {
    return forecast && measured && measured->value > 0.0 ? Cell(*forecast / *measured) : Cell();
}

/// Of a title: where it was measured.
std::string on(const std::string &gpu) {
    return gpu.empty() ? "" : ", on " + gpu;
}

/// The last section: what is assumed, and facts of the document with its conditions.
Section conditions_section(const std::vector<std::string> &assumptions, std::vector<Fact> facts,
                           const std::map<std::string, std::string> &conditions) {
    for (Fact &fact : facts_of(conditions))
        facts.push_back(std::move(fact));
    return {"conditions", "conditions", "Conditions", {listed("Assumed", assumptions), std::move(facts)}};
}

/// Figures that have a point.
std::vector<PagePart> drawn(std::vector<Figure> figures, SvgUse use = SvgUse::in_page) {
    std::vector<PagePart> parts;
    for (Figure &figure : figures)
        if (figure.point_count() > 0)
            parts.push_back(Drawing{std::move(figure), use});
    return parts;
}

/// Of a time as people say it on a page.
std::string micro(Seconds time) {
    return microseconds(time) + "\u00a0µs";
}

/// Forecast over measured less 1.
double error_of(const RungResult &rung) {
    return *forecast_of(rung) / *rung.graph_warm_s - 1.0;
}

std::vector<Card> cards_of(const LadderRun &run) {
    const RungResult *best = nullptr, *papers = nullptr, *off = nullptr;
    std::size_t all = 0, within = 0;
    for (const RungResult &rung : run.rungs) {
        if (!rung.graph_warm_s)
            continue;
        if (best == nullptr || *rung.graph_warm_s < *best->graph_warm_s)
            best = &rung;
        if (run.batch == 1 && rung.published_s &&
            (papers == nullptr || *rung.published_s < *papers->published_s))
            papers = &rung;
        if (!forecast_of(rung))
            continue;
        ++all;
        within += std::abs(error_of(rung)) <= 0.1 ? 1 : 0;
        if (off == nullptr || std::abs(error_of(rung)) > std::abs(error_of(*off)))
            off = &rung;
    }
    if (best == nullptr)
        return {};
    std::vector<Card> cards = {
        {micro(*best->graph_warm_s), "the fastest implementation, " + breakable(best->id),
         fmt::format("of {}, in one CUDA graph",
                     count(std::ssize(run.rungs), "implementation", "implementations"))}};
    if (papers != nullptr)
        cards.push_back(
            {times(*papers->published_s / *papers->graph_warm_s),
             "faster here than published, the paper's fastest, " + breakable(papers->id),
             fmt::format("{} here, {} published{}", micro(*papers->graph_warm_s), micro(*papers->published_s),
                         run.published_gpu ? " on " + *run.published_gpu : std::string())});
    if (off != nullptr) {
        cards.push_back(
            {signed_percent(error_of(*off)), "the largest miss of the forecast, " + breakable(off->id),
             fmt::format("{} forecast, {} measured", micro(*forecast_of(*off)), micro(*off->graph_warm_s))});
        cards.push_back(
            {fmt::format("{} of {}", within, all), "forecasts within 10\u00a0%", "of the measured time"});
    }
    return cards;
}

/// Each kernel in a call by its activity records, of the rungs that kept it.
struct KernelOfRung {
    const RungResult &rung;
    const RungKernelTime &kernel;

    std::optional<Seconds> forecast() const {
        std::optional<Seconds> time;
        if (rung.predicted)
            for (const RungLaunchForecast &launch : rung.predicted->launches)
                if (launch.kernel == kernel.kernel)
                    time = launch.record_s;
        return time;
    }
};

Section kernels_section(const LadderRun &run) {
    std::vector<KernelOfRung> kernels;
    for (const RungResult &rung : run.rungs)
        for (const RungKernelTime &kernel : rung.kernels)
            kernels.push_back({rung, kernel});
    using K = const KernelOfRung &;
    return {"kernels",
            "kernels",
            "Each kernel, measured and forecast",
            {Listing{table_of<KernelOfRung>(
                 kernels, {{{"implementation"}, [](K k) { return k.rung.id; }},
                           {{"kernel"}, [](K k) { return k.kernel.kernel; }},
                           {{"launches", As::number}, [](K k) { return k.kernel.launches; }},
                           {{"measured", As::time}, [](K k) { return k.kernel.time_s; }},
                           {{"forecast", As::time}, [](K k) { return k.forecast(); }},
                           {{"forecast / measured", As::ratio},
                            [](K k) { return ratio_of(k.forecast(), k.kernel.time_s); }}})},
             paragraph(
                 "Times are of one launch as activity records have them: with what an empty kernel takes, "
                 "which a call pays once. They are the mean of a call's launches, the median over the calls.",
                 "small")}};
}

Table rungs_table(const LadderRun &run) {
    using R = const RungResult &;
    return table_of<RungResult>(
        run.rungs,
        {{{"implementation"},
          [](R rung) {
              Cell cell(rung.id);
              cell.under = rung.reason ? rung.title + ": " + *rung.reason : rung.title;
              return cell;
          }},
         {{"measured", As::time}, &RungResult::graph_warm_s},
         {{"forecast", As::time}, [](R rung) { return forecast_of(rung); }},
         {{"forecast / measured", As::ratio},
          [](R rung) { return ratio_of(forecast_of(rung), rung.graph_warm_s); }},
         {{"cold L2", As::time}, &RungResult::graph_cold_s},
         {{"stream", As::time}, &RungResult::stream_warm_s},
         {{"stream forecast", As::time},
          [](R rung) { return rung.predicted ? Cell(rung.predicted->stream_s) : Cell(); }},
         {{"published", As::time}, [&](R rung) { return run.batch == 1 ? Cell(rung.published_s) : Cell(); }},
         {{"kernels", As::number}, &RungResult::launches}});
}

/// Each kernel once, with the parts of its forecast in its first rung.
Table launches_table(const LadderRun &run) {
    struct FirstLaunch {
        std::string rung;
        const RungLaunchForecast &launch;
    };
    std::vector<FirstLaunch> firsts;
    for (const RungResult &rung : run.rungs)
        if (rung.predicted)
            for (const RungLaunchForecast &launch : rung.predicted->launches)
                if (std::none_of(firsts.begin(), firsts.end(), [&](const FirstLaunch &seen) {
                        return seen.launch.kernel == launch.kernel;
                    }))
                    firsts.push_back({rung.id, launch});
    using F = const FirstLaunch &;
    return table_of<FirstLaunch>(
        firsts, {{{"kernel"}, [](F f) { return f.launch.kernel; }},
                 {{"first in"}, &FirstLaunch::rung},
                 {{"parts of its first wave, µs"},
                  [](F f) {
                      std::string parts;
                      for (const PhaseTime &part : f.launch.parts)
                          parts += (parts.empty() ? "" : ", ") + part.name + " " + microseconds(part.time_s);
                      return parts;
                  }},
                 {{"waves", As::number}, [](F f) { return fmt::format("{:.2f}", f.launch.waves); }},
                 {{"blocks an SM", As::number}, [](F f) { return f.launch.ctas_per_sm; }},
                 {{"all", As::time}, [](F f) { return f.launch.time_s; }}});
}

std::vector<Figure> figures_of(const LadderReport &report) {
    std::vector<Figure> figures = ladder_figures(report.run);
    if (!report.scaling.empty())
        figures.push_back(scaling_figure(report.scaling, "scaling",
                                         "A step of " + report.run.network + " on several GPUs, forecast",
                                         report.gpu));
    return figures;
}

Page page_of(const LadderReport &report) {
    const LadderRun &run = report.run;
    const std::string judged = judgement_of(run);
    Page page{fmt::format("Ladder of {}, batch {}{}", run.network, run.batch, on(report.gpu)), judged};
    if (!judged.empty())
        page.head = {answer_paragraph(judged)};
    if (std::vector<Card> cards = cards_of(run); !cards.empty())
        page.opening.push_back(std::move(cards));
    std::vector<Fact> facts;
    if (run.sequential_s)
        facts.push_back({"one thread of the host's CPU, an image", micro(*run.sequential_s)});
    if (run.published_cpu_s)
        facts.push_back({"the same as published", micro(*run.published_cpu_s)});
    page.opening.push_back(std::move(facts));
    page.sections = {
        {"rungs",
         "implementations",
         "Implementations",
         {beside("pair", drawn(figures_of(report), SvgUse::in_pair)), Listing{rungs_table(run)}}}};
    if (std::any_of(run.rungs.begin(), run.rungs.end(),
                    [](const RungResult &rung) { return !rung.kernels.empty(); }))
        page.sections.push_back(kernels_section(run));
    page.sections.push_back(
        {"launches", "launches", "What a launch's forecast consists of", {Listing{launches_table(run)}}});
    std::vector<Fact> conditions;
    for (const char *key : {"date", "version", "toolkit"})
        if (const auto found = run.conditions.find(key); found != run.conditions.end())
            conditions.push_back({key, found->second});
    page.sections.push_back(conditions_section({}, std::move(conditions), {}));
    return page;
}

/// Of the launches' times together, which on several streams is more than the network takes.
std::string share_of(const NetworkRun &run, Seconds part) {
    return percent_text(part / (run.convolutions_s + run.dense_s + run.others_s), 1);
}

std::vector<Card> forecast_cards(const NetworkRun &run) {
    std::vector<Card> cards = {
        {micro(run.time_s), "forecast of one call", fmt::format("one CUDA graph of {} nodes", run.nodes)},
        {times(run.time_s / run.light_s), "the bound",
         fmt::format("{} µs: peak arithmetic, every byte moved once", microseconds(run.light_s))},
        {share_of(run, run.convolutions_s), "convolutions",
         fmt::format("dense layers {}, the rest {}", share_of(run, run.dense_s),
                     share_of(run, run.others_s))}};
    const auto longest =
        std::max_element(run.launches.begin(), run.launches.end(),
                         [](const NetworkLaunch &a, const NetworkLaunch &b) { return a.time_s < b.time_s; });
    if (longest != run.launches.end())
        cards.push_back({micro(longest->time_s),
                         "the costliest layer, " + breakable(longest->operators.front()),
                         percent_text(longest->share, 1) + " of the time"});
    return cards;
}

std::vector<Card> measured_cards(const NetworkRun &run, const std::optional<OtherTime> &other) {
    const TimeSpread *call = run.measured_s();
    if (call == nullptr)
        return {};
    const Seconds time = call->median_s;
    std::vector<Card> cards = {
        {micro(time), "measured, one call",
         fmt::format("{:.0f} images a second", static_cast<double>(run.batch) / time.value)},
        {signed_percent(run.time_s / time - 1.0), "error of the forecast",
         fmt::format("{} µs forecast", microseconds(run.time_s))}};
    if (other)
        cards.push_back(
            {times(other->time_s / time), "as fast as " + escape_xml(other->by),
             fmt::format("which takes {} µs, timed in the same way", microseconds(other->time_s))});
    cards.push_back(
        {times(time / run.light_s), "the bound",
         fmt::format("{} µs: peak arithmetic, every byte moved once", microseconds(run.light_s))});
    Seconds convolutions(0.0), all(0.0);
    const NetworkLaunch *longest = nullptr;
    for (const NetworkLaunch &launch : run.launches)
        if (launch.measured) {
            const Seconds its = launch.measured->time_s.median_s;
            all += its;
            if (launch.kind == LaunchKind::convolution)
                convolutions += its;
            if (longest == nullptr || longest->measured->time_s.median_s < its)
                longest = &launch;
        }
    if (longest != nullptr)
        cards.push_back(
            {micro(longest->measured->time_s.median_s * untraced_share(run)),
             "the costliest layer, " + breakable(longest->operators.front()),
             fmt::format("{} of the time; convolutions {}", percent_text(longest->measured->share, 1),
                         percent_text(convolutions / all, 1))});
    return cards;
}

Section changes_section(const NetworkRun &run) {
    return {"changes",
            "changes",
            "What would change it",
            {Listing{table_of<ChangedNetwork>(
                run.what_if, {{{"change"}, &ChangedNetwork::change},
                              {{"time", As::time}, &ChangedNetwork::time_s},
                              {{"difference", As::number}, [&](const ChangedNetwork &change) {
                                   return signed_percent(change.time_s / run.time_s - 1.0);
                               }}})}}};
}

/// What the page of a run opens with below its cards: each way in which calls were timed, and how the times
/// of single launches relate to them.
std::vector<PagePart> ways_of_timing(const NetworkRun &run) {
    const NetworkMeasurement &measured = *run.measured;
    std::vector<PagePart> parts;
    std::vector<Fact> facts;
    for (const auto &[name, time] : {std::pair{"one call, by events, nothing traced", &measured.replayed_s},
                                     {"one call, kernels traced", &measured.graph_s},
                                     {"the same with cold L2", &measured.graph_cold_s},
                                     {"launch by launch, kernels traced", &measured.stream_s}})
        if (*time)
            facts.push_back({name, fmt::format("{} µs ({} to {})", microseconds((*time)->median_s),
                                               microseconds((*time)->p05_s), microseconds((*time)->p95_s))});
    facts.push_back({"bound", microseconds(run.light_s) + " µs"});
    parts.emplace_back(std::move(facts));
    if (const double untraced = untraced_share(run); untraced != 1.0)
        parts.emplace_back(paragraph(
            fmt::format(
                "The measured time of this page is that of a call that nothing traces, {0} µs; the forecast "
                "is of the same. Single launches can only be timed while they are traced, which makes the "
                "call take {1} µs. Their times, here and in the timeline, are therefore multiplied by "
                "{2:.3f}: they add up to the {0} µs. The document has them as they were recorded.",
                microseconds(measured.replayed_s->median_s),
                microseconds(measured.replayed_s->median_s * (1.0 / untraced)), untraced),
            "small"));
    return parts;
}

Page page_of(const NetworkRun &run, const std::optional<OtherTime> &other) {
    const std::string answer = judgement_of(run, other);
    Page page{fmt::format("{}, batch {}{}{}", run.network, run.batch,
                          run.measured ? ", on " : ": forecast for ",
                          gpu_name(run.conditions, run.profile_id)),
              answer};
    page.head = {answer_paragraph(answer)};
    if (std::vector<Card> cards = run.measured ? measured_cards(run, other) : forecast_cards(run);
        !cards.empty())
        page.opening.push_back(std::move(cards));
    std::vector<Fact> facts = {{"profile of the forecast", run.profile_id}};
    if (run.measured) {
        for (PagePart &part : ways_of_timing(run))
            page.opening.push_back(std::move(part));
        facts.push_back(
            {"relative error of the outputs (L2 norm)", fmt::format("{:.1e}", run.measured->l2_error)});
        facts.push_back({"weights", run.measured->weights});
        facts.push_back({"nodes of the graph", std::to_string(run.nodes)});
    }
    Section launches{"launches", "launches", "Launches", {}};
    if (!run.measured)
        launches.parts.emplace_back(Drawing{network_layers_figure(run)});
    launches.parts.emplace_back(Listing{launches_table(run)});
    page.sections = {
        {"timeline", "timeline", "Timeline", {Drawing{network_timeline_figure(run), SvgUse::in_width}}},
        std::move(launches)};
    if (!run.what_if.empty())
        page.sections.push_back(changes_section(run));
    page.sections.push_back(conditions_section(run.assumptions, std::move(facts), run.conditions));
    return page;
}

/// Whether the measured time says how good the forecast is: shares that lie on one GPU take turns.
bool comparable(const Scaling &scaling, const ScalingCase &c) {
    return c.forecast && c.measured &&
           (c.devices == 1 || !scaling.conditions.contains("several_shares_a_gpu"));
}

double error_of(const ScalingCase &c) {
    return c.forecast->step_s / c.measured->step_s - 1.0;
}

std::vector<Card> cards_of(const Scaling &scaling) {
    const ScalingCase *best = nullptr, *off = nullptr, *fastest = nullptr;
    for (const ScalingCase &c : scaling.cases) {
        const auto faster = [](const ScalingCase *than, const auto &rates, const ScalingCase &one) {
            return one.devices > 1 && one.*rates &&
                   (than == nullptr || (one.*rates)->speed_up > (than->*rates)->speed_up);
        };
        if (faster(best, &ScalingCase::forecast_rates, c))
            best = &c;
        if (comparable(scaling, c) && faster(fastest, &ScalingCase::measured_rates, c))
            fastest = &c;
        if (comparable(scaling, c) && (off == nullptr || std::abs(error_of(c)) > std::abs(error_of(*off))))
            off = &c;
    }
    const auto name = [](const ScalingCase &c) {
        return fmt::format("{}, {}, {} images", to_text(c.split), count(c.devices, "GPU", "GPUs"), c.batch);
    };
    std::vector<Card> cards;
    if (fastest != nullptr)
        cards.push_back(
            {times(fastest->measured_rates->speed_up), "the largest speed-up, measured", name(*fastest)});
    if (best != nullptr)
        cards.push_back(
            {times(best->forecast_rates->speed_up), "the largest speed-up, forecast", name(*best)});
    if (off != nullptr)
        cards.push_back({signed_percent(error_of(*off)), "the largest miss of the forecast", name(*off)});
    const bool shared = scaling.conditions.contains("several_shares_a_gpu");
    cards.push_back({std::to_string(scaling.devices.size()), shared ? "shares of a step" : "GPUs",
                     shared ? "several of them on one GPU" : "of one host"});
    return cards;
}

Table cases_table(const Scaling &scaling) {
    using C = const ScalingCase &;
    return table_of<ScalingCase>(
        scaling.cases,
        {{{"split"}, [](C c) { return to_text(c.split); }},
         {{"GPUs", As::number}, &ScalingCase::devices},
         {{"images a step", As::number}, &ScalingCase::batch},
         {{"measured", As::time}, [](C c) { return c.measured ? Cell(c.measured->step_s) : Cell(); }},
         {{"forecast", As::time}, [](C c) { return c.forecast ? Cell(c.forecast->step_s) : Cell(); }},
         {{"forecast / measured", As::ratio},
          [&](C c) { return comparable(scaling, c) ? Cell(1.0 + error_of(c)) : Cell(); }},
         {{"speed-up measured", As::factor},
          [&](C c) {
              return c.measured_rates && c.devices > 1 && comparable(scaling, c)
                         ? Cell(c.measured_rates->speed_up)
                         : Cell();
          }},
         {{"speed-up forecast", As::factor},
          [](C c) { return c.forecast_rates && c.devices > 1 ? Cell(c.forecast_rates->speed_up) : Cell(); }},
         {{"efficiency forecast", As::number},
          [](C c) {
              return c.forecast_rates ? Cell(fmt::format("{:.2f}", c.forecast_rates->efficiency)) : Cell();
          }},
         {{"exchange forecast", As::time},
          [](C c) { return c.forecast ? Cell(c.forecast->communication_s) : Cell(); }}});
}

Page page_of(const Scaling &scaling) {
    const std::string judged = judgement_of(scaling), gpu = gpu_name(scaling.conditions, scaling.profile_id);
    Page page{scaling.network + " on several GPUs" + (gpu.empty() ? "" : " (" + gpu + ")"), judged};
    page.head = {answer_paragraph(judged)};
    page.opening = {cards_of(scaling)};
    Section speed_up{"speed-up", "speed-up", "Speed-up over one GPU", drawn({speed_up_figure(scaling)})};
    if (!scaling.advice.empty()) {
        using A = ScalingAdvice;
        speed_up.parts.push_back(heading("From how many images a step it pays, by the forecast"));
        speed_up.parts.push_back(Listing{
            table_of<A>(scaling.advice, {{{"split"}, [](const A &a) { return to_text(a.split); }},
                                         {{"GPUs", As::number}, &A::devices},
                                         {{"faster than one GPU from", As::number}, &A::pays_from},
                                         {{"efficiency of 0.9 from", As::number}, &A::efficient_from}})});
    }
    Section cases{"cases", "cases", "Cases", {Listing{cases_table(scaling)}}};
    if (const auto refused = std::find_if(scaling.cases.begin(), scaling.cases.end(),
                                          [](const ScalingCase &c) { return c.reason.has_value(); });
        refused != scaling.cases.end()) // once: they are alike
        cases.parts.push_back(paragraph(
            fmt::format("{}: {}.", escape_xml(to_text(refused->split)), escape_xml(*refused->reason)),
            "small"));
    page.sections = {
        std::move(speed_up), std::move(cases),
        conditions_section(scaling.assumptions,
                           {{"profile", scaling.profile_id},
                            {"link, one way while as much goes the other way",
                             fmt::format("{:.1f} GB/s", scaling.peers.bandwidth_bytes_per_s.value * 1e-9)},
                            {"latency of a link", microseconds(scaling.peers.latency_s) + " µs"}},
                           scaling.conditions)};
    return page;
}

Page page_of(const TrainingRun &run) {
    const std::string judged = judgement_of(run);
    const auto gpu = run.conditions.find("gpu");
    Page page{(run.steps > 0 ? "Training of " : "Accuracy of ") + run.network +
                  on(gpu == run.conditions.end() ? "" : gpu->second),
              judged};
    page.head = {answer_paragraph(judged)};
    std::vector<Card> cards = {
        {fmt::format("{:.2f}\u00a0%", 100.0 * run.accuracy), "classified right",
         fmt::format("of {} {}", run.test_images, run.tested_on)},
        {fmt::format("{} of {}", run.disagreements, run.checked), "classified otherwise in double",
         fmt::format("on the CPU, which is right on {}", percent_text(run.reference_accuracy, 1))}};
    if (run.step_s)
        cards.push_back({micro(*run.step_s), "a step", fmt::format("of {} images", run.descent.batch)});
    if (run.steps > 0)
        cards.push_back({fmt::format("{:.2f}\u00a0s", run.time_s.value), count(run.epochs, "epoch", "epochs"),
                         fmt::format("of {} images, {} steps", run.images, run.steps)});
    page.opening = {std::move(cards)};
    if (!run.rungs.empty())
        page.sections.push_back(
            {"rungs",
             "implementations",
             "The same parameters by each implementation",
             {Listing{table_of<RungAccuracy>(
                 run.rungs,
                 {{{"implementation"}, &RungAccuracy::id},
                  {{"classified right, %", As::number},
                   [](const RungAccuracy &rung) { return fmt::format("{:.2f}", 100.0 * rung.accuracy); }},
                  {{"images classified otherwise", As::number}, &RungAccuracy::disagreements}})}}});
    page.sections.push_back(
        {"settings",
         "settings",
         "Settings",
         {std::vector<Fact>{{"images", run.data},
                            {"images of a step", std::to_string(run.descent.batch)},
                            {"epochs", std::to_string(run.epochs)},
                            {"rate of the first epoch", fmt::format("{:g}", run.descent.rate)},
                            {"momentum", fmt::format("{:g}", run.descent.momentum)},
                            {"decay", fmt::format("{:g}", run.descent.decay)}}}});
    page.sections.push_back(conditions_section({}, {}, run.conditions));
    return page;
}

} // namespace

Table launches_table(const NetworkRun &run) {
    using L = const NetworkLaunch &;
    const auto any = [&](const auto &has) {
        return std::any_of(run.launches.begin(), run.launches.end(), has);
    };
    const auto measured = [untraced = untraced_share(run)](L launch) {
        return launch.measured ? std::optional(launch.measured->time_s.median_s * untraced) : std::nullopt;
    };
    const std::vector<Seconds> ends = ends_of(run);
    const bool timed = !ends.empty(); // then each launch is
    std::vector<Field<NetworkLaunch>> fields = {
        {{"operators", As::text, Keep::must, Fit::cut}, &NetworkLaunch::label},
        {{"shape", As::text, Keep::must}, &NetworkLaunch::shape},
        {{"strategy", As::text, Keep::must, Fit::knobs},
         [](L launch) { return launch.candidates.empty() ? Cell() : Cell(launch.strategy()); }}};
    if (timed)
        fields.insert(fields.end(),
                      {{{"measured", As::time, Keep::must}, measured},
                       {{"forecast", As::time, Keep::high}, &NetworkLaunch::time_s},
                       {{"forecast / measured", As::ratio, Keep::must},
                        [measured](L launch) { return ratio_of(launch.time_s, measured(launch)); }},
                       {{"share", As::share}, [](L launch) { return launch.measured->share; }}});
    else
        fields.insert(fields.end(), {{{"time", As::time, Keep::must}, &NetworkLaunch::time_s},
                                     {{"share", As::share, Keep::must}, &NetworkLaunch::share}});
    // A column of the rest is there where a launch has something for it.
    if (any([](L launch) { return launch.light_s.has_value(); }))
        fields.push_back(
            {{"/ bound", As::factor, Keep::low, Fit::whole, "over its bound"}, [measured](L launch) {
                 return launch.light_s ? Cell(measured(launch).value_or(launch.time_s) / *launch.light_s)
                                       : Cell();
             }});
    if (any([](L launch) { return launch.helps.has_value(); }))
        fields.push_back({{"helps", As::text, Keep::normal, Fit::whole, "what helps most"}, [](L launch) {
                              return launch.helps
                                         ? launch.helps->change + " " +
                                               change_text(launch.helps->time_s / launch.time_s - 1.0, 0)
                                         : "";
                          }});
    if (any([](L launch) { return launch.flops.has_value(); })) {
        fields.push_back({{"FLOPs", As::number, Keep::low}, [](L launch) {
                              return launch.flops ? Cell(readable(*launch.flops, "FLOP")) : Cell();
                          }});
        fields.push_back({{"parameters", As::number, Keep::low}, [](L launch) {
                              return launch.parameters.value_or(0) > 0 ? Cell(grouped(*launch.parameters))
                                                                       : Cell();
                          }});
    }
    if (timed)
        fields.push_back({{"ends at", As::time, Keep::low}, [&](L launch) {
                              return ends[static_cast<std::size_t>(&launch - run.launches.data())];
                          }});
    if (any([](L launch) { return launch.stream.value_or(0) != 0; }))
        fields.push_back(
            {{"stream", As::number, Keep::low}, [](L launch) { return launch.stream.value_or(0); }});
    if (any([](L launch) { return launch.l2_error.has_value(); }))
        fields.push_back({{"L2 error", As::number, Keep::low, Fit::whole, "relative L2 error"}, [](L launch) {
                              return launch.l2_error ? Cell(fmt::format("{:.0e}", *launch.l2_error)) : Cell();
                          }});
    return table_of<NetworkLaunch>(run.launches, fields);
}

std::string judgement_of(const Scaling &scaling) {
    std::size_t pairs = 0;
    std::vector<double> errors;
    for (const ScalingCase &c : scaling.cases)
        if (comparable(scaling, c)) {
            ++pairs;
            errors.push_back(std::abs(c.forecast->step_s / c.measured->step_s - 1.0));
        }
    std::string text =
        errors.empty()
            ? "No forecast has a time to hold against it."
            : fmt::format("Of {} the forecast is off by {:.1f} % in the median and {:.1f} % at worst.",
                          count(static_cast<std::int64_t>(pairs), "measured step", "measured steps"),
                          100.0 * percentile(errors, 0.5), 100.0 * percentile(errors, 1.0));
    if (scaling.conditions.contains("several_shares_a_gpu"))
        text += " Steps of several shares ran them on one GPU, one after another, so their times are not "
                "compared.";
    return text;
}

std::string judgement_of(const TrainingRun &run) {
    std::string text = fmt::format("{:.2f} % of {} {} are classified right", 100.0 * run.accuracy,
                                   run.test_images, run.tested_on);
    if (run.steps > 0)
        text += fmt::format(" after {} of {} images in {:.2f} s", count(run.epochs, "epoch", "epochs"),
                            run.images, run.time_s.value);
    if (run.step_s)
        text += fmt::format(", {} µs a step", microseconds(*run.step_s));
    return text + ".";
}

std::string judgement_of(const LadderRun &run) {
    constexpr double near = 0.1;
    std::size_t all = 0, within = 0;
    double worst = 0.0;
    std::string whose;
    for (const RungResult &rung : run.rungs)
        if (const auto forecast = forecast_of(rung); forecast && rung.graph_warm_s) {
            const double error = *forecast / *rung.graph_warm_s - 1.0;
            ++all;
            within += std::abs(error) <= near ? 1 : 0;
            if (std::abs(error) >= std::abs(worst))
                worst = error, whose = rung.id;
        }
    if (all == 0)
        return "";
    return fmt::format("{} of {} forecasts are within 10 % of the measured time; {} is the worst, {}.",
                       within, all, whose, signed_percent(worst));
}

std::string judgement_of(const NetworkRun &run, const std::optional<OtherTime> &other) {
    if (!run.measured)
        return fmt::format(
            "{} µs in one CUDA graph of {} nodes, {:.2f} times the bound; convolutions {}, dense "
            "layers {}, the rest {}.",
            microseconds(run.time_s), run.nodes, run.time_s / run.light_s, share_of(run, run.convolutions_s),
            share_of(run, run.dense_s), share_of(run, run.others_s));
    if (run.measured->reason)
        return std::string(boost::describe::enum_to_string(run.measured->status, "?")) + ": " +
               *run.measured->reason + ".";
    const TimeSpread *call = run.measured_s();
    if (call == nullptr)
        return "No time was measured.";
    const Seconds time = call->median_s;
    std::string text =
        fmt::format("{} µs measured, {} µs forecast ({}); {:.0f} images a second, {:.2f} times the bound.",
                    microseconds(time), microseconds(run.time_s), signed_percent(run.time_s / time - 1.0),
                    static_cast<double>(run.batch) / time.value, time / run.light_s);
    if (other)
        text += fmt::format(" {} takes {} µs, {} as long.", other->by, microseconds(other->time_s),
                            times(other->time_s / time));
    return text;
}

PageReport report_on(const LadderReport &report) {
    return {report.gpu, figures_of(report), page_of(report)};
}

PageReport report_on(const NetworkRun &run, const std::optional<OtherTime> &other) {
    std::vector<Figure> figures = {network_timeline_figure(run)};
    if (!run.measured)
        figures.push_back(network_layers_figure(run));
    return {gpu_name(run.conditions, run.profile_id), std::move(figures), page_of(run, other)};
}

PageReport report_on(const Scaling &scaling) {
    return {gpu_name(scaling.conditions, scaling.profile_id), {speed_up_figure(scaling)}, page_of(scaling)};
}

PageReport report_on(const TrainingRun &run) {
    return {"", {}, page_of(run)};
}

} // namespace convcast
