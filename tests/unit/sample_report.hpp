// What the tests of reports share: the studies of the sample run, its figures, and where something stands.
#pragma once

#include "reports/report_figures.hpp"
#include "tests/unit/sample_run.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace convcast::sample {

inline const std::vector<Study> &studies() {
    static const std::vector<Study> loaded = {find_study("chang_single"), find_study("chang_multi")};
    return loaded;
}

inline std::vector<Figure> figures() {
    return report_figures(summarize(run(studies()), studies()), studies());
}

inline const Figure &named(const std::vector<Figure> &figures, const std::string &id) {
    const auto found = std::ranges::find(figures, id, &Figure::id);
    if (found == figures.end())
        throw std::runtime_error("no figure " + id);
    return *found;
}

inline bool has(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

} // namespace convcast::sample
