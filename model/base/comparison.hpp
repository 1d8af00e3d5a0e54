// Things of one kind side by side: profiles of GPUs, runs, networks. A row is what several of them have: a
// number, a case, a node. One rule judges every row, by the values' 95 % intervals.
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

/// A ratio that is no further from 1 is none where no interval says more.
constexpr double same_below = 0.005;
/// Within this share two values count as the same, unless another one is asked for.
constexpr double default_tolerance = 0.03;

enum class ComparedVerdict {
    broken,  ///< ok before, not ok after
    slower,  ///< of a time: the whole 95 % interval of the ratio is above 1, and not all of it within the
             ///< tolerance
    faster,  ///< likewise below 1
    differs, ///< of another number: either
    unsure,  ///< the interval has 1 in it and is too wide for `same`, or there is none
    same,    ///< the whole interval is within the tolerance, or both values are one measurement
    mended,  ///< not ok before, ok after
    lacking, ///< one of the values is not there
    refused, ///< unsupported or infeasible in both: there is nothing to time
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

/// What one file has of a row; empty where it has nothing.
struct ComparedValue {
    std::optional<double> value;
    std::optional<double> low, high;     ///< its 95 % interval; of a forecast, the forecast itself
    std::optional<std::int64_t> samples; ///< of which the value is the median
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

/// What the files were made by, of or on, where it differs; "" where one does not say.
struct Difference {
    std::string name; ///< "gpu", "driver_cuda", "sm_count", ...
    std::vector<std::string> values;
    CONVCAST_MEMBERS(Difference, name, values)
};

/// A check that fails in a profile.
struct FailedCheck {
    std::string file, name, text;
    CONVCAST_MEMBERS(FailedCheck, file, name, text)
};

/// Largest value over smallest at the x that all profiles have, over all series that all profiles have.
struct ComparedCurve {
    std::string name;
    std::int64_t common_points = 0;
    std::optional<double> largest_ratio; ///< absent without a common point
    std::optional<double> at_x;
    std::string x_unit;
    std::string series; ///< where it is; empty for a curve of one line
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

/// Fills in what follows from a row's values: all but `failed` and `only`. `times`: a larger value is slower,
/// and the errors of two know nothing of each other. Other numbers are of probes that repeat worse from one
/// run to the next than within it: their ratio lies between the extremes of both intervals.
void judge_row(ComparedRow &row, bool times);

/// Adds what differs.
void add_difference(std::vector<Difference> &differences, const std::string &name,
                    std::vector<std::string> values);

/// The conditions that the files say, one map for each.
using Conditions = std::vector<const std::map<std::string, std::string> *>;
/// Adds the condition `name` where it differs.
void add_condition(std::vector<Difference> &differences, const std::string &name,
                   const Conditions &conditions);
/// The same of all conditions but the date, which stands with the file's name, and those that were `said`.
void add_conditions(std::vector<Difference> &differences, const Conditions &conditions,
                    const std::vector<std::string> &said = {});
/// What a file says of a condition, "" where it says nothing.
std::string condition_of(const std::map<std::string, std::string> &conditions, const std::string &name);

/// Counts the verdicts of all rows, and whether one failed.
void conclude(ComparedFiles &comparison);

/// A median and its 95 % interval by order statistics of its samples; of fewer than six there is none.
ComparedValue median_value(double median, std::vector<double> samples);
/// What is one number, as a forecast is: its interval is itself.
ComparedValue sure_value(double value);

/// A time in seconds of the first and of the second file, judged; that of a file without such a row is
/// absent.
ComparedRow time_row(std::string name, std::array<std::optional<ComparedValue>, 2> values, double tolerance);

extern template const described::Type &described::type_of<ComparedFiles>();

} // namespace convcast
