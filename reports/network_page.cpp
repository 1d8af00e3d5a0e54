#include "reports/network_page.hpp"

#include "model/base/errors.hpp"
#include "reports/explained.hpp"
#include "reports/html.hpp"
#include "reports/lists.hpp"
#include "reports/network_figures.hpp"
#include "reports/report_figures.hpp"
#include "reports/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// Forecast over measured time; empty where either is absent or nothing was measured.
Cell ratio_of(const std::optional<Seconds> &forecast, const std::optional<Seconds> &measured) {
    return forecast && measured && measured->value > 0.0 ? Cell(*forecast / *measured) : Cell();
}

/// The figures that have a point, as parts of a page.
std::vector<PagePart> drawn(std::vector<Figure> figures, SvgUse use = SvgUse::in_page) {
    std::vector<PagePart> parts;
    for (Figure &figure : figures)
        if (figure.point_count() > 0)
            parts.push_back(Drawing{std::move(figure), use});
    return parts;
}

/// "540 µs"
std::string micro(Seconds time) {
    return microseconds(time) + "\u00a0µs";
}

/// forecast / measured - 1 of a case that has both.
double error_of(const NetworkCase &item) {
    return *item.forecast_s() / *item.measured_s() - 1.0;
}

/// How far forecasts are off, over the cases whose forecast can be held against a measured time.
struct CasesAccuracy {
    std::int64_t within = 0;            ///< cases whose forecast is within 10 %
    const NetworkCase *worst = nullptr; ///< nullptr where no case can be compared
    std::vector<double> errors{};       ///< |forecast / measured - 1|
};

/// The case with the largest `key`; nullptr where none has one.
const NetworkCase *most(const NetworkRun &run,
                        const std::function<std::optional<double>(const NetworkCase &)> &key) {
    const auto found = std::ranges::max_element(run.cases, {}, key); // an absent key is less than any other
    return found != run.cases.end() && key(*found) ? &*found : nullptr;
}

CasesAccuracy accuracy_of(const NetworkRun &run) {
    constexpr double near = 0.1;
    const auto error = [&](const NetworkCase &item) {
        return run.comparable(item) ? std::optional(std::abs(error_of(item))) : std::nullopt;
    };
    CasesAccuracy out{0, most(run, error)};
    for (const NetworkCase &item : run.cases)
        if (const std::optional<double> its = error(item))
            out.errors.push_back(*its);
    out.within = std::ranges::count_if(out.errors, [](double its) { return its <= near; });
    return out;
}

std::optional<double> speed_up_of(const std::optional<NetworkTimes> &times) {
    return times ? times->speed_up : std::nullopt;
}

/// The cards of a page about a ladder or about steps on GPUs: fastest, speed-ups, accuracy, GPUs.
std::vector<Card> cards_of(const NetworkRun &run) {
    using C = const NetworkCase &;
    std::vector<Card> cards;
    if (const NetworkCase *best = most(run, [](C c) {
            return c.id && c.measured_s() ? std::optional(-c.measured_s()->value) : std::nullopt;
        }))
        cards.push_back({micro(*best->measured_s()), "the fastest implementation, " + breakable(*best->id),
                         fmt::format("of {}, in one CUDA graph",
                                     count(std::ssize(run.cases), "implementation", "implementations"))});
    if (const NetworkCase *papers = most(run, [&](C c) {
            return c.published_s && c.measured_s() && c.batch == run.published_images.value_or(1)
                       ? std::optional(-c.published_s->value)
                       : std::nullopt;
        }))
        cards.push_back(
            {times(*papers->published_s / *papers->measured_s()),
             "faster here than published, the paper's fastest, " + breakable(papers->name()),
             fmt::format("{} here, {} published{}", micro(*papers->measured_s()), micro(*papers->published_s),
                         run.published_gpu ? " on " + *run.published_gpu : std::string())});
    if (const NetworkCase *fastest =
            most(run, [&](C c) { return run.comparable(c) ? speed_up_of(c.measured) : std::nullopt; }))
        cards.push_back(
            {times(*fastest->measured->speed_up), "the largest speed-up, measured", fastest->name()});
    if (const NetworkCase *best = most(run, [](C c) { return speed_up_of(c.forecast); }))
        cards.push_back({times(*best->forecast->speed_up), "the largest speed-up, forecast", best->name()});
    if (const CasesAccuracy accuracy = accuracy_of(run); accuracy.worst != nullptr) {
        const NetworkCase &off = *accuracy.worst;
        cards.push_back(
            {signed_percent(error_of(off)), "the largest miss of the forecast, " + breakable(off.name()),
             fmt::format("{} forecast, {} measured", micro(*off.forecast_s()), micro(*off.measured_s()))});
        cards.push_back({fmt::format("{} of {}", accuracy.within, accuracy.errors.size()),
                         "forecasts within 10\u00a0%", "of the measured time"});
    }
    if (!run.devices.empty())
        cards.push_back({std::to_string(run.devices.size()), run.shares_a_gpu() ? "shares of a step" : "GPUs",
                         run.shares_a_gpu()     ? "several of them on one GPU"
                         : run.most_hosts() > 1 ? fmt::format("of each of {} hosts", run.most_hosts())
                                                : "of one host"});
    return cards;
}

/// A row for each kernel of each rung that kept the times of its kernels, by their activity records.
Section kernels_section(const NetworkRun &run) {
    const auto any = [&](const auto &has) {
        return std::ranges::any_of(
            run.cases, [&](const NetworkCase &item) { return std::ranges::any_of(item.kernels, has); });
    };
    const bool of_gpus = any([](const KernelTime &its) { return its.device.has_value(); }),
               of_copies = any(&KernelTime::is_copy),
               counted = any([](const KernelTime &its) { return its.occupancy.has_value(); });
    Table table{{{"implementation"}, {"kernel"}}};
    if (of_gpus)
        table.columns.push_back({"GPU", As::number});
    if (of_copies)
        table.columns.push_back({"bytes of a copy", As::number});
    append(table.columns, std::vector<Column>{{"launches", As::number},
                                              {"measured", As::time},
                                              {"forecast", As::time},
                                              {"forecast / measured", As::ratio}});
    if (counted)
        table.columns.push_back({"occupancy", As::share});
    for (const NetworkCase &rung : run.cases)
        for (const KernelTime &kernel : rung.kernels) {
            std::optional<Seconds> forecast;
            for (const KernelForecast &launch : rung.kernels_forecast)
                if (launch.kernel == kernel.kernel)
                    forecast = launch.record_s;
            std::vector<Cell> &row = table.rows.emplace_back();
            row = {rung.name(), kernel.kernel};
            if (of_gpus)
                row.push_back(kernel.device ? Cell(*kernel.device) : Cell());
            if (of_copies)
                row.push_back(kernel.bytes ? Cell(*kernel.bytes) : Cell());
            append(row, std::vector<Cell>{kernel.launches, kernel.time_s, forecast,
                                          ratio_of(forecast, kernel.time_s)});
            if (counted)
                row.push_back(kernel.occupancy ? Cell(*kernel.occupancy) : Cell());
        }
    Section section{"kernels", "kernels", "Each kernel, measured and forecast"};
    section.parts = {Listing{without_empty_columns(std::move(table), {"GPU", "bytes"})},
                     small_print(remark("kernels"))};
    return section;
}

/// Each kernel once, with the parts of its forecast in its first rung.
Section kernels_forecast_section(const NetworkRun &run) {
    Table table{{{"kernel"},
                 {"first in"},
                 {"parts of its first wave, µs"},
                 {"waves", As::number},
                 {"blocks an SM", As::number},
                 {"all", As::time}}};
    std::set<std::string> seen;
    for (const NetworkCase &rung : run.cases)
        for (const KernelForecast &launch : rung.kernels_forecast) {
            if (!seen.insert(launch.kernel).second)
                continue;
            std::vector<std::string> parts;
            for (const PhaseTime &part : launch.parts)
                parts.push_back(part.name + " " + microseconds(part.time_s));
            table.rows.push_back({launch.kernel, rung.name(), join(parts),
                                  fmt::format("{:.2f}", launch.waves), launch.ctas_per_sm, launch.time_s});
        }
    return {
        "kernels_forecast", "launches", "What a launch's forecast consists of", {Listing{std::move(table)}}};
}

/// The share of `part` in the sum of all launches, which on several streams exceeds the network's time.
std::string share_of(const NetworkCase &item, Seconds part) {
    return percent_text(part / (*item.convolutions_s + *item.dense_s + *item.others_s), 1);
}

/// How many times the bound `time` is.
Card bound_card(const NetworkCase &item, Seconds time) {
    return {times(time / *item.light_s), "the bound",
            fmt::format("{} µs: peak arithmetic, every byte moved once", microseconds(*item.light_s))};
}

/// The cards of a whole network that was forecast only.
std::vector<Card> forecast_cards(const NetworkCase &item) {
    std::vector<Card> cards = {{micro(*item.forecast_s()), "forecast of one call",
                                fmt::format("one CUDA graph of {} nodes", *item.nodes)},
                               bound_card(item, *item.forecast_s()),
                               {share_of(item, *item.convolutions_s), "convolutions",
                                fmt::format("dense layers {}, the rest {}", share_of(item, *item.dense_s),
                                            share_of(item, *item.others_s))}};
    if (const auto longest = std::ranges::max_element(item.launches, {}, &NetworkLaunch::time_s);
        longest != item.launches.end())
        cards.push_back({micro(longest->time_s),
                         "the costliest layer, " + breakable(longest->operators.front()),
                         percent_text(longest->share, 1) + " of the time"});
    return cards;
}

/// The cards of a whole network that ran; none without a measured time.
std::vector<Card> measured_cards(const NetworkRun &run, const std::optional<OtherTime> &other) {
    const NetworkCase &item = run.first();
    if (!item.measured_s())
        return {};
    const Seconds time = *item.measured_s();
    std::vector<Card> cards = {
        {micro(time), "measured, one call",
         fmt::format("{:.0f} images a second", static_cast<double>(item.batch) / time.value)},
        {signed_percent(*item.forecast_s() / time - 1.0), "error of the forecast",
         fmt::format("{} µs forecast", microseconds(*item.forecast_s()))}};
    if (other)
        cards.push_back(
            {times(other->time_s / time), "as fast as " + escape_xml(other->by),
             fmt::format("which takes {} µs, timed in the same way", microseconds(other->time_s))});
    cards.push_back(bound_card(item, time));
    Seconds convolutions(0.0), all(0.0);
    const NetworkLaunch *longest = nullptr;
    for (const NetworkLaunch &launch : item.launches)
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

Section changes_section(const NetworkCase &item) {
    return {"changes",
            "changes",
            "What would change it",
            {Listing{explained_table<ChangedNetwork>("changes", item.what_if,
                                                     {{"difference", [&](const ChangedNetwork &change) {
                                                           return signed_percent(
                                                               change.time_s / *item.forecast_s() - 1.0);
                                                       }}})}}};
}

/// What stands below the cards of a network that ran: a time for each way in which calls were timed, and how
/// the times of single launches were scaled to them.
std::vector<PagePart> ways_of_timing(const NetworkRun &run) {
    const NetworkCase &item = run.first();
    std::vector<Fact> facts;
    const auto add = [&](const char *name, const std::optional<TimeSpread> &time) {
        if (time)
            facts.push_back({name, fmt::format("{} µs ({} to {})", microseconds(time->median_s),
                                               microseconds(time->p05_s), microseconds(time->p95_s))});
    };
    if (item.measured && item.measured->time_s)
        add("one call, by events, nothing traced",
            TimeSpread{*item.measured->time_s, item.measured->low_s.value_or(*item.measured->time_s),
                       item.measured->high_s.value_or(*item.measured->time_s), 1});
    if (item.traced) {
        add("one call, kernels traced", item.traced->graph_s);
        add("the same with cold L2", item.traced->graph_cold_s);
        add("launch by launch, kernels traced", item.traced->stream_s);
    }
    facts.push_back({"bound", microseconds(*item.light_s) + " µs"});
    std::vector<PagePart> parts = {std::move(facts)};
    if (const double untraced = untraced_share(run); untraced != 1.0)
        parts.emplace_back(
            small_print(remark("traced", microseconds(*item.measured->time_s),
                               microseconds(*item.measured->time_s * (1.0 / untraced)), untraced)));
    return parts;
}

std::vector<Card> training_cards(const NetworkCase &item) {
    const Training &its = *item.training;
    std::vector<Card> cards = {
        {fmt::format("{:.2f}\u00a0%", 100.0 * item.accuracy.value_or(0.0)), "classified right",
         fmt::format("of {} {}", its.test_images, its.tested_on)},
        {fmt::format("{} of {}", item.disagreements.value_or(0), its.checked),
         "classified otherwise in double",
         fmt::format("on the CPU, which is right on {}", percent_text(its.reference_accuracy, 1))}};
    if (const auto step = item.measured_s())
        cards.push_back({micro(*step), "a step", fmt::format("of {} images", its.descent.batch)});
    if (its.steps > 0)
        cards.push_back({fmt::format("{:.2f}\u00a0s", its.time_s.value), count(its.epochs, "epoch", "epochs"),
                         fmt::format("of {} images, {} steps", its.images, its.steps)});
    return cards;
}

Section settings_section(const Training &its) {
    return {"settings",
            "settings",
            "Settings",
            {std::vector<Fact>{{"images", its.data},
                               {"images of a step", std::to_string(its.descent.batch)},
                               {"epochs", std::to_string(its.epochs)},
                               {"rate of the first epoch", fmt::format("{:g}", its.descent.rate)},
                               {"momentum", fmt::format("{:g}", its.descent.momentum)},
                               {"decay", fmt::format("{:g}", its.descent.decay)}}}};
}

/// The title, by what the document has: a training, steps on GPUs, a ladder, or a whole network.
std::string title_of(const NetworkRun &run, const std::string &gpu) {
    const std::string on = gpu.empty() ? "" : ", on " + gpu;
    const NetworkCase &first = run.first();
    if (first.training)
        return (first.training->steps > 0 ? "Training of " : "Accuracy of ") + run.network + on;
    if (first.split)
        return run.network + " on several GPUs" + (gpu.empty() ? "" : " (" + gpu + ")");
    const std::string batch = fmt::format("{}, batch {}", run.network, first.batch);
    return first.id ? "Ladder of " + batch + on : first.ran() ? batch + on : batch + ": forecast for " + gpu;
}

/// The sections about a whole network: its timeline, its launches, what would change its time.
std::vector<Section> whole_sections(const NetworkRun &run) {
    Section launches{"launches", "launches", "Launches", {}};
    if (!run.first().ran())
        launches.parts.emplace_back(Drawing{network_layers_figure(run)});
    launches.parts.emplace_back(Listing{launches_table(run)});
    if (const std::string words = unknown_words(run); !words.empty())
        launches.parts.emplace_back(small_print(escape_xml(words) + "."));
    std::vector<Section> sections = {
        {"timeline", "timeline", "Timeline", {Drawing{network_timeline_figure(run), SvgUse::in_width}}},
        std::move(launches)};
    if (!run.first().what_if.empty())
        sections.push_back(changes_section(run.first()));
    return sections;
}

/// Facts of the document that are not among its conditions.
std::vector<Fact> known_of(const NetworkRun &run) {
    const NetworkCase &first = run.first();
    std::vector<Fact> facts = {{"profile of the forecast", run.profile_id}};
    if (run.peers) {
        facts.push_back({"link, one way while as much goes the other way",
                         fmt::format("{:.1f} GB/s", run.peers->bandwidth_bytes_per_s.value * 1e-9)});
        facts.push_back({"latency of a link", microseconds(run.peers->latency_s) + " µs"});
    }
    if (first.is_whole() && first.ran()) {
        facts.push_back({"relative error of the outputs (L2 norm)",
                         first.output_error ? fmt::format("{:.1e}", *first.output_error) : ""});
        facts.push_back({"weights", first.weights.value_or("")});
        facts.push_back({"nodes of the graph", std::to_string(first.nodes.value_or(0))});
    }
    return facts;
}

/// The figures of what the document has. Some may have no point: their no_data says why.
std::vector<Figure> figures_of(const NetworkRun &run, const BesideNetwork &beside) {
    const NetworkCase &first = run.first();
    std::vector<Figure> figures;
    if (first.is_whole()) {
        figures = {network_timeline_figure(run)};
        if (!first.ran())
            figures.push_back(network_layers_figure(run));
    } else if (first.split) {
        figures = {speed_up_figure(run)};
    } else if (!first.training) {
        figures = ladder_figures(run);
    }
    if (!beside.scaling.empty())
        figures.push_back(scaling_figure(beside.scaling, "scaling",
                                         "A step of " + run.network + " on several GPUs, forecast",
                                         gpu_name(run.conditions, run.profile_id)));
    return figures;
}

/// Figures and table of a ladder's implementations or of steps on GPUs, and when several GPUs pay.
Section cases_section(const NetworkRun &run, const BesideNetwork &beside_it) {
    Section section{"cases", "cases", "Cases", {}};
    const bool ladder = run.first().id.has_value();
    std::vector<PagePart> figures =
        drawn(figures_of(run, beside_it), ladder ? SvgUse::in_pair : SvgUse::in_page);
    if (ladder)
        section.parts.push_back(beside("pair", std::move(figures)));
    else
        section.parts = std::move(figures);
    section.parts.push_back(Listing{cases_table(run)});
    using A = ScalingAdvice;
    section.parts.push_back(Listing{
        explained_table<A>("advice", run.advice, {{"split", [](const A &a) { return to_text(a.split); }}}),
        "", "From how many images a step it pays, by the forecast"});
    return section;
}

Page page_of(const NetworkRun &run, const BesideNetwork &beside) {
    const NetworkCase &first = run.first();
    const std::string judged = judgement_of(run, beside.other);
    Page page{title_of(run, gpu_name(run.conditions, run.profile_id)), judged};
    page.head = {answer_paragraph(judged)};
    page.opening.push_back(first.training      ? training_cards(first)
                           : !first.is_whole() ? cards_of(run)
                           : first.ran()       ? measured_cards(run, beside.other)
                                               : forecast_cards(first));
    if (first.is_whole() && first.ran())
        append(page.opening, ways_of_timing(run));
    const auto micro_of = [](const std::optional<Seconds> &time) { return time ? micro(*time) : ""; };
    std::vector<Fact> facts = {{"one thread of the host's CPU, an image", micro_of(run.sequential_s)},
                               {"the same as published", micro_of(run.published_cpu_s)}};
    page.opening.push_back(std::move(facts));
    if (first.is_whole())
        page.sections = whole_sections(run);
    else
        page.sections.push_back(cases_section(run, beside));
    const auto any = [&](const auto &has) { return std::ranges::any_of(run.cases, has); };
    if (any([](const NetworkCase &item) { return !item.kernels.empty(); }))
        page.sections.push_back(kernels_section(run));
    if (any([](const NetworkCase &item) { return !item.kernels_forecast.empty(); }))
        page.sections.push_back(kernels_forecast_section(run));
    if (first.training)
        page.sections.push_back(settings_section(*first.training));
    facts = known_of(run);
    append(facts, facts_of(run.conditions));
    page.sections.push_back(
        {"conditions", "conditions", "Conditions", {listed("Assumed", run.assumptions), std::move(facts)}});
    return page;
}

std::string judgement_of_training(const NetworkCase &item) {
    const Training &its = *item.training;
    std::string text = fmt::format("{:.2f} % of {} {} are classified right",
                                   100.0 * item.accuracy.value_or(0.0), its.test_images, its.tested_on);
    if (its.steps > 0)
        text += fmt::format(" after {} of {} images in {:.2f} s", count(its.epochs, "epoch", "epochs"),
                            its.images, its.time_s.value);
    if (const auto step = item.measured_s())
        text += fmt::format(", {} µs a step", microseconds(*step));
    return text + ".";
}

/// The first sentences about a whole network: its forecast, why it did not run, or measured beside forecast.
std::string judgement_of_whole(const NetworkCase &item, const std::optional<OtherTime> &other) {
    const Seconds forecast = *item.forecast_s();
    if (!item.ran())
        return remark("network_forecast", microseconds(forecast), *item.nodes, forecast / *item.light_s,
                      share_of(item, *item.convolutions_s), share_of(item, *item.dense_s),
                      share_of(item, *item.others_s)) +
               (item.reason ? " But " + *item.reason + "." : "");
    if (item.reason)
        return std::string(boost::describe::enum_to_string(item.status, "?")) + ": " + *item.reason + ".";
    if (!item.measured_s())
        return "No time was measured.";
    const Seconds time = *item.measured_s();
    std::string text = remark("network_measured", microseconds(time), microseconds(forecast),
                              signed_percent(forecast / time - 1.0),
                              static_cast<double>(item.batch) / time.value, time / *item.light_s);
    if (other)
        text += fmt::format(" {} takes {} µs, {} as long.", other->by, microseconds(other->time_s),
                            times(other->time_s / time));
    return text;
}

} // namespace

Table cases_table(const NetworkRun &run) {
    using C = const NetworkCase &;
    std::vector<NetworkCase> cases = run.cases;
    std::erase_if(cases, [](C c) { return !c.id && !c.split; });
    const auto named = [](C c, const std::optional<std::string> &name) {
        Cell cell(name);
        cell.under = name ? c.title.value_or("") : "";
        if (name && c.reason)
            cell.under += (cell.under.empty() ? "" : ": ") + *c.reason;
        return cell;
    };
    const auto known = [](std::optional<Seconds> NetworkTimes::*time) { // the measured one, else the forecast
        return [time](C c) {
            const std::optional<NetworkTimes> &its = c.measured ? c.measured : c.forecast;
            return its ? Cell((*its).*time) : Cell();
        };
    };
    const auto of_gpus = [](auto NetworkCase::*number) {
        return [number](C c) { return c.split || c.devices > 1 ? Cell(c.*number) : Cell(); };
    };
    return without_empty_columns(explained_table<NetworkCase>(
        "network_cases", cases,
        {{"implementation", [&](C c) { return named(c, c.id); }},
         {"split", [&](C c) { return named(c, c.split ? std::optional(to_text(*c.split)) : std::nullopt); }},
         {"GPUs", of_gpus(&NetworkCase::devices)},
         {"images", of_gpus(&NetworkCase::batch)},
         {"measured", &NetworkCase::measured_s},
         {"forecast", &NetworkCase::forecast_s},
         {"over measured", [&](C c) { return run.comparable(c) ? Cell(1.0 + error_of(c)) : Cell(); }},
         {"published",
          [&](C c) { return c.batch == run.published_images.value_or(1) ? Cell(c.published_s) : Cell(); }},
         {"speed-up", [&](C c) { return run.comparable(c) ? Cell(speed_up_of(c.measured)) : Cell(); }},
         {"forward", known(&NetworkTimes::forward_s)},
         {"backward", known(&NetworkTimes::backward_s)},
         {"right",
          [](C c) { return c.accuracy ? Cell(fmt::format("{:.2f}", 100.0 * *c.accuracy)) : Cell(); }}}));
}

Table launches_table(const NetworkRun &run) {
    const std::vector<NetworkLaunch> &launches = run.first().launches;
    const std::vector<Seconds> ends = ends_of(run);
    const double untraced = untraced_share(run);
    const bool timed = !ends.empty(); // each launch was timed, or none
    const bool counted = std::ranges::any_of(launches, [](const auto &its) { return its.flops.has_value(); }),
               streams =
                   std::ranges::any_of(launches, [](const auto &its) { return its.stream.value_or(0) != 0; });
    Table table{{{"operators", As::text, Keep::must, Fit::cut},
                 {"shape", As::text, Keep::must},
                 {"strategy", As::text, Keep::must, Fit::knobs},
                 {"measured", As::time, Keep::must},
                 {timed ? "forecast" : "time", As::time, timed ? Keep::high : Keep::must},
                 {"forecast / measured", As::ratio, Keep::must},
                 {"share", As::share, timed ? Keep::normal : Keep::must},
                 {"/ bound", As::factor, Keep::low, Fit::whole, "over its bound"},
                 {"helps", As::text, Keep::normal, Fit::whole, "what helps most"},
                 {"FLOPs", As::number, Keep::low},
                 {"parameters", As::number, Keep::low},
                 {"ends at", As::time, Keep::low},
                 {"stream", As::number, Keep::low},
                 {"L2 error", As::number, Keep::low, Fit::whole, "relative L2 error"}}};
    for (std::size_t i = 0; i < launches.size(); ++i) {
        const NetworkLaunch &its = launches[i];
        const auto measured =
            its.measured ? std::optional(its.measured->time_s.median_s * untraced) : std::nullopt;
        const bool has_parameters = counted && its.parameters.value_or(0) > 0;
        table.rows.push_back(
            {its.label(), its.shape,
             !its.candidates.empty()          ? Cell(its.strategy())
             : its.kind == LaunchKind::placed ? Cell(std::string("in place"))
             : its.node                       ? Cell(kind_text(its))
                                              : Cell(),
             timed ? Cell(measured) : Cell(), its.time_s, timed ? ratio_of(its.time_s, measured) : Cell(),
             timed ? its.measured->share : its.share,
             its.light_s && *its.light_s > Seconds(0.0) ? Cell(measured.value_or(its.time_s) / *its.light_s)
                                                        : Cell(),
             its.helps ? its.helps->change + " " + change_text(its.helps->time_s / its.time_s - 1.0, 0) : "",
             its.flops ? Cell(readable(*its.flops, "FLOP")) : Cell(),
             has_parameters ? Cell(grouped(*its.parameters)) : Cell(), timed ? Cell(ends[i]) : Cell(),
             streams ? Cell(its.stream.value_or(0)) : Cell(),
             its.l2_error ? Cell(fmt::format("{:.0e}", *its.l2_error)) : Cell()});
    }
    return without_empty_columns(std::move(table),
                                 {"measured", "forecast / measured", "/ bound", "helps", "FLOPs", "ends at",
                                  "stream", "L2 error", counted ? "" : "parameters"});
}

std::string kind_text(const NetworkLaunch &launch) {
    if (launch.kind == LaunchKind::unknown)
        return "not known: " + launch.node.value_or("?");
    std::string text = boost::describe::enum_to_string(launch.kind, "?");
    std::ranges::replace(text, '_', ' ');
    if (launch.kind == LaunchKind::elementwise)
        return "number by number"; // as the timeline says it
    return launch.kind == LaunchKind::dense || launch.kind == LaunchKind::columns ? "dense layer" : text;
}

std::string unknown_words(const NetworkRun &run) {
    std::vector<std::string> types;
    std::int64_t nodes = 0;
    double share = 0.0;
    for (const NetworkLaunch &launch : run.first().launches)
        if (launch.kind == LaunchKind::unknown) {
            ++nodes, share += launch.share;
            add_once(types, launch.node.value_or("?"));
        }
    return nodes == 0 ? ""
                      : fmt::format("{} not known ({}) and forecast by the bytes {} alone: {} of the time",
                                    nodes == 1 ? "1 node is" : fmt::format("{} nodes are", nodes),
                                    join_some(types, 5), nodes == 1 ? "it moves" : "they move",
                                    percent_text(share, 1));
}

std::string judgement_of(const NetworkRun &run, const std::optional<OtherTime> &other) {
    if (run.first().training)
        return judgement_of_training(run.first());
    if (run.first().is_whole())
        return judgement_of_whole(run.first(), other);
    const CasesAccuracy accuracy = accuracy_of(run);
    std::string text = "No forecast has a time to hold against it.";
    if (accuracy.worst != nullptr)
        text = remark("network_cases", accuracy.within, accuracy.errors.size(),
                      100.0 * percentile(accuracy.errors, 0.5), accuracy.worst->name(),
                      signed_percent(error_of(*accuracy.worst)));
    if (run.shares_a_gpu())
        text += " " + remark("network_turns");
    return text;
}

PageReport report_on(const NetworkRun &run, const BesideNetwork &beside) {
    return {gpu_name(run.conditions, run.profile_id), figures_of(run, beside),
            [page = page_of(run, beside)](const auto &) { return page; }};
}

} // namespace convcast
