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

/// Of a strategy with its knobs, which the document has.
std::string name_of(const std::string &strategy) {
    return strategy.substr(0, strategy.find(':'));
}

Page page_of(const NetworkForecast &forecast) {
    const Seconds all = forecast.convolutions_s + forecast.dense_s + forecast.others_s;
    const auto share = [&](Seconds part) { return percent_text(part / all, 1); };
    const std::string answer =
        fmt::format("{} µs in one CUDA graph of {} nodes, {:.2f} times the bound; convolutions {}, dense "
                    "layers {}, the rest {}.",
                    microseconds(forecast.time_s), forecast.nodes, forecast.time_s / forecast.light_s,
                    share(forecast.convolutions_s), share(forecast.dense_s), share(forecast.others_s));
    Page page{fmt::format("{}, batch {}: forecast for {}", forecast.network, forecast.batch,
                          gpu_name(forecast.conditions, forecast.profile_id)),
              answer};
    page.head = {answer_paragraph(answer)};
    std::vector<Card> cards = {
        {micro(forecast.time_s), "forecast of one call",
         fmt::format("one CUDA graph of {} nodes", forecast.nodes)},
        {times(forecast.time_s / forecast.light_s), "the bound",
         fmt::format("{} µs: peak arithmetic, every byte moved once", microseconds(forecast.light_s))},
        {share(forecast.convolutions_s), "convolutions",
         fmt::format("dense layers {}, the rest {}", share(forecast.dense_s), share(forecast.others_s))}};
    const auto longest =
        std::max_element(forecast.launches.begin(), forecast.launches.end(),
                         [](const NetworkLaunch &a, const NetworkLaunch &b) { return a.time_s < b.time_s; });
    if (longest != forecast.launches.end())
        cards.push_back({micro(longest->time_s),
                         "the costliest layer, " + breakable(longest->operators.front()),
                         percent_text(longest->share, 1) + " of the time"});
    page.opening = {std::move(cards)};
    using L = const NetworkLaunch &;
    Section layers{
        "layers",
        "layers",
        "Layers",
        {Drawing{network_timeline_figure(forecast), SvgUse::in_width},
         Drawing{network_layers_figure(forecast)},
         Listing{table_of<NetworkLaunch>(
             forecast.launches, {{{"operators"}, [](L launch) { return join(launch.operators, " + "); }},
                                 {{"shape"}, &NetworkLaunch::shape},
                                 {{"strategy"},
                                  [](L launch) {
                                      return launch.candidates.empty()
                                                 ? Cell()
                                                 : Cell(name_of(launch.candidates.front().strategy));
                                  }},
                                 {{"time", As::time}, &NetworkLaunch::time_s},
                                 {{"share", As::share}, &NetworkLaunch::share},
                                 {{"over its bound", As::factor}, [](L launch) {
                                      return launch.light_s ? Cell(launch.time_s / *launch.light_s) : Cell();
                                  }}})}}};
    page.sections = {std::move(layers)};
    if (!forecast.what_if.empty())
        page.sections.push_back(
            {"changes",
             "changes",
             "What would change it",
             {Listing{table_of<ChangedNetwork>(
                 forecast.what_if, {{{"change"}, &ChangedNetwork::change},
                                    {{"time", As::time}, &ChangedNetwork::time_s},
                                    {{"difference", As::number}, [&](const ChangedNetwork &change) {
                                         return signed_percent(change.time_s / forecast.time_s - 1.0);
                                     }}})}}});
    page.sections.push_back(
        conditions_section(forecast.assumptions, {{"profile", forecast.profile_id}}, forecast.conditions));
    return page;
}

std::vector<Card> cards_of(const WholeRun &run, const std::optional<OtherTime> &other) {
    const std::optional<TimeSpread> &time = run.replayed_s ? run.replayed_s : run.graph_s;
    if (!time)
        return {};
    std::vector<Card> cards = {
        {micro(time->median_s), "measured, one call",
         fmt::format("{:.0f} images a second", static_cast<double>(run.batch) / time->median_s.value)},
        {signed_percent(run.forecast_s / time->median_s - 1.0), "error of the forecast",
         fmt::format("{} µs forecast", microseconds(run.forecast_s))}};
    if (other)
        cards.push_back(
            {times(other->time_s / time->median_s), "as fast as " + escape_xml(other->by),
             fmt::format("which takes {} µs, timed in the same way", microseconds(other->time_s))});
    cards.push_back(
        {times(time->median_s / run.light_s), "the bound",
         fmt::format("{} µs: peak arithmetic, every byte moved once", microseconds(run.light_s))});
    Seconds convolutions(0.0), all(0.0);
    const WholeLaunch *longest = nullptr;
    for (const WholeLaunch &launch : run.launches)
        if (launch.time_s) {
            all += launch.time_s->median_s;
            if (launch.kind == LaunchKind::convolution)
                convolutions += launch.time_s->median_s;
            if (longest == nullptr || longest->time_s->median_s < launch.time_s->median_s)
                longest = &launch;
        }
    if (longest != nullptr && !longest->operators.empty())
        cards.push_back({micro(longest->time_s->median_s * untraced_share(run)),
                         "the costliest layer, " + breakable(longest->operators.front()),
                         fmt::format("{} of the time; convolutions {}", percent_text(longest->share, 1),
                                     percent_text(convolutions / all, 1))});
    return cards;
}

Table launches_table(const WholeRun &run) {
    const double untraced = untraced_share(run);
    const auto measured = [untraced](const WholeLaunch &launch) {
        return launch.time_s ? std::optional(launch.time_s->median_s * untraced) : std::nullopt;
    };
    using L = const WholeLaunch &;
    std::vector<Field<WholeLaunch>> fields = {
        {{"operators"}, [](L launch) { return join(launch.operators, " + "); }},
        {{"shape"}, &WholeLaunch::shape},
        {{"strategy"}, [](L launch) { return launch.strategy ? Cell(name_of(*launch.strategy)) : Cell(); }},
        {{"measured", As::time}, measured},
        {{"forecast", As::time}, &WholeLaunch::forecast_s},
        {{"forecast / measured", As::ratio},
         [measured](L launch) { return ratio_of(launch.forecast_s, measured(launch)); }},
        {{"share", As::share}, [](L launch) { return launch.time_s ? Cell(launch.share) : Cell(); }},
        {{"ends at", As::time}, [&, ends = ends_of(run)](L launch) {
             const auto at = static_cast<std::size_t>(&launch - run.launches.data());
             return at < ends.size() ? Cell(ends[at]) : Cell();
         }}};
    if (std::any_of(run.launches.begin(), run.launches.end(),
                    [](L launch) { return launch.stream.value_or(0) != 0; }))
        fields.push_back({{"stream", As::number}, [](L launch) { return launch.stream.value_or(0); }});
    fields.push_back({{"relative error (L2 norm)", As::number}, [](L launch) {
                          return launch.l2_error ? Cell(fmt::format("{:.0e}", *launch.l2_error)) : Cell();
                      }});
    return table_of<WholeLaunch>(run.launches, fields);
}

Page page_of(const WholeRun &run, const std::optional<OtherTime> &other) {
    const std::string answer = judgement_of(run, other);
    const double untraced = untraced_share(run);
    Page page{
        fmt::format("{}, batch {}{}", run.network, run.batch, on(gpu_name(run.conditions, run.profile_id))),
        answer};
    page.head = {answer_paragraph(answer)};
    if (std::vector<Card> cards = cards_of(run, other); !cards.empty())
        page.opening.push_back(std::move(cards));
    std::vector<Fact> facts;
    for (const auto &[name, time] : {std::pair{"one call, by events, nothing traced", &run.replayed_s},
                                     {"one call, kernels traced", &run.graph_s},
                                     {"the same with cold L2", &run.graph_cold_s},
                                     {"launch by launch, kernels traced", &run.stream_s}})
        if (*time)
            facts.push_back({name, fmt::format("{} µs ({} to {})", microseconds((*time)->median_s),
                                               microseconds((*time)->p05_s), microseconds((*time)->p95_s))});
    facts.push_back({"bound", microseconds(run.light_s) + " µs"});
    page.opening.push_back(std::move(facts));
    if (untraced != 1.0) // which measured time the single launches are of
        page.opening.push_back(paragraph(
            fmt::format(
                "The measured time of this page is that of a call that nothing traces, {0} µs; the forecast "
                "is of the same. Single launches can only be timed while they are traced, which makes the "
                "call take {1} µs. Their times, here and in the timeline, are therefore multiplied by "
                "{2:.3f}: they add up to the {0} µs. The document has them as they were recorded.",
                microseconds(run.replayed_s->median_s),
                microseconds(run.replayed_s->median_s * (1.0 / untraced)), untraced),
            "small"));
    page.sections = {
        {"timeline", "timeline", "Timeline", {Drawing{network_timeline_figure(run), SvgUse::in_width}}},
        {"launches", "launches", "Launches", {Listing{launches_table(run)}}},
        conditions_section(run.assumptions,
                           {{"relative error of the outputs (L2 norm)", fmt::format("{:.1e}", run.l2_error)},
                            {"weights", run.weights},
                            {"nodes of the graph", std::to_string(run.nodes)},
                            {"forecast from profile", run.profile_id}},
                           run.conditions)};
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

std::string judgement_of(const WholeRun &run, const std::optional<OtherTime> &other) {
    if (run.reason)
        return std::string(boost::describe::enum_to_string(run.status, "?")) + ": " + *run.reason + ".";
    const std::optional<TimeSpread> &time = run.replayed_s ? run.replayed_s : run.graph_s;
    if (!time)
        return "No time was measured.";
    std::string text =
        fmt::format("{} µs measured, {} µs forecast ({}); {:.0f} images a second, {:.2f} times the bound.",
                    microseconds(time->median_s), microseconds(run.forecast_s),
                    signed_percent(run.forecast_s / time->median_s - 1.0),
                    static_cast<double>(run.batch) / time->median_s.value, time->median_s / run.light_s);
    if (other)
        text += fmt::format(" {} takes {} µs, {} as long.", other->by, microseconds(other->time_s),
                            times(other->time_s / time->median_s));
    return text;
}

PageReport report_on(const LadderReport &report) {
    return {report.gpu, figures_of(report), page_of(report)};
}

PageReport report_on(const NetworkForecast &forecast) {
    return {gpu_name(forecast.conditions, forecast.profile_id),
            {network_timeline_figure(forecast), network_layers_figure(forecast)},
            page_of(forecast)};
}

PageReport report_on(const WholeRun &run, const std::optional<OtherTime> &other) {
    return {gpu_name(run.conditions, run.profile_id), {network_timeline_figure(run)}, page_of(run, other)};
}

PageReport report_on(const Scaling &scaling) {
    return {gpu_name(scaling.conditions, scaling.profile_id), {speed_up_figure(scaling)}, page_of(scaling)};
}

PageReport report_on(const TrainingRun &run) {
    return {"", {}, page_of(run)};
}

} // namespace convcast
