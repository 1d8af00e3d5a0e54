#include "reports/papers/computations.hpp"

#include "model/base/errors.hpp"
#include "reports/html.hpp"
#include "reports/papers/ladder_answers.hpp"
#include "reports/report_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

const std::map<std::string, Computation> &all_computations() {
    static const std::map<std::string, Computation> all = [] {
        std::map<std::string, Computation> out = {{"gains", {gains, true}},
                                                  {"own_settings", {own_settings, true, 1}}};
        for (const auto &some : {chang_computations(), chang_setting_computations(), chen_computations(),
                                 chen_setting_computations(), network_computations(), ladder_computations()})
            out.insert(some.begin(), some.end());
        return out;
    }();
    return all;
}

/// Throws InputError unless the item has what the computation counts on.
void check_needs(const PaperItem &item, const std::string &name, const Computation &computation) {
    const std::string place = "item " + item.id, its = " \"" + name + "\"";
    std::vector<InputProblem> problems;
    if (computation.study && !item.answer.study)
        problems.push_back({place + ": /answer/study", "expected a study for" + its});
    if (item.answer.settings.size() < computation.settings)
        problems.push_back({place + ": /answer/settings",
                            fmt::format("expected {} settings for{}", computation.settings, its)});
    for (const std::string &cell : computation.cells)
        if (cell_of(item, cell) == nullptr)
            problems.push_back({place + ": /published", "expected a cell of \"" + cell + "\" for" + its});
    if (!problems.empty())
        throw InputError(std::move(problems));
}

using RunComputation = ItemAnswer (*)(const PaperItem &, const PaperContext &);

/// The computation of this name, which a field of the item's answer asks for. Throws InputError.
RunComputation computation_of(const PaperItem &item, const std::string &field, const std::string &name) {
    const auto found = all_computations().find(name);
    if (found == all_computations().end())
        throw InputError("item " + item.id + ": /answer/" + field,
                         "expected a computation, for example \"gains\", found \"" + shortened(name) + "\"" +
                             did_you_mean(name, computations()));
    check_needs(item, name, found->second);
    return found->second.run;
}

void append(ItemAnswer &to, ItemAnswer from) {
    const auto move_all = [](auto &into, auto &out) {
        into.insert(into.end(), std::make_move_iterator(out.begin()), std::make_move_iterator(out.end()));
    };
    move_all(to.tables, from.tables);
    move_all(to.figures, from.figures);
    move_all(to.findings, from.findings);
}

} // namespace

std::vector<std::string> computations() {
    std::vector<std::string> names;
    for (const auto &[name, computation] : all_computations())
        names.push_back(name);
    return names;
}

ItemAnswer compute(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    if (item.answer.kind == AnswerKind::computed) {
        answer = computation_of(item, "by", *item.answer.by)(item, context);
        for (std::size_t i = 0; i < item.answer.also.size(); ++i)
            append(answer,
                   computation_of(item, "also/" + std::to_string(i), item.answer.also[i])(item, context));
    }
    for (PaperDrawing &drawing : drawings_of(item, context))
        answer.drawings.push_back(std::move(drawing));
    return answer;
}

const PublishedCell *cell_of(const PaperItem &item, const std::string &of, const std::string &at) {
    for (const PublishedCell &cell : item.published)
        if (cell.of == of && (at.empty() || cell.at == at))
            return &cell;
    return nullptr;
}

std::string factor_text(std::optional<double> ratio) {
    return ratio ? times(*ratio) : dash;
}

std::string micro_text(std::optional<Seconds> time) {
    return time ? microseconds(*time) : dash;
}

std::string count_text(std::int64_t n) {
    return grouped_digits(static_cast<double>(n));
}

std::string of_shapes(std::size_t n, std::size_t all) {
    return fmt::format("{} of {} shapes", n, all);
}

ClaimAnswer exact(const PaperItem &item, const PublishedCell &cell, double found, const std::string &where) {
    // Printed numbers are rounded to their last digit.
    const std::string digits = fmt::format("{}", cell.value);
    const std::size_t point = digits.find('.');
    const int decimals = point == std::string::npos ? 0 : static_cast<int>(digits.size() - point - 1);
    PublishedCell ours = cell;
    ours.value = std::stod(fmt::format("{:.{}f}", found, decimals));
    // A large number that ends in zeros was rounded there: 4290.
    double step = std::pow(10.0, -decimals);
    while (cell.value >= 1000.0 && decimals == 0 && std::fmod(cell.value, 10.0 * step) == 0.0)
        step *= 10.0;
    const bool same = std::abs(found - cell.value) <= 0.5 * step * (1.0 + 1e-9);
    return {item.id,
            cell.of + ", " + cell.at,
            printed(cell),
            printed(ours),
            same ? ClaimVerdict::follows : ClaimVerdict::differs,
            same ? "The same follows from " + where + "."
                 : fmt::format("From {} follows {}, {} {} than printed.", where, printed(ours),
                               fmt::format("{:.0f} %", 100.0 * std::abs(found / cell.value - 1.0)),
                               found > cell.value ? "more" : "less")};
}

std::optional<Seconds> fastest_of(const StudyResults &results, const std::string &shape,
                                  const std::string &group) {
    const CaseRow *best = fastest_row_of(results, shape, group);
    return best == nullptr ? std::nullopt : best->cold_s;
}

const CaseRow *fastest_row_of(const StudyResults &results, const std::string &shape,
                              const std::string &group) {
    const CaseRow *best = nullptr;
    for (const CaseRow &row : results.statistics.cases)
        if (row.shape == shape && row.group == group && row.cold_s &&
            (best == nullptr || *row.cold_s < *best->cold_s))
            best = &row;
    return best;
}

ClaimAnswer not_measured(const PaperItem &item, const std::string &claim, const std::string &published,
                         const PaperContext &context) {
    return {item.id,
            claim,
            published,
            dash,
            ClaimVerdict::open,
            "Nothing was measured on " + short_name(context.ours().profile) + "."};
}

std::string title_of(const PaperItem &item) {
    const std::string kind = boost::describe::enum_to_string(item.kind, "?");
    // "Abstract", "Appendix A", "Section 6" stand by themselves.
    const bool by_itself = !item.number.empty() && item.number.front() >= 'A' && item.number.front() <= 'Z';
    if (by_itself)
        return item.number;
    if (item.kind == PaperPart::rule)
        return "Section " + item.number;
    const bool several = item.number.find(" to ") != std::string::npos ||
                         item.number.find("), (") != std::string::npos ||
                         (item.kind == PaperPart::figure && item.number.find(", ") != std::string::npos);
    return static_cast<char>(kind.front() - 'a' + 'A') + kind.substr(1) + (several ? "s " : " ") +
           item.number;
}

namespace {

std::string condition_of(const StudyResults &results, const char *key) {
    const auto found = results.run.conditions.find(key);
    return found == results.run.conditions.end() ? std::string(dash) : found->second;
}

/// Where and when the first study was measured, and when its settings, if that was another day.
std::string measured_text(const Paper &paper, const PaperContext &context) {
    for (const PaperItem &item : paper.items) {
        const StudyResults *results = item.answer.study ? context.measured(*item.answer.study) : nullptr;
        if (results == nullptr)
            continue;
        const std::string day = condition_of(*results, "date").substr(0, 10);
        std::string text = fmt::format("{}, {}, cuDNN {}, convcast {}", condition_of(*results, "gpu"), day,
                                       condition_of(*results, "cudnn"), results->run.producer.version);
        if (const StudyResults *settings = context.measured_settings(*item.answer.study))
            if (const std::string its = condition_of(*settings, "date").substr(0, 10); its != day)
                text += "; the paper's own settings " + its;
        return text;
    }
    return "";
}

/// The same claim with the same evidence in a later item is counted once.
void count_once(Reproduction &reproduction) {
    std::map<std::string, std::string> first; // claim and evidence -> title of the item
    for (std::size_t i = 0; i < reproduction.answers.size(); ++i)
        for (ClaimAnswer &f : reproduction.answers[i].findings) {
            if (f.verdict == ClaimVerdict::open)
                continue;
            const auto [at, fresh] = first.emplace(f.claim + "\n" + f.published + "\n" + f.sentence,
                                                   title_of(reproduction.paper.items[i]));
            if (!fresh)
                f.counted = at->second;
        }
}

/// Ladders, trainings and steps over two GPUs are measured by `convcast run`, not by the studies of a paper.
std::string not_measured_text(const Paper &paper, const PaperContext &context) {
    std::vector<std::string> networks;
    for (const PaperItem &item : paper.items)
        if (const std::optional<std::string> &network = item.answer.network;
            network && std::find(networks.begin(), networks.end(), *network) == networks.end() &&
            !recorded_ladder(*network, batch_of_paper(*network), context.ours().profile))
            networks.push_back(*network);
    if (networks.empty())
        return "";
    return fmt::format(
        "The ladder of {}, its training and its steps over several GPUs were not measured on {}, "
        "so what the paper says of them is answered by forecasts or left open.",
        join(networks), short_name(context.ours().profile));
}

} // namespace

Reproduction reproduce(const Paper &paper, const PaperContext &context) {
    Reproduction out;
    out.paper = paper;
    out.paper_gpu = context.papers().profile.name;
    out.our_gpu = context.ours().profile.name;
    out.no_time = context.no_time();
    for (const PaperItem &item : paper.items)
        out.answers.push_back(compute(item, context));
    count_once(out);
    out.measured = measured_text(paper, context);
    for (const PaperItem &item : paper.items)
        if (item.answer.network && out.measured.empty())
            if (const auto run = recorded_ladder(*item.answer.network, batch_of_paper(*item.answer.network),
                                                 context.ours().profile))
                out.measured = fmt::format("{}, {}, the ladder of {}", run->conditions.at("gpu"),
                                           run->conditions.at("date").substr(0, 10), run->network);
    out.not_measured = not_measured_text(paper, context);
    const Case sample = context.papers().forecast("naive_global", "n1c64h56w56k64r3s3");
    if (sample.prediction)
        out.assumptions = sample.prediction->assumptions;
    return out;
}

} // namespace convcast
