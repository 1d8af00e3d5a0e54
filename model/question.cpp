#include "model/question.hpp"

#include "model/base/parallel.hpp"
#include "model/record/sweep.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

void label(Case &item, const AskedShape &asked) {
    item.study = asked.study;
    if (!asked.name.empty())
        item.name = asked.name;
    if (!asked.study && asked.count != 1) // a study's document has its counts
        item.count = asked.count;
}

namespace {

/// The cases of one shape, each strategy setting once.
std::vector<Case> predict_shape(const Question &question, const AskedShape &asked, const Beside &beside) {
    std::vector<Case> cases;
    const auto forecast = [&](const std::string &text) {
        return predict(parse_strategy(text), asked.shape, question.profile, question.knowledge);
    };
    for (const std::string &text : asked.settings) {
        cases.push_back(forecast(text));
        label(cases.back(), asked);
    }
    if (!asked.settings.empty())
        return cases;
    std::set<std::string> added;
    const auto add = [&](Case item) {
        label(item, asked);
        if (!item.strategy || added.insert(*item.strategy).second)
            cases.push_back(std::move(item));
    };
    const auto add_baselines = [&](const std::string &text) { // false if the text names no baseline
        const auto names = question.baselines(text, asked.shape);
        for (const std::string &name : names.value_or(std::vector<std::string>()))
            add(predict_baseline(name, asked.shape, question.profile));
        return names.has_value();
    };
    if (question.strategies.empty()) {
        std::vector<Case> unsupported;
        for (const std::string &name : strategy_names()) {
            Case item = forecast(name);
            if (item.status == Status::unsupported)
                unsupported.push_back(std::move(item));
            else
                add(std::move(item));
        }
        for (const std::string &text : asked.further) {
            Case item = forecast(text);
            if (item.status != Status::unsupported)
                add(std::move(item));
        }
        if (added.empty()) // silence would not be an answer
            for (Case &item : unsupported)
                add(std::move(item));
        if (beside.baselines)
            add_baselines("");
    }
    for (const std::string &text : question.strategies)
        if (text != own_word && !add_baselines(text))
            add(forecast(text));
    if (beside.drawn > 0)
        for (const std::string &name : strategy_names())
            for (const std::string &text :
                 sweep_settings(name, asked.shape, question.profile, question.knowledge.facts,
                                static_cast<std::size_t>(beside.drawn)))
                add(forecast(text));
    for (const OwnKernel &kernel : question.own_kernels)
        add(predict_own(kernel, asked.shape, question.profile, question.knowledge));
    int rank = 0;
    if (beside.best > 0)
        for (Case &item : choose(asked.shape, question.profile, question.knowledge, {},
                                 static_cast<std::size_t>(beside.best)))
            if (item.status == Status::ok && rank++ < beside.best)
                add(std::move(item));
    return cases;
}

} // namespace

void predict_pieces(const Question &question, const Beside &beside,
                    const std::function<void(std::vector<Case>)> &take,
                    const std::function<void(std::size_t, const ConvShape &)> &progress) {
    // Shape and strategy of cases of sweeps: a case may stand in several sweeps, and is made once.
    std::set<std::pair<std::string, std::string>> swept;
    const std::vector<AskedShape> &shapes = question.shapes;
    constexpr std::size_t at_once = 256; // shapes of a piece: work for all cores, and little memory
    for (std::size_t begin = 0; begin < shapes.size(); begin += at_once) {
        progress(begin, shapes[begin].shape);
        std::vector<std::vector<Case>> found(std::min(at_once, shapes.size() - begin));
        const auto predict_one = [&](std::size_t i) {
            found[i] = predict_shape(question, shapes[begin + i], beside);
        };
        // Few shapes are ranked one after another, since ranking the settings of one uses all cores.
        if (beside.best > 0 && found.size() < usable_cores())
            for (std::size_t i = 0; i < found.size(); ++i)
                predict_one(i);
        else
            in_parallel(found.size(), predict_one);
        std::vector<Case> piece;
        for (std::size_t i = 0; i < found.size(); ++i)
            for (Case &item : found[i])
                if (shapes[begin + i].settings.empty() || swept.emplace(item.shape, *item.strategy).second)
                    piece.push_back(std::move(item));
        take(std::move(piece));
    }
}

std::size_t most_cases_of(const Question &question) {
    std::size_t cases = 0;
    for (const AskedShape &asked : question.shapes)
        cases += !asked.settings.empty() ? asked.settings.size()
                 : question.strategies.empty()
                     ? strategy_names().size() + asked.further.size() + question.own_kernels.size()
                     : question.strategies.size() + question.own_kernels.size();
    return cases;
}

} // namespace convcast
