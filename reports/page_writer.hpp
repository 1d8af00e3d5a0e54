// The page of a run as data. page.cpp has its frame: first screen, choices, cases, conditions.
// page_tables.cpp has the sections with the tables behind the figures.
#pragma once

#include "model/base/readable.hpp"
#include "reports/html.hpp"
#include "reports/lists.hpp"
#include "reports/page_data.hpp"
#include "reports/statistics.hpp"

#include <boost/describe.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace convcast {

/// What the sections of the page share. The run, studies, statistics and producer must outlive it.
struct RunPage {
    const Run &run;
    std::span<const Study> studies;
    const ReportStatistics &statistics;
    const Producer &current;
    std::vector<std::size_t> shown; ///< cases that stand on the page one by one
    std::vector<Figure> figures;
    std::vector<std::string> common; ///< assumptions of every forecast
    Explanations explanations;

    RunPage(const Run &its_run, std::span<const Study> its_studies, const ReportStatistics &its_statistics,
            const Producer &its_current, std::vector<Figure> its_figures);

    bool timed() const; ///< at least one case has a time
    /// At least one case of ours has a forecast and a time.
    bool measured() const { return statistics.errors_of("all") != nullptr; }
    /// At least one shape of ours beside cuDNN's.
    bool compared() const { return statistics.overall("cudnn") != nullptr; }
    /// The text as a link to the case with this CaseRow::id, or alone where the page does not show that case.
    Cell case_cell(std::int64_t id, const std::string &text) const;
    /// Moves out the figures of a part of the page that have a point.
    std::vector<PagePart> figures_of(const std::string &part);
};

// The sections of page_tables.cpp; without parts where the run has nothing for them.
Section accuracy_section(RunPage &page);
Section speed_section(RunPage &page);
Section regimes_section(RunPage &page);
Section work_section(RunPage &page);
Section timelines_section(RunPage &page);

/// "wrong result" of wrong_result
template <class E> std::string word_of(E value) {
    std::string name = boost::describe::enum_to_string(value, "?");
    std::replace(name.begin(), name.end(), '_', ' ');
    return name;
}

} // namespace convcast
