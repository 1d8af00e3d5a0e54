#include "model/run.hpp"

#include "model/conv_shape.hpp"
#include "model/described.hpp"

namespace convcast {
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
    case TermKind::queue:
        return count >= 2 ? std::nullopt : std::optional<std::string>("a queue has two children or more");
    case TermKind::sum:
    case TermKind::max:
    case TermKind::pnorm:
        break;
    }
    return std::nullopt;
}

void check_timeline(const std::optional<Timeline> &timeline, const FieldProblem &problem) {
    if (timeline)
        for (const std::string &sentence : problems_of(*timeline))
            problem("timeline", sentence);
}

} // namespace

void Term::check(const FieldProblem &problem) const {
    if (const std::optional<std::string> why = wrong_children(*this))
        problem("children", *why);
}

void Prediction::check(const FieldProblem &problem) const {
    if (time_low_s && time_high_s && !(*time_low_s <= *time_high_s))
        problem("time_low_s", "expected at most time_high_s");
    check_timeline(timeline, problem);
}

void Measurement::check(const FieldProblem &problem) const {
    if (!(time_s.value > 0.0))
        problem("time_s", "expected a time above zero, in seconds");
    check_timeline(timeline, problem);
}

void Case::check(const FieldProblem &problem) const {
    try {
        ConvShape::parse(shape);
    } catch (const UsageError &error) {
        problem("shape", error.what());
    }
    if (strategy.has_value() == baseline.has_value())
        problem("", "expected either \"strategy\" or \"baseline\"");
}

Run read_run(const std::string &text, const std::string &file) {
    return described::read_document<Run>(text, file, "convcast/run/1");
}

std::string write_run(const Run &run) {
    return to_text(described::write(run));
}

} // namespace convcast
