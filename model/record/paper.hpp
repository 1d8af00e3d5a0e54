// A paper as data: its sections, rules, tables and figures in its order, what each claims as typed cells, and
// how convcast answers it. The published numbers that anything here shows are born in data/papers.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/describe.hpp"
#include "model/record/paper_method.hpp"

#include <boost/describe.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

struct PublishedGain;

/// Units in which papers print their numbers.
enum class PaperUnit {
    count,
    times,          ///< a ratio of times: the baseline's over the kernel's
    percent,        ///< a share
    percent_faster, ///< 35.5: the ratio of times is 1.355
    percent_slower, ///< 19: the kernel without the measure reaches 81 % of the performance
    percent_saved,  ///< 36: the measure leaves 64 % of the time
    second,
    millisecond,
    clock,
    byte,
    kilobyte,
    byte_per_clock,
    gigabyte_per_second,
    megahertz,
    gigaflop_per_second,
    fma,
    fma_per_clock,
    thread,
    warp,
    filter,
    pixel,
};
BOOST_DESCRIBE_ENUM(PaperUnit, count, times, percent, percent_faster, percent_slower, percent_saved, second,
                    millisecond, clock, byte, kilobyte, byte_per_clock, gigabyte_per_second, megahertz,
                    gigaflop_per_second, fma, fma_per_clock, thread, warp, filter, pixel)

enum class Statistic { value, average, least, most };
BOOST_DESCRIBE_ENUM(Statistic, value, average, least, most)

/// One printed number.
struct PublishedCell {
    std::string of;                     ///< a row of a table or a series of a figure: "prefetch"
    std::string at;                     ///< a column or a place on the axis: "3x3"; "all" of a summary
    std::optional<std::string> gpu;     ///< as printed
    std::optional<std::string> against; ///< what a ratio or a percentage is over
    std::optional<Statistic> statistic; ///< absent: a value by itself
    double value = 0.0;                 ///< digit by digit as printed
    PaperUnit unit = PaperUnit::count;
    std::optional<std::int64_t> page; ///< where it is not the item's
    std::optional<std::string> remark;
    CONVCAST_MEMBERS(PublishedCell, of, at, gpu, against, statistic, value, unit, page, remark)

    void check(const FieldProblem &problem) const; ///< refuses a ratio over nothing, times of 0
};

enum class AnswerKind {
    computed,     ///< by its own `method`, or by the one that `by` names
    here,         ///< no number to compute: `where` implements or explains it
    not_computed, ///< for the reason in `why`
};
BOOST_DESCRIBE_ENUM(AnswerKind, computed, here, not_computed)

/// How a warp reads shared memory: each lane `unit` neighbouring elements in one instruction, lane after
/// lane.
struct PaperBanks {
    std::string title;
    std::optional<AskedGpu> gpu; ///< whose banks: the paper's (absent) or ours
    std::int64_t element_bytes = 4, unit = 1;
    std::optional<std::int64_t>
        loads; ///< of a warp one after the other, each `unit` elements on; absent: one
    /// Elements of a row of a block, of which the last `halo` are those of the next block: every warp of the
    /// row is drawn with one load.
    std::optional<std::int64_t> row, halo;
    CONVCAST_MEMBERS(PaperBanks, title, gpu, element_bytes, unit, loads, row, halo)

    static constexpr std::optional<Range> range_of(std::string_view field) {
        return field == "halo"            ? std::optional<Range>(Range{0.0, 64.0, true})
               : field == "row"           ? Range{1.0, 4096.0}
               : field == "element_bytes" ? Range{1.0, 8.0}
               : field == "unit"          ? Range{1.0, 4.0}
               : field == "loads"         ? Range{1.0, 16.0}
                                          : std::optional<Range>();
    }
    void check(const FieldProblem &problem) const; ///< refuses what cannot be drawn
};

struct PaperAnswer {
    AnswerKind kind = AnswerKind::here;
    /// A method by its name: of this paper's `methods`, of another shipped paper's, or a computation:
    /// "gains".
    std::optional<std::string> by;
    std::vector<std::string> also;     ///< methods whose tables, figures and claims follow
    std::optional<PaperMethod> method; ///< the item's own; its times, values and lists are there for `by` too
    std::optional<std::string> where;  ///< files or a page of the docs
    std::optional<std::string> command; ///< a command line that answers it by itself
    std::optional<std::string> study;   ///< the study whose shapes it runs
    /// Strategies that compute as the paper's own kernel does. Of two the paper takes one by its rule 4: the
    /// first is its division 1, the second its division 2.
    std::vector<std::string> paper_kernels;
    std::vector<std::string> settings; ///< the paper's own settings of them: strategies with knobs
    /// A convolution and the strategies whose plans for the paper's GPU are drawn of it.
    std::optional<std::string> drawn_shape;
    std::vector<std::string> drawn;
    std::vector<std::string> drawn_titles; ///< of each of them; none: the strategies
    std::vector<std::string> drawn_shapes; ///< of each of them, where they are not all of `drawn_shape`
    std::vector<PaperBanks> banks;         ///< pictures of reads of shared memory
    std::optional<std::string> images;     ///< a data set of which pictures ship and are drawn
    std::optional<std::string> network;    ///< that the paper runs
    std::vector<std::string> rungs;        ///< of its ladder, each set beside the one before
    std::optional<std::string> why;
    CONVCAST_MEMBERS(PaperAnswer, kind, by, also, method, where, command, study, paper_kernels, settings,
                     drawn_shape, drawn, drawn_titles, drawn_shapes, banks, images, network, rungs, why)

    void check(const FieldProblem &problem) const; ///< refuses an answer that lacks what its kind needs
};

enum class PaperPart { section, equation, rule, algorithm, table, figure };
BOOST_DESCRIBE_ENUM(PaperPart, section, equation, rule, algorithm, table, figure)

struct PaperItem {
    std::string id; ///< "figure_4"; names its files
    PaperPart kind = PaperPart::section;
    std::string number; ///< as printed: "4", "3.1, rule 2"
    std::string title;
    std::string says;                 ///< what it claims or contains, in one or two sentences
    std::optional<std::int64_t> page; ///< absent where the copy that was transcribed prints none
    std::vector<PublishedCell> published;
    PaperAnswer answer;
    CONVCAST_MEMBERS(PaperItem, id, kind, number, title, says, page, published, answer)

    static constexpr std::optional<Range> range_of(std::string_view field) {
        return field == "page" ? std::optional<Range>(Range{1.0, 10000.0}) : std::nullopt;
    }
    void check(const FieldProblem &problem) const; ///< refuses a wrong id, and an item without a claim
};

struct BibtexEntry {
    std::string type; ///< "misc"
    std::string key;
    std::map<std::string, std::string> fields; ///< "author", "title", "year", ...
    CONVCAST_MEMBERS(BibtexEntry, type, key, fields)

    void check(const FieldProblem &problem) const; ///< refuses an entry without author, title or year
};

struct Paper {
    std::string schema = "convcast/paper/1";
    std::string id; ///< "chang"
    std::string title;
    std::string authors; ///< for a sentence: "Chang, Onishi and Maruyama"
    std::string gpu;     ///< the shipped profile of the GPU that it was measured on
    BibtexEntry citation;
    std::map<std::string, PaperMethod> methods; ///< that several items name
    std::vector<PaperItem> items;               ///< in the paper's order
    CONVCAST_MEMBERS(Paper, schema, id, title, authors, gpu, citation, methods, items)

    void check(const FieldProblem &problem) const; ///< refuses names of what does not ship, equal ids
};

/// Throws InputError with every problem at once.
Paper read_paper(const std::string &text, const std::string &file);

/// A method that several items share: of this paper, else of another one that ships; nullptr if none has it.
const PaperMethod *find_method(const Paper &paper, const std::string &name);
/// All names that find_method knows for this paper.
std::vector<std::string> method_names(const Paper &paper);

/// A shipped paper by id, or a file by its path. Throws UsageError (unknown) or InputError.
Paper find_paper(const std::string &name_or_file);
std::vector<std::string> shipped_papers();

/// "ms", "B/clk"; "" of a count.
std::string unit_text(PaperUnit unit);

/// The ratio of times that a number says: 1.355 of "35.5 % faster". Absent where it says none.
std::optional<double> ratio_of(const PublishedCell &cell);

/// The speed-ups that the papers print for all of a study, their cells at "all", one entry for each GPU and
/// baseline; and the kernels of the first item that names any for the study. Empty where no paper has it.
std::vector<PublishedGain> published_gains(const std::string &study);
std::vector<std::string> kernels_of_papers(const std::string &study);

extern template const described::Type &described::type_of<Paper>();

} // namespace convcast
