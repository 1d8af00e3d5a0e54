// What the page's script reads: the cases as columns, and how each forecast comes about. Both are JSON,
// packed with gzip and written in base64, which the browser unpacks by itself: the explanations only where
// one is opened.
#pragma once

#include "reports/statistics.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace convcast {

std::string base64(const std::string &bytes); ///< RFC 4648, padded

/// The text of a script element: gzip in base64.
std::string packed_text(const std::string &json);

struct Explanations {
    /// Each the packed JSON of an array of explanations: {"bars": [[name, µs] ...], "tree": [name, how, µs,
    /// [children]], "rules": [[text, value] ...], "assumed": [text ...], "reason": text}, without what is
    /// absent.
    std::vector<std::string> chunks;
    std::vector<std::vector<std::size_t>> cases; ///< of each chunk, the ids of its cases, in its order
    std::size_t without_tree = 0; ///< explained by their bars alone, because the page would become too large
};

/// Of every forecast of ours. `common`, what all of them assume, is left out. While the packed trees take
/// more than `most_bytes`, cases lose theirs; of each shape the fastest and the one furthest off keep it
/// longest.
Explanations explain(const Run &run, const ReportStatistics &statistics,
                     const std::vector<std::string> &common, std::size_t most_bytes = 4'000'000);

/// JSON of every case: texts by index into lists of distinct ones, times in µs with four digits.
std::string page_columns(const Run &run, const ReportStatistics &statistics,
                         const Explanations &explanations);

/// How a term's value comes about, where it has no formula of its own: "sum of the parts".
std::string how_combined(const Term &term);

/// The papers' name and place of a member of Rules.
std::string rule_text(const std::string &member);

} // namespace convcast
