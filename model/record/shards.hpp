// A run spread over machines: which cases are whose, and the documents joined again.
#pragma once

#include "model/record/run.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace convcast {

/// Shard `index` of `count`, from 1: "2/8" on the command line.
struct Shard {
    int index = 1, count = 1;
};

/// Throws UsageError unless `text` is I/N with 1 <= I <= N.
Shard parse_shard(const std::string &text);

/// About how many seconds a case takes to be compiled, verified and timed.
double seconds_to_run(const ConvShape &shape);

/// Of parts of a run, by name with the seconds that each takes, those of a shard. The part that takes longest
/// is dealt first, each to the shard that has the least so far; of equal parts the name decides, and of equal
/// shards the first. So a part goes to the same shard wherever this runs and in whatever order the parts were
/// asked, and all shards take about as long.
std::set<std::string> dealt(const Shard &shard, const std::map<std::string, double> &parts);

/// The ids of a shard's shapes. `all` has each shape as often as it is asked. Absent where there are fewer
/// shapes than shards.
std::optional<std::set<std::string>> shapes_of(const Shard &shard, const std::vector<ConvShape> &all);

/// The cases of a shard, in their order: shapes with all of their cases, so that what is compared is measured
/// on one machine; or single cases where there are fewer shapes than shards. All shards together hold each
/// case once, whatever was measured of it.
std::vector<Case> cases_of(const Shard &shard, std::vector<Case> cases);

/// The condition that holds the hash of all that was asked before it was spread over shards.
inline constexpr const char *question_condition = "question";

/// The condition that says of how many parts the question is: "60 shapes", or "24 cases".
inline constexpr const char *parts_condition = "question_parts";

/// Says in the run's conditions which shard it is, "" of a part that was asked by name, and of which
/// question: the ids of all its shapes, or the names of all its cases.
void note_part(Run &run, const std::string &shard, const std::vector<std::string> &parts);

/// How many parts of the question are not in the run; 0 where it is no part of a question.
std::size_t missing_parts(const Run &run);

/// The condition that holds the hash of the kernels that are no part of Producer::device_code_hash; absent
/// where a run launched none of them.
inline constexpr const char *added_code_condition = "added_code_hash";

struct NamedRun {
    std::string file; ///< names the document in messages
    Run run;
};

/// Of a case that several documents measured differently: an error, or the one of the document with the newer
/// date.
enum class Conflict { refuse, newest };

/// A condition of which documents, or a run and the one that it goes on with, have these values: every one
/// once, in order, of GPUs and shards also where a value is a list already; of dates the first to the last.
std::string joined_condition(const std::string &name, const std::vector<std::string> &values);

/// Adds the user's kernels of another document, `file`. Throws InputError where one of the same name is
/// another one.
void join_own_kernels(Run &run, const std::vector<OwnKernel> &others, const std::string &file);

/// One document with the cases of all, in order of first appearance. What was measured goes before what was
/// only forecast. Throws InputError, every problem at once, where documents were made by other code, from
/// another profile or on another kind of GPU, and by `conflict`. Requires at least one document.
Run merge(std::vector<NamedRun> documents, Conflict conflict);

} // namespace convcast
