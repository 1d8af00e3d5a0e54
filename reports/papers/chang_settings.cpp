// What Chang's own settings do where they were run: P and Q with the data that the paper counts, step 4 of
// section 2.2, the block of section 3.2; and the map of regimes.
#include "model/paper/papers.hpp"
#include "model/shape/conv_shape.hpp"
#include "reports/papers/computations.hpp"
#include "reports/papers/verdicts.hpp"
#include "reports/regime_figures.hpp"
#include "reports/regimes.hpp"
#include "reports/report_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr const char *filters_once = "filter_split:buffers=1,map_shares=1", *map_once = "map_split:buffers=1";

std::optional<Seconds> cold_of(const CaseRow *row) {
    return row == nullptr ? std::nullopt : row->cold_s;
}

std::optional<Seconds> forecast_of(const CaseRow *row) {
    return row == nullptr ? std::nullopt : row->predicted_s;
}

/// The pieces that the plan of a division with one buffer has; absent where it has no plan.
std::optional<std::int64_t> run_pieces(const ForecastGpu &gpu, const char *setting,
                                       const std::string &shape) {
    const Case made = gpu.forecast(setting, shape);
    if (!made.prediction || !made.prediction->plan)
        return std::nullopt;
    return main_launch(*made.prediction->plan).pieces;
}

/// Whether the plans of both divisions have the pieces of rules 1 to 3. With some of those D exceeds the
/// shared memory: rule 3 gives 1 where none is in range, and rule 2 does not round up. No kernel can run
/// them.
ClaimAnswer pieces_finding(const PaperItem &item, const ForecastGpu &gpu, const Study &study) {
    std::array<std::size_t, 2> same{}, fit{};
    std::string others;
    for (const std::string &shape : study.shapes) {
        const papers::Division d = papers::divide_single_channel(ConvShape::parse(shape), gpu.profile);
        for (const auto &[i, letter, setting, rule, bytes] :
             {std::tuple{std::size_t{0}, "P", filters_once, d.p.chosen, d.d1},
              {1, "Q", map_once, d.q.chosen, d.d2}}) {
            if (bytes > gpu.profile.limits.shared_bytes_per_sm)
                continue;
            ++fit[i];
            const std::optional<std::int64_t> runs = run_pieces(gpu, setting, shape);
            same[i] += runs == rule ? 1 : 0;
            if (runs != rule)
                others += fmt::format("{}{} = {} on {} is planned as {}", others.empty() ? "" : ", ", letter,
                                      rule, shape, runs ? std::to_string(*runs) : "no plan");
        }
    }
    const std::string name = short_name(gpu.profile);
    return {item.id,
            "the kernel's plan has the P and Q of rules 1 to 3, with one buffer, on " + name,
            "without a number",
            fmt::format("P on {} of {} that fit, Q on {} of {}", same[0], fit[0], same[1], fit[1]),
            verdict_of_all(same[0] + same[1], fit[0] + fit[1]),
            fmt::format("With the P of {} shapes and the Q of {} D is within S_shared on {}; {}.", fit[0],
                        fit[1], name,
                        others.empty()
                            ? "the kernel that keeps on an SM what D counts takes all of them as they are"
                            : others +
                                  ", as each of the two CTAs of an SM has the filters and the K - 1 columns "
                                  "in common for itself")};
}

/// Both divisions as the paper keeps their data, beside the same with two buffers.
ItemAnswer residency(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const Study study = context.study(*item.answer.study);
    for (const ForecastGpu *gpu : {&context.papers(), &context.ours()})
        answer.findings.push_back(pieces_finding(item, *gpu, study));
    const StudyResults *settings = context.measured_settings(*item.answer.study);
    const std::string name = short_name(context.ours().profile);
    ClaimAnswer rule{item.id,
                     "rule 4 takes the faster division, on " + name,
                     "without a number",
                     "–",
                     ClaimVerdict::open,
                     "The settings were not run on " + name + "."};
    if (settings == nullptr) {
        answer.findings.push_back(std::move(rule));
        return answer;
    }
    PaperTable table{
        item.id + "_residency",
        "Both divisions with the data that the paper counts (one buffer) and with two buffers, " + name,
        1,
        {"shape", "rule 4 takes", "filters, one buffer, µs", "forecast", "filters, two buffers, µs",
         "map, one buffer, µs", "forecast", "map, two buffers, µs", "faster with one"},
        {},
        "Measured, cold L2. One buffer: an SM holds what D of equations (5) and (8) counts, once; two: each "
        "of "
        "its CTAs holds filters of its own, and a second buffer for what comes next."};
    std::size_t right = 0, compared = 0;
    std::vector<double> loss, two_over_one;
    for (const std::string &shape : study.shapes) {
        const papers::Division d =
            papers::divide_single_channel(ConvShape::parse(shape), context.ours().profile);
        const CaseRow *filters = row_with(*settings, shape, filters_once),
                      *map = row_with(*settings, shape, map_once);
        const auto filters_two = cold_of(row_with(*settings, shape, "filter_split:buffers=2")),
                   map_two = cold_of(row_with(*settings, shape, "map_split:buffers=2"));
        std::string faster = "–";
        if (const auto one = cold_of(filters), two = cold_of(map); one && two) {
            ++compared;
            faster = *one < *two ? "filters" : "map";
            const bool rule_right = (d.method == 1) == (*one < *two);
            right += rule_right ? 1 : 0;
            loss.push_back(rule_right ? 1.0 : std::max(*one / *two, *two / *one));
            const auto with_two = d.method == 1 ? filters_two : map_two;
            if (with_two)
                two_over_one.push_back((d.method == 1 ? *one : *two) / *with_two);
        }
        table.rows.push_back({shape, d.method == 1 ? "filters" : "map", micro_text(cold_of(filters)),
                              micro_text(forecast_of(filters)), micro_text(filters_two),
                              micro_text(cold_of(map)), micro_text(forecast_of(map)), micro_text(map_two),
                              faster});
    }
    answer.tables.push_back(std::move(table));
    if (const auto lost = geometric_mean_of(loss)) {
        rule.found = of_shapes(right, compared);
        rule.verdict = verdict_of_all(right, compared);
        rule.sentence = fmt::format(
            "Measured with one buffer, the division with the smaller D is the faster one on {}; taking "
            "it always costs {} in the geometric mean.",
            of_shapes(right, compared), signed_percent(*lost - 1.0));
    }
    answer.findings.push_back(std::move(rule));
    if (const auto ratio = geometric_mean_of(two_over_one))
        answer.tables.back().note += fmt::format(" Rule 4's division takes {} the time with one buffer that "
                                                 "it takes with two, geometric mean over "
                                                 "{} shapes; the paper claims nothing of that.",
                                                 times(*ratio), two_over_one.size());
    return answer;
}

/// The same as it is forecast for the paper's own GPU.
PaperTable redivision_on_papers(const PaperItem &item, const PaperContext &context) {
    const ForecastGpu &gpu = context.papers();
    PaperTable table{item.id + "_redivided_" + gpu.profile.id,
                     "Step 4: redivided until V_s, forecast for " + short_name(gpu.profile),
                     1,
                     {"shape", "filter shares", "map shares", "bytes to all SMs", "V_s, B",
                      "as rule 4 has it, µs", "redivided, µs", "gain"},
                     {},
                     "Forecasts, one buffer. Shapes whose SMs have N_FMA FMAs are not redivided."};
    for (const std::string &shape : context.study(*item.answer.study).shapes) {
        const ConvShape s = ConvShape::parse(shape);
        const auto redivided = papers::redivide(s, gpu.profile);
        if (!redivided)
            continue;
        const papers::Division d = papers::divide_single_channel(s, gpu.profile);
        const auto was = gpu.time(d.method == 1 ? filters_once : map_once, shape),
                   is = gpu.time(fmt::format("filter_split:buffers=1,map_shares={}", redivided->map_shares),
                                 shape);
        table.rows.push_back({shape, std::to_string(redivided->filter_shares),
                              std::to_string(redivided->map_shares), count_text(redivided->moved_bytes),
                              count_text(papers::table1(gpu.profile).v_s_bytes), micro_text(was),
                              micro_text(is),
                              factor_text(was && is ? std::optional(*was / *is) : std::nullopt)});
    }
    return table;
}

/// Step 4 of section 2.2: what it makes of the shapes with too few FMAs, and what that gains.
ItemAnswer redivision(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const StudyResults *settings = context.measured_settings(*item.answer.study);
    const std::string name = short_name(context.ours().profile);
    PaperTable table{item.id + "_redivided",
                     "Step 4: redivided until V_s, " + name,
                     1,
                     {"shape", "filter shares", "map shares", "bytes to all SMs", "V_s, B",
                      "as rule 4 has it, µs", "redivided, µs", "forecast", "gain"},
                     {},
                     "Measured, cold L2, one buffer. Only shapes whose SMs have fewer FMAs than N_FMA are "
                     "redivided; a plan "
                     "that comes to the same division runs once."};
    std::vector<double> gains, reaching; // of all, and of those that move more than V_s
    std::size_t enough = 0;
    for (const std::string &shape : context.study(*item.answer.study).shapes) {
        const ConvShape s = ConvShape::parse(shape);
        const auto redivided = papers::redivide(s, context.ours().profile);
        if (!redivided)
            continue;
        enough += redivided->exceeds_v_s ? 1 : 0;
        const std::string asked = fmt::format("filter_split:buffers=1,map_shares={}", redivided->map_shares);
        const papers::Division d = papers::divide_single_channel(s, context.ours().profile);
        const CaseRow *before = nullptr, *after = nullptr;
        if (settings != nullptr) {
            before = row_with(*settings, shape, d.method == 1 ? filters_once : map_once);
            after = row_with(*settings, shape, asked);
        }
        const auto was = cold_of(before), is = cold_of(after);
        if (was && is && before != after)
            gains.push_back(*was / *is);
        if (was && is && before != after && redivided->exceeds_v_s)
            reaching.push_back(*was / *is);
        table.rows.push_back(
            {shape, std::to_string(redivided->filter_shares), std::to_string(redivided->map_shares),
             count_text(redivided->moved_bytes), count_text(papers::table1(context.ours().profile).v_s_bytes),
             micro_text(was), micro_text(is), micro_text(forecast_of(after)),
             factor_text(was && is && before != after ? std::optional(*was / *is) : std::nullopt)});
    }
    const std::size_t all = table.rows.size();
    answer.tables.push_back(std::move(table));
    answer.tables.push_back(redivision_on_papers(item, context));
    ClaimAnswer finding{item.id,
                        "redividing until V_s pays, on " + name,
                        "without a number",
                        "–",
                        ClaimVerdict::open,
                        "No redivided plan was run on " + name + "."};
    if (const auto mean = geometric_mean_of(reaching)) {
        const auto wins_of = [](const std::vector<double> &values) {
            return static_cast<std::size_t>(
                std::count_if(values.begin(), values.end(), [](double g) { return g > 1.0; }));
        };
        finding.found = fmt::format("{} as fast, faster on {} that reach V_s", times(*mean),
                                    of_shapes(wins_of(reaching), reaching.size()));
        finding.verdict = verdict_of_all(wins_of(reaching), reaching.size());
        finding.sentence =
            fmt::format("Step 4 redivides {} shapes, {} of them to more than V_s. Measured were {} plans "
                        "that differ from "
                        "rule 4's: of the {} that move more than V_s {} are faster, {} in the geometric "
                        "mean; of the {} that "
                        "never reach V_s, which the rule says nothing of, {}.",
                        all, enough, gains.size(), reaching.size(), wins_of(reaching), times(*mean),
                        gains.size() - reaching.size(), wins_of(gains) - wins_of(reaching));
    }
    answer.findings.push_back(std::move(finding));
    return answer;
}

/// The paper's block M' = 64, W'x = 128 where it ran, beside the least M' of rule 3.
ItemAnswer block_measured(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const StudyResults *settings = context.measured_settings(*item.answer.study);
    const std::string name = short_name(context.ours().profile);
    ClaimAnswer finding{item.id,
                        "M' = 64 and W'x = 128 are best, measured on " + name,
                        "best of those tried",
                        "–",
                        ClaimVerdict::open,
                        "The settings were not run on " + name + "."};
    if (settings == nullptr) {
        answer.findings.push_back(std::move(finding));
        return answer;
    }
    const std::int64_t n_fma = papers::table1(context.ours().profile).n_fma;
    // The kernel's tile of filters has so many at a step: the least M' of rule 3 is rounded up to it.
    const auto least_of = [&](const std::string &shape, std::int64_t segment) -> const CaseRow * {
        const CaseRow *least = nullptr;
        std::int64_t fewest = 0;
        for (const CaseRow &row : settings->statistics.cases) {
            if (row.shape != shape || !row.cold_s ||
                !has_setting(row.name,
                             fmt::format("stride_fixed_block:segment_bytes={},tile_w=128", segment)))
                continue;
            const std::int64_t filters = knob_value(row.name, "tile_k");
            if (filters >= papers::tile_k_min(n_fma, segment, 128) && (least == nullptr || filters < fewest))
                least = &row, fewest = filters;
        }
        return least;
    };
    // Any other recorded block of a shape: that of rule 3's least M' and the default.
    const auto best_other = [&](const std::string &shape) -> const CaseRow * {
        const CaseRow *best = nullptr;
        for (const StudyResults *recorded :
             {settings, context.measured(*item.answer.study), context.measured("partition_2bcde")})
            if (recorded != nullptr)
                for (const CaseRow &row : recorded->statistics.cases)
                    if (row.shape == shape && row.group == "stride_fixed_block" && row.cold_s &&
                        !has_setting(row.name, "stride_fixed_block:tile_w=128,tile_k=64") &&
                        (best == nullptr || *row.cold_s < *best->cold_s))
                        best = &row;
        return best;
    };
    PaperTable table{
        item.id + "_measured",
        "M' = 64 and the least M' of rule 3, measured on " + name,
        1,
        {"shape", "S = 64, M' = 64, µs", "forecast", "S = 32, M' = 64, µs", "forecast",
         "S = 64, least M', µs", "S = 32, least M', µs", "best other block, µs", "best other block"},
        {},
        fmt::format(
            "W'x = 128, cold L2. N_FMA = {} of {} asks for M' of {} (S = 64) and {} (S = 32) at least; "
            "fewer run where a shape has fewer filters, which leaves its cell empty.",
            count_text(n_fma), name, papers::tile_k_min(n_fma, 64, 128), papers::tile_k_min(n_fma, 32, 128))};
    std::vector<double> against_least, against_other;
    std::size_t best = 0, compared = 0;
    for (const std::string &shape : context.study(*item.answer.study).shapes) {
        std::vector<std::string> row = {shape}, rest;
        std::optional<Seconds> own, least;
        const auto take = [](std::optional<Seconds> &to, const std::optional<Seconds> &time) {
            if (time && (!to || *time < *to))
                to = time;
        };
        for (const std::int64_t segment : {64, 32}) {
            const CaseRow *printed =
                row_with(*settings, shape,
                         fmt::format("stride_fixed_block:segment_bytes={},tile_w=128,tile_k=64", segment));
            row.push_back(micro_text(cold_of(printed)));
            row.push_back(micro_text(forecast_of(printed)));
            const CaseRow *by_rule = least_of(shape, segment);
            rest.push_back(micro_text(cold_of(by_rule)));
            take(own, cold_of(printed));
            take(least, cold_of(by_rule));
        }
        row.insert(row.end(), rest.begin(), rest.end());
        const CaseRow *other = best_other(shape);
        row.push_back(micro_text(cold_of(other)));
        row.push_back(other == nullptr ? "–" : knobs_text(other->name));
        table.rows.push_back(std::move(row));
        if (own && least)
            against_least.push_back(*own / *least);
        if (own && other != nullptr) {
            ++compared;
            best += *own < *other->cold_s ? 1 : 0;
            against_other.push_back(*own / *other->cold_s);
        }
    }
    answer.tables.push_back(std::move(table));
    if (const auto mean = geometric_mean_of(against_other)) {
        finding.found = fmt::format("faster than the best other block on {}", of_shapes(best, compared));
        finding.verdict = verdict_of_best(*mean);
        finding.sentence = fmt::format(
            "On {} at most three other blocks of a shape were run: the least M' of rule 3 for each S, and "
            "the "
            "default of predict. With the better S the paper's block takes {:.2f} of the time of the best of "
            "them, geometric mean over {} shapes{}.",
            name, *mean, compared,
            against_least.empty() ? ""
                                  : fmt::format(", and {:.2f} of that of the least M' over {}",
                                                *geometric_mean_of(against_least), against_least.size()));
    }
    answer.findings.push_back(std::move(finding));
    return answer;
}

ItemAnswer regimes(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const StudyResults *results = context.measured(*item.answer.study);
    const std::string name = short_name(context.ours().profile);
    const std::string claim = "an SM with N_FMA FMAs hides the latency, one with fewer does not";
    if (results == nullptr) {
        answer.findings.push_back(not_measured(item, claim, "without a number", context));
        return answer;
    }
    answer.figures = regime_maps(results->statistics);
    const RegimeTables &said = results->statistics.regimes;
    PaperTable table{
        item.id,
        "Regimes that are said as the counters show them, " + name,
        1,
        {"by", "right", "of", "always the commonest", "kappa"},
        {},
        "Both divisions on every map and number of filters of the figures. Always the commonest: what "
        "always saying the regime that was measured most often would agree with. Kappa: Cohen's, 0 "
        "is chance."};
    for (const auto &[by, opinion] :
         {std::pair("the paper's rule (N_FMA, V_s)", "paper"), std::pair("the physical rule", "physical"),
          std::pair("the forecast", "forecast")})
        if (const RegimeStatistics *its = over_all(said, opinion))
            table.rows.push_back({by, std::to_string(its->agree), std::to_string(its->n),
                                  std::to_string(its->commonest_n),
                                  its->kappa ? fmt::format("{:.2f}", *its->kappa) : "–"});
    answer.tables.push_back(std::move(table));
    const RegimeStatistics *paper = over_all(said, "paper"), *forecast = over_all(said, "forecast");
    if (paper != nullptr && forecast != nullptr)
        answer.findings.push_back(
            {item.id, claim, "without a number",
             fmt::format("{} of {} cases ({})", paper->agree, paper->n, name),
             verdict_of_all(static_cast<std::size_t>(paper->agree), static_cast<std::size_t>(paper->n)),
             fmt::format(
                 "The rule says the regime that the counters show in {} of {} cases on {}, the forecast "
                 "in {}. Of the rule: {}. Of the forecast: {}.",
                 paper->agree, paper->n, name, forecast->agree, worth_of(*paper), worth_of(*forecast))});
    return answer;
}

/// The paper's own settings forecast for both of its GPUs.
ItemAnswer titan_x(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const ForecastGpu titan(find_profile("titanx_maxwell"));
    const std::array<const ForecastGpu *, 2> gpus = {&context.papers(), &titan};
    PaperTable table{item.id,
                     "The paper's settings of its kernels, forecast for both of its GPUs",
                     1,
                     {"shape"},
                     {},
                     "Of one channel rule 4's division, of several the faster S. Ranges are those of the "
                     "assumed numbers of a profile."};
    for (const ForecastGpu *gpu : gpus) {
        table.head.push_back(short_name(gpu->profile) + ", µs");
        table.head.push_back("range");
    }
    table.head.push_back("ratio");
    std::vector<double> ratios;
    for (const char *study : {"chang_single", "chang_multi"})
        for (const std::string &shape : context.study(study).shapes) {
            std::vector<std::string> row = {shape};
            std::array<std::optional<Seconds>, 2> times;
            for (std::size_t i = 0; i < gpus.size(); ++i) {
                std::optional<Prediction> fastest;
                const ConvShape sizes = ConvShape::parse(shape);
                const bool map =
                    sizes.c == 1 && papers::divide_single_channel(sizes, gpus[i]->profile).method == 2;
                for (const std::string &setting : item.answer.settings) {
                    if (setting.starts_with(map ? "filter_split:" : "map_split:"))
                        continue; // rule 4 takes the other division
                    const Case made = gpus[i]->forecast(setting, shape);
                    if (made.status == Status::ok && made.prediction && made.prediction->time_s &&
                        (!times[i] || *made.prediction->time_s < *times[i]))
                        fastest = made.prediction, times[i] = made.prediction->time_s;
                }
                row.push_back(micro_text(times[i]));
                row.push_back(fastest && fastest->time_low_s && fastest->time_high_s
                                  ? micro_text(fastest->time_low_s) + " to " +
                                        micro_text(fastest->time_high_s)
                                  : "–");
            }
            const bool both = times[0] && times[1];
            if (both)
                ratios.push_back(*times[1] / *times[0]);
            row.push_back(factor_text(both ? std::optional(*times[1] / *times[0]) : std::nullopt));
            table.rows.push_back(std::move(row));
        }
    answer.tables.push_back(std::move(table));
    const GpuProfile &paper = context.papers().profile;
    const auto peak = [](const GpuProfile &p) {
        return static_cast<double>(p.limits.sm_count * p.limits.cores_per_sm) * p.sm_clock->value.value;
    };
    if (const auto mean = geometric_mean_of(ratios))
        answer.findings.push_back(
            {item.id, "the kernels run on the Titan X (Maxwell) with the settings of the GTX 1080 Ti",
             "without a number",
             fmt::format("{} of {} shapes, {} the time (forecast)", ratios.size(),
                         answer.tables.front().rows.size(), times(*mean)),
             ratios.size() == answer.tables.front().rows.size() ? ClaimVerdict::holds : ClaimVerdict::in_part,
             fmt::format("The forecasts take {} the time of the {}, whose peak is {} that of the Titan X; "
                         "how cuDNN compares "
                         "there, nothing at hand says.",
                         times(*mean), short_name(paper), times(peak(paper) / peak(titan.profile)))});
    return answer;
}

} // namespace

std::map<std::string, Computation> chang_setting_computations() {
    return {{"residency", {residency, true}},
            {"redivision", {redivision, true}},
            {"block_measured", {block_measured, true}},
            {"regimes", {regimes, true}},
            {"titan_x", {titan_x, false, 1}}};
}

} // namespace convcast
