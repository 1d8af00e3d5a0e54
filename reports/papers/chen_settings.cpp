// What Chen's own blocks and configurations take where they were run, beside the knobs that the model
// chooses.
#include "model/record/paper.hpp"
#include "model/shape/conv_shape.hpp"
#include "reports/papers/computations.hpp"
#include "reports/papers/verdicts.hpp"
#include "reports/report_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// Of everything that was recorded of a kernel, the fastest other setting of a shape.
const CaseRow *fastest_other(const PaperContext &context, const std::string &study, const std::string &shape,
                             const std::string &kernel, const std::vector<std::string> &own) {
    const CaseRow *best = nullptr;
    for (const StudyResults *results : {context.measured(study), context.measured_settings(study)}) {
        if (results == nullptr)
            continue;
        for (const CaseRow &row : results->statistics.cases) {
            const bool its_own = std::any_of(own.begin(), own.end(), [&](const std::string &setting) {
                return has_setting(row.name, setting);
            });
            if (row.shape == shape && row.group == kernel && row.cold_s && !its_own &&
                (best == nullptr || *row.cold_s < *best->cold_s))
                best = &row;
        }
    }
    return best;
}

/// A kernel in the paper's layout, with one element and with two as a unit, over the study's shapes.
ItemAnswer layout_measured(const PaperItem &item, const PaperContext &context, const std::string &kernel,
                           const std::string &layout, const std::string &claim) {
    ItemAnswer answer;
    const std::string name = short_name(context.ours().profile), study = *item.answer.study;
    const StudyResults *settings = context.measured_settings(study), *results = context.measured(study);
    ClaimAnswer finding{item.id,
                        claim + ", measured on " + name,
                        "best",
                        "–",
                        ClaimVerdict::open,
                        "The settings were not run on " + name + "."};
    if (settings == nullptr || results == nullptr) {
        answer.findings.push_back(std::move(finding));
        return answer;
    }
    PaperTable table{item.id + "_measured",
                     claim + ": measured on " + name,
                     1,
                     {"shape", "n = 1, µs", "forecast", "n = 2, µs", "forecast", "fastest other, µs",
                      "fastest other", "choose's first, forecast µs", "choose's first",
                      "it was measured, µs"},
                     {},
                     "Cold L2. n elements of a thread are read, computed and written as one. A dash: the "
                     "setting was never run. choose's first: what `convcast choose --strategy " +
                         kernel + "` ranks first."};
    std::vector<double> over_other;
    std::size_t wins = 0, firsts = 0, compared = 0;
    for (const std::string &shape : results->study.shapes) {
        std::vector<std::string> row = {shape}, own_settings;
        std::optional<Seconds> own;
        for (const char *unit : {"unit=1", "unit=2"}) {
            own_settings.push_back(setting_for(kernel + ":" + layout + unit, shape));
            const CaseRow *its = row_with(*settings, shape, own_settings.back());
            row.push_back(micro_text(its == nullptr ? std::nullopt : its->cold_s));
            row.push_back(micro_text(its == nullptr ? std::nullopt : its->predicted_s));
            if (its != nullptr && (!own || *its->cold_s < *own))
                own = its->cold_s;
        }
        const CaseRow *other = fastest_other(context, study, shape, kernel, own_settings);
        row.push_back(micro_text(other == nullptr ? std::nullopt : other->cold_s));
        row.push_back(other == nullptr ? "–" : knobs_text(other->name));
        const auto &first = context.ours().chosen(kernel, shape);
        const CaseRow *recorded = nullptr;
        for (const StudyResults *some : {results, settings})
            if (first && recorded == nullptr)
                recorded = row_with(*some, shape, first->strategy);
        row.push_back(micro_text(first ? std::optional(first->time) : std::nullopt));
        row.push_back(first ? knobs_text(first->strategy) : "–");
        row.push_back(recorded == nullptr ? "never" : micro_text(recorded->cold_s));
        table.rows.push_back(std::move(row));
        if (!own || other == nullptr)
            continue;
        ++compared;
        firsts += recorded != nullptr ? 1 : 0;
        over_other.push_back(*own / *other->cold_s);
        wins += *own <= *other->cold_s ? 1 : 0;
    }
    answer.tables.push_back(std::move(table));
    if (const auto mean = geometric_mean_of(over_other)) {
        finding.found = fmt::format("{:.2f} times the time of the fastest other setting that was run", *mean);
        finding.verdict = verdict_of_best(*mean);
        finding.sentence = fmt::format(
            "With the better n they take {:.2f} times the time of the fastest other setting that was run, "
            "geometric mean, and are as fast or faster on {}. What choose ranks first was run on {} of them.",
            *mean, of_shapes(wins, compared), firsts);
        // Faster than what was run does not say best while what is forecast to be faster was not.
        if (finding.verdict == ClaimVerdict::holds && firsts < compared)
            finding.verdict = ClaimVerdict::open;
    }
    answer.findings.push_back(std::move(finding));
    return answer;
}

ItemAnswer special_measured(const PaperItem &item, const PaperContext &context) {
    return layout_measured(item, context, "row_register", "tile_w=256,tile_h=8,units=1,",
                           "W = 256, H = 8 is the best block");
}

/// The configurations of Table 1, by the size of the filter.
ItemAnswer configurations_measured(const PaperItem &item, const PaperContext &context) {
    return layout_measured(item, context, "block_register", "", "Table 1's configurations are best");
}

} // namespace

std::string setting_for(const std::string &setting, const std::string &shape) {
    const std::string general = "block_register:unit=";
    if (!setting.starts_with(general))
        return setting;
    static const std::vector<std::string> table_1 = [] {
        for (const PaperItem &item : find_paper("chen").items)
            if (item.id == "table_1")
                return item.answer.settings; // of 3x3, 5x5 and 7x7
        return std::vector<std::string>{};
    }();
    const std::int64_t filter = ConvShape::parse(shape).r;
    const std::size_t which = static_cast<std::size_t>((filter - 3) / 2);
    if (filter < 3 || which >= table_1.size())
        return setting;
    const std::string &its = table_1[which];
    return its.substr(0, its.find(",unit=")) + ",unit=" + setting.substr(general.size());
}

const CaseRow *own_row(const StudyResults &settings, const std::string &shape, const std::string &setting) {
    const CaseRow *its = row_with(settings, shape, setting_for(setting, shape));
    return its != nullptr ? its : row_with(settings, shape, setting);
}

std::map<std::string, Computation> chen_setting_computations() {
    return {{"special_measured", {special_measured, true}},
            {"configurations_measured", {configurations_measured, true}}};
}

} // namespace convcast
