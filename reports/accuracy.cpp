#include "reports/accuracy.hpp"

#include "model/sweep.hpp"
#include "reports/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace convcast {
namespace {

struct Model {
    const char *name;
    std::optional<Seconds> TierTimes::*time;
};
constexpr std::array<Model, 5> models = {{{"speed of light", &TierTimes::tier0_s},
                                          {"wave-quantised roofline", &TierTimes::roofline_s},
                                          {"MWP-CWP", &TierTimes::mwp_cwp_s},
                                          {"zero fit", &TierTimes::tier2_s},
                                          {"four numbers fitted", &TierTimes::fitted_s}}};

struct Pair {
    const Case *item;
    double measured;
};

double mean_of(const std::vector<double> &values) {
    double sum = 0.0;
    for (const double value : values)
        sum += value;
    return values.empty() ? 0.0 : sum / static_cast<double>(values.size());
}

TimeAccuracy times_of(const std::string &part, const Model &model, const std::vector<Pair> &pairs) {
    TimeAccuracy out;
    out.part = part;
    out.model = model.name;
    std::vector<double> errors, logs;
    std::int64_t inside = 0;
    for (const Pair &pair : pairs) {
        const std::optional<Seconds> &time = pair.item->prediction->times.*model.time;
        if (!time)
            continue;
        const double ratio = time->value / pair.measured;
        errors.push_back(std::abs(ratio - 1.0));
        logs.push_back(std::log(ratio));
        const Prediction &p = *pair.item->prediction;
        inside += p.time_low_s && p.time_high_s && p.time_low_s->value <= pair.measured &&
                          pair.measured <= p.time_high_s->value
                      ? 1
                      : 0;
    }
    out.n = std::ssize(errors);
    if (errors.empty())
        return out;
    out.mean = mean_of(errors);
    out.median = percentile(errors, 0.5);
    out.p90 = percentile(errors, 0.9);
    out.bias = std::exp(mean_of(logs));
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
    std::vector<double> errors;
    for (const Pair &pair : pairs) {
        const Measurement *cold = pair.item->measured(L2State::cold);
        if (!cold->work || !pair.item->prediction->work)
            continue;
        const std::optional<double> counted = (*cold->work).*quantity.member,
                                    predicted = forecast_of(*pair.item->prediction->work, quantity.member);
        if (counted && predicted && *counted >= quantity.least)
            errors.push_back(std::abs(*predicted / *counted - 1.0));
    }
    out.n = std::ssize(errors);
    if (errors.empty())
        return out;
    out.mean = mean_of(errors);
    out.median = percentile(errors, 0.5);
    out.p90 = percentile(errors, 0.9);
    out.within_1_percent =
        static_cast<double>(std::count_if(errors.begin(), errors.end(), [](double e) { return e <= 0.01; })) /
        static_cast<double>(out.n);
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
    std::map<std::string, std::vector<std::pair<double, double>>> shapes; // forecast, measured
    for (const Pair &pair : pairs)
        if (const std::optional<Seconds> &time = pair.item->prediction->times.*model.time)
            shapes[pair.item->shape].emplace_back(time->value, pair.measured);
    RankingAccuracy out;
    out.model = model.name;
    std::vector<double> regrets, taus;
    for (const auto &[shape, points] : shapes) {
        if (points.size() < 2)
            continue;
        const double fastest =
            std::min_element(points.begin(), points.end(), [](const auto &a, const auto &b) {
                return a.second < b.second;
            })->second;
        regrets.push_back(std::min_element(points.begin(), points.end())->second / fastest - 1.0);
        if (points.size() >= 3)
            taus.push_back(kendall(points));
    }
    out.shapes = std::ssize(regrets);
    out.mean_regret = mean_of(regrets);
    out.kendall_tau = mean_of(taus);
    if (!regrets.empty())
        out.within_5_percent = static_cast<double>(std::count_if(regrets.begin(), regrets.end(),
                                                                 [](double r) { return r <= 0.05; })) /
                               static_cast<double>(out.shapes);
    return out;
}

} // namespace

Accuracy accuracy_of(const Run &run) {
    std::vector<Pair> test, training;
    for (const Case &item : run.cases) {
        const Measurement *cold = item.measured(L2State::cold);
        if (item.strategy && item.status == Status::ok && item.prediction && cold && cold->time_s.value > 0.0)
            (in_training_part(item.shape) ? training : test).push_back({&item, cold->time_s.value});
    }
    Accuracy out;
    for (const auto &[part, pairs] : {std::pair("test", &test), std::pair("training", &training)})
        for (const Model &model : models)
            if (TimeAccuracy times = times_of(part, model, *pairs); times.n > 0)
                out.times.push_back(std::move(times));
    for (const Counter &quantity : quantities)
        if (WorkAccuracy work = work_of(quantity, test); work.n > 0)
            out.work.push_back(std::move(work));
    for (const Model &model : models)
        if (model.time != &TierTimes::tier0_s) // the same for every setting of a shape
            if (RankingAccuracy ranking = ranking_of(model, test); ranking.shapes > 0)
                out.rankings.push_back(std::move(ranking));
    return out;
}

} // namespace convcast
