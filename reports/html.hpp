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

/// The name of the GPU that a document is about: the entry "gpu" of its conditions, else the name in the
/// shipped profile of this id, else the id.
std::string gpu_name(const std::map<std::string, std::string> &conditions, const std::string &profile_id);

/// A text as HTML; a long name may break after '_', ':' and ',', a shape before its filters.
std::string breakable(const std::string &text);

/// "1 case", "2 cases"
std::string count(std::int64_t n, const char *one, const char *many);

/// HTML that the page takes over as it is: its texts are escaped already.
struct Html {
    std::string text;
};
/// A paragraph of such HTML; `look` is a class of page.css.
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
/// A figure with its caption; of one without points, its no_data. With SvgUse::in_page, in_screen and in_pair
/// the page also has a narrow drawing for small screens, in which the text keeps its size.
struct Drawing {
    Figure figure;
    SvgUse use = SvgUse::in_page;
    bool caption = true;
};
/// A table below its heading; a table without rows is not written. `look` is a class of page.css with its
/// layout; "" lays it out by how many columns of text it begins with.
struct Listing {
    Table table;
    std::string look{}, heading{}; ///< the heading is HTML
};
struct PagePart;
/// Parts within an element of HTML; not written where it has no part.
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

/// The page as one file, with page.css and page.js inside. Its policy lets the browser run nothing else.
std::string write_html(const Page &page);

/// The paragraph that answers first.
Html answer_paragraph(const std::string &text);
Html heading(const std::string &html);
/// Parts in a <div> of this class; of "pair" and "maps" they stand beside each other.
Group beside(const std::string &look, std::vector<PagePart> parts);
/// Parts that are folded under `summary` until a tap opens them; `open`: they begin open.
Group details(const std::string &summary, std::vector<PagePart> parts, bool open = false);
/// The texts as a list below a heading; "" where there are none.
Html listed(const std::string &title, const std::vector<std::string> &texts);
/// A text cell outside of a table.
std::string html_of(const Cell &cell);
/// A button with `text` that explains an entry of the glossary; without scripts, plain text.
std::string word_button(const std::string &entry, const std::string &text);
/// What the script makes the table of cases of: `columns` is JSON, `explanations` are packed.
std::string script_cases(const std::string &columns, const std::vector<std::string> &explanations);
/// A ticked box for each value: the script shows the rows whose data-<kind> is the value of a ticked box.
std::string checkboxes(const char *legend, const char *kind, const std::vector<std::string> &values);
/// A fact for each condition of a document.
std::vector<Fact> facts_of(const std::map<std::string, std::string> &conditions);

} // namespace convcast
