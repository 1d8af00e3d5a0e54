#include "cli/question.hpp"

#include "cli/version.hpp"
#include "executor/baselines.hpp"
#include "model/errors.hpp"
#include "model/forecast.hpp"
#include "model/study.hpp"

#include <set>

namespace convcast::cli {

std::vector<Option> question_options() {
    return {{"gpu", Option::text},       {"shape", Option::texts}, {"study", Option::texts},
            {"strategy", Option::texts}, {"json", Option::flag},   {"output,o", Option::text}};
}

Question read_question(const std::string &verb, const Arguments &arguments) {
    Question question;
    for (const std::string &text : arguments.texts("shape"))
        question.shapes.push_back({ConvShape::parse(text), std::nullopt});
    for (const std::string &name : arguments.texts("study")) {
        const Study study = find_study(name);
        for (const std::string &text : study.shapes)
            question.shapes.push_back({ConvShape::parse(text), study.id});
    }
    if (question.shapes.empty())
        throw UsageError(verb + ": no shape asked; give --shape n1c64h56w56k64r3s3 or --study " +
                         "NAME, one of " + join(shipped_studies()));
    for (const std::string &text : arguments.texts("strategy")) {
        if (is_baseline(text))
            check_baseline(text);
        else
            parse_strategy(text); // refuse early, before any work
        question.strategies.push_back(text);
    }
    question.profile = find_profile(arguments.text("gpu", "h200"));
    return question;
}

std::vector<Case> predict_all(const Question &question, bool with_baselines, int best) {
    std::vector<Case> cases;
    for (const AskedShape &asked : question.shapes) {
        std::set<std::string> there;
        const auto add = [&](Case item) {
            item.study = asked.study;
            if (!item.strategy || there.insert(*item.strategy).second)
                cases.push_back(std::move(item));
        };
        if (question.strategies.empty()) {
            std::vector<Case> unsupported;
            for (const std::string &name : strategy_names()) {
                Case item = predict(parse_strategy(name), asked.shape, question.profile);
                if (item.status == Status::unsupported)
                    unsupported.push_back(std::move(item));
                else
                    add(std::move(item));
            }
            if (there.empty()) // silence would not be an answer
                for (Case &item : unsupported)
                    add(std::move(item));
            if (with_baselines)
                for (const std::string &name : baselines())
                    add(predict_baseline(name, asked.shape, question.profile));
        }
        for (const std::string &text : question.strategies) {
            if (!is_baseline(text))
                add(predict(parse_strategy(text), asked.shape, question.profile));
            else
                for (const std::string &name : baselines_named(text))
                    add(predict_baseline(name, asked.shape, question.profile));
        }
        int rank = 0;
        if (best > 0)
            for (Case &item : choose(asked.shape, question.profile))
                if (item.status == Status::ok && rank++ < best)
                    add(std::move(item));
    }
    return cases;
}

Run new_run(const GpuProfile &profile, std::vector<Case> cases) {
    Run run;
    run.producer = producer();
    run.profile_id = profile.id;
    run.profile_hash = profile_hash(profile);
    run.cases = std::move(cases);
    return run;
}

} // namespace convcast::cli
