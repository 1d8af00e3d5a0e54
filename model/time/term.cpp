#include "model/time/term.hpp"

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace combined {

double sum(std::span<const Seconds> values) {
    double total = 0.0;
    for (const Seconds v : values)
        total += v.value;
    return total;
}

double max(std::span<const Seconds> values) {
    return values.empty() ? 0.0 : std::max_element(values.begin(), values.end())->value;
}

double pnorm(double exponent, std::span<const Seconds> values) {
    const double largest = max(values);
    if (largest <= 0.0)
        return 0.0;
    double total = 0.0;
    for (const Seconds v : values) // most are the largest or nothing, whose powers are known
        total += v.value == largest ? 1.0 : v.value == 0.0 ? 0.0 : std::pow(v.value / largest, exponent);
    return largest * std::pow(total, 1.0 / exponent);
}

double pipeline(double steps, double fill, double step, double drain) {
    return fill + std::max(0.0, steps - 1.0) * step + drain;
}

double schedule(double full_waves, double wave, double tail) {
    return full_waves * wave + tail;
}

/// A round of `jobs` in a closed queue by mean value analysis: a job is served `service / jobs` by each
/// resource that all share and spends what is left of `alone` elsewhere. Of the job that a resource serves a
/// job that comes finds the share `left` still to do.
double closed_queue(double jobs, std::span<const Seconds> services, double alone, double left) {
    struct Resource {
        double served, there, waiting; ///< a job's service and time at it; jobs at it
    };
    boost::container::small_vector<Resource, 3> resources;
    const double whole = std::max(1.0, std::floor(jobs));
    double elsewhere = alone, longest = 0.0;
    for (const Seconds service : services) {
        resources.push_back({service.value / std::max(1.0, jobs), 0.0, 0.0});
        elsewhere -= resources.back().served;
        longest = std::max(longest, service.value);
    }
    elsewhere = std::max(0.0, elsewhere);
    double round = 0.0; // a job's time at the resources and elsewhere
    const auto most = static_cast<int>(std::min(whole, 64.0));
    for (int n = 1; n <= most; ++n) {
        round = elsewhere;
        for (Resource &resource : resources) {
            resource.there = resource.served * (1.0 + resource.waiting);
            round += resource.there;
        }
        for (Resource &resource : resources)
            resource.waiting =
                round > 0.0 ? n * (resource.there - (1.0 - left) * resource.served) / round : 0.0;
    }
    return std::max(round, longest);
}

double queue(double jobs, std::span<const Seconds> services, double alone) {
    return closed_queue(jobs, services, alone, 1.0);
}

double alike(double jobs, std::span<const Seconds> services, double alone) {
    return closed_queue(jobs, services, alone, 0.5);
}

} // namespace combined

namespace {

/// What a node's kind says of its number of children, where it has another one.
std::optional<std::string> wrong_children(const Term &term) {
    const std::size_t count = term.children.size();
    switch (term.kind) {
    case TermKind::leaf:
        return count == 0 ? std::nullopt : std::optional<std::string>("a leaf has no children");
    case TermKind::pipeline:
        return count == 3 ? std::nullopt : std::optional<std::string>("a pipeline has three children");
    case TermKind::schedule:
        return count == 2 ? std::nullopt : std::optional<std::string>("a schedule has two children");
    case TermKind::scaled:
        return count == 1 ? std::nullopt : std::optional<std::string>("a scaled term has one child");
    case TermKind::queue:
    case TermKind::alike:
        return count >= 2 ? std::nullopt : std::optional<std::string>("a queue has two children or more");
    case TermKind::sum:
    case TermKind::max:
    case TermKind::pnorm:
        break;
    }
    return std::nullopt;
}

Term inner(TermKind kind, std::string name, std::vector<Term> children) {
    Term term;
    term.kind = kind;
    term.name = std::move(name);
    term.children = std::move(children);
    return term;
}

/// An inner node's value from its children's.
double combine(const Term &term, std::span<const Seconds> values) {
    const double count = term.count.value_or(0.0);
    switch (term.kind) {
    case TermKind::sum:
        return combined::sum(values);
    case TermKind::max:
        return combined::max(values);
    case TermKind::pnorm:
        return combined::pnorm(term.exponent.value_or(1.0), values);
    case TermKind::pipeline:
        return combined::pipeline(count, values[0].value, values[1].value, values[2].value);
    case TermKind::schedule:
        return combined::schedule(count, values[0].value, values[1].value);
    case TermKind::scaled:
        return count * values[0].value;
    case TermKind::queue:
        return combined::queue(count, values.first(values.size() - 1), values.back().value);
    case TermKind::alike:
        return combined::alike(count, values.first(values.size() - 1), values.back().value);
    case TermKind::leaf:
        break;
    }
    return term.value_s.value;
}

/// A tree whose leaves are switched on one after another. What a leaf changes are the nodes above it, so only
/// these are computed again.
class SwitchedTree {
  public:
    explicit SwitchedTree(const Term &root) { add(root, -1); }

    /// Names of the leaves, each once, in the order in which they first appear.
    std::size_t names() const { return leaves_.size(); }
    const std::string &name(std::size_t i) const { return *leaves_[i].name; }

    /// The tree's value with one more name on.
    double switch_on(std::size_t name) {
        for (const int leaf : leaves_[name].nodes) {
            nodes_[static_cast<std::size_t>(leaf)].value =
                nodes_[static_cast<std::size_t>(leaf)].term->value_s;
            for (int at = nodes_[static_cast<std::size_t>(leaf)].parent; at >= 0;
                 at = nodes_[static_cast<std::size_t>(at)].parent)
                nodes_[static_cast<std::size_t>(at)].stale = true;
        }
        for (std::size_t i = nodes_.size(); i-- > 0;) // children stand behind their parents
            if (nodes_[i].stale)
                compute(nodes_[i]);
        return nodes_.front().value.value;
    }

  private:
    struct Node {
        const Term *term;
        int parent;
        Seconds value{};
        bool stale = true; ///< what leaves that are off make of an inner node is to be found too
        boost::container::small_vector<int, 6> children{};
    };
    struct Leaf {
        const std::string *name;
        std::vector<int> nodes;
    };

    int add(const Term &term, int parent) {
        const int place = static_cast<int>(nodes_.size());
        nodes_.push_back({&term, parent});
        if (term.kind == TermKind::leaf) {
            nodes_.back().stale = false;
            const auto found = std::find_if(leaves_.begin(), leaves_.end(),
                                            [&](const Leaf &leaf) { return *leaf.name == term.name; });
            Leaf &leaf = found != leaves_.end() ? *found : leaves_.emplace_back(Leaf{&term.name, {}});
            leaf.nodes.push_back(place);
        }
        for (const Term &child : term.children) {
            const int its = add(child, place);
            nodes_[static_cast<std::size_t>(place)].children.push_back(its);
        }
        return place;
    }

    void compute(Node &node) {
        boost::container::small_vector<Seconds, 6> values;
        for (const int child : node.children)
            values.push_back(nodes_[static_cast<std::size_t>(child)].value);
        node.value = Seconds(combine(*node.term, {values.data(), values.size()}));
        node.stale = false;
    }

    std::vector<Node> nodes_; ///< parents before their children
    std::vector<Leaf> leaves_;
};

} // namespace

void Term::check(const FieldProblem &problem) const {
    if (const std::optional<std::string> why = wrong_children(*this))
        problem("children", *why);
}

Term leaf(std::string name, Seconds value, std::string formula) {
    Term term;
    term.name = std::move(name);
    term.formula = std::move(formula);
    term.value_s = value;
    return term;
}

Term sum(std::string name, std::vector<Term> children) {
    return inner(TermKind::sum, std::move(name), std::move(children));
}

Term max_of(std::string name, std::vector<Term> children) {
    return inner(TermKind::max, std::move(name), std::move(children));
}

Term pnorm(std::string name, double exponent, std::vector<Term> children) {
    Term term = inner(TermKind::pnorm, std::move(name), std::move(children));
    term.exponent = exponent;
    return term;
}

Term pipeline(std::string name, double steps, Term fill, Term step, Term drain) {
    Term term =
        inner(TermKind::pipeline, std::move(name), {std::move(fill), std::move(step), std::move(drain)});
    term.count = steps;
    return term;
}

Term schedule(std::string name, double full_waves, Term wave, Term tail) {
    Term term = inner(TermKind::schedule, std::move(name), {std::move(wave), std::move(tail)});
    term.count = full_waves;
    return term;
}

Term scaled(std::string name, double factor, Term term) {
    Term whole = inner(TermKind::scaled, std::move(name), {std::move(term)});
    whole.count = factor;
    evaluate(whole);
    return whole;
}

Term queue(std::string name, double jobs, std::vector<Term> services_and_alone) {
    Term term = inner(TermKind::queue, std::move(name), std::move(services_and_alone));
    term.count = jobs;
    return term;
}

Term alike(std::string name, double jobs, std::vector<Term> services_and_alone) {
    Term term = queue(std::move(name), jobs, std::move(services_and_alone));
    term.kind = TermKind::alike;
    return term;
}

Seconds evaluate(Term &term) {
    boost::container::small_vector<Seconds, 6> values;
    for (Term &child : term.children)
        values.push_back(evaluate(child));
    term.value_s = Seconds(combine(term, {values.data(), values.size()}));
    return term.value_s;
}

std::vector<Bar> waterfall(const Term &term) {
    SwitchedTree tree(term);
    std::vector<Bar> bars;
    double before = 0.0;
    for (std::size_t i = 0; i < tree.names(); ++i) {
        const double after = tree.switch_on(i);
        bars.push_back({tree.name(i), Seconds(after - before)});
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
