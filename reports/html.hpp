// What the pages of a run and of a profile share: the head with its policy, tables, figures, the script's
// data.
#pragma once

#include "model/base/json.hpp"
#include "reports/figure.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <map>
#include <string>
#include <utility>
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

/// One self-contained page, written from the top: open, sections, close.
class HtmlWriter {
  protected:
    template <class... Args> void add(fmt::format_string<Args...> format, Args &&...args) {
        fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    }

    /// Up to <header>, which holds `title` as its heading. `summary` is what a search or a link shows of the
    /// page. Style and policy are those of page.css and page.js.
    void open(const std::string &title, const std::string &summary = "");
    /// From </main> on. `rows` is what the script sorts, filters and shows: the rows of the table with the id
    /// "table" refer to it by their index in data-case.
    std::string close(const JsonArray &rows);
    /// The same where the script makes the table itself, from packed columns and explanations
    /// (page_data.hpp).
    std::string close(const std::string &columns, const std::vector<std::string> &explanations);

    /// The same of a page without the script and such a table.
    std::string close();
    /// With the script, which names what lies under the pointer.
    std::string close_figures();

    /// The ways to the parts of the page: pairs of a section's id and its name.
    void nav(const std::vector<std::pair<std::string, std::string>> &parts);

    void open_tiles();
    /// A number, what it is (as HTML), and more in small print.
    void tile(const std::string &number, const std::string &what, const std::string &more);
    void close_tiles();

    /// The drawing with its caption, or why there is none. `in_page` also draws it for a phone, and
    /// `in_screen` for a column where the screen is smaller: the text keeps its size.
    void figure(const Figure &figure, SvgUse use = SvgUse::in_page, bool caption = true);

    /// Words in captions that are explained elsewhere on the page: as they stand there, and the entry.
    std::vector<std::pair<std::string, std::string>> words_{};
    /// A word that the script explains when it is tapped; without scripts it is plain text.
    static std::string word_button(const std::string &entry, const std::string &text);

    /// The first `words` columns are text, the others numbers.
    void head(int words, const std::vector<std::string> &names);
    /// The first cell names the row, the others are escaped here too.
    void line(const std::vector<std::string> &cells);
    void tail();

    /// One of a <dl class="facts">; nothing for an empty value.
    void fact(const std::string &name, const std::string &value);

    /// Boxes that the script filters by: rows whose member `kind` has the value of a ticked one are shown.
    void checkboxes(const char *legend, const char *kind, const std::vector<std::string> &values);

    std::string out_;

  private:
    void tighten();
};

} // namespace convcast
