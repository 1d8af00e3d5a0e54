// A paper's kernel with the paper's own settings: as they were recorded by themselves, beside the same kernel
// with the knobs that the model chooses, our fastest, and cuDNN. Also the diagrams of plans.
#include "model/base/errors.hpp"
#include "model/shape/conv_shape.hpp"
#include "reports/html.hpp"
#include "reports/papers/computations.hpp"
#include "reports/partition_diagram.hpp"
#include "reports/report_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// What is known of a shape.
struct OwnRow {
    std::string shape, filter;
    std::vector<const CaseRow *> own; ///< of each of the item's settings; nullptr where it is not run
    std::vector<std::optional<Seconds>> papers_gpu;
    std::optional<Seconds> chosen, best, cudnn; ///< the kernel as the model sets it, our fastest, cuDNN's
};

std::vector<OwnRow> own_rows(const PaperItem &item, const PaperContext &context) {
    const StudyResults *results = context.measured(*item.answer.study),
                       *settings = context.measured_settings(*item.answer.study);
    std::vector<OwnRow> rows;
    for (const std::string &shape : context.study(*item.answer.study).shapes) {
        OwnRow row;
        row.shape = shape;
        row.filter = fmt::format("{0}x{0}", ConvShape::parse(shape).r);
        for (const std::string &general : item.answer.settings) {
            const std::string setting = setting_for(general, shape);
            const bool ours = settings != nullptr && takes(item, setting, shape, context.ours());
            row.own.push_back(ours ? own_row(*settings, shape, general) : nullptr);
            row.papers_gpu.push_back(takes(item, setting, shape, context.papers())
                                         ? context.papers().time(setting, shape)
                                         : std::nullopt);
        }
        if (results != nullptr)
            for (const ShapeRow &there : results->statistics.shapes)
                if (there.shape == shape) {
                    const auto cold = [&](const std::optional<std::int64_t> &id) {
                        return id ? results->row(*id).cold_s : std::nullopt;
                    };
                    row.chosen = cold(there.papers), row.best = cold(there.ours),
                    row.cudnn = cold(there.cudnn);
                }
        rows.push_back(std::move(row));
    }
    return rows;
}

/// A setting as the papers write it: "M' = 64, W'x = 128, S = 32"; knobs that they do not have are left out.
std::string papers_terms(const std::string &setting) {
    const bool block = setting.starts_with("stride_fixed_block");
    std::string text;
    for (const auto &[knob, term] : {std::pair{"segment_bytes", "S"},
                                     {"tile_w", block ? "W'x" : "W"},
                                     {"tile_h", "H"},
                                     {"tile_k", block ? "M'" : "F_TB"},
                                     {"unit", "n"}})
        if (const std::int64_t value = knob_value(setting, knob); value > 0)
            text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", term, value);
    return text.empty() ? knobs_text(setting) : text;
}

/// Settings of several kernels of which each shape takes one are one series.
std::vector<std::string> series_names(const PaperItem &item) {
    if (item.answer.paper_kernels.size() > 1)
        return {"the paper's settings"}; // in the division that its rule 4 takes
    std::vector<std::string> names;
    for (const std::string &setting : item.answer.settings)
        names.push_back("the paper's " + papers_terms(setting));
    return names;
}

Figure own_figure(const PaperItem &item, const std::vector<OwnRow> &rows, const std::string &filter,
                  const PaperContext &context) {
    const std::string gpu = short_name(context.ours().profile);
    Figure figure{item.id + "_own_" + filter,
                  fmt::format("{}, {} filters: the paper's own settings", title_of(item), filter),
                  "",
                  {},
                  {}};
    figure.caption =
        fmt::format("Right of 1 faster than cuDNN's fastest true-FP32 algorithm on NCHW, cold L2, {}. "
                    "Hollow: the measured time of cuDNN over the forecast time of the paper's settings. By "
                    "default: the setting that predict takes of the same kernel.",
                    gpu);
    figure.x = {"time of cuDNN / time of the kernel", Scale::logarithmic, {}, {}, {}};
    figure.y.scale = Scale::category;
    figure.references = {{Guide::vertical, 1.0, "as fast as cuDNN"}};
    const std::vector<std::string> names = series_names(item);
    constexpr std::size_t second_own = 4;
    std::vector<Series> measured, forecast;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::size_t style = i == 0 ? drawn_as::papers_kernel : second_own;
        measured.push_back({names[i], style});
        forecast.push_back({names[i] + ", forecast", style, Drawn::points, true});
        forecast.back().unlisted = true;
    }
    Series chosen{"its kernel by default", drawn_as::papers_gpu}, best{"our fastest", drawn_as::best};
    for (const OwnRow &row : rows) {
        if (row.filter != filter || !row.cudnn)
            continue;
        const auto y = static_cast<double>(figure.y.categories.size());
        figure.y.categories.push_back(shape_text(row.shape));
        const auto add = [&](Series &to, const std::optional<Seconds> &time, const std::string &what) {
            if (time)
                to.points.push_back({*row.cudnn / *time,
                                     y,
                                     fmt::format("{} {}: {} µs, {}", row.shape, what, microseconds(*time),
                                                 times(*row.cudnn / *time)),
                                     {}});
        };
        add(best, row.best, "our fastest");
        add(chosen, row.chosen, "predict's default");
        for (std::size_t i = 0; i < row.own.size(); ++i)
            if (row.own[i] != nullptr) {
                add(measured[std::min(i, names.size() - 1)], row.own[i]->cold_s, row.own[i]->name);
                add(forecast[std::min(i, names.size() - 1)], row.own[i]->predicted_s,
                    row.own[i]->name + ", forecast");
            }
    }
    figure.series = {std::move(best), std::move(chosen)};
    for (Series &series : forecast)
        figure.series.push_back(std::move(series));
    for (Series &series : measured)
        figure.series.push_back(std::move(series));
    figure.no_data = "nothing was measured on " + gpu;
    return figure;
}

PaperTable own_table(const PaperItem &item, const std::vector<OwnRow> &rows, const PaperContext &context) {
    const std::string gpu = short_name(context.ours().profile), papers = short_name(context.papers().profile);
    PaperTable table{item.id + "_own",
                     title_of(item) + ": the paper's own settings",
                     2,
                     {"shape", "the paper's setting", "measured " + gpu + ", µs", "forecast " + gpu + ", µs",
                      "forecast " + papers + ", µs", "the kernel in predict's default, µs", "our fastest, µs",
                      "cuDNN, µs", "its speed-up"},
                     {},
                     "Medians, cold L2. The settings were recorded by themselves, on another day than the "
                     "rest. A dash: the "
                     "setting was never run, or the paper's rule takes another division."};
    for (const OwnRow &row : rows)
        for (std::size_t i = 0; i < row.own.size(); ++i) {
            const CaseRow *own = row.own[i];
            if (own == nullptr && !row.papers_gpu[i])
                continue;
            const std::optional<Seconds> cold = own == nullptr ? std::nullopt : own->cold_s;
            table.rows.push_back(
                {row.shape, own == nullptr ? setting_for(item.answer.settings[i], row.shape) : own->name,
                 micro_text(cold), micro_text(own == nullptr ? std::nullopt : own->predicted_s),
                 micro_text(row.papers_gpu[i]), micro_text(row.chosen), micro_text(row.best),
                 micro_text(row.cudnn),
                 factor_text(cold && row.cudnn ? std::optional(*row.cudnn / *cold) : std::nullopt)});
        }
    if (const std::string why = context.no_time(); !why.empty())
        table.note += " " + papers + ": no time: " + why + ".";
    return table;
}

} // namespace

bool takes(const PaperItem &item, const std::string &setting, const std::string &shape,
           const ForecastGpu &gpu) {
    const std::vector<std::string> &kernels = item.answer.paper_kernels;
    if (kernels.size() < 2)
        return true;
    const Case first = gpu.forecast(kernels.front(), shape);
    const bool second =
        first.prediction && first.prediction->rules && first.prediction->rules->method.value_or(1) == 2;
    return setting.starts_with(kernels[second ? 1 : 0] + ":");
}

std::string knobs_text(const std::string &setting) {
    const std::size_t colon = setting.find(':');
    return colon == std::string::npos ? setting : setting.substr(colon + 1);
}

std::int64_t knob_value(const std::string &strategy, const std::string &knob) {
    const std::string knobs = "," + knobs_text(strategy);
    const std::size_t at = knobs.find("," + knob + "=");
    return at == std::string::npos ? 0 : std::atoll(knobs.c_str() + at + knob.size() + 2);
}

bool has_setting(const std::string &strategy, const std::string &setting) {
    const auto kernel_of = [](const std::string &text) { return text.substr(0, text.find(':')); };
    if (kernel_of(strategy) != kernel_of(setting))
        return false;
    if (setting.find(':') == std::string::npos)
        return true;
    const std::string has = "," + knobs_text(strategy) + ",", wanted = knobs_text(setting) + ",";
    for (std::size_t begin = 0; begin < wanted.size();) {
        const std::size_t end = wanted.find(',', begin);
        if (has.find("," + wanted.substr(begin, end - begin) + ",") == std::string::npos)
            return false;
        begin = end + 1;
    }
    return true;
}

const CaseRow *row_with(const StudyResults &results, const std::string &shape, const std::string &setting) {
    for (const CaseRow &row : results.statistics.cases)
        if (row.shape == shape && !row.baseline && row.cold_s && has_setting(row.name, setting))
            return &row;
    return nullptr;
}

ItemAnswer own_settings(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    const std::vector<OwnRow> rows = own_rows(item, context);
    std::vector<std::string> filters;
    for (const OwnRow &row : rows)
        if (std::find(filters.begin(), filters.end(), row.filter) == filters.end())
            filters.push_back(row.filter);
    for (const std::string &filter : filters)
        answer.figures.push_back(own_figure(item, rows, filter, context));
    answer.tables.push_back(own_table(item, rows, context));
    return answer; // gains() has the findings
}

std::vector<PaperDrawing> drawings_of(const PaperItem &item, const PaperContext &context) {
    std::vector<PaperDrawing> drawings;
    for (const std::string &strategy : item.answer.drawn) {
        const Case made = context.papers().forecast(strategy, *item.answer.drawn_shape);
        if (!made.prediction || !made.prediction->plan)
            throw InputError("item " + item.id + ": /answer/drawn",
                             "expected a strategy that has a plan, found " + strategy + ": " +
                                 made.reason.value_or("it has no plan"));
        if (const std::string problem = cannot_draw(strategy); !problem.empty())
            throw InputError("item " + item.id + ": /answer/drawn", problem);
        const Partition &launch = main_launch(*made.prediction->plan);
        const GpuProfile &gpu = context.papers().profile;
        // Figure 2 of Chang draws its five ways in their order.
        const std::string letter =
            item.answer.by == "partitions"
                ? fmt::format("({}) {}", static_cast<char>('a' + drawings.size()),
                              drawings.empty() ? "undivided, every thread on its own: " : "")
                : "";
        const std::string file = fmt::format("{}_{}.svg", item.id, drawings.size() + 1);
        drawings.push_back(
            {fmt::format("{}_diagram_{}", item.id, drawings.size() + 1), letter + strategy,
             fmt::format(
                 "{} on the {}: {} of {} threads, {} on an SM at once. Grey lines are where other CTAs' "
                 "parts begin. Drawn by: convcast predict --gpu {} --shape {} --strategy {} --diagram {}",
                 shape_text(made.shape), short_name(gpu), count(launch.ctas, "CTA", "CTAs"), launch.threads,
                 launch.ctas_per_sm, gpu.id, made.shape, strategy, file),
             partition_diagram(made, gpu, PaperWidth::column())});
    }
    return drawings;
}

} // namespace convcast
