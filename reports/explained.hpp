// Texts by which reports explain themselves. They stand in docs/report.md, which is inside the program.
#pragma once

#include "reports/figure.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace convcast {

/// A file of the page that is inside the program: "page.css".
std::string embedded_text(const std::string &name);

/// The rows of the table below a heading of docs/report.md, each with its cells; throws where there is none.
std::vector<std::vector<std::string>> explained(const std::string &heading);

/// A remark of docs/report.md: HTML, or the form of one.
std::string remark(const std::string &id);
/// The same with the values that its form asks for.
template <class... Value> std::string remark(const std::string &id, const Value &...values) {
    return fmt::format(fmt::runtime(remark(id)), values...);
}

/// A figure without points, with its texts and axes as docs/report.md has them below `heading`.
Figure explained_figure(const std::string &id, const std::string &heading = "Figures of a run");

/// The third cell of the row of docs/profile.md that is about `field`, without the marks of code; "" where it
/// has none.
std::string meaning_of_number(const std::string &field);

} // namespace convcast
