#include "reports/figure.hpp"

#include "model/base/errors.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace convcast {
namespace {

constexpr double bp_per_inch = 72.0, tex_points_per_inch = 72.27, mm_per_inch = 25.4;

} // namespace

PaperWidth PaperWidth::column() {
    return {252.0 * bp_per_inch / tex_points_per_inch, "\\columnwidth"};
}

PaperWidth PaperWidth::page() {
    return {516.0 * bp_per_inch / tex_points_per_inch, "\\textwidth"};
}

PaperWidth PaperWidth::parse(const std::string &text) {
    if (text == "column")
        return column();
    if (text == "page")
        return page();
    constexpr std::array<std::pair<std::string_view, double>, 5> units = {
        {{"mm", bp_per_inch / mm_per_inch},
         {"cm", 10.0 * bp_per_inch / mm_per_inch},
         {"in", bp_per_inch},
         {"pt", bp_per_inch / tex_points_per_inch},
         {"bp", 1.0}}};
    const std::string expected = "; expected column, page, or a length of 40 to 400 mm such as 88mm or 252pt";
    double value = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    for (const auto &[name, bp] : units)
        if (error == std::errc{} && unit == name) {
            constexpr double least_mm = 40.0, most_mm = 400.0;
            const double mm = value * bp * mm_per_inch / bp_per_inch;
            if (!(mm >= least_mm && mm <= most_mm))
                throw UsageError("width '" + text + "' is " + fmt::format("{:.4g}", mm) + " mm" + expected);
            return {value * bp, ""};
        }
    throw UsageError("width '" + text + "' has no length with a unit" + expected);
}

} // namespace convcast
