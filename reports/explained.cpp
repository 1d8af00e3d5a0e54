#include "reports/explained.hpp"

#include "model/base/embedded.hpp"
#include "model/base/text.hpp"
#include "reports/lists.hpp"

#include <boost/describe.hpp>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast {
extern const std::vector<EmbeddedFile> page_files;

BOOST_DESCRIBE_ENUM(Scale, linear, logarithmic, binary, category)
BOOST_DESCRIBE_ENUM(As, text, number, ratio, factor, share, time)
BOOST_DESCRIBE_ENUM(Keep, low, normal, high, must)
BOOST_DESCRIBE_ENUM(Fit, whole, knobs, cut, wrap)

namespace {

/// The cells of a line of a Markdown table, "| a | b |"; none of any other line.
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

/// Reads an axis: label, scale, and the ends if they are fixed, "error, %; linear 0 100".
Axis axis_of(const std::string &text) {
    const std::size_t end = text.rfind("; ");
    Axis axis{text.substr(0, end)};
    std::istringstream rest(text.substr(end + 2));
    std::string scale;
    rest >> scale;
    boost::describe::enum_from_string(scale.c_str(), axis.scale);
    if (double low = 0.0; rest >> low)
        axis.low = low;
    if (double high = 0.0; rest >> high)
        axis.high = high;
    return axis;
}

/// The cells of the row below a heading whose first cell is `id`; throws where there is none.
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

std::vector<ExplainedColumn> explained_columns(const std::string &table) {
    std::vector<ExplainedColumn> columns;
    for (const std::vector<std::string> &row : explained("Tables"))
        if (row.front() == table) {
            auto &[column, value] = columns.emplace_back(ExplainedColumn{{row.at(1)}, row.at(2)});
            for (const std::string &word : split(row.at(3), ' ')) {
                const auto is = [&](auto &of) { return boost::describe::enum_from_string(word.c_str(), of); };
                if (!is(column.as) && !is(column.keep) && !is(column.fit))
                    throw std::logic_error("docs/report.md: a column is nothing \"" + word + "\"");
            }
            column.full = row.at(4);
        }
    if (columns.empty())
        throw std::logic_error("docs/report.md has no table " + table);
    return columns;
}

Cell member_cell(const described::Type &type, const void *object, std::string_view path) {
    using Form = described::Type::Form;
    switch (type.form) {
    case Form::text:
        return *static_cast<const std::string *>(object);
    case Form::integer:
        return type.integer(object);
    case Form::number:
        return type.number(object);
    case Form::choice:
        return first_with(type.choices, &described::Choice::value, type.integer(object))->name;
    case Form::optional: {
        const void *held = nullptr;
        type.each(
            object,
            [](void *with, const std::string *, const void *its) { *static_cast<const void **>(with) = its; },
            &held);
        return held == nullptr ? Cell() : member_cell(type.element(), held, path);
    }
    default: {
        const std::size_t dot = std::min(path.find('.'), path.size());
        const described::Field *field = first_with(type.fields, &described::Field::name, path.substr(0, dot));
        if (field == nullptr)
            throw std::logic_error("docs/report.md: no member " + std::string(path));
        return member_cell(field->type(), field->in(const_cast<void *>(object)),
                           path.substr(std::min(dot + 1, path.size())));
    }
    }
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
