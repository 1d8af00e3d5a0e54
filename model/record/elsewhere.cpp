#include "model/record/elsewhere.hpp"

#include "model/base/errors.hpp"
#include "model/base/readable.hpp"
#include "model/shape/conv_shape.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr const char *time_example = "n1c64h56w56k64r3s3 cudnn_v7 12.3us";
constexpr std::array<std::pair<std::string_view, double>, 4> time_units = {
    {{"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"s", 1.0}}};
constexpr double longest_time = 1e6; // seconds

std::optional<double> positive_number(std::string_view text) {
    double value = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !(value > 0.0))
        return std::nullopt;
    return value;
}

/// "12.3us" in seconds; of a text without a unit, in `unit` seconds.
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
    const std::optional<double> value = positive_number(number);
    if (!value || !unit || *value * *unit > longest_time)
        throw UsageError(
            "expected a time above zero with a unit of s, ms, us or ns, for example 12.3us, got '" +
            shortened(text) + "'");
    return Seconds(*value * *unit);
}

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

/// Cells of a line of CSV; quotes may hold commas, and two quotes in them are one.
std::vector<std::string> csv_cells(std::string_view line) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
            cells.back() += line[++i];
        else if (line[i] == '"')
            quoted = !quoted;
        else if (line[i] == ',' && !quoted)
            cells.emplace_back();
        else if (line[i] != '\r')
            cells.back() += line[i];
    }
    for (std::string &cell : cells) {
        const std::size_t begin = cell.find_first_not_of(" \t"), end = cell.find_last_not_of(" \t");
        cell = begin == std::string::npos ? "" : cell.substr(begin, end - begin + 1);
    }
    return cells;
}

struct TimeColumns {
    std::size_t shape = 0, name = 0, time = 0;
    std::optional<double> unit; ///< absent: each time has its own
};

TimeColumns columns_of_header(const std::vector<std::string> &header, const std::string &place) {
    TimeColumns found;
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
    std::size_t number = 0, most = 0;
    for (std::size_t at = 0; at < csv.size() && problems.size() < 100;) {
        const std::size_t end = std::min(csv.find('\n', at), csv.size());
        const std::string_view line = std::string_view(csv).substr(at, end - at);
        at = end + 1;
        ++number;
        const std::vector<std::string> cells = csv_cells(line);
        if (line.starts_with('#') || (cells.size() == 1 && cells.front().empty()))
            continue;
        const std::string place = file + ":" + std::to_string(number);
        if (!columns) {
            columns = columns_of_header(cells, place);
            most = std::max({columns->shape, columns->name, columns->time});
            continue;
        }
        if (cells.size() <= most) {
            problems.push_back({place, "expected at least " + std::to_string(most + 1) + " cells, got " +
                                           std::to_string(cells.size())});
            continue;
        }
        try {
            cases.push_back(case_of(cells[columns->shape], cells[columns->name],
                                    time_of(cells[columns->time], columns->unit), place));
        } catch (const UsageError &error) {
            problems.push_back({place, error.what()});
        }
    }
    if (!columns)
        problems.push_back({file, "is empty; expected a header, for example: shape,name,time_us"});
    if (!problems.empty())
        throw InputError(std::move(problems));
    return cases;
}

} // namespace convcast
