// A run spread over machines: which cases are whose, and the documents joined again.
#pragma once

#include "model/record/run.hpp"

#include <string>
#include <vector>

namespace convcast {

/// Shard `index` of `count`, from 1: "2/8" on the command line.
struct Shard {
    int index = 1, count = 1;
};

/// Throws UsageError unless `text` is I/N with 1 <= I <= N.
Shard parse_shard(const std::string &text);

/// The cases of a shard, in their order: every count-th shape with all of its cases, so that what is compared
/// is measured on one machine; every count-th case where there are fewer shapes than shards. All shards
/// together hold each case once, whatever was measured of it.
std::vector<Case> cases_of(const Shard &shard, std::vector<Case> cases);

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

/// One document with the cases of all, in order of first appearance. What was measured goes before what was
/// only forecast. Throws InputError, every problem at once, where documents were made by other code, from
/// another profile or on another kind of GPU, and by `conflict`. Requires at least one document.
Run merge(std::vector<NamedRun> documents, Conflict conflict);

} // namespace convcast
