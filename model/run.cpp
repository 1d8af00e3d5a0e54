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

void check_term(const Term &term, const std::string &place, std::vector<InputProblem> &problems) {
    if (const std::optional<std::string> why = wrong_children(term))
        problems.push_back({place, *why});
    for (std::size_t i = 0; i < term.children.size(); ++i)
        check_term(term.children[i], place + "/children/" + std::to_string(i), problems);
}

} // namespace

Run read_run(const std::string &text, const std::string &file) {
    Run run = described::read_document<Run>(text, file, "convcast/run/1");
    std::vector<InputProblem> problems;
    for (std::size_t i = 0; i < run.cases.size(); ++i) {
        const Case &item = run.cases[i];
        const std::string place = file + ": /cases/" + std::to_string(i);
        try {
            ConvShape::parse(item.shape);
        } catch (const UsageError &error) {
            problems.push_back({place + "/shape", error.what()});
        }
        const auto check_timeline = [&](const std::string &where, const std::optional<Timeline> &timeline) {
            if (timeline)
                for (const std::string &problem : problems_of(*timeline))
                    problems.push_back({place + where + "/timeline", problem});
        };
        for (const Measurement &m : item.measurements) {
            if (!(m.time_s.value > 0.0 && m.time_s.value < 1e6))
                problems.push_back({place + "/measurements", "expected time_s above zero, in seconds"});
            check_timeline("/measurements", m.timeline);
        }
        if (item.prediction)
            check_timeline("/prediction", item.prediction->timeline);
        if (item.prediction && item.prediction->term)
            check_term(*item.prediction->term, place + "/prediction/term", problems);
        if (item.strategy.has_value() == item.baseline.has_value())
            problems.push_back({place, "expected either \"strategy\" or \"baseline\""});
    }
    if (!problems.empty())
        throw InputError(std::move(problems));
    return run;
}

std::string write_run(const Run &run) { return to_text(described::write(run)); }

} // namespace convcast
