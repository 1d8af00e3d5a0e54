#include "cli/explanations.hpp"

#include "executor/baselines/names.hpp"
#include "model/base/embedded.hpp"
#include "model/base/text.hpp"
#include "model/machine/profile.hpp"
#include "model/record/paper.hpp"
#include "model/record/study.hpp"
#include "model/strategies/list.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> explained_pages;

namespace cli {
namespace {

/// A text of Markdown without ` and **, and with the text alone of a [text](link).
std::string plain(const std::string &text) {
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '`' || text.compare(at, 2, "**") == 0) {
            at += text[at] == '*' ? 1 : 0;
            continue;
        }
        const std::size_t middle = text[at] == '[' ? text.find("](", at) : std::string::npos;
        const std::size_t end = middle == std::string::npos ? middle : text.find(')', middle);
        if (end == std::string::npos || text.find('[', at + 1) < middle) {
            out += text[at];
            continue;
        }
        out += text.substr(at + 1, middle - at - 1); // [text](link)
        at = end;
    }
    return out;
}

/// The cells of a row "| a | b |" of Markdown; a | in code letters parts none.
std::vector<std::string> cells_of(const std::string &row) {
    return split_outside(std::string_view(row).substr(1, row.rfind('|') - 1), '|', true);
}

/// The names in a cell, between commas or semicolons: two in "`copies`, `all copies`".
std::vector<std::string> names_in(const std::string &cell) {
    std::vector<std::string> names;
    for (const std::string &part : split_outside(cell, ','))
        for (const std::string &text : split_outside(part, ';'))
            if (const std::string name(trimmed(plain(text))); !name.empty())
                names.push_back(name);
    return names;
}

/// Whether a table with this heading of the first column explains names. Other tables have results.
bool has_names(const std::string &heading) {
    static const std::vector<std::string> headings =
        split("id,symbol,here or in code,code,word,member,field,limit,member of fit,work,number of a rule,"
              "counter,stall,regime,term,name",
              ',');
    return std::ranges::find(headings, plain(heading)) != headings.end();
}

/// Reads one page of docs line by line: its tables of names, and its equations, "#### F3 A step".
class PageReader {
  public:
    /// Explanations are appended to `all`.
    PageReader(const std::string &path, std::vector<Explanation> &all) : path_(path), all_(all) {}

    void read(const std::string &text) {
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            if (!line.empty() && line.front() == '#')
                start_section(line);
            else if (!line.empty() && line.front() == '|')
                read_row(line);
            else
                read_text(line);
        }
        end_equation();
    }

  private:
    void start_section(const std::string &line) {
        end_equation();
        columns_.clear();
        const std::size_t level = line.find(' '); // how many # it has
        const std::string title = line.substr(level + 1);
        if (level < 4) { // four: an equation
            section_ = title;
            return;
        }
        const std::size_t gap = title.find(' ');
        equation_ = {{title.substr(0, gap), title.substr(gap + 1)}, path_ + ", " + section_, {}, ""};
        in_equation_ = true;
    }

    void end_equation() {
        if (in_equation_) {
            add_code_names();
            while (!equation_.text.empty() && equation_.text.back() == '\n')
                equation_.text.pop_back();
            all_.push_back(std::move(equation_));
        }
        in_equation_ = false;
    }

    /// An equation is found by the names of its functions too, which the line "Code: `warp_passes`." has.
    void add_code_names() {
        std::string joined = equation_.text;
        std::replace(joined.begin(), joined.end(), '\n', ' ');
        const std::size_t start = joined.find("Code: "), end = joined.find('.', start);
        if (start != std::string::npos && end != std::string::npos)
            for (const std::string &name : names_in(joined.substr(start + 6, end - start - 6)))
                equation_.names.push_back(name);
        equation_.text = plain(equation_.text);
    }

    /// The first row of a table has the titles of its columns; a row of dashes follows.
    void read_row(const std::string &line) {
        const std::vector<std::string> cells = cells_of(line);
        if (columns_.empty()) {
            columns_ = cells;
            return;
        }
        if (!has_names(columns_.front()) || cells.front().find_first_not_of("-: ") == std::string::npos)
            return;
        Explanation one{names_in(cells.front()), path_ + ", " + plain(section_), {}, ""};
        for (std::size_t i = 1; i < std::min(cells.size(), columns_.size()); ++i)
            if (!cells[i].empty()) {
                one.facts.push_back(
                    {columns_[i].empty() ? "what it is" : plain(columns_[i]), plain(cells[i])});
                if (columns_[i] == "code")
                    for (const std::string &name : names_in(cells[i]))
                        one.names.push_back(name);
            }
        if (!one.names.empty())
            all_.push_back(std::move(one));
    }

    /// Ends a table. In an equation's section keeps the line, but for marks of code blocks and pictures.
    void read_text(const std::string &line) {
        columns_.clear();
        if (in_equation_ && line.compare(0, 3, "```") != 0 && line.compare(0, 2, "![") != 0)
            equation_.text += line + "\n";
    }

    std::string path_;
    std::vector<Explanation> &all_;
    std::string section_;
    std::vector<std::string> columns_; ///< of the table that is being read
    Explanation equation_;
    bool in_equation_ = false;
};

void add_strategies(std::vector<Explanation> &all) {
    for (const StrategyDoc &doc : strategy_docs()) {
        Explanation strategy{{doc.name}, "a strategy", {{"what it is", doc.doc}}, ""};
        for (const KnobDoc &knob : doc.knobs)
            strategy.facts.push_back({"knob " + knob.name, knob.doc});
        all.push_back(std::move(strategy));
        for (const KnobDoc &knob : doc.knobs)
            all.push_back({{knob.name}, "a knob of " + doc.name, {{"what it is", knob.doc}}, ""});
    }
}

void add_studies_and_gpus(std::vector<Explanation> &all) {
    for (const std::string &name : shipped_studies()) {
        const Study study = find_study(name);
        all.push_back({{name},
                       "a study",
                       {{"what it is", study.title}, {"shapes", std::to_string(study.shapes.size())}},
                       ""});
    }
    for (const std::string &name : shipped_profiles())
        all.push_back({{name}, "a profile that ships", {{"GPU", find_profile(name).name}}, ""});
}

void add_papers(std::vector<Explanation> &all) {
    for (const std::string &name : shipped_papers()) {
        const Paper paper = find_paper(name);
        for (const PaperItem &item : paper.items)
            all.push_back(
                {{name + ":" + item.id}, paper.title, {{item.number, item.title}, {"says", item.says}}, ""});
    }
}

} // namespace

std::vector<Explanation> explanations() {
    std::vector<Explanation> all;
    for (const EmbeddedFile &page : explained_pages)
        PageReader(page.path, all).read(page.text());
    add_strategies(all);
    add_studies_and_gpus(all);
    add_papers(all);
    return all;
}

std::vector<std::string> words_to_explain() {
    std::set<std::string> words;
    for (const Explanation &one : explanations())
        if (one.names.front().find_first_not_of(
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string::npos)
            words.insert(one.names.front());
    return {words.begin(), words.end()};
}

std::vector<Explanation> mentions_of(const std::string &name) {
    for (const EmbeddedFile &page : explained_pages) {
        const std::string text = page.text();
        const std::size_t at = text.find("`" + name + "`");
        if (at == std::string::npos)
            continue;
        const std::size_t before = text.rfind("\n\n", at), after = text.find("\n\n", at);
        const std::size_t start = before == std::string::npos ? 0 : before + 2;
        if (text[start] != '|')
            return {{{name}, page.path, {}, plain(text.substr(start, after - start))}};
        const std::size_t line = text.rfind('\n', at) + 1; // of a table only the row
        std::string row;
        for (const std::string &cell : cells_of(text.substr(line, text.find('\n', at) - line)))
            if (!cell.empty())
                row += (row.empty() ? "" : ": ") + plain(cell);
        return {{{name}, page.path, {}, row}};
    }
    return {};
}

} // namespace cli
} // namespace convcast
