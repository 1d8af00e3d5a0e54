#include "reports/explained.hpp"

#include "model/base/embedded.hpp"

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace convcast {
extern const std::vector<EmbeddedFile> page_files;

namespace {

/// The cells of a line of a table, "| a | b |"; none of another line.
std::vector<std::string> cells_of(const std::string &line) {
    std::vector<std::string> cells;
    for (std::size_t begin = 2, end = 0; line.starts_with("| ") && begin < line.size(); begin = end + 3) {
        end = line.find(" |", begin);
        if (end == std::string::npos)
            break;
        cells.push_back(line.substr(begin, end - begin));
        std::erase(cells.back(), '\\'); // before a bar
    }
    return cells;
}

/// "error, %; linear 0 100": a label, a scale, and the ends where they are fixed.
Axis axis_of(const std::string &text) {
    const std::size_t end = text.rfind("; ");
    Axis axis{text.substr(0, end)};
    std::istringstream rest(text.substr(end + 2));
    std::string scale;
    rest >> scale;
    axis.scale = scale == "logarithmic" ? Scale::logarithmic
                 : scale == "binary"    ? Scale::binary
                 : scale == "category"  ? Scale::category
                                        : Scale::linear;
    if (double low = 0.0; rest >> low)
        axis.low = low;
    if (double high = 0.0; rest >> high)
        axis.high = high;
    return axis;
}

std::vector<std::string> row_of(const std::string &heading, const std::string &id) {
    for (std::vector<std::string> &row : explained(heading))
        if (row.front() == id)
            return std::move(row);
    throw std::logic_error("docs/report.md has no row " + id + " below \"" + heading + "\"");
}

} // namespace

std::string embedded_text(const std::string &name) {
    return find_embedded(page_files, name)->text();
}

std::vector<std::vector<std::string>> explained(const std::string &heading) {
    std::istringstream page(embedded_text("report.md"));
    std::vector<std::vector<std::string>> rows;
    bool below = false;
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with("## "))
            below = line == "## " + heading;
        else if (std::vector<std::string> cells = cells_of(line); below && !cells.empty())
            rows.push_back(std::move(cells));
    }
    if (rows.empty())
        throw std::logic_error("docs/report.md has no table below \"" + heading + "\"");
    rows.erase(rows.begin()); // what the columns are
    return rows;
}

std::string remark(const std::string &id) {
    return row_of("Remarks", id).at(1);
}

Figure explained_figure(const std::string &id, const std::string &heading) {
    const std::vector<std::string> row = row_of(heading, id);
    Figure figure{id, row.at(1), row.at(2), axis_of(row.at(3)), axis_of(row.at(4))};
    figure.no_data = row.at(5);
    return figure;
}

std::string meaning_of_number(const std::string &field) {
    std::istringstream page(embedded_text("profile.md"));
    for (std::string line; std::getline(page, line);)
        if (line.starts_with("| `" + field + "` | ")) {
            std::vector<std::string> cells = cells_of(line);
            std::erase(cells.at(2), '`');
            return cells[2];
        }
    return "";
}

} // namespace convcast
