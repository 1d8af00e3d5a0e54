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

/// How the forecasts come about, in chunks of cases: a page unpacks one to show a case.
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

/// Changes figures for a page that shows only `cases`, ascending, of `all_cases`: a point's id becomes its
/// case's place among these, or absent, and of points that would hide each other one is left (drawn_once). If
/// the page shows all cases, the figures stay as they are.
void draw_for_page(std::vector<Figure> &figures, std::span<const std::size_t> cases, std::size_t all_cases);

/// The figure of very many cases without marks that others of their series hide, and with no more points of a
/// line than are told apart. Axes and the count of marks beyond them stay.
Figure drawn_once(Figure figure);

/// Of more cases a page shows a part one by one.
inline constexpr std::size_t most_cases_of_page = most_labelled_marks;

/// Explains every forecast of ours among `shown`, without `common`, which all of them assume. Once the chunks
/// have `most_bytes`, further cases are explained without their tree; of each shape the fastest case and the
/// one furthest off come first.
Explanations explain(const Run &run, const ReportStatistics &statistics, std::span<const std::size_t> shown,
                     const std::vector<std::string> &common, std::size_t most_bytes = 4'000'000);

/// JSON of every case: texts by index into lists of distinct ones, times in µs with four digits.
std::string page_columns(const Run &run, const ReportStatistics &statistics,
                         std::span<const std::size_t> shown, const Explanations &explanations);

/// The papers' name and place of a member of Rules.
std::string rule_text(const std::string &member);

} // namespace convcast
