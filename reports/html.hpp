// A page as data, and its writer: one self-contained file, readable offline and without scripts. Each kind of
// page is a function that makes a Page; how a card, a table or a drawing looks is said here alone.
#pragma once

#include "reports/figure.hpp"
#include "reports/table.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {

inline const char *const dash = "–"; ///< a number that does not exist

/// The GPU that a document is about, as people call it: the one it was measured on, else that of its profile,
/// whose id it is where that does not ship.
std::string gpu_name(const std::map<std::string, std::string> &conditions, const std::string &profile_id);

/// A text of a table, escaped, with places where a long name may break: after '_', ':' and ',', and within a
/// shape before its filters.
std::string breakable(const std::string &text);

/// "1 case", "2 cases"
std::string count(std::int64_t n, const char *one, const char *many);

/// HTML that stands as it is: its texts are escaped already.
struct Html {
    std::string text;
};
/// A paragraph of such HTML, with a class of page.css.
Html paragraph(const std::string &html, const std::string &look = "");
Html small_print(const std::string &html);

/// A number that a page opens with, what it is (as HTML), and more in small print. A list of no cards writes
/// nothing.
struct Card {
    std::string number, what, more;
};
/// A name and its value; one without a value is left out.
struct Fact {
    std::string name, value;
};
/// A drawing with its caption, or why there is none. `in_page` also draws it for a phone, and `in_screen` for
/// a column where the screen is smaller: the text keeps its size.
struct Drawing {
    Figure figure;
    SvgUse use = SvgUse::in_page;
    bool caption = true;
};
/// A table below its heading; nothing where it has no row. `look` is a class of page.css for its own layout;
/// without it the texts at its left decide.
struct Listing {
    Table table;
    std::string look{}, heading{}; ///< the heading is HTML
};
struct PagePart;
/// Parts in an element: what opens it and what closes it. Nothing where it has no part.
struct Group {
    std::string open, close;
    std::vector<PagePart> parts;
};
struct PagePart : std::variant<Html, Listing, std::vector<Card>, std::vector<Fact>, Drawing, Group> {
    using variant::variant;
};

/// A part of a page. The links at the top of the page lead to it by its `name`; one without a name has no
/// link. A section without parts is left out.
struct Section {
    std::string id, name, heading;
    std::vector<PagePart> parts{};
};

/// A page as data: write_html makes the self-contained file of it.
struct Page {
    std::string title;
    std::string summary{};           ///< what a search or a link shows of it
    std::vector<PagePart> head{};    ///< below the title
    std::vector<PagePart> opening{}; ///< before the first section
    std::vector<Section> sections{};
    bool scripted = true; ///< with the script, which names what lies under the pointer
    std::string data{};   ///< HTML that the script reads
    /// Words in captions that are explained elsewhere on the page: as they stand there, and the entry.
    std::vector<std::pair<std::string, std::string>> words{};
};

/// Style and policy are those of page.css and page.js.
std::string write_html(const Page &page);

/// The paragraph that answers first.
Html answer_paragraph(const std::string &text);
Html heading(const std::string &html);
/// Parts in a <div> of this class; of "pair" and "maps" they stand beside each other.
Group beside(const std::string &look, std::vector<PagePart> parts);
/// Parts that a tap opens.
Group details(const std::string &summary, std::vector<PagePart> parts, bool open = false);
/// "" or a list of texts below a heading.
Html listed(const std::string &title, const std::vector<std::string> &texts);
/// A text cell outside of a table.
std::string html_of(const Cell &cell);
/// A word that the script explains when it is tapped; without scripts it is plain text.
std::string word_button(const std::string &entry, const std::string &text);
/// What the script makes the table of cases of: packed columns and explanations (page_data.hpp).
std::string script_cases(const std::string &columns, const std::vector<std::string> &explanations);
/// Boxes that the script filters by: rows whose data-<kind> has the value of a ticked box are shown.
std::string checkboxes(const char *legend, const char *kind, const std::vector<std::string> &values);
/// The first screen's rest: every condition of a document.
std::vector<Fact> facts_of(const std::map<std::string, std::string> &conditions);

} // namespace convcast
