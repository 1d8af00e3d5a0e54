#include "reports/accuracy.hpp"

#include "model/shape/training_part.hpp"
#include "reports/ratios.hpp"
#include "reports/statistics.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr const char *fitted_model = "four numbers fitted", *counted_model = "probes and counters";

struct Model {
    const char *name;
    std::optional<Seconds> TierTimes::*time;
    double JudgedCall::*ratio;  ///< where no prediction has this time
    const char *bare = nullptr; ///< its name where the forecasts were made without facts of kernels
    L2State l2 = L2State::cold; ///< what it is a forecast of
};
constexpr std::array<Model, 8> models = {
    {{"speed of light", &TierTimes::tier0_s, nullptr},
     {"wave-quantised roofline", &TierTimes::roofline_s, nullptr},
     {"MWP-CWP", &TierTimes::mwp_cwp_s, nullptr},
     {"without counters", nullptr, &JudgedCall::without_counters},
     {counted_model, &TierTimes::tier2_s, nullptr, "probes alone"},
     {fitted_model, &TierTimes::fitted_s, nullptr, "four numbers fitted, no counters"},
     {"new kernel", nullptr, &JudgedCall::new_kernel},
     {"warm L2", &TierTimes::warm_s, nullptr, nullptr, L2State::warm}}};

struct Pair {
    const Case *item;
    double measured;
    const JudgedCall *judged; ///< nullptr where it was not
};

/// Whether the forecasts of a run were made with facts of kernels, which come from counters.
bool knew_counters(const Run &run) {
    const auto facts = run.conditions.find("facts");
    return facts == run.conditions.end() || !facts->second.starts_with("none");
}

std::optional<double> time_by(const Model &model, const Pair &pair) {
    if (model.ratio != nullptr)
        return pair.judged == nullptr ? std::nullopt
                                      : std::optional(pair.judged->*model.ratio * pair.measured);
    const std::optional<Seconds> &time = pair.item->prediction->times.*model.time;
    return time ? std::optional(time->value) : std::nullopt;
}

/// Takes over what times and work both say of their errors; whether there are any.
bool has_errors(auto &out, const RatioErrors &errors) {
    out.n = errors.n();
    if (out.n == 0)
        return false;
    out.mean = errors.mean();
    out.median = errors.at(0.5);
    out.p90 = errors.at(0.9);
    return true;
}

TimeAccuracy times_of(const std::string &part, const Model &model, const std::vector<Pair> &pairs) {
    TimeAccuracy out;
    out.part = part;
    out.model = model.name;
    RatioErrors errors;
    std::int64_t inside = 0;
    for (const Pair &pair : pairs) {
        const std::optional<double> time = time_by(model, pair);
        const Measurement *measured = pair.item->measured(model.l2);
        if (!time || measured == nullptr)
            continue;
        errors.add(*time / measured->time_s.value);
        const Prediction &p = *pair.item->prediction;
        inside += p.time_low_s && p.time_high_s && p.time_low_s->value <= pair.measured &&
                          pair.measured <= p.time_high_s->value
                      ? 1
                      : 0;
    }
    if (!has_errors(out, errors))
        return out;
    out.symmetric = errors.symmetric();
    out.bias = errors.bias();
    if (model.time == &TierTimes::fitted_s) // the interval is that model's
        out.coverage = static_cast<double>(inside) / static_cast<double>(out.n);
    return out;
}

struct Counter {
    const char *name;
    std::optional<double> Work::*member;
    double least; ///< counted
};
constexpr std::array<Counter, 7> quantities = {
    {{"FFMAs", &Work::fmas, 1.0},
     {"instructions", &Work::instructions, 1.0},
     {"shared wavefronts", &Work::shared_wavefronts, 1.0},
     {"shared wavefronts, by addresses", &Work::shared_wavefronts_by_address, 1.0},
     {"L2 reads", &Work::l2_read_bytes, 1.0},
     {"L2 writes", &Work::l2_write_bytes, 1.0},
     {"DRAM reads over 1 MB", &Work::dram_read_bytes, 1e6}}};

WorkAccuracy work_of(const Counter &quantity, const std::vector<Pair> &pairs) {
    WorkAccuracy out;
    out.quantity = quantity.name;
    RatioErrors errors;
    for (const Pair &pair : pairs) {
        const Measurement *cold = pair.item->measured(L2State::cold);
        if (!cold->work || !pair.item->prediction->work)
            continue;
        const std::optional<double> counted = (*cold->work).*quantity.member,
                                    predicted = forecast_of(*pair.item->prediction->work, quantity.member);
        if (counted && predicted && *counted >= quantity.least)
            errors.add(*predicted / *counted);
    }
    if (has_errors(out, errors))
        out.within_1_percent = errors.within(0.01);
    return out;
}

/// Kendall's tau-a of two rankings.
double kendall(const std::vector<std::pair<double, double>> &points) {
    double concordant = 0.0, pairs = 0.0;
    for (std::size_t i = 0; i < points.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) {
            const double product =
                (points[i].first - points[j].first) * (points[i].second - points[j].second);
            concordant += product > 0.0 ? 1.0 : product < 0.0 ? -1.0 : 0.0;
            pairs += 1.0;
        }
    return pairs > 0.0 ? concordant / pairs : 0.0;
}

RankingAccuracy ranking_of(const Model &model, const std::vector<Pair> &pairs) {
    struct Setting {
        double forecast;
        const std::string *text;
        double measured;
    };
    std::map<std::string, std::vector<Setting>> shapes;
    for (const Pair &pair : pairs)
        if (const std::optional<double> time = time_by(model, pair))
            shapes[pair.item->shape].push_back({*time, &*pair.item->strategy, pair.measured});
    RankingAccuracy out;
    out.model = model.name;
    RatioErrors regrets;
    std::vector<double> taus;
    for (const auto &[shape, settings] : shapes) {
        if (settings.size() < 2)
            continue;
        const double fastest = std::ranges::min(settings, {}, &Setting::measured).measured;
        // What was measured has no say in which of two like forecasts comes first.
        const auto place = [](const Setting &setting) { return std::tie(setting.forecast, *setting.text); };
        const double picked = std::ranges::min(settings, {}, place).measured;
        regrets.add(picked / fastest);
        out.hits += picked <= fastest ? 1 : 0;
        std::vector<std::pair<double, double>> points;
        for (const Setting &setting : settings)
            points.emplace_back(setting.forecast, setting.measured);
        if (points.size() >= 3)
            taus.push_back(kendall(points));
    }
    out.shapes = regrets.n();
    out.kendall_tau = mean_of(taus);
    if (out.shapes > 0) {
        out.mean_regret = regrets.mean();
        out.max_regret = regrets.at(1.0);
        out.within_5_percent = regrets.within(0.05);
    }
    return out;
}

} // namespace

const RankingAccuracy *Accuracy::of_forecast() const {
    const RankingAccuracy *found = nullptr;
    for (const RankingAccuracy &ranking : rankings)
        if (ranking.model == fitted_model || (ranking.model == counted_model && found == nullptr))
            found = &ranking;
    return found;
}

Accuracy accuracy_of(const Run &run, std::span<const JudgedCall> judged) {
    std::map<std::size_t, const JudgedCall *> judged_at;
    for (const JudgedCall &its : judged)
        judged_at[its.call->index] = &its;
    std::vector<Pair> test, training;
    for (std::size_t i = 0; i < run.cases.size(); ++i) {
        const Case &item = run.cases[i];
        const Measurement *cold = item.measured(L2State::cold);
        if (item.strategy && item.status == Status::ok && item.prediction && cold && cold->time_s.value > 0.0)
            (in_training_part(item.shape) ? training : test)
                .push_back({&item, cold->time_s.value, judged_at.contains(i) ? judged_at.at(i) : nullptr});
    }
    Accuracy out;
    const bool counters = knew_counters(run);
    const auto named = [&](const Model &model, auto accuracy) {
        if (!counters && model.bare != nullptr)
            accuracy.model = model.bare;
        return accuracy;
    };
    for (const auto &[part, pairs] : {std::pair("test", &test), std::pair("training", &training)})
        for (const Model &model : models)
            if (TimeAccuracy times = named(model, times_of(part, model, *pairs)); times.n > 0)
                out.times.push_back(std::move(times));
    for (const Counter &quantity : quantities)
        if (WorkAccuracy work = work_of(quantity, test); work.n > 0)
            out.work.push_back(std::move(work));
    for (const Model &model : models)
        if (model.time != &TierTimes::tier0_s && // the same for every setting of a shape
            model.l2 == L2State::cold)
            if (RankingAccuracy ranking = named(model, ranking_of(model, test)); ranking.shapes > 0)
                out.rankings.push_back(std::move(ranking));
    return out;
}

} // namespace convcast
