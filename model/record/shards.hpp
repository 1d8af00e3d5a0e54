// A run spread over machines in shards: which cases each machine runs, and their documents joined again.
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

/// About how many seconds a case takes to be compiled, verified and timed: only to share work out.
double seconds_to_run(const ConvShape &shape);

/// The names of the parts that a shard runs. A part stays on one machine: a shape with all of its cases or,
/// where there are fewer shapes than shards, one case. `parts` has all parts of a run by their names, with
/// the seconds that each takes. The longest part is dealt first, each part to the shard that has the fewest
/// seconds so far; of equal parts the name decides, and of equal shards the first. So a part goes to the same
/// shard wherever this runs and in whatever order the parts were asked, and all shards take about as long.
std::set<std::string> dealt(const Shard &shard, const std::map<std::string, double> &parts);

/// The ids of a shard's shapes. `all` has a shape as often as it has cases. Absent: fewer shapes than shards.
std::optional<std::set<std::string>> shapes_of(const Shard &shard, const std::vector<ConvShape> &all);

/// Those of `cases` that a shard runs, in their order: shapes with all of their cases, so that what is
/// compared is measured on one machine; or single cases where there are fewer shapes than shards.
std::vector<Case> cases_of(const Shard &shard, std::vector<Case> cases);

/// The condition that holds the hash of all that was asked before it was spread over shards.
inline constexpr const char *question_condition = "question";

/// The condition that says how many parts the whole question has: "60 shapes", or "24 cases".
inline constexpr const char *parts_condition = "question_parts";

/// Notes in the run's conditions which shard it is ("2/8"; "" where its cases were asked by name) and of
/// which question: `parts` has the ids of all shapes, or the names of all cases, of the whole question.
void note_part(Run &run, const std::string &shard, const std::vector<std::string> &parts);

/// How many parts of its question are not in the run; 0 where the run notes no question (note_part).
std::size_t missing_parts(const Run &run);

/// The condition that holds the hash of the kernels that are no part of Producer::device_code_hash; absent
/// where a run launched none of them.
inline constexpr const char *added_code_condition = "added_code_hash";

struct NamedRun {
    std::string file; ///< names the document in messages
    Run run;
};

/// What a case that several documents measured differently is: an error, or the one of the newer date.
enum class Conflict { refuse, newest };

/// The value of a condition in a joined document, from its values in the documents: each value once, in
/// order, "A; B". Values of gpu_uuid and shard may be lists already: "A, B"; dates are "first to last".
std::string joined_condition(const std::string &name, const std::vector<std::string> &values);

/// Adds to the run the user's kernels `others` of another document. Throws InputError, which names that
/// `file`, where a kernel of the same name is another one.
void join_own_kernels(Run &run, const std::vector<OwnKernel> &others, const std::string &file);

/// One document with the cases of all, in order of first appearance. Of a case that several have, one that
/// was run counts before one that was only forecast. Throws InputError, every problem at once, where
/// documents were made by other code, from another profile or on another kind of GPU, and by `conflict`.
/// Requires at least one document.
Run merge(std::vector<NamedRun> documents, Conflict conflict);

} // namespace convcast
