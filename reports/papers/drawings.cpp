// The diagrams of plans that a paper's items name, and the knobs of settings.
#include "model/base/errors.hpp"
#include "model/base/text.hpp"
#include "model/shape/conv_shape.hpp"
#include "reports/html.hpp"
#include "reports/papers/computations.hpp"
#include "reports/partition_diagram.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace convcast {

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
    const std::vector<std::string> has = split(knobs_text(strategy), ','),
                                   wanted = split(knobs_text(setting), ',');
    return std::all_of(wanted.begin(), wanted.end(), [&](const std::string &knob) {
        return std::find(has.begin(), has.end(), knob) != has.end();
    });
}

std::vector<PaperDrawing> drawings_of(const PaperItem &item, const PaperContext &context) {
    std::vector<PaperDrawing> drawings;
    for (const std::string &strategy : item.answer.drawn) {
        const Case made = context.papers().forecast(strategy, *item.answer.drawn_shape);
        if (!made.prediction || !made.prediction->plan)
            throw InputError(place_of(item, context.paper()) + "/drawn",
                             "expected a strategy that has a plan, found " + strategy + ": " +
                                 made.reason.value_or("it has no plan"));
        if (const std::string problem = cannot_draw(strategy); !problem.empty())
            throw InputError(place_of(item, context.paper()) + "/drawn", problem);
        const Partition &launch = main_launch(*made.prediction->plan);
        const GpuProfile &gpu = context.papers().profile;
        const std::string file = fmt::format("{}_{}.svg", item.id, drawings.size() + 1);
        drawings.push_back(
            {fmt::format("{}_diagram_{}", item.id, drawings.size() + 1),
             item.answer.drawn_titles.empty() ? strategy : item.answer.drawn_titles[drawings.size()],
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
