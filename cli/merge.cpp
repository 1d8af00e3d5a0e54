#include "cli/arguments.hpp"
#include "cli/document.hpp"
#include "cli/progress.hpp"
#include "cli/verbs.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/text.hpp"
#include "model/record/run_lines.hpp"
#include "model/record/shards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

/// The shards of a spread run that no document is, "3/8, 5/8"; "" for none, and if a document is no shard.
/// Throws UsageError for shards of different numbers and, unless `may_repeat`, for one given twice.
std::string missing_shards(const std::vector<NamedRun> &documents, bool may_repeat) {
    std::map<int, std::string> files; // by the shard's index, from 1
    int count = 0;                    // of all shards; 0: not known yet
    for (const NamedRun &document : documents) {
        const auto text = document.run.conditions.find("shard");
        if (text == document.run.conditions.end())
            return "";
        for (const std::string &one : split(text->second, ", ")) { // several in a document that was joined
            const Shard shard = parse_shard(one);
            if (count != 0 && shard.count != count)
                throw UsageError("merge: " + document.file + " is shard " + one + ", others are of " +
                                 std::to_string(count) +
                                 "; give those of one number, for example shards/*_of_" +
                                 std::to_string(count) + ".jsonl");
            count = shard.count;
            const auto [first, is_new] = files.emplace(shard.index, document.file);
            if (!is_new && !may_repeat)
                throw UsageError("merge: shard " + one + " was given twice, in " + first->second + " and " +
                                 document.file + "; give it once, or --newest to take what is newer of both");
        }
    }
    std::vector<std::string> missing;
    for (int i = 1; i <= count; ++i)
        if (!files.contains(i))
            missing.push_back(std::to_string(i) + "/" + std::to_string(count));
    return join(missing);
}

} // namespace

int merge(const Arguments &arguments) {
    refuse_overwriting(arguments);
    const std::vector<std::string> &files = arguments.positional();
    const bool bare = arguments.has("bare");
    if (files.size() < 2 && !(bare && files.size() == 1))
        arguments.refuse("it joins two Run documents or more, for example: convcast merge shard_1.json "
                         "shard_2.json -o run.json");
    if (std::ranges::count(files, "-") > 1)
        arguments.refuse("standard input (-) was given twice; it can be read once");
    const std::string output = arguments.text("output", "");
    std::vector<NamedRun> documents;
    for (const std::string &file : files)
        documents.push_back({shown_name(file), read_document(file)});
    const bool newest = arguments.has("newest");
    const std::string missing = missing_shards(documents, newest);
    Run merged = convcast::merge(std::move(documents), newest ? Conflict::newest : Conflict::refuse);

    if (bare)
        for (Case &item : merged.cases)
            item.prediction.reset();
    const std::size_t fewer = missing_parts(merged);
    if (missing.empty() && fewer == 0)
        for (const char *of_a_part : {"shard", question_condition, parts_condition})
            merged.conditions.erase(of_a_part);
    if (!output.empty())
        write_run_file(output, merged);
    if (output.empty() || (arguments.has("json") && output != "-")) {
        write_file_atomically("-", write_run(merged));
    } else if (output != "-") {
        const auto measured =
            std::ranges::count_if(merged.cases, [](const Case &item) { return !item.measurements.empty(); });
        const auto open = std::ranges::count_if(
            merged.cases, [](const Case &item) { return item.status == Status::not_run; });
        write_file_atomically("-", fmt::format("{} documents, {} cases: {} measured, {} not run\n",
                                               files.size(), merged.cases.size(), measured, open));
    }
    if (!missing.empty())
        return note("shards that were not given: " + missing), 1;
    if (fewer > 0)
        return note(fmt::format("{} of the {} that were asked are in no document: a file is cut off, or "
                                "some ids were not run",
                                fewer, merged.conditions.at(parts_condition))),
               1;
    return code_of(merged);
}

} // namespace convcast::cli
