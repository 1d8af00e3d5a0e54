// The report as files: page.html and, for papers, figures/<id>.csv, .svg, .tex and .pdf.
#pragma once

#include "reports/figure.hpp"
#include "reports/html.hpp"
#include "reports/statistics.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace convcast {

struct ReportFiles {
    std::filesystem::path page;
    std::vector<std::filesystem::path> figures;
    std::string pdf_note; ///< why there are no PDFs; "" when there are
};

/// Writes the figures that have a point into `folder`/figures, for a page `folder`/page.html; removes those
/// that only an earlier report wrote there. `progress` is called before each.
ReportFiles
write_figures(const std::vector<Figure> &figures, const std::filesystem::path &folder,
              std::span<const CaseColumns> cases = {},
              const std::function<void(std::size_t done, const std::string &next)> &progress = {});

/// What a document's report consists of: a profile's, a run's, a network's.
struct PageReport {
    std::string gpu;                               ///< its name, for the captions
    std::vector<Figure> figures;                   ///< those with a point become files beside the page
    std::function<Page(std::vector<Figure>)> page; ///< of these figures
    std::vector<CaseColumns> cases{};              ///< what the CSV files say of the figures' cases

    std::string html() const { return write_html(page(figures)); }
};

/// The report on a run. `run`, `studies` and `statistics`, which must be of these two, must outlive it.
/// `current` is the running binary: a run recorded with other device or measuring code is marked as such; its
/// hashes are empty if the binary cannot tell.
PageReport report_on(const Run &run, std::span<const Study> studies, const ReportStatistics &statistics,
                     const Producer &current = {});

/// The first paragraph of a run's page, plain text: the forecast's error, and how we stand against cuDNN.
std::string answer(const ReportStatistics &statistics);

/// Is called with how many of how many steps of a report are done, and what comes next.
using ReportProgress = std::function<void(std::size_t done, std::size_t of, const std::string &next)>;

/// Writes a report's page and figures into `folder`, which is made if it does not exist. Each file is written
/// whole or not at all; throws InputError with the path and the reason.
ReportFiles write_report(PageReport report, const std::filesystem::path &folder,
                         const ReportProgress &progress = {});

} // namespace convcast
