#include "model/record/elsewhere.hpp"

#include "model/base/errors.hpp"
#include "model/base/readable.hpp"
#include "model/base/text.hpp"
#include "model/record/shape_list_parts.hpp"
#include "model/shape/conv_shape.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr const char *time_example = "n1c64h56w56k64r3s3 cudnn_v7 12.3us";
constexpr std::array<std::pair<std::string_view, double>, 4> time_units = {
    {{"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"s", 1.0}}};
constexpr double longest_time = 1e6; // seconds; chosen: above this only mistakes of the unit come

/// A time such as "12.3us"; with `unit` the text is a number of so many seconds. Throws UsageError.
Seconds time_of(std::string text, std::optional<double> unit) {
    std::erase(text, ' ');
    std::string_view number = text;
    if (!unit)
        for (const auto &[name, seconds] : time_units)
            if (number.ends_with(name)) {
                number.remove_suffix(name.size());
                unit = seconds;
                break;
            }
    const std::optional<double> value = number_of<double>(number);
    if (!value || !(*value > 0.0) || !unit || *value * *unit > longest_time)
        throw UsageError(
            "expected a time above zero with a unit of s, ms, us or ns, for example 12.3us, got '" +
            shortened(text) + "'");
    return Seconds(*value * *unit);
}

/// A case with one measured time and nothing else. Throws UsageError of a wrong name or shape.
Case case_of(const std::string &shape, const std::string &name, Seconds time, const std::string &source) {
    if (name.size() > 100 || !is_printable(name))
        throw UsageError("expected a name of 1 to 100 characters without control characters for who took the "
                         "time, for example cudnn_v7");
    Case item;
    item.shape = ConvShape::parse(shape).id();
    item.baseline = elsewhere_prefix + name;
    item.status = Status::ok;
    item.detail = "measured elsewhere: " + source;
    Measurement &measured = item.measurements.emplace_back();
    measured.time_s = time;
    measured.method = elsewhere_method;
    measured.stop_reason = "given";
    return item;
}

/// The places of the columns in a line, from 0.
struct TimeColumns {
    std::size_t shape = 0, name = 0, time = 0;
    std::optional<double> unit; ///< seconds, as the column's name says; absent: each time has its own
};

/// Throws InputError, which names `place`, where a column is lacking.
TimeColumns columns_of_header(std::string_view line, const std::string &place) {
    TimeColumns found;
    std::vector<std::string> header;
    try {
        header = csv_cells(line, ',');
    } catch (const UsageError &) { // broken quotes: no column is found, which is said below
    }
    const auto find = [&](const std::string &name) {
        return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin());
    };
    found.shape = find("shape");
    found.name = find("name");
    found.time = find("time");
    for (const auto &[name, seconds] : time_units)
        if (found.time == header.size() && find("time_" + std::string(name)) < header.size()) {
            found.time = find("time_" + std::string(name));
            found.unit = seconds;
        }
    if (found.shape == header.size() || found.name == header.size() || found.time == header.size())
        throw InputError(place, "expected a header with the columns shape, name and time or time_us, for "
                                "example: shape,name,time_us");
    return found;
}

} // namespace

bool is_elsewhere(const std::string &baseline) {
    return baseline.starts_with(elsewhere_prefix);
}

bool is_elsewhere(const Case &item) {
    return item.baseline && is_elsewhere(*item.baseline);
}

Case parse_elsewhere(const std::string &text, const std::string &source) {
    std::istringstream words(text);
    std::string shape, name, time, unit, more;
    words >> shape >> name >> time >> unit >> more;
    if (time.empty() || !more.empty())
        throw UsageError("--time: expected a shape, a name and a time, for example --time \"" +
                         std::string(time_example) + "\", got '" + shortened(text) + "'");
    try {
        return case_of(shape, name, time_of(time + unit, std::nullopt), source);
    } catch (const UsageError &error) {
        throw UsageError("--time \"" + shortened(text) + "\": " + error.what());
    }
}

std::vector<Case> read_elsewhere(const std::string &csv, const std::string &file) {
    std::vector<Case> cases;
    std::vector<InputProblem> problems;
    std::optional<TimeColumns> columns;
    std::size_t number = 0;
    for (const std::string_view line : lines_of(csv)) {
        const std::string place = file + ":" + std::to_string(++number);
        if (is_comment(line) || problems.size() == 100) // chosen: nobody reads more
            continue;
        or_problem(problems, place, [&] {
            if (!columns) {
                columns = columns_of_header(line, place);
                return;
            }
            const std::vector<std::string> cells = csv_cells(line, ',');
            const std::size_t least = 1 + std::max({columns->shape, columns->name, columns->time});
            if (cells.size() < least)
                throw UsageError("expected at least " + std::to_string(least) + " cells, got " +
                                 std::to_string(cells.size()));
            cases.push_back(case_of(cells[columns->shape], cells[columns->name],
                                    time_of(cells[columns->time], columns->unit), place));
        });
    }
    if (!columns && problems.empty())
        problems.push_back({file, "is empty; expected a header, for example: shape,name,time_us"});
    if (!problems.empty())
        throw InputError(std::move(problems));
    return cases;
}

} // namespace convcast
