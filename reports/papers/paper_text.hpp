// A reproduction as text: the lines of docs/papers, a document for TeX, its bibliography, CSV of the tables.
#pragma once

#include "reports/papers/answer.hpp"

#include <string>

namespace convcast {

/// docs/papers/<id>.md: every item, where it is here, the command, the result.
std::string paper_markdown(const Reproduction &reproduction);

/// The findings as a table of CSV.
std::string findings_csv(const Reproduction &reproduction);
std::string table_csv(const PaperTable &table);

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

} // namespace convcast
