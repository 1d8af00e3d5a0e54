#include "reports/profile_page.hpp"

#include "model/base/described.hpp"
#include "model/base/embedded.hpp"
#include "model/base/readable.hpp"
#include "model/regime/rates.hpp"
#include "reports/html.hpp"
#include "reports/profile_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace convcast {
extern const std::vector<EmbeddedFile> page_files;

namespace {

/// One Param, whatever its unit, with what the table's script needs. `id` is its row.
struct NumberRow {
    std::int64_t id = 0;
    std::string name, group, status; ///< the script's names of family and source
    std::string unit, by;
    double value = 0.0;
    std::optional<double> interval;      ///< half of its width over the value
    std::optional<double> spread;        ///< from the 5th to the 95th percentile, over the value
    std::optional<std::int64_t> samples; ///< behind the value
    std::string text;                    ///< shown when the row lights up
    BOOST_DESCRIBE_CLASS(NumberRow, (),
                         (id, name, group, status, unit, by, value, interval, spread, samples, text), (), ())
};

/// What the row shows beside it.
struct NumberCells {
    std::string value, unit, interval, spread, groups;
};

struct Number {
    NumberRow row;
    NumberCells cells;
};

std::string with_micro(const std::string &unit) {
    return unit == "us" ? "µs" : unit;
}

template <class Base> std::string family() {
    if constexpr (std::is_same_v<Base, ArithmeticParams>)
        return "arithmetic";
    else if constexpr (std::is_same_v<Base, LatencyParams>)
        return "latency";
    else if constexpr (std::is_same_v<Base, BandwidthParams>)
        return "bandwidth";
    else if constexpr (std::is_same_v<Base, SharedParams>)
        return "shared memory and granules";
    else if constexpr (std::is_same_v<Base, LaunchParams>)
        return "synchronisation and launches";
    else if constexpr (std::is_same_v<Base, CapacityParams>)
        return "capacity";
    else
        return "links";
}

template <class Q>
Number number_of(const std::string &name, const std::string &group, const Param<Q> &param) {
    const char *unit = UnitOf<Q>::text;
    const double value = param.value.value;
    const ReadableUnit in = readable_unit(value, unit);
    const auto part = [&](double v) { return short_number(v / in.size); };
    Number number;
    NumberRow &row = number.row;
    NumberCells &cells = number.cells;
    row.name = name;
    row.group = group;
    row.status = boost::describe::enum_to_string(param.source, "?");
    row.by = param.by;
    row.value = value;
    cells.value = part(value);
    row.unit = cells.unit = with_micro(in.text);
    if (param.interval) {
        row.interval = (param.interval->high - param.interval->low) / 2.0 / value;
        cells.interval = part(param.interval->low) + " to " + part(param.interval->high);
    }
    if (param.spread) {
        row.spread = (param.spread->p95 - param.spread->p05) / value;
        row.samples = param.spread->n;
        cells.spread = part(param.spread->p05) + " to " + part(param.spread->p95);
    }
    for (const double population : param.populations)
        cells.groups += (cells.groups.empty() ? "" : " and ") + part(population);
    row.text = name + ": " + cells.value + (cells.unit.empty() ? "" : " " + cells.unit) +
               (cells.interval.empty()             ? ""
                : param.source == Source::measured ? ", 95 % interval " + cells.interval
                                                   : ", range " + cells.interval) +
               ", " + param.by;
    return number;
}

std::vector<Number> numbers_of(const GpuProfile &profile) {
    std::vector<Number> numbers;
    boost::mp11::mp_for_each<boost::describe::describe_bases<GpuProfile, boost::describe::mod_public>>(
        [&](auto base) {
            using Base = typename decltype(base)::type;
            if constexpr (!std::is_same_v<Base, GpuIdentity>)
                boost::mp11::mp_for_each<described::Members<Base>>([&](auto member) {
                    if (const auto &param = profile.*member.pointer) {
                        numbers.push_back(number_of(member.name, family<Base>(), *param));
                        numbers.back().row.id = static_cast<std::int64_t>(numbers.size()) - 1;
                    }
                });
        });
    return numbers;
}

/// The third column of the row of docs/profile.md that is about `field`; without the marks of code.
std::string meaning(const std::string &field) {
    const std::string &page = find_embedded(page_files, "profile.md")->text;
    std::size_t at = page.find("\n| `" + field + "` | ");
    for (int bar = 0; bar < 3 && at != std::string::npos; ++bar)
        at = page.find('|', at + 1);
    if (at == std::string::npos)
        return "";
    std::string text = page.substr(at + 2, page.find(" |", at + 2) - at - 2);
    std::erase(text, '`');
    return text;
}

/// A recorded text with its numbers for people: "4.6613e+12 B/s" is "4.661 TB/s".
std::string readable_text(const std::string &recorded) {
    static const std::regex pair("([0-9.]+e[+-][0-9]+) and ([0-9.]+e[+-][0-9]+) ([A-Za-z]+(/[a-z]+)?)");
    static const std::regex number("([0-9.]+e[+-][0-9]+) ([A-Za-z]+(/[a-z]+)?)");
    const std::string text = std::regex_replace(recorded, pair, "$1 $3 and $2 $3");
    std::string out;
    auto rest = text.begin();
    for (std::sregex_iterator found(text.begin(), text.end(), number), end; found != end; ++found) {
        out.append(rest, (*found)[0].first);
        const double value = std::stod((*found)[1]);
        const bool flops = (*found)[2] == "FLOP/s"; // has the prefixes of hertz
        ReadableUnit unit = readable_unit(value, flops ? "Hz" : (*found)[2].str());
        if (flops)
            unit.text.replace(unit.text.find("Hz"), 2, "FLOP/s");
        out += short_number(value / unit.size) + "\u00a0" + with_micro(unit.text);
        rest = (*found)[0].second;
    }
    return out.append(rest, text.end());
}

struct Column {
    const char *name, *key, *meaning;
};

constexpr std::array<Column, 8> columns = {{
    {"number", "name", "the field of the profile"},
    {"what it is", "", "docs/profile.md says more: how it is measured and what uses it"},
    {"value", "unit",
     "the median of the samples, of the best configuration where there are several; clk: clocks of an SM; "
     "sorts by unit"},
    {"95 % interval", "interval",
     "bootstrap interval of the median: where that of as many new samples would lie; sorts by its width over "
     "the value"},
    {"5th to 95th percentile", "spread", "of the samples; sorts by its width over the value"},
    {"samples", "samples", "how many"},
    {"source", "status", "measured: by a probe here; driver, spec, published, assumed: who says so"},
    {"by", "by", "the probe with its knobs, or the citation; the link leads to its curve"},
}};

class ProfilePageWriter : HtmlWriter {
  public:
    explicit ProfilePageWriter(const GpuProfile &profile)
        : profile_(profile), numbers_(numbers_of(profile)), figures_(profile_figures(profile)) {}

    std::string write() {
        open("convcast: what " + (profile_.name.empty() ? profile_.id : profile_.name) + " can do");
        add("<p class=\"answer\">{}</p>\n", escape_xml(answer(profile_)));
        std::vector<std::pair<std::string, std::string>> parts = {{"numbers", "numbers"},
                                                                  {"checks", "checks"}};
        if (!profile_.missing.empty())
            parts.emplace_back("missing", "absent");
        if (!figures_.empty())
            parts.emplace_back("curves", "curves");
        if (!profile_.peers.empty())
            parts.emplace_back("peers", "other GPUs");
        parts.insert(parts.end(), {{"conditions", "conditions"}, {"method", "method"}});
        nav(parts);
        out_ += "</header>\n<main>\n";
        tiles();
        numbers();
        checks();
        missing();
        curves();
        peers();
        conditions();
        method();
        JsonArray rows;
        for (const Number &number : numbers_)
            rows.push_back(described::write(number.row));
        return close(rows);
    }

  private:
    void tiles() {
        const auto measured = std::count_if(numbers_.begin(), numbers_.end(),
                                            [](const Number &n) { return n.row.status == "measured"; });
        const auto holding = std::count_if(profile_.checks.begin(), profile_.checks.end(),
                                           [](const ProfileCheck &check) { return check.passed; });
        const Number *widest = nullptr;
        for (const Number &n : numbers_)
            if (n.row.status == "measured" && n.row.interval &&
                (widest == nullptr || *n.row.interval > *widest->row.interval))
                widest = &n;
        open_tiles();
        tile(fmt::format("{} of {}", measured, numbers_.size() + profile_.missing.size()), "numbers measured",
             profile_.missing.empty() ? "none is absent"
                                      : fmt::format("{} absent, with the reason", profile_.missing.size()));
        if (profile_.limits.sm_count > 0)
            tile(std::to_string(profile_.limits.sm_count), "SMs",
                 "compute capability " + profile_.compute_capability);
        if (const std::optional<double> peak = peak_flop_per_s(profile_))
            tile(fmt::format("{:.1f}\u00a0TFLOP/s", *peak * 1e-12), "FP32 peak",
                 profile_.ffma_rate ? "all SMs at the measured rate and clock" : "one FFMA a core and clock");
        if (!profile_.checks.empty())
            tile(fmt::format("{} of {}", holding, profile_.checks.size()), "checks hold",
                 "numbers that must agree");
        for (const Number &n : numbers_)
            if (n.row.name == "dram_read_bandwidth")
                tile(n.cells.value + "\u00a0" + n.cells.unit, "read from DRAM", n.row.name);
        if (widest != nullptr)
            tile(fmt::format("±{:.1f}\u00a0%", 100.0 * *widest->row.interval),
                 "the widest 95\u00a0% interval", "of " + widest->row.name);
        close_tiles();
    }

    void conditions() {
        out_ +=
            "<section id=\"conditions\"><h2>Which GPU, and how it was measured</h2>\n<dl class=\"facts\">\n";
        fact("id", profile_.id);
        fact("compute capability", profile_.compute_capability);
        boost::mp11::mp_for_each<described::Members<GpuLimits>>([&](auto member) {
            std::string name = member.name;
            const double value = static_cast<double>(profile_.limits.*member.pointer);
            const bool bytes = name.find("bytes") != std::string::npos;
            std::replace(name.begin(), name.end(), '_', ' ');
            fact(name, bytes ? readable(value, "B") : fmt::format("{:.0f}", value));
        });
        for (const auto &[name, value] : profile_.conditions)
            fact(name, value);
        out_ += "</dl>\n";
        if (!profile_.notes.empty()) {
            out_ += "<h3>Notes</h3>\n<ul>\n";
            for (const std::string &note : profile_.notes)
                add("<li>{}</li>\n", escape_xml(readable_text(note)));
            out_ += "</ul>\n";
        }
        out_ += "</section>\n";
    }

    void checks() {
        out_ += "<section id=\"checks\"><h2>Checks: numbers that must agree</h2>\n";
        if (profile_.checks.empty()) {
            out_ += "<p>This profile has none.</p></section>\n";
            return;
        }
        head(3, {"check", "result", "numbers"});
        for (const bool passed : {false, true}) // what fails comes first
            for (const ProfileCheck &check : profile_.checks)
                if (check.passed == passed)
                    add("<tr><th scope=\"row\">{}</th><td class=\"{}\">{}</td><td>{}</td></tr>\n",
                        escape_xml(check.name), passed ? "ok" : "failed", passed ? "holds" : "fails",
                        escape_xml(readable_text(check.text)));
        tail();
        out_ += "</section>\n";
    }

    void numbers() {
        out_ += "<section id=\"numbers\"><h2>All numbers</h2>\n";
        if (numbers_.empty()) {
            out_ += "<p>This profile has none.</p>\n";
        }
        out_ += "<form class=\"scripted filters\">\n"
                "<label>filter <input type=\"search\" id=\"filter\" placeholder=\"part of a row\"></label>\n";
        std::vector<std::string> groups, sources;
        const auto note = [](std::vector<std::string> &seen, const std::string &value) {
            if (std::find(seen.begin(), seen.end(), value) == seen.end())
                seen.push_back(value);
        };
        for (const Number &number : numbers_) {
            note(groups, number.row.group);
            note(sources, number.row.status);
        }
        checkboxes("about", "group", groups);
        checkboxes("source", "status", sources);
        out_ += "<output id=\"shown\" aria-live=\"polite\"></output></form>\n"
                "<div class=\"scroll cases\"><table id=\"table\" class=\"of-numbers\" "
                "data-rows=\"numbers\"><thead><tr>";
        for (const Column &column : columns)
            add("<th scope=\"col\" title=\"{}\"{}>{}</th>", escape_xml(column.meaning),
                *column.key == '\0' ? "" : fmt::format(" data-key=\"{}\"", column.key), column.name);
        out_ += "</tr></thead><tbody>\n";
        for (const Number &number : numbers_)
            number_line(number);
        tail();
        out_ += "</section>\n";
    }

    void number_line(const Number &number) {
        const NumberRow &row = number.row;
        const NumberCells &cells = number.cells;
        const auto or_dash = [](const std::string &text) { return text.empty() ? std::string(dash) : text; };
        const auto share = [](std::optional<double> value, const char *sign) {
            return value ? fmt::format("<br><small>{}{:.1f}\u00a0%</small>", sign, 100.0 * *value) : "";
        };
        add("<tr id=\"c{0}\" data-case=\"{0}\"><th scope=\"row\">{1}</th><td>{2}</td><td>{3}{4}{5}</td>",
            row.id, escape_xml(row.name), escape_xml(meaning(row.name)), cells.value,
            cells.unit.empty() ? "" : "\u00a0" + cells.unit,
            cells.groups.empty() ? "" : "<br><small>groups at " + cells.groups + "</small>");
        add("<td>{}{}</td><td>{}{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", or_dash(cells.interval),
            share(row.interval, "±"), or_dash(cells.spread), share(row.spread, ""),
            row.samples ? std::to_string(*row.samples) : dash, row.status, by_text(row.by));
    }

    /// The probe leads to its figure.
    std::string by_text(const std::string &by) const {
        const std::string probe = by.substr(0, by.find(' '));
        const bool drawn =
            std::any_of(figures_.begin(), figures_.end(), [&](const Figure &f) { return f.id == probe; });
        if (!drawn)
            return escape_xml(by);
        return "<a href=\"#f-" + escape_xml(probe) + "\">" + escape_xml(probe) + "</a>" +
               escape_xml(by.substr(probe.size()));
    }

    void missing() {
        if (profile_.missing.empty())
            return;
        out_ += "<section id=\"missing\"><h2>Absent, and why</h2>\n<dl>\n";
        std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
        for (const auto &[field, why] : profile_.missing) {
            auto same = std::find_if(reasons.begin(), reasons.end(),
                                     [&reason = why](const auto &entry) { return entry.first == reason; });
            if (same == reasons.end())
                same = reasons.insert(reasons.end(), {why, {}});
            same->second.push_back(field);
        }
        for (const auto &[why, fields] : reasons)
            add("<dt><code>{}</code></dt><dd>{}</dd>\n", escape_xml(join(fields)), escape_xml(why));
        out_ += "</dl></section>\n";
    }

    void curves() {
        if (figures_.empty())
            return;
        out_ += "<section id=\"curves\"><h2>Curves</h2>\n";
        std::vector<std::string> groups = figure_groups();
        groups.emplace_back(); // those of no group
        for (const std::string &group : groups) {
            bool any = false;
            for (const Figure &f : figures_) {
                if (figure_group(f.id) != group)
                    continue;
                if (!any)
                    add("<h3 class=\"group\">{}</h3>\n<div class=\"maps\">", group.empty() ? "More" : group);
                any = true;
                figure(f, SvgUse::in_column);
            }
            if (any)
                out_ += "</div>\n";
        }
        out_ += "</section>\n";
    }

    template <class Q>
    void matrix(const char *title, const std::set<int> &gpus, std::optional<Q> PeerLink::*quantity) {
        double largest = 0.0;
        for (const PeerLink &link : profile_.peers)
            if (link.*quantity)
                largest = std::max(largest, (link.*quantity)->value);
        if (largest == 0.0)
            return;
        const ReadableUnit unit = readable_unit(largest, UnitOf<Q>::text);
        add("<h3>{}, {}</h3>\n", title, with_micro(unit.text));
        std::vector<std::string> names = {"from \\ to"};
        for (const int gpu : gpus)
            names.push_back(std::to_string(gpu));
        head(1, names);
        for (const int from : gpus) {
            std::vector<std::string> cells = {std::to_string(from)};
            for (const int to : gpus) {
                const auto link =
                    std::find_if(profile_.peers.begin(), profile_.peers.end(), [&](const PeerLink &l) {
                        return l.from == from && l.to == to && l.*quantity;
                    });
                cells.push_back(link == profile_.peers.end()
                                    ? std::string(dash)
                                    : short_number(((*link).*quantity)->value / unit.size) +
                                          (link->direct ? "" : "*"));
            }
            line(cells);
        }
        tail();
    }

    void peers() {
        if (profile_.peers.empty())
            return;
        out_ += "<section id=\"peers\"><h2>Other GPUs of the host</h2>\n";
        std::set<int> gpus;
        bool detour = false;
        for (const PeerLink &link : profile_.peers) {
            gpus.insert({link.from, link.to});
            detour = detour || !link.direct;
        }
        matrix("One way, nothing else running", gpus, &PeerLink::bandwidth_bytes_per_s);
        matrix("Both ways at once, sum", gpus, &PeerLink::both_ways_bytes_per_s);
        matrix("One dependent load", gpus, &PeerLink::latency_s);
        if (detour)
            out_ += "<p class=\"small\">*: no peer access, by way of the host.</p>\n";
        out_ += "</section>\n";
    }

    void method() {
        out_ += "<section id=\"method\"><h2>How it was measured</h2>\n"
                "<p>Each number comes from a probe, a kernel that does one thing and proves that it did it. "
                "A value is the "
                "median of the samples; of several configurations the best one counts, and they are never "
                "mixed. Where "
                "the samples fall into separate groups, both are shown. The interval says where the median "
                "of as many new "
                "samples would lie, by bootstrap: two values whose intervals overlap cannot be told apart by "
                "these samples. No "
                "setting of the GPU "
                "was changed. What could not be measured is absent, with the reason.</p></section>\n";
    }

    const GpuProfile &profile_;
    std::vector<Number> numbers_;
    std::vector<Figure> figures_;
};

} // namespace

std::string answer(const GpuProfile &profile) {
    const std::vector<Number> numbers = numbers_of(profile);
    const auto measured = std::count_if(numbers.begin(), numbers.end(),
                                        [](const Number &n) { return n.row.status == "measured"; });
    const auto failed = std::count_if(profile.checks.begin(), profile.checks.end(),
                                      [](const ProfileCheck &check) { return !check.passed; });
    std::string text = count(std::ssize(numbers), "number", "numbers") + ", " +
                       (measured == std::ssize(numbers) ? "all" : std::to_string(measured) + " of them") +
                       " measured";
    if (measured == 0)
        text = count(std::ssize(numbers), "number", "numbers") + ", none of them measured";
    if (const auto date = profile.conditions.find("date"); date != profile.conditions.end())
        text += " on " + date->second.substr(0, 10);
    text += "; " + (profile.missing.empty() ? "none is" : count(std::ssize(profile.missing), "is", "are")) +
            " absent. ";
    if (profile.checks.empty())
        return text + "No check was made.";
    const auto all = std::ssize(profile.checks);
    if (failed == 0)
        return text + (all == 1 ? "Its check holds." : fmt::format("All {} checks hold.", all));
    text += fmt::format("{} of {} fails:", failed, count(all, "check", "checks"));
    for (const ProfileCheck &check : profile.checks)
        if (!check.passed)
            text += " " + check.name + ".";
    return text;
}

std::string write_profile_page(const GpuProfile &profile) {
    return ProfilePageWriter(profile).write();
}

} // namespace convcast
