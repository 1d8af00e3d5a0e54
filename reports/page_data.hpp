// What the page's script reads: the cases as columns, and how each forecast comes about. Both are JSON,
// packed with gzip and written in base64, which the browser unpacks by itself: the explanations only where
// one is opened.
#pragma once

#include "reports/figure.hpp"
#include "reports/statistics.hpp"

#include <cstddef>
#include <span>
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

/// The cases that a page shows one by one: all of them, or, of very many, those that its tables name, those
/// that are furthest off, and an even sample of the others. Ascending. All statistics are of all cases.
std::vector<std::size_t> cases_of_page(const ReportStatistics &statistics);

/// The figures of a page that shows `cases` alone: points name a case by its place among these, and of points
/// that would lie on one another one is left, where there are very many cases. Figures of all cases stay as
/// they are.
void draw_for_page(std::vector<Figure> &figures, std::span<const std::size_t> cases, std::size_t all_cases);

/// A drawing of very many cases: of marks of a series that would lie on one another the first, and of lines
/// no more points than can be told apart. Its axes, and its count of marks beyond them, stay as they were.
Figure drawn_once(Figure figure);

/// More cases than a page shows one by one, and than a drawing has marks of.
inline constexpr std::size_t most_cases_of_page = most_labelled_marks;

/// Of every forecast of ours among `shown`. `common`, what all of them assume, is left out. While the packed
/// trees take more than `most_bytes`, cases lose theirs; of each shape the fastest and the one furthest off
/// keep it longest.
Explanations explain(const Run &run, const ReportStatistics &statistics, std::span<const std::size_t> shown,
                     const std::vector<std::string> &common, std::size_t most_bytes = 4'000'000);

/// JSON of every case: texts by index into lists of distinct ones, times in µs with four digits.
std::string page_columns(const Run &run, const ReportStatistics &statistics,
                         std::span<const std::size_t> shown, const Explanations &explanations);

/// The papers' name and place of a member of Rules.
std::string rule_text(const std::string &member);

} // namespace convcast
