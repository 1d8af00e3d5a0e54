#include "reports/network_page.hpp"

#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "reports/html.hpp"
#include "reports/network_figures.hpp"
#include "reports/report_figures.hpp"
#include "reports/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
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

/// Of a title: where it was measured.
std::string on(const std::string &gpu) {
    return gpu.empty() ? "" : ", on " + gpu;
}

class LadderPage : HtmlWriter {
  public:
    explicit LadderPage(const LadderReport &report) : report_(report), run_(report.run) {}

    std::string write() {
        const std::string judged = judgement_of(run_);
        open(fmt::format("Ladder of {}, batch {}{}", run_.network, run_.batch, on(report_.gpu)), judged);
        const bool traced = std::any_of(run_.rungs.begin(), run_.rungs.end(),
                                        [](const RungResult &rung) { return !rung.kernels.empty(); });
        std::vector<std::pair<std::string, std::string>> parts = {{"rungs", "implementations"}};
        if (traced)
            parts.emplace_back("kernels", "kernels");
        parts.insert(parts.end(), {{"launches", "launches"}, {"conditions", "conditions"}});
        if (!judged.empty())
            add("<p class=\"answer\">{}</p>\n", escape_xml(judged));
        nav(parts);
        out_ += "</header>\n<main>\n";
        tiles();
        out_ += "<dl class=\"facts\">";
        if (run_.sequential_s)
            fact("one thread of the host's CPU, an image", micro(run_.sequential_s) + " µs");
        if (run_.published_cpu_s)
            fact("the same as published", micro(run_.published_cpu_s) + " µs");
        out_ += "</dl>\n";
        section("rungs", "Implementations");
        out_ += "<div class=\"pair\">";
        for (const Figure &its : figures_of(report_))
            if (its.point_count() > 0)
                figure(its, SvgUse::in_pair);
        out_ += "</div>\n";
        rungs();
        out_ += "</section>\n";
        if (traced)
            kernels();
        section("launches", "What a launch's forecast consists of");
        launches();
        out_ += "</section>\n<section id=\"conditions\"><h2>Conditions</h2>\n<dl class=\"facts\">";
        for (const char *key : {"date", "version", "toolkit"})
            if (const auto found = run_.conditions.find(key); found != run_.conditions.end())
                fact(key, found->second);
        out_ += "</dl></section>\n";
        return close_figures();
    }

  private:
    void tiles() {
        const RungResult *best = nullptr, *papers = nullptr, *off = nullptr;
        std::size_t all = 0, within = 0;
        for (const RungResult &rung : run_.rungs) {
            if (!rung.graph_warm_s)
                continue;
            if (best == nullptr || *rung.graph_warm_s < *best->graph_warm_s)
                best = &rung;
            if (run_.batch == 1 && rung.published_s &&
                (papers == nullptr || *rung.published_s < *papers->published_s))
                papers = &rung;
            if (const auto forecast = forecast_of(rung)) {
                const double error = *forecast / *rung.graph_warm_s - 1.0;
                ++all;
                within += std::abs(error) <= 0.1 ? 1 : 0;
                if (off == nullptr || std::abs(error) > std::abs(error_of(*off)))
                    off = &rung;
            }
        }
        if (best == nullptr)
            return;
        open_tiles();
        tile(microseconds(*best->graph_warm_s) + "\u00a0µs",
             "the fastest implementation, " + breakable(best->id),
             fmt::format("of {}, in one CUDA graph",
                         count(std::ssize(run_.rungs), "implementation", "implementations")));
        if (papers != nullptr)
            tile(times(*papers->published_s / *papers->graph_warm_s),
                 "faster here than published, the paper's fastest, " + breakable(papers->id),
                 fmt::format("{} µs here, {} µs published{}", microseconds(*papers->graph_warm_s),
                             microseconds(*papers->published_s),
                             run_.published_gpu ? " on " + *run_.published_gpu : std::string()));
        if (off != nullptr) {
            tile(signed_percent(error_of(*off)), "the largest miss of the forecast, " + breakable(off->id),
                 fmt::format("{} µs forecast, {} µs measured", micro(forecast_of(*off)),
                             micro(off->graph_warm_s)));
            tile(fmt::format("{} of {}", within, all), "forecasts within 10\u00a0%", "of the measured time");
        }
        close_tiles();
    }

    static double error_of(const RungResult &rung) { return *forecast_of(rung) / *rung.graph_warm_s - 1.0; }

    /// Of the runs that kept it: each kernel in a call, by its activity records.
    void kernels() {
        section("kernels", "Each kernel, measured and forecast");
        head(2,
             {"implementation", "kernel", "launches", "measured, µs", "forecast, µs", "forecast / measured"});
        for (const RungResult &rung : run_.rungs)
            for (const RungKernelTime &kernel : rung.kernels) {
                std::optional<Seconds> forecast;
                if (rung.predicted)
                    for (const RungLaunchForecast &launch : rung.predicted->launches)
                        if (launch.kernel == kernel.kernel)
                            forecast = launch.record_s;
                line({rung.id, kernel.kernel, std::to_string(kernel.launches), microseconds(kernel.time_s),
                      micro(forecast),
                      forecast && kernel.time_s.value > 0.0 ? fmt::format("{:.3f}", *forecast / kernel.time_s)
                                                            : std::string(dash)});
            }
        tail();
        out_ += "<p class=\"small\">Times are of one launch as activity records have them: with what an "
                "empty kernel "
                "takes, which a call pays once. They are the mean of a call's launches, the median over the "
                "calls.</p>\n</section>\n";
    }

    void section(const char *id, const char *title) { add("<section id=\"{}\"><h2>{}</h2>\n", id, title); }

    void rungs() {
        head(1, {"implementation", "measured, µs", "forecast, µs", "forecast / measured", "cold L2, µs",
                 "stream, µs", "stream forecast, µs", "published, µs", "kernels"});
        for (const RungResult &rung : run_.rungs) {
            const auto forecast = forecast_of(rung);
            add("<tr><th scope=\"row\">{}<small class=\"what\">{}</small></th>", breakable(rung.id),
                breakable(rung.reason ? rung.title + ": " + *rung.reason : rung.title));
            for (const std::string &cell :
                 {micro(rung.graph_warm_s), micro(forecast),
                  forecast && rung.graph_warm_s ? fmt::format("{:.3f}", *forecast / *rung.graph_warm_s)
                                                : std::string(dash),
                  micro(rung.graph_cold_s), micro(rung.stream_warm_s),
                  micro(rung.predicted ? rung.predicted->stream_s : std::nullopt),
                  run_.batch == 1 ? micro(rung.published_s) : dash, std::to_string(rung.launches)})
                add("<td>{}</td>", cell);
            out_ += "</tr>\n";
        }
        tail();
    }

    /// Each kernel once, with the parts of its forecast in its first rung.
    void launches() {
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
        open(fmt::format("{}, batch {}: forecast for {}", forecast_.network, forecast_.batch,
                         gpu_name(forecast_.conditions, forecast_.profile_id)),
             answer);
        add("<p class=\"answer\">{}</p>\n", escape_xml(answer));
        std::vector<std::pair<std::string, std::string>> parts = {{"layers", "layers"}};
        if (!forecast_.what_if.empty())
            parts.emplace_back("changes", "changes");
        parts.emplace_back("conditions", "conditions");
        nav(parts);
        out_ += "</header>\n<main>\n";
        tiles(all);
        out_ += "<section id=\"layers\"><h2>Layers</h2>\n";
        figure(network_timeline_figure(forecast_), SvgUse::in_width);
        figure(network_layers_figure(forecast_));
        layers();
        changes();
        out_ += "</section>\n<section id=\"conditions\"><h2>Conditions</h2>\n<h3>Assumed</h3>\n<ul>";
        for (const std::string &text : forecast_.assumptions)
            add("<li>{}</li>", escape_xml(text));
        out_ += "</ul>\n<dl class=\"facts\">";
        fact("profile", forecast_.profile_id);
        for (const auto &[key, text] : forecast_.conditions)
            fact(key, text);
        out_ += "</dl>\n</section>\n";
        return close_figures();
    }

  private:
    void tiles(Seconds all) {
        open_tiles();
        tile(microseconds(forecast_.time_s) + "\u00a0µs", "forecast of one call",
             fmt::format("one CUDA graph of {} nodes", forecast_.nodes));
        tile(times(forecast_.time_s / forecast_.light_s), "the bound",
             fmt::format("{} µs: peak arithmetic, every byte moved once", microseconds(forecast_.light_s)));
        tile(fmt::format("{:.1f}\u00a0%", 100.0 * (forecast_.convolutions_s / all)), "convolutions",
             fmt::format("dense layers {:.1f} %, the rest {:.1f} %", 100.0 * (forecast_.dense_s / all),
                         100.0 * (forecast_.others_s / all)));
        const auto longest = std::max_element(
            forecast_.launches.begin(), forecast_.launches.end(),
            [](const NetworkLaunch &a, const NetworkLaunch &b) { return a.time_s < b.time_s; });
        if (longest != forecast_.launches.end())
            tile(microseconds(longest->time_s) + "\u00a0µs",
                 "the costliest layer, " + breakable(longest->operators.front()),
                 fmt::format("{:.1f} % of the time", 100.0 * longest->share));
        close_tiles();
    }

    void layers() {
        head(3, {"operators", "shape", "strategy", "time, µs", "share, %", "over its bound"});
        for (const NetworkLaunch &launch : forecast_.launches) {
            std::string operators;
            for (const std::string &name : launch.operators)
                operators += (operators.empty() ? "" : " + ") + name;
            line({operators, launch.shape.value_or(dash),
                  launch.candidates.empty() ? dash : name_of(launch.candidates.front().strategy),
                  microseconds(launch.time_s), fmt::format("{:.1f}", 100.0 * launch.share),
                  launch.light_s ? times(launch.time_s / *launch.light_s) : std::string(dash)});
        }
        tail();
    }

    void changes() {
        if (forecast_.what_if.empty())
            return;
        out_ += "<h3 id=\"changes\">What would change it</h3>\n";
        head(1, {"change", "time, µs", "difference"});
        for (const ChangedNetwork &change : forecast_.what_if)
            line({change.change, microseconds(change.time_s),
                  signed_percent(change.time_s / forecast_.time_s - 1.0)});
        tail();
    }

    const NetworkForecast &forecast_;
};

class WholePage : HtmlWriter {
  public:
    WholePage(const WholeRun &run, const std::optional<OtherTime> &other) : run_(run), other_(other) {}

    std::string write() {
        const std::string answer = judgement_of(run_, other_);
        open(fmt::format("{}, batch {}{}", run_.network, run_.batch,
                         on(gpu_name(run_.conditions, run_.profile_id))),
             answer);
        add("<p class=\"answer\">{}</p>\n", escape_xml(answer));
        nav({{"timeline", "timeline"}, {"launches", "launches"}, {"conditions", "conditions"}});
        out_ += "</header>\n<main>\n";
        tiles();
        out_ += "<dl class=\"facts\">";
        spread("one call, by events, nothing traced", run_.replayed_s);
        spread("one call, kernels traced", run_.graph_s);
        spread("the same with cold L2", run_.graph_cold_s);
        spread("launch by launch, kernels traced", run_.stream_s);
        fact("bound", microseconds(run_.light_s) + " µs");
        out_ += "</dl>\n";
        traced();
        out_ += "<section id=\"timeline\"><h2>Timeline</h2>\n";
        figure(network_timeline_figure(run_), SvgUse::in_width);
        out_ += "</section>\n<section id=\"launches\"><h2>Launches</h2>\n";
        launches();
        out_ += "</section>\n<section id=\"conditions\"><h2>Conditions</h2>\n";
        if (!run_.assumptions.empty()) {
            out_ += "<h3>Assumed</h3>\n<ul>";
            for (const std::string &text : run_.assumptions)
                add("<li>{}</li>", escape_xml(text));
            out_ += "</ul>\n";
        }
        out_ += "<dl class=\"facts\">";
        fact("relative error of the outputs (L2 norm)", fmt::format("{:.1e}", run_.l2_error));
        fact("weights", run_.weights);
        fact("nodes of the graph", std::to_string(run_.nodes));
        fact("forecast from profile", run_.profile_id);
        for (const auto &[key, text] : run_.conditions)
            fact(key, text);
        out_ += "</dl>\n</section>\n";
        return close_figures();
    }

  private:
    void tiles() {
        const std::optional<TimeSpread> &time = run_.replayed_s ? run_.replayed_s : run_.graph_s;
        if (!time)
            return;
        open_tiles();
        tile(microseconds(time->median_s) + "\u00a0µs", "measured, one call",
             fmt::format("{:.0f} images a second", static_cast<double>(run_.batch) / time->median_s.value));
        tile(signed_percent(run_.forecast_s / time->median_s - 1.0), "error of the forecast",
             fmt::format("{} µs forecast", microseconds(run_.forecast_s)));
        if (other_)
            tile(times(other_->time_s / time->median_s), "as fast as " + escape_xml(other_->by),
                 fmt::format("which takes {} µs, timed in the same way", microseconds(other_->time_s)));
        tile(times(time->median_s / run_.light_s), "the bound",
             fmt::format("{} µs: peak arithmetic, every byte moved once", microseconds(run_.light_s)));
        Seconds convolutions(0.0), all(0.0);
        const WholeLaunch *longest = nullptr;
        for (const WholeLaunch &launch : run_.launches)
            if (launch.time_s) {
                all += launch.time_s->median_s;
                if (launch.kind == LaunchKind::convolution)
                    convolutions += launch.time_s->median_s;
                if (longest == nullptr || longest->time_s->median_s < launch.time_s->median_s)
                    longest = &launch;
            }
        if (longest != nullptr && !longest->operators.empty())
            tile(microseconds(longest->time_s->median_s * share_) + "\u00a0µs",
                 "the costliest layer, " + breakable(longest->operators.front()),
                 fmt::format("{:.1f} % of the time; convolutions {:.1f} %", 100.0 * longest->share,
                             100.0 * (convolutions / all)));
        close_tiles();
    }

    /// Which measured time the single launches are of.
    void traced() {
        if (share_ == 1.0)
            return;
        add("<p class=\"small\">The measured time of this page is that of a call that nothing traces, {} µs; "
            "the forecast is of the same. Single launches can only be timed while they are traced, which "
            "makes the call take {} µs. Their times, here and in the timeline, are therefore multiplied by "
            "{:.3f}: "
            "they add up to the {} µs. The document has them as they were recorded.</p>\n",
            microseconds(run_.replayed_s->median_s), microseconds(run_.replayed_s->median_s * (1.0 / share_)),
            share_, microseconds(run_.replayed_s->median_s));
    }

    void spread(const char *name, const std::optional<TimeSpread> &time) {
        if (time)
            fact(name, fmt::format("{} µs ({} to {})", microseconds(time->median_s),
                                   microseconds(time->p05_s), microseconds(time->p95_s)));
    }

    void launches() {
        const bool streams =
            std::any_of(run_.launches.begin(), run_.launches.end(),
                        [](const WholeLaunch &launch) { return launch.stream.value_or(0) != 0; });
        std::vector<std::string> names = {"operators",    "shape",        "strategy",
                                          "measured, µs", "forecast, µs", "forecast / measured",
                                          "share, %",     "ends at, µs"};
        if (streams)
            names.push_back("stream");
        names.push_back("relative error (L2 norm)");
        head(3, names);
        const std::vector<Seconds> ends = ends_of(run_);
        for (std::size_t i = 0; i < run_.launches.size(); ++i) {
            const WholeLaunch &launch = run_.launches[i];
            const bool timed = launch.time_s.has_value();
            std::vector<std::string> cells = {
                join(launch.operators, " + "),
                launch.shape.value_or(dash),
                launch.strategy ? name_of(*launch.strategy) : std::string(dash),
                timed ? microseconds(launch.time_s->median_s * share_) : dash,
                microseconds(launch.forecast_s),
                timed ? fmt::format("{:.3f}", launch.forecast_s / (launch.time_s->median_s * share_)) : dash,
                timed ? fmt::format("{:.1f}", 100.0 * launch.share) : dash,
                i < ends.size() ? microseconds(ends[i]) : dash};
            if (streams)
                cells.push_back(std::to_string(launch.stream.value_or(0)));
            cells.push_back(launch.l2_error ? fmt::format("{:.0e}", *launch.l2_error) : dash);
            line(cells);
        }
        tail();
    }

    const WholeRun &run_;
    const std::optional<OtherTime> &other_;
    const double share_ = untraced_share(run_);
};

/// Whether the measured time says how good the forecast is: shares that lie on one GPU take turns.
bool comparable(const Scaling &scaling, const ScalingCase &c) {
    return c.forecast && c.measured &&
           (c.devices == 1 || !scaling.conditions.contains("several_shares_a_gpu"));
}

class ScalingPage : HtmlWriter {
  public:
    explicit ScalingPage(const Scaling &scaling) : scaling_(scaling) {}

    std::string write() {
        const std::string judged = judgement_of(scaling_);
        const std::string gpu = gpu_name(scaling_.conditions, scaling_.profile_id);
        open(scaling_.network + " on several GPUs" + (gpu.empty() ? "" : " (" + gpu + ")"), judged);
        add("<p class=\"answer\">{}</p>\n", escape_xml(judged));
        nav({{"speed-up", "speed-up"}, {"cases", "cases"}, {"conditions", "conditions"}});
        out_ += "</header>\n<main>\n";
        tiles();
        out_ += "<section id=\"speed-up\"><h2>Speed-up over one GPU</h2>\n";
        for (const Figure &its : figures_of(scaling_))
            if (its.point_count() > 0)
                figure(its);
        advice();
        out_ += "</section>\n<section id=\"cases\"><h2>Cases</h2>\n";
        cases();
        out_ += "</section>\n<section id=\"conditions\"><h2>Conditions</h2>\n";
        if (!scaling_.assumptions.empty()) {
            out_ += "<h3>Assumed</h3>\n<ul>";
            for (const std::string &text : scaling_.assumptions)
                add("<li>{}</li>", escape_xml(text));
            out_ += "</ul>\n";
        }
        out_ += "<dl class=\"facts\">";
        fact("profile", scaling_.profile_id);
        fact("link, one way while as much goes the other way",
             fmt::format("{:.1f} GB/s", scaling_.peers.bandwidth_bytes_per_s.value * 1e-9));
        fact("latency of a link", microseconds(scaling_.peers.latency_s) + " µs");
        for (const auto &[key, text] : scaling_.conditions)
            fact(key, text);
        out_ += "</dl>\n</section>\n";
        return close_figures();
    }

  private:
    void tiles() {
        open_tiles();
        const ScalingCase *best = nullptr, *off = nullptr, *fastest = nullptr;
        for (const ScalingCase &c : scaling_.cases) {
            const auto faster = [](const ScalingCase *than, const auto &rates, const ScalingCase &one) {
                return one.devices > 1 && one.*rates &&
                       (than == nullptr || (one.*rates)->speed_up > (than->*rates)->speed_up);
            };
            if (faster(best, &ScalingCase::forecast_rates, c))
                best = &c;
            if (comparable(scaling_, c) && faster(fastest, &ScalingCase::measured_rates, c))
                fastest = &c;
            if (comparable(scaling_, c) && (off == nullptr || std::abs(error(c)) > std::abs(error(*off))))
                off = &c;
        }
        if (fastest != nullptr)
            tile(times(fastest->measured_rates->speed_up), "the largest speed-up, measured", name(*fastest));
        if (best != nullptr)
            tile(times(best->forecast_rates->speed_up), "the largest speed-up, forecast", name(*best));
        if (off != nullptr)
            tile(signed_percent(error(*off)), "the largest miss of the forecast", name(*off));
        if (scaling_.conditions.contains("several_shares_a_gpu"))
            tile(std::to_string(scaling_.devices.size()), "shares of a step", "several of them on one GPU");
        else
            tile(std::to_string(scaling_.devices.size()), "GPUs", "of one host");
        close_tiles();
    }

    static double error(const ScalingCase &c) { return c.forecast->step_s / c.measured->step_s - 1.0; }
    static std::string name(const ScalingCase &c) {
        return fmt::format("{}, {}, {} images", to_text(c.split), count(c.devices, "GPU", "GPUs"), c.batch);
    }

    void advice() {
        if (scaling_.advice.empty())
            return;
        out_ += "<h3>From how many images a step it pays, by the forecast</h3>\n";
        head(1, {"split", "GPUs", "faster than one GPU from", "efficiency of 0.9 from"});
        const auto from = [](const std::optional<std::int64_t> &images) {
            return images ? std::to_string(*images) : std::string(dash);
        };
        for (const ScalingAdvice &a : scaling_.advice)
            line({to_text(a.split), std::to_string(a.devices), from(a.pays_from), from(a.efficient_from)});
        tail();
    }

    void cases() {
        head(1, {"split", "GPUs", "images a step", "measured, µs", "forecast, µs", "forecast / measured",
                 "speed-up measured", "speed-up forecast", "efficiency forecast", "exchange forecast, µs"});
        for (const ScalingCase &c : scaling_.cases)
            line({to_text(c.split), std::to_string(c.devices), std::to_string(c.batch),
                  c.measured ? microseconds(c.measured->step_s) : std::string(dash),
                  c.forecast ? microseconds(c.forecast->step_s) : std::string(dash),
                  comparable(scaling_, c) ? fmt::format("{:.3f}", 1.0 + error(c)) : std::string(dash),
                  c.measured_rates && c.devices > 1 && comparable(scaling_, c)
                      ? times(c.measured_rates->speed_up)
                      : std::string(dash),
                  c.forecast_rates && c.devices > 1 ? times(c.forecast_rates->speed_up) : std::string(dash),
                  c.forecast_rates ? fmt::format("{:.2f}", c.forecast_rates->efficiency) : std::string(dash),
                  c.forecast ? microseconds(c.forecast->communication_s) : std::string(dash)});
        tail();
        for (const ScalingCase &c : scaling_.cases)
            if (c.reason) { // once: they are alike
                add("<p class=\"small\">{}: {}.</p>\n", escape_xml(to_text(c.split)), escape_xml(*c.reason));
                break;
            }
    }

    const Scaling &scaling_;
};

class TrainingPage : HtmlWriter {
  public:
    explicit TrainingPage(const TrainingRun &run) : run_(run) {}

    std::string write() {
        const std::string judged = judgement_of(run_);
        const auto gpu = run_.conditions.find("gpu");
        open((run_.steps > 0 ? "Training of " : "Accuracy of ") + run_.network +
                 on(gpu == run_.conditions.end() ? "" : gpu->second),
             judged);
        add("<p class=\"answer\">{}</p>\n", escape_xml(judged));
        std::vector<std::pair<std::string, std::string>> parts;
        if (!run_.rungs.empty())
            parts.emplace_back("rungs", "implementations");
        parts.insert(parts.end(), {{"settings", "settings"}, {"conditions", "conditions"}});
        nav(parts);
        out_ += "</header>\n<main>\n";
        open_tiles();
        tile(fmt::format("{:.2f}\u00a0%", 100.0 * run_.accuracy), "classified right",
             fmt::format("of {} {}", run_.test_images, run_.tested_on));
        tile(fmt::format("{} of {}", run_.disagreements, run_.checked), "classified otherwise in double",
             fmt::format("on the CPU, which is right on {:.1f} %", 100.0 * run_.reference_accuracy));
        if (run_.step_s)
            tile(microseconds(*run_.step_s) + "\u00a0µs", "a step",
                 fmt::format("of {} images", run_.descent.batch));
        if (run_.steps > 0)
            tile(fmt::format("{:.2f}\u00a0s", run_.time_s.value), count(run_.epochs, "epoch", "epochs"),
                 fmt::format("of {} images, {} steps", run_.images, run_.steps));
        close_tiles();
        if (!run_.rungs.empty()) {
            out_ += "<section id=\"rungs\"><h2>The same parameters by each implementation</h2>\n";
            head(1, {"implementation", "classified right, %", "images classified otherwise"});
            for (const RungAccuracy &rung : run_.rungs)
                line({rung.id, fmt::format("{:.2f}", 100.0 * rung.accuracy),
                      std::to_string(rung.disagreements)});
            tail();
            out_ += "</section>\n";
        }
        out_ += "<section id=\"settings\"><h2>Settings</h2>\n<dl class=\"facts\">";
        fact("images", run_.data);
        fact("images of a step", std::to_string(run_.descent.batch));
        fact("epochs", std::to_string(run_.epochs));
        fact("rate of the first epoch", fmt::format("{:g}", run_.descent.rate));
        fact("momentum", fmt::format("{:g}", run_.descent.momentum));
        fact("decay", fmt::format("{:g}", run_.descent.decay));
        out_ += "</dl>\n</section>\n<section id=\"conditions\"><h2>Conditions</h2>\n<dl class=\"facts\">";
        for (const auto &[key, text] : run_.conditions)
            fact(key, text);
        out_ += "</dl>\n</section>\n";
        return close_figures();
    }

  private:
    const TrainingRun &run_;
};

} // namespace

std::vector<Figure> figures_of(const Scaling &scaling) {
    return {speed_up_figure(scaling)};
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

ReportFiles write_report(const Scaling &scaling, const std::filesystem::path &folder) {
    ReportFiles files = write_figures(figures_of(scaling), folder);
    write_into_folder(files.page, ScalingPage(scaling).write());
    return files;
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

ReportFiles write_report(const TrainingRun &run, const std::filesystem::path &folder) {
    ReportFiles files = write_figures({}, folder);
    write_into_folder(files.page, TrainingPage(run).write());
    return files;
}

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
    write_into_folder(files.page, LadderPage(report).write());
    return files;
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

ReportFiles write_report(const WholeRun &run, const std::filesystem::path &folder,
                         const std::optional<OtherTime> &other) {
    ReportFiles files = write_figures({network_timeline_figure(run)}, folder);
    write_file_atomically(files.page.string(), WholePage(run, other).write());
    return files;
}

ReportFiles write_report(const NetworkForecast &forecast, const std::filesystem::path &folder) {
    ReportFiles files =
        write_figures({network_timeline_figure(forecast), network_layers_figure(forecast)}, folder);
    write_into_folder(files.page, NetworkPage(forecast).write());
    return files;
}

} // namespace convcast
