// What the names in a paper's expressions stand for, in rows, for shapes and for GPUs; and rows of lists.
#include "model/base/errors.hpp"
#include "model/network/network.hpp"
#include "model/network/network_run.hpp"
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

/// What is known of a GPU: the fields of its profile and limits, "peer_bandwidth" (bytes a second to the GPU
/// beside it that is reached fastest), and the papers' rules: without a shape (nullptr) those of Table 1,
/// with one also the shape's own, and where it has one channel the division of section 3.1 of Chang's paper.
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
        if (link.bandwidth_bytes_per_s)
            best = std::max(best.value_or(0.0), link.bandwidth_bytes_per_s->value);
    facts["peer_bandwidth"] = best;
    return facts;
}

/// A row for a convolution: its text as "shape", its sizes, and what follows from them.
PaperRow row_of_shape(const std::string &shape) {
    const ConvShape s = ConvShape::parse(shape);
    PaperFacts facts = {{"shape", shape},
                        {"fmas", s.fmas()},
                        {"products", s.products()},
                        {"input_bytes", s.input_bytes()},
                        {"input_elements", s.input_elements()},
                        {"filter_bytes", s.filter_bytes()},
                        {"elements", s.dtype == DataType::f32   ? "f32"
                                     : s.dtype == DataType::f16 ? "f16"
                                                                : "i8"},
                        {"filter", fmt::format("{}x{}", s.r, s.s)},
                        {"sizes", shape_text(shape)}};
    for (const auto &[name, size] : names_of(s))
        facts[name] = size;
    return {std::move(facts), s};
}

/// The fields of a published number, its unit as text, the number as printed, and the ratio that it gives.
PaperFacts facts_of(const PublishedCell &cell) {
    PaperFacts facts;
    add_facts(facts, &cell);
    facts["unit"] = unit_text(cell.unit);
    facts["printed"] = printed(cell);
    facts["factor"] = ratio_of(cell);
    return facts;
}

/// The innermost row around an expression for which `has` is true; nullptr where it is for none.
template <class Has> const PaperRow *row_around(const PaperScope &scope, Has has) {
    for (const PaperScope *s = &scope; s != nullptr; s = s->outer)
        if (s->row != nullptr && has(*s->row))
            return s->row;
    return nullptr;
}

/// A name that has a value in every row and outside of rows.
struct Global {
    const char *name;
    PaperValue (*of)(const Evaluator &);
};
constexpr Global globals[] = {
    {"id", [](const Evaluator &e) { return PaperValue(e.item().id); }},
    {"title", [](const Evaluator &e) { return PaperValue(title_of(e.item())); }},
    {"heading", [](const Evaluator &e) { return PaperValue(e.item().title); }},
    {"kernels", [](const Evaluator &e) { return PaperValue(e.item().answer.paper_kernels.size()); }},
    {"network", [](const Evaluator &e) { return PaperValue(e.network()); }},
    {"batch", [](const Evaluator &e) { return PaperValue(e.batch()); }},
    {"papers_batch", [](const Evaluator &e) { return PaperValue(batch_of_paper(e.network())); }}};

/// A shape where only the names of what is known of it are asked.
const char *const any_shape = "n1c1h8w8k1r1s1";

/// All names that a row of some list has; their values mean nothing.
PaperFacts any_row() {
    PaperFacts facts = facts_of(PublishedCell{});
    facts.merge(row_of_shape(any_shape).names);
    for (const auto &[name, value] : KnownRung{}.facts())
        facts[name], facts["before." + name];
    add_facts<CaseRow>(facts, nullptr);
    add_facts<LadderLaunch>(facts, nullptr);
    add_facts<NetworkCase>(facts, nullptr);
    add_facts<KernelTime>(facts, nullptr, "recorded.");
    add_facts<Operator>(facts, nullptr);
    add_facts<RegimeStatistics>(facts, nullptr);
    add_facts<ScalingAdvice>(facts, nullptr);
    add_facts<ScalingPoint>(facts, nullptr);
    add_facts<DeclaredKernel>(facts, nullptr);
    for (const std::string before : {"forecast.", "papers.", "half.", "papers_half."}) {
        add_facts<KernelForecast>(facts, nullptr, before);
        facts[before + "in_stream_s"];
    }
    for (const char *name : {"row", "computes", "rung", "blocks", "threads", "times_launched", "recorded_on",
                             "output", "parameters", "multiply_adds", "values", "worth"})
        facts[name];
    return facts;
}

/// The study's cases of our strategies as measured on our GPU; none where nothing was.
PaperRows cases(Evaluator &e) {
    PaperRows rows;
    if (const StudyResults *results = e.results())
        for (const CaseRow &row : results->statistics.cases)
            if (!row.baseline)
                add_facts(rows.emplace_back().names, &row);
    return rows;
}

/// The numbers that the item prints.
PaperRows published(Evaluator &e) {
    PaperRows rows;
    for (const PublishedCell &cell : e.item().published)
        rows.push_back({facts_of(cell)});
    return rows;
}

/// How often the regime of a call that the paper's rules, the physical rules or the forecast give is the one
/// that the counters show: a row for each of the three; "worth" says in words what the agreement is worth.
PaperRows opinions(Evaluator &e) {
    PaperRows rows;
    if (const StudyResults *results = e.results())
        for (const char *opinion : {"paper", "physical", "forecast"})
            if (const RegimeStatistics *its = over_all(results->statistics.regimes, opinion)) {
                add_facts(rows.emplace_back().names, its);
                rows.back().names["worth"] = worth_of(*its);
            }
    return rows;
}

/// A row for each convolution of the studies, by their ids.
PaperRows shapes_of(const std::vector<std::string> &studies, const PaperContext &context) {
    PaperRows rows;
    for (const std::string &study : studies)
        for (const std::string &shape : context.study(study).shapes)
            rows.push_back(row_of_shape(shape));
    return rows;
}

} // namespace

std::vector<std::string> Evaluator::names(const PaperMethod &method) {
    static const std::vector<std::string> known = [] {
        std::vector<std::string> all = names_in(globals);
        const ConvShape shape = ConvShape::parse(any_shape);
        PaperFacts of_gpus = facts_of(GpuProfile{}, &shape);
        of_gpus["no_time"];
        for (const std::string gpu : {"paper", "ours", "its"}) {
            all.push_back(gpu);
            for (const auto &[name, value] : of_gpus)
                all.push_back(gpu + "." + name);
        }
        for (const auto &[name, value] : any_row())
            all.push_back(name);
        return all;
    }();
    std::vector<std::string> all = names_in(method.values);
    all.insert(all.end(), known.begin(), known.end());
    for (const auto &[time, its] : method.times) {
        all.push_back(time);
        for (const std::string &field : fields_of_times())
            all.push_back(time + "." + field);
    }
    for (const auto &[name, list] : method.lists)
        all.insert(all.end(), list.columns.begin(), list.columns.end());
    return all;
}

std::string Evaluator::study() const {
    if (!item_.answer.study)
        throw UsageError("expected \"study\" in the item's answer, for example \"chang_multi\"");
    return *item_.answer.study;
}

std::string Evaluator::network() const {
    if (!item_.answer.network)
        throw UsageError("expected \"network\" in the item's answer, for example \"fashion_mnist\"");
    return *item_.answer.network;
}

void Evaluator::use_batch(const std::optional<std::int64_t> &batch) {
    if (batch != batch_)
        lists_.clear();
    batch_ = batch;
}

/// The GPU that is asked for; `its` is that of the innermost row with one. Throws UsageError if none has one.
const ForecastGpu &Evaluator::gpu_of(AskedGpu asked, const PaperScope &scope) const {
    if (asked != AskedGpu::its)
        return asked == AskedGpu::paper ? context_.papers() : context_.ours();
    if (const PaperRow *row = row_around(scope, [](const PaperRow &r) { return r.gpu != nullptr; }))
        return *row->gpu;
    throw UsageError("'its' is of the GPU that a list \"gpus\" is at; there is none here");
}

/// facts_of a GPU, for the shape that `scope` is at, if any; "no_time" is why the paper's GPU has no time.
const PaperFacts &Evaluator::facts_of_gpu(const ForecastGpu &gpu, const PaperScope &scope) {
    const PaperRow *row = row_around(scope, [](const PaperRow &r) { return r.shape.has_value(); });
    const ConvShape *shape = row != nullptr ? &*row->shape : nullptr;
    return made_once(facts_, gpu.profile.id + (shape != nullptr ? " " + shape->id() : ""), [&] {
        PaperFacts facts = facts_of(gpu.profile, shape);
        const std::string no_time = &gpu == &context_.papers() ? context_.no_time() : "";
        facts["no_time"] = no_time.empty() ? PaperValue() : PaperValue(no_time);
        return facts;
    });
}

/// What a name means where an expression stands: a name of the innermost row that has it, else a value of the
/// method, a time ("own") or a field of one ("own.low"), a name outside of the innermost list ("outer.h"), a
/// GPU ("ours", its name) or a number of it ("ours.n_fma"), or a global. Else throws UsageError.
PaperValue Evaluator::value_of_name(const std::string &name, const PaperScope &scope) {
    constexpr int deepest = 40; // values that use each other: above this only those come that use themselves
    if (depth_ > deepest)
        throw UsageError("the value '" + name + "' is computed from itself");
    if (const PaperRow *row = row_around(scope, [&](const PaperRow &r) { return r.names.contains(name); }))
        return row->names.at(name);
    const std::size_t dot = name.find('.');
    const std::string before = name.substr(0, dot),
                      after = dot == std::string::npos ? "" : name.substr(dot + 1);
    if (const auto found = names_.values.find(name); found != names_.values.end()) {
        ++depth_;
        const PaperValue out = value(found->second, scope);
        --depth_;
        return out;
    }
    if (names_.times.contains(before))
        return time(before, scope)[after]; // "" where no field is named: the time itself
    if (before == "outer" && scope.outer != nullptr)
        return value_of_name(after, *scope.outer);
    if (before == "knob") // a row of a setting has its knobs: this one lacks the knob
        return {};
    if (AskedGpu asked{}; boost::describe::enum_from_string(before.c_str(), asked)) {
        const ForecastGpu &gpu = gpu_of(asked, scope);
        if (after.empty())
            return short_name(gpu.profile);
        const PaperFacts &facts = facts_of_gpu(gpu, scope);
        if (const auto found = facts.find(after); found != facts.end())
            return found->second;
    }
    if (const auto *global = std::ranges::find(globals, name, &Global::name); global != std::end(globals))
        return global->of(*this);
    throw UsageError("'" + shortened(name) + "' has no value here; known outside of lists: paper, ours, " +
                     join(names_in(globals)));
}

const std::vector<Evaluator::List> &Evaluator::lists() {
    static const std::vector<List> all = [] {
        std::vector<List> known = network_lists();
        known.insert(known.end(),
                     {{"shapes", [](Evaluator &e) { return shapes_of({e.study()}, e.context()); }},
                      {"gpus",
                       [](Evaluator &e) -> PaperRows {
                           return {{{}, {}, &e.context().papers()}, {{}, {}, &e.context().ours()}};
                       }},
                      {"cases", cases},
                      {"published", published},
                      {"opinions", opinions}});
        return known;
    }();
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

/// The rows of a list by its name, made once; "row" counts them from 1. check_names knows the name.
const PaperRows &Evaluator::list(const std::string &name) {
    return made_once(lists_, name, [&] {
        const auto own = names_.lists.find(name);
        PaperRows rows = own != names_.lists.end()
                             ? rows_written_in(own->second)
                             : std::ranges::find(lists(), name, &List::name)->rows(*this);
        for (std::size_t i = 0; i < rows.size(); ++i)
            rows[i].names.emplace("row", i + 1);
        return rows;
    });
}

/// The rows of a list that a paper's document writes down: shapes of studies, numbers, or cells, of which
/// "=peak / 2" is computed outside of all rows and digits are a number.
PaperRows Evaluator::rows_written_in(const PaperList &list) {
    PaperRows rows = shapes_of(list.studies, context_);
    for (std::int64_t i = 0; i < list.count.value_or(0); ++i)
        rows.emplace_back().names[list.columns.front()] = i;
    for (const std::vector<std::string> &cells : list.rows) {
        PaperRow &row = rows.emplace_back();
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const std::string &column = list.columns[i], &cell = cells[i];
            const bool computed = cell.starts_with('='),
                       number = !cell.empty() && cell.find_first_not_of("0123456789.") == std::string::npos;
            row.names[column] = computed ? value(cell.substr(1), {})
                                : number ? PaperValue(std::strtod(cell.c_str(), nullptr))
                                         : PaperValue(cell);
            if (column == "shape" && !computed) {
                PaperRow shape = row_of_shape(cell);
                row.shape = shape.shape;
                row.names.merge(shape.names);
            }
            if (column == "gpu" && !computed)
                row.gpu = &context_.gpu(cell);
        }
    }
    return rows;
}

} // namespace convcast
