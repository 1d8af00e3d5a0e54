// A reproduction as files: the page, figures, tables, and a document for TeX.
#pragma once

#include "reports/papers/answer.hpp"
#include "reports/write_report.hpp"

#include <filesystem>
#include <string>

namespace convcast {

/// One self-contained page.
std::string write_paper_page(const Reproduction &reproduction);

/// page.html, claims.csv, <id>.tex, <id>.bib, figures/ and tables/ in `folder`, which is made. Throws
/// InputError.
ReportFiles write_reproduction(const Reproduction &reproduction, const std::filesystem::path &folder);

} // namespace convcast
