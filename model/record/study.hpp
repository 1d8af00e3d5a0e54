// A study: a list of shapes, with what a paper published of them or how often a network has them.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/describe.hpp"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

/// A paper's speed-up over its baseline. Those of the studies that ship come from data/papers.
struct PublishedGain {
    std::string gpu, baseline;
    std::optional<double> low, high, average;
    std::string remark;
    CONVCAST_MEMBERS(PublishedGain, gpu, baseline, low, high, average, remark)
};

/// Cases in which one number is swept and all else stays: each setting for each shape.
struct StudySweep {
    std::string id;    ///< "map_split_q"
    std::string swept; ///< a knob's name, or "h": the map's height
    std::string title;
    std::vector<std::string> shapes;     ///< canonical shape texts
    std::vector<std::string> strategies; ///< with the knobs that are set
    CONVCAST_MEMBERS(StudySweep, id, swept, title, shapes, strategies)

    void check(const FieldProblem &problem) const; ///< refuses what cannot be swept
};

struct Study {
    std::string schema = "convcast/study/1";
    std::string id; ///< "chang_single"
    std::string title;
    std::string citation;
    std::vector<std::string> shapes; ///< canonical shape texts
    std::vector<std::int64_t>
        counts; ///< of each shape: layers of the network that have it; empty: no network
    /// Asked of every shape besides what each strategy takes of itself, as a paper's own setting. Where two
    /// settings give the same plan, only one is asked.
    std::vector<std::string> settings;
    std::vector<StudySweep> sweeps; ///< besides `shapes`: asked with the settings that they name
    std::vector<PublishedGain> published;
    /// Strategies that compute as the paper's own kernel does, which `published` is of. Where there are two,
    /// the first is the paper's division 1 and the second its division 2, and the paper's rule 4 selects one
    /// of them. Of the studies that ship these come from data/papers.
    std::vector<std::string> paper_kernels;
    CONVCAST_MEMBERS(Study, schema, id, title, citation, shapes, counts, settings, sweeps, published,
                     paper_kernels)

    static constexpr bool has_default(std::string_view field) {
        return field == "schema" || field == "id" || field == "title" || field == "citation";
    }
    void check(const FieldProblem &problem) const; ///< refuses wrong shapes, settings, counts, ids
};

/// Reads a study; its shapes become canonical texts. A document with shapes and no schema is a study, too,
/// and without an id it is called as its file. Throws InputError with every problem at once, shapes included.
Study read_study(const std::string &text, const std::string &file);

/// A shipped study by id, with the numbers of data/papers, or a file. Throws UsageError or InputError.
Study find_study(const std::string &name_or_file);
std::vector<std::string> shipped_studies();

extern template const described::Type &described::type_of<Study>();

} // namespace convcast
