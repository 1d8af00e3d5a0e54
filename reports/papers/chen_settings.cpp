// What Chen's own blocks and configurations take where they were run, beside the knobs that the model
// chooses.
#include "reports/papers/computations.hpp"
#include "reports/report_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// A kernel in the paper's layout, with one element and with two as a unit, over the study's shapes.
ItemAnswer layout_measured(const PaperItem &item, const PaperContext &context, const std::string &kernel,
                           const std::string &layout, const std::string &claim) {
    ItemAnswer answer;
    const std::string name = short_name(context.ours().profile);
    const StudyResults *settings = context.measured_settings(*item.answer.study),
                       *results = context.measured(*item.answer.study);
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
    PaperTable table{
        item.id + "_measured",
        claim + ": measured on " + name,
        1,
        {"shape", "n = 1, µs", "forecast", "n = 2, µs", "forecast", "the model's knobs, µs", "forecast"},
        {},
        "Cold L2. n elements of a thread are read, computed and written as one."};
    std::vector<double> over_chosen;
    std::size_t wins = 0;
    for (const std::string &shape : results->study.shapes) {
        std::vector<std::string> row = {shape};
        std::optional<Seconds> own;
        for (const char *unit : {"unit=1", "unit=2"}) {
            const CaseRow *its = row_with(*settings, shape, kernel + ":" + layout + unit);
            row.push_back(micro_text(its == nullptr ? std::nullopt : its->cold_s));
            row.push_back(micro_text(its == nullptr ? std::nullopt : its->predicted_s));
            if (its != nullptr && (!own || *its->cold_s < *own))
                own = its->cold_s;
        }
        const CaseRow *chosen = fastest_row_of(*results, shape, kernel);
        row.push_back(micro_text(chosen == nullptr ? std::nullopt : chosen->cold_s));
        row.push_back(micro_text(chosen == nullptr ? std::nullopt : chosen->predicted_s));
        table.rows.push_back(std::move(row));
        if (own && chosen != nullptr) {
            over_chosen.push_back(*own / *chosen->cold_s);
            wins += *own <= *chosen->cold_s ? 1 : 0;
        }
    }
    answer.tables.push_back(std::move(table));
    if (const auto mean = geometric_mean_of(over_chosen)) {
        finding.found = fmt::format("{:.2f} times the time of the model's choice", *mean);
        finding.verdict = *mean <= 1.02   ? ClaimVerdict::holds
                          : *mean <= 1.25 ? ClaimVerdict::in_part
                                          : ClaimVerdict::differs;
        finding.sentence = fmt::format(
            "With the better n they take {:.2f} times the time of the knobs that the model chooses "
            "for the same kernel, and are as fast or faster on {}.",
            *mean, of_shapes(wins, over_chosen.size()));
    }
    answer.findings.push_back(std::move(finding));
    return answer;
}

ItemAnswer special_measured(const PaperItem &item, const PaperContext &context) {
    return layout_measured(item, context, "row_register", "tile_w=256,tile_h=8,units=1,",
                           "W = 256, H = 8 is the best block");
}

/// The kernel's defaults are the configurations of the paper's Table 1, by the size of the filter.
ItemAnswer configurations_measured(const PaperItem &item, const PaperContext &context) {
    return layout_measured(item, context, "block_register", "", "Table 1's configurations are best");
}

} // namespace

std::map<std::string, Computation> chen_setting_computations() {
    return {{"special_measured", {special_measured, true}},
            {"configurations_measured", {configurations_measured, true}}};
}

} // namespace convcast
