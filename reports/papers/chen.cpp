// The computations of Chen's paper but for its speed-ups over cuDNN, which are in gains.cpp.
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

Bytes bank_width_of(const GpuProfile &profile) {
    return profile.bank_width ? profile.bank_width->value : Bytes(4.0);
}

ItemAnswer bank_ratio(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    PaperTable table{item.id, "n = W_SMB / W_CD", 1, {"GPU", "bank width, B", "float", "half", "int8"}, {},
                     ""};
    for (const ForecastGpu *gpu : {&context.papers(), &context.ours()}) {
        const Bytes width = bank_width_of(gpu->profile);
        table.rows.push_back({short_name(gpu->profile), fmt::format("{:.0f}", width.value),
                              std::to_string(papers::bank_ratio(width, 4)),
                              std::to_string(papers::bank_ratio(width, 2)),
                              std::to_string(papers::bank_ratio(width, 1))});
    }
    answer.tables.push_back(std::move(table));
    for (const auto &[at, width, bytes] :
         {std::tuple{"float on Kepler", 8.0, 4}, {"fp16 on 4 bytes", 4.0, 2}, {"char on 4 bytes", 4.0, 1}})
        if (const PublishedCell *cell = cell_of(item, "n", at))
            answer.findings.push_back(exact(
                item, *cell, static_cast<double>(papers::bank_ratio(Bytes(width), bytes)), "equation (1)"));
    return answer;
}

ItemAnswer wide_reads(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const GpuProfile &ours = context.ours().profile;
    if (const auto curve = ours.curves.find("element_width"); curve != ours.curves.end()) {
        answer.figures.push_back(curve_figure("element_width", curve->second, ours));
        answer.figures.back().id = item.id;
    }
    ClaimAnswer finding{item.id,
                        "one element a thread uses 1/n of the bandwidth",
                        "without a number",
                        "–",
                        ClaimVerdict::open,
                        "The profile of " + short_name(ours) + " has no measured bank width."};
    if (ours.matched_elements_1_byte && ours.matched_elements_2_byte && ours.matched_elements_4_byte) {
        const double one = ours.matched_elements_1_byte->value.value,
                     two = ours.matched_elements_2_byte->value.value,
                     four = ours.matched_elements_4_byte->value.value;
        finding.found =
            fmt::format("elements a lane that use all of it: {:.0f} of 1 B, {:.0f} of 2 B, {:.0f} of 4 B",
                        one, two, four);
        finding.verdict =
            one == 4.0 && two == 2.0 && four == 1.0 ? ClaimVerdict::holds : ClaimVerdict::differs;
        finding.sentence = fmt::format(
            "A probe of the shared memory of {} finds the full bandwidth with {:.0f} bytes, {:.0f} halves or "
            "{:.0f} float a lane, which is n on banks of 4 bytes.",
            short_name(ours), one, two, four);
    }
    answer.findings.push_back(std::move(finding));
    return answer;
}

/// The recorded time of a strategy's setting with this unit; `group` may have several units.
std::optional<Seconds> of_unit(const StudyResults &results, const std::string &shape,
                               const std::string &group, int unit, std::optional<Seconds> CaseRow::*time) {
    const std::string wanted = fmt::format("unit={}", unit);
    for (const CaseRow &row : results.statistics.cases) {
        if (row.shape != shape || row.group != group)
            continue;
        const std::size_t at = row.name.find(wanted);
        const std::size_t end = at + wanted.size();
        if (at != std::string::npos && (end == row.name.size() || row.name[end] == ','))
            return row.*time;
    }
    return std::nullopt;
}

std::optional<Seconds> of_baseline(const StudyResults &results, const std::string &shape,
                                   const std::string &name) {
    for (const CaseRow &row : results.statistics.cases)
        if (row.shape == shape && row.baseline && row.name == name)
            return row.cold_s;
    return std::nullopt;
}

/// The special case in the paper's block, W/n threads of n pixels; the general case in the configurations of
/// its Table 1, which are the kernel's defaults.
std::string unit_setting(const std::string &group, int unit) {
    return group == "row_register" ? fmt::format("row_register:tile_w=256,tile_h=8,unit={},units=1", unit)
                                   : fmt::format("{}:unit={}", group, unit);
}

/// The recorded time in the paper's layout with this unit.
std::optional<Seconds> of_layout(const StudyResults *settings, const std::string &shape,
                                 const std::string &group, int unit, std::optional<Seconds> CaseRow::*time) {
    const CaseRow *row =
        settings == nullptr ? nullptr : row_with(*settings, shape, unit_setting(group, unit));
    return row == nullptr ? std::nullopt : row->*time;
}

Figure sgemm_figure(const PaperItem &item, const PaperContext &context, const StudyResults *results) {
    Figure figure{item.id, title_of(item) + ": time of SGEMM, matched and not", "", {}, {}};
    const std::string gpu = short_name(context.ours().profile), papers = short_name(context.papers().profile);
    figure.caption =
        "Square matrix products as 1x1 convolutions, cold L2. Single floats are the unmatched width on banks "
        "of 8 bytes and the matched one on banks of 4. Our kernel stands for MAGMA's; sizes are ours.";
    figure.x = {"edge of the matrices", Scale::binary, {}, {}, {}};
    figure.y = {"time, µs", Scale::logarithmic, {}, {}, {}};
    std::vector<Series> series;
    for (const int unit : {1, 2, 4}) {
        series.push_back(
            {fmt::format("block_register, {} float{} at a time, {}", unit, unit == 1 ? "" : "s", gpu),
             static_cast<std::size_t>(unit == 4 ? 3 : unit), Drawn::lines});
        series.push_back({fmt::format("the same, forecast for {}", papers),
                          static_cast<std::size_t>(unit == 4 ? 3 : unit), Drawn::lines, true});
    }
    Series cublas{"cuBLAS, " + gpu, 0, Drawn::lines};
    for (const std::string &shape : context.study(*item.answer.study).shapes) {
        const auto x = static_cast<double>(ConvShape::parse(shape).c);
        const auto add = [&](Series &to, std::optional<Seconds> time) {
            if (time)
                to.points.push_back({x, time->value * 1e6, shape + ": " + microseconds(*time) + " µs", {}});
        };
        std::size_t i = 0;
        for (const int unit : {1, 2, 4}) {
            add(series[i++], results == nullptr
                                 ? std::nullopt
                                 : of_unit(*results, shape, "block_register", unit, &CaseRow::cold_s));
            add(series[i++], context.papers().time(unit_setting("block_register", unit), shape));
        }
        if (results != nullptr)
            add(cublas, of_baseline(*results, shape, "cublas"));
    }
    series.push_back(std::move(cublas));
    for (Series &one : series)
        if (!one.points.empty())
            figure.series.push_back(std::move(one));
    figure.no_data = "nothing was measured or forecast";
    return figure;
}

PaperTable sgemm_table(const PaperItem &item, const PaperContext &context, const StudyResults *results) {
    const std::string gpu = short_name(context.ours().profile), papers = short_name(context.papers().profile);
    PaperTable table{item.id + "_numbers", title_of(item) + ": the numbers", 1, {"edge"}, {}, ""};
    for (const int unit : {1, 2, 4}) {
        table.head.push_back(fmt::format("{} floats, {}, µs", unit, gpu));
        table.head.push_back(fmt::format("forecast {}, µs", gpu));
        table.head.push_back(fmt::format("forecast {}, µs", papers));
    }
    table.head.push_back("cuBLAS, " + gpu + ", µs");
    for (const std::string &shape : context.study(*item.answer.study).shapes) {
        std::vector<std::string> row = {std::to_string(ConvShape::parse(shape).c)};
        for (const int unit : {1, 2, 4}) {
            for (const auto time : {&CaseRow::cold_s, &CaseRow::predicted_s})
                row.push_back(micro_text(results == nullptr
                                             ? std::nullopt
                                             : of_unit(*results, shape, "block_register", unit, time)));
            row.push_back(micro_text(context.papers().time(unit_setting("block_register", unit), shape)));
        }
        row.push_back(micro_text(results == nullptr ? std::nullopt : of_baseline(*results, shape, "cublas")));
        table.rows.push_back(std::move(row));
    }
    if (const std::string why = context.no_time(); !why.empty())
        table.note = papers + ": no time: " + why + ".";
    return table;
}

/// Time of single floats over that of `unit` at a time, over the shapes; measured, or forecast for a GPU.
struct UnitRatios {
    std::vector<double> measured, forecast, papers;
};

UnitRatios unit_ratios(const PaperItem &item, const PaperContext &context, const std::string &group, int unit,
                       const std::string &dtype, bool one_channel) {
    UnitRatios out;
    const StudyResults *settings = context.measured_settings(*item.answer.study);
    for (const std::string &shape : context.study(*item.answer.study).shapes) {
        const ConvShape s = ConvShape::parse(shape);
        const std::string its = s.dtype == DataType::f16 ? "f16" : s.dtype == DataType::i8 ? "i8" : "f32";
        if (its != dtype || (s.c == 1) != one_channel)
            continue;
        const auto add = [](std::vector<double> &to, std::optional<Seconds> one,
                            std::optional<Seconds> wide) {
            if (one && wide)
                to.push_back(*one / *wide);
        };
        add(out.measured, of_layout(settings, shape, group, 1, &CaseRow::cold_s),
            of_layout(settings, shape, group, unit, &CaseRow::cold_s));
        add(out.forecast, of_layout(settings, shape, group, 1, &CaseRow::predicted_s),
            of_layout(settings, shape, group, unit, &CaseRow::predicted_s));
        add(out.papers, context.papers().time(unit_setting(group, 1), shape),
            context.papers().time(unit_setting(group, unit), shape));
    }
    return out;
}

/// "36 %": time saved by a ratio of times.
std::string saved(double ratio) {
    return fmt::format("{:.0f} %", 100.0 * (1.0 - 1.0 / ratio));
}

/// What the forecast for the paper's own GPU says of a share of time saved.
ClaimAnswer papers_gpu_finding(const PaperItem &item, const PublishedCell &cell,
                               const std::vector<double> &ratios, const PaperContext &context,
                               const std::string &claim) {
    const std::string gpu = short_name(context.papers().profile);
    ClaimAnswer finding{item.id,
                        claim + ", forecast for " + gpu,
                        printed(cell),
                        "–",
                        ClaimVerdict::open,
                        gpu + ": no time: " + context.no_time() + "."};
    if (const auto mean = geometric_mean_of(ratios)) {
        const double here = 100.0 * (1.0 - 1.0 / *mean);
        finding.found = fmt::format("{:.0f} % (forecast, {})", here, gpu);
        finding.verdict = verdict_of_ratio(*ratio_of(cell), *mean);
        finding.sentence = fmt::format(
            "The forecast for the {} says {:.0f} % over {} shapes, {:.0f} points from the published {}.", gpu,
            here, ratios.size(), std::abs(here - cell.value), printed(cell));
    }
    return finding;
}

/// What the bank width rule says of our GPU, whose banks may hold one float.
ClaimAnswer ours_finding(const PaperItem &item, const std::vector<double> &ratios,
                         const PaperContext &context) {
    const std::string gpu = short_name(context.ours().profile);
    const Bytes bank = bank_width_of(context.ours().profile);
    const std::int64_t n = papers::bank_ratio(bank, 4);
    ClaimAnswer finding{
        item.id,
        n == 1
            ? fmt::format("two floats at a time gain nothing on banks of {:.0f} bytes, {}", bank.value, gpu)
            : fmt::format("two floats at a time gain on banks of {:.0f} bytes, {}", bank.value, gpu),
        fmt::format("n = {} by equation (1)", n),
        "–",
        ClaimVerdict::open,
        "Nothing was measured on " + gpu + "."};
    if (const auto mean = geometric_mean_of(ratios)) {
        finding.found = fmt::format("{} of the time saved ({})", saved(*mean), gpu);
        finding.verdict = n == 1 ? verdict_of_ratio(1.0, *mean) : verdict_of_gain(*mean);
        finding.sentence = fmt::format("Measured, two at a time change the time by {}, geometric mean over "
                                       "{} shapes; the rule is about the "
                                       "bandwidth of shared memory, fewer instructions are not in it.",
                                       signed_percent(1.0 / *mean - 1.0), ratios.size());
    }
    return finding;
}

ItemAnswer sgemm(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const StudyResults *results = context.measured(*item.answer.study);
    answer.figures.push_back(sgemm_figure(item, context, results));
    answer.tables.push_back(sgemm_table(item, context, results));
    const UnitRatios ratios = unit_ratios(item, context, "block_register", 2, "f32", false);
    const PublishedCell &matched = *cell_of(item, "matched MAGMA");
    answer.findings.push_back(
        papers_gpu_finding(item, matched, ratios.papers, context, "time saved by matching the bank width"));
    answer.findings.push_back(ours_finding(item, ratios.measured, context));
    const PublishedCell &magma = *cell_of(item, "time of MAGMA");
    std::vector<double> over_cublas;
    if (results != nullptr)
        for (const std::string &shape : results->study.shapes) {
            const auto own = of_unit(*results, shape, "block_register", 1, &CaseRow::cold_s),
                       cublas = of_baseline(*results, shape, "cublas");
            if (own && cublas)
                over_cublas.push_back(*own / *cublas);
        }
    ClaimAnswer finding{item.id,
                        "time of the kernel of single floats over cuBLAS'",
                        printed(magma),
                        "–",
                        ClaimVerdict::open,
                        "Nothing was measured."};
    if (const auto mean = geometric_mean_of(over_cublas)) {
        finding.found = fmt::format("{} ({})", times(*mean), short_name(context.ours().profile));
        finding.verdict = verdict_of_ratio(magma.value, *mean);
        finding.sentence = fmt::format(
            "Chen's general kernel with single floats takes {} the time of today's cuBLAS on {} "
            "sizes; MAGMA took {} cuBLAS' time on the {}.",
            times(*mean), over_cublas.size(), printed(magma), short_name(context.papers().profile));
    }
    answer.findings.push_back(std::move(finding));
    return answer;
}

ItemAnswer reuse(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    PaperTable table{item.id, "Uses of a pixel: K K F at most, and on average over the image",
                     1,       {"shape", "K K F", "FMAs / pixels"},
                     {},      "The average is lower as pixels of the edge are used less often."};
    for (const std::string &text : context.study(*item.answer.study).shapes) {
        const ConvShape s = ConvShape::parse(text);
        table.rows.push_back(
            {text, count_text(s.r * s.s * s.k),
             fmt::format("{:.0f}", s.fmas().value / static_cast<double>(s.input_elements()))});
    }
    answer.tables.push_back(std::move(table));
    return answer;
}

ItemAnswer special_threads(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    PaperTable table{item.id, "Threads of a block of W = 256 pixels",
                     1,       {"GPU", "setting", "threads", "CTAs an SM"},
                     {},      ""};
    table.words = 2;
    std::vector<std::int64_t> threads;
    for (const ForecastGpu *gpu : {&context.papers(), &context.ours()})
        for (const std::string &setting : item.answer.settings) {
            const Case one = gpu->forecast(setting, "n1c1h512w512k8r3s3");
            if (!one.prediction || !one.prediction->plan)
                continue;
            const Partition &launch = main_launch(*one.prediction->plan);
            threads.push_back(launch.threads);
            table.rows.push_back({short_name(gpu->profile), setting, std::to_string(launch.threads),
                                  std::to_string(launch.ctas_per_sm)});
        }
    answer.tables.push_back(std::move(table));
    if (threads.size() >= 2)
        answer.findings.push_back(
            {item.id, "W/n threads: 256 with n = 1, 128 with n = 2", "256 and 128",
             fmt::format("{} and {}", threads[0], threads[1]),
             threads[0] == 256 && threads[1] == 128 ? ClaimVerdict::holds : ClaimVerdict::differs,
             fmt::format("The plans of the two settings launch {} and {} threads.", threads[0], threads[1])});
    return answer;
}

ItemAnswer halo(const PaperItem &item, const PaperContext &) {
    ItemAnswer answer;
    PaperTable table{item.id, "Pixels that a block reads over those it computes, W = 256, H = 8",
                     1,       {"filter", "(W + K - 1) (H + K - 1) / (W H)"},
                     {},      ""};
    double most = 0.0;
    std::size_t small = 0, filters = 0;
    constexpr double a_tenth = 1.1; // what "small" is taken to be
    for (const int k : {1, 3, 5}) {
        const double share = (256.0 + k - 1) * (8.0 + k - 1) / (256.0 * 8.0);
        most = std::max(most, share);
        ++filters;
        small += share <= a_tenth ? 1 : 0;
        table.rows.push_back({fmt::format("{0}x{0}", k), fmt::format("{:.3f}", share)});
    }
    answer.tables.push_back(std::move(table));
    answer.findings.push_back(
        {item.id, "the share of halo pixels is small", "without a number",
         fmt::format("up to {:.0f} %", 100.0 * (most - 1.0)), verdict_of_all(small, filters),
         fmt::format(
             "With W = 256 and H = 8 a block reads {:.0f} % more pixels than it computes at 5x5, most of "
             "it rows above and below; at most a tenth more on {} of {} sizes of filters.",
             100.0 * (most - 1.0), small, filters)});
    return answer;
}

ItemAnswer general_reuse(const PaperItem &item, const PaperContext &) {
    ItemAnswer answer;
    PaperTable table{
        item.id, "What is read less, with W_T of Table 1",
        1,       {"filter", "W_T", "global pixels: 1 / K", "shared pixels: (W_T + K - 1) / (W_T K)"},
        {},      ""};
    for (const auto &[k, w_t] : {std::pair{3, 16}, {5, 8}, {7, 8}})
        table.rows.push_back({fmt::format("{0}x{0}", k), std::to_string(w_t), fmt::format("{:.3f}", 1.0 / k),
                              fmt::format("{:.3f}", (w_t + k - 1.0) / (w_t * static_cast<double>(k)))});
    answer.tables.push_back(std::move(table));
    return answer;
}

/// FMAs of all SMs a second, as GFLOP/s; absent where the profile lacks a number.
std::optional<double> peak_gigaflops(const GpuProfile &p) {
    if (!p.ffma_rate || !p.sm_clock)
        return std::nullopt;
    return 2.0 * p.ffma_rate->value.value * p.sm_clock->value.value * p.limits.sm_count * 1e-9;
}

ItemAnswer peak(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    if (const auto found = peak_gigaflops(context.papers().profile))
        answer.findings.push_back(
            exact(item, *cell_of(item, "peak"), *found,
                  "cores, clock and SMs of the profile of the " + short_name(context.papers().profile)));
    return answer;
}

ItemAnswer special_block(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    PaperTable table{item.id, "Chen's block against other blocks, forecast",
                     2,       {"GPU", "block", "time over that of W = 256, H = 8, geometric mean"},
                     {},      ""};
    const Study study = context.study(*item.answer.study);
    for (const ForecastGpu *gpu : {&context.papers(), &context.ours()}) {
        std::string best = "W = 256, H = 8";
        double least = 1.0;
        bool any = false;
        for (const int w : {64, 128, 256})
            for (const int h : {4, 8, 16, 32}) {
                std::vector<double> ratios;
                for (const std::string &shape : study.shapes) {
                    const auto its = gpu->time(
                                   fmt::format("row_register:tile_w={},tile_h={},unit=2,units=1", w, h),
                                   shape),
                               papers = gpu->time(item.answer.settings.front(), shape);
                    if (its && papers)
                        ratios.push_back(*its / *papers);
                }
                const auto mean = geometric_mean_of(ratios);
                if (!mean)
                    continue;
                any = true;
                const std::string name = fmt::format("W = {}, H = {}", w, h);
                table.rows.push_back({short_name(gpu->profile), name, fmt::format("{:.3f}", *mean)});
                if (*mean < least)
                    least = *mean, best = name;
            }
        const std::string name = short_name(gpu->profile);
        ClaimAnswer finding{item.id,
                            "best block of the special case, forecast for " + name,
                            "W = 256, H = 8",
                            "–",
                            ClaimVerdict::open,
                            name + " has no forecast of a time."};
        if (any) {
            finding.found = best;
            finding.verdict = verdict_of_best(1.0 / least);
            finding.sentence =
                fmt::format("Of twelve blocks {} is forecast fastest on {}, {:.1f} % faster than the "
                            "paper's over the shapes of Figure 7.",
                            best, name, 100.0 * (1.0 / least - 1.0));
            if (least >= 1.0)
                finding.sentence = fmt::format("Of twelve blocks none is forecast faster on {}.", name);
            std::vector<double> firsts;
            for (const std::string &shape : study.shapes) {
                const auto &first = gpu->chosen("row_register", shape);
                const auto papers = gpu->time(item.answer.settings.front(), shape);
                if (first && papers)
                    firsts.push_back(first->time / *papers);
            }
            if (const auto ratio = geometric_mean_of(firsts)) {
                table.rows.push_back({short_name(gpu->profile), "choose's first, other knobs too",
                                      fmt::format("{:.3f}", *ratio)});
                finding.sentence += fmt::format(
                    " What choose ranks first, which sets the other knobs too, is forecast to take {:.2f} of "
                    "its time.",
                    *ratio);
            }
        }
        answer.findings.push_back(std::move(finding));
    }
    if (const std::string why = context.no_time(); !why.empty())
        table.note = short_name(context.papers().profile) + ": no time: " + why + ".";
    answer.tables.push_back(std::move(table));
    return answer;
}

/// Unit 1 against others over the shapes, as drawn points.
Figure matched_figure(const PaperItem &item, const PaperContext &context, const std::string &dtype,
                      const std::string &words) {
    const std::string gpu = short_name(context.ours().profile), papers = short_name(context.papers().profile);
    Figure figure{item.id + (dtype == "f32" ? "" : "_" + dtype),
                  title_of(item) + ": " + words + ", several elements at a time",
                  "",
                  {},
                  {}};
    figure.caption = "Right of 1 faster than one element at a time. One channel: row_register with W = 256 "
                     "and H = 8; many: "
                     "block_register as in Table 1. Cold L2.";
    figure.x = {"time of one element at a time / time", Scale::logarithmic, {}, {}, {}};
    figure.y.scale = Scale::category;
    figure.references = {{Guide::vertical, 1.0, "one element at a time"}};
    for (const PublishedCell &cell : item.published)
        if (const auto ratio = ratio_of(cell); ratio && dtype == "f32")
            figure.references.push_back(
                {Guide::vertical, *ratio,
                 "published for one channel, " + cell.gpu.value_or("") + ": " + printed(cell)});
    const StudyResults *settings = context.measured_settings(*item.answer.study);
    std::vector<Series> measured = {{"2 at a time, " + gpu, 0}, {"4 at a time, " + gpu, 1}},
                        forecast = {{"2 at a time, forecast for " + gpu, 0, Drawn::points, true},
                                    {"4 at a time, forecast for " + gpu, 1, Drawn::points, true},
                                    {"2 at a time, forecast for " + papers, 3, Drawn::points, true}};
    for (const std::string &shape : context.study(*item.answer.study).shapes) {
        const ConvShape s = ConvShape::parse(shape);
        const std::string its = s.dtype == DataType::f16 ? "f16" : s.dtype == DataType::i8 ? "i8" : "f32";
        if (its != dtype)
            continue;
        const std::string group = s.c == 1 ? "row_register" : "block_register";
        const auto y = static_cast<double>(figure.y.categories.size());
        figure.y.categories.push_back(shape_text(shape));
        const auto add = [&](Series &to, std::optional<Seconds> one, std::optional<Seconds> wide) {
            if (one && wide)
                to.points.push_back({*one / *wide, y, shape + " " + group + ": " + times(*one / *wide), {}});
        };
        for (std::size_t i = 0; i < 2; ++i)
            for (const auto &[to, time] :
                 {std::pair{&measured[i], &CaseRow::cold_s}, {&forecast[i], &CaseRow::predicted_s}})
                add(*to, of_layout(settings, shape, group, 1, time),
                    of_layout(settings, shape, group, i == 0 ? 2 : 4, time));
        if (dtype == "f32")
            add(forecast[2], context.papers().time(unit_setting(group, 1), shape),
                context.papers().time(unit_setting(group, 2), shape));
    }
    for (Series &series : forecast)
        if (!series.points.empty())
            figure.series.push_back(std::move(series));
    for (Series &series : measured)
        if (!series.points.empty())
            figure.series.push_back(std::move(series));
    figure.no_data = "nothing was measured or forecast";
    return figure;
}

ItemAnswer matched(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    answer.figures.push_back(matched_figure(item, context, "f32", "floats"));
    const PublishedCell &cell = *cell_of(item, "unmatched");
    const UnitRatios special = unit_ratios(item, context, "row_register", 2, "f32", true);
    answer.findings.push_back(papers_gpu_finding(item, cell, special.papers, context,
                                                 "performance lost by single floats, one channel"));
    answer.findings.push_back(ours_finding(item, special.measured, context));
    const UnitRatios general = unit_ratios(item, context, "block_register", 2, "f32", false);
    ClaimAnswer more{item.id,
                     "the loss is higher in the general case",
                     "without a number",
                     "–",
                     ClaimVerdict::open,
                     short_name(context.papers().profile) + ": no time: " + context.no_time() + "."};
    const auto one = geometric_mean_of(special.papers), many = geometric_mean_of(general.papers);
    if (one && many) {
        more.found = fmt::format("{} and {} (forecast, {})", saved(*one), saved(*many),
                                 short_name(context.papers().profile));
        more.verdict = verdict_of_gain(*many / *one);
        more.sentence = fmt::format("The forecast for the {} says {} with one channel and {} with many.",
                                    short_name(context.papers().profile), saved(*one), saved(*many));
    }
    answer.findings.push_back(std::move(more));
    return answer;
}

/// "Even unmatched much better than cuDNN", and "lower at one filter", both of the special case.
ItemAnswer special_claims(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const std::string study = "chen_special", gpu = short_name(context.ours().profile);
    const StudyResults *settings = context.measured_settings(study), *results = context.measured(study);
    if (settings == nullptr || results == nullptr)
        return answer;
    std::vector<double> single;
    std::size_t lower = 0, maps = 0;
    struct Rates {
        double one = 0.0, best = 0.0;
    };
    std::map<std::pair<std::int64_t, std::int64_t>, Rates> rates; // by map and filter
    for (const std::string &shape : results->study.shapes) {
        const ConvShape s = ConvShape::parse(shape);
        const CaseRow *one = row_with(*settings, shape, unit_setting("row_register", 1)),
                      *two = row_with(*settings, shape, unit_setting("row_register", 2));
        if (s.r == 3 && one != nullptr)
            for (const ShapeRow &row : results->statistics.shapes)
                if (row.shape == shape && row.cudnn && results->row(*row.cudnn).cold_s)
                    single.push_back(*results->row(*row.cudnn).cold_s / *one->cold_s);
        Rates &its = rates[{s.h, s.r}];
        for (const CaseRow *row : {one, two})
            if (row != nullptr) {
                double &to = s.k == 1 ? its.one : its.best;
                to = std::max(to, s.fmas().value / row->cold_s->value);
            }
    }
    for (const auto &[at, its] : rates)
        if (its.one > 0.0 && its.best > 0.0) {
            ++maps;
            lower += its.one < its.best ? 1 : 0;
        }
    if (const auto mean = geometric_mean_of(single))
        answer.findings.push_back(
            {item.id, "single floats are still much better than cuDNN, 3x3, " + gpu, "much better; no number",
             fmt::format("{} ({})", times(*mean), gpu), verdict_of_gain(*mean),
             fmt::format(
                 "With one float a thread the kernel is {} as fast as today's cuDNN at 3x3 on {}, "
                 "geometric mean over {} shapes. That is the matched width on its banks of 4 bytes; no "
                 "time of cuDNN on the {} is at hand.",
                 times(*mean), gpu, single.size(), short_name(context.papers().profile))});
    if (maps > 0)
        answer.findings.push_back(
            {item.id, "the performance is lower at one filter, " + gpu, "lower; no number",
             fmt::format("on {} of {} maps and filters", lower, maps), verdict_of_all(lower, maps),
             fmt::format(
                 "Multiply-adds a second at F = 1 are fewer than at the best of more filters on {} of {} "
                 "pairs of map and filter.",
                 lower, maps)});
    return answer;
}

/// T_X by T_Y threads and ceil(F / F_TB) blocks, as Table 1's configurations give them.
ItemAnswer general_threads(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    PaperTable table{item.id,
                     "Threads of Table 1's configurations, " + short_name(context.papers().profile),
                     1,
                     {"shape", "T_X = F_TB / F_T", "T_Y = W H / W_T", "T_X T_Y", "threads of the plan",
                      "ceil(F / F_TB)", "CTAs of the plan", "blocks of the image", "CTAs an SM"},
                     {},
                     ""};
    std::size_t same = 0, all = 0;
    for (const char *shape : {"n1c64h64w64k64r3s3", "n1c64h64w64k64r5s5", "n1c64h64w64k64r7s7"}) {
        const std::string setting = setting_for("block_register:unit=2", shape);
        const Case made = context.papers().forecast(setting, shape);
        if (!made.prediction || !made.prediction->plan)
            continue;
        const auto knob = [&](const char *name) { return knob_value(setting, name); };
        const ConvShape s = ConvShape::parse(shape);
        const auto up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
        const std::int64_t x = knob("tile_k") / knob("filters_per_thread"),
                           y = knob("tile_w") * knob("tile_h") / knob("pixels_per_thread"),
                           along = up(s.k, knob("tile_k")),
                           blocks = up(s.q(), knob("tile_w")) * up(s.p(), knob("tile_h"));
        const Partition &launch = main_launch(*made.prediction->plan);
        const std::int64_t ctas = cta_count(launch);
        ++all;
        same += launch.threads == x * y && ctas == along * blocks ? 1 : 0;
        table.rows.push_back({shape, std::to_string(x), std::to_string(y), std::to_string(x * y),
                              std::to_string(launch.threads), std::to_string(along), std::to_string(ctas),
                              std::to_string(blocks), std::to_string(launch.ctas_per_sm)});
    }
    answer.tables.push_back(std::move(table));
    if (all > 0)
        answer.findings.push_back(
            {item.id, "threads and blocks are T_X T_Y and ceil(F / F_TB) for each block of the image",
             "an equation", fmt::format("{} of {} plans", same, all), verdict_of_all(same, all),
             fmt::format("The plans of {} of the {} configurations launch as many threads and CTAs as the "
                         "equations say.",
                         same, all)});
    return answer;
}

ItemAnswer short_types(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    for (const auto &[dtype, words, unit] : {std::tuple{"f16", "halves", 2}, {"i8", "8-bit integers", 4}}) {
        answer.figures.push_back(matched_figure(item, context, dtype, words));
        for (const bool one_channel : {true, false}) {
            const std::string group = one_channel ? "row_register" : "block_register";
            const UnitRatios ratios = unit_ratios(item, context, group, unit, dtype, one_channel);
            ClaimAnswer finding{item.id,
                                fmt::format("{}: {} at a time are faster than one, {}", words, unit,
                                            one_channel ? "one channel" : "many channels"),
                                "without a number",
                                "–",
                                ClaimVerdict::open,
                                "Nothing was measured on " + short_name(context.ours().profile) + "."};
            if (const auto mean = geometric_mean_of(ratios.measured)) {
                const auto forecast = geometric_mean_of(ratios.forecast);
                finding.found = fmt::format("{} ({}), forecast {}", times(*mean),
                                            short_name(context.ours().profile), factor_text(forecast));
                finding.verdict = verdict_of_gain(*mean);
                finding.sentence = fmt::format(
                    "Measured over {} shapes, {} at a time are {} as fast as one on banks of 4 bytes.",
                    ratios.measured.size(), unit, times(*mean));
            }
            answer.findings.push_back(std::move(finding));
        }
    }
    return answer;
}

/// The paper's configuration of each filter size against what choose ranks first and, where it was run,
/// measured.
ItemAnswer best_configurations(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const std::string papers = short_name(context.papers().profile), gpu = short_name(context.ours().profile);
    PaperTable printed_table{item.id, title_of(item) + ", as printed", 1, {"", "3x3", "5x5", "7x7"}, {}, ""};
    for (const char *row : {"W", "H", "F_TB", "W_T", "F_T", "C_SH"}) {
        std::vector<std::string> cells = {row};
        for (const char *at : {"3x3", "5x5", "7x7"}) {
            const PublishedCell *cell = cell_of(item, row, at);
            cells.push_back(cell == nullptr ? "–" : grouped_digits(cell->value));
        }
        printed_table.rows.push_back(std::move(cells));
    }
    answer.tables.push_back(std::move(printed_table));
    PaperTable table{item.id + "_against",
                     "The paper's configurations against what choose ranks first",
                     1,
                     {"shape", "paper's on " + papers + ", µs", "choose's first on " + papers + ", µs",
                      "paper's on " + gpu + ", forecast µs", "choose's first on " + gpu + ", forecast µs",
                      "fastest recorded on " + gpu + ", µs"},
                     {},
                     "Forecasts but for the last column, the fastest recorded setting of block_register."};
    const StudyResults *results = context.measured(*item.answer.study);
    std::array<std::vector<double>, 2> ratios;
    for (const std::string &shape : context.study(*item.answer.study).shapes) {
        const std::size_t which = static_cast<std::size_t>((ConvShape::parse(shape).r - 3) / 2);
        if (which >= item.answer.settings.size())
            continue;
        std::vector<std::string> row = {shape};
        for (std::size_t i = 0; i < 2; ++i) {
            const ForecastGpu &machine = i == 0 ? context.papers() : context.ours();
            const auto own = machine.time(item.answer.settings[which], shape);
            const auto &chosen = machine.chosen("block_register", shape);
            if (own && chosen)
                ratios[i].push_back(*own / chosen->time);
            row.push_back(micro_text(own));
            row.push_back(micro_text(chosen ? std::optional(chosen->time) : std::nullopt));
        }
        row.push_back(
            micro_text(results == nullptr ? std::nullopt : fastest_of(*results, shape, "block_register")));
        table.rows.push_back(std::move(row));
    }
    if (const std::string why = context.no_time(); !why.empty())
        table.note += " " + papers + ": no time: " + why + ".";
    answer.tables.push_back(std::move(table));
    for (std::size_t i = 0; i < 2; ++i) {
        const std::string name = i == 0 ? papers : gpu;
        ClaimAnswer finding{item.id,
                            "Table 1's configurations are best, forecast for " + name,
                            "best",
                            "–",
                            ClaimVerdict::open,
                            name + " has no forecast of a time."};
        if (const auto mean = geometric_mean_of(ratios[i])) {
            finding.found = fmt::format("{:.2f} times the time of what choose ranks first", *mean);
            finding.verdict = verdict_of_best(*mean);
            finding.sentence = fmt::format(
                "They are forecast to take {:.2f} times the time of the setting of the same kernel "
                "that choose ranks first, geometric mean over {} shapes on {}.",
                *mean, ratios[i].size(), name);
        }
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

ItemAnswer peak_share(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const PublishedCell &best = *cell_of(item, "best"), &share = *cell_of(item, "share of the peak");
    if (const auto whole = peak_gigaflops(context.papers().profile))
        answer.findings.push_back(
            exact(item, share, 100.0 * best.value / *whole, printed(best) + " of the peak of the profile"));
    const std::string papers = short_name(context.papers().profile);
    double forecast = 0.0;
    for (const std::string &shape : context.study(*item.answer.study).shapes)
        if (const auto time = context.papers().time(setting_for("block_register:unit=2", shape), shape))
            forecast = std::max(forecast, 2.0 * ConvShape::parse(shape).fmas().value / time->value * 1e-9);
    ClaimAnswer there{item.id,
                      "the general kernel's best, forecast for " + papers,
                      printed(best),
                      "–",
                      ClaimVerdict::open,
                      papers + ": no time: " + context.no_time() + "."};
    if (forecast > 0.0) {
        there.found = fmt::format("{:.0f} GFLOP/s (forecast)", forecast);
        const double off = forecast / best.value - 1.0;
        there.verdict = verdict_of_number(best.value, forecast);
        there.sentence = fmt::format("The best forecast of Table 1's configurations over the shapes of "
                                     "Figure 8 is {} from the published.",
                                     signed_percent(off));
    }
    answer.findings.push_back(std::move(there));
    const StudyResults *results = context.measured(*item.answer.study);
    const auto whole = peak_gigaflops(context.ours().profile);
    if (results == nullptr || !whole)
        return answer;
    double most = 0.0;
    std::string where;
    for (const std::string &shape : results->study.shapes)
        if (const auto time = fastest_of(*results, shape, "block_register")) {
            const double rate = 2.0 * ConvShape::parse(shape).fmas().value / time->value * 1e-9;
            if (rate > most)
                most = rate, where = shape;
        }
    const std::string gpu = short_name(context.ours().profile);
    answer.findings.push_back(
        {item.id, "the general kernel's best share of the peak, on " + gpu, printed(share),
         fmt::format("{:.0f} % ({:.0f} GFLOP/s)", 100.0 * most / *whole, most),
         verdict_of_number(share.value, 100.0 * most / *whole),
         fmt::format(
             "Its best is {:.0f} GFLOP/s at {}, {:.0f} % of the {:.0f} that {} was measured to reach with "
             "FFMAs alone; the published share is of the K40m's peak on paper.",
             most, where, 100.0 * most / *whole, *whole, gpu)});
    return answer;
}

} // namespace

std::map<std::string, Computation> chen_computations() {
    return {{"bank_ratio", {bank_ratio}},
            {"wide_reads", {wide_reads}},
            {"sgemm", {sgemm, true, 0, {"time of MAGMA", "matched MAGMA"}}},
            {"reuse", {reuse, true}},
            {"special_threads", {special_threads, false, 2}},
            {"halo", {halo}},
            {"general_reuse", {general_reuse}},
            {"peak", {peak, false, 0, {"peak"}}},
            {"special_block", {special_block, true, 1}},
            {"matched", {matched, true, 0, {"unmatched"}}},
            {"special_claims", {special_claims}},
            {"general_threads", {general_threads}},
            {"short_types", {short_types, true}},
            {"best_configurations", {best_configurations, true, 3}},
            {"peak_share", {peak_share, true, 0, {"best", "share of the peak"}}}};
}

} // namespace convcast
