// The page of a run as data. page.cpp has its frame: first screen, choices, cases, conditions.
// page_tables.cpp has the sections with the tables behind the figures.
#pragma once

#include "model/base/readable.hpp"
#include "reports/html.hpp"
#include "reports/page_data.hpp"
#include "reports/statistics.hpp"

#include <boost/describe.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

class RunPage {
  public:
    RunPage(const Run &run, std::span<const Study> studies, const ReportStatistics &statistics,
            const Producer &current, std::vector<Figure> figures);

    Page page();

  private:
    // Sections; none where the run has nothing for it.
    Section overview();
    std::optional<Section> accuracy();
    std::optional<Section> speed();
    std::optional<Section> choices();
    std::optional<Section> regimes();
    std::optional<Section> work();
    std::optional<Section> timelines();
    std::optional<Section> cases();
    std::optional<Section> about();

    // page.cpp
    std::string asked() const;
    std::vector<std::string> common_assumptions() const;
    std::vector<PagePart> stale_notes() const;
    std::vector<Card> cards() const;
    std::vector<const ErrorStatistics *> by_error() const;
    Group strips() const;
    std::string strip(const std::string &group) const;
    std::vector<Fact> clocks() const;
    Html notation() const;
    std::vector<PagePart> method() const;

    // page_tables.cpp
    Group farthest() const;
    std::vector<PagePart> parts() const;
    std::vector<PagePart> published() const;
    Group shapes() const;

    bool timed() const;    ///< at least one case has a time
    bool measured() const; ///< at least one case of ours has a forecast and a time
    bool compared() const; ///< at least one shape of ours beside cuDNN's
    const CaseRow &row(std::int64_t id) const { return statistics_.cases[static_cast<std::size_t>(id)]; }
    /// Where a case stands among those that are shown; absent where it is not.
    std::optional<std::size_t> place_of(std::int64_t id) const;
    /// A text that leads to its case, where that is shown.
    Cell case_cell(std::int64_t id, const std::string &text) const;
    /// The figures of a part of the page that have a point; they are taken.
    std::vector<PagePart> figures_of(const std::string &part);
    std::vector<PagePart> maps();

    const Run &run_;
    std::span<const Study> studies_;
    const ReportStatistics &statistics_;
    const Producer &current_;
    std::vector<std::size_t> shown_; ///< cases that stand on the page one by one
    std::vector<Figure> figures_;
    std::vector<std::string> common_; ///< assumptions of every forecast
    Explanations explanations_;
};

/// "wrong result" of wrong_result
template <class E> std::string word_of(E value) {
    std::string name = boost::describe::enum_to_string(value, "?");
    std::replace(name.begin(), name.end(), '_', ' ');
    return name;
}

template <class T> void append(std::vector<T> &to, std::vector<T> more) {
    std::move(more.begin(), more.end(), std::back_inserter(to));
}

} // namespace convcast
