#include "model/time/term.hpp"

#include "model/time/formula.hpp"

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

double largest_of(std::span<const Seconds> values) {
    return values.empty() ? 0.0 : std::max_element(values.begin(), values.end())->value;
}

double sum_of(std::span<const Seconds> values) {
    double total = 0.0;
    for (const Seconds v : values)
        total += v.value;
    return total;
}

/// (sum value^exponent)^(1/exponent), in multiples of the largest value so that no power overflows.
double pnorm_of(double exponent, std::span<const Seconds> values) {
    const double largest = largest_of(values);
    if (largest <= 0.0)
        return 0.0;
    double total = 0.0;
    for (const Seconds v : values) // most are the largest or zero: std::pow would take most of the time here
        total += v.value == largest ? 1.0 : v.value == 0.0 ? 0.0 : std::pow(v.value / largest, exponent);
    return largest * std::pow(total, 1.0 / exponent);
}

/// F5: one round of `jobs` in a closed queue, in seconds, by mean value analysis: from one job on, each pass
/// of the loop adds a job that finds at each resource what the jobs before it leave there on average. The
/// values are the time of each resource for all jobs and, last, that of one job alone; what remains of the
/// latter a job spends elsewhere, waiting for nobody. A job that arrives finds the share `left` of the job in
/// service still to do: 1 if service times are random (memoryless), 0.5 if all are equal.
double closed_queue(double jobs, std::span<const Seconds> services_and_alone, double left) {
    struct Resource {
        double served;  ///< seconds in which it serves one job
        double stay;    ///< seconds that a job spends at it, waiting and being served
        double waiting; ///< jobs that a job which arrives has to wait for
    };
    boost::container::small_vector<Resource, 3> resources;
    const double whole_jobs = std::max(1.0, std::floor(jobs));
    double elsewhere = services_and_alone.back().value, longest = 0.0;
    for (const Seconds service : services_and_alone.first(services_and_alone.size() - 1)) {
        resources.push_back({service.value / std::max(1.0, jobs), 0.0, 0.0});
        elsewhere -= resources.back().served;
        longest = std::max(longest, service.value);
    }
    elsewhere = std::max(0.0, elsewhere);
    double round = 0.0; // a job's time at the resources and elsewhere
    // No SM holds more than 64 warps; of more jobs the busiest resource decides.
    const auto most = static_cast<int>(std::min(whole_jobs, 64.0));
    for (int n = 1; n <= most; ++n) {
        round = elsewhere;
        for (Resource &resource : resources) {
            resource.stay = resource.served * (1.0 + resource.waiting);
            round += resource.stay;
        }
        for (Resource &resource : resources)
            resource.waiting =
                round > 0.0 ? n * (resource.stay - (1.0 - left) * resource.served) / round : 0.0;
    }
    return std::max(round, longest);
}

/// What is wrong with a node's number of children; absent where it fits the kind.
std::optional<std::string> wrong_children(const Term &term) {
    struct Rule {
        TermKind kind;
        std::size_t least, most;
        const char *says;
    };
    constexpr std::size_t any = std::numeric_limits<std::size_t>::max();
    static constexpr Rule rules[] = {
        {TermKind::leaf, 0, 0, "a leaf has no children"},
        {TermKind::pipeline, 3, 3, "a pipeline has three children"},
        {TermKind::schedule, 2, 2, "a schedule has two children"},
        {TermKind::scaled, 1, 1, "a scaled term has one child"},
        {TermKind::queue, 2, any, "a queue has two children or more"},
        {TermKind::alike, 2, any, "a queue of like jobs has two children or more"}};
    const std::size_t count = term.children.size();
    for (const Rule &rule : rules)
        if (rule.kind == term.kind && (count < rule.least || count > rule.most))
            return rule.says;
    return std::nullopt;
}

using Values = boost::container::small_vector<Seconds, 6>;

/// A node's value in seconds: a leaf's own, another node's from the values of its children.
double value_from(const Term &term, std::span<const Seconds> values) {
    if (term.kind == TermKind::leaf)
        return term.value_s.value;
    return formula::combine(
        term.kind, term.kind == TermKind::pnorm ? term.exponent.value_or(1.0) : term.count.value_or(0.0),
        values);
}

/// Appends the names of the leaves, each once, in the order in which they first appear.
void add_names(const Term &term, std::vector<std::string> &names) {
    if (term.kind == TermKind::leaf && std::find(names.begin(), names.end(), term.name) == names.end())
        names.push_back(term.name);
    for (const Term &child : term.children)
        add_names(child, names);
}

/// The tree's value in seconds with the leaves of the names `on` alone; all others are 0.
double value_with(const Term &term, std::span<const std::string> on) {
    if (term.kind == TermKind::leaf)
        return std::find(on.begin(), on.end(), term.name) == on.end() ? 0.0 : term.value_s.value;
    Values values;
    for (const Term &child : term.children)
        values.push_back(Seconds(value_with(child, on)));
    return value_from(term, {values.data(), values.size()});
}

} // namespace

void Term::check(const FieldProblem &problem) const {
    if (const std::optional<std::string> why = wrong_children(*this))
        problem("children", *why);
}

double formula::combine(TermKind kind, double number, std::span<const Seconds> values) {
    switch (kind) {
    case TermKind::sum:
        return sum_of(values);
    case TermKind::max:
        return largest_of(values);
    case TermKind::pnorm:
        return pnorm_of(number, values);
    case TermKind::pipeline:
        return values[0].value + std::max(0.0, number - 1.0) * values[1].value + values[2].value;
    case TermKind::schedule:
        return number * values[0].value + values[1].value;
    case TermKind::scaled:
        return number * values[0].value;
    case TermKind::queue:
        return closed_queue(number, values, 1.0);
    case TermKind::alike:
        return closed_queue(number, values, 0.5);
    case TermKind::leaf:
        break;
    }
    return 0.0;
}

Seconds evaluate(Term &term) {
    Values values;
    for (Term &child : term.children)
        values.push_back(evaluate(child));
    term.value_s = Seconds(value_from(term, {values.data(), values.size()}));
    return term.value_s;
}

std::vector<Bar> waterfall(const Term &term) {
    std::vector<std::string> names;
    add_names(term, names);
    std::vector<Bar> bars;
    double before = 0.0;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const double after = value_with(term, std::span(names).first(i + 1));
        bars.push_back({names[i], Seconds(after - before)});
        before = after;
    }
    return bars;
}

std::string limiter(const Term &term) {
    const std::vector<Bar> bars = waterfall(term);
    const auto tallest = std::max_element(bars.begin(), bars.end(),
                                          [](const Bar &a, const Bar &b) { return a.added_s < b.added_s; });
    return tallest == bars.end() ? "" : tallest->name;
}

} // namespace convcast
