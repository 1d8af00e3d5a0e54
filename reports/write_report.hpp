// The report as files: page.html and, for papers, figures/<id>.csv, .svg, .tex and .pdf.
#pragma once

#include "reports/figure.hpp"
#include "reports/html.hpp"
#include "reports/statistics.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace convcast {

struct ReportFiles {
    std::filesystem::path page;
    std::vector<std::filesystem::path> figures;
    std::string pdf_note; ///< why there are no PDFs; "" when there are
};

/// The figures of a page that will be `folder`/page.html, in `folder`/figures; of an earlier page's there
/// those that are not written anew are removed.
ReportFiles
write_figures(const std::vector<Figure> &figures, const std::filesystem::path &folder,
              std::span<const CaseColumns> cases = {},
              const std::function<void(std::size_t done, const std::string &next)> &progress = {});

/// The page of a run. `statistics` must be those of `run` and `studies`. `current` is the running binary: a
/// run recorded with other device or measuring code is marked as such; empty hashes if the binary cannot
/// tell. `figures`: figures_of these, where they are there already.
std::string write_page(const Run &run, std::span<const Study> studies, const ReportStatistics &statistics,
                       const Producer &current = {}, std::optional<std::vector<Figure>> figures = {});

/// Its first paragraph: how far the forecast is off and how we stand against cuDNN, in plain text.
std::string answer(const ReportStatistics &statistics);

/// Is told how many of how many steps of a report are done, and what comes next.
using ReportProgress = std::function<void(std::size_t done, std::size_t of, const std::string &next)>;

/// Makes `folder` where it does not exist. Each file is written whole or not at all; throws InputError with
/// the path and the reason. `statistics` are those of `run` and `studies`. `current` as for write_page.
ReportFiles write_report(const Run &run, std::span<const Study> studies, const ReportStatistics &statistics,
                         const std::filesystem::path &folder, const Producer &current = {},
                         const ReportProgress &progress = {});

/// The report on a document that is no run: its page, and the figures that become files beside it.
struct PageReport {
    std::string gpu; ///< its name, for the captions
    std::vector<Figure> figures;
    Page page;
};
ReportFiles write_report(const PageReport &report, const std::filesystem::path &folder);

} // namespace convcast
