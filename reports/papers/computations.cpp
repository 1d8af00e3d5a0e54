#include "reports/papers/evaluator.hpp"

#include "model/base/comparison.hpp"
#include "model/base/errors.hpp"
#include "model/record/images.hpp"
#include "model/shape/conv_shape.hpp"
#include "reports/bank_diagram.hpp"
#include "reports/boxes.hpp"
#include "reports/explained.hpp"
#include "reports/html.hpp"
#include "reports/lists.hpp"
#include "reports/partition_diagram.hpp"
#include "reports/report_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
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

/// The methods that answer an item, in the order in which their answers stand on the page.
struct AskedMethods {
    struct Method {
        PaperMethod method;
        std::string place; ///< where messages say that it stands: in this paper's document, or who names it
    };
    std::vector<Method> all;
    PaperMethod names; ///< the times, values and lists of all of them, which each of them may use
};

/// The method that an item's `by` names, its own method, then the methods that its `also` names, each
/// followed by its parts. Where two define a time, value or list of one name, the item's own counts, else the
/// first. Tells `problem` of each name that no method has.
AskedMethods methods_of(const PaperItem &item, const Paper &paper, const FieldProblem &problem) {
    const PaperAnswer &answer = item.answer;
    const std::string place = place_of(item, paper);
    AskedMethods asked;
    const auto add = [&](const PaperMethod &method, const std::string &at) {
        asked.all.push_back({method, at});
        asked.names.times.insert(method.times.begin(), method.times.end());
        asked.names.values.insert(method.values.begin(), method.values.end());
        asked.names.lists.insert(method.lists.begin(), method.lists.end());
    };
    const auto add_named = [&](const std::string &name, const std::string &field) {
        if (const PaperMethod *shared = find_method(paper, name))
            add(*shared, paper.methods.contains(name) ? "/methods/" + name : field + " = " + name);
        else
            require_one_of(name, method_names(paper), "a method", field, problem, "gains");
    };
    const PaperMethod own = answer.method.value_or(PaperMethod());
    asked.names = own; // first: insert() keeps what is there
    if (answer.by)
        add_named(*answer.by, place + "/by");
    add(own, place + "/method");
    for (std::size_t i = 0; i < answer.also.size(); ++i)
        add_named(answer.also[i], place + "/also/" + std::to_string(i));
    const std::vector<AskedMethods::Method> without_parts = std::exchange(asked.all, {});
    for (const auto &[method, at] : without_parts) {
        asked.all.push_back({method, at});
        for (std::size_t i = 0; i < method.parts.size(); ++i) {
            add_named(method.parts[i], at + "/parts/" + std::to_string(i));
            asked.all.back().method.batch = method.batch; // parts are computed for the method's batch
        }
    }
    return asked;
}

/// Tells `problem` of a network, or of rungs of its ladder, that an item names and that do not exist.
void check_rungs(const PaperItem &item, const std::string &place, const FieldProblem &problem) {
    if (!item.answer.network)
        return;
    or_problem(problem, place + "/network", [&] {
        std::vector<std::string> known;
        for (const Rung &rung : find_ladder(find_network(*item.answer.network)).rungs)
            known.push_back(rung.id);
        for (std::size_t i = 0; i < item.answer.rungs.size(); ++i)
            require_one_of(item.answer.rungs[i], known, "a rung of the ladder of " + *item.answer.network,
                           place + "/rungs/" + std::to_string(i), problem);
    });
}

/// Tells `problem` of every name in an item's methods, network and rungs that does not exist.
void check_item(const PaperItem &item, const Paper &paper, const FieldProblem &problem) {
    const AskedMethods asked = methods_of(item, paper, problem);
    for (const auto &[method, place] : asked.all)
        check_names(item, method, asked.names, place, problem);
    check_rungs(item, place_of(item, paper), problem);
}

/// A drawing of the plan, for the paper's GPU, of the strategy answer.drawn[plan]. Throws InputError where
/// that has no plan or none that can be drawn. PaperAnswer::check saw that the strategy has a shape.
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

/// A drawing of the pictures that ship of the data set which the item names; it must name one.
PaperDrawing images_drawing(const PaperItem &item) {
    const GreyImages images = find_images(*item.answer.images);
    std::vector<std::string> numbers;
    for (const GreyImage &image : images.images)
        numbers.push_back(std::to_string(image.number));
    return {item.id, title_of(item) + ": " + images.title,
            fmt::format("Images {} of the test set, counted from 0, in 16 greys. {}.", join(numbers),
                        images.licence),
            images_svg(images, title_of(item), PaperWidth::column())};
}

/// What an item draws: reads of shared memory, images of a data set, then plans for the paper's GPU.
std::vector<PaperDrawing> drawings_of(const PaperItem &item, const PaperContext &context) {
    std::vector<PaperDrawing> drawings;
    if (item.answer.images)
        drawings.push_back(images_drawing(item));
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
    const FieldProblem ignore = [](const auto &...) {}; // reproduce() has refused items with problems
    const AskedMethods asked = methods_of(item, context.paper(), ignore);
    Evaluator evaluator(item, asked.names, context);
    if (item.answer.kind == AnswerKind::computed)
        for (const auto &[method, place] : asked.all) {
            evaluator.use_batch(method.batch);
            add_answer(answer, method, evaluator, place);
        }
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
    // Ours is rounded as the paper's is, to as many decimals.
    const std::string digits = fmt::format("{}", cell.value);
    const std::size_t point = digits.find('.');
    const int decimals = point == std::string::npos ? 0 : static_cast<int>(digits.size() - point - 1);
    PublishedCell ours = cell;
    ours.value = std::stod(fmt::format("{:.{}f}", found, decimals));
    // `step` is one unit of the last digit that means something: of 4290, from 1000 on, that is the 9.
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

/// One of the conditions under which a document was measured, as "cudnn"; a dash where it lacks it.
std::string condition_or_dash(const auto &document, const char *condition) {
    const std::string text = condition_of(document.conditions, condition);
    return text.empty() ? dash : text;
}
std::string day_of(const auto &document) {
    return condition_or_dash(document, "date").substr(0, 10); // "2026-11-24"
}

/// The networks of the items, each once.
std::vector<std::string> networks_of(const Paper &paper) {
    std::vector<std::string> networks;
    for (const PaperItem &item : paper.items)
        if (item.answer.network)
            add_once(networks, *item.answer.network);
    return networks;
}

/// The days on which the ladders, trainings and steps that the answers asked for were measured: "the ladder
/// of mnist 2026-11-24, its training 2026-11-23"; "" where none was.
std::string days_of_networks(const Paper &paper, const PaperContext &context) {
    std::vector<std::string> texts;
    for (const std::string &network : networks_of(paper)) {
        std::string whose = "of " + network; // said of the first part alone; "its" of the others
        for (const auto &[part, what] : {std::pair{RecordedPart::ladder, "ladder"},
                                         {RecordedPart::training, "training"},
                                         {RecordedPart::steps, "steps over two GPUs"}}) {
            const std::int64_t images = part == RecordedPart::ladder ? batch_of_paper(network) : 0;
            const RecordedOf of{part, network, images};
            const NetworkRun *run =
                context.recordings().asked().contains(of) ? context.measured(of) : nullptr;
            if (run == nullptr)
                continue;
            texts.push_back(fmt::format(fmt::runtime(whose.empty() ? "its {0} {2}" : "the {0} {1} {2}"), what,
                                        whose, day_of(*run)));
            whose.clear();
        }
    }
    return join(texts);
}

/// On which GPU and day, with which cuDNN and convcast the first of the paper's studies was measured, and on
/// which days its settings and the networks; "" where nothing was. Call it when all items are answered: only
/// recordings that `context` was asked for are named.
std::string measured_text(const Paper &paper, const PaperContext &context) {
    const std::string networks = days_of_networks(paper, context);
    for (const PaperItem &item : paper.items) {
        const StudyResults *results = item.answer.study ? context.measured(*item.answer.study) : nullptr;
        if (results == nullptr)
            continue;
        const Run &run = results->run;
        std::string text = fmt::format("{}, {}, cuDNN {}, convcast {}", condition_or_dash(run, "gpu"),
                                       day_of(run), condition_or_dash(run, "cudnn"), run.producer.version);
        if (const StudyResults *settings = context.measured(*item.answer.study + "/settings"))
            if (const std::string its = day_of(settings->run); its != day_of(run))
                text += "; the paper's own settings " + its;
        return text + (networks.empty() ? "" : "; without cuDNN " + networks);
    }
    return networks.empty() ? "" : context.ours().profile.name + ": " + networks;
}

/// Sets ClaimAnswer::where and counts the findings. A claim that several items have of one study or network
/// with the same batch and published number is counted at the first, which ClaimAnswer::counted names.
void count_findings(Reproduction &reproduction) {
    using OfStudy = std::pair<std::optional<std::string>, std::optional<std::string>>; // or of a network
    std::map<std::tuple<OfStudy, std::int64_t, std::string, std::string>, std::string> first; // -> title
    for (std::size_t i = 0; i < reproduction.answers.size(); ++i) {
        const PaperItem &item = reproduction.paper.items[i];
        for (ClaimAnswer &f : reproduction.answers[i].findings) {
            f.where = title_of(item);
            const OfStudy of(item.answer.study, item.answer.network);
            const auto [at, fresh] = first.emplace(std::tuple(of, f.batch, f.claim, f.published), f.where);
            if (!fresh)
                f.counted = at->second;
            else
                ++reproduction.counts.of(f.verdict);
        }
    }
}

/// A sentence on the paper's networks of which our GPU has no recorded ladder; "" where all have one.
std::string not_measured_text(const Paper &paper, const PaperContext &context) {
    std::vector<std::string> networks = networks_of(paper);
    std::erase_if(networks, [&](const std::string &network) {
        return context.measured({RecordedPart::ladder, network, batch_of_paper(network)}) != nullptr;
    });
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
        check_item(item, context.paper(), [&](const std::string &place, const std::string &message) {
            problems.push_back({place, message});
        });
    if (!problems.empty())
        throw InputError(std::move(problems));
    Reproduction out;
    out.paper = paper;
    out.paper_gpu = context.papers().profile.name;
    out.our_gpu = context.ours().profile.name;
    out.not_measured = not_measured_text(paper, context);
    out.no_time = context.no_time();
    if (const Case sample = context.sample(); sample.prediction)
        out.assumptions = sample.prediction->assumptions;
    const auto take_used = [&] { // recordings that were used since the last call
        const std::set<const Recording *> used = context.recordings().take_used();
        out.used.insert(used.begin(), used.end());
        return used;
    };
    take_used(); // what was asked for above belongs to no item
    for (const PaperItem &item : paper.items) {
        out.answers.push_back(compute(item, context));
        out.answers.back().of_other_code = context.recordings().of_other_code(take_used());
    }
    out.of_other_code = context.recordings().of_other_code(out.used);
    out.measured = measured_text(paper, context);
    count_findings(out);
    return out;
}

} // namespace convcast
