#include "model/run.hpp"

#include "model/conv_shape.hpp"
#include "model/described.hpp"

namespace convcast {

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
        if (item.strategy.has_value() == item.baseline.has_value())
            problems.push_back({place, "expected either \"strategy\" or \"baseline\""});
    }
    if (!problems.empty())
        throw InputError(std::move(problems));
    return run;
}

std::string write_run(const Run &run) { return to_text(described::write(run)); }

} // namespace convcast
