#include "reports/network_page.hpp"

#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "reports/html.hpp"
#include "reports/network_figures.hpp"
#include "reports/report_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

std::string micro(const std::optional<Seconds> &time) {
    return time ? microseconds(*time) : dash;
}

std::optional<Seconds> forecast_of(const RungResult &rung) {
    if (!rung.predicted)
        return std::nullopt;
    return rung.predicted->graph_s ? rung.predicted->graph_s : rung.predicted->stream_s;
}

class LadderPage : HtmlWriter {
  public:
    explicit LadderPage(const LadderReport &report) : report_(report), run_(report.run) {}

    std::string write() {
        const std::string judged = judgement_of(run_);
        open(fmt::format("Ladder of {}, batch {}", run_.network, run_.batch), judged);
        if (!judged.empty())
            add("<p class=\"answer\">{}</p>\n", escape_xml(judged));
        out_ += "<dl class=\"facts\">";
        fact("GPU", report_.gpu);
        if (run_.sequential_s)
            fact("one thread of the host's CPU, an image", micro(run_.sequential_s) + " µs");
        if (run_.published_cpu_s)
            fact("the same as published", micro(run_.published_cpu_s) + " µs");
        out_ += "</dl>\n</header>\n<main>\n";
        section("rungs", "Rungs");
        for (const Figure &its : figures_of(report_))
            if (its.point_count() > 0)
                figure(its);
        rungs();
        launches();
        out_ += "</section>\n<section><h2>Conditions</h2>\n<dl class=\"facts\">";
        for (const char *key : {"date", "version", "toolkit"})
            if (const auto found = run_.conditions.find(key); found != run_.conditions.end())
                fact(key, found->second);
        out_ += "</dl></section>\n";
        return close();
    }

  private:
    void section(const char *id, const char *title) { add("<section id=\"{}\"><h2>{}</h2>\n", id, title); }

    void rungs() {
        head(2, {"rung", "what it does", "measured, µs", "forecast, µs", "forecast / measured", "cold L2, µs",
                 "stream, µs", "stream forecast, µs", "published, µs", "kernels"});
        for (const RungResult &rung : run_.rungs) {
            const auto forecast = forecast_of(rung);
            line({rung.id, rung.reason ? rung.title + ": " + *rung.reason : rung.title,
                  micro(rung.graph_warm_s), micro(forecast),
                  forecast && rung.graph_warm_s ? fmt::format("{:.3f}", *forecast / *rung.graph_warm_s)
                                                : std::string(dash),
                  micro(rung.graph_cold_s), micro(rung.stream_warm_s),
                  micro(rung.predicted ? rung.predicted->stream_s : std::nullopt),
                  run_.batch == 1 ? micro(rung.published_s) : dash, std::to_string(rung.launches)});
        }
        tail();
    }

    /// Each kernel once, with the parts of its forecast in its first rung.
    void launches() {
        out_ += "<h3>What a launch's forecast consists of</h3>\n";
        head(3, {"kernel", "first in", "parts of its first wave, µs", "waves", "blocks an SM", "all, µs"});
        std::vector<std::string> seen;
        for (const RungResult &rung : run_.rungs) {
            if (!rung.predicted)
                continue;
            for (const RungLaunchForecast &launch : rung.predicted->launches) {
                if (std::find(seen.begin(), seen.end(), launch.kernel) != seen.end())
                    continue;
                seen.push_back(launch.kernel);
                std::string parts;
                for (const PhaseTime &part : launch.parts)
                    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", part.name,
                                         microseconds(part.time_s));
                line({launch.kernel, rung.id, parts, fmt::format("{:.2f}", launch.waves),
                      std::to_string(launch.ctas_per_sm), microseconds(launch.time_s)});
            }
        }
        tail();
    }

    const LadderReport &report_;
    const LadderRun &run_;
};

/// Of a strategy with its knobs, which the document has.
std::string name_of(const std::string &strategy) {
    return strategy.substr(0, strategy.find(':'));
}

class NetworkPage : HtmlWriter {
  public:
    explicit NetworkPage(const NetworkForecast &forecast) : forecast_(forecast) {}

    std::string write() {
        const Seconds all = forecast_.convolutions_s + forecast_.dense_s + forecast_.others_s;
        const std::string answer = fmt::format(
            "{} µs in one CUDA graph of {} nodes, {:.2f} times the bound; convolutions {:.1f} %, dense "
            "layers {:.1f} %, "
            "the rest {:.1f} %.",
            microseconds(forecast_.time_s), forecast_.nodes, forecast_.time_s / forecast_.light_s,
            100.0 * (forecast_.convolutions_s / all), 100.0 * (forecast_.dense_s / all),
            100.0 * (forecast_.others_s / all));
        open(fmt::format("{}, batch {}: forecast", forecast_.network, forecast_.batch), answer);
        add("<p class=\"answer\">{}</p>\n</header>\n<main>\n<section id=\"layers\"><h2>Layers</h2>\n",
            escape_xml(answer));
        figure(network_timeline_figure(forecast_), SvgUse::in_width);
        figure(network_layers_figure(forecast_));
        layers();
        changes();
        out_ += "<h3>Assumed</h3>\n<ul>";
        for (const std::string &text : forecast_.assumptions)
            add("<li>{}</li>", escape_xml(text));
        out_ += "</ul>\n<h3>Conditions</h3>\n<dl class=\"facts\">";
        fact("profile", forecast_.profile_id);
        for (const auto &[key, text] : forecast_.conditions)
            fact(key, text);
        out_ += "</dl>\n</section>\n";
        return close();
    }

  private:
    void layers() {
        head(1, {"operators", "time, µs", "share, %", "over its bound", "shape", "strategy"});
        for (const NetworkLaunch &launch : forecast_.launches) {
            std::string operators;
            for (const std::string &name : launch.operators)
                operators += (operators.empty() ? "" : " + ") + name;
            line({operators, microseconds(launch.time_s), fmt::format("{:.1f}", 100.0 * launch.share),
                  launch.light_s ? times(launch.time_s / *launch.light_s) : std::string(dash),
                  launch.shape.value_or(dash),
                  launch.candidates.empty() ? dash : name_of(launch.candidates.front().strategy)});
        }
        tail();
    }

    void changes() {
        if (forecast_.what_if.empty())
            return;
        out_ += "<h3>What would change it</h3>\n";
        head(1, {"change", "time, µs", "difference"});
        for (const WhatIf &change : forecast_.what_if)
            line({change.change, microseconds(change.time_s),
                  signed_percent(change.time_s / forecast_.time_s - 1.0)});
        tail();
    }

    const NetworkForecast &forecast_;
};

class WholePage : HtmlWriter {
  public:
    explicit WholePage(const WholeRun &run) : run_(run) {}

    std::string write() {
        const std::string answer = judgement_of(run_);
        open(fmt::format("{}, batch {}: run", run_.network, run_.batch), answer);
        add("<p class=\"answer\">{}{}</p>\n<dl class=\"facts\">", escape_xml(answer), escape_xml(traced()));
        spread("one call, kernels traced", run_.graph_s);
        spread("the same with cold L2", run_.graph_cold_s);
        spread("launch by launch", run_.stream_s);
        fact("bound", microseconds(run_.light_s) + " µs");
        out_ += "</dl>\n</header>\n<main>\n<section id=\"timeline\"><h2>Timeline</h2>\n";
        figure(network_timeline_figure(run_), SvgUse::in_width);
        out_ += "<h3>Launches</h3>\n";
        launches();
        if (!run_.assumptions.empty()) {
            out_ += "<h3>Assumed</h3>\n<ul>";
            for (const std::string &text : run_.assumptions)
                add("<li>{}</li>", escape_xml(text));
            out_ += "</ul>\n";
        }
        out_ += "<h3>Conditions</h3>\n<dl class=\"facts\">";
        fact("relative error of the outputs (L2 norm)", fmt::format("{:.1e}", run_.l2_error));
        fact("weights", run_.weights);
        fact("nodes of the graph", std::to_string(run_.nodes));
        fact("forecast from profile", run_.profile_id);
        for (const auto &[key, text] : run_.conditions)
            fact(key, text);
        out_ += "</dl>\n</section>\n";
        return close();
    }

  private:
    /// Why the timeline ends later than the headline says.
    std::string traced() const {
        const std::vector<Seconds> ends = ends_of(run_);
        if (ends.empty() || !run_.replayed_s)
            return "";
        return fmt::format(" Nothing traces these calls: 5 % to 95 % of them take {} to {} µs. The timeline "
                           "below is of traced calls and ends at {} µs.",
                           microseconds(run_.replayed_s->p05_s), microseconds(run_.replayed_s->p95_s),
                           microseconds(*std::max_element(ends.begin(), ends.end())));
    }

    void spread(const char *name, const std::optional<TimeSpread> &time) {
        if (time)
            fact(name, fmt::format("{} µs ({} to {})", microseconds(time->median_s),
                                   microseconds(time->p05_s), microseconds(time->p95_s)));
    }

    void launches() {
        head(1, {"operators", "measured, µs", "forecast, µs", "forecast / measured", "share, %",
                 "ends at, µs", "stream", "relative error (L2 norm)", "shape", "strategy"});
        const std::vector<Seconds> ends = ends_of(run_);
        for (std::size_t i = 0; i < run_.launches.size(); ++i) {
            const WholeLaunch &launch = run_.launches[i];
            const bool timed = launch.time_s.has_value();
            line({join(launch.operators, " + "), timed ? microseconds(launch.time_s->median_s) : dash,
                  microseconds(launch.forecast_s),
                  timed ? fmt::format("{:.3f}", launch.forecast_s / launch.time_s->median_s) : dash,
                  timed ? fmt::format("{:.1f}", 100.0 * launch.share) : dash,
                  i < ends.size() ? microseconds(ends[i]) : dash, std::to_string(launch.stream.value_or(0)),
                  launch.l2_error ? fmt::format("{:.0e}", *launch.l2_error) : dash,
                  launch.shape.value_or(dash),
                  launch.strategy ? name_of(*launch.strategy) : std::string(dash)});
        }
        tail();
    }

    const WholeRun &run_;
};

} // namespace

std::vector<Figure> figures_of(const LadderReport &report) {
    std::vector<Figure> figures = ladder_figures(report.run);
    if (!report.scaling.empty())
        figures.push_back(scaling_figure(report.scaling, "scaling",
                                         "A step of " + report.run.network + " on several GPUs, forecast",
                                         report.gpu));
    return figures;
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

ReportFiles write_report(const LadderReport &report, const std::filesystem::path &folder) {
    ReportFiles files = write_figures(figures_of(report), folder);
    write_file_atomically(files.page.string(), LadderPage(report).write());
    return files;
}

std::string judgement_of(const WholeRun &run) {
    if (run.reason)
        return std::string(boost::describe::enum_to_string(run.status, "?")) + ": " + *run.reason + ".";
    const std::optional<TimeSpread> &time = run.replayed_s ? run.replayed_s : run.graph_s;
    if (!time)
        return "No time was measured.";
    return fmt::format("{} µs measured, {} µs forecast ({}); {:.0f} images a second, {:.2f} times the bound.",
                       microseconds(time->median_s), microseconds(run.forecast_s),
                       signed_percent(run.forecast_s / time->median_s - 1.0),
                       static_cast<double>(run.batch) / time->median_s.value, time->median_s / run.light_s);
}

ReportFiles write_report(const WholeRun &run, const std::filesystem::path &folder) {
    ReportFiles files = write_figures({network_timeline_figure(run)}, folder);
    write_file_atomically(files.page.string(), WholePage(run).write());
    return files;
}

ReportFiles write_report(const NetworkForecast &forecast, const std::filesystem::path &folder) {
    ReportFiles files =
        write_figures({network_timeline_figure(forecast), network_layers_figure(forecast)}, folder);
    write_file_atomically(files.page.string(), NetworkPage(forecast).write());
    return files;
}

} // namespace convcast
