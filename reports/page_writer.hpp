// The parts of the page of a run. page.cpp has the frame: first screen, cases, conditions. page_tables.cpp
// has the tables behind the figures.
#pragma once

#include "reports/html.hpp"
#include "reports/page_data.hpp"
#include "reports/statistics.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace convcast {

class PageWriter : HtmlWriter {
  public:
    PageWriter(const Run &run, std::span<const Study> studies, const ReportStatistics &statistics,
               const Producer &current, std::vector<Figure> figures);

    std::string write();

  private:
    // page.cpp
    std::string gpu() const;
    std::vector<std::string> common_assumptions() const;
    void masthead();
    void stale_note();
    void first_screen();
    void tiles();
    void tile_of_choice();
    void tile_of_outlier();
    void strips();
    std::string strip(const std::string &group) const;
    void choices();
    void cases();
    void about();
    void conditions();
    void clocks();
    void notation();
    void method();
    void measuring();

    // page_tables.cpp
    void accuracy();
    void farthest();
    void parts();
    void regimes();
    void work();
    void speed();
    void networks();
    void published();
    void shapes();
    void timelines();
    void stamped_call(const Case &item);
    void timeline_lines(const TimelineRow &row);

    bool timed() const;    ///< at least one case has a time
    bool measured() const; ///< at least one case of ours has a forecast and a time
    bool compared() const; ///< at least one shape of ours beside cuDNN's
    const CaseRow &row(std::int64_t id) const { return statistics_.cases[static_cast<std::size_t>(id)]; }
    bool all_shown() const { return shown_.size() == statistics_.cases.size(); }
    /// Where a case stands among those that are shown; absent where it is not.
    std::optional<std::size_t> place_of(std::int64_t id) const;
    std::string case_link(std::int64_t id, const std::string &text) const;
    /// Each figure stands on the page once: the first call that asks for it draws it. Nothing where it has no
    /// point.
    void figure(const std::string &id, SvgUse use = SvgUse::in_column);
    void figures_with(const std::string &prefix);
    void maps();
    bool can_draw(const std::string &prefix) const;
    void begin(const char *id, const std::string &heading);
    void end();
    void open_details(const std::string &summary);
    void close_details();

    const Run &run_;
    std::span<const Study> studies_;
    const ReportStatistics &statistics_;
    const Producer &current_;
    std::vector<std::size_t> shown_; ///< cases that stand on the page one by one
    std::vector<Figure> figures_;
    std::set<std::string> drawn_;     ///< ids of figures that stand on the page
    std::vector<std::string> common_; ///< assumptions of every forecast
    Explanations explanations_;
};

/// How the page writes numbers; a dash for what is absent.
namespace shown {
std::string percent(std::optional<double> share);
std::string factor(std::optional<double> ratio);
std::string ratio(std::optional<double> value);
std::string time(std::optional<Seconds> seconds); ///< µs, no unit
template <class E> std::string word(E value) {
    std::string name = boost::describe::enum_to_string(value, "?");
    for (char &c : name)
        if (c == '_')
            c = ' ';
    return name;
}
} // namespace shown

} // namespace convcast
