// A reproduction in words and as files: docs/papers, the page, a document for TeX, tables as CSV.
#pragma once

#include "reports/papers/answer.hpp"
#include "reports/table.hpp"
#include "reports/write_report.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace convcast {

/// The text of docs/papers/<id>.md: a row for every item: where it is here, a command, and the result.
std::string paper_markdown(const Reproduction &reproduction);

/// The claims that are counted, each where it stands first.
std::vector<ClaimAnswer> counted_findings(const Reproduction &reproduction);
/// These claims as a table, a row each; the column "where" links to the item on the page.
Table findings_table(const Reproduction &reproduction);
/// The columns behind PaperTable::words are aligned as numbers.
Table table_of(const PaperTable &from);

/// The text of <id>.tex. latexmk -pdf compiles it where figures/ and <id>.bib lie beside it.
std::string paper_tex(const Reproduction &reproduction);
/// The paper's entry for BibTeX.
std::string paper_bib(const Paper &paper);

/// "Of 34 claims 20 hold, 6 hold in part, 5 come out differently and 3 are open."
std::string summary_of(const Reproduction &reproduction);

/// "holds", "in part", "differs", "follows", "open"
std::string verdict_text(ClaimVerdict verdict);

/// ", counted at Section 4.4" where an earlier item has the same claim, which is counted there; else "".
std::string counted_at(const ClaimAnswer &finding);

/// What an item comes to, in one line: its verdicts, or what it shows, or why it is not computed.
std::string result_of(const PaperItem &item, const ItemAnswer &answer);

/// The page as one self-contained file of HTML.
std::string write_paper_page(const Reproduction &reproduction);

/// Writes page.html, claims.csv, <id>.tex, <id>.bib, figures/ and tables/ into `folder`, which it makes, and
/// says which files it wrote. Throws InputError where one cannot be written; then it removes what it made.
ReportFiles write_reproduction(const Reproduction &reproduction, const std::filesystem::path &folder);

} // namespace convcast
