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

/// A way to forecast, whose times are those of each prediction (`time`), or of each judged call (`ratio`)
/// where no prediction has them; the other one is nullptr.
struct ForecastModel {
    const char *name;
    std::optional<Seconds> TierTimes::*time;
    double JudgedCall::*ratio; ///< forecast / measured
    const char *without_facts =
        nullptr;                ///< the name where the run's forecasts knew no counters; nullptr: `name`
    L2State l2 = L2State::cold; ///< the state of L2 that the forecast is for
};
constexpr std::array<ForecastModel, 8> models = {
    {{"speed of light", &TierTimes::tier0_s, nullptr},
     {"wave-quantised roofline", &TierTimes::roofline_s, nullptr},
     {"MWP-CWP", &TierTimes::mwp_cwp_s, nullptr},
     {"without counters", nullptr, &JudgedCall::without_counters},
     {counted_model, &TierTimes::tier2_s, nullptr, "probes alone"},
     {fitted_model, &TierTimes::fitted_s, nullptr, "four numbers fitted, no counters"},
     {"new kernel", nullptr, &JudgedCall::new_kernel},
     {"warm L2", &TierTimes::warm_s, nullptr, nullptr, L2State::warm}}};

/// A case of ours with a forecast and a cold time above 0.
struct TimedCase {
    const Case *item;
    double measured_s;        ///< with a cold L2
    const JudgedCall *judged; ///< nullptr where the caller gave none of this case
};

/// Whether the forecasts of a run knew facts of kernels, which come from counters: runs say so in their
/// conditions, and those without the entry did.
bool knew_counters(const Run &run) {
    const auto facts = run.conditions.find("facts");
    return facts == run.conditions.end() || !facts->second.starts_with("none");
}

/// The time that a model forecasts for a case, s; absent where it forecasts none.
std::optional<double> time_by(const ForecastModel &model, const TimedCase &timed) {
    if (model.ratio != nullptr)
        return timed.judged == nullptr ? std::nullopt
                                       : std::optional(timed.judged->*model.ratio * timed.measured_s);
    const std::optional<Seconds> &time = timed.item->prediction->times.*model.time;
    return time ? std::optional(time->value) : std::nullopt;
}

/// Fills what TimeAccuracy and WorkAccuracy have in common. False if there is no error; n is 0 then.
bool fill_errors(auto &out, const RatioErrors &errors) {
    out.n = errors.n();
    if (out.n == 0)
        return false;
    out.mean = errors.mean();
    out.median = errors.at(0.5);
    out.p90 = errors.at(0.9);
    return true;
}

/// How far a model's times are off over the cases of one part, "test" or "training".
TimeAccuracy time_accuracy(const std::string &part, const ForecastModel &model,
                           const std::vector<TimedCase> &cases) {
    TimeAccuracy out;
    out.part = part;
    out.model = model.name;
    RatioErrors errors;
    std::int64_t inside = 0; // cases whose cold time lies in the interval of their forecast
    for (const TimedCase &timed : cases) {
        const std::optional<double> time = time_by(model, timed);
        const Measurement *measured = timed.item->measured(model.l2);
        if (!time || measured == nullptr)
            continue;
        errors.add(*time / measured->time_s.value);
        const Prediction &p = *timed.item->prediction;
        inside += p.time_low_s && p.time_high_s && p.time_low_s->value <= timed.measured_s &&
                          timed.measured_s <= p.time_high_s->value
                      ? 1
                      : 0;
    }
    if (!fill_errors(out, errors))
        return out;
    out.symmetric = errors.symmetric();
    out.bias = errors.bias();
    if (model.time == &TierTimes::fitted_s) // the interval in a prediction is that of the fitted model
        out.coverage = static_cast<double>(inside) / static_cast<double>(out.n);
    return out;
}

/// A quantity of Work that a counter of the chip counts too.
struct CountedQuantity {
    const char *name;
    std::optional<double> Work::*member;
    double least_counted; ///< cases whose counter shows less are left out
};
/// The least is 1, so that a ratio exists. Of DRAM it is 1 MB, which was chosen: calls that read less have
/// their data in L2, and how far off a forecast of a few stray sectors is says nothing.
constexpr std::array<CountedQuantity, 7> quantities = {
    {{"FFMAs", &Work::fmas, 1.0},
     {"instructions", &Work::instructions, 1.0},
     {"shared wavefronts", &Work::shared_wavefronts, 1.0},
     {"shared wavefronts, by addresses", &Work::shared_wavefronts_by_address, 1.0},
     {"L2 reads", &Work::l2_read_bytes, 1.0},
     {"L2 writes", &Work::l2_write_bytes, 1.0},
     {"DRAM reads over 1 MB", &Work::dram_read_bytes, 1e6}}};

/// How far the forecast of a quantity is from its counter; n is 0 where no case has both.
WorkAccuracy work_accuracy(const CountedQuantity &quantity, const std::vector<TimedCase> &cases) {
    WorkAccuracy out;
    out.quantity = quantity.name;
    RatioErrors errors;
    for (const TimedCase &timed : cases) {
        const Measurement &cold = *timed.item->measured(L2State::cold); // every TimedCase has one
        if (!cold.work || !timed.item->prediction->work)
            continue;
        const std::optional<double> counted = (*cold.work).*quantity.member,
                                    predicted = forecast_of(*timed.item->prediction->work, quantity.member);
        if (counted && predicted && *counted >= quantity.least_counted)
            errors.add(*predicted / *counted);
    }
    if (fill_errors(out, errors))
        out.within_1_percent = errors.within(0.01);
    return out;
}

/// Kendall's tau-a of two rankings of the same things, given as pairs of values: 1 if both order every pair
/// of things alike, -1 if they order every pair the other way round. 0 for fewer than two things.
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

/// How well a model ranks the measured settings of each shape.
RankingAccuracy ranking_accuracy(const ForecastModel &model, const std::vector<TimedCase> &cases) {
    struct Setting {
        double forecast; ///< s
        const std::string *text;
        double measured; ///< s
    };
    std::map<std::string, std::vector<Setting>> shapes;
    for (const TimedCase &timed : cases)
        if (const std::optional<double> time = time_by(model, timed))
            shapes[timed.item->shape].push_back({*time, &*timed.item->strategy, timed.measured_s});
    RankingAccuracy out;
    out.model = model.name;
    RatioErrors regrets;
    std::vector<double> taus;
    for (const auto &[shape, settings] : shapes) {
        if (settings.size() < 2)
            continue;
        const double fastest = std::ranges::min(settings, {}, &Setting::measured).measured;
        // Of equal forecasts the first by text is picked, whatever was measured.
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
    std::vector<TimedCase> test, training;
    for (std::size_t i = 0; i < run.cases.size(); ++i) {
        const Case &item = run.cases[i];
        const Measurement *cold = item.measured(L2State::cold);
        if (item.strategy && item.status == Status::ok && item.prediction && cold && cold->time_s.value > 0.0)
            (in_training_part(item.shape) ? training : test)
                .push_back({&item, cold->time_s.value, judged_at.contains(i) ? judged_at.at(i) : nullptr});
    }
    Accuracy out;
    const bool counters = knew_counters(run);
    const auto named = [&](const ForecastModel &model, auto accuracy) {
        if (!counters && model.without_facts != nullptr)
            accuracy.model = model.without_facts;
        return accuracy;
    };
    for (const auto &[part, cases] : {std::pair("test", &test), std::pair("training", &training)})
        for (const ForecastModel &model : models)
            if (TimeAccuracy times = named(model, time_accuracy(part, model, *cases)); times.n > 0)
                out.times.push_back(std::move(times));
    for (const CountedQuantity &quantity : quantities)
        if (WorkAccuracy work = work_accuracy(quantity, test); work.n > 0)
            out.work.push_back(std::move(work));
    // The speed of light is the same for every setting of a shape, so it ranks none.
    for (const ForecastModel &model : models)
        if (model.time != &TierTimes::tier0_s && model.l2 == L2State::cold)
            if (RankingAccuracy ranking = named(model, ranking_accuracy(model, test)); ranking.shapes > 0)
                out.rankings.push_back(std::move(ranking));
    return out;
}

} // namespace convcast
