// Two or more files of one kind side by side: profiles of GPUs, runs, or networks. A row is something that
// several of them have: a number, a case, a node. The 95 % intervals of its values judge every row.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/describe.hpp"

#include <boost/describe.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// Two values without an interval are the same if their ratio is this close to 1, so that it prints as 1.00.
constexpr double same_below = 0.005;
/// Two values whose ratio is within this share of 1 count as the same, unless another share is asked for.
constexpr double default_tolerance = 0.03;

enum class ComparedVerdict {
    broken,  ///< ok before, not ok after
    slower,  ///< a time: the whole 95 % interval of the ratio is above 1, and not all of it within the
             ///< tolerance
    faster,  ///< a time: likewise below 1
    differs, ///< a number that is no time: likewise above or below 1
    unsure,  ///< the interval contains 1 and is too wide for `same`, or there is none
    same,    ///< the whole interval is within the tolerance, or both values are one measurement
    mended,  ///< not ok before, ok after
    lacking, ///< a file has no value
    refused, ///< unsupported or infeasible in both files: there is nothing to time
};
BOOST_DESCRIBE_ENUM(ComparedVerdict, broken, slower, faster, differs, unsure, same, mended, lacking, refused)

/// What is compared.
enum class Compared { profiles, runs, networks };
BOOST_DESCRIBE_ENUM(Compared, profiles, runs, networks)

struct ComparedFile {
    std::string file; ///< as given: a path, or the name of something that ships
    std::string what; ///< "NVIDIA H200, compute capability 9.0", "resnet50, batch 1, on NVIDIA H200"
    std::string date; ///< of its measurement; empty if it does not tell
    CONVCAST_MEMBERS(ComparedFile, file, what, date)
};

/// What one file has of a row; all members are absent if it has nothing.
struct ComparedValue {
    std::optional<double> value;
    std::optional<double> low, high;     ///< its 95 % interval; a forecast's is the forecast itself
    std::optional<std::int64_t> samples; ///< how many samples the value is the median of
    std::optional<std::string> by;       ///< of a time: the strategy, library or kind of launch that takes it
    CONVCAST_MEMBERS(ComparedValue, value, low, high, samples, by)
};

struct ComparedRow {
    std::string name; ///< of a number, a layer or a node; of a case without a name, its shape
    std::optional<std::string> study, shape;
    std::string unit;                  ///< of the values
    std::vector<ComparedValue> values; ///< one for each file
    /// The value of the first of two files, the median of three and more; absent if fewer than two have one.
    std::optional<double> reference;
    std::optional<std::int64_t> farthest;        ///< the file whose value is farthest from it
    std::optional<double> ratio;                 ///< that value over the reference
    std::optional<double> ratio_low, ratio_high; ///< its 95 % interval
    double tolerance = default_tolerance;        ///< a share that counts as the same
    ComparedVerdict verdict = ComparedVerdict::lacking;
    bool failed = false;               ///< why the comparison did not pass
    std::optional<std::int64_t> only;  ///< the one file that has such a row
    std::optional<std::string> reason; ///< of the verdict
    CONVCAST_MEMBERS(ComparedRow, name, study, shape, unit, values, reference, farthest, ratio, ratio_low,
                     ratio_high, tolerance, verdict, failed, only, reason)
};

/// A condition or limit that is not the same in all files.
struct Difference {
    std::string name;                ///< "gpu", "driver_cuda", "sm_count", ...
    std::vector<std::string> values; ///< one for each file; "" if it does not say
    CONVCAST_MEMBERS(Difference, name, values)
};

/// A check that fails in a profile.
struct FailedCheck {
    std::string file, name, text;
    CONVCAST_MEMBERS(FailedCheck, file, name, text)
};

/// A curve of several profiles, compared at points (series and x) that all of them have.
struct ComparedCurve {
    std::string name;
    std::int64_t common_points = 0;
    std::optional<double> largest_ratio; ///< largest value over smallest, at the point where that is most
    std::optional<double> at_x;          ///< that point's x; both are absent without a common point
    std::string x_unit;
    std::string series; ///< that point's series; "" for a curve of one line
    CONVCAST_MEMBERS(ComparedCurve, name, common_points, largest_ratio, at_x, x_unit, series)
};

struct VerdictCount {
    ComparedVerdict verdict = ComparedVerdict::same; ///< the one that is counted
    std::int64_t rows = 0;                           ///< how many rows have it
    CONVCAST_MEMBERS(VerdictCount, verdict, rows)
};

struct ComparedFiles {
    std::string schema = "convcast/comparison/2";
    Compared of = Compared::profiles;
    std::vector<ComparedFile> files;
    std::string values;              ///< what is compared: "measured, cold L2", "forecast"; "" of profiles
    std::optional<std::string> by;   ///< of runs: which cases belong together
    std::optional<double> fail_over; ///< the share that was allowed by --fail-over
    bool passed = true;              ///< no row failed, and with fail_over enough was compared
    std::optional<std::string> why;  ///< why it did not pass, or with fail_over why it did
    std::optional<std::string> hint; ///< what finds a partner for rows that only one file has
    std::vector<Difference> differences;
    std::vector<VerdictCount> counts; ///< of every verdict that there is
    std::optional<double> mean_ratio; ///< of runs: geometric mean over all rows with a ratio
    std::vector<ComparedRow> rows;
    std::optional<ComparedRow> total; ///< of networks that are compared node by node
    std::vector<FailedCheck> failed_checks;
    std::vector<ComparedCurve> curves;
    CONVCAST_MEMBERS(ComparedFiles, schema, of, files, values, by, fail_over, passed, why, hint, differences,
                     counts, mean_ratio, rows, total, failed_checks, curves)
};

/// Sets reference, farthest, ratio, its interval and the verdict of a row from its values; leaves a row with
/// fewer than two values as it is. With `times`, a larger value is slower, and the errors of two values are
/// independent, so that their squares add. Other numbers come from probes that repeat worse from one run to
/// the next than within one: their ratio lies between the extremes of both intervals.
void judge_row(ComparedRow &row, bool times);

/// Adds a difference named `name` if the values, one of each file, are not all the same.
void add_difference(std::vector<Difference> &differences, const std::string &name,
                    std::vector<std::string> values);

/// The conditions of each file.
using Conditions = std::vector<const std::map<std::string, std::string> *>;
/// Adds a difference if the condition `name` is not the same in all files.
void add_condition(std::vector<Difference> &differences, const std::string &name,
                   const Conditions &conditions);
/// The same for all conditions but the date, which stands with the file's name, and those `said` already.
void add_conditions(std::vector<Difference> &differences, const Conditions &conditions,
                    const std::vector<std::string> &said = {});
/// The value of a file's condition; "" if it has none.
std::string condition_of(const std::map<std::string, std::string> &conditions, const std::string &name);

/// Sets the counts of verdicts from all rows, and `passed` to whether no row failed.
void conclude(ComparedFiles &comparison);

/// A median and its 95 % interval by order statistics of its samples; below six there is no interval.
ComparedValue median_value(double median, std::vector<double> samples);
/// A value that is one number, as a forecast is: its interval is the number itself.
ComparedValue sure_value(double value);

/// A judged row of the times in seconds of two files; absent in a file that has no such row.
ComparedRow time_row(std::string name, std::array<std::optional<ComparedValue>, 2> values, double tolerance);

extern template const described::Type &described::type_of<ComparedFiles>();

} // namespace convcast
