// A run spread over machines: which cases are whose, and the documents joined again.
#pragma once

#include "model/record/run.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace convcast {

/// Shard `index` of `count`, from 1: "2/8" on the command line.
struct Shard {
    int index = 1, count = 1;
    bool has(std::size_t place) const {
        return place % static_cast<std::size_t>(count) + 1 == static_cast<std::size_t>(index);
    }
};

/// Throws UsageError unless `text` is I/N with 1 <= I <= N.
Shard parse_shard(const std::string &text);

/// Keeps of `all` what is of the shard's shapes, every count-th one. False where there are fewer shapes than
/// shards: then nothing is left out.
template <class T> bool keep_shard(const Shard &shard, std::vector<T> &all, const auto &shape_of) {
    std::map<std::string, std::size_t> shapes; // -> in order of first appearance
    for (const T &one : all)
        shapes.try_emplace(shape_of(one), shapes.size());
    if (shapes.size() < static_cast<std::size_t>(shard.count))
        return false;
    std::erase_if(all, [&](const T &one) { return !shard.has(shapes.at(shape_of(one))); });
    return true;
}

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

/// Adds the user's kernels of another document, `file`. Throws InputError where one of the same name is
/// another one.
void join_own_kernels(Run &run, const std::vector<OwnKernel> &others, const std::string &file);

/// One document with the cases of all, in order of first appearance. What was measured goes before what was
/// only forecast. Throws InputError, every problem at once, where documents were made by other code, from
/// another profile or on another kind of GPU, and by `conflict`. Requires at least one document.
Run merge(std::vector<NamedRun> documents, Conflict conflict);

} // namespace convcast
