#include "reports/papers/evaluator.hpp"

#include "model/base/errors.hpp"
#include "model/shape/conv_shape.hpp"
#include "reports/bank_diagram.hpp"
#include "reports/explained.hpp"
#include "reports/html.hpp"
#include "reports/partition_diagram.hpp"
#include "reports/report_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// "/items/3/answer": where an item's answer stands in its paper's document.
std::string place_of(const PaperItem &item, const Paper &paper) {
    const auto found = std::find_if(paper.items.begin(), paper.items.end(),
                                    [&](const PaperItem &other) { return other.id == item.id; });
    return "/items/" + std::to_string(found - paper.items.begin()) + "/answer";
}

/// A method that answers an item, and where it stands: in the item's paper, else in another one.
struct AskedMethod {
    PaperMethod method;
    std::string place;
};

/// The methods of an item in the order of their answers: the one that it names in `by`, its own, those in
/// `also`. Those that it names get the item's own times, values and lists. Adds a problem for each name that
/// no method has.
std::vector<AskedMethod> methods_of(const PaperItem &item, const Paper &paper,
                                    std::vector<InputProblem> &problems) {
    const PaperAnswer &answer = item.answer;
    const std::string place = place_of(item, paper);
    std::vector<AskedMethod> all;
    const auto add = [&](const std::string &field, const std::string &name) {
        const PaperMethod *shared = find_method(paper, name);
        if (shared == nullptr)
            return require_one_of(name, method_names(paper), "a method", place + "/" + field, problems,
                                  "gains");
        const bool own = paper.methods.contains(name);
        all.push_back({*shared, own ? "/methods/" + name : place + "/" + field + " = " + name});
        PaperMethod &method = all.back().method;
        const auto take_over = [](auto &into, const auto &from) {
            for (const auto &[its_name, its] : from)
                into.insert_or_assign(its_name, its);
        };
        if (answer.method) {
            take_over(method.times, answer.method->times);
            take_over(method.values, answer.method->values);
            take_over(method.lists, answer.method->lists);
        }
    };
    if (answer.by)
        add("by", *answer.by);
    if (answer.method && answer.method->answers())
        all.push_back({*answer.method, place + "/method"});
    for (std::size_t i = 0; i < answer.also.size(); ++i)
        add("also/" + std::to_string(i), answer.also[i]);
    return all;
}

/// The network and the rungs of its ladder that an item names.
void check_rungs(const PaperItem &item, const std::string &place, std::vector<InputProblem> &problems) {
    if (!item.answer.network)
        return;
    or_problem(problems, place + "/network", [&] {
        std::vector<std::string> known;
        for (const Rung &rung : find_ladder(find_network(*item.answer.network)).rungs)
            known.push_back(rung.id);
        for (std::size_t i = 0; i < item.answer.rungs.size(); ++i)
            require_one_of(item.answer.rungs[i], known, "a rung of the ladder of " + *item.answer.network,
                           place + "/rungs/" + std::to_string(i), problems);
    });
}

/// What is wrong with how an item is to be answered.
void check_item(const PaperItem &item, const Paper &paper, std::vector<InputProblem> &problems) {
    for (const AskedMethod &asked : methods_of(item, paper, problems))
        check_names(item, asked.method, asked.place, problems);
    check_rungs(item, place_of(item, paper), problems);
}

/// The plan of one of an item's strategies for the paper's GPU, drawn.
PaperDrawing plan_drawing(const PaperItem &item, std::size_t plan, const PaperContext &context) {
    const PaperAnswer &answer = item.answer;
    const std::string &strategy = answer.drawn[plan];
    const Case made = context.papers().forecast(
        strategy, answer.drawn_shapes.empty() ? *answer.drawn_shape : answer.drawn_shapes[plan]);
    if (!made.prediction || !made.prediction->plan)
        throw InputError(place_of(item, context.paper()) + "/drawn",
                         "expected a strategy that has a plan, found " + strategy + ": " +
                             made.reason.value_or("it has no plan"));
    if (const std::string problem = cannot_draw(strategy); !problem.empty())
        throw InputError(place_of(item, context.paper()) + "/drawn", problem);
    const Partition &launch = main_launch(*made.prediction->plan);
    const GpuProfile &gpu = context.papers().profile;
    const std::string file = fmt::format("{}_{}.svg", item.id, plan + 1);
    return {
        fmt::format("{}_diagram_{}", item.id, plan + 1),
        answer.drawn_titles.empty() ? strategy : answer.drawn_titles[plan],
        fmt::format("{} on the {}: {} of {} threads, {} on an SM at once. Grey lines are where other CTAs' "
                    "parts begin. Drawn by: convcast predict --gpu {} --shape {} --strategy {} --diagram {}",
                    shape_text(made.shape), short_name(gpu), count(launch.ctas, "CTA", "CTAs"),
                    launch.threads, launch.ctas_per_sm, gpu.id, made.shape, strategy, file),
        partition_diagram(made, gpu, PaperWidth::column())};
}

/// What an item draws: reads of shared memory, then plans for the paper's GPU.
std::vector<PaperDrawing> drawings_of(const PaperItem &item, const PaperContext &context) {
    std::vector<PaperDrawing> drawings;
    for (const PaperBanks &read : item.answer.banks) {
        const GpuProfile &gpu = (read.gpu == AskedGpu::ours ? context.ours() : context.papers()).profile;
        drawings.push_back({fmt::format("{}_banks_{}", item.id, drawings.size() + 1), read.title,
                            bank_caption(read, gpu), bank_diagram(read, gpu, PaperWidth::column())});
    }
    for (std::size_t plan = 0; plan < item.answer.drawn.size(); ++plan)
        drawings.push_back(plan_drawing(item, plan, context));
    return drawings;
}

/// The item's answer by its methods, in their order, with what it draws.
ItemAnswer compute(const PaperItem &item, const PaperContext &context) {
    ItemAnswer answer;
    std::vector<InputProblem> none; // which check_item found
    if (item.answer.kind == AnswerKind::computed)
        for (const AskedMethod &asked : methods_of(item, context.paper(), none))
            add_answer(answer, asked.method, item, context, asked.place);
    for (PaperDrawing &drawing : drawings_of(item, context))
        answer.drawings.push_back(std::move(drawing));
    return answer;
}

} // namespace

const PublishedCell *cell_of(const PaperItem &item, const std::string &of, const std::string &at) {
    for (const PublishedCell &cell : item.published)
        if (cell.of == of && (at.empty() || cell.at == at))
            return &cell;
    return nullptr;
}

std::string title_of(const PublishedCell &cell) {
    return cell.of + ", " + cell.at;
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
            title_of(cell),
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

/// Where and when the first study was measured, and when its settings, if that was another day; of a paper
/// without studies the ladder of its first network.
std::string measured_text(const Paper &paper, const PaperContext &context) {
    for (const PaperItem &item : paper.items) {
        const StudyResults *results = item.answer.study ? context.measured(*item.answer.study) : nullptr;
        if (results == nullptr)
            continue;
        const std::string day = condition_of(*results, "date").substr(0, 10);
        std::string text = fmt::format("{}, {}, cuDNN {}, convcast {}", condition_of(*results, "gpu"), day,
                                       condition_of(*results, "cudnn"), results->run.producer.version);
        if (const StudyResults *settings = context.measured(*item.answer.study + "/settings"))
            if (const std::string its = condition_of(*settings, "date").substr(0, 10); its != day)
                text += "; the paper's own settings " + its;
        return text;
    }
    for (const PaperItem &item : paper.items)
        if (item.answer.network)
            if (const NetworkRun *run = context.measured(
                    {RecordedPart::ladder, *item.answer.network, batch_of_paper(*item.answer.network)}))
                return fmt::format("{}, {}, the ladder of {}", run->conditions.at("gpu"),
                                   run->conditions.at("date").substr(0, 10), run->network);
    return "";
}

/// Says of each finding where it stands, and counts them; the same claim of the same study or network in a
/// later item is counted once.
void count_findings(Reproduction &reproduction) {
    std::map<std::string, std::string> first; // claim and what it is of -> title of the item
    for (std::size_t i = 0; i < reproduction.answers.size(); ++i) {
        const PaperItem &item = reproduction.paper.items[i];
        const std::string of = item.answer.study.value_or("") + "\n" + item.answer.network.value_or("");
        for (ClaimAnswer &f : reproduction.answers[i].findings) {
            f.where = title_of(item);
            const auto [at, fresh] =
                first.emplace(f.asked + "\n" + of + "\n" + f.claim + "\n" + f.published, f.where);
            if (!fresh)
                f.counted = at->second;
            else
                ++reproduction.counts.of(f.verdict);
        }
    }
}

/// Ladders, trainings and steps over two GPUs are measured by `convcast run`, not by the studies of a paper.
std::string not_measured_text(const Paper &paper, const PaperContext &context) {
    std::vector<std::string> networks;
    for (const PaperItem &item : paper.items)
        if (const std::optional<std::string> &network = item.answer.network;
            network && std::find(networks.begin(), networks.end(), *network) == networks.end() &&
            context.measured({RecordedPart::ladder, *network, batch_of_paper(*network)}) == nullptr)
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
    std::vector<InputProblem> problems;
    for (const PaperItem &item : paper.items)
        check_item(item, context.paper(), problems);
    if (!problems.empty())
        throw InputError(std::move(problems));
    Reproduction out;
    out.paper = paper;
    out.paper_gpu = context.papers().profile.name;
    out.our_gpu = context.ours().profile.name;
    out.measured = measured_text(paper, context);
    out.not_measured = not_measured_text(paper, context);
    out.no_time = context.no_time();
    if (const Case sample = context.sample(); sample.prediction)
        out.assumptions = sample.prediction->assumptions;
    const auto take_used = [&] {
        const std::set<const Recording *> used = context.recordings().take_used();
        out.used.insert(used.begin(), used.end());
        return used;
    };
    take_used();
    for (const PaperItem &item : paper.items) {
        out.answers.push_back(compute(item, context));
        out.answers.back().of_other_code = context.recordings().of_other_code(take_used());
    }
    out.of_other_code = context.recordings().of_other_code(out.used);
    count_findings(out);
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

ClaimVerdict verdict_beyond_chance(double kappa) {
    constexpr double excellent = 0.75, poor = 0.4;
    return kappa >= excellent ? ClaimVerdict::holds
           : kappa >= poor    ? ClaimVerdict::in_part
                              : ClaimVerdict::differs;
}

ClaimVerdict verdict_of_best_run(double over_best_run, std::size_t firsts_run, std::size_t all) {
    const ClaimVerdict verdict = verdict_of_best(over_best_run);
    return verdict != ClaimVerdict::differs && firsts_run < all ? ClaimVerdict::open : verdict;
}

} // namespace convcast
