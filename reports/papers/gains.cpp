// A paper's kernel against cuDNN over a study's shapes, a panel for each size of filter: what the paper
// claims, the paper's own kernel and our fastest as measured, and both GPUs' forecasts.
#include "model/shape/conv_shape.hpp"
#include "reports/papers/computations.hpp"
#include "reports/papers/verdicts.hpp"
#include "reports/report_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// One shape of the study.
struct Row {
    std::string shape;
    ConvShape sizes;
    std::string own_name;       ///< the paper's own kernel in the paper's own setting, as it is on our GPU
    std::string papers_name;    ///< and on the paper's
    bool another_width = false; ///< of a block that is narrower than the paper's, which was never run
    std::optional<Seconds> own, own_forecast, by_default, best, cudnn, papers_gpu, papers_gpu_low,
        papers_gpu_high;
    std::string best_name;
    std::optional<double> speedup, speedup_forecast, speedup_default, speedup_best;
};

struct GainPanel {
    std::string at;     ///< "3x3"
    std::string letter; ///< "a"
    std::vector<Row> rows;
};

/// The paper's own settings of its kernel for a shape on a GPU, first the one that it computes with; where
/// an item names none, the kernel alone.
std::vector<std::string> own_settings_of(const PaperItem &item, const std::string &shape,
                                         const ForecastGpu &gpu) {
    std::vector<std::string> out;
    const bool named = !item.answer.settings.empty();
    for (const std::string &setting : named ? item.answer.settings : item.answer.paper_kernels)
        if (takes(item, named ? setting : setting + ":", shape, gpu))
            out.push_back(setting);
    return out;
}

void add_measured(Row &row, const ShapeRow &shape, const StudyResults &results) {
    if (shape.papers)
        row.by_default = results.row(*shape.papers).cold_s;
    if (shape.ours) {
        row.best = results.row(*shape.ours).cold_s;
        row.best_name = results.row(*shape.ours).group;
    }
    if (shape.cudnn)
        row.cudnn = results.row(*shape.cudnn).cold_s;
    row.speedup_default = shape.speedup_papers;
    row.speedup_best = shape.speedup;
}

/// The fastest of the paper's own settings, as it was measured; where none was, the first, as it is forecast.
void add_own(Row &row, const PaperItem &item, const PaperContext &context) {
    const std::vector<std::string> own = own_settings_of(item, row.shape, context.ours());
    if (const StudyResults *settings = context.measured_settings(*item.answer.study))
        for (const std::string &setting : own)
            if (const CaseRow *its = own_row(*settings, row.shape, setting);
                its != nullptr && (!row.own || *its->cold_s < *row.own)) {
                const std::string asked = setting_for(setting, row.shape);
                row.own = its->cold_s;
                row.own_forecast = its->predicted_s;
                row.own_name = has_setting(its->name, asked) ? asked : its->name;
                row.another_width = !has_setting(its->name, asked);
            }
    if (!row.own && !own.empty()) {
        row.own_name = setting_for(own.front(), row.shape);
        row.own_forecast = context.ours().time(row.own_name, row.shape);
    }
    if (row.cudnn && row.own)
        row.speedup = *row.cudnn / *row.own;
    if (row.cudnn && row.own_forecast)
        row.speedup_forecast = *row.cudnn / *row.own_forecast;
}

std::vector<GainPanel> panels_of(const PaperItem &item, const PaperContext &context) {
    std::vector<GainPanel> panels;
    const StudyResults *results = context.measured(*item.answer.study);
    for (const std::string &text : context.study(*item.answer.study).shapes) {
        Row row;
        row.shape = text;
        row.sizes = ConvShape::parse(text);
        const std::string at = fmt::format("{0}x{0}", row.sizes.r);
        auto panel =
            std::find_if(panels.begin(), panels.end(), [&](const GainPanel &p) { return p.at == at; });
        if (panel == panels.end()) {
            panels.push_back({at, std::string(1, static_cast<char>('a' + panels.size())), {}});
            panel = std::prev(panels.end());
        }
        if (results != nullptr)
            for (const ShapeRow &shape : results->statistics.shapes)
                if (shape.shape == text)
                    add_measured(row, shape, *results);
        add_own(row, item, context);
        if (const auto own = own_settings_of(item, text, context.papers()); !own.empty()) {
            row.papers_name = setting_for(own.front(), text);
            const Case papers = context.papers().forecast(row.papers_name, text);
            if (papers.status == Status::ok && papers.prediction) {
                row.papers_gpu = papers.prediction->time_s;
                row.papers_gpu_low = papers.prediction->time_low_s;
                row.papers_gpu_high = papers.prediction->time_high_s;
            }
        }
        panel->rows.push_back(std::move(row));
    }
    return panels;
}

double gigaflops(const Row &row, Seconds time) {
    return 2.0 * row.sizes.fmas().value / time.value * 1e-9;
}

/// "figure_7_b" of a figure with panels, "figure_4_3x3" where the paper has one plot.
std::string figure_id(const PaperItem &item, const GainPanel &panel, const std::string &what) {
    return item.id + "_" + panel.letter + "_" + what;
}

std::string panel_title(const PaperItem &item, const GainPanel &panel) {
    return fmt::format("{} ({}), {} filters", title_of(item), panel.letter, panel.at);
}

std::vector<double> values_of(const GainPanel &panel, std::optional<double> Row::*member) {
    std::vector<double> values;
    for (const Row &row : panel.rows)
        if (row.*member)
            values.push_back(*(row.*member));
    return values;
}

/// Lines and bands of what was published for a panel, or for all panels together.
void add_published(Figure &figure, const PaperItem &item, const std::string &at) {
    std::optional<double> low, high;
    std::string whose;
    for (const PublishedCell &cell : item.published) {
        const std::optional<double> ratio = ratio_of(cell);
        if (!ratio || !cell.gpu)
            continue;
        const bool of_panel = cell.at == at;
        if (cell.statistic == Statistic::average && (of_panel || cell.at == "all"))
            figure.references.push_back(
                {Guide::vertical, *ratio, fmt::format("published mean {}", times(*ratio))});
        if (cell.statistic == Statistic::average && cell.at == "all" && !of_panel)
            figure.caption += " The published mean is of all sizes.";
        if (cell.at != "all" || (!whose.empty() && whose != *cell.gpu))
            continue;
        if (cell.statistic == Statistic::least)
            low = ratio, whose = *cell.gpu;
        if (cell.statistic == Statistic::most)
            high = ratio, whose = *cell.gpu;
    }
    if (low && high)
        figure.bands.push_back({Guide::vertical, *low, *high, "published range"});
    if (low && high)
        figure.caption +=
            fmt::format(" The published range, {} to {}, is of all sizes.", times(*low), times(*high));
}

Figure speedup_figure(const PaperItem &item, const GainPanel &panel, const PaperContext &context) {
    const std::string gpu = short_name(context.ours().profile);
    Figure figure{
        figure_id(item, panel, "speedup"), panel_title(item, panel) + ": speed-up over cuDNN", "", {}, {}};
    figure.caption = fmt::format(
        "Right of 1 faster than cuDNN's fastest true-FP32 algorithm on NCHW, cold L2, {}. Filled: measured, "
        "the paper's kernel in its own settings and in those that predict takes by default. Hollow: the "
        "measured time of cuDNN over the forecast time of the paper's settings. What the paper published is "
        "of "
        "its GPU and the cuDNN of its time; its points stand only in its plot.",
        gpu);
    figure.x = {"time of cuDNN / time of the kernel", Scale::logarithmic, {}, {}, {}};
    figure.y.scale = Scale::category;
    figure.references = {{Guide::vertical, 1.0, "as fast as cuDNN"}};
    add_published(figure, item, panel.at);
    Series own{"the paper's settings", drawn_as::papers_kernel};
    Series forecast{"the paper's settings, forecast", drawn_as::papers_kernel, Drawn::points, true};
    forecast.unlisted = true;
    Series by_default{"its kernel by default", drawn_as::papers_gpu};
    Series best{"our fastest", drawn_as::best};
    for (const Row &row : panel.rows) {
        const auto y = static_cast<double>(figure.y.categories.size());
        figure.y.categories.push_back(shape_text(row.shape));
        if (row.speedup_best)
            best.points.push_back(
                {*row.speedup_best,
                 y,
                 fmt::format("{} {}: {}", row.shape, row.best_name, times(*row.speedup_best)),
                 {}});
        if (row.speedup_forecast)
            forecast.points.push_back(
                {*row.speedup_forecast,
                 y,
                 fmt::format("{} {}: forecast {}", row.shape, row.own_name, times(*row.speedup_forecast)),
                 {}});
        if (row.speedup_default)
            by_default.points.push_back(
                {*row.speedup_default,
                 y,
                 fmt::format("{} predict's default: {}", row.shape, times(*row.speedup_default)),
                 {}});
        if (row.speedup)
            own.points.push_back({*row.speedup,
                                  y,
                                  fmt::format("{} {}: {}", row.shape, row.own_name, times(*row.speedup)),
                                  {}});
    }
    figure.series = {std::move(best), std::move(by_default), std::move(forecast), std::move(own)};
    figure.no_data = "nothing was measured on " + gpu;
    return figure;
}

Figure gigaflops_figure(const PaperItem &item, const GainPanel &panel, const PaperContext &context) {
    const std::string gpu = short_name(context.ours().profile);
    Figure figure{figure_id(item, panel, "gflops"), panel_title(item, panel) + ": GFLOP/s", "", {}, {}};
    const std::string papers_name = short_name(context.papers().profile);
    figure.caption = fmt::format("Twice the multiply-adds of the direct algorithm over the time, cold L2; "
                                 "Winograd multiplies less than that. Filled: measured on {0}. Hollow: the "
                                 "paper's own settings, forecast for {0} and for {1}.",
                                 gpu, papers_name);
    figure.x = {"GFLOP/s", Scale::logarithmic, {}, {}, {}};
    figure.y.scale = Scale::category;
    Series own{"the paper's settings", drawn_as::papers_kernel};
    Series forecast{"the paper's settings, forecast for " + gpu, drawn_as::papers_kernel, Drawn::points,
                    true};
    forecast.unlisted = true;
    Series papers{"forecast for " + papers_name, drawn_as::papers_gpu, Drawn::points, true};
    Series best{"our fastest", drawn_as::best}, cudnn{"cuDNN's fastest", drawn_as::cudnn};
    for (const Row &row : panel.rows) {
        const auto y = static_cast<double>(figure.y.categories.size());
        figure.y.categories.push_back(shape_text(row.shape));
        const auto add = [&](Series &series, const std::optional<Seconds> &time, const std::string &name) {
            if (time)
                series.points.push_back(
                    {gigaflops(row, *time),
                     y,
                     fmt::format("{} {}: {:.0f} GFLOP/s", row.shape, name, gigaflops(row, *time)),
                     {}});
        };
        add(own, row.own, row.own_name);
        add(forecast, row.own_forecast, row.own_name);
        add(papers, row.papers_gpu, row.papers_name);
        add(best, row.best, row.best_name);
        add(cudnn, row.cudnn, "cuDNN");
    }
    for (Series *series : {&cudnn, &best, &papers, &forecast, &own})
        if (!series->points.empty())
            figure.series.push_back(std::move(*series));
    figure.no_data = "no time was forecast or measured";
    return figure;
}

/// "12.3 (9.1 to 20.4)": the forecast for the paper's GPU with its range.
std::string range_text(const Row &row) {
    if (!row.papers_gpu || !row.papers_gpu_low || !row.papers_gpu_high)
        return micro_text(row.papers_gpu);
    return fmt::format("{} ({} to {})", micro_text(row.papers_gpu), micro_text(row.papers_gpu_low),
                       micro_text(row.papers_gpu_high));
}

PaperTable numbers_table(const PaperItem &item, const std::vector<GainPanel> &panels,
                         const PaperContext &context) {
    PaperTable table;
    const std::string gpu = short_name(context.ours().profile), papers = short_name(context.papers().profile);
    table.id = item.id + "_numbers";
    table.title = title_of(item) + ": the numbers";
    table.words = 3;
    const bool two = item.answer.paper_kernels.size() > 1; // rule 4 may take another division on each GPU
    table.head = {"shape",
                  "filter",
                  "the paper's setting" + (two ? " on " + gpu : std::string()),
                  "measured " + gpu + ", µs",
                  "forecast " + gpu + ", µs",
                  "its speed-up",
                  "predict's default, measured " + gpu + ", µs",
                  "our fastest, µs",
                  "cuDNN, µs",
                  "our fastest's speed-up",
                  "setting on " + papers,
                  "forecast " + papers + ", µs"};
    for (const GainPanel &panel : panels)
        for (const Row &row : panel.rows)
            table.rows.push_back({row.shape, panel.at, row.own_name, micro_text(row.own),
                                  micro_text(row.own_forecast), factor_text(row.speedup),
                                  micro_text(row.by_default), micro_text(row.best), micro_text(row.cudnn),
                                  factor_text(row.speedup_best), row.papers_name, range_text(row)});
    table.note =
        "Medians, cold L2. The paper's settings were recorded by themselves, on another day than the "
        "rest; of two the faster one stands here.";
    std::string narrower;
    for (const GainPanel &panel : panels)
        for (const Row &row : panel.rows)
            if (row.another_width)
                narrower += (narrower.empty() ? "" : ", ") + row.shape;
    if (!narrower.empty())
        table.note += fmt::format(" On {} the paper's W = 64 was never run on {}; W = 32 stands there, which "
                                  "a map so narrow takes by "
                                  "default.",
                                  narrower, gpu);
    if (const std::string why = context.no_time(); !why.empty())
        table.note += " " + papers + ": no time: " + why + ".";
    return table;
}

std::string published_text(const PaperItem &item, const std::string &at, Statistic statistic) {
    for (const PublishedCell &cell : item.published)
        if (cell.at == at && cell.gpu && cell.statistic == statistic)
            return printed(cell);
    return "–";
}

/// Arithmetic and geometric means by filter size, for the paper's kernel and our fastest.
PaperTable means_table(const PaperItem &item, const std::vector<GainPanel> &panels) {
    PaperTable table;
    table.id = item.id + "_means";
    table.title = title_of(item) + ": speed-up over cuDNN by filter size";
    table.words = 2;
    table.head = {"filter",         "of",    "shapes", "faster on",        "arithmetic mean",
                  "geometric mean", "least", "most",   "published average"};
    GainPanel all{"all", "", {}};
    const auto add = [&](const GainPanel &panel) {
        const auto line = [&](const char *name, std::optional<double> Row::*member,
                              const std::string &published) {
            const std::vector<double> values = values_of(panel, member);
            if (values.empty())
                return;
            table.rows.push_back({panel.at, name, std::to_string(values.size()),
                                  std::to_string(std::count_if(values.begin(), values.end(),
                                                               [](double v) { return v > 1.0; })),
                                  factor_text(mean_of(values)), factor_text(geometric_mean_of(values)),
                                  factor_text(*std::min_element(values.begin(), values.end())),
                                  factor_text(*std::max_element(values.begin(), values.end())), published});
        };
        line("the paper's own settings", &Row::speedup, published_text(item, panel.at, Statistic::average));
        line("its kernel, predict's default", &Row::speedup_default, "–");
        line("our fastest", &Row::speedup_best, "–");
    };
    for (const GainPanel &panel : panels) {
        add(panel);
        all.rows.insert(all.rows.end(), panel.rows.begin(), panel.rows.end());
    }
    add(all);
    return table;
}

std::string word_of(Statistic statistic) {
    return statistic == Statistic::least ? "smallest" : statistic == Statistic::most ? "largest" : "average";
}

double value_of(Statistic statistic, const std::vector<double> &values) {
    return statistic == Statistic::least  ? *std::min_element(values.begin(), values.end())
           : statistic == Statistic::most ? *std::max_element(values.begin(), values.end())
                                          : *geometric_mean_of(values);
}

std::size_t wins_of(const std::vector<double> &values) {
    return static_cast<std::size_t>(
        std::count_if(values.begin(), values.end(), [](double v) { return v > 1.0; }));
}

/// Speed-ups over shapes, in the paper's own settings and in predict's default ones.
struct Speedups {
    std::vector<double> own, by_default;
};

template <class Wanted> Speedups speedups_of(const std::vector<GainPanel> &panels, Wanted wanted) {
    Speedups out;
    for (const GainPanel &panel : panels)
        for (const Row &row : panel.rows) {
            if (!wanted(panel, row))
                continue;
            if (row.speedup)
                out.own.push_back(*row.speedup);
            if (row.speedup_default)
                out.by_default.push_back(*row.speedup_default);
        }
    return out;
}

/// What was found for one published number of one panel or of all: the paper's own settings decide.
ClaimAnswer finding_of(const PaperItem &item, const PublishedCell &cell, const Speedups &values,
                       const PaperContext &context) {
    const Statistic statistic = cell.statistic.value_or(Statistic::average);
    const std::string what = word_of(statistic);
    ClaimAnswer finding;
    finding.item = item.id;
    finding.claim = fmt::format("{} speed-up{} over {}, {}", what, cell.at == "all" ? "" : " at " + cell.at,
                                *cell.against, *cell.gpu);
    finding.published = printed(cell);
    if (values.own.empty()) {
        finding.found = "–";
        finding.sentence = "Nothing was measured on " + short_name(context.ours().profile) + ".";
        return finding;
    }
    const double here = value_of(statistic, values.own);
    finding.found =
        fmt::format("{} ({}){}", times(here), short_name(context.ours().profile),
                    values.by_default.empty() ? ""
                                              : fmt::format("; {} in predict's default",
                                                            times(value_of(statistic, values.by_default))));
    finding.verdict = verdict_of_ratio(*ratio_of(cell), here);
    finding.sentence =
        fmt::format("{} in the paper's own settings{}.", times(here),
                    values.by_default.empty() ? ""
                                              : fmt::format(", {} in predict's default",
                                                            times(value_of(statistic, values.by_default))));
    return finding;
}

/// "Faster in all cases."
ClaimAnswer in_all_cases(const PaperItem &item, const Speedups &values, const PaperContext &context) {
    const std::string gpu = short_name(context.ours().profile);
    ClaimAnswer finding{item.id,
                        "faster than cuDNN in all cases",
                        "all",
                        "–",
                        ClaimVerdict::open,
                        "Nothing was measured on " + gpu + "."};
    if (values.own.empty())
        return finding;
    const std::size_t wins = wins_of(values.own);
    finding.found =
        fmt::format("on {} ({})", of_shapes(wins, values.own.size()), gpu) +
        (values.by_default.empty() ? ""
                                   : fmt::format("; on {} of {} in predict's default",
                                                 wins_of(values.by_default), values.by_default.size()));
    finding.verdict = verdict_of_all(wins, values.own.size());
    finding.sentence = fmt::format(
        "In the paper's own settings its kernel is faster than today's cuDNN on {}, in predict's default on "
        "{} of {}.",
        of_shapes(wins, values.own.size()), wins_of(values.by_default), values.by_default.size());
    return finding;
}

/// Of a GPU that is neither the paper's profile nor ours.
bool of_another_gpu(const PublishedCell &cell, const PaperContext &context) {
    return context.papers().profile.name.find(*cell.gpu) == std::string::npos;
}

/// What is published of a further GPU is one finding: nothing here decides any of it.
ClaimAnswer other_gpu_finding(const PaperItem &item, const std::vector<const PublishedCell *> &cells) {
    ClaimAnswer finding;
    finding.item = item.id;
    finding.claim = fmt::format("speed-ups over {}, {}", *cells.front()->against, *cells.front()->gpu);
    for (const PublishedCell *cell : cells)
        finding.published += (finding.published.empty() ? "" : " to ") + printed(*cell);
    finding.found = "–";
    finding.sentence = "No time of cuDNN on this GPU is at hand; section 4, Titan X, forecasts the kernels.";
    return finding;
}

/// "Only when the image is very small (32 x 32) may it be slower"; `edge` says how small.
ClaimAnswer where_slower(const PaperItem &item, const std::vector<GainPanel> &panels,
                         const PublishedCell &edge) {
    std::size_t slower = 0, slower_there = 0, shapes = 0;
    for (const GainPanel &panel : panels)
        for (const Row &row : panel.rows)
            if (row.speedup) {
                ++shapes;
                slower += *row.speedup < 1.0 ? 1 : 0;
                slower_there += *row.speedup < 1.0 && static_cast<double>(row.sizes.h) <= edge.value ? 1 : 0;
            }
    const std::string there = fmt::format("{0} x {0}", edge.value);
    ClaimAnswer finding{
        item.id, "slower than cuDNN only at maps of " + there, "only at " + there, "", ClaimVerdict::open,
        ""};
    if (shapes == 0) {
        finding.found = "–";
        finding.sentence = "Nothing was measured.";
        return finding;
    }
    finding.found =
        fmt::format("slower on {}, {} of them at {}", of_shapes(slower, shapes), slower_there, there);
    finding.verdict = verdict_of_all(slower_there, slower);
    finding.sentence =
        fmt::format("{} of the {} shapes where it is slower than today's cuDNN have larger maps.",
                    slower - slower_there, slower);
    return finding;
}

} // namespace

ItemAnswer gains(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const std::vector<GainPanel> panels = panels_of(item, context);
    const Speedups all = speedups_of(panels, [](const GainPanel &, const Row &) { return true; });
    for (const GainPanel &panel : panels) {
        answer.figures.push_back(speedup_figure(item, panel, context));
        answer.figures.push_back(gigaflops_figure(item, panel, context));
    }
    answer.tables.push_back(means_table(item, panels));
    answer.tables.push_back(numbers_table(item, panels, context));
    std::vector<const PublishedCell *> others; // of further GPUs
    for (const PublishedCell &cell : item.published) {
        if (!ratio_of(cell) || !cell.gpu)
            continue;
        if (of_another_gpu(cell, context)) {
            others.push_back(&cell);
            continue;
        }
        answer.findings.push_back(finding_of(item, cell,
                                             speedups_of(panels,
                                                         [&](const GainPanel &panel, const Row &row) {
                                                             return cell.at == "all" || cell.at == panel.at ||
                                                                    (cell.at == "F = 1" && row.sizes.k == 1);
                                                         }),
                                             context));
        if (cell.statistic == Statistic::least)
            answer.findings.push_back(in_all_cases(item, all, context));
    }
    if (!others.empty())
        answer.findings.push_back(other_gpu_finding(item, others));
    if (const PublishedCell *edge = cell_of(item, "slower only at maps of"))
        answer.findings.push_back(where_slower(item, panels, *edge));
    return answer;
}

} // namespace convcast
