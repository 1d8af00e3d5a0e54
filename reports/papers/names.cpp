// What names in a paper's answers stand for: of rows, shapes and GPUs; and the lists whose rows they go
// through.
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/network/network.hpp"
#include "model/paper/papers.hpp"
#include "model/paper/rules.hpp"
#include "reports/papers/computations.hpp"
#include "reports/papers/evaluator.hpp"
#include "reports/regimes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// What is known of a GPU by itself: its profile with the limits, and the bandwidth to its best neighbour.
PaperFacts facts_of(const GpuProfile &profile) {
    PaperFacts facts;
    add_facts(facts, &profile);
    add_facts(facts, &profile.limits);
    std::optional<double> best;
    for (const PeerLink &link : profile.peers)
        if (link.bandwidth_bytes_per_s && (!best || *best < link.bandwidth_bytes_per_s->value))
            best = link.bandwidth_bytes_per_s->value;
    facts["peer_bandwidth"] = best;
    return facts;
}

/// The rules of the papers for a shape on a GPU, as cases have them, and of one channel what the division of
/// section 3.1 of Chang's paper comes to.
PaperFacts rules_of(const ConvShape &shape, const GpuProfile &profile) {
    PaperFacts facts;
    const Rules rules = shape_rules(shape, profile);
    add_facts(facts, &rules);
    for (const char *name :
         {"p_range", "q_range", "p_why", "q_why", "overruns", "rule_4_fmas", "rule_4_bytes"})
        facts[name];
    if (!rules.method)
        return facts;
    const papers::Division d = papers::divide_single_channel(shape, profile);
    const std::int64_t n_sm = profile.limits.sm_count;
    const auto range = [](const papers::PieceChoice &c) {
        return fmt::format("{} to {}", c.lower ? std::to_string(*c.lower) : std::string("none"), c.upper);
    };
    facts["p_range"] = range(d.p), facts["q_range"] = range(d.q);
    if (!d.p.in_range)
        facts["p_why"] = d.p.why;
    if (!d.q.in_range)
        facts["q_why"] = d.q.why;
    facts["overruns"] = d.overruns_shared ? 1.0 : 0.0;
    const bool filters = d.method == 1;
    facts["rule_4_fmas"] = of_count(filters ? papers::th1_fmas(shape, n_sm, d.pieces_p)
                                            : papers::th2_fmas(shape, n_sm, d.pieces_q));
    facts["rule_4_bytes"] = of_count(n_sm * (filters ? papers::d1_bytes(shape, n_sm, d.pieces_p)
                                                     : papers::d2_bytes(shape, n_sm, d.pieces_q)));
    return facts;
}

PaperFacts facts_of(const ConvShape &s) {
    PaperFacts facts;
    for (const auto &[name, size] : names_of(s))
        facts[name] = of_count(size);
    facts["shape"] = s.id();
    facts["fmas"] = s.fmas().value;
    facts["products"] = of_count(s.products());
    facts["input_bytes"] = of_count(s.input_bytes());
    facts["input_elements"] = of_count(s.input_elements());
    facts["filter_bytes"] = of_count(s.filter_bytes());
    facts["elements"] = std::string(s.dtype == DataType::f32   ? "f32"
                                    : s.dtype == DataType::f16 ? "f16"
                                                               : "i8");
    facts["filter"] = fmt::format("{}x{}", s.r, s.s);
    facts["sizes"] = shape_text(s.id());
    return facts;
}

void add_keys(std::vector<std::string> &to, const auto &names) {
    for (const auto &[name, value] : names)
        to.push_back(name);
}

} // namespace

PaperRow row_of_shape(const std::string &shape) {
    PaperRow row;
    row.shape = ConvShape::parse(shape);
    row.names = facts_of(*row.shape);
    row.names["shape"] = shape;
    return row;
}

std::vector<std::string> known_gpu_names() {
    std::vector<std::string> names = {"no_time"};
    add_keys(names, facts_of(GpuProfile{}));
    add_keys(names, rules_of(ConvShape::parse("n1c1h8w8k1r1s1"), GpuProfile{}));
    return names;
}

std::vector<std::string> known_names() {
    std::vector<std::string> names = {"paper",   "ours",    "its",     "id",    "title",
                                      "heading", "kernels", "network", "batch", "row"};
    add_keys(names, facts_of(ConvShape::parse("n1c1h8w8k1r1s1")));
    return names;
}

const ConvShape *Evaluator::shape_of(const PaperScope &scope) const {
    for (const PaperScope *s = &scope; s != nullptr; s = s->outer)
        if (s->row != nullptr && s->row->shape)
            return &*s->row->shape;
    return nullptr;
}

const ForecastGpu &Evaluator::gpu_of(AskedGpu asked, const PaperScope &scope) const {
    if (asked == AskedGpu::paper)
        return context_.papers();
    if (asked == AskedGpu::ours)
        return context_.ours();
    for (const PaperScope *s = &scope; s != nullptr; s = s->outer)
        if (s->row != nullptr && s->row->gpu != nullptr)
            return *s->row->gpu;
    throw UsageError("'its' is of the GPU that a list \"gpus\" is at; there is none here");
}

std::optional<PaperValue> Evaluator::of_rows(const std::string &name, const PaperScope &scope) {
    for (const PaperScope *s = &scope; s != nullptr; s = s->outer) {
        if (s->row == nullptr)
            continue;
        if (const auto found = s->row->names.find(name); found != s->row->names.end())
            return found->second;
    }
    return std::nullopt;
}

PaperValue Evaluator::named(const std::string &name, const PaperScope &scope) {
    constexpr int deepest = 40;
    if (depth_ > deepest)
        throw UsageError("the value '" + name + "' is computed from itself");
    if (const auto of_row = of_rows(name, scope))
        return *of_row;
    const std::size_t dot = name.find('.');
    const std::string before = name.substr(0, dot),
                      after = dot == std::string::npos ? "" : name.substr(dot + 1);
    if (const auto found = method_.values.find(name); found != method_.values.end()) {
        ++depth_;
        const PaperValue out = value(found->second, scope);
        --depth_;
        return out;
    }
    if (method_.times.contains(before))
        return of_time(time(before, scope), after);
    if (before == "outer" && scope.outer != nullptr)
        return named(after, *scope.outer);
    if (before == "knob") // of a setting that has none of this name
        return {};
    if (before == "paper" || before == "ours" || before == "its") {
        const ForecastGpu &gpu = gpu_of(before == "paper"  ? AskedGpu::paper
                                        : before == "ours" ? AskedGpu::ours
                                                           : AskedGpu::its,
                                        scope);
        if (after.empty())
            return short_name(gpu.profile);
        if (after == "no_time") {
            const std::string why = &gpu == &context_.papers() ? context_.no_time() : "";
            return why.empty() ? PaperValue() : PaperValue(why);
        }
        auto &facts = facts_[gpu.profile.id];
        if (facts.empty())
            facts = facts_of(gpu.profile);
        if (const auto found = facts.find(after); found != facts.end())
            return found->second;
        if (const ConvShape *shape = shape_of(scope)) {
            auto &rules = facts_[gpu.profile.id + " " + shape->id()];
            if (rules.empty())
                rules = rules_of(*shape, gpu.profile);
            if (const auto found = rules.find(after); found != rules.end())
                return found->second;
        }
        const Rules table_1 = table1_rules(gpu.profile);
        PaperFacts rules;
        add_facts(rules, &table_1);
        if (const auto found = rules.find(after); found != rules.end())
            return found->second;
    }
    if (name == "id" || name == "title" || name == "heading")
        return name == "id" ? item_.id : name == "title" ? title_of(item_) : item_.title;
    if (name == "kernels")
        return of_count(std::ssize(item_.answer.paper_kernels));
    if (name == "network")
        return network();
    if (name == "batch")
        return of_count(batch());
    throw UsageError("'" + shortened(name) +
                     "' has no value here; known outside of lists: " + join(known_names()));
}

std::vector<KnownList> known_lists() {
    const auto with = [](std::vector<std::string> names, const std::vector<std::string> &more) {
        names.insert(names.end(), more.begin(), more.end());
        return names;
    };
    const std::vector<std::string> rung =
        with(names_of_facts<Rung>(), {"kernels", "launches", "published", "papers", "forecast", "measured",
                                      "why", "papers_why", "stream", "stream_measured"});
    std::vector<std::string> steps = rung;
    for (const std::string &name : rung)
        steps.push_back("before." + name);
    return {
        {"shapes", {}},
        {"gpus", {}},
        {"panels", {"filter", "edge", "letter"}},
        {"panels_and_all", {}},
        {"cases", names_of_facts<CaseRow>()},
        {"published", with(names_of_facts<PublishedCell>(), {"printed", "factor"})},
        {"rungs", rung},
        {"steps", steps},
        {"published_steps", {}},
        {"launches", with(names_of_facts<LadderLaunch>(),
                          {"computes", "rung", "blocks", "threads", "times_launched", "one_launch"})},
        {"refusals", {"of", "why"}},
        {"operators", with(names_of_facts<Operator>(), {"output", "parameters", "multiply_adds", "values"})},
        {"recorded_rungs", names_of_facts<NetworkCase>()},
        {"opinions", with(names_of_facts<RegimeStatistics>(), {"worth"})},
        {"two_gpus", names_of_facts<NetworkCase>()},
        {"recorded_steps", {}},
        {"several_gpus", {"devices", "step", "efficiency", "weak_step", "weak_efficiency", "exchange"}},
        {"advice", names_of_facts<ScalingAdvice>()}};
}

void Evaluator::for_each(const std::vector<std::string> &lists, const PaperScope &scope,
                         const std::function<void(const PaperScope &)> &call) {
    if (lists.empty())
        return call(scope);
    const std::vector<std::string> rest(lists.begin() + 1, lists.end());
    for (const PaperRow &row : list(lists.front()))
        for_each(rest, {&row, &scope}, call);
}

const PaperRows &Evaluator::list(const std::string &name) {
    const auto found = lists_.find(name);
    if (found != lists_.end())
        return found->second;
    PaperRows rows = make_list(name);
    for (std::size_t i = 0; i < rows.size(); ++i)
        rows[i].names.emplace("row", static_cast<double>(i + 1));
    return lists_.emplace(name, std::move(rows)).first->second;
}

PaperRows Evaluator::make_list(const std::string &name) {
    PaperRows rows;
    if (const auto written = method_.lists.find(name); written != method_.lists.end()) {
        for (const std::string &its : written->second.studies)
            for (const std::string &shape : context_.study(its).shapes)
                rows.push_back(row_of_shape(shape));
        for (const std::vector<std::string> &cells : written->second.rows) {
            PaperRow &row = rows.emplace_back();
            for (std::size_t i = 0; i < cells.size(); ++i) {
                const std::string &column = written->second.columns[i];
                if (cells[i].starts_with('=')) {
                    row.names[column] = value(cells[i].substr(1), {});
                    continue;
                }
                const bool number =
                    !cells[i].empty() && cells[i].find_first_not_of("0123456789.") == std::string::npos;
                row.names[column] =
                    number ? PaperValue(std::strtod(cells[i].c_str(), nullptr)) : PaperValue(cells[i]);
                if (column == "shape") {
                    PaperRow shape = row_of_shape(cells[i]);
                    row.shape = shape.shape;
                    row.names.merge(shape.names);
                }
                if (column == "gpu")
                    row.gpu = &context_.gpu(cells[i]);
            }
        }
        return rows;
    }
    if (name == "gpus")
        for (const ForecastGpu *gpu : {&context_.papers(), &context_.ours()})
            rows.push_back({{}, {}, gpu});
    else if (name == "shapes")
        rows = shapes();
    else if (name == "panels" || name == "panels_and_all")
        rows = panels(name == "panels_and_all");
    else if (name == "cases")
        rows = cases();
    else if (name == "published")
        rows = published();
    else if (name == "operators")
        rows = operators();
    else if (name == "opinions")
        rows = opinions();
    else
        rows = network_rows(name);
    return rows;
}

PaperRows Evaluator::shapes() {
    PaperRows rows;
    for (const std::string &shape : context_.study(study()).shapes)
        rows.push_back(row_of_shape(shape));
    return rows;
}

/// Sizes of filters in the order of the study's shapes; and a row of all, with the edge 0.
PaperRows Evaluator::panels(bool and_all) {
    PaperRows rows;
    for (const PaperRow &row : list("shapes")) {
        const auto edge = static_cast<double>(row.shape->r);
        if (std::none_of(rows.begin(), rows.end(),
                         [&](const PaperRow &other) { return other.names.at("edge").number == edge; }))
            rows.push_back({{{"filter", fmt::format("{0}x{0}", row.shape->r)},
                             {"edge", edge},
                             {"letter", std::string(1, static_cast<char>('a' + rows.size()))}}});
    }
    if (and_all)
        rows.push_back({{{"filter", std::string("all")}, {"edge", 0.0}, {"letter", std::string()}}});
    return rows;
}

PaperRows Evaluator::cases() {
    PaperRows rows;
    if (const StudyResults *results = context_.measured(study()))
        for (const CaseRow &row : results->statistics.cases)
            if (!row.baseline)
                add_facts(rows.emplace_back().names, &row);
    return rows;
}

/// How often each opinion of a regime is that of the counters.
PaperRows Evaluator::opinions() {
    PaperRows rows;
    if (const StudyResults *results = context_.measured(study()))
        for (const char *opinion : {"paper", "physical", "forecast"})
            if (const RegimeStatistics *its = over_all(results->statistics.regimes, opinion)) {
                PaperRow &row = rows.emplace_back();
                add_facts(row.names, its);
                row.names["worth"] = worth_of(*its);
            }
    return rows;
}

PaperRows Evaluator::published() {
    PaperRows rows;
    for (const PublishedCell &cell : item_.published) {
        PaperRow &row = rows.emplace_back();
        add_facts(row.names, &cell);
        row.names["unit"] = unit_text(cell.unit);
        row.names["printed"] = printed(cell);
        row.names["factor"] = ratio_of(cell);
    }
    return rows;
}

PaperRows Evaluator::operators() {
    PaperRows rows;
    const Network its = find_network(network());
    for (std::size_t i = 0; i < its.operators.size(); ++i) {
        const Operator &op = its.operators[i];
        const std::vector<ImageShape> inputs = its.input_shapes(i);
        PaperRow &row = rows.emplace_back();
        add_facts(row.names, &op);
        row.names["output"] = to_text(op.output);
        row.names["parameters"] = of_count(parameters(op, inputs.front()));
        row.names["multiply_adds"] = work_of(op, inputs, 1).fmas.value_or(0.0);
        row.names["values"] = of_count(elements(op.output));
    }
    return rows;
}

} // namespace convcast
