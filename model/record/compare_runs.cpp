#include "model/record/compare_runs.hpp"

#include "model/base/readable.hpp"
#include "model/base/statistics.hpp"
#include "model/strategies/list.hpp"

#include <boost/describe.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// The key of a case: cases of two documents with the same key belong together. Absent: it is left out.
std::optional<std::string> key_of(const Case &item, CompareBy by) {
    const std::string text = item.called();
    if (by == CompareBy::setting || (by == CompareBy::strategy && !item.strategy)) // libraries have no knobs
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

/// The time of a case, if it has one: measured, with the interval of its samples, or forecast.
ComparedValue value_in(const Case &item, bool measured, L2State l2) {
    ComparedValue value;
    if (item.status == Status::ok && measured) {
        if (const Measurement *found = item.measured(l2)) {
            std::vector<double> samples;
            for (const Seconds sample : found->samples_s)
                samples.push_back(sample.value);
            value = median_value(found->time_s.value, std::move(samples));
        }
    } else if (item.status == Status::ok && item.forecast_s()) {
        value = sure_value(item.forecast_s()->value);
    }
    value.by = item.called();
    return value;
}

std::string status_text(const Case &item) {
    return std::string(boost::describe::enum_to_string(item.status, "?")) +
           (item.reason ? ": " + *item.reason : "");
}

/// The cases of a document by their keys: the fastest of a key, or the first where keys are whole settings.
struct KeyedCases {
    std::vector<std::string> order; ///< keys as the document has them
    struct Keyed {
        const Case *item = nullptr;
        ComparedValue value;
    };
    std::map<std::string, Keyed> by_key;
    std::int64_t timed() const { // cases with a time
        return std::count_if(by_key.begin(), by_key.end(),
                             [](const auto &entry) { return entry.second.value.value.has_value(); });
    }
};

/// `measured` says whether times are measured ones or forecasts.
KeyedCases keyed(const Run &run, bool measured, const CompareRunsOptions &options) {
    KeyedCases out;
    for (const Case &item : run.cases) {
        const std::optional<std::string> key = key_of(item, options.by);
        if (!key)
            continue;
        KeyedCases::Keyed &best = out.by_key[*key];
        if (best.item == nullptr)
            out.order.push_back(*key);
        else if (options.by == CompareBy::setting)
            continue;
        ComparedValue value = value_in(item, measured, options.l2);
        if (best.item == nullptr || (value.value && (!best.value.value || *value.value < *best.value.value)))
            best = {&item, std::move(value)};
    }
    return out;
}

/// The row of a case that both documents have, or one alone: nullptr stands for the other. Not both.
ComparedRow row_of(const KeyedCases::Keyed *before, const KeyedCases::Keyed *after,
                   const CompareRunsOptions &options) {
    const auto value = [](const KeyedCases::Keyed *of) {
        return of ? std::optional(of->value) : std::nullopt;
    };
    const Case &item = *(after ? after : before)->item;
    const std::string named = before ? before->item->name.value_or(item.shape) : item.shape;
    ComparedRow row = time_row(item.name.value_or(named), {value(before), value(after)}, options.tolerance);
    row.study = item.study;
    row.shape = item.shape;
    return row;
}

/// The verdict on two cases of which one lacks a result, and its reason; absent where both have one.
std::optional<ComparedVerdict> verdict_of_status(const Case &before, const Case &after, std::string &reason) {
    if (before.status != after.status && (before.status == Status::ok || after.status == Status::ok)) {
        reason = status_text(before.status == Status::ok ? after : before);
        if (before.status == Status::not_run || after.status == Status::not_run)
            return ComparedVerdict::lacking;
        return before.status == Status::ok ? ComparedVerdict::broken : ComparedVerdict::mended;
    }
    const auto refused = [](const Case &item) {
        return item.status == Status::unsupported || item.status == Status::infeasible;
    };
    if (before.status == Status::ok)
        return std::nullopt;
    reason = status_text(after);
    return refused(before) && refused(after) ? ComparedVerdict::refused : ComparedVerdict::lacking;
}

/// The row of a case that both have. A change is unsure where samples may have time of the host inside.
ComparedRow compare_case(const KeyedCases::Keyed &before, const KeyedCases::Keyed &after, bool measured,
                         const CompareRunsOptions &options) {
    ComparedRow row = row_of(&before, &after, options);
    std::string reason;
    if (const auto verdict = verdict_of_status(*before.item, *after.item, reason)) {
        row.verdict = *verdict;
    } else if (!row.values[0].value || !row.values[1].value) {
        reason = row.values[0].value ? "no time after" : "no time before";
    } else if (measured && row.verdict != ComparedVerdict::same) {
        for (const KeyedCases::Keyed *of : {&before, &after})
            if (const auto inside = of->item->measured(options.l2)->host_time_samples) {
                row.verdict = ComparedVerdict::unsure;
                reason = std::to_string(*inside) + " of the samples may have time of the host inside";
            }
    }
    if (!reason.empty())
        row.reason = reason;
    // Nobody who compares two runs has changed a vendor's library.
    row.failed = options.fail_over && after.item->strategy &&
                 (row.verdict == ComparedVerdict::broken ||
                  (row.verdict == ComparedVerdict::slower && // which the interval of the ratio tells
                   *row.ratio_low > 1.0 + *options.fail_over));
    return row;
}

/// In what the conditions of the two documents differ, first in what most explains another time.
std::vector<Difference> differences_of(const Run &before, const Run &after) {
    std::vector<Difference> out;
    const Conditions conditions = {&before.conditions, &after.conditions};
    std::vector<std::string> first = {"sms", "driver_cuda", "toolkit", "cudnn", "cublas"};
    add_condition(out, "gpu", conditions);
    add_difference(out, "profile", {before.profile_id, after.profile_id});
    if (before.profile_id == after.profile_id)
        add_difference(out, "profile hash", {before.profile_hash, after.profile_hash});
    for (const std::string &name : first)
        add_condition(out, name, conditions);
    const Producer &a = before.producer, &b = after.producer;
    add_difference(out, "convcast version", {a.version, b.version});
    add_difference(out, "device code", {a.device_code_hash, b.device_code_hash});
    add_difference(out, "measuring code", {a.measuring_code_hash, b.measuring_code_hash});
    first.emplace_back("gpu");
    add_conditions(out, conditions, first);
    return out;
}

/// Whether some case that only `mine` has would find one of `others` by the wider key. Libraries find none.
bool finds_by(CompareBy wider, const KeyedCases &mine, const KeyedCases &others) {
    const auto wider_key = [&](const KeyedCases::Keyed &of) {
        return of.item->strategy ? key_of(*of.item, wider) : std::nullopt;
    };
    std::set<std::optional<std::string>> known;
    for (const auto &[key, of] : others.by_key)
        known.insert(wider_key(of));
    return std::any_of(mine.by_key.begin(), mine.by_key.end(), [&](const auto &entry) {
        const std::optional<std::string> key = wider_key(entry.second);
        return key && !others.by_key.contains(entry.first) && known.contains(key);
    });
}

/// The option with which cases that now stand alone would find one of the other document; absent if none.
std::optional<std::string> hint_for(const KeyedCases &before, const KeyedCases &after, CompareBy by) {
    for (const auto &[wider, hint] :
         {std::pair(CompareBy::strategy, "--by strategy compares the fastest setting of each strategy"),
          std::pair(CompareBy::shape, "--by shape compares the fastest FP32 setting of each shape")})
        if (wider > by && (finds_by(wider, before, after) || finds_by(wider, after, before)))
            return hint;
    return std::nullopt;
}

/// Sets whether the comparison passed and a sentence on why, where fail_over is given. `timed` cases have a
/// time in both; `comparable` is how many could have had one, the timed cases of the smaller document.
void judge_all(ComparedFiles &out, std::int64_t timed, std::int64_t comparable) {
    const double percent = 100.0 * *out.fail_over;
    const bool broken = std::any_of(out.rows.begin(), out.rows.end(), [](const ComparedRow &row) {
        return row.failed && row.verdict == ComparedVerdict::broken;
    });
    const bool enough = 2 * timed >= std::max<std::int64_t>(comparable, 1);
    if (out.passed && enough)
        out.why =
            fmt::format("no kernel of {} is surely slower by more than {:.3g} %, or broken", timed, percent);
    else if (timed == 0 && !broken)
        out.why = "no case has a time in both";
    else if (!enough && !broken)
        out.why = fmt::format(
            "only {} of the {} timed cases of the smaller document found a partner, fewer than half", timed,
            comparable);
    else
        out.why =
            fmt::format("there are kernels that are surely slower by more than {:.3g} %, or broken", percent);
    out.passed = out.passed && enough; // what nobody compared has not passed
}

/// What the comparison says of a document: its file, its cases and GPU, its date.
ComparedFile file_of(const Run &run, const std::string &file) {
    const std::string gpu = condition_of(run.conditions, "gpu");
    return {file, count_text(std::ssize(run.cases), "case") + " on " + (gpu.empty() ? run.profile_id : gpu),
            condition_of(run.conditions, "date")};
}

} // namespace

ComparedFiles compare_runs(const Run &before, const std::string &before_file, const Run &after,
                           const std::string &after_file, const CompareRunsOptions &options) {
    ComparedFiles out;
    out.of = Compared::runs;
    out.files = {file_of(before, before_file), file_of(after, after_file)};
    out.by = boost::describe::enum_to_string(options.by, "?");
    out.fail_over = options.fail_over;
    const bool measured = is_measured(before, options.l2) || is_measured(after, options.l2);
    out.values = measured
                     ? std::string("measured, ") + boost::describe::enum_to_string(options.l2, "?") + " L2"
                     : "forecast";
    out.differences = differences_of(before, after);
    const KeyedCases earlier = keyed(before, measured, options), later = keyed(after, measured, options);
    std::vector<ComparedRow> only;
    for (const std::string &key : later.order) {
        const auto found = earlier.by_key.find(key);
        if (found == earlier.by_key.end())
            only.push_back(row_of(nullptr, &later.by_key.at(key), options));
        else
            out.rows.push_back(compare_case(found->second, later.by_key.at(key), measured, options));
    }
    for (const std::string &key : earlier.order)
        if (!later.by_key.contains(key))
            only.push_back(row_of(&earlier.by_key.at(key), nullptr, options));
    std::stable_sort(out.rows.begin(), out.rows.end(), [](const ComparedRow &a, const ComparedRow &b) {
        return a.verdict != b.verdict ? a.verdict < b.verdict : a.ratio.value_or(0.0) > b.ratio.value_or(0.0);
    });
    std::move(only.begin(), only.end(), std::back_inserter(out.rows));
    out.hint = hint_for(earlier, later, options.by);
    std::vector<double> ratios;
    for (const ComparedRow &row : out.rows)
        if (row.ratio)
            ratios.push_back(*row.ratio);
    if (!ratios.empty())
        out.mean_ratio = geometric_mean_of(ratios);
    conclude(out);
    if (out.fail_over)
        judge_all(out, std::ssize(ratios), std::min(earlier.timed(), later.timed()));
    return out;
}

} // namespace convcast
