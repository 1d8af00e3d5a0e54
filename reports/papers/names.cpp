// What names in a paper's answers stand for: of rows, shapes and GPUs; and the lists whose rows they go
// through.
#include "model/base/errors.hpp"
#include "model/network/network.hpp"
#include "model/paper/papers.hpp"
#include "model/paper/rules.hpp"
#include "reports/papers/evaluator.hpp"
#include "reports/regimes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// What is known of a GPU: its profile with the limits, the bandwidth to its best neighbour, and the papers'
/// rules: without a shape those of Table 1, of one channel also the division of section 3.1 of Chang's paper.
PaperFacts facts_of(const GpuProfile &profile, const ConvShape *shape) {
    const Rules rules = shape != nullptr ? shape_rules(*shape, profile) : table1_rules(profile);
    PaperFacts facts;
    std::optional<papers::Division> division;
    if (rules.method)
        division = papers::divide_single_channel(*shape, profile);
    if (shape != nullptr)
        add_facts(facts, division ? &*division : nullptr);
    add_facts(facts, &rules);
    add_facts(facts, &profile);
    add_facts(facts, &profile.limits);
    std::optional<double> best;
    for (const PeerLink &link : profile.peers)
        if (link.bandwidth_bytes_per_s && (!best || *best < link.bandwidth_bytes_per_s->value))
            best = link.bandwidth_bytes_per_s->value;
    facts["peer_bandwidth"] = best;
    return facts;
}

PaperFacts facts_of(const ConvShape &s) {
    PaperFacts facts;
    for (const auto &[name, size] : names_of(s))
        facts[name] = size;
    facts["shape"] = s.id();
    facts["fmas"] = s.fmas();
    facts["products"] = s.products();
    facts["input_bytes"] = s.input_bytes();
    facts["input_elements"] = s.input_elements();
    facts["filter_bytes"] = s.filter_bytes();
    facts["elements"] = s.dtype == DataType::f32 ? "f32" : s.dtype == DataType::f16 ? "f16" : "i8";
    facts["filter"] = fmt::format("{}x{}", s.r, s.s);
    facts["sizes"] = shape_text(s.id());
    return facts;
}

PaperRow row_of_shape(const std::string &shape) {
    PaperRow row;
    row.shape = ConvShape::parse(shape);
    row.names = facts_of(*row.shape);
    row.names["shape"] = shape;
    return row;
}

PaperFacts facts_of(const PublishedCell &cell) {
    PaperFacts facts;
    add_facts(facts, &cell);
    facts["unit"] = unit_text(cell.unit);
    facts["printed"] = printed(cell);
    facts["factor"] = ratio_of(cell);
    return facts;
}

/// The innermost row around an expression that has something; nullptr where none has.
template <class Has> const PaperRow *row_around(const PaperScope &scope, Has has) {
    for (const PaperScope *s = &scope; s != nullptr; s = s->outer)
        if (s->row != nullptr && has(*s->row))
            return s->row;
    return nullptr;
}

/// Of which only the names are asked.
ConvShape any_shape() {
    return ConvShape::parse("n1c1h8w8k1r1s1");
}

/// Names that expressions may have everywhere.
std::vector<std::string> names_outside_of_lists() {
    std::vector<std::string> names = {"paper",   "ours",    "its",     "id",    "title",
                                      "heading", "kernels", "network", "batch", "row"};
    for (const std::string &name : names_in(facts_of(any_shape())))
        names.push_back(name);
    return names;
}

/// Names that rows of lists have.
std::vector<std::string> names_of_rows() {
    PaperFacts facts = facts_of(PublishedCell{});
    for (const std::string &name : names_in(KnownRung{}.facts()))
        facts[name], facts["before." + name];
    add_facts<CaseRow>(facts, nullptr);
    add_facts<LadderLaunch>(facts, nullptr);
    add_facts<NetworkCase>(facts, nullptr);
    add_facts<KernelTime>(facts, nullptr, "recorded.");
    add_facts<Operator>(facts, nullptr);
    add_facts<RegimeStatistics>(facts, nullptr);
    add_facts<ScalingAdvice>(facts, nullptr);
    for (const std::string name : {"one_launch", "one_record", "in_stream_s", "of_two_in_stream_s"})
        facts[name], facts["papers_" + name];
    for (const char *name :
         {"computes", "rung", "blocks", "threads", "registers", "static_bytes", "times_launched",
          "recorded_on", "output", "parameters", "multiply_adds", "values", "worth", "devices", "step",
          "efficiency", "weak_step", "weak_efficiency", "exchange"})
        facts[name];
    return names_in(facts);
}

} // namespace

std::vector<std::string> Evaluator::names(const PaperMethod &method) {
    std::vector<std::string> names = names_outside_of_lists();
    const auto add = [&](const std::vector<std::string> &more, const std::string &before = "") {
        for (const std::string &name : more)
            names.push_back(before + name);
    };
    add(names_in(method.values));
    add(names_in(method.times));
    for (const std::string &time : names_in(method.times))
        add(fields_of_times(), time + ".");
    const ConvShape shape = any_shape();
    std::vector<std::string> of_gpus = names_in(facts_of(GpuProfile{}, &shape));
    of_gpus.emplace_back("no_time");
    for (const char *gpu : {"paper.", "ours.", "its."})
        add(of_gpus, gpu);
    add(names_of_rows());
    for (const auto &[name, list] : method.lists)
        add(list.columns);
    return names;
}

const ForecastGpu &Evaluator::gpu_of(AskedGpu asked, const PaperScope &scope) const {
    if (asked != AskedGpu::its)
        return asked == AskedGpu::paper ? context_.papers() : context_.ours();
    if (const PaperRow *row = row_around(scope, [](const PaperRow &r) { return r.gpu != nullptr; }))
        return *row->gpu;
    throw UsageError("'its' is of the GPU that a list \"gpus\" is at; there is none here");
}

const PaperFacts &Evaluator::known_of(const ForecastGpu &gpu, const PaperScope &scope) {
    const PaperRow *row = row_around(scope, [](const PaperRow &r) { return r.shape.has_value(); });
    const ConvShape *shape = row != nullptr ? &*row->shape : nullptr;
    return made_once(facts_, gpu.profile.id + (shape != nullptr ? " " + shape->id() : ""),
                     [&] { return facts_of(gpu.profile, shape); });
}

PaperValue Evaluator::named(const std::string &name, const PaperScope &scope) {
    constexpr int deepest = 40;
    if (depth_ > deepest)
        throw UsageError("the value '" + name + "' is computed from itself");
    if (const PaperRow *row = row_around(scope, [&](const PaperRow &r) { return r.names.contains(name); }))
        return row->names.at(name);
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
        return of_time(before, after, scope);
    if (before == "outer" && scope.outer != nullptr)
        return named(after, *scope.outer);
    if (before == "knob") // of a setting that has none of this name
        return {};
    if (AskedGpu asked{}; boost::describe::enum_from_string(before.c_str(), asked)) {
        const ForecastGpu &gpu = gpu_of(asked, scope);
        if (after.empty())
            return short_name(gpu.profile);
        if (after == "no_time") {
            const std::string why = &gpu == &context_.papers() ? context_.no_time() : "";
            return why.empty() ? PaperValue() : PaperValue(why);
        }
        const PaperFacts &facts = known_of(gpu, scope);
        if (const auto found = facts.find(after); found != facts.end())
            return found->second;
    }
    if (name == "id" || name == "title" || name == "heading")
        return name == "id" ? item_.id : name == "title" ? title_of(item_) : item_.title;
    if (name == "kernels")
        return item_.answer.paper_kernels.size();
    if (name == "network")
        return network();
    if (name == "batch")
        return batch();
    throw UsageError("'" + shortened(name) +
                     "' has no value here; known outside of lists: " + join(names_outside_of_lists()));
}

const std::vector<Evaluator::List> &Evaluator::lists() {
    using E = Evaluator &;
    static const std::vector<List> all = {
        {"shapes", [](E e) { return rows_of(e.context_.study(e.study()).shapes, row_of_shape); }},
        {"gpus",
         [](E e) -> PaperRows {
             return {{{}, {}, &e.context_.papers()}, {{}, {}, &e.context_.ours()}};
         }},
        {"cases", &Evaluator::cases},
        {"published",
         [](E e) {
             return rows_of(e.item_.published, [](const auto &cell) { return PaperRow{facts_of(cell)}; });
         }},
        {"rungs",
         [](E e) {
             return rows_of(e.asked_rungs(), [](const auto *rung) { return PaperRow{rung->facts()}; });
         }},
        {"steps", [](E e) { return steps_of(e.asked_rungs()); }},
        {"published_steps", &Evaluator::published_steps},
        {"launches", &Evaluator::launches},
        {"operators", &Evaluator::operators},
        {"recorded_rungs", &Evaluator::recorded_rungs},
        {"recorded_kernels", &Evaluator::recorded_kernels},
        {"opinions", &Evaluator::opinions},
        {"two_gpus", &Evaluator::two_gpus},
        {"recorded_steps", [](E e) { return rows_of(e.recorded_scaling().cases); }},
        {"several_gpus", &Evaluator::several_gpus},
        {"advice", [](E e) { return rows_of(e.by_images().advice); }}};
    return all;
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
    return made_once(lists_, name, [&] {
        const auto own = method_.lists.find(name);
        const auto known =
            std::find_if(lists().begin(), lists().end(), [&](const List &one) { return one.name == name; });
        PaperRows rows = own != method_.lists.end() ? written(own->second) : known->rows(*this);
        for (std::size_t i = 0; i < rows.size(); ++i)
            rows[i].names.emplace("row", i + 1);
        return rows;
    });
}

PaperRows Evaluator::written(const PaperList &list) {
    PaperRows rows;
    for (const std::string &study : list.studies)
        for (const std::string &shape : context_.study(study).shapes)
            rows.push_back(row_of_shape(shape));
    for (std::int64_t i = 0; i < list.count.value_or(0); ++i)
        rows.emplace_back().names[list.columns.front()] = i;
    for (const std::vector<std::string> &cells : list.rows) {
        PaperRow &row = rows.emplace_back();
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const std::string &column = list.columns[i], &cell = cells[i];
            const bool number = !cell.empty() && cell.find_first_not_of("0123456789.") == std::string::npos;
            row.names[column] = cell.starts_with('=') ? value(cell.substr(1), {})
                                : number              ? PaperValue(std::strtod(cell.c_str(), nullptr))
                                                      : PaperValue(cell);
            if (column == "shape" && !cell.starts_with('=')) {
                PaperRow shape = row_of_shape(cell);
                row.shape = shape.shape;
                row.names.merge(shape.names);
            }
            if (column == "gpu" && !cell.starts_with('='))
                row.gpu = &context_.gpu(cell);
        }
    }
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

PaperRows Evaluator::operators() {
    PaperRows rows;
    const Network its = find_network(network());
    for (std::size_t i = 0; i < its.operators.size(); ++i) {
        const Operator &op = its.operators[i];
        const ImageShape input = its.input_shapes(i).front();
        PaperRow &row = rows.emplace_back();
        add_facts(row.names, &op);
        row.names["output"] = to_text(op.output);
        row.names["parameters"] = parameters(op, input);
        row.names["multiply_adds"] = fmas_of(op, input, 1);
        row.names["values"] = elements(op.output);
    }
    return rows;
}

} // namespace convcast
