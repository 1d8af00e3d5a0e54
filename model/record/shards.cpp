#include "model/record/shards.hpp"

#include "model/base/comparison.hpp"
#include "model/base/document.hpp"
#include "model/base/errors.hpp"
#include "model/base/hash.hpp"
#include "model/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr int most_shards = 1000000; ///< chosen: more than there are machines

/// Study, shape, strategy, baseline, and how many such cases the document has before this one.
using CaseKey = std::tuple<std::optional<std::string>, std::string, std::optional<std::string>,
                           std::optional<std::string>, int>;

/// A case as a part of a question. Its blank tells note_part that it is no id of a shape.
std::string name_of(const Case &item) {
    return item.shape + " " + item.called();
}

/// How far a document got with a case, the least first; one that no kernel can do counts as forecast.
enum class Progress { nothing, forecast, run };
Progress progress_of(const Case &item) {
    if (!item.measurements.empty() || item.status == Status::wrong_result || item.status == Status::failed)
        return Progress::run;
    return item.status == Status::not_run ? Progress::nothing : Progress::forecast;
}

/// The conditions that two documents must have alike where both have them, and what is said of a document
/// where they are not: {0} is the earlier document's value, {1} the later one's, {2} its version and {3} what
/// to do instead.
constexpr std::pair<const char *, fmt::string_view> alike_conditions[] = {
    {added_code_condition, "was made by other code (version {2}, another text of a kernel); {3}"},
    {question_condition,
     "is a shard of another question: other shapes were asked before it was spread; run it "
     "again for the same list"},
    {"gpu", "was measured on {1} and not on {0}; one document holds the numbers of one kind of GPU"},
    {"cudnn", "was measured with cuDNN {1} and not {0}; {3}"},
    {"cublas", "was measured with cuBLAS {1} and not {0}; {3}"},
    {"driver_cuda", "was measured with a driver for CUDA {1} and not {0}; {3}"}};

/// Why `document` cannot be joined with `earlier`, one entry for each reason.
std::vector<std::string> differences(const NamedRun &earlier, const NamedRun &document) {
    const Run &first = earlier.run, &later = document.run;
    const std::string instead = "one document holds the numbers of one version; set the two side by side: "
                                "convcast compare " +
                                earlier.file + " " + document.file;
    std::vector<std::string> reasons;
    if (first.producer.device_code_hash != later.producer.device_code_hash ||
        first.producer.measuring_code_hash != later.producer.measuring_code_hash)
        reasons.push_back("was made by other code (version " + later.producer.version + " against " +
                          first.producer.version + "); " + instead);
    if (first.profile_hash != later.profile_hash)
        reasons.push_back("was forecast from another profile ('" + later.profile_id + "' against '" +
                          first.profile_id + "', or another version of it)");
    for (const auto &[name, reason] : alike_conditions) {
        const std::string one = condition_of(first.conditions, name),
                          other = condition_of(later.conditions, name);
        if (!one.empty() && !other.empty() && one != other)
            reasons.push_back(fmt::format(fmt::runtime(reason), one, other, later.producer.version, instead));
    }
    return reasons;
}

/// joined_condition of every condition that a document has.
std::map<std::string, std::string> joined_conditions(const std::vector<NamedRun> &documents) {
    std::map<std::string, std::vector<std::string>> values;
    for (const NamedRun &document : documents)
        for (const auto &[name, value] : document.run.conditions)
            values[name].push_back(value);
    std::map<std::string, std::string> joined;
    for (const auto &[name, its] : values)
        joined[name] = joined_condition(name, its);
    return joined;
}

} // namespace

std::string joined_condition(const std::string &name, const std::vector<std::string> &values) {
    // Only lists are parted at commas: other values may have commas of their own.
    const bool dates = name == "date", lists = name == "gpu_uuid" || name == "shard";
    const std::string between = dates ? " to " : lists ? ", " : "; ";
    std::vector<std::string> seen;
    for (const std::string &value : values)
        for (std::string &part : split(value, between))
            if (std::find(seen.begin(), seen.end(), part) == seen.end())
                seen.push_back(std::move(part));
    if (!dates || seen.size() < 2)
        return join(seen, between);
    const auto [first, last] = std::minmax_element(seen.begin(), seen.end());
    return *first + " to " + *last;
}

Shard parse_shard(const std::string &text) {
    const std::size_t slash = text.find('/');
    const std::string_view all = text;
    const std::optional<int> index = number_of<int>(all.substr(0, slash)),
                             count = number_of<int>(slash == std::string::npos ? "" : all.substr(slash + 1));
    if (!index || !count || *count < 1 || *count > most_shards || *index < 1 || *index > *count)
        throw UsageError("a shard is I/N with I from 1 to N, for example 2/8, got '" + text + "'");
    return {*index, *count};
}

double seconds_to_run(const ConvShape &shape) {
    // Assumed: seconds to compile, prepare and verify; then calls, warm and cold, by a kernel that reaches a
    // tenth of a large GPU's rate, in operations a second.
    constexpr double once = 0.3, calls = 200.0, flops = 5e12;
    return once + calls * 2.0 * shape.fmas().value / flops;
}

std::set<std::string> dealt(const Shard &shard, const std::map<std::string, double> &parts) {
    std::vector<std::pair<double, const std::string *>> order;
    for (const auto &[name, seconds] : parts) // in the order of names, which a stable sort keeps
        order.emplace_back(seconds, &name);
    std::ranges::stable_sort(order, std::greater{}, [](const auto &part) { return part.first; });
    using Load = std::pair<double, int>; // seconds, shard: of equal loads the first shard is on top
    std::priority_queue<Load, std::vector<Load>, std::greater<>> shards;
    for (int i = 1; i <= shard.count; ++i)
        shards.emplace(0.0, i);
    std::set<std::string> mine;
    for (const auto &[seconds, name] : order) {
        const auto [load, least] = shards.top();
        shards.pop();
        shards.emplace(load + seconds, least);
        if (least == shard.index)
            mine.insert(*name);
    }
    return mine;
}

std::optional<std::set<std::string>> shapes_of(const Shard &shard, const std::vector<ConvShape> &all) {
    std::map<std::string, double> shapes;
    for (const ConvShape &shape : all)
        shapes[shape.id()] += seconds_to_run(shape);
    return shapes.size() < static_cast<std::size_t>(shard.count) ? std::nullopt
                                                                 : std::optional(dealt(shard, shapes));
}

std::vector<Case> cases_of(const Shard &shard, std::vector<Case> cases) {
    std::vector<ConvShape> shapes;
    for (const Case &item : cases)
        shapes.push_back(ConvShape::parse(item.shape));
    std::optional<std::set<std::string>> mine = shapes_of(shard, shapes);
    std::vector<std::string> names; // for each case that of its part
    std::map<std::string, double> parts;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        std::string &name = names.emplace_back(mine ? shapes[i].id() : name_of(cases[i]));
        while (!mine &&
               parts.contains(name)) // a document may have a case twice: the second one is another part
            name += " again";
        parts.emplace(name, seconds_to_run(shapes[i]));
    }
    if (!mine)
        mine = dealt(shard, parts);
    std::vector<Case> kept;
    for (std::size_t i = 0; i < cases.size(); ++i)
        if (mine->contains(names[i]))
            kept.push_back(std::move(cases[i]));
    return kept;
}

void note_part(Run &run, const std::string &shard, const std::vector<std::string> &parts) {
    const std::set<std::string> sorted(parts.begin(), parts.end());
    if (!shard.empty())
        run.conditions["shard"] = shard;
    run.conditions[question_condition] = content_hash({sorted.begin(), sorted.end()});
    const bool cases = !sorted.empty() && sorted.begin()->find(' ') != std::string::npos;
    run.conditions[parts_condition] = std::to_string(sorted.size()) + (cases ? " cases" : " shapes");
}

std::size_t missing_parts(const Run &run) {
    const std::string asked = condition_of(run.conditions, parts_condition);
    const auto count = number_of<std::size_t>(asked.substr(0, asked.find(' ')));
    std::set<std::string> parts;
    for (const Case &item : run.cases)
        parts.insert(asked.ends_with("cases") ? name_of(item) : item.shape);
    return count && *count > parts.size() ? *count - parts.size() : 0;
}

void join_own_kernels(Run &run, const std::vector<OwnKernel> &others, const std::string &file) {
    for (const OwnKernel &kernel : others) {
        OwnKernel *same_name = nullptr;
        for (OwnKernel &known : run.own_kernels)
            same_name = known.name == kernel.name ? &known : same_name;
        if (same_name == nullptr)
            run.own_kernels.push_back(kernel);
        else if (!same_kernel(*same_name, kernel))
            throw InputError(file, "has another kernel of the name " + kernel.name +
                                       " than an earlier document or the question; one document holds "
                                       "one text of a kernel: give the new one another \"name\"");
        else
            same_name->compiled.insert(kernel.compiled.begin(), kernel.compiled.end());
    }
}

Run merge(std::vector<NamedRun> documents, Conflict conflict) {
    std::vector<InputProblem> problems;
    const Run &first = documents.front().run;
    for (const NamedRun &document : documents)
        for (std::string &reason : differences(documents.front(), document))
            problems.push_back({document.file, std::move(reason)});
    if (!problems.empty())
        throw InputError(std::move(problems));

    Run merged;
    merged.producer = first.producer;
    merged.profile_id = first.profile_id;
    merged.profile_hash = first.profile_hash;
    merged.conditions = joined_conditions(documents);

    for (const NamedRun &document : documents)
        join_own_kernels(merged, document.run.own_kernels, document.file);

    struct Kept {
        std::size_t place;    ///< in merged.cases
        std::size_t document; ///< where it comes from
    };
    std::map<CaseKey, Kept> kept;
    for (std::size_t d = 0; d < documents.size(); ++d) {
        std::map<CaseKey, int> times; // that the document has had a case up to here
        auto unread = documents[d].run.unread.begin();
        const auto of_others = std::ssize(merged.unread);  // an unread case that they have too is kept once
        const auto take_unread = [&](std::size_t before) { // those in front of the case of this index
            for (; unread != documents[d].run.unread.end() && unread->before <= before; ++unread)
                if (std::none_of(merged.unread.begin(), merged.unread.begin() + of_others,
                                 [&](const UnreadCase &other) { return other.json == unread->json; }))
                    merged.unread.push_back({merged.cases.size(), unread->json, unread->problems});
        };
        for (Case &item : documents[d].run.cases) {
            take_unread(static_cast<std::size_t>(&item - documents[d].run.cases.data()));
            CaseKey key{item.study, item.shape, item.strategy, item.baseline, 0};
            std::get<int>(key) = times[key]++;
            const auto [found, fresh] = kept.try_emplace(key, Kept{merged.cases.size(), d});
            if (fresh) {
                merged.cases.push_back(std::move(item));
                continue;
            }
            Case &known = merged.cases[found->second.place];
            const auto replace_known = [&, &from = found->second.document] {
                known = std::move(item);
                from = d;
            };
            if (progress_of(item) != progress_of(known)) {
                if (progress_of(item) > progress_of(known))
                    replace_known();
                continue;
            }
            if (progress_of(item) < Progress::run ||
                to_text(described::write(item)) == to_text(described::write(known)))
                continue;
            const NamedRun &earlier = documents[found->second.document];
            const std::string old_date = condition_of(earlier.run.conditions, "date"),
                              new_date = condition_of(documents[d].run.conditions, "date");
            if (conflict == Conflict::newest && !old_date.empty() && !new_date.empty() &&
                old_date != new_date) {
                if (new_date > old_date)
                    replace_known();
                continue;
            }
            problems.push_back(
                {documents[d].file,
                 name_of(item) + " was run for " + earlier.file + " too" +
                     (conflict == Conflict::newest ? ", and their dates do not tell which is newer"
                                                   : "; --newest keeps the one of the newer document")});
        }
        take_unread(std::numeric_limits<std::size_t>::max());
    }
    if (!problems.empty())
        throw InputError(std::move(problems));
    return merged;
}

} // namespace convcast
