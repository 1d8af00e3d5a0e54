#include "reports/papers/computations.hpp"

#include "model/base/errors.hpp"
#include "model/base/text.hpp"
#include "model/shape/conv_shape.hpp"
#include "reports/explained.hpp"
#include "reports/html.hpp"
#include "reports/partition_diagram.hpp"
#include "reports/report_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

struct Named {
    std::string field, name; ///< "by", "also/0"
};

std::vector<Named> methods_of(const PaperAnswer &answer) {
    std::vector<Named> names;
    if (answer.by)
        names.push_back({"by", *answer.by});
    for (std::size_t i = 0; i < answer.also.size(); ++i)
        names.push_back({"also/" + std::to_string(i), answer.also[i]});
    return names;
}

/// A method with the times, values and lists of the item that it is asked for.
PaperMethod with_items(PaperMethod method, const PaperAnswer &answer) {
    if (answer.method) {
        for (const auto &[name, its] : answer.method->times)
            method.times.insert_or_assign(name, its);
        for (const auto &[name, its] : answer.method->values)
            method.values.insert_or_assign(name, its);
        for (const auto &[name, its] : answer.method->lists)
            method.lists.insert_or_assign(name, its);
    }
    return method;
}

/// The network and the rungs of its ladder that an item names.
void check_rungs(const PaperItem &item, const std::string &place, std::vector<InputProblem> &problems) {
    if (!item.answer.network)
        return;
    std::vector<std::string> known;
    try {
        for (const Rung &rung : find_ladder(find_network(*item.answer.network)).rungs)
            known.push_back(rung.id);
    } catch (const UsageError &error) {
        problems.push_back({place + "/network", error.what()});
        return;
    }
    for (std::size_t i = 0; i < item.answer.rungs.size(); ++i)
        if (const std::string &name = item.answer.rungs[i];
            std::find(known.begin(), known.end(), name) == known.end())
            problems.push_back({place + "/rungs/" + std::to_string(i),
                                "expected a rung of the ladder of " + *item.answer.network +
                                    ", for example \"" + known.front() + "\", found \"" + shortened(name) +
                                    "\"" + did_you_mean(name, known)});
}

/// Where a method that an item names stands: in the item's paper, else in another one.
std::string place_of_method(const Named &named, const PaperItem &item, const Paper &paper) {
    return paper.methods.contains(named.name)
               ? "/methods/" + named.name
               : place_of(item, paper) + "/" + named.field + " = " + named.name;
}

/// What is wrong with how an item is to be answered.
void check_item(const PaperItem &item, const Paper &paper, std::vector<InputProblem> &problems) {
    const std::string place = place_of(item, paper);
    for (const Named &named : methods_of(item.answer))
        if (const PaperMethod *method = find_method(paper, named.name))
            check_names(item, with_items(*method, item.answer), place_of_method(named, item, paper),
                        problems);
        else
            problems.push_back({place + "/" + named.field,
                                "expected a method, for example \"gains\", found \"" + shortened(named.name) +
                                    "\"" + did_you_mean(named.name, method_names(paper))});
    check_rungs(item, place, problems);
    if (item.answer.method && item.answer.method->answers())
        check_names(item, *item.answer.method, place + "/method", problems);
}

void append_answer(ItemAnswer &to, ItemAnswer from) {
    const auto move_all = [](auto &into, auto &out) {
        into.insert(into.end(), std::make_move_iterator(out.begin()), std::make_move_iterator(out.end()));
    };
    move_all(to.tables, from.tables);
    move_all(to.figures, from.figures);
    move_all(to.findings, from.findings);
}

} // namespace

std::string place_of(const PaperItem &item, const Paper &paper) {
    const auto found = std::find_if(paper.items.begin(), paper.items.end(),
                                    [&](const PaperItem &other) { return other.id == item.id; });
    return "/items/" + std::to_string(found - paper.items.begin()) + "/answer";
}

ItemAnswer compute(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    if (item.answer.kind == AnswerKind::computed) {
        const auto own = [&] {
            if (item.answer.method && item.answer.method->answers())
                append_answer(answer, answer_by(*item.answer.method, item, context,
                                                place_of(item, context.paper()) + "/method"));
        };
        if (!item.answer.by)
            own();
        for (const Named &named : methods_of(item.answer)) {
            append_answer(answer,
                          answer_by(with_items(*find_method(context.paper(), named.name), item.answer), item,
                                    context, place_of_method(named, item, context.paper())));
            if (named.field == "by")
                own();
        }
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
    std::vector<InputProblem> problems;
    for (const PaperItem &item : paper.items)
        check_item(item, context.paper(), problems);
    if (!problems.empty())
        throw InputError(std::move(problems));
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

namespace {

constexpr double no_change = 0.02; ///< a ratio so close to 1 says neither faster nor slower
constexpr double close = 0.1, factor_in_part = 2.0;

int direction_of(double ratio) {
    return std::abs(ratio - 1.0) <= no_change ? 0 : ratio > 1.0 ? 1 : -1;
}

bool within_a_tenth(double published, double found) {
    return std::abs(found - published) <= close * std::abs(published);
}

} // namespace

std::string verdict_rules() {
    return remark("verdicts");
}

ClaimVerdict verdict_of_ratio(double published, double found) {
    if (direction_of(published) != direction_of(found))
        return ClaimVerdict::differs;
    return within_a_tenth(published, found) ? ClaimVerdict::holds : ClaimVerdict::in_part;
}

ClaimVerdict verdict_of_gain(double found) {
    return direction_of(found) > 0 ? ClaimVerdict::holds : ClaimVerdict::differs;
}

ClaimVerdict verdict_of_number(double published, double found) {
    if (within_a_tenth(published, found))
        return ClaimVerdict::holds;
    const bool near = found <= factor_in_part * published && published <= factor_in_part * found;
    return near ? ClaimVerdict::in_part : ClaimVerdict::differs;
}

ClaimVerdict verdict_of_all(std::size_t so, std::size_t all) {
    return so == all ? ClaimVerdict::holds : 2 * so > all ? ClaimVerdict::in_part : ClaimVerdict::differs;
}

ClaimVerdict verdict_of_best(double over_best_other) {
    constexpr double rounding = 1e-6;
    return over_best_other <= 1.0 + rounding       ? ClaimVerdict::holds
           : over_best_other < 1.0 / (1.0 - close) ? ClaimVerdict::in_part
                                                   : ClaimVerdict::differs;
}

std::vector<PaperDrawing> drawings_of(const PaperItem &item, const PaperContext &context) {
    std::vector<PaperDrawing> drawings;
    for (const std::string &strategy : item.answer.drawn) {
        const Case made = context.papers().forecast(strategy, *item.answer.drawn_shape);
        if (!made.prediction || !made.prediction->plan)
            throw InputError(place_of(item, context.paper()) + "/drawn",
                             "expected a strategy that has a plan, found " + strategy + ": " +
                                 made.reason.value_or("it has no plan"));
        if (const std::string problem = cannot_draw(strategy); !problem.empty())
            throw InputError(place_of(item, context.paper()) + "/drawn", problem);
        const Partition &launch = main_launch(*made.prediction->plan);
        const GpuProfile &gpu = context.papers().profile;
        const std::string file = fmt::format("{}_{}.svg", item.id, drawings.size() + 1);
        drawings.push_back(
            {fmt::format("{}_diagram_{}", item.id, drawings.size() + 1),
             item.answer.drawn_titles.empty() ? strategy : item.answer.drawn_titles[drawings.size()],
             fmt::format(
                 "{} on the {}: {} of {} threads, {} on an SM at once. Grey lines are where other CTAs' "
                 "parts begin. Drawn by: convcast predict --gpu {} --shape {} --strategy {} --diagram {}",
                 shape_text(made.shape), short_name(gpu), count(launch.ctas, "CTA", "CTAs"), launch.threads,
                 launch.ctas_per_sm, gpu.id, made.shape, strategy, file),
             partition_diagram(made, gpu, PaperWidth::column())});
    }
    return drawings;
}

} // namespace convcast
