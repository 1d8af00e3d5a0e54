// Lists whose rows the answers of a paper go through.
#include "model/base/errors.hpp"
#include "model/network/network.hpp"
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
        {"recorded_rungs", names_of_facts<RungResult>()},
        {"opinions", with(names_of_facts<RegimeStatistics>(), {"worth"})},
        {"two_gpus", names_of_facts<ScalingCase>()},
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
