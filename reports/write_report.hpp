// The report as files: page.html and, for papers, figures/<id>.csv, .svg, .tex and .pdf.
#pragma once

#include "model/machine/profile.hpp"
#include "reports/figure.hpp"
#include "reports/statistics.hpp"

#include <filesystem>
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
ReportFiles write_figures(const std::vector<Figure> &figures, const std::filesystem::path &folder,
                          std::span<const CaseColumns> cases = {});

/// Makes `folder` where it does not exist. Each file is written whole or not at all; throws InputError with
/// the path and the reason. `current` as for write_page.
ReportFiles write_report(const Run &run, std::span<const Study> studies, const std::filesystem::path &folder,
                         const Producer &current = {}, std::span<const JudgedCall> judged = {});

/// The same of a profile.
ReportFiles write_report(const GpuProfile &profile, const std::filesystem::path &folder);

} // namespace convcast
