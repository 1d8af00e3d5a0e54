// Two or more profiles side by side: two GPUs, or several runs on one. Two are held against the first, three
// and more against their median.
#pragma once

#include "model/base/checked.hpp"
#include "model/machine/profile.hpp"

#include <boost/describe.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace convcast {

/// Below this a deviation is none, whatever the intervals say.
constexpr double same_below = 0.005;
/// What two measurements of one GPU may differ by: latencies repeat better than bandwidths and rates.
constexpr double default_tolerance = 0.03, default_latency_tolerance = 0.02;

enum class Agreement {
    same,    ///< the deviation is below `same_below`
    noise,   ///< the 95 % intervals overlap
    small,   ///< they do not, but the deviation is within the tolerance
    differs, ///< they do not, and it is not
    unknown, ///< one of the two values has no interval
    lacking, ///< not every file has it
};
BOOST_DESCRIBE_ENUM(Agreement, same, noise, small, differs, unknown, lacking)

struct ComparedFile {
    std::string file; ///< as given: a path, or the name of a shipped profile
    std::string id, name, compute_capability;
    std::string date; ///< of its measurement; empty if it does not tell
    BOOST_DESCRIBE_CLASS(ComparedFile, (), (file, id, name, compute_capability, date), (), ())
};

/// What one file has of one Param: a value, or why there is none.
struct ComparedValue {
    std::optional<double> value;
    std::optional<Interval> interval;
    std::optional<std::string> missing;
    BOOST_DESCRIBE_CLASS(ComparedValue, (), (value, interval, missing), (), ())
};

struct ComparedParam {
    std::string name, unit;
    std::vector<ComparedValue> values; ///< one for each file
    /// The value of the first of two files, the median of three and more; absent if fewer than two have one.
    std::optional<double> reference;
    std::optional<std::int64_t> farthest; ///< the file whose value is farthest from it
    std::optional<double> ratio;          ///< that value over the reference
    std::optional<double> deviation;      ///< ratio - 1
    double tolerance = default_tolerance;
    Agreement verdict = Agreement::lacking;
    bool failed = false; ///< differs, or a later file lacks what the first one has
    BOOST_DESCRIBE_CLASS(ComparedParam, (),
                         (name, unit, values, reference, farthest, ratio, deviation, tolerance, verdict,
                          failed),
                         (), ())
};

/// A limit, in the order of the files; only those that differ are listed.
struct ComparedLimit {
    std::string name;
    std::vector<std::int64_t> values;
    BOOST_DESCRIBE_CLASS(ComparedLimit, (), (name, values), (), ())
};

/// A condition other than the date that differs; "" where a file does not tell it.
struct ComparedCondition {
    std::string name;
    std::vector<std::string> values;
    BOOST_DESCRIBE_CLASS(ComparedCondition, (), (name, values), (), ())
};

/// A check that fails in a file.
struct FailedCheck {
    std::string file, name, text;
    BOOST_DESCRIBE_CLASS(FailedCheck, (), (file, name, text), (), ())
};

/// Largest value over smallest at the x that all files have, over all series that all files have.
struct ComparedCurve {
    std::string name;
    std::int64_t common_points = 0;
    std::optional<double> largest_ratio; ///< absent without a common point
    std::optional<double> at_x;
    std::string x_unit;
    std::string series; ///< where it is; empty for a curve of one line
    BOOST_DESCRIBE_CLASS(ComparedCurve, (), (name, common_points, largest_ratio, at_x, x_unit, series), (),
                         ())
};

struct ProfileComparison {
    std::string schema = "convcast/comparison/1";
    std::vector<ComparedFile> files;
    bool passed = true; ///< no Param failed
    std::vector<ComparedParam> params;
    std::vector<ComparedLimit> limits;
    std::vector<ComparedCondition> conditions;
    std::vector<FailedCheck> failed_checks;
    std::vector<ComparedCurve> curves;
    BOOST_DESCRIBE_CLASS(ProfileComparison, (),
                         (schema, files, passed, params, limits, conditions, failed_checks, curves), (), ())
};

struct NamedProfile {
    std::string file;
    GpuProfile profile;
};

struct CompareOptions {
    std::optional<double> tolerance; ///< a share, for every Param; absent: the defaults above
    /// Only these Params and curves, and then neither limits, conditions nor checks; empty: all.
    std::vector<std::string> only;
};

/// Every Param there is, and every curve that one of `profiles` has.
std::vector<std::string> comparable_names(std::span<const NamedProfile> profiles);

/// `profiles` are two or more.
ProfileComparison compare_profiles(std::span<const NamedProfile> profiles, const CompareOptions &options);

extern template const described::Type &described::type_of<ProfileComparison>();

} // namespace convcast
