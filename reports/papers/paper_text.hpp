// A reproduction in words and as files: the lines of docs/papers, the page, a document for TeX, CSV of the
// tables.
#pragma once

#include "reports/papers/answer.hpp"
#include "reports/table.hpp"
#include "reports/write_report.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace convcast {

/// docs/papers/<id>.md: every item, where it is here, the command, the result.
std::string paper_markdown(const Reproduction &reproduction);

/// The claims that are counted, each where it stands first.
std::vector<ClaimAnswer> counted_findings(const Reproduction &reproduction);
/// The same, with what is found of each.
Table findings_table(const Reproduction &reproduction);
Table table_of(const PaperTable &from);

/// <id>.tex beside figures/ and <id>.bib; latexmk -pdf compiles it.
std::string paper_tex(const Reproduction &reproduction);
std::string paper_bib(const Paper &paper);

/// "Of 34 claims 20 hold, 6 in part, 5 differ, 3 are open."
std::string summary_of(const Reproduction &reproduction);

/// "holds", "in part", "differs", "open"
std::string verdict_text(ClaimVerdict verdict);

/// ", counted at Section 4.4" of a finding that an earlier item has too; "" of others.
std::string counted_at(const ClaimAnswer &finding);

/// What an item's answer comes to, in one line without tables.
std::string result_of(const PaperItem &item, const ItemAnswer &answer);

/// One self-contained page.
std::string write_paper_page(const Reproduction &reproduction);

/// page.html, claims.csv, <id>.tex, <id>.bib, figures/ and tables/ in `folder`, which is made. Throws
/// InputError.
ReportFiles write_reproduction(const Reproduction &reproduction, const std::filesystem::path &folder);

} // namespace convcast
