// How this program and the papers whose methods it runs are cited: CITATION.cff as BibTeX.
#pragma once

#include <string>
#include <string_view>

namespace convcast {

/// BibTeX of a CITATION.cff in the form of ours: one `name: value` a line, authors and references as lists.
std::string bibtex_of(std::string_view citation_cff);

/// That of this program.
std::string bibtex();

} // namespace convcast
