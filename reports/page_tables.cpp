#include "reports/page_writer.hpp"

#include "reports/report_figures.hpp"
#include "reports/timeline_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

using shown::factor;
using shown::percent;
using shown::ratio;
using shown::time;
using shown::word;

void PageWriter::accuracy() {
    if (!measured())
        return;
    std::string heading = "Accuracy";
    for (const ErrorStatistics &e : statistics_.errors)
        if (e.group == "all" && e.median && e.max)
            heading =
                fmt::format("Accuracy: {} off in the median, {} at worst", percent(e.median), percent(e.max));
    begin("accuracy", heading);
    out_ += "<div class=\"pair\">";
    figure("relative_error", SvgUse::in_screen);
    farthest();
    figures_with("error_");
    figures_with("predicted_");
    out_ += "</div>\n";
    open_details("The numbers, by strategy");
    head(1, {"strategy", "cases", "no forecast", "bias", "median |error|", "mean", "mean, symmetric",
             "90th percentile", "largest", "within 10 %"});
    for (const ErrorStatistics &e : statistics_.errors)
        line({e.group, std::to_string(e.n), std::to_string(e.no_forecast), ratio(e.bias), percent(e.median),
              percent(e.mean), percent(e.symmetric), percent(e.p90), percent(e.max),
              percent(e.within_10_percent)});
    tail();
    add("<p class=\"small\">Over the ok cases with a forecast and a cold measurement. error: {}. bias: "
        "geometric "
        "mean of forecast / measured. Percentiles by {}. The speed-of-light row is what launch floor, peak "
        "FMAs and "
        "bytes alone would have said: the bar that the model has to beat.</p>\n",
        escape_xml(statistics_.error), escape_xml(statistics_.percentile));
    close_details();
    parts();
    end();
}

/// The cases that the forecast misses most.
void PageWriter::farthest() {
    constexpr std::size_t most = 20;
    std::vector<const CaseRow *> rows;
    for (const CaseRow &row : statistics_.cases)
        if (!row.baseline && row.error)
            rows.push_back(&row);
    const std::size_t shown = std::min(most, rows.size());
    std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(shown), rows.end(),
                      [](const CaseRow *a, const CaseRow *b) {
                          const double x = std::abs(*a->error), y = std::abs(*b->error);
                          return x != y ? x > y : a->id < b->id;
                      });
    out_ += "<div><h3>Where it is farthest off</h3>\n";
    out_ += "<div class=\"scroll\"><table class=\"farthest\"><thead><tr><th scope=\"col\">shape</th>"
            "<th scope=\"col\">error</th><th scope=\"col\">forecast, µs</th>"
            "<th scope=\"col\">measured, µs</th><th scope=\"col\" class=\"beside\">strategy</th></tr>"
            "</thead><tbody>\n";
    for (std::size_t i = 0; i < shown; ++i) {
        const CaseRow &row = *rows[i];
        add("<tr><th scope=\"row\">{0}<small class=\"under\">{4}</small></th><td>{1}</td><td>{2}</td>"
            "<td>{3}</td><td class=\"beside\">{4}</td></tr>\n",
            case_link(row.id, row.shape), signed_percent(*row.error), time(row.predicted_s), time(row.cold_s),
            breakable(row.group));
    }
    tail();
    out_ += "</div>\n";
}

/// Judged on the shapes whose times nothing was fitted to, the training part beside.
void PageWriter::parts() {
    const Accuracy &a = statistics_.accuracy;
    if (a.times.empty())
        return;
    open_details("By the part of the shapes: training and test, and against other models");
    head(2, {"part", "model", "cases", "mean |error|", "symmetric", "median", "90th percentile", "bias",
             "inside the 90 % interval"});
    for (const TimeAccuracy &t : a.times)
        line({t.part, t.model, std::to_string(t.n), percent(t.mean), percent(t.symmetric), percent(t.median),
              percent(t.p90), ratio(t.bias), percent(t.coverage)});
    tail();
    out_ += "<p class=\"small\">A fifth of the shapes, by a hash of their text, is for training: the "
            "kernels' facts "
            "were regressed on its counters, the four numbers fitted to its times. The test part is the "
            "rest. Rows "
            "by what the forecast knew: <q>without counters</q> no facts and the four numbers as assumed; "
            "<q>probes "
            "and counters</q> the facts, but no time (<q>probes alone</q> where these forecasts had no "
            "facts); <q>four numbers fitted</q> both; <q>new kernel</q> no "
            "facts of "
            "the strategy itself, and the four numbers fitted to this run's training part without it. The "
            "constants "
            "of the program stay in all of them, also those that people read off counters "
            "(docs/constants.md).</p>\n";
    if (!a.work.empty()) {
        out_ += "<h3>Work over the test part</h3>\n";
        head(1, {"quantity", "cases", "mean |error|", "median", "90th percentile", "within 1 %"});
        for (const WorkAccuracy &w : a.work)
            line({w.quantity, std::to_string(w.n), percent(w.mean), percent(w.median), percent(w.p90),
                  percent(w.within_1_percent)});
        tail();
    }
    if (!a.rankings.empty()) {
        out_ += "<h3>Ranking the measured settings of a shape, test part</h3>\n";
        head(1, {"model", "shapes", "mean regret", "first within 5 % of the fastest", "Kendall's tau"});
        for (const RankingAccuracy &r : a.rankings)
            line({r.model, std::to_string(r.shapes), percent(r.mean_regret), percent(r.within_5_percent),
                  ratio(r.kendall_tau)});
        tail();
    }
    close_details();
}

void PageWriter::regimes() {
    const RegimeTables &r = statistics_.regimes;
    if (r.opinions.empty() && !can_draw("sweep_") && !can_draw("regime"))
        return;
    std::string heading = "Regimes: what hides the memory latency";
    if (const RegimeStatistics *forecast = over_all(r, "forecast"))
        heading = fmt::format("Regimes: the forecast agrees with the counters on {} of {} cases ({})",
                              forecast->agree, forecast->n, worth_of(*forecast));
    begin("regimes", heading);
    add("<p class=\"lead\">What hides the memory latency: enough FMAs ({}), enough bytes in flight ({}), or "
        "neither ({}). The paper's rule, the physical rule and the forecast each say which; the counters "
        "decide.</p>\n",
        word_button("compute bound", "compute"), word_button("memory bound", "memory"),
        word_button("exposed", "exposed"));
    maps();
    out_ += "<div class=\"pair\">";
    figures_with("regime");
    figures_with("sweep_");
    figures_with("stalls");
    out_ += "</div>\n";
    if (!r.opinions.empty()) {
        open_details("Which opinion agrees with the counters");
        head(2, {"strategy", "opinion", "cases", "agree", "always the commonest", "kappa", "balanced"});
        for (const RegimeStatistics &o : r.opinions)
            line({o.group, words_of_opinion(o), std::to_string(o.n),
                  percent(static_cast<double>(o.agree) / static_cast<double>(o.n)),
                  percent(static_cast<double>(o.commonest_n) / static_cast<double>(o.n)), ratio(o.kappa),
                  percent(o.balanced)});
        tail();
        out_ +=
            "<p class=\"small\">always the commonest: what always saying the regime that was measured most "
            "often "
            "would agree with. kappa: Cohen's, 0 is chance. balanced: mean over the measured regimes of the "
            "share that was forecast right.</p>\n";
        head(3, {"opinion, all strategies", "measured", "forecast", "cases"});
        for (const RegimeStatistics &o : r.opinions)
            if (o.group == "all")
                for (const RegimeCount &c : o.counts)
                    line({words_of_opinion(o), word(c.measured), word(c.forecast), std::to_string(c.n)});
        tail();
        close_details();
    }
    end();
}

void PageWriter::work() {
    if (statistics_.work_errors.empty())
        return;
    std::vector<double> off;
    for (const WorkRow &w : statistics_.work)
        if (w.counted > 0.0)
            off.push_back(std::abs(w.predicted / w.counted - 1.0));
    begin("work", off.empty() ? std::string("Work")
                              : fmt::format("Work: half of {} forecasts within {} of the counters",
                                            off.size(), percent(percentile(off, 0.5))));
    out_ += "<p class=\"lead\">Instructions, conflicts and bytes are forecast before time is; counters say "
            "what they "
            "were.</p>\n<div class=\"pair\">";
    figures_with("work_");
    out_ += "</div>\n";
    open_details("The numbers, by strategy and quantity");
    head(3, {"strategy", "quantity", "farthest off at", "predicted / counted", "farthest off", "cases",
             "one side 0"});
    for (const WorkStatistics &w : statistics_.work_errors)
        add("<tr><th "
            "scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            breakable(w.group), breakable(w.quantity),
            w.worst_case ? case_link(*w.worst_case, row(*w.worst_case).shape) : dash, ratio(w.ratio_geomean),
            ratio(w.worst_ratio), w.n, w.zero);
    tail();
    out_ += "<p class=\"small\">predicted / counted: geometric mean of the ratio over the cases; 1 is "
            "exact.</p>\n";
    close_details();
    end();
}

void PageWriter::speed() {
    if (!compared()) // there would be little but dashes
        return;
    const SpeedupStatistics *best = nullptr; // over all studies, where there are several
    for (const SpeedupStatistics &s : statistics_.speedups)
        if (s.against == "cudnn" && s.ours == "our fastest" && (best == nullptr || s.study == "all"))
            best = &s;
    begin("speed", best == nullptr || best->n == 0
                       ? std::string("Speed, beside cuDNN")
                       : fmt::format("Speed: faster than cuDNN on {} of {}", best->wins,
                                     count(best->n, "shape", "shapes")));
    out_ += "<div class=\"pair\">";
    figures_with("speedup_");
    out_ += "</div>\n";
    head(2,
         {"study", "speed-up of", "geometric mean", "least", "most", "faster", "shapes", "not comparable"});
    for (const SpeedupStatistics &s : statistics_.speedups)
        line({s.study, s.ours + " over " + s.against, factor(s.geomean), factor(s.min), factor(s.max),
              std::to_string(s.wins), std::to_string(s.n), std::to_string(s.without)});
    tail();
    out_ += "<p class=\"small\">cuDNN computes in true FP32. Where nothing else is said its tensors lie in "
            "NCHW and "
            "KCRS, as ours do. <q>NHWC too</q> adds its plans for NHWC, whose tensors lay in that layout "
            "before the "
            "call: the time of bringing them there is not in it. Lines with <q>as run</q> are of the "
            "kernel that "
            "the study's paper proposes, in the settings of this run: by default those of <code>convcast "
            "predict</code>. The paper's own settings are what <code>convcast reproduce</code> compares. "
            "Ours that multiply on tensor "
            "cores (three "
            "TF32 products for one, in the accuracy of FP32) stand apart: where they were run, <q>ours "
            "without tensor "
            "cores</q> sets them beside our fastest by FFMAs. No line against cuDNN has them.</p>\n";
    networks();
    published();
    shapes();
    end();
}

void PageWriter::networks() {
    if (statistics_.networks.empty())
        return;
    out_ += "<h3>Networks: all convolutions, each with its fastest</h3>\n";
    head(1, {"study", "ours, µs", "cuDNN, µs", "speed-up", "layers", "distinct shapes", "not run by us",
             "deterministic, µs", "without Winograd and FFT, µs", "NHWC too, µs",
             "with tensor cores (TF32), µs", "ours on tensor cores (3xTF32), µs"});
    for (const NetworkStatistics &n : statistics_.networks)
        line({n.study, time(n.ours_s), time(n.cudnn_s), factor(n.speedup), std::to_string(n.layers),
              std::to_string(n.shapes), std::to_string(n.without), time(n.cudnn_deterministic_s),
              time(n.cudnn_direct_s), time(n.cudnn_any_layout_s), time(n.cudnn_tf32_s),
              time(n.ours_tensor_cores_s)});
    tail();
}

void PageWriter::published() {
    std::size_t gains = 0;
    for (const Study &study : studies_)
        gains += study.published.size();
    if (gains == 0)
        return;
    open_details("What the papers published");
    head(5, {"study", "GPU", "baseline", "remark", "that kernel here", "average", "range",
             "that kernel here, as run, against cuDNN", "our fastest here"});
    for (const Study &study : studies_) {
        const SpeedupStatistics *own = nullptr, *best = nullptr;
        for (const SpeedupStatistics &s : statistics_.speedups)
            if (s.study == study.id && s.against == "cudnn")
                (s.ours == "our fastest" ? best : own) = &s;
        for (const PublishedGain &gain : study.published) {
            const bool of_cudnn = gain.baseline.starts_with("cuDNN");
            line({study.id, gain.gpu, gain.baseline, gain.remark, join(study.paper_kernels, ", "),
                  factor(gain.average),
                  gain.low && gain.high ? times(*gain.low) + " to " + times(*gain.high) : dash,
                  of_cudnn && own != nullptr ? factor(own->geomean) : dash,
                  of_cudnn && best != nullptr ? factor(best->geomean) : dash});
        }
    }
    tail();
    close_details();
}

void PageWriter::shapes() {
    constexpr std::size_t most = 150; // more rows than anyone reads; the CSV files beside the page have all
    std::vector<const ShapeRow *> rows;
    for (const ShapeRow &shape : statistics_.shapes)
        rows.push_back(&shape);
    if (rows.size() > most) {
        std::stable_sort(rows.begin(), rows.end(), [](const ShapeRow *a, const ShapeRow *b) {
            return a->speedup.value_or(1e300) < b->speedup.value_or(1e300);
        });
        rows.resize(most);
    }
    open_details(
        rows.size() < statistics_.shapes.size()
            ? fmt::format("Shape by shape: the {} least speed-ups of {}", most, statistics_.shapes.size())
            : std::string("Shape by shape"));
    head(5, {"shape", "our fastest", "cuDNN's fastest", "the paper's kernel, as run",
             "our fastest on tensor cores", "speed-up", "NHWC too", "deterministic",
             "without Winograd and FFT", "of the paper's kernel, as run", "of tensor cores over our FFMAs"});
    for (const ShapeRow *shape : rows) {
        add("<tr><th scope=\"row\">{}</th>", breakable(shape->shape));
        for (const auto &id : {shape->ours, shape->cudnn, shape->papers, shape->ours_tensor_cores})
            add("<td>{}</td>", id ? case_link(*id, row(*id).name) : std::string("not measured"));
        for (const auto &speedup :
             {shape->speedup, shape->speedup_any_layout, shape->speedup_deterministic, shape->speedup_direct,
              shape->speedup_papers, shape->speedup_tensor_cores})
            add("<td>{}</td>", factor(speedup));
        out_ += "</tr>\n";
    }
    tail();
    close_details();
}

/// Nothing where no case has one.
void PageWriter::timelines() {
    if (statistics_.timelines.empty())
        return;
    begin("timelines", "When each CTA runs, and on which SM");
    out_ += "<p>Measured in a further call of the case, verified and from a cold L2 like the others, whose "
            "kernels are compiled with a stamp: the first thread of a CTA notes the chip's global timer and "
            "its "
            "SM, its last warp to leave the timer again. tail: of the makespan, what an SM waits on average "
            "behind its own last CTA.</p>\n";
    const std::vector<Figure> figures = timeline_figures(run_);
    std::size_t cases = 0;
    for (auto row = statistics_.timelines.begin(); row != statistics_.timelines.end();) {
        const std::int64_t id = row->id;
        ++cases;
        add("<h3>{}</h3>\n", case_link(id, statistics_.cases[static_cast<std::size_t>(id)].shape + " " +
                                               statistics_.cases[static_cast<std::size_t>(id)].name));
        stamped_call(run_.cases[static_cast<std::size_t>(id)]);
        head(2, {"launch", "", "CTAs", "SMs", "most on an SM at once", "begins, µs", "makespan, µs",
                 "mean CTA, µs", "5 %, µs", "95 %, µs", "tail"});
        for (; row != statistics_.timelines.end() && row->id == id; ++row)
            timeline_lines(*row);
        tail();
        const std::string prefix = fmt::format("timeline_{}_", id);
        for (const Figure &f : figures)
            if (f.id.starts_with(prefix))
                HtmlWriter::figure(f);
    }
    if (cases > most_drawn_timelines)
        add("<p class=\"small\">The first {} are drawn.</p>\n", most_drawn_timelines);
    end();
}

/// What the stamps cost.
void PageWriter::stamped_call(const Case &item) {
    for (const Measurement &m : item.measurements)
        if (m.timeline && m.timeline->call_s)
            add("<p class=\"small\">The stamped call took {} µs, the timed ones {} µs in the median; the "
                "timer "
                "advances by {} ns.</p>\n",
                microseconds(*m.timeline->call_s), microseconds(m.time_s), m.timeline->step_ns.value_or(0));
}

void PageWriter::timeline_lines(const TimelineRow &row) {
    const auto put = [&](const char *source, const TimelineSummary &s) {
        line({row.launch, source, std::to_string(s.ctas), std::to_string(s.sms),
              std::to_string(s.most_at_once), microseconds(s.start_s), microseconds(s.makespan_s),
              microseconds(s.mean_cta_s), microseconds(s.cta_p05_s), microseconds(s.cta_p95_s),
              percent(s.tail_share)});
    };
    if (row.forecast)
        put("forecast", *row.forecast);
    if (row.measured)
        put("measured", *row.measured);
    if (!row.forecast || !row.measured)
        return;
    const auto of = [](Seconds forecast, Seconds measured) {
        return measured.value > 0.0 ? ratio(forecast / measured) : std::string(dash);
    };
    const TimelineSummary &f = *row.forecast, &m = *row.measured;
    line({row.launch, "forecast / measured", dash, dash, dash, dash, of(f.makespan_s, m.makespan_s),
          of(f.mean_cta_s, m.mean_cta_s), of(f.cta_p05_s, m.cta_p05_s), of(f.cta_p95_s, m.cta_p95_s), dash});
}

} // namespace convcast
