#include "cli/question.hpp"

#include "cli/progress.hpp"
#include "cli/timelines.hpp"
#include "cli/version.hpp"
#include "executor/baselines/names.hpp"
#include "model/base/errors.hpp"
#include "model/predict.hpp"
#include "model/record/study.hpp"
#include "model/record/sweep.hpp"

#include <boost/describe.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

/// What a document says when its cases have fewer SMs than the GPU.
constexpr const char *sms_condition = "sms";

std::string place_of_sms(const std::string &file) {
    return (file == "-" ? "standard input" : file) + ": /conditions/" + sms_condition;
}

/// Of baselines that are asked all together: the one that computes on halves is no answer for another type.
bool concerns(const std::string &baseline, const ConvShape &shape) {
    return type_of(baseline) != DataType::f16 || shape.dtype == DataType::f16;
}

bool has_timeline(const Case &item) {
    return (item.prediction && item.prediction->timeline) ||
           std::any_of(item.measurements.begin(), item.measurements.end(),
                       [](const Measurement &m) { return m.timeline.has_value(); });
}

} // namespace

std::vector<Option> question_options() {
    std::vector<Option> options = {{"gpu", Option::text},       {"sms", Option::text},
                                   {"shape", Option::texts},    {"study", Option::texts},
                                   {"strategy", Option::texts}, {"json", Option::flag},
                                   {"output,o", Option::text}};
    for (const Option &option : knowledge_options())
        options.push_back(option);
    return options;
}

Question read_question(const std::string &verb, const Arguments &arguments,
                       const std::function<int(int asked)> &sms_given) {
    Question question;
    for (const std::string &text : arguments.texts("shape"))
        question.shapes.push_back({ConvShape::parse(text), std::nullopt, {}});
    for (const std::string &name : arguments.texts("study")) {
        const Study study = find_study(name);
        for (const std::string &text : study.shapes)
            question.shapes.push_back({ConvShape::parse(text), study.id, {}});
        if (!study.sweeps.empty() && arguments.has("strategy"))
            throw UsageError(verb + ": the study " + study.id +
                             " sweeps settings of its own; leave out --strategy");
        for (const StudySweep &sweep : study.sweeps)
            for (const std::string &text : sweep.shapes)
                question.shapes.push_back({ConvShape::parse(text), study.id, sweep.strategies});
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
    supply_assumed(question.profile, arguments);
    if (arguments.has("sms")) {
        const int asked = arguments.integer("sms", 1, 1, question.profile.limits.sm_count);
        question.sms = sms_given ? sms_given(asked) : asked;
        question.profile = with_sms(std::move(question.profile), *question.sms);
    }
    question.knowledge = read_knowledge(arguments, question.profile);
    return question;
}

std::optional<int> sms_of(const Run &document, const std::string &file) {
    const auto found = document.conditions.find(sms_condition);
    if (found == document.conditions.end())
        return std::nullopt;
    const std::string &text = found->second;
    int sms = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), sms);
    if (error != std::errc{} || end != text.data() + text.size() || sms < 1)
        throw InputError(place_of_sms(file),
                         "expected the number of SMs, for example \"64\", found \"" + text + "\"");
    return sms;
}

std::vector<Case> predict_all(const Question &question, bool with_baselines, int best, int drawn) {
    if (best > 0)
        require_times(question.profile, "--choose");
    std::vector<Case> cases;
    std::set<std::pair<std::string, std::string>> swept; // a case may stand in several sweeps
    for (const AskedShape &asked : question.shapes) {
        for (const std::string &text : asked.settings) {
            Case item = predict(parse_strategy(text), asked.shape, question.profile, question.knowledge);
            item.study = asked.study;
            if (swept.emplace(item.shape, *item.strategy).second)
                cases.push_back(std::move(item));
        }
        if (!asked.settings.empty())
            continue;
        std::set<std::string> there;
        const auto add = [&](Case item) {
            item.study = asked.study;
            if (!item.strategy || there.insert(*item.strategy).second)
                cases.push_back(std::move(item));
        };
        if (question.strategies.empty()) {
            std::vector<Case> unsupported;
            for (const std::string &name : strategy_names()) {
                Case item = predict(parse_strategy(name), asked.shape, question.profile, question.knowledge);
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
                    if (concerns(name, asked.shape))
                        add(predict_baseline(name, asked.shape, question.profile));
        }
        for (const std::string &text : question.strategies) {
            if (!is_baseline(text))
                add(predict(parse_strategy(text), asked.shape, question.profile, question.knowledge));
            else
                for (const std::string &name : baselines_named(text))
                    if (name == text || concerns(name, asked.shape))
                        add(predict_baseline(name, asked.shape, question.profile));
        }
        if (drawn > 0)
            for (const std::string &name : strategy_names())
                for (const std::string &text :
                     sweep_settings(name, asked.shape, question.profile, question.knowledge.facts,
                                    static_cast<std::size_t>(drawn)))
                    add(predict(parse_strategy(text), asked.shape, question.profile, question.knowledge));
        int rank = 0;
        if (best > 0)
            for (Case &item : choose(asked.shape, question.profile, question.knowledge, {},
                                     static_cast<std::size_t>(best)))
                if (item.status == Status::ok && rank++ < best)
                    add(std::move(item));
    }
    return cases;
}

bool named_refused(const Question &question, const std::vector<Case> &cases, bool aloud) {
    bool refused = false;
    for (const Case &item : cases) {
        if (item.status != Status::infeasible && item.status != Status::unsupported)
            continue;
        const std::string text = item.strategy.value_or(""), name = text.substr(0, text.find(':'));
        for (const std::string &asked : question.strategies)
            if (asked.substr(0, asked.find(':')) == name) {
                if (aloud)
                    note(item.shape + ": " + (asked == name ? name : text) + " is " +
                         boost::describe::enum_to_string(item.status, "?") + ": " + item.reason.value_or(""));
                refused = true;
                break;
            }
    }
    return refused;
}

GpuProfile document_profile(const std::string &verb, const Run &document, const Arguments &arguments,
                            const std::string &file) {
    GpuProfile profile;
    try {
        profile =
            find_profile(arguments.text("gpu", document.profile_id.empty() ? "h200" : document.profile_id));
    } catch (const UsageError &) {
        if (arguments.has("gpu"))
            throw;
        throw UsageError(verb + ": the document was forecast from the profile '" + document.profile_id +
                         "', which does not ship; give it again with --gpu FILE");
    }
    supply_assumed(profile, arguments);
    if (const std::optional<int> sms = sms_of(document, file)) {
        if (*sms > profile.limits.sm_count)
            throw InputError(place_of_sms(file), "the document's cases have " + std::to_string(*sms) +
                                                     " SMs, the GPU '" + profile.id + "' only " +
                                                     std::to_string(profile.limits.sm_count));
        profile = with_sms(std::move(profile), *sms);
    }
    // Measured cases without forecasts hold for any profile of their GPU, also one that is measured later.
    const bool forecast = std::any_of(document.cases.begin(), document.cases.end(),
                                      [](const Case &item) { return item.prediction.has_value(); });
    if (forecast && !arguments.has("gpu") && !document.profile_hash.empty() &&
        document.profile_hash != profile_hash(profile))
        throw UsageError(
            verb + ": the document was forecast from a profile '" + document.profile_id +
            "' that is not the one that ships; give it again with --gpu FILE, or with the --assume it "
            "was made with");
    return profile;
}

bool was_run(const Run &document) {
    return document.conditions.contains("gpu");
}

void forecast_again(Run &document, const GpuProfile &profile, const Knowledge &knowledge,
                    MeasuredCases measured) {
    for (Case &item : document.cases) {
        if (!item.measurements.empty() && measured == MeasuredCases::keep)
            continue;
        const ConvShape shape = ConvShape::parse(item.shape);
        const Measurement *cold = item.measured(L2State::cold);
        const Work *counted =
            measured == MeasuredCases::renew_given_work && cold && cold->work ? &*cold->work : nullptr;
        Case now = item.strategy ? predict(parse_strategy(*item.strategy), shape, profile, knowledge, counted)
                                 : predict_baseline(*item.baseline, shape, profile);
        if (has_timeline(item))
            add_forecast_timeline(now, profile, knowledge);
        // Only a run gives these statuses; whether a strategy fits, a forecast says too.
        const bool found = item.status == Status::wrong_result || item.status == Status::failed ||
                           item.status == Status::not_run ||
                           (item.status != Status::ok && (item.baseline || was_run(document)));
        if (found || !item.measurements.empty()) {
            item.prediction = std::move(now.prediction); // absent where this code would not run it
        } else {
            now.study = std::move(item.study);
            item = std::move(now);
        }
    }
}

void refuse_question_beside_document(const std::string &verb, const Arguments &arguments) {
    for (const char *other : {"sms", "shape", "study", "strategy", "choose", "draw", "network"})
        if (arguments.has(other))
            throw UsageError(verb + ": a Run document and --" + other +
                             " were both given; the document already says what to " + verb);
}

Run new_run(const GpuProfile &profile, const Knowledge &knowledge, std::optional<int> sms,
            std::vector<Case> cases) {
    Run run;
    run.producer = producer();
    run.profile_id = profile.id;
    run.profile_hash = profile_hash(profile);
    if (sms)
        run.conditions[sms_condition] = std::to_string(*sms);
    note_knowledge(run, knowledge);
    run.cases = std::move(cases);
    return run;
}

} // namespace convcast::cli
