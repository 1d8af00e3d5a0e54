#include "reports/page.hpp"

#include "model/base/described.hpp"
#include "reports/html.hpp"
#include "reports/report_figures.hpp"
#include "reports/timeline_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace convcast {
namespace {

template <class E> std::string enum_name(E value) {
    std::string name = boost::describe::enum_to_string(value, "?");
    std::replace(name.begin(), name.end(), '_', ' ');
    return name;
}

std::string regime_name(std::optional<Regime> regime) {
    if (!regime)
        return dash;
    return *regime == Regime::compute_hidden ? "compute"
           : *regime == Regime::bulk_hidden  ? "bulk"
                                             : "exposed";
}

std::string percent(std::optional<double> share) {
    return share ? fmt::format("{:.1f}\u00a0%", *share * 100.0) : dash;
}
std::string factor(std::optional<double> ratio) {
    return ratio ? times(*ratio) : dash;
}
std::string ratio(std::optional<double> value) {
    return value ? fmt::format("{:.3f}", *value) : dash;
}
std::string time(std::optional<Seconds> seconds) {
    return seconds ? microseconds(*seconds) : dash;
}
const ErrorStatistics *find_errors(const ReportStatistics &statistics, const std::string &group) {
    for (const ErrorStatistics &e : statistics.errors)
        if (e.group == group)
            return &e;
    return nullptr;
}

/// Over all studies: "all" exists only where there are several.
const SpeedupStatistics *overall(const ReportStatistics &statistics, const std::string &against) {
    const SpeedupStatistics *found = nullptr;
    for (const SpeedupStatistics &s : statistics.speedups)
        if (s.against == against && s.ours == "our fastest" && (found == nullptr || s.study == "all"))
            found = &s;
    return found;
}

struct Column {
    const char *name;
    const char *key; ///< member of CaseRow that the script sorts by; "" for the combined regimes
    const char *meaning;
    bool numeric;
};

constexpr std::array<Column, 12> columns = {{
    {"shape", "shape",
     "n images, c channels, h×w map, k filters of r×s; then only what differs from stride 1, no padding, "
     "FP32",
     false},
    {"strategy or baseline", "name", "one of our kernels with every knob, or an algorithm of cuDNN", false},
    {"status", "status",
     "ok: verified and timed. infeasible: does not fit this GPU. unsupported: never does such shapes. wrong "
     "result: failed verification, so its time is not shown. not run: not reached, or predicted only",
     false},
    {"forecast µs", "predicted_s", "time by the best tier of the model that the profile has numbers for",
     true},
    {"cold µs", "cold_s", "measured median with a cold L2; hover for the spread. The headline number", true},
    {"warm µs", "warm_s", "measured median with the data left in L2 by the call before", true},
    {"error", "error", "forecast / measured cold − 1", true},
    {"regime", "",
     "what hides the memory latency: by the paper's rule / the physical rule / tier 2 / the counters. "
     "compute: enough FMAs; bulk: enough bytes in flight; exposed: neither",
     false},
    {"limiter", "limiter", "the part of the model that adds most time", false},
    {"vs cuDNN", "speedup",
     "time of cuDNN's fastest in true FP32 on NCHW tensors over this one, cold; above 1 is faster than cuDNN",
     true},
    {"rel. L2 error", "relative_l2_error",
     "norm of the difference from the double-precision reference over the reference's norm", true},
    {"", "", "how the forecast comes about", false},
}};

struct RuleText {
    const char *member, *text;
};

/// The papers' symbols and numbers; docs/equations.md.
constexpr std::array<RuleText, 22> rule_texts = {{
    {"n_fma", "N_FMA, FMAs per SM that hide the latency (Chang, Table 1)"},
    {"v_s_bytes", "V_s, bytes in flight that hide the latency (Chang, Table 1)"},
    {"threads_per_sm", "threads per SM (Chang, Table 1)"},
    {"warps_per_sm", "warps per SM (Chang, Table 1)"},
    {"method", "division chosen by rule 4 (Chang, section 3.1): 1 filters, 2 map over SMs"},
    {"pieces_p", "P after rule 4 (Chang, section 3.1)"},
    {"pieces_q", "Q after rule 4 (Chang, section 3.1)"},
    {"candidate_p", "P by rules 1 to 3 (Chang, section 3.1)"},
    {"candidate_q", "Q by rules 1 to 3 (Chang, section 3.1)"},
    {"d1_bytes", "D1, bytes of division 1 (Chang, eq. 4, 5)"},
    {"d2_bytes", "D2, bytes of division 2 (Chang, eq. 7, 8)"},
    {"th1", "Th1, FMAs of division 1 (Chang, eq. 6)"},
    {"th2", "Th2, FMAs of division 2 (Chang, eq. 9)"},
    {"run_pieces", "pieces that really fit and run (ours)"},
    {"segment_bytes", "S, bytes per filter and step (Chang, section 3.2, rule 1)"},
    {"tile_w", "W'x, pixels per step (Chang, section 3.2, rule 2)"},
    {"tile_k_min", "least M', filters per step (Chang, section 3.2, rule 3)"},
    {"step_fma", "FMAs per step, S/4 · M' · W'x (Chang, section 3.2)"},
    {"bank_ratio", "n = W_SMB / W_CD (Chen, eq. 1)"},
    {"round_fmas", "FMAs of an SM in a round, against N_FMA (Chang, section 2.2)"},
    {"round_bytes", "bytes of all SMs in a round, against V_s (Chang, section 2.2)"},
    {"remarks", "remarks"},
}};

class PageWriter : HtmlWriter {
  public:
    PageWriter(const Run &run, std::span<const Study> studies, const ReportStatistics &statistics,
               const Producer &current)
        : run_(run), studies_(studies), statistics_(statistics), current_(current),
          figures_(report_figures(statistics, studies)) {
        choose_explained();
        common_ = common_assumptions();
    }

    std::string write() {
        const std::string title =
            "convcast: forecast and measured" + (gpu().empty() ? std::string() : " on " + gpu());
        open(title);
        add("<p class=\"answer\">{}</p>\n", escape_xml(answer(statistics_)));
        stale_note();
        out_ += "</header>\n<main>\n";
        conditions();
        errors();
        speedups();
        work();
        timelines();
        cases();
        forecasts();
        notation();
        method();
        return close(case_data());
    }

  private:
    std::string gpu() const {
        const auto entry = run_.conditions.find("gpu");
        return entry == run_.conditions.end() ? "" : entry->second;
    }

    /// What every forecast of a time takes for granted; it stands once, among the conditions.
    std::vector<std::string> common_assumptions() const {
        std::vector<std::string> common;
        bool first = true;
        for (const Case &c : run_.cases) {
            if (!c.strategy || !c.prediction || !c.prediction->time_s)
                continue;
            const std::vector<std::string> &its = c.prediction->assumptions;
            if (first)
                common = its;
            else
                std::erase_if(common, [&](const std::string &said) {
                    return std::find(its.begin(), its.end(), said) == its.end();
                });
            first = false;
        }
        return common;
    }

    const CaseRow &row(std::int64_t id) const { return statistics_.cases[static_cast<std::size_t>(id)]; }

    std::string case_link(std::int64_t id, const std::string &text) const {
        return fmt::format("<a href=\"#c{0}\" data-case=\"{0}\">{1}</a>", id, escape_xml(text));
    }

    void figure(const std::string &id) {
        for (const Figure &f : figures_)
            if (f.id == id)
                HtmlWriter::figure(f);
    }

    void stale_note() {
        const Producer &recorded = run_.producer;
        const auto note = [&](const char *what, const std::string &then, const std::string &now) {
            if (!now.empty() && then != now)
                add("<p class=\"note\" role=\"note\"><strong>Recorded with other {0} code.</strong> The {0} "
                    "code behind "
                    "these measurements has the hash {1}, that of this program {2}. Run again before drawing "
                    "conclusions about the present one.</p>\n",
                    what, then.empty() ? "(none recorded)" : escape_xml(then), escape_xml(now));
        };
        note("device", recorded.device_code_hash, current_.device_code_hash);
        note("measuring", recorded.measuring_code_hash, current_.measuring_code_hash);
    }

    void conditions() {
        out_ += "<section id=\"conditions\"><h2>Conditions</h2>\n<dl class=\"facts\">\n";
        for (const auto &[name, value] : run_.conditions)
            fact(name, value);
        double clock_low = 0.0, clock_high = 0.0;
        std::int64_t throttled = 0;
        std::set<std::string> methods;
        std::set<std::string> l2;
        for (const Case &c : run_.cases)
            for (const Measurement &m : c.measurements) {
                if (m.sm_clock_hz) {
                    const double mhz = m.sm_clock_hz->value / 1e6;
                    clock_low = clock_low > 0.0 ? std::min(clock_low, mhz) : mhz;
                    clock_high = std::max(clock_high, mhz);
                }
                throttled += m.throttled_samples.value_or(0);
                methods.insert(m.method);
                l2.insert(enum_name(m.l2));
            }
        if (clock_high > 0.0)
            fact("SM clock seen", clock_high - clock_low < 1.0
                                      ? fmt::format("{:.0f} MHz", clock_high)
                                      : fmt::format("{:.0f} to {:.0f} MHz", clock_low, clock_high));
        if (!methods.empty()) {
            fact("timed by", join({methods.begin(), methods.end()}));
            fact("L2", join({l2.begin(), l2.end()}, " and ") + "; cold is the headline");
            fact("throttled samples", std::to_string(throttled));
        }
        fact("convcast", run_.producer.version);
        fact("profile", run_.profile_id + (run_.profile_hash.empty() ? "" : " " + run_.profile_hash));
        fact("device code", run_.producer.device_code_hash);
        fact("measuring code", run_.producer.measuring_code_hash);
        out_ += "</dl>\n";
        for (const std::string &assumption : common_)
            add("<p class=\"small\">Assumed of every forecast: {}</p>\n", escape_xml(assumption));
        if (!statistics_.statuses.empty()) {
            add("<details{}><summary>{}: what became of them</summary>\n", overall_ok() ? "" : " open",
                count(std::ssize(run_.cases), "case", "cases"));
            head(3, {"strategy or baseline", "status", "reason", "cases"});
            for (const StatusCount &s : statistics_.statuses)
                line({s.group, enum_name(s.status), s.reason, std::to_string(s.n)});
            tail();
            out_ += "</details>\n";
        }
        out_ += "</section>\n";
    }

    bool overall_ok() const {
        return std::any_of(statistics_.cases.begin(), statistics_.cases.end(),
                           [](const CaseRow &r) { return r.status == Status::ok; });
    }

    void errors() {
        out_ += "<section id=\"errors\"><h2>How far off is the forecast?</h2>\n";
        head(1, {"strategy", "cases", "no forecast", "bias", "median |error|", "mean", "mean, symmetric",
                 "90th percentile", "largest", "within 10 %"});
        for (const ErrorStatistics &e : statistics_.errors)
            line({e.group, std::to_string(e.n), std::to_string(e.no_forecast), ratio(e.bias),
                  percent(e.median), percent(e.mean), percent(e.symmetric), percent(e.p90), percent(e.max),
                  percent(e.within_10_percent)});
        tail();
        add("<p class=\"small\">Over the ok cases with a forecast and a cold measurement. error: {}. bias: "
            "geometric mean of forecast / measured. Percentiles by {}. The speed-of-light row is what launch "
            "floor, peak FMAs and bytes alone would have said: the bar that the model has to beat.</p>\n",
            escape_xml(statistics_.error), escape_xml(statistics_.percentile));
        out_ += "<div class=\"pair\">";
        figure("predicted_vs_measured");
        figure("relative_error");
        figure("error_cdf");
        figure("waterfall");
        out_ += "</div>\n";
        regimes();
        accuracy();
        if (statistics_.choice.n > 0)
            add("<p>Choosing: among the measured settings of {}, the one with the best forecast was the "
                "fastest {} times; "
                "following the forecast costs {} on average (geometric mean) and {} at worst.</p>\n",
                count(statistics_.choice.n, "shape", "shapes"), statistics_.choice.hits,
                percent(statistics_.choice.regret_geomean.value_or(1.0) - 1.0),
                percent(statistics_.choice.regret_max.value_or(1.0) - 1.0));
        out_ += "</section>\n";
    }

    void regimes() {
        const RegimeTables &r = statistics_.regimes;
        if (r.opinions.empty())
            return;
        out_ += "<h3>Regimes: which opinion agrees with the counters?</h3>\n";
        head(2, {"strategy", "opinion", "cases", "agree", "kappa", "balanced"});
        for (const RegimeStatistics &o : r.opinions)
            line({o.group, o.opinion, std::to_string(o.n),
                  percent(static_cast<double>(o.agree) / static_cast<double>(o.n)), ratio(o.kappa),
                  percent(o.balanced)});
        tail();
        out_ +=
            "<p class=\"small\">kappa: Cohen's, 0 is chance. balanced: mean over the measured regimes of the "
            "share that was forecast right.</p>\n";
        head(3, {"opinion, all strategies", "measured", "forecast", "cases"});
        for (const RegimeStatistics &o : r.opinions)
            if (o.group == "all")
                for (const RegimeCount &c : o.counts)
                    line({o.opinion, enum_name(c.measured), enum_name(c.forecast), std::to_string(c.n)});
        tail();
        out_ += "<div class=\"pair\">";
        figure("regimes");
        figure("stalls");
        for (const Figure &f : figures_)
            if (f.id.starts_with("regime_map_"))
                HtmlWriter::figure(f);
        for (const Study &study : studies_)
            for (const StudySweep &sweep : study.sweeps)
                figure("sweep_" + file_name(sweep.id));
        out_ += "</div>\n";
    }

    /// Judged on the shapes whose times nothing was fitted to, the training part beside.
    void accuracy() {
        const Accuracy &a = statistics_.accuracy;
        if (a.times.empty())
            return;
        out_ += "<h3>Time, by the part of the shapes</h3>\n";
        head(2, {"part", "model", "cases", "mean |error|", "symmetric", "median", "90th percentile", "bias",
                 "inside the 90 % interval"});
        for (const TimeAccuracy &t : a.times)
            line({t.part, t.model, std::to_string(t.n), percent(t.mean), percent(t.symmetric),
                  percent(t.median), percent(t.p90), ratio(t.bias), percent(t.coverage)});
        tail();
        out_ +=
            "<p class=\"small\">A fifth of the shapes, by a hash of their text, is for training: the "
            "kernels' facts were regressed on its counters, the four numbers fitted to its times. The test "
            "part is the rest. Rows by what the forecast knew: <q>without counters</q> no facts and the four "
            "numbers as assumed; <q>probes and counters</q> the facts, but no time; <q>four numbers "
            "fitted</q> both; <q>new kernel</q> no facts of the strategy itself, and the four numbers "
            "fitted to this run's training part without it. The constants of the program stay in all of "
            "them, also those that people read off counters (docs/constants.md).</p>\n";
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
    }

    void speedups() {
        out_ += "<section id=\"speedup\"><h2>Against cuDNN</h2>\n";
        head(3, {"study", "of", "against", "shapes", "faster", "geometric mean", "least", "most",
                 "not comparable"});
        for (const SpeedupStatistics &s : statistics_.speedups)
            line({s.study, s.ours, s.against, std::to_string(s.n), std::to_string(s.wins), factor(s.geomean),
                  factor(s.min), factor(s.max), std::to_string(s.without)});
        tail();
        out_ +=
            "<p>cuDNN computes in true FP32. Where nothing else is said its tensors lie in NCHW and KCRS, as "
            "ours do. <q>NHWC too</q> adds its plans for NHWC, whose tensors lay in that layout before the "
            "call: the time of bringing them there is not in it. Lines of <q>the paper's</q> are of the "
            "kernel "
            "that the study's paper proposes, which its published gains are of.</p>\n"
            "<p>Ours that multiply on tensor cores (three TF32 products for one, in the accuracy of FP32) "
            "are a "
            "column of their own: where they were run, <q>ours without tensor cores</q> sets them beside our "
            "fastest by FFMAs. No line against cuDNN has them.</p>\n";
        if (!statistics_.networks.empty()) {
            out_ += "<h3>Networks: all convolutions, each with its fastest</h3>\n";
            head(1, {"study", "layers", "distinct shapes", "not run by us", "ours, µs", "cuDNN, µs",
                     "deterministic, µs", "without Winograd and FFT, µs", "NHWC too, µs",
                     "with tensor cores (TF32), µs", "ours on tensor cores (3xTF32), µs", "speed-up"});
            for (const NetworkStatistics &n : statistics_.networks)
                line({n.study, std::to_string(n.layers), std::to_string(n.shapes), std::to_string(n.without),
                      time(n.ours_s), time(n.cudnn_s), time(n.cudnn_deterministic_s), time(n.cudnn_direct_s),
                      time(n.cudnn_any_layout_s), time(n.cudnn_tf32_s), time(n.ours_tensor_cores_s),
                      factor(n.speedup)});
            tail();
        }
        out_ += "<h3>What the papers published</h3>\n";
        head(5, {"study", "GPU", "baseline", "remark", "that kernel here", "average", "range",
                 "that kernel here, against cuDNN", "our fastest here"});
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
        out_ += "<div class=\"pair\">";
        for (const Figure &f : figures_)
            if (f.id.starts_with("speedup_"))
                figure(f.id);
        out_ += "</div>\n<details><summary>The numbers behind the plots</summary>\n";
        head(9, {"shape", "our fastest", "the paper's own", "cuDNN's fastest", "deterministic",
                 "without Winograd and FFT", "NHWC too", "with tensor cores (TF32, not compared)",
                 "our fastest on tensor cores", "speed-up", "of the paper's own", "deterministic",
                 "without Winograd and FFT", "NHWC too", "of tensor cores over our FFMAs"});
        for (const ShapeRow &shape : statistics_.shapes) {
            add("<tr><th scope=\"row\">{}</th>", escape_xml(shape.shape));
            for (const auto &id :
                 {shape.ours, shape.papers, shape.cudnn, shape.cudnn_deterministic, shape.cudnn_direct,
                  shape.cudnn_any_layout, shape.cudnn_tf32, shape.ours_tensor_cores})
                add("<td>{}</td>", id ? case_link(*id, row(*id).name) : std::string("not measured"));
            for (const auto &speedup :
                 {shape.speedup, shape.speedup_papers, shape.speedup_deterministic, shape.speedup_direct,
                  shape.speedup_any_layout, shape.speedup_tensor_cores})
                add("<td>{}</td>", factor(speedup));
            out_ += "</tr>\n";
        }
        tail();
        out_ += "</details>\n</section>\n";
    }

    void work() {
        out_ += "<section id=\"work\"><h2>Work: predicted against counted</h2>\n";
        if (statistics_.work_errors.empty()) {
            out_ += "<p>No case has both a predicted and a counted quantity: counters were not "
                    "read.</p></section>\n";
            return;
        }
        head(3, {"strategy", "quantity", "farthest off at", "predicted / counted", "farthest off", "cases",
                 "one side 0"});
        for (const WorkStatistics &w : statistics_.work_errors)
            add("<tr><th "
                "scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></"
                "tr>\n",
                escape_xml(w.group), escape_xml(w.quantity),
                w.worst_case ? case_link(*w.worst_case, row(*w.worst_case).shape) : dash,
                ratio(w.ratio_geomean), ratio(w.worst_ratio), w.n, w.zero);
        tail();
        out_ += "<p class=\"small\">predicted / counted: geometric mean of the ratio over the cases; 1 is "
                "exact.</p>\n"
                "<div class=\"pair\">";
        figure("work_l2");
        figure("work_dram");
        out_ += "</div>\n</section>\n";
    }

    /// Nothing where no case has one.
    void timelines() {
        if (statistics_.timelines.empty())
            return;
        out_ +=
            "<section id=\"timelines\"><h2>When each CTA runs, and on which SM</h2>\n"
            "<p>Measured in a further call of the case, verified and from a cold L2 like the others, whose "
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
        out_ += "</section>\n";
    }

    /// What the stamps cost.
    void stamped_call(const Case &item) {
        for (const Measurement &m : item.measurements)
            if (m.timeline && m.timeline->call_s)
                add("<p class=\"small\">The stamped call took {} µs, the timed ones {} µs in the median; the "
                    "timer "
                    "advances by {} ns.</p>\n",
                    microseconds(*m.timeline->call_s), microseconds(m.time_s),
                    m.timeline->step_ns.value_or(0));
    }

    void timeline_lines(const TimelineRow &row) {
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
              of(f.mean_cta_s, m.mean_cta_s), of(f.cta_p05_s, m.cta_p05_s), of(f.cta_p95_s, m.cta_p95_s),
              dash});
    }

    void cases() {
        out_ += "<section id=\"all-cases\"><h2>All cases</h2>\n<form class=\"scripted filters\">\n"
                "<label>filter <input type=\"search\" id=\"filter\" placeholder=\"part of a row\"></label>\n";
        std::vector<std::string> statuses, groups;
        const auto note = [](std::vector<std::string> &seen, const std::string &value) {
            if (std::find(seen.begin(), seen.end(), value) == seen.end())
                seen.push_back(value);
        };
        for (const CaseRow &r : statistics_.cases) {
            note(statuses, boost::describe::enum_to_string(r.status, "?"));
            note(groups, r.group);
        }
        checkboxes("status", "status", statuses);
        checkboxes("strategy or baseline", "group", groups);
        out_ += "<output id=\"shown\" aria-live=\"polite\"></output></form>\n";
        if (statistics_.cases.empty())
            out_ += "<p>The run holds no case.</p>\n";
        out_ += "<div class=\"scroll cases\"><table id=\"table\" class=\"of-cases\"><thead><tr>";
        for (const Column &c : columns)
            add("<th scope=\"col\" title=\"{}\"{}>{}</th>", escape_xml(c.meaning),
                *c.key == '\0' ? "" : fmt::format(" data-key=\"{}\"", c.key), c.name);
        out_ += "</tr></thead><tbody>\n";
        for (const CaseRow &r : statistics_.cases)
            case_line(r);
        tail();
        out_ += "</section>\n";
    }

    static std::string small(const std::optional<std::string> &text) {
        return text ? "<br><small>" + escape_xml(*text) + "</small>" : "";
    }

    void case_line(const CaseRow &r) {
        const std::string spread =
            r.cold_low_s ? fmt::format(" title=\"5th to 95th percentile of the samples: {} to {} µs\"",
                                       time(r.cold_low_s), time(r.cold_high_s))
                         : "";
        add("<tr id=\"c{0}\" data-case=\"{0}\"><th scope=\"row\">{1}</th><td>{2}</td><td "
            "class=\"{3}\">{4}{5}</td>"
            "<td>{6}</td><td{7}>{8}</td><td>{9}</td><td>{10}</td>",
            r.id, escape_xml(r.shape), breakable(r.name), boost::describe::enum_to_string(r.status, "?"),
            enum_name(r.status), small(r.reason) + small(r.detail), time(r.predicted_s), spread,
            time(r.cold_s), time(r.warm_s), r.error ? signed_percent(*r.error) : dash);
        const bool any = r.paper || r.physical || r.tier2 || r.measured;
        add("<td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            any ? fmt::format("{} / {} / {} / {}", regime_name(r.paper), regime_name(r.physical),
                              regime_name(r.tier2), regime_name(r.measured))
                : dash,
            escape_xml(r.limiter.value_or(dash)), factor(r.speedup),
            r.relative_l2_error ? fmt::format("{:.1e}", *r.relative_l2_error) : dash,
            explained(r) ? fmt::format("<a href=\"#w{}\">why</a>", r.id) : "");
    }

    /// A list of knobs may break after each comma.
    static std::string breakable(const std::string &name) {
        std::string out;
        for (const char c : escape_xml(name)) {
            out += c;
            if (c == ',')
                out += "<wbr>";
        }
        return out;
    }

    bool explained(const CaseRow &r) const { return explained_.contains(r.id); }

    /// Which forecasts the page explains: all, or where they would make it too large to open, of each shape
    /// that of the case measured fastest and that of the one whose forecast is furthest off.
    void choose_explained() {
        constexpr std::size_t most = 1000;
        struct OfShape {
            const CaseRow *fastest = nullptr, *furthest = nullptr;
        };
        std::map<std::string, OfShape> shapes;
        for (const CaseRow &r : statistics_.cases) {
            if (r.baseline || !run_.cases[static_cast<std::size_t>(r.id)].prediction)
                continue;
            ++forecasts_;
            explained_.insert(r.id);
            OfShape &its = shapes[r.shape];
            if (r.cold_s && (its.fastest == nullptr || *r.cold_s < *its.fastest->cold_s))
                its.fastest = &r;
            if (r.error && (its.furthest == nullptr || std::abs(*r.error) > std::abs(*its.furthest->error)))
                its.furthest = &r;
        }
        if (explained_.size() <= most)
            return;
        explained_.clear();
        for (const auto &[shape, its] : shapes)
            for (const CaseRow *r : {its.fastest, its.furthest})
                if (r != nullptr)
                    explained_.insert(r->id);
    }

    void forecasts() {
        out_ += "<section id=\"forecasts\"><h2>How each forecast comes about</h2>\n";
        const bool any = forecasts_ > 0;
        if (forecasts_ > explained_.size())
            add("<p class=\"note\">Of {} forecasts {} are explained here: of each shape that of the case "
                "measured "
                "fastest and that of the one furthest off. <code>convcast predict --shape SHAPE --strategy "
                "TEXT</code> "
                "explains any other.</p>\n",
                forecasts_, explained_.size());
        for (const CaseRow &r : statistics_.cases)
            if (explained(r)) {
                forecast(r, *run_.cases[static_cast<std::size_t>(r.id)].prediction);
            }
        out_ += any ? "</section>\n" : "<p>No case carries a forecast.</p></section>\n";
    }

    void forecast(const CaseRow &r, const Prediction &prediction) {
        add("<details class=\"why\" id=\"w{0}\"><summary>{1}</summary>\n<p><a href=\"#c{0}\">back to its "
            "row</a></p>\n",
            r.id, escape_xml(describe(r)));
        if (prediction.reason)
            add("<p class=\"note\">{}</p>\n", escape_xml(*prediction.reason));
        if (!r.waterfall.empty())
            add("<div class=\"scroll\">{}</div>\n", to_svg(waterfall_of(r), SvgUse::in_page));
        if (prediction.term) {
            head(2, {"term", "formula", "µs"});
            term(*prediction.term, 0);
            tail();
        }
        if (prediction.rules) {
            out_ += "<dl class=\"facts\">";
            rules(*prediction.rules);
            out_ += "</dl>\n";
        }
        if (prediction.time_low_s && prediction.time_high_s)
            add("<p>Interval: {} to {} µs.</p>\n", microseconds(*prediction.time_low_s),
                microseconds(*prediction.time_high_s));
        for (const std::string &assumption : prediction.assumptions)
            if (std::find(common_.begin(), common_.end(), assumption) == common_.end())
                add("<p class=\"small\">Assumed: {}</p>\n", escape_xml(assumption));
        out_ += "</details>\n";
    }

    void term(const Term &t, int depth) {
        std::string how = t.formula;
        const auto number = [](std::optional<double> v) {
            return v ? fmt::format("{:g}", *v) : std::string("?");
        };
        if (how.empty() && t.kind == TermKind::pnorm)
            how = "soft maximum of the parts, exponent " + number(t.exponent);
        else if (how.empty() && t.kind == TermKind::pipeline)
            how = "fill + (steps − 1) · step + drain, steps = " + number(t.count);
        else if (how.empty() && t.kind == TermKind::schedule)
            how = "full waves · wave + tail, full waves = " + number(t.count);
        else if (how.empty() && t.kind != TermKind::leaf)
            how = enum_name(t.kind) + " of the parts";
        const double us = t.value_s.value * 1e6;
        add("<tr><th scope=\"row\" class=\"d{}\">{}</th><td>{}</td><td>{}</td></tr>\n", std::min(depth, 6),
            escape_xml(t.name), escape_xml(how),
            us >= 0.01 || us == 0.0 ? microseconds(t.value_s) : fmt::format("{:.2g}", us));
        for (const Term &child : t.children)
            term(child, depth + 1);
    }

    void rules(const Rules &r) {
        boost::mp11::mp_for_each<boost::describe::describe_members<Rules, boost::describe::mod_public>>(
            [&](auto member) {
                const auto &field = r.*member.pointer;
                const auto known =
                    std::find_if(rule_texts.begin(), rule_texts.end(), [&](const RuleText &entry) {
                        return std::string_view(entry.member) == member.name;
                    });
                const std::string name = known == rule_texts.end() ? member.name : known->text;
                std::string value;
                if constexpr (described::IsVector<std::decay_t<decltype(field)>>::value)
                    value = join(field, "; ");
                else if (field)
                    value = fmt::format("{}", *field);
                if (!value.empty())
                    add("<div><dt>{}</dt><dd>{}</dd></div>\n", escape_xml(name), escape_xml(value));
            });
    }

    void notation() {
        out_ += "<section id=\"notation\"><h2>Columns and words</h2>\n<dl>\n";
        for (const Column &c : columns)
            if (*c.name != '\0')
                add("<dt>{}</dt><dd>{}</dd>\n", c.name, escape_xml(c.meaning));
        out_ += "<dt>study</dt><dd>a list of shapes that a paper measured. ";
        for (const Study &study : studies_)
            add("{}: {}; {}. ", escape_xml(study.id), escape_xml(study.title), escape_xml(study.citation));
        out_ += "</dd>\n</dl></section>\n";
    }

    void method() {
        out_ +=
            "<section id=\"method\"><h2>How it was measured</h2>\n"
            "<p>Each case is verified, then timed, then counted, in three separate phases. The result is "
            "compared with a "
            "double-precision reference; a case that fails has no time. The time of a case is the end of "
            "the last minus "
            "the start of the first device activity of one call, from raw NCHW input and KCRS filters to "
            "a raw output, "
            "in one stream with nothing else running, preparation and layout changes included, for our "
            "kernels and "
            "cuDNN's alike; the median over the samples is shown. Cold: the L2 cache was filled with "
            "other data by "
            "reading before each call. Warm: the call before left its data there. cuDNN computes in true "
            "FP32 without "
            "tensor cores, each algorithm by itself with ample workspace; an algorithm that refuses a "
            "shape is listed "
            "with its reason. cudnn:graph is the fastest of all plans of cuDNN's graph interface, picked by "
            "timing them; cudnn:tf32, where it was run, may use tensor cores and is never part of a "
            "comparison. cudnn:graph_nhwc, whose tensors lay in another layout beforehand, is in "
            "the lines <q>NHWC too</q> alone.</p>\n<p>The forecast uses numbers of the GPU that come from "
            "separate "
            "probes, never from these convolutions. Beside them the program contains four numbers fitted to "
            "times, 185 coefficients regressed on counters, and 149 constants, "
            "of which 74 were read off code, 23 off counters and 19 off times and 33 are given "
            "(docs/constants.md).</p></section>\n";
    }

    /// What the script sorts, filters and shows; the waterfalls are in the page already.
    JsonArray case_data() const {
        JsonArray array;
        for (CaseRow r : statistics_.cases) {
            r.waterfall.clear();
            JsonValue value = described::write(r);
            value.object()->emplace_back("text", JsonValue(describe(r)));
            array.push_back(std::move(value));
        }
        return array;
    }

    const Run &run_;
    std::span<const Study> studies_;
    const ReportStatistics &statistics_;
    const Producer &current_;
    std::vector<Figure> figures_;
    std::vector<std::string> common_;  ///< assumptions of every forecast
    std::set<std::int64_t> explained_; ///< ids of cases whose forecast the page explains
    std::size_t forecasts_ = 0;        ///< of our strategies, in the document
};

} // namespace

std::string answer(const ReportStatistics &statistics) {
    const ErrorStatistics *all = find_errors(statistics, "all");
    const SpeedupStatistics *best = overall(statistics, "cudnn");
    const SpeedupStatistics *layouts = overall(statistics, "cudnn, NHWC too");
    const SpeedupStatistics *direct = overall(statistics, "cudnn without Winograd and FFT");
    std::int64_t forecasts = 0, ok = 0;
    for (const CaseRow &row : statistics.cases) {
        forecasts += !row.baseline && row.predicted_s ? 1 : 0;
        ok += row.status == Status::ok ? 1 : 0;
    }
    if (statistics.cases.empty())
        return "This run holds no case.";
    std::string text;
    if (all != nullptr && all->n > 0)
        text = fmt::format("Over {} the forecast is off by {} in the median, by at most {} in 90\u00a0% of "
                           "them and by {} at "
                           "worst; it is {} on average.",
                           count(all->n, "measured case", "measured cases"), percent(all->median),
                           percent(all->p90), percent(all->max),
                           std::abs(*all->bias - 1.0) < 0.005
                               ? "neither too fast nor too slow"
                               : percent(std::abs(*all->bias - 1.0)) +
                                     (*all->bias < 1.0 ? " too fast" : " too slow"));
    else if (ok > 0)
        text = "No measured case of ours has a forecast, so nothing can be said about its error.";
    else
        text = fmt::format(
            "Nothing was measured in this run: {} of {} have a forecast, and none has a time to hold "
            "against it.",
            forecasts, count(std::ssize(statistics.cases), "case", "cases"));
    if (best != nullptr && best->n > 0) {
        text += fmt::format(
            " Our fastest kernel beats cuDNN's fastest algorithm on {} of {} and loses on {}, {} in the "
            "geometric mean",
            best->wins, count(best->n, "shape", "shapes"), best->n - best->wins, times(*best->geomean));
        if (layouts != nullptr && layouts->n > 0)
            text += fmt::format(", {} with cuDNN's NHWC plans among them", times(*layouts->geomean));
        if (direct != nullptr && direct->n > 0)
            text += fmt::format("; against cuDNN without Winograd and FFT it wins {} of {}, {}", direct->wins,
                                direct->n, times(*direct->geomean));
        text += ".";
        if (best->without > 0)
            text += fmt::format(" {} could not be compared.", count(best->without, "shape", "shapes"));
    } else if (ok > 0) {
        text += " No shape was measured on both sides, so there is no comparison with cuDNN.";
    }
    return text;
}

std::string write_page(const Run &run, std::span<const Study> studies, const ReportStatistics &statistics,
                       const Producer &current) {
    return PageWriter(run, studies, statistics, current).write();
}

} // namespace convcast
