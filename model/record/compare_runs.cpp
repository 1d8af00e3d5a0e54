#include "model/record/compare_runs.hpp"

#include "model/base/described.hpp"
#include "model/strategies/list.hpp"

#include <boost/mp11.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// How many samples lie outside the 95 % interval of a median on each side: the largest k with
/// P(B < k) <= 2.5 % of a binomial B(n, 1/2); 0 where no interval of samples is wide enough.
std::size_t samples_outside(std::size_t n) {
    constexpr double each_side = 0.025;
    if (n > 1000) { // the binomial is normal there
        const double half = 0.5 * static_cast<double>(n);
        return static_cast<std::size_t>(std::max(0.0, half - 1.96 * std::sqrt(0.5 * half)));
    }
    double probability = std::pow(0.5, static_cast<double>(n)), below = 0.0;
    for (std::size_t k = 0; k <= n; ++k) {
        below += probability;
        if (below > each_side)
            return k;
        probability *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    }
    return 0;
}

/// Cases of one key belong together; none: the case is left out.
std::optional<std::string> key_of(const Case &item, CompareBy by) {
    const std::string text = item.called();
    if (by == CompareBy::setting || (by == CompareBy::strategy && !item.strategy))
        return item.shape + "  " + text;
    const std::string name = text.substr(0, text.find(':'));
    if (by == CompareBy::strategy)
        return item.shape + "  " + name;
    return item.strategy && !uses_tensor_cores(name) ? std::optional(item.shape) : std::nullopt;
}

bool is_measured(const Run &run, L2State l2) {
    return std::any_of(run.cases.begin(), run.cases.end(),
                       [&](const Case &item) { return item.measured(l2) != nullptr; });
}

std::optional<MedianTime> measured_time(const Case &item, L2State l2) {
    const Measurement *found = item.measured(l2);
    if (found == nullptr || item.status != Status::ok)
        return std::nullopt;
    return median_time(found->time_s, found->samples_s);
}

/// A forecast is one number: its interval is itself.
std::optional<MedianTime> forecast_time(const Case &item) {
    if (!item.prediction || !item.prediction->time_s || item.status != Status::ok)
        return std::nullopt;
    const Seconds time = *item.prediction->time_s;
    return MedianTime{time, time, time, 1};
}

std::string status_text(const Case &item) {
    return std::string(boost::describe::enum_to_string(item.status, "?")) +
           (item.reason ? ": " + *item.reason : "");
}

CaseVerdict verdict_of(const ComparedCase &compared, double tolerance) {
    if (!compared.ratio_low)
        return CaseVerdict::unsure;
    if (*compared.ratio_low >= 1.0 / (1.0 + tolerance) && *compared.ratio_high <= 1.0 + tolerance)
        return CaseVerdict::same;
    if (*compared.ratio_low > 1.0)
        return CaseVerdict::slower;
    return *compared.ratio_high < 1.0 ? CaseVerdict::faster : CaseVerdict::unsure;
}

std::optional<MedianTime> time_in(const Case &item, bool measured, L2State l2) {
    return measured ? measured_time(item, l2) : forecast_time(item);
}

/// A document's cases by key, in their order; of several with one key, settings by a wider key, the fastest,
/// and else the first.
struct KeyedCases {
    std::vector<std::string> order;
    std::map<std::string, const Case *> by_key;
};

KeyedCases keyed(const Run &run, bool measured, const CompareRunsOptions &options) {
    KeyedCases out;
    std::map<std::string, Seconds> fastest;
    for (const Case &item : run.cases) {
        const std::optional<std::string> key = key_of(item, options.by);
        if (!key)
            continue;
        const bool first = out.by_key.emplace(*key, &item).second;
        if (first)
            out.order.push_back(*key);
        const std::optional<MedianTime> time = time_in(item, measured, options.l2);
        if (!time || (!first && options.by == CompareBy::setting))
            continue;
        const auto best = fastest.find(*key);
        if (best == fastest.end() || time->median_s < best->second) {
            fastest[*key] = time->median_s;
            out.by_key[*key] = &item;
        }
    }
    return out;
}

ComparedCase compare_case(const Case &before, const Case &after, bool measured,
                          const CompareRunsOptions &options) {
    ComparedCase out;
    out.study = after.study;
    out.shape = after.shape;
    out.name = after.name ? after.name : before.name;
    out.strategy = after.strategy;
    out.baseline = after.baseline;
    if (before.strategy != after.strategy)
        out.strategy_before = before.strategy;
    if (before.status != after.status && (before.status == Status::ok || after.status == Status::ok)) {
        out.verdict = before.status == Status::ok ? CaseVerdict::broken : CaseVerdict::mended;
        out.reason = status_text(before.status == Status::ok ? after : before);
        if (before.status == Status::not_run || after.status == Status::not_run)
            out.verdict = CaseVerdict::untimed;
        return out;
    }
    out.before = time_in(before, measured, options.l2);
    out.after = time_in(after, measured, options.l2);
    const auto refused = [](const Case &item) {
        return item.status == Status::unsupported || item.status == Status::infeasible;
    };
    if (refused(before) && refused(after)) {
        out.verdict = CaseVerdict::refused;
        out.reason = status_text(after);
        return out;
    }
    if (!out.before || !out.after) {
        out.verdict = CaseVerdict::untimed;
        out.reason = before.status == Status::ok
                         ? std::string(out.before ? "no time after" : "no time before")
                         : status_text(after);
        return out;
    }
    out.ratio = out.after->median_s / out.before->median_s;
    if (out.before->low_s && out.after->low_s) { // errors of two medians that know nothing of each other
        const auto apart = [](Seconds a, Seconds b) { return std::log(a / b); };
        const MedianTime &x = *out.before, &y = *out.after;
        out.ratio_low =
            *out.ratio * std::exp(-std::hypot(apart(*x.high_s, x.median_s), apart(y.median_s, *y.low_s)));
        out.ratio_high =
            *out.ratio * std::exp(std::hypot(apart(x.median_s, *x.low_s), apart(*y.high_s, y.median_s)));
    }
    out.verdict = verdict_of(out, options.tolerance);
    if (measured && before.measured(options.l2)->samples_s == after.measured(options.l2)->samples_s &&
        out.before->median_s == out.after->median_s) {
        out.verdict = CaseVerdict::same; // one measurement, however wide its interval is
        return out;
    }
    if (measured && out.verdict != CaseVerdict::same)
        for (const Case *item : {&before, &after})
            if (const auto inside = item->measured(options.l2)->host_time_samples) {
                out.verdict = CaseVerdict::unsure;
                out.reason = std::to_string(*inside) + " of the samples may have time of the host inside";
            }
    return out;
}

std::vector<RunDifference> differences_of(const Run &before, const Run &after) {
    std::vector<RunDifference> out;
    const auto add = [&](const std::string &what, const std::string &a, const std::string &b) {
        if (a != b)
            out.push_back({what, a, b});
    };
    const auto condition = [](const Run &run, const std::string &name) {
        const auto found = run.conditions.find(name);
        return found == run.conditions.end() ? std::string() : found->second;
    };
    // First what most explains another time.
    std::vector<std::string> names = {"gpu", "sms", "driver_cuda", "toolkit", "cudnn", "cublas"};
    std::set<std::string> others;
    for (const Run *run : {&before, &after})
        for (const auto &[name, text] : run->conditions)
            if (name != "date" && std::find(names.begin(), names.end(), name) == names.end())
                others.insert(name);
    add("gpu", condition(before, "gpu"), condition(after, "gpu"));
    add("profile", before.profile_id, after.profile_id);
    if (before.profile_id == after.profile_id)
        add("profile hash", before.profile_hash, after.profile_hash);
    names.erase(names.begin());
    for (const std::string &name : names)
        add(name, condition(before, name), condition(after, name));
    add("convcast version", before.producer.version, after.producer.version);
    add("device code", before.producer.device_code_hash, after.producer.device_code_hash);
    add("measuring code", before.producer.measuring_code_hash, after.producer.measuring_code_hash);
    for (const std::string &name : others)
        add(name, condition(before, name), condition(after, name));
    return out;
}

/// Counts, the mean, the order, and whether it passes.
void conclude(RunComparison &out) {
    std::stable_sort(out.cases.begin(), out.cases.end(), [](const ComparedCase &a, const ComparedCase &b) {
        return a.verdict != b.verdict ? a.verdict < b.verdict : a.ratio.value_or(0.0) > b.ratio.value_or(0.0);
    });
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<CaseVerdict>>([&](auto enumerator) {
        const auto cases = std::count_if(out.cases.begin(), out.cases.end(), [&](const ComparedCase &item) {
            return item.verdict == enumerator.value;
        });
        if (cases > 0)
            out.counts.push_back({enumerator.value, cases});
    });
    double logs = 0.0;
    for (const ComparedCase &item : out.cases) {
        if (item.ratio) {
            logs += std::log(*item.ratio);
            ++out.timed;
        }
        if (!out.fail_over || item.baseline) // nobody who compares two runs has changed a vendor's library
            continue;
        if (item.verdict == CaseVerdict::broken ||
            (item.verdict == CaseVerdict::slower && *item.ratio_low > 1.0 + *out.fail_over))
            out.passed = false;
    }
    if (out.timed > 0)
        out.mean_ratio = std::exp(logs / static_cast<double>(out.timed));
    if (out.fail_over && 2 * out.timed < std::max<std::int64_t>(out.comparable, 1))
        out.passed = false; // what nobody compared has not passed
}

} // namespace

MedianTime median_time(Seconds median, std::vector<Seconds> samples) {
    MedianTime out;
    out.median_s = median;
    out.samples = std::ssize(samples);
    std::sort(samples.begin(), samples.end());
    if (const std::size_t outside = samples_outside(samples.size()); outside > 0) {
        out.low_s = std::min(samples[outside - 1], median);
        out.high_s = std::max(samples[samples.size() - outside], median);
    }
    return out;
}

RunComparison compare_runs(const Run &before, const std::string &before_file, const Run &after,
                           const std::string &after_file, const CompareRunsOptions &options) {
    RunComparison out;
    out.before = before_file;
    out.after = after_file;
    out.by = options.by;
    out.tolerance = options.tolerance;
    out.fail_over = options.fail_over;
    const bool measured = is_measured(before, options.l2) || is_measured(after, options.l2);
    out.times = measured
                    ? std::string("measured, ") + boost::describe::enum_to_string(options.l2, "?") + " L2"
                    : "forecast";
    out.differences = differences_of(before, after);
    const KeyedCases earlier = keyed(before, measured, options), later = keyed(after, measured, options);
    for (const std::string &key : later.order) {
        const auto found = earlier.by_key.find(key);
        if (found == earlier.by_key.end())
            out.only_after.push_back(key);
        else
            out.cases.push_back(compare_case(*found->second, *later.by_key.at(key), measured, options));
    }
    for (const std::string &key : earlier.order)
        if (later.by_key.count(key) == 0)
            out.only_before.push_back(key);
    const auto timed_of = [&](const KeyedCases &cases) {
        return std::count_if(cases.by_key.begin(), cases.by_key.end(), [&](const auto &entry) {
            return time_in(*entry.second, measured, options.l2).has_value();
        });
    };
    out.comparable = std::min(timed_of(earlier), timed_of(later));
    conclude(out);
    return out;
}

template const described::Type &described::type_of<RunComparison>();

} // namespace convcast
