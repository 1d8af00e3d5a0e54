#include "reports/profile_page.hpp"

#include "model/base/described.hpp"
#include "model/base/readable.hpp"
#include "model/regime/rates.hpp"
#include "reports/explained.hpp"
#include "reports/html.hpp"
#include "reports/lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

/// A number of a profile (Param), whatever its unit, as its row shows it.
struct Number {
    std::string name, group, source, by; ///< group: "latency"; source: "measured"; by: the probe and more
    std::string unit{}, value{}, interval{}, spread{}, populations{};
    std::optional<double> interval_width{}; ///< half of it, over the value
    std::optional<double> spread_width{};   ///< from the 5th to the 95th percentile, over the value
    std::optional<std::int64_t> samples{};  ///< behind the value
};

/// The group of the numbers in a part of the profile.
template <class Part> constexpr const char *family = "links";
template <> constexpr const char *family<ArithmeticParams> = "arithmetic";
template <> constexpr const char *family<LatencyParams> = "latency";
template <> constexpr const char *family<BandwidthParams> = "bandwidth";
template <> constexpr const char *family<SharedParams> = "shared memory and granules";
template <> constexpr const char *family<LaunchParams> = "synchronisation and launches";
template <> constexpr const char *family<CapacityParams> = "capacity";

/// The row of a Param, with its unit and all its values in the size of that which suits the value.
template <class Q>
Number number_of(const std::string &name, const std::string &group, const Param<Q> &param) {
    const double value = param.value.value;
    const ReadableUnit in = readable_unit(value, UnitOf<Q>::text);
    const auto part = [&](double v) { return short_number(v / in.size); };
    Number number{name, group, boost::describe::enum_to_string(param.source, "?"), param.by};
    number.unit = with_micro(in.text);
    number.value = part(value);
    if (param.interval) {
        number.interval_width = (param.interval->high - param.interval->low) / 2.0 / value;
        number.interval = part(param.interval->low) + " to " + part(param.interval->high);
    }
    if (param.spread) {
        number.spread_width = (param.spread->p95 - param.spread->p05) / value;
        number.samples = param.spread->n;
        number.spread = part(param.spread->p05) + " to " + part(param.spread->p95);
    }
    std::vector<std::string> populations;
    std::ranges::transform(param.populations, std::back_inserter(populations), part);
    number.populations = join(populations, " and ");
    return number;
}

/// Every number that the profile has, in the order of its parts.
std::vector<Number> numbers_of(const GpuProfile &profile) {
    std::vector<Number> numbers;
    boost::mp11::mp_for_each<boost::describe::describe_bases<GpuProfile, boost::describe::mod_public>>(
        [&](auto base) {
            using Base = typename decltype(base)::type;
            if constexpr (!std::is_same_v<Base, GpuIdentity>)
                boost::mp11::mp_for_each<described::Members<Base>>([&](auto member) {
                    if (const auto &param = profile.*member.pointer)
                        numbers.push_back(number_of(member.name, family<Base>, *param));
                });
        });
    return numbers;
}

std::int64_t measured_of(const std::vector<Number> &numbers) {
    return std::ranges::count(numbers, "measured", &Number::source);
}

/// A recorded text whose numbers people can read: "4.6613e+12 B/s" becomes "4.661 TB/s".
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

/// Makes the page of a profile, which must outlive it.
class ProfilePage {
  public:
    ProfilePage(const GpuProfile &profile, std::vector<Figure> figures)
        : profile_(profile), numbers_(numbers_of(profile)), figures_(std::move(figures)) {}

    Page page() {
        Page page{"convcast: what " + (profile_.name.empty() ? profile_.id : profile_.name) + " can do"};
        page.head = {answer_paragraph(answer(profile_))};
        page.opening = {cards()};
        page.sections = {{"numbers", "numbers", "All numbers", numbers()},
                         checks(),
                         {"missing", "absent", "Absent, and why", missing()},
                         {"curves", "curves", "Curves", curves()}, // behind the numbers, which ask for them
                         {"peers", "other GPUs", "Other GPUs of the host", peers()},
                         conditions(),
                         {"method", "method", "How it was measured", {paragraph(remark("probes"))}}};
        return page;
    }

  private:
    std::vector<Card> cards() const {
        const auto holding = std::ranges::count_if(profile_.checks, &ProfileCheck::passed);
        const Number *widest = nullptr;
        for (const Number &n : numbers_)
            if (n.source == "measured" && n.interval_width &&
                (widest == nullptr || *n.interval_width > *widest->interval_width))
                widest = &n;
        std::vector<Card> cards = {
            {fmt::format("{} of {}", measured_of(numbers_), numbers_.size() + profile_.missing.size()),
             "numbers measured",
             profile_.missing.empty() ? "none is absent"
                                      : fmt::format("{} absent, with the reason", profile_.missing.size())}};
        if (profile_.limits.sm_count > 0)
            cards.push_back({std::to_string(profile_.limits.sm_count), "SMs",
                             "compute capability " + profile_.compute_capability});
        if (const std::optional<double> peak = peak_flop_per_s(profile_))
            cards.push_back({fmt::format("{:.1f}\u00a0TFLOP/s", *peak * 1e-12), "FP32 peak",
                             profile_.ffma_rate ? "all SMs at the measured rate and clock"
                                                : "one FFMA a core and clock"});
        if (!profile_.checks.empty())
            cards.push_back({fmt::format("{} of {}", holding, profile_.checks.size()), "checks hold",
                             "numbers that must agree"});
        if (const Number *n = first_with(numbers_, &Number::name, "dram_read_bandwidth"))
            cards.push_back({n->value + "\u00a0" + n->unit, "read from DRAM", n->name});
        if (widest != nullptr)
            cards.push_back({fmt::format("±{:.1f}\u00a0%", 100.0 * *widest->interval_width),
                             "the widest 95\u00a0% interval", "of " + widest->name});
        return cards;
    }

    Section conditions() const {
        std::vector<Fact> facts = {{"id", profile_.id}, {"compute capability", profile_.compute_capability}};
        boost::mp11::mp_for_each<described::Members<GpuLimits>>([&](auto member) {
            std::string name = member.name;
            const double value = static_cast<double>(profile_.limits.*member.pointer);
            const bool bytes = name.find("bytes") != std::string::npos;
            std::replace(name.begin(), name.end(), '_', ' ');
            facts.push_back({name, bytes ? readable(value, "B") : fmt::format("{:.0f}", value)});
        });
        append(facts, facts_of(profile_.conditions));
        std::vector<std::string> notes;
        std::ranges::transform(profile_.notes, std::back_inserter(notes), readable_text);
        return {"conditions",
                "conditions",
                "Which GPU, and how it was measured",
                {std::move(facts), listed("Notes", notes)}};
    }

    Section checks() const {
        Section section{"checks", "checks", "Checks: numbers that must agree"};
        if (profile_.checks.empty()) {
            section.parts.push_back(paragraph("This profile has none."));
            return section;
        }
        Table table{{{"check"}, {"result"}, {.title = "numbers", .fit = Fit::wrap}}};
        for (const bool passed : {false, true}) // what fails comes first
            for (const ProfileCheck &check : profile_.checks)
                if (check.passed == passed) {
                    table.rows.push_back({check.name, passed ? "holds" : "fails", readable_text(check.text)});
                    table.rows.back()[1].look = passed ? "ok" : "failed";
                }
        section.parts.push_back(Listing{std::move(table)});
        return section;
    }

    std::vector<PagePart> numbers() const {
        std::vector<std::string> groups, sources;
        std::string head, lines;
        for (const std::vector<std::string> &column : explained("Columns of the numbers of a profile"))
            head +=
                fmt::format("<th scope=\"col\" title=\"{}\"{}>{}</th>", escape_xml(column.at(2)),
                            column[1].empty() ? "" : fmt::format(" data-key=\"{}\"", column[1]), column[0]);
        for (const Number &number : numbers_) {
            add_once(groups, number.group);
            add_once(sources, number.source);
            lines += number_line(number, static_cast<std::size_t>(&number - numbers_.data()));
        }
        return {Html{(numbers_.empty() ? "<p>This profile has none.</p>\n" : "") +
                     std::string("<form class=\"scripted filters\">\n<label>filter <input type=\"search\" "
                                 "id=\"filter\" placeholder=\"part of a row\"></label>\n") +
                     checkboxes("about", "group", groups) + checkboxes("source", "source", sources) +
                     "<output id=\"shown\" aria-live=\"polite\"></output></form>\n"
                     "<div class=\"scroll cases\"><table id=\"table\" class=\"of-numbers\"><thead><tr>" +
                     head + "</tr></thead><tbody>\n" + lines + "</tbody></table></div>\n"}};
    }

    /// A row of the table. The script sorts by a cell's data-sort if it has one, else by its text.
    std::string number_line(const Number &number, std::size_t row) const {
        const auto cell = [](std::string text, std::optional<double> width, const char *sign) {
            return fmt::format("<td data-sort=\"{}\">{}{}</td>", width ? fmt::format("{}", *width) : "",
                               text.empty() ? dash : text,
                               width ? fmt::format("<br><small>{}{}</small>", sign, percent_text(*width, 1))
                                     : "");
        };
        return fmt::format(
            "<tr id=\"c{0}\" data-case=\"{0}\" data-group=\"{1}\" data-source=\"{2}\"><th "
            "scope=\"row\">{3}</th>"
            "<td>{4}</td><td "
            "data-sort=\"{6}\">{5}{6}{7}</td>{8}{9}<td>{10}</td><td>{2}</td><td>{11}</td></tr>\n",
            row, number.group, number.source, escape_xml(number.name),
            escape_xml(meaning_of_number(number.name)), number.value,
            number.unit.empty() ? "" : "\u00a0" + number.unit,
            number.populations.empty() ? "" : "<br><small>groups at " + number.populations + "</small>",
            cell(number.interval, number.interval_width, "±"), cell(number.spread, number.spread_width, ""),
            number.samples ? std::to_string(*number.samples) : dash, by_text(number.by));
    }

    /// Where a number is from, as HTML; the name of a probe that has a figure links to it.
    std::string by_text(const std::string &by) const {
        const std::string probe = by.substr(0, by.find(' '));
        if (first_with(figures_, &Figure::id, probe) == nullptr)
            return escape_xml(by);
        return fmt::format("<a href=\"#f-{0}\">{0}</a>{1}", escape_xml(probe),
                           escape_xml(by.substr(probe.size())));
    }

    /// The fields that the profile lacks, together where they have the same reason.
    std::vector<PagePart> missing() const {
        using Reason =
            std::pair<std::string, std::vector<std::string>>; // and the fields that are absent for it
        std::vector<Reason> reasons;
        for (const auto &[field, why] : profile_.missing) {
            Reason *known = first_with(reasons, &Reason::first, why);
            Reason &its = known != nullptr ? *known : reasons.emplace_back(why, std::vector<std::string>());
            its.second.push_back(field);
        }
        std::string out;
        for (const auto &[why, fields] : reasons)
            out += fmt::format("<dt><code>{}</code></dt><dd>{}</dd>\n", escape_xml(join(fields)),
                               escape_xml(why));
        return out.empty() ? std::vector<PagePart>()
                           : std::vector<PagePart>{Html{"<dl>\n" + out + "</dl>\n"}};
    }

    /// The curves, each group below its heading. Moves out the figures.
    std::vector<PagePart> curves() {
        std::vector<PagePart> parts;
        std::string part;
        for (Figure &figure : figures_) {
            if (std::exchange(part, figure.part) != figure.part) {
                parts.push_back(Html{fmt::format("<h3 class=\"group\">{}</h3>\n", figure.part)});
                parts.push_back(beside("maps", {}));
            }
            std::get<Group>(parts.back()).parts.push_back(Drawing{std::move(figure), SvgUse::in_column});
        }
        return parts;
    }

    /// Adds a table of one number of each link, from a GPU (row) to a GPU (column), if any link has it.
    template <class Q>
    void matrix(std::vector<PagePart> &parts, const std::string &title, const std::set<int> &gpus,
                std::optional<Q> PeerLink::*quantity) const {
        double largest = 0.0;
        for (const PeerLink &link : profile_.peers)
            if (link.*quantity)
                largest = std::max(largest, (link.*quantity)->value);
        if (largest == 0.0)
            return;
        const ReadableUnit unit = readable_unit(largest, UnitOf<Q>::text);
        Table table{{{"from \\ to"}}};
        for (const int to : gpus)
            table.columns.push_back({std::to_string(to), As::number});
        for (const int from : gpus) {
            std::vector<Cell> &row = table.rows.emplace_back();
            row.push_back(std::to_string(from));
            for (const int to : gpus) {
                const PeerLink *link = first_where(profile_.peers, [&](const PeerLink &its) {
                    return its.from == from && its.to == to && its.*quantity;
                });
                row.push_back(link == nullptr ? Cell()
                                              : Cell(short_number((link->*quantity)->value / unit.size) +
                                                     (link->direct ? "" : "*")));
            }
        }
        parts.push_back(Listing{std::move(table), "", title + ", " + with_micro(unit.text)});
    }

    /// Tables of the links between the host's GPUs; nothing of a profile without links.
    std::vector<PagePart> peers() const {
        std::vector<PagePart> parts;
        std::set<int> gpus;
        bool detour = false;
        for (const PeerLink &link : profile_.peers) {
            gpus.insert({link.from, link.to});
            detour = detour || !link.direct;
        }
        matrix(parts, "One way, nothing else running", gpus, &PeerLink::bandwidth_bytes_per_s);
        matrix(parts, "Both ways at once, sum", gpus, &PeerLink::both_ways_bytes_per_s);
        matrix(parts, "One dependent load", gpus, &PeerLink::latency_s);
        if (detour)
            parts.push_back(small_print("*: no peer access, by way of the host."));
        return parts;
    }

    const GpuProfile &profile_;
    std::vector<Number> numbers_;
    std::vector<Figure> figures_;
};

} // namespace

std::string answer(const GpuProfile &profile) {
    const std::vector<Number> numbers = numbers_of(profile);
    const std::int64_t measured = measured_of(numbers);
    const auto failed = std::ranges::count(profile.checks, false, &ProfileCheck::passed);
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

PageReport report_on(const GpuProfile &profile) {
    return {
        profile.name.empty() ? profile.id : profile.name, profile_figures(profile),
        [&profile](std::vector<Figure> figures) { return ProfilePage(profile, std::move(figures)).page(); }};
}

} // namespace convcast
