// How an item of a paper is answered, as data: times to compare, values computed from them, and the tables,
// figures and claims made of those. docs/add_a_claim.md tells how one is written.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/describe.hpp"
#include "model/base/errors.hpp"

#include <boost/describe.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

/// Whose GPU: the paper's, ours, or the one that a list `gpus` is at.
enum class AskedGpu { paper, ours, its };
BOOST_DESCRIBE_ENUM(AskedGpu, paper, ours, its)

/// Which of a shape's recorded cases: that of our fastest kernel, the fastest of the paper's kernel in
/// settings that predict takes by default, or cuDNN's fastest in true FP32 on NCHW.
enum class RecordedBest { ours, by_default, cudnn };
BOOST_DESCRIBE_ENUM(RecordedBest, ours, by_default, cudnn)

/// A time of a shape, in seconds, which exactly one of the first six members says. If the time is called
/// "own", "own.forecast" is what this version forecasts of the measured case, "own.name" its strategy with
/// knobs.
struct PaperTime {
    /// Settings, or a strategy alone for the fastest of its settings. The first of these that was run counts.
    std::vector<std::string> measured;
    std::optional<std::string> baseline; ///< "cublas"
    std::optional<RecordedBest> best;
    std::optional<std::string> forecast; ///< a setting: its forecast for `gpu`
    std::optional<std::string> chosen;   ///< a strategy: what `convcast choose` ranks first of it, for `gpu`
    std::vector<std::string> fastest;    ///< names of other times, the shortest of which it is
    /// Recordings of `measured`, `baseline` and `best`: "run" of the item's study (as if left out),
    /// "settings" of its own settings, or another study's, "chang_multi" or "chang_multi/settings".
    std::vector<std::string> in;
    std::vector<std::string> except; ///< settings that are left out
    /// A condition without which there is no time; for recorded settings it may name knobs: "knob.tile_k".
    std::optional<std::string> where;
    std::optional<std::string> least; ///< an expression: the setting where it is least, not the fastest
    std::optional<AskedGpu> gpu;      ///< absent: ours
    /// For a forecast: a number of the GPU as if it were another, as `--set` takes it: "bank_width=4".
    std::optional<std::string> with;
    CONVCAST_MEMBERS(PaperTime, measured, baseline, best, forecast, chosen, fastest, in, except, where, least,
                     gpu, with)

    void check(const FieldProblem &problem) const; ///< refuses more or less than one way
};

/// A list of rows: those written down, the shapes of studies, or one column with the numbers from 0 to below
/// `count`. A cell "=peak / 2" is computed. A column "shape" makes a row a convolution, a column "gpu" with
/// the names of profiles makes it a GPU.
struct PaperList {
    std::vector<std::string> studies;
    std::vector<std::string> columns;
    std::optional<std::int64_t> count;
    std::vector<std::vector<std::string>> rows;
    CONVCAST_MEMBERS(PaperList, studies, columns, count, rows)

    static constexpr Range range_of(std::string_view) { return {1.0, 1000.0}; }

    void check(const FieldProblem &problem) const; ///< refuses rows that do not fit the columns
};

struct PaperColumn {
    std::string head, cell; ///< sentences
    CONVCAST_MEMBERS(PaperColumn, head, cell)
};

struct PaperNote {
    std::vector<std::string> each; ///< one for each row of these lists
    std::string says;
    CONVCAST_MEMBERS(PaperNote, each, says)
};

struct PaperTableMethod {
    std::optional<std::string> id;     ///< a sentence; absent: the item's
    std::string title;                 ///< a sentence
    std::optional<std::int64_t> words; ///< columns at the left that are text; absent: one
    std::vector<std::string> each;     ///< one table for each row of these lists
    std::optional<std::string> when;   ///< whether there is one: an expression
    std::vector<std::string> over;     ///< its rows: these lists, each row of the first with all of the next
    std::optional<std::string> where;  ///< a condition: the rows for which it is true
    std::vector<PaperColumn> columns;
    std::vector<PaperNote> notes;
    CONVCAST_MEMBERS(PaperTableMethod, id, title, words, each, when, over, where, columns, notes)

    void check(const FieldProblem &problem) const; ///< refuses a table without columns
};

enum class PaperDrawn { points, lines, bars };
BOOST_DESCRIBE_ENUM(PaperDrawn, points, lines, bars)

enum class PaperScale { logarithmic, linear };
BOOST_DESCRIBE_ENUM(PaperScale, logarithmic, linear)

struct PaperSeries {
    std::string name;  ///< a sentence
    std::string style; ///< colour and mark, an expression: 0 the paper's kernel, 1 our fastest, 2 cuDNN
    std::vector<std::string> each; ///< one series for each row of these lists
    std::optional<PaperDrawn> drawn;
    std::optional<bool> hollow;        ///< a forecast
    std::optional<bool> unlisted;      ///< no entry in the legend
    std::string value;                 ///< an expression; where it is missing there is no point
    std::optional<std::string> begins; ///< for bars: an expression, where a bar begins that ends at `value`
    std::string label;                 ///< a sentence: what a point is called
    CONVCAST_MEMBERS(PaperSeries, name, style, each, drawn, hollow, unlisted, value, begins, label)

    void check(const FieldProblem &problem) const; ///< refuses "begins" of anything but bars
};

/// A line across the axis of the values; with `to` a band.
struct PaperMark {
    std::vector<std::string> each;
    std::string at;
    std::optional<std::string> to;
    std::string label;
    CONVCAST_MEMBERS(PaperMark, each, at, to, label)
};

/// Values over categories; or with `x` lines over numbers.
struct PaperFigureMethod {
    std::optional<bool> beside; ///< stands beside the figure before it, for each row of the same `each`
    std::optional<std::string> id;
    std::string title, caption; ///< sentences
    std::vector<std::string> each;
    std::optional<std::string> when;
    /// Plots beside each other on the same axes, one for each row of these lists, and the sentence above
    /// each.
    std::vector<std::string> panels;
    std::optional<std::string> panel;
    std::vector<std::string> over;
    std::optional<std::string> where;
    std::string axis;                     ///< what the values are, with their unit
    std::optional<PaperScale> scale;      ///< how that axis is divided; absent: logarithmic
    std::optional<std::string> category;  ///< a sentence
    std::optional<std::string> x, x_axis; ///< an expression, and what it is
    std::vector<PaperMark> marks;
    std::vector<PaperSeries> series;
    std::string no_data; ///< why, where no series has a point
    CONVCAST_MEMBERS(PaperFigureMethod, beside, id, title, caption, each, when, panels, panel, over, where,
                     axis, scale, category, x, x_axis, marks, series, no_data)

    void check(const FieldProblem &problem) const; ///< refuses both or neither of category and x
};

/// Boxes of a drawing, one for each row of the lists; places and sizes in units of the drawing, from its
/// upper left corner. Later boxes lie over earlier ones.
struct PaperBoxes {
    std::vector<std::string> over;
    std::optional<std::string> where;
    std::string x, y, width, height;  ///< expressions; a row that lacks one has no box
    std::optional<std::string> style; ///< colour, an expression; absent: the words alone
    std::optional<std::string> text;  ///< a sentence
    CONVCAST_MEMBERS(PaperBoxes, over, where, x, y, width, height, style, text)
};

struct PaperDrawingMethod {
    std::optional<std::string> id;
    std::string title, caption; ///< sentences
    std::optional<std::string> when;
    std::vector<PaperBoxes> boxes;
    CONVCAST_MEMBERS(PaperDrawingMethod, id, title, caption, when, boxes)

    void check(const FieldProblem &problem) const; ///< refuses a drawing without boxes
};

/// What the paper claims, how it is judged and told. The verdict is an expression of the rules
/// ratio(published, found), gain(found), number(published, found), all(so, of), beyond_chance(kappa),
/// best(over the best other) or best(over the best other that was run, firsts that were run, of),
/// follows(so), holds(so) and parts(...); where a value of it is missing the claim is open.
struct PaperClaim {
    std::optional<bool> beside;      ///< stands beside the claim before it, for each row of the same `each`
    std::vector<std::string> each;   ///< one claim for each row of these lists
    std::optional<std::string> when; ///< whether there is one: an expression of what the paper prints
    std::optional<std::string> claim;
    std::optional<std::string> published; ///< absent: "without a number"
    std::optional<std::string> verdict, found, says;
    std::optional<std::string> otherwise; ///< why it is open
    /// Instead of these: the published cell of [of, at] which must come out of `exact`, an expression, to its
    /// last digit, and what that comes from.
    std::vector<std::string> cell;
    std::optional<std::string> exact, from;
    CONVCAST_MEMBERS(PaperClaim, beside, each, when, claim, published, verdict, found, says, otherwise, cell,
                     exact, from)

    void check(const FieldProblem &problem) const; ///< refuses a claim of neither kind
};

struct PaperMethod {
    std::optional<std::int64_t> batch; ///< images of a call of the network; absent: as in the paper
    /// Methods that several share: their tables, figures and claims stand behind its own, for its batch; each
    /// has the times, values and lists of the other.
    std::vector<std::string> parts;
    std::map<std::string, PaperTime> times;
    std::map<std::string, std::string> values; ///< expressions by their names
    std::map<std::string, PaperList> lists;
    /// Figures that reports have: a curve of our GPU's profile by its name, "regime_maps" and "regime_plane"
    /// of the study, "several_gpus" of the network.
    std::vector<std::string> shown;
    std::vector<PaperFigureMethod> figures;
    std::vector<PaperDrawingMethod> drawings;
    std::vector<PaperTableMethod> tables;
    std::vector<PaperClaim> claims;
    CONVCAST_MEMBERS(PaperMethod, batch, parts, times, values, lists, shown, figures, drawings, tables,
                     claims)

    static constexpr Range range_of(std::string_view) { return {1.0, 1e9}; }
    bool answers() const {
        return !claims.empty() || !tables.empty() || !figures.empty() || !shown.empty() ||
               !drawings.empty() || !parts.empty();
    }
};

/// What a text of a method is; the field in which it stands decides it.
enum class PaperTextKind { expression, sentence, setting, list, time, recording, study, plain };
using EachPaperText =
    std::function<void(const std::string &path, const std::string &text, PaperTextKind kind)>;

/// Calls `call` with every text of a method and its path: "/claims/0/verdict".
void each_text(const PaperMethod &method, const EachPaperText &call);

/// Tells `problem` of `field` unless `known` has the name: "expected a study, for example "sweep", found
/// "swep"; did you mean 'sweep'?" `what` is "a study". With `example` "" the first of `known` is the example.
void require_one_of(const std::string &name, const std::vector<std::string> &known, const std::string &what,
                    const std::string &field, const FieldProblem &problem, const std::string &example = "");

/// Tells `problem` of each text of a method that cannot be read as the expression, sentence, setting or study
/// that it should be. `field` is the place of the method.
void check_texts(const PaperMethod &method, const std::string &field, const FieldProblem &problem);

} // namespace convcast
