// What `convcast reproduce` says of a paper: for each of its items tables, figures, and findings that set a
// published claim beside what is found here.
#pragma once

#include "model/base/describe.hpp"
#include "model/record/paper.hpp"
#include "reports/figure.hpp"
#include "reports/papers/verdicts.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace convcast {

struct Recording;

struct ClaimAnswer {
    std::string item;      ///< PaperItem::id
    std::string claim;     ///< "average speed-up over cuDNN 7.1"
    std::string published; ///< as printed, with its unit
    std::string found;     ///< the same here, and on which GPU
    ClaimVerdict verdict = ClaimVerdict::open;
    std::string sentence;  ///< why, in numbers
    std::string counted{}; ///< the earlier item that has the same claim: it is counted there; "" of the first
    std::string where{};   ///< title_of the item
    std::vector<const VerdictRule *> rules{}; ///< that judged it
    std::int64_t batch = 0; ///< images of a call where it is not that of the paper: PaperMethod::batch
    CONVCAST_MEMBERS(ClaimAnswer, item, claim, published, found, verdict, sentence, counted)
};

struct PaperTable {
    std::string id; ///< names its CSV file
    std::string title;
    int words = 1; ///< columns at the left that are text
    std::vector<std::string> head;
    std::vector<std::vector<std::string>> rows;
    std::string note;
    CONVCAST_MEMBERS(PaperTable, id, title, words, head, rows, note)
};

/// A diagram that exists as SVG only: of a plan, or of boxes.
struct PaperDrawing {
    std::string id; ///< names its file
    std::string title, caption;
    std::string svg;
};

struct ItemAnswer {
    std::vector<PaperTable> tables;
    std::vector<Figure> figures;
    std::vector<PaperDrawing> drawings;
    std::vector<ClaimAnswer> findings;
    std::string of_other_code; ///< Recordings::of_other_code of what it stands on
};

/// How many claims have each verdict. A claim that several items repeat is counted once.
struct ClaimCounts {
    std::int64_t holds = 0, in_part = 0, differs = 0, follows = 0, open = 0;
    CONVCAST_MEMBERS(ClaimCounts, holds, in_part, differs, follows, open)

    std::int64_t &of(ClaimVerdict verdict) {
        return *std::array{&holds, &in_part, &differs, &follows, &open}[static_cast<std::size_t>(verdict)];
    }
    std::int64_t judged() const { return holds + in_part + differs; }
    /// A printed number that follows from other printed numbers says nothing of a GPU and is no claim.
    std::int64_t claims() const { return judged() + open; }
};

struct Reproduction {
    Paper paper;
    std::string paper_gpu, our_gpu;       ///< names
    std::string measured;                 ///< where and when what was measured, or why nothing was
    std::string not_measured;             ///< what of the networks was not measured on our GPU; else ""
    std::string no_time;                  ///< why the paper's GPU has no time; "" where it has
    std::vector<std::string> assumptions; ///< of forecasts for the paper's GPU
    std::vector<ItemAnswer> answers;      ///< one for each of the paper's items
    ClaimCounts counts;
    std::set<const Recording *> used; ///< what the answers stand on
    std::string of_other_code;        ///< Recordings::of_other_code of these
};

/// The tables, figures, drawings or findings of all items in one list, in the order of the items.
template <class Part>
std::vector<Part> of_all_items(const Reproduction &reproduction, std::vector<Part> ItemAnswer::*parts) {
    std::vector<Part> all;
    for (const ItemAnswer &answer : reproduction.answers)
        all.insert(all.end(), (answer.*parts).begin(), (answer.*parts).end());
    return all;
}

/// The finding for a printed number that must follow from others to its last digit: `found` is what `where`,
/// as "equation (1)", gives. The verdict is follows or differs.
ClaimAnswer exact(const PaperItem &item, const PublishedCell &cell, double found, const std::string &where);

class PaperContext;

/// Answers all items. Throws InputError with every name in an item's methods that nothing stands for.
Reproduction reproduce(const Paper &paper, const PaperContext &context);

/// How an item is called: "Figure 4", "Section 3.1, rule 2".
std::string title_of(const PaperItem &item);
/// How a published number is called: "performance, 3x3".
std::string title_of(const PublishedCell &cell);

} // namespace convcast
