// The computations of Chang's paper but for its speed-ups over cuDNN, which are in gains.cpp.
#include "model/paper/papers.hpp"
#include "model/shape/conv_shape.hpp"
#include "reports/papers/computations.hpp"
#include "reports/papers/verdicts.hpp"
#include "reports/profile_figures.hpp"
#include "reports/report_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

/// Geometric means of time of `slower` over that of `faster`, over the shapes that a predicate takes.
template <class Wanted>
std::vector<double> time_ratios(const StudyResults &results, const std::string &slower,
                                const std::string &faster, Wanted wanted) {
    std::vector<double> ratios;
    for (const std::string &shape : results.study.shapes) {
        const auto over = fastest_of(results, shape, slower), under = fastest_of(results, shape, faster);
        if (over && under && wanted(ConvShape::parse(shape)))
            ratios.push_back(*over / *under);
    }
    return ratios;
}

ItemAnswer small_maps(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const StudyResults *results = context.measured(*item.answer.study);
    const std::string claim = "Chen's kernel loses performance on maps smaller than 32";
    if (results == nullptr) {
        answer.findings.push_back(not_measured(item, claim, "without a number", context));
        return answer;
    }
    const auto small = geometric_mean_of(time_ratios(*results, "block_register", "stride_fixed_block",
                                                     [](const ConvShape &s) { return s.h < 32; }));
    const auto large = geometric_mean_of(time_ratios(*results, "block_register", "stride_fixed_block",
                                                     [](const ConvShape &s) { return s.h >= 32; }));
    ClaimAnswer finding{item.id, claim, "without a number", "", ClaimVerdict::open, ""};
    if (small && large) {
        finding.found =
            fmt::format("Chen's time over Chang's: {} below 32, {} from 32 on", times(*small), times(*large));
        finding.verdict = verdict_of_gain(*small / *large);
        finding.sentence = fmt::format(
            "Chen's blocks take {} the time of Chang's stride-fixed blocks on maps below 32 and {} on larger "
            "ones, geometric means on {}.",
            times(*small), times(*large), short_name(context.ours().profile));
    }
    answer.findings.push_back(std::move(finding));
    return answer;
}

ItemAnswer verification(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const StudyResults *results = context.measured(*item.answer.study);
    if (results == nullptr) {
        answer.findings.push_back(not_measured(item, "the definition", "an equation", context));
        return answer;
    }
    std::size_t cases = 0, wrong = 0;
    double worst = 0.0;
    for (const CaseRow &row : results->statistics.cases) {
        if (row.baseline)
            continue;
        cases += row.status == Status::ok ? 1 : 0;
        wrong += row.status == Status::wrong_result ? 1 : 0;
        worst = std::max(worst, row.relative_l2_error.value_or(0.0));
    }
    answer.findings.push_back(
        {item.id, "every kernel computes equation (1)", "an equation",
         fmt::format("{} kernels, {} wrong", cases, wrong),
         wrong == 0 ? ClaimVerdict::holds : ClaimVerdict::differs,
         fmt::format("{} recorded kernels were verified against the sum in double precision before they were "
                     "timed; the largest relative L2 error is {:.1e}.",
                     cases, worst)});
    return answer;
}

ItemAnswer latency_table(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const auto of = [](const GpuProfile &p) {
        const papers::LatencyHiding t = papers::table1(p);
        return std::map<std::string, double>{
            {"latency of global memory", std::round(p.dram_latency->value.value)},
            {"bandwidth", p.dram_read_bandwidth->value.value * 1e-9},
            {"base clock", p.sm_clock->value.value * 1e-6},
            {"SMs", p.limits.sm_count},
            {"transmission rate", static_cast<double>(t.bytes_per_clock)},
            {"data requirement", static_cast<double>(t.data_bytes)},
            {"thread requirement of an SM", static_cast<double>(t.threads_per_sm)},
            {"warp requirement of an SM", static_cast<double>(t.warps_per_sm)},
            {"data requirement of an SM", static_cast<double>(t.bytes_per_sm)},
            {"FMAs a clock and core", static_cast<double>(papers::fmas_per_core_and_clock)},
            {"cores of an SM", p.limits.cores_per_sm},
            {"shared memory of an SM", static_cast<double>(p.limits.shared_bytes_per_sm) / 1024.0},
            {"N_FMA", static_cast<double>(t.n_fma)},
            {"threads", static_cast<double>(t.threads)},
            {"V_s", static_cast<double>(t.v_s_bytes)}};
    };
    const GpuProfile &paper = context.papers().profile, &ours = context.ours().profile;
    const auto theirs = of(paper), here = of(ours);
    PaperTable table{
        item.id, title_of(item), 1, {"", "unit", "published", short_name(paper), short_name(ours)}, {}, ""};
    table.words = 2;
    std::size_t equal = 0;
    for (const PublishedCell &cell : item.published) {
        if (!theirs.contains(cell.of))
            continue;
        const double found = theirs.at(cell.of);
        equal += std::abs(found - cell.value) < 0.5 ? 1 : 0;
        table.rows.push_back({cell.of, unit_text(cell.unit), grouped_digits(cell.value),
                              grouped_digits(std::round(found)),
                              grouped_digits(std::round(here.at(cell.of)))});
    }
    const double rate = ours.ffma_rate ? ours.ffma_rate->value.value : 0.0;
    const papers::LatencyHiding hidden = papers::table1(ours);
    table.note = fmt::format(
        "Rounded. The clock of {0} is the measured one. The rule asks {1} threads of an SM of {0}, which has "
        "room for {2}: so many warps cannot be there at once.",
        short_name(ours), count_text(hidden.threads_per_sm), count_text(ours.limits.max_threads_per_sm));
    if (hidden.threads_per_sm <= ours.limits.max_threads_per_sm)
        table.note = "Rounded.";
    table.note += fmt::format(
        " A core retires one FMA a clock: with the rate measured on {} ({:.0f} FMAs a clock and SM) "
        "its latency takes {} FMAs, half of what the paper's rule asks.",
        short_name(ours), rate, count_text(std::llround(rate * ours.dram_latency->value.value)));
    answer.tables.push_back(std::move(table));
    answer.findings.push_back(
        {item.id, "every number of the table and of the text around it",
         fmt::format("{} numbers", item.published.size()),
         fmt::format("{} of {} equal", equal, item.published.size()),
         equal == item.published.size() ? ClaimVerdict::follows : ClaimVerdict::differs,
         fmt::format(
             "{} of the {} printed numbers follow from the latency, bandwidth, clock and sizes of the "
             "{} by the paper's rules.",
             equal, item.published.size(), short_name(paper))});
    return answer;
}

/// Which of a division's rounds have the FMAs that hide the latency, and which the bytes.
ItemAnswer procedure(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    PaperTable table{item.id, "Steps 1 to 4 for the shapes of Figure 4", 1, {"shape"}, {}, ""};
    std::array<std::size_t, 2> enough{}, fit{};
    std::size_t shapes = 0;
    const std::array<const ForecastGpu *, 2> gpus = {&context.papers(), &context.ours()};
    for (const ForecastGpu *gpu : gpus)
        for (const char *what : {"N_FMA", "Th", "V_s, B", "bytes to all SMs", "method"})
            table.head.push_back(short_name(gpu->profile) + ": " + what);
    for (const std::string &text : context.study(*item.answer.study).shapes) {
        ++shapes;
        const ConvShape s = ConvShape::parse(text);
        std::vector<std::string> row = {text};
        for (std::size_t i = 0; i < gpus.size(); ++i) {
            const GpuProfile &p = gpus[i]->profile;
            const papers::LatencyHiding t = papers::table1(p);
            const papers::Division d = papers::divide_single_channel(s, p);
            const std::int64_t n_sm = p.limits.sm_count;
            const std::int64_t th =
                d.method == 1 ? papers::th1_fmas(s, n_sm, d.pieces_p) : papers::th2_fmas(s, n_sm, d.pieces_q);
            const std::int64_t bytes = (d.method == 1 ? papers::d1_bytes(s, n_sm, d.pieces_p)
                                                      : papers::d2_bytes(s, n_sm, d.pieces_q)) *
                                       n_sm;
            const bool fits = bytes <= p.limits.shared_bytes_per_sm * n_sm;
            fit[i] += fits ? 1 : 0;
            enough[i] += fits && th >= t.n_fma ? 1 : 0;
            for (const std::string &cell :
                 {count_text(t.n_fma), count_text(th), count_text(t.v_s_bytes), count_text(bytes),
                  std::string(!fits                  ? "D exceeds S_shared"
                              : th >= t.n_fma        ? "prefetch"
                              : bytes >= t.v_s_bytes ? "bulk transfer"
                                                     : "redivide until V_s")})
                row.push_back(cell);
        }
        table.rows.push_back(std::move(row));
    }
    table.note = "Th and bytes of the division that rule 4 of section 3.1 takes; bytes as D of all SMs.";
    answer.tables.push_back(std::move(table));
    answer.findings.push_back(
        {item.id, "small maps need the second method", "without a number",
         fmt::format("prefetch on {} of {} ({}) and {} of {} ({})", enough[0], fit[0],
                     short_name(context.papers().profile), enough[1], fit[1],
                     short_name(context.ours().profile)),
         enough[0] < fit[0] ? ClaimVerdict::holds : ClaimVerdict::differs,
         fmt::format(
             "The division that rule 4 takes fits S_shared on {} of {} shapes on {} and on {} on {}. Of "
             "those "
             "{} and {} have FMAs enough to hide the latency by prefetching; the others need bulk transfer.",
             fit[0], shapes, short_name(context.papers().profile), fit[1], short_name(context.ours().profile),
             enough[0], enough[1])});
    return answer;
}

ItemAnswer segments(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const GpuProfile &ours = context.ours().profile;
    const auto curve = ours.curves.find("segment_granularity");
    ClaimAnswer finding{item.id,
                        "segments of 128 bytes are better than 32 and 64, which are acceptable",
                        "without a number",
                        "–",
                        ClaimVerdict::open,
                        "The profile of " + short_name(ours) + " has no sweep over segments."};
    if (curve != ours.curves.end()) {
        answer.figures.push_back(curve_figure("segment_granularity", curve->second, ours));
        answer.figures.back().id = item.id;
        const CurveSeries &time = curve->second.series.front();
        const auto at = [&](double bytes) {
            const auto found = std::find(time.x.begin(), time.x.end(), bytes);
            return found == time.x.end() ? 0.0 : time.y[static_cast<std::size_t>(found - time.x.begin())];
        };
        finding.found = fmt::format("time for each useful byte: 32 B {}, 64 B {}, 128 B {}", times(at(32)),
                                    times(at(64)), times(at(128)));
        // Two parts: that 128 bytes are better, and that fewer are acceptable, within a tenth of them.
        const bool better = verdict_of_gain(at(64) / at(128)) == ClaimVerdict::holds &&
                            verdict_of_gain(at(32) / at(128)) == ClaimVerdict::holds;
        const bool acceptable = verdict_of_number(at(128), std::max(at(32), at(64))) == ClaimVerdict::holds;
        finding.verdict = better && acceptable   ? ClaimVerdict::holds
                          : better || acceptable ? ClaimVerdict::in_part
                                                 : ClaimVerdict::differs;
        finding.sentence = fmt::format("On {} segments of 32 bytes at random places take {} and of 64 bytes "
                                       "{} of the time of long ones, "
                                       "as DRAM moves 64 bytes at least; 128 bytes take {}.",
                                       short_name(ours), times(at(32)), times(at(64)), times(at(128)));
    }
    answer.findings.push_back(std::move(finding));
    return answer;
}

/// The fastest recorded time of dividing the filters alone, the map alone, or both.
std::optional<Seconds> fastest_way(const PaperContext &context, const std::string &study,
                                   const std::string &shape, const std::string &way) {
    std::optional<Seconds> best;
    for (const StudyResults *results : {context.measured(study), context.measured_settings(study)}) {
        if (results == nullptr)
            continue;
        for (const CaseRow &row : results->statistics.cases) {
            if (row.shape != shape || !row.cold_s || row.baseline)
                continue;
            const bool filters = row.group == "filter_split", both = knob_value(row.name, "map_shares") > 1;
            const std::string its = filters                    ? (both ? "both" : "filters")
                                    : row.group == "map_split" ? "map"
                                                               : "";
            if (its == way && (!best || *row.cold_s < *best))
                best = row.cold_s;
        }
    }
    return best;
}

ItemAnswer single_ways(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const StudyResults *results = context.measured(*item.answer.study);
    if (results == nullptr)
        return answer;
    PaperTable table{
        item.id,
        "Filters, map or both over the SMs, " + short_name(context.ours().profile),
        1,
        {"shape", "filters (filter_split), µs", "map (map_split), µs",
         "both (filter_split with map_shares), µs", "fastest"},
        {},
        "Measured, cold L2, of each way the fastest recorded setting. Both were run only where step 4 of "
        "section 2.2 divides again."};
    std::map<std::string, std::size_t> wins;
    for (const std::string &shape : results->study.shapes) {
        std::vector<std::string> row = {shape};
        std::string winner = "–";
        std::optional<Seconds> best;
        for (const char *const name : {"filters", "map", "both"}) {
            const std::string way = name;
            const std::optional<Seconds> time = fastest_way(context, *item.answer.study, shape, way);
            row.push_back(micro_text(time));
            if (time && (!best || *time < *best))
                best = time, winner = way;
        }
        ++wins[winner];
        row.push_back(winner);
        table.rows.push_back(std::move(row));
    }
    answer.tables.push_back(std::move(table));
    answer.findings.push_back(
        {item.id, "the best way depends on the sizes", "without a number",
         fmt::format("filters {}, map {}, both {}", wins["filters"], wins["map"], wins["both"]),
         std::max({wins["filters"], wins["map"], wins["both"]}) < results->study.shapes.size()
             ? ClaimVerdict::holds
             : ClaimVerdict::differs,
         fmt::format(
             "Of {} shapes the division of the filters is fastest on {}, of the map on {}, of both on {}.",
             results->study.shapes.size(), wins["filters"], wins["map"], wins["both"])});
    return answer;
}

/// The ways of Figure 2, each with the strategy that stands for it.
struct Way {
    const char *letter, *what, *group;
};
constexpr std::array<Way, 5> ways = {{{"a", "undivided: every thread on its own", "naive_global"},
                                      {"b", "channels", "channel_split"},
                                      {"c", "filters", "filter_stream"},
                                      {"d", "map along y", "map_stream"},
                                      {"e", "both", "stride_fixed_block"}}};

/// Of all recordings the fastest setting of a way of dividing: of (e) the paper's own block was recorded by
/// itself.
const CaseRow *fastest_recorded(const PaperContext &context, const PaperItem &item, const std::string &shape,
                                const std::string &group) {
    const CaseRow *best = nullptr;
    for (const StudyResults *results : {context.measured(*item.answer.study), context.measured("chang_multi"),
                                        context.measured_settings("chang_multi")}) {
        const CaseRow *row = results == nullptr ? nullptr : fastest_row_of(*results, shape, group);
        if (row != nullptr && (best == nullptr || *row->cold_s < *best->cold_s))
            best = row;
    }
    return best;
}

Figure partition_figure(const PaperItem &item, const PaperContext &context, const StudyResults &results,
                        std::int64_t filter, const std::string &gpu) {
    Figure figure{
        fmt::format("{}_{}x{}", item.id, filter, filter),
        fmt::format("{}: (a) to (e) against each other, {}x{} filters", title_of(item), filter, filter),
        "",
        {},
        {}};
    figure.caption =
        "Time over that of the fastest of the five, cold L2, measured on " + gpu +
        ", of each way its fastest recorded setting; hollow: forecast over the same measured time.";
    figure.x = {"time / time of the fastest way", Scale::logarithmic, {}, {}, {}};
    figure.y.scale = Scale::category;
    figure.references = {{Guide::vertical, 1.0, "the fastest of the five"}};
    std::vector<Series> measured, forecast;
    for (std::size_t i = 0; i < ways.size(); ++i) {
        measured.push_back({fmt::format("({}) {}", ways[i].letter, ways[i].what), i});
        forecast.push_back({measured.back().name + ", forecast", i, Drawn::points, true});
        forecast.back().unlisted = true;
    }
    for (const std::string &shape : results.study.shapes) {
        if (ConvShape::parse(shape).r != filter)
            continue;
        std::array<const CaseRow *, ways.size()> rows{};
        std::optional<Seconds> best;
        for (std::size_t i = 0; i < ways.size(); ++i) {
            rows[i] = fastest_recorded(context, item, shape, ways[i].group);
            if (rows[i] != nullptr && (!best || *rows[i]->cold_s < *best))
                best = rows[i]->cold_s;
        }
        if (!best)
            continue;
        const auto y = static_cast<double>(figure.y.categories.size());
        figure.y.categories.push_back(shape_text(shape));
        for (std::size_t i = 0; i < ways.size(); ++i) {
            if (rows[i] == nullptr)
                continue;
            const CaseRow &row = *rows[i];
            const std::string what = fmt::format("{} ({}) {}", shape, ways[i].letter, row.name);
            measured[i].points.push_back(
                {*row.cold_s / *best, y, what + " measured " + microseconds(*row.cold_s) + " µs", {}});
            if (row.predicted_s)
                forecast[i].points.push_back({*row.predicted_s / *best,
                                              y,
                                              what + " forecast " + microseconds(*row.predicted_s) + " µs",
                                              {}});
        }
    }
    for (Series &series : forecast)
        figure.series.push_back(std::move(series));
    for (Series &series : measured)
        figure.series.push_back(std::move(series));
    figure.no_data = "nothing was measured";
    return figure;
}

/// Times of the five ways; absent where a way does not do the shape.
using WayTimes = std::array<std::optional<Seconds>, ways.size()>;

/// How (b) compares with (c), (d) and (e), over shapes.
struct AgainstOthers {
    std::size_t shapes = 0, slowest = 0, fastest = 0;
    std::vector<double> over_best; ///< the time of (b) over that of the best other way

    void add(const WayTimes &times) {
        const auto &b = times[1];
        std::optional<Seconds> best, worst;
        for (const std::size_t i : {2u, 3u, 4u}) {
            if (times[i] && (!best || *times[i] < *best))
                best = times[i];
            if (times[i] && (!worst || *worst < *times[i]))
                worst = times[i];
        }
        if (!b || !best)
            return;
        ++shapes;
        slowest += *worst < *b ? 1 : 0;
        fastest += *b < *best ? 1 : 0;
        over_best.push_back(*b / *best);
    }
};

/// "(b) is slower than each of the others" over shapes, measured or forecast.
ClaimAnswer slower_finding(const PaperItem &item, const AgainstOthers &b, const std::string &gpu,
                           bool measured) {
    ClaimAnswer finding{item.id,
                        fmt::format("the division of channels, (b), is slower than (c), (d) and (e), {}{}",
                                    measured ? "measured on " : "forecast for ", gpu),
                        "obviously slower; without a number",
                        "–",
                        ClaimVerdict::open,
                        "Too little is known of " + gpu + "."};
    const auto mean = geometric_mean_of(b.over_best);
    if (!mean)
        return finding;
    finding.found = fmt::format("slowest of the four on {}", of_shapes(b.slowest, b.shapes));
    finding.verdict = verdict_of_all(b.slowest, b.shapes);
    finding.sentence = fmt::format("{} {} (b) is the slowest of (b) to (e) on {} and the fastest on {}; it "
                                   "takes {} the time of the best "
                                   "other way, geometric mean.",
                                   measured ? "On" : "By the forecast for the", gpu,
                                   of_shapes(b.slowest, b.shapes), b.fastest, times(*mean));
    return finding;
}

PaperTable partition_forecasts(const PaperItem &item, const PaperContext &context, AgainstOthers &b) {
    PaperTable table{item.id + "_forecast",
                     title_of(item) + ": forecast for " + short_name(context.papers().profile),
                     1,
                     {"shape"},
                     {},
                     "Of each way the setting that `convcast choose` ranks first."};
    for (const Way &way : ways)
        table.head.push_back(fmt::format("({}) {}, µs", way.letter, way.group));
    struct Refused {
        std::size_t shapes = 0;
        std::string first;
    };
    std::map<std::string, Refused> refused; // by the way's letter
    for (const std::string &shape : context.study(*item.answer.study).shapes) {
        std::vector<std::string> row = {shape};
        WayTimes times;
        for (std::size_t i = 0; i < ways.size(); ++i) {
            const auto &chosen = context.papers().chosen(ways[i].group, shape);
            if (chosen)
                times[i] = chosen->time;
            else if (Refused &its = refused[ways[i].letter]; its.shapes++ == 0)
                its.first =
                    fmt::format("{}: {}", shape,
                                context.papers().forecast(ways[i].group, shape).reason.value_or("no time"));
            row.push_back(micro_text(times[i]));
        }
        b.add(times);
        table.rows.push_back(std::move(row));
    }
    if (const std::string why = context.no_time(); !why.empty()) {
        table.rows.clear();
        table.note = "No time: " + why + ".";
        return table;
    }
    for (const auto &[letter, its] : refused)
        table.note += fmt::format(" No setting of ({}) has a plan on {}, for example {}.", letter,
                                  of_shapes(its.shapes, table.rows.size()), its.first);
    return table;
}

/// (a) to (e) measured and forecast on our GPU.
PaperTable partition_numbers(const PaperItem &item, const PaperContext &context, const StudyResults &results,
                             AgainstOthers &b) {
    const std::string gpu = short_name(context.ours().profile);
    PaperTable table{
        item.id + "_numbers",
        title_of(item) + ": (a) to (e) on " + gpu,
        1,
        {"shape"},
        {},
        "Cold L2, of each way the fastest recorded setting; (e) in the paper's block was recorded "
        "by itself, on another day."};
    for (const Way &way : ways) {
        table.head.push_back(fmt::format("({}) {}, µs", way.letter, way.group));
        table.head.push_back("forecast");
    }
    table.head.push_back("setting of (e)");
    table.head.push_back("fastest");
    for (const std::string &shape : results.study.shapes) {
        std::vector<std::string> row = {shape};
        std::string fastest = "–", setting = "–";
        std::optional<Seconds> best;
        WayTimes times;
        for (std::size_t i = 0; i < ways.size(); ++i) {
            const CaseRow *its = fastest_recorded(context, item, shape, ways[i].group);
            if (its != nullptr)
                times[i] = its->cold_s;
            row.push_back(micro_text(times[i]));
            row.push_back(micro_text(its == nullptr ? std::nullopt : its->predicted_s));
            if (its != nullptr && (!best || *its->cold_s < *best))
                best = its->cold_s, fastest = fmt::format("({})", ways[i].letter);
            if (its != nullptr && i + 1 == ways.size())
                setting = knobs_text(its->name);
        }
        b.add(times);
        row.push_back(setting);
        row.push_back(fastest);
        table.rows.push_back(std::move(row));
    }
    return table;
}

ItemAnswer partitions(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    AgainstOthers forecast, measured;
    answer.tables.push_back(partition_forecasts(item, context, forecast));
    const StudyResults *results = context.measured(*item.answer.study);
    const std::string gpu = short_name(context.ours().profile);
    if (results != nullptr) {
        answer.tables.push_back(partition_numbers(item, context, *results, measured));
        for (const std::int64_t filter : {1, 3, 5})
            answer.figures.push_back(partition_figure(item, context, *results, filter, gpu));
    }
    answer.findings.push_back(slower_finding(item, measured, gpu, true));
    answer.findings.push_back(slower_finding(item, forecast, short_name(context.papers().profile), false));
    return answer;
}

ItemAnswer cached(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    PaperTable table{item.id, "What stays on the SMs, for the shapes of Figure 2",
                     1,       {"shape", "filters, B", "map, B"},
                     {},      ""};
    const std::array<const GpuProfile *, 2> gpus = {&context.papers().profile, &context.ours().profile};
    std::array<std::size_t, 2> filters{}, maps{}, neither{};
    for (const GpuProfile *gpu : gpus)
        for (const char *what : {"(c) filters stay", "(d) map stays"})
            table.head.push_back(short_name(*gpu) + ": " + what);
    const Study study = context.study(*item.answer.study);
    for (const std::string &text : study.shapes) {
        const ConvShape s = ConvShape::parse(text);
        std::vector<std::string> row = {text, count_text(s.filter_bytes()), count_text(s.input_bytes())};
        for (std::size_t i = 0; i < gpus.size(); ++i) {
            const std::int64_t room = gpus[i]->limits.sm_count * gpus[i]->limits.shared_bytes_per_sm;
            const bool filters_stay = s.filter_bytes() < room, map_stays = s.input_bytes() < room;
            filters[i] += filters_stay ? 1 : 0;
            maps[i] += map_stays ? 1 : 0;
            neither[i] += filters_stay || map_stays ? 0 : 1;
            row.push_back(filters_stay ? "yes" : "no");
            row.push_back(map_stays ? "yes" : "no");
        }
        table.rows.push_back(std::move(row));
    }
    table.note = fmt::format(
        "All SMs together have {} B on {} and {} B on {}.",
        count_text(gpus[0]->limits.sm_count * gpus[0]->limits.shared_bytes_per_sm), short_name(*gpus[0]),
        count_text(gpus[1]->limits.sm_count * gpus[1]->limits.shared_bytes_per_sm), short_name(*gpus[1]));
    answer.tables.push_back(std::move(table));
    for (std::size_t i = 0; i < gpus.size(); ++i)
        answer.findings.push_back(
            {item.id,
             "in general filters and map are both larger than the shared memory of all SMs, " +
                 short_name(*gpus[i]),
             "without a number", fmt::format("both larger on {}", of_shapes(neither[i], study.shapes.size())),
             verdict_of_all(neither[i], study.shapes.size()),
             fmt::format("On {} the filters fit on {} and the map on {}; neither fits on {}. The shapes are "
                         "ours, within the paper's range.",
                         short_name(*gpus[i]), of_shapes(filters[i], study.shapes.size()), maps[i],
                         neither[i])});
    return answer;
}

ItemAnswer division_sizes(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    for (const ForecastGpu *gpu : {&context.papers(), &context.ours()}) {
        PaperTable table{item.id + "_" + gpu->profile.id,
                         "D and Th with the P and Q of rules 1 to 3, " + short_name(gpu->profile),
                         1,
                         {"shape", "D_input, B", "D1, B", "Th1", "D2, B", "Th2", "S_shared, B"},
                         {},
                         ""};
        for (const std::string &text : context.study(*item.answer.study).shapes) {
            const ConvShape s = ConvShape::parse(text);
            const papers::Division d = papers::divide_single_channel(s, gpu->profile);
            table.rows.push_back({text, count_text(s.input_bytes() + s.filter_bytes()), count_text(d.d1),
                                  count_text(d.th1), count_text(d.d2), count_text(d.th2),
                                  count_text(gpu->profile.limits.shared_bytes_per_sm)});
        }
        answer.tables.push_back(std::move(table));
    }
    return answer;
}

ItemAnswer division_pieces(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    for (const ForecastGpu *gpu : {&context.papers(), &context.ours()}) {
        PaperTable table{
            item.id + "_" + gpu->profile.id,
            "P and Q, " + short_name(gpu->profile),
            1,
            {"shape", "P range", "P", "Q range", "Q", "division", "P after 4", "Q after 4", "remark"},
            {},
            ""};
        std::size_t overruns = 0, none = 0;
        const auto range = [](const papers::PieceChoice &c) {
            return fmt::format("{} to {}", c.lower ? std::to_string(*c.lower) : std::string("none"), c.upper);
        };
        const Study study = context.study(*item.answer.study);
        for (const std::string &text : study.shapes) {
            const papers::Division d = papers::divide_single_channel(ConvShape::parse(text), gpu->profile);
            overruns += d.overruns_shared ? 1 : 0;
            none += !d.p.in_range && !d.q.in_range ? 1 : 0;
            std::string remark = d.overruns_shared ? "D exceeds S_shared: rule 2 does not round up" : "";
            for (const papers::PieceChoice *c : {&d.p, &d.q})
                if (!c->in_range)
                    remark += (remark.empty() ? "" : "; ") + c->why;
            table.rows.push_back({text, range(d.p), std::to_string(d.p.chosen), range(d.q),
                                  std::to_string(d.q.chosen), std::to_string(d.method),
                                  std::to_string(d.pieces_p), std::to_string(d.pieces_q), remark});
        }
        answer.tables.push_back(std::move(table));
        answer.findings.push_back(
            {item.id, "P and Q in range keep both conditions, on " + short_name(gpu->profile),
             "without a number", fmt::format("{} exceed S_shared", of_shapes(overruns, study.shapes.size())),
             verdict_of_all(study.shapes.size() - overruns, study.shapes.size()),
             fmt::format("On {} the least P or Q {}; on {} neither is in range.", short_name(gpu->profile),
                         overruns == 0
                             ? "fits the shared memory on every shape"
                             : "overruns the shared memory on " + of_shapes(overruns, study.shapes.size()) +
                                   ", as the bounds divide without rounding up and the sizes "
                                   "round up",
                         of_shapes(none, study.shapes.size()))});
    }
    return answer;
}

ItemAnswer stride_fixed_rules(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    PaperTable table{item.id,
                     "Rules 1 to 4 of the stride-fixed block",
                     1,
                     {"GPU", "S, B", "K", "W'x", "W'y", "lines touched", "least M'", "FMAs a step at M' = 64",
                      "N_FMA", "rule 4 at M' = 64, B", "S_shared / 2, B", "fits"},
                     {},
                     "W'y = ceil(S / (4 K)); a segment that begins inside a filter's row touches a line "
                     "more, which the kernel loads."};
    for (const ForecastGpu *gpu : {&context.papers(), &context.ours()})
        for (const std::int64_t segment : {32, 64})
            for (const std::int64_t filter : {1, 3, 5}) {
                constexpr std::int64_t tile_w = 128, tile_k = 64;
                const std::int64_t n_fma = papers::table1(gpu->profile).n_fma;
                const std::int64_t bytes = papers::step_bytes(segment, filter, tile_w, tile_k);
                const std::int64_t half = gpu->profile.limits.shared_bytes_per_sm / 2;
                table.rows.push_back(
                    {short_name(gpu->profile), std::to_string(segment), std::to_string(filter),
                     std::to_string(tile_w), std::to_string(papers::lines_per_segment(segment, filter)),
                     std::to_string(papers::lines_touched(segment, filter)),
                     std::to_string(papers::tile_k_min(n_fma, segment, tile_w)),
                     count_text(papers::step_fmas(segment, tile_w, tile_k)), count_text(n_fma),
                     count_text(bytes), count_text(half), bytes <= half ? "yes" : "no"});
            }
    answer.tables.push_back(std::move(table));
    const std::int64_t n_fma = papers::table1(context.papers().profile).n_fma;
    const std::int64_t least = papers::tile_k_min(n_fma, 32, 128);
    const std::int64_t step = papers::step_fmas(32, 128, 64);
    answer.findings.push_back(
        {item.id, "M' = 64, W'x = 128 keep rule 3", "M' = 64", fmt::format("least M' {} at S = 32", least),
         least <= 64 ? ClaimVerdict::holds : ClaimVerdict::in_part,
         fmt::format("With S = 32 a step has {} FMAs, {} fewer than N_FMA = {}; with S = 64 it has {}.",
                     count_text(step), count_text(n_fma - step), count_text(n_fma),
                     count_text(papers::step_fmas(64, 128, 64)))});
    return answer;
}

ItemAnswer launch_setup(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const GpuLimits &limits = context.papers().profile.limits;
    const auto value = [&](const char *of) { return static_cast<std::int64_t>(cell_of(item, of)->value); };
    const std::int64_t registers =
        value("blocks of an SM") * value("threads of a block") * value("registers of a thread");
    const std::int64_t most =
        limits.registers_per_sm / (value("blocks of an SM") * value("threads of a block"));
    answer.findings.push_back(
        {item.id, "two blocks of 512 threads an SM with 128 registers a thread",
         fmt::format("{} registers a thread", value("registers of a thread")),
         fmt::format("{} at most with both blocks resident", most),
         most >= value("registers of a thread") ? ClaimVerdict::holds : ClaimVerdict::differs,
         fmt::format("Two such blocks would take {} registers; an SM of the {} has {}, so they run one after "
                     "the other or with {} registers a thread.",
                     count_text(registers), short_name(context.papers().profile),
                     count_text(limits.registers_per_sm), most)});
    return answer;
}

ItemAnswer best_block(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    PaperTable table{
        item.id,
        "The paper's block against the setting that choose ranks first",
        2,
        {"shape", "GPU", "S = 32, M' = 64, W'x = 128, µs", "S = 64, the same, µs", "choose's first, µs",
         "choose's first", "it was measured, µs"},
        {},
        "Forecasts but for the last column: what `convcast choose --strategy stride_fixed_block` ranks "
        "first, "
        "and its recorded time. It tries many blocks but not every depth of buffers; where the paper's block "
        "is forecast to be faster than its first, that one was not among them."};
    std::map<std::string, std::vector<double>> ratios;
    std::map<std::string, std::size_t> measured;
    for (const std::string &shape : context.study(*item.answer.study).shapes)
        for (const ForecastGpu *gpu : {&context.papers(), &context.ours()}) {
            const auto small = gpu->time(item.answer.settings[0], shape),
                       large = gpu->time(item.answer.settings[1], shape);
            const auto &chosen = gpu->chosen("stride_fixed_block", shape);
            if ((!small && !large) || !chosen)
                continue;
            const std::string name = short_name(gpu->profile);
            const Seconds best = !large || (small && *small < *large) ? *small : *large;
            ratios[name].push_back(best / chosen->time);
            const CaseRow *recorded = nullptr;
            if (gpu == &context.ours())
                for (const StudyResults *results :
                     {context.measured(*item.answer.study), context.measured_settings(*item.answer.study)})
                    if (results != nullptr && recorded == nullptr)
                        recorded = row_with(*results, shape, chosen->strategy);
            measured[name] += recorded != nullptr ? 1 : 0;
            table.rows.push_back({shape, name, micro_text(small), micro_text(large), micro_text(chosen->time),
                                  knobs_text(chosen->strategy),
                                  recorded == nullptr ? "never" : micro_text(recorded->cold_s)});
        }
    if (const std::string why = context.no_time(); !why.empty())
        table.note += " " + short_name(context.papers().profile) + ": no time: " + why + ".";
    answer.tables.push_back(std::move(table));
    for (const ForecastGpu *gpu : {&context.papers(), &context.ours()}) {
        const std::string name = short_name(gpu->profile);
        ClaimAnswer finding{item.id,
                            "M' = 64 and W'x = 128 are best, forecast for " + name,
                            "best of those tried",
                            "–",
                            ClaimVerdict::open,
                            name + " has no forecast of a time."};
        if (const auto mean = geometric_mean_of(ratios[name])) {
            finding.found = fmt::format("{:.2f} times the time of the block that choose ranks first", *mean);
            finding.verdict = verdict_of_best(*mean);
            finding.sentence = fmt::format(
                "With them and the better S the kernel is forecast to take {:.2f} times the time of the "
                "block "
                "that choose ranks first, geometric mean over {} shapes on {}; of those first blocks {} were "
                "measured.",
                *mean, ratios[name].size(), name, measured[name]);
        }
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

/// How values of Figure 1 lie in memory, ours beside the paper's.
ItemAnswer filter_layout(const PaperItem &item, const PaperContext &) {
    ItemAnswer answer;
    answer.tables.push_back(
        {item.id,
         "Place of value (i, j) of filter m and channel ch, in elements",
         1,
         {"", "place", "in the paper", "here"},
         {{"(a) single channel", "m K K + j K + i", "yes", "yes (KCRS with C = 1)"},
          {"(b) channel first, then filter", "(m C + ch) K K + j K + i", "yes", "yes (KCRS)"}},
         "KCRS: filter, channel, row, column; column i is the fastest."});
    return answer;
}

ItemAnswer against_chen(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const StudyResults *results = context.measured(*item.answer.study);
    const PublishedCell &performance = *cell_of(item, "performance"), &peak = *cell_of(item, "peak");
    const std::string claim = "performance over Chen's at K = 3, of GPUs whose peaks differ 2.4 times";
    const std::string published =
        fmt::format("{}, {} for an equal peak", printed(performance), times(performance.value / peak.value));
    if (results == nullptr) {
        answer.findings.push_back(not_measured(item, claim, published, context));
        return answer;
    }
    const auto mean = geometric_mean_of(time_ratios(*results, "block_register", "stride_fixed_block",
                                                    [](const ConvShape &s) { return s.r == 3; }));
    ClaimAnswer finding{item.id, claim, published, "–", ClaimVerdict::open, "Too little was measured."};
    if (mean) {
        const double wanted = performance.value / peak.value;
        finding.found =
            fmt::format("{} on the same GPU ({})", times(*mean), short_name(context.ours().profile));
        finding.verdict = verdict_of_ratio(wanted, *mean);
        finding.sentence = fmt::format("On one GPU Chang's blocks are {} as fast as Chen's at K = 3, "
                                       "geometric mean; the two papers' GPUs "
                                       "leave {} beside the ratio of their peaks.",
                                       times(*mean), times(wanted));
    }
    answer.findings.push_back(std::move(finding));
    return answer;
}

} // namespace

std::map<std::string, Computation> chang_computations() {
    return {{"small_maps", {small_maps, true}},
            {"verification", {verification, true}},
            {"latency_table", {latency_table}},
            {"procedure", {procedure, true}},
            {"segments", {segments}},
            {"single_ways", {single_ways, true}},
            {"partitions", {partitions, true}},
            {"cached", {cached, true}},
            {"division_sizes", {division_sizes, true}},
            {"division_pieces", {division_pieces, true}},
            {"stride_fixed_rules", {stride_fixed_rules}},
            {"launch_setup",
             {launch_setup, false, 0, {"blocks of an SM", "threads of a block", "registers of a thread"}}},
            {"filter_layout", {filter_layout}},
            {"best_block", {best_block, true, 2}},
            {"against_chen", {against_chen, true, 0, {"performance", "peak"}}}};
}

} // namespace convcast
