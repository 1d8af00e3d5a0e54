// Texts by which reports explain themselves, and the columns of their tables. They stand in docs/report.md,
// which is inside the program.
#pragma once

#include "model/base/document.hpp"
#include "reports/figure.hpp"
#include "reports/table.hpp"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

/// A file of the page that is inside the program: "page.css".
std::string embedded_text(const std::string &name);

/// The rows of the table below a heading of docs/report.md, each with its cells; throws where there is none.
std::vector<std::vector<std::string>> explained(const std::string &heading);

/// A remark of docs/report.md, as HTML; it may have places for values, {}.
std::string remark(const std::string &id);
/// The remark with these values in its places, by fmt.
template <class... Value> std::string remark(const std::string &id, const Value &...values) {
    return fmt::format(fmt::runtime(remark(id)), values...);
}

/// A figure without points, with its texts and axes as docs/report.md has them below `heading`.
Figure explained_figure(const std::string &id, const std::string &heading = "Figures of a run");

/// A column of a table of docs/report.md.
struct ExplainedColumn {
    Column column;
    std::string value; ///< what it shows of a row: a key of CellsOf, or the path of a member
};
/// The columns of a table of docs/report.md; throws where there is no such table.
std::vector<ExplainedColumn> explained_columns(const std::string &table);

/// The cell of a member of `object`, which is of the described `type`; `path` may lead into members,
/// "forecast.low_s". Empty where something on the path is absent; throws where there is no such member.
Cell member_cell(const described::Type &type, const void *object, std::string_view path);

/// Functions for cells that show no member of the row, by ExplainedColumn::value.
template <class Row> using CellsOf = std::map<std::string, std::function<Cell(const Row &)>>;

/// The columns of a table of docs/report.md, each with what it shows: a cell of `own`, else a member.
template <class Row>
std::vector<Field<Row>> explained_fields(const std::string &table, const CellsOf<Row> &own = {}) {
    std::vector<Field<Row>> fields;
    for (const ExplainedColumn &its : explained_columns(table)) {
        const auto found = own.find(its.value);
        fields.push_back({its.column, [path = its.value](const Row &row) {
                              return member_cell(described::type_of<Row>(), &row, path);
                          }});
        if (found != own.end())
            fields.back().of = found->second;
    }
    return fields;
}
template <class Row>
Table explained_table(const std::string &table, const auto &rows, const CellsOf<Row> &own = {}) {
    return table_of<Row>(rows, explained_fields<Row>(table, own));
}

/// What docs/profile.md says of a field of a profile, in its third column; "" where it says nothing.
std::string meaning_of_number(const std::string &field);

} // namespace convcast
