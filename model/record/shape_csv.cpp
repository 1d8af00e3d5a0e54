// CSV with a header: columns in any order, by cuDNN's letters or by names that frameworks use.
#include "model/record/shape_list_parts.hpp"

#include "model/base/text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr const char *csv_example = "n,c,h,w,k,r,s,pad,name,count above 1,64,56,56,64,3,3,1,conv2,3";

/// A column's own name, and the others that it may have.
struct ColumnKind {
    const char *name;
    std::vector<const char *> aliases;
};

const std::vector<ColumnKind> &column_kinds() {
    static const std::vector<ColumnKind> kinds = {
        {"shape", {}},
        {"n", {"batch", "batch_size", "mb", "minibatch", "images"}},
        {"c", {"ic", "in_channels", "input_channels", "channels", "cin", "c_in", "in_c"}},
        {"h", {"ih", "height", "in_h", "in_height", "input_h", "input_height", "h_in"}},
        {"w", {"iw", "width", "in_w", "in_width", "input_w", "input_width", "w_in"}},
        {"k", {"oc", "out_channels", "output_channels", "filters", "num_filters", "cout", "c_out", "out_c"}},
        {"r", {"kh", "kernel_h", "kernel_height", "filter_h", "filter_height", "fh"}},
        {"s", {"kw", "kernel_w", "kernel_width", "filter_w", "filter_width", "fw"}},
        {"kernel", {"kernel_size", "kernel_shape", "filter", "filter_size", "ksize"}},
        {"stride", {"strides"}},
        {"stride_h", {"sh", "stride_height"}},
        {"stride_w", {"sw", "stride_width"}},
        {"pad", {"padding", "pads"}},
        {"pad_h", {"ph", "padding_h", "pad_height"}},
        {"pad_w", {"pw", "padding_w", "pad_width"}},
        {"dilation", {"dilations", "dil"}},
        {"dilation_h", {"dil_h", "dilation_height"}},
        {"dilation_w", {"dil_w", "dilation_width"}},
        {"groups", {"group", "g"}},
        {"dtype", {"type", "data_type", "precision"}},
        {"p", {"oh", "out_h", "out_height", "output_h", "output_height", "h_out"}},
        {"q", {"ow", "out_w", "out_width", "output_w", "output_width", "w_out"}},
        {"name", {"layer", "layer_name"}},
        {"count", {"counts", "calls", "times", "repeat"}}};
    return kinds;
}

/// A header's cell as column_kinds() writes names: in small letters, with _ for blanks and hyphens.
std::string small_name(std::string_view text) {
    std::string out = lower(text);
    std::replace_if(
        out.begin(), out.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
    return out;
}

/// The column's own name, by a name in small letters; nullptr where no column has it.
const char *column_of(const std::string &name) {
    for (const ColumnKind &kind : column_kinds())
        if (name == kind.name || std::any_of(kind.aliases.begin(), kind.aliases.end(),
                                             [&](const char *alias) { return name == alias; }))
            return kind.name;
    return nullptr;
}

std::vector<std::string> known_names() {
    std::vector<std::string> names;
    for (const ColumnKind &kind : column_kinds()) {
        names.emplace_back(kind.name);
        names.insert(names.end(), kind.aliases.begin(), kind.aliases.end());
    }
    return names;
}

/// The separator of which a header has most: comma, semicolon or tab.
char separator_of(std::string_view header) {
    char best = ',';
    for (const char candidate : {',', ';', '\t'})
        if (std::count(header.begin(), header.end(), candidate) >
            std::count(header.begin(), header.end(), best))
            best = candidate;
    return best;
}

struct CsvHeader {
    char separator = ',';
    std::vector<std::string> columns; ///< by their own names, from left to right; "": to leave out
    std::set<std::string> names;      ///< of all columns
    bool has(const std::string &name) const { return names.count(name) != 0; }
};

/// Notes everything that is wrong with the header: columns that are lacking, or that say the same twice.
void check_header(const CsvHeader &header, std::size_t line, ListBuilder &list) {
    const auto needs = [&](const char *name, bool given, const char *or_else = "") {
        if (!given)
            list.problem(line, std::string("expected a column '") + name + "'" + or_else +
                                   ", found none. Example: " + csv_example);
    };
    if (header.has("shape")) {
        for (const std::string &other : header.names)
            if (other != "shape" && other != "name" && other != "count")
                list.problem(line, "column '" + other +
                                       "': expected no sizes beside the column 'shape', which has them all. "
                                       "Example: shape,name,count");
        return;
    }
    needs("c", header.has("c"));
    needs("h", header.has("h"));
    needs("k", header.has("k"));
    needs("r", header.has("r") || header.has("kernel"), " or 'kernel'");
    for (const auto &[both, one, other] : {std::array{"kernel", "r", "s"},
                                           {"stride", "stride_h", "stride_w"},
                                           {"pad", "pad_h", "pad_w"},
                                           {"dilation", "dilation_h", "dilation_w"}})
        if (header.has(both) && (header.has(one) || header.has(other)))
            list.problem(line, std::string("columns '") + both + "' and '" + (header.has(one) ? one : other) +
                                   "': expected one of them, as both say the same");
}

/// Reads the header; notes what is wrong with it in the list.
CsvHeader header_of(std::string_view text, std::size_t line, ListBuilder &list) {
    CsvHeader header;
    header.separator = separator_of(text);
    std::vector<std::string> cells;
    list.at(line, [&] { cells = csv_cells(text, header.separator); });
    for (const std::string &cell : cells) {
        const std::string name = small_name(cell);
        const char *kind = column_of(name);
        header.columns.emplace_back(kind == nullptr ? "" : kind);
        if (kind == nullptr && !name.empty() && !name.starts_with("x_"))
            list.problem(line, "unknown column '" + shortened(cell, 60) + "'" +
                                   did_you_mean(name.substr(0, 64), known_names()) +
                                   " Columns: n, c, h, w, k, r, s, stride, pad, dilation, groups, dtype, "
                                   "name, count, or shape; what is not for convcast begins with x_");
        if (kind != nullptr && !header.names.insert(kind).second)
            list.problem(line, "column '" + shortened(cell, 60) + "' says again what '" + kind +
                                   "' is; expected it once");
    }
    check_header(header, line, list);
    return header;
}

using Cells = std::map<std::string, std::string>; ///< by column, those that are not empty

/// The number of a row in a column, from `low` on; `otherwise` where it has none.
std::int64_t number_in(const Cells &cells, const char *column, std::int64_t otherwise, std::int64_t low) {
    const auto found = cells.find(column);
    return found == cells.end() ? otherwise
                                : whole_number(found->second, std::string("column '") + column + "'", low);
}

/// Two sizes of a row, of rows and of columns: from the column `both`, "3" or "3x2", else from the columns
/// `first` and `second`. Without a second one it is as the first; without either both are `otherwise`.
std::pair<std::int64_t, std::int64_t> pair_in(const Cells &cells, const char *both, const std::string &first,
                                              const std::string &second, std::int64_t otherwise,
                                              std::int64_t low) {
    const auto found = cells.find(both);
    if (found == cells.end()) {
        const std::int64_t one = number_in(cells, first.c_str(), otherwise, low);
        return {one, number_in(cells, second.c_str(), one, low)};
    }
    const std::string &text = found->second;
    const std::string what = std::string("column '") + both + "' (a number, or two as 3x2)";
    const std::size_t cross = text.find('x');
    if (cross == std::string::npos) {
        const std::int64_t value = whole_number(text, what, low);
        return {value, value};
    }
    return {whole_number(text.substr(0, cross), what, low), whole_number(text.substr(cross + 1), what, low)};
}

/// A size that every row must have.
std::int64_t size_in(const Cells &cells, const char *column) {
    if (cells.count(column) == 0)
        throw UsageError(std::string("column '") + column +
                         "': expected a size, found an empty cell. Example: 64");
    return number_in(cells, column, 0, 1);
}

/// The shape of a row. Throws UsageError, also where its output sizes are not those that follow.
ConvShape shape_in(const Cells &cells) {
    if (const auto text = cells.find("shape"); text != cells.end())
        return ConvShape::parse(text->second);
    ConvShape shape;
    shape.n = number_in(cells, "n", 1, 1);
    shape.c = size_in(cells, "c");
    shape.h = size_in(cells, "h");
    shape.w = number_in(cells, "w", shape.h, 1);
    shape.k = size_in(cells, "k");
    std::tie(shape.r, shape.s) = pair_in(cells, "kernel", "r", "s", 0, 1);
    if (shape.r == 0) // neither "kernel" nor "r"
        throw UsageError("column 'r': expected a size, found an empty cell. Example: 3");
    std::tie(shape.stride_h, shape.stride_w) = pair_in(cells, "stride", "stride_h", "stride_w", 1, 1);
    std::tie(shape.pad_h, shape.pad_w) = pair_in(cells, "pad", "pad_h", "pad_w", 0, 0);
    std::tie(shape.dilation_h, shape.dilation_w) =
        pair_in(cells, "dilation", "dilation_h", "dilation_w", 1, 1);
    shape.groups = number_in(cells, "groups", 1, 1);
    if (const auto type = cells.find("dtype"); type != cells.end())
        shape.dtype = data_type(type->second);
    shape.validate();
    for (const auto &[column, size] : {std::pair{"p", shape.p()}, {"q", shape.q()}})
        if (const std::int64_t said = number_in(cells, column, size, 1); said != size)
            throw UsageError(std::string("column '") + column + "': expected " + std::to_string(size) +
                             ", which the other columns give, found " + std::to_string(said));
    return shape;
}

/// Adds the shape of a row, with its name and count. Throws UsageError.
void take_row(ListBuilder &list, const CsvHeader &header, std::string_view line) {
    const std::vector<std::string> values = csv_cells(line, header.separator);
    if (values.size() != header.columns.size())
        throw UsageError("expected " + std::to_string(header.columns.size()) +
                         " cells as in the header, found " + std::to_string(values.size()) +
                         ". Example: " + csv_example);
    Cells cells;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!header.columns[i].empty() && !values[i].empty())
            cells.emplace(header.columns[i], values[i]);
    if (header.has("shape") && cells.count("shape") == 0)
        throw UsageError(
            "column 'shape': expected a shape, found an empty cell. Example: n1c64h56w56k64r3s3");
    const auto name = cells.find("name");
    list.add(shape_in(cells), name == cells.end() ? "" : name->second, number_in(cells, "count", 1, 1));
}

} // namespace

std::vector<std::string> csv_cells(std::string_view line, char separator) {
    std::vector<std::string> cells(1);
    bool quoted = false, closed = false; // within quotes; behind the quote that ends a cell
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"')
            cells.back() += line[i++];
        else if (quoted && c == '"')
            quoted = false, closed = true;
        else if (!quoted && c == separator)
            cells.emplace_back(), closed = false;
        else if (!quoted && !closed && c == '"' && trimmed(cells.back()).empty())
            quoted = true, cells.back().clear();
        else if (!closed || quoted)
            cells.back() += c;
        else if (c != ' ' && c != '\t' && c != '\r')
            throw UsageError("expected a separator behind the quote that ends '" +
                             shortened(cells.back(), 40) + "'. Example: 1,64,\"conv2, first\",3");
    }
    if (quoted)
        throw UsageError("expected the quote that ends '" + shortened(cells.back(), 40) +
                         "' on the same line. Example: 1,64,\"conv2, first\",3");
    for (std::string &cell : cells)
        cell = std::string(trimmed(cell));
    return cells;
}

bool is_csv_header(std::string_view line) {
    return line.find_first_of(",;\t") != std::string_view::npos ||
           column_of(small_name(line.substr(0, 40))) != nullptr;
}

ShapeList read_csv(std::string_view text, const std::string &file) {
    ListBuilder list(file, "CSV");
    std::optional<CsvHeader> header;
    bool wrong_header = false; // then rows are not read: each would repeat what is wrong with it
    list.at_lines(text, [&](std::size_t number, std::string_view line) {
        if (header && !wrong_header)
            take_row(list, *header, line);
        else if (!header)
            header = header_of(line, number, list), wrong_header = list.has_problems();
    });
    return list.finish(csv_example);
}

} // namespace convcast
