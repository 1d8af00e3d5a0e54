#include "reports/html.hpp"

#include "model/base/readable.hpp"
#include "model/machine/profile.hpp"
#include "reports/explained.hpp"
#include "reports/page_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

/// 'sha256-...' as Content-Security-Policy wants it, of a digest in hexadecimal.
std::string policy_hash(const std::string &hex) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    return "'sha256-" + base64(bytes) + "'";
}

std::string html_number(double number, As as) {
    switch (as) {
    case As::ratio:
        return fmt::format("{:.3f}", number);
    case As::factor:
        return times(number);
    case As::share:
        return percent_text(number, 1);
    case As::time:
        return microseconds(Seconds(number));
    default:
        return short_number(number);
    }
}

std::string html_text(const std::string &text, Fit fit) {
    if (const std::size_t colon = text.find(':'); fit == Fit::knobs && colon != std::string::npos)
        return fmt::format("<span title=\"{}\">{}</span>", escape_xml(text),
                           breakable(text.substr(0, colon)));
    return fit == Fit::wrap ? escape_xml(text) : breakable(text); // prose breaks at its blanks
}

/// What a cell says, as HTML; numbers in the way of their column.
std::string html_value(const Cell &cell, const Column &column) {
    return cell_text(
        cell, dash, [&](const std::string &text) { return html_text(text, column.fit); },
        [&](double number) { return html_number(number, column.as); });
}

/// A cell as HTML: value and mark, as a link if it has one, and below them what is in small print.
std::string html_cell(const Cell &cell, const Column &column) {
    std::string text = html_value(cell, column) + (cell.mark.empty() ? "" : " " + cell.mark);
    if (!cell.link.empty())
        text = fmt::format(
            "<a href=\"{}\"{}>{}</a>", escape_xml(cell.link),
            cell.link.starts_with("#case=") ? " data-case=\"" + cell.link.substr(6) + "\"" : "", text);
    return text + (cell.under.empty() ? "" : "<small class=\"what\">" + breakable(cell.under) + "</small>");
}

/// A figure as HTML: one drawing, or two, of which page.css shows the one that fits the screen.
std::string drawing_html(const Figure &f, SvgUse use) {
    if (use != SvgUse::in_page && use != SvgUse::in_screen && use != SvgUse::in_pair)
        return fmt::format("<div class=\"scroll\">\n{}</div>", to_svg(f, use));
    return fmt::format("<div class=\"scroll on-{0}\">\n{1}</div><div class=\"scroll off-{0}\">\n{2}</div>",
                       use == SvgUse::in_page ? "phone" : "column", to_svg(f, SvgUse::in_column),
                       to_svg(f, use == SvgUse::in_pair ? SvgUse::in_page : use));
}

/// A table as HTML. Without a `look` its class, "words2", counts the columns of text that it begins with.
std::string table_html(const Table &table, const std::string &look) {
    const std::vector<Column> &columns = table.columns;
    const auto number = std::ranges::find_if(columns, [](const Column &c) { return c.as != As::text; });
    std::string out = fmt::format("<div class=\"scroll\"><table class=\"{}\"><thead><tr>",
                                  look.empty() ? fmt::format("words{}", number - columns.begin()) : look);
    for (const Column &column : columns)
        out += fmt::format("<th scope=\"col\">{}{}</th>",
                           escape_xml(column.full.empty() ? column.title : column.full),
                           column.as == As::time ? ", µs" : "");
    out += "</tr></thead><tbody>\n";
    for (const std::vector<Cell> &row : table.rows) {
        out += "<tr>";
        for (std::size_t i = 0; i < row.size(); ++i)
            out += std::string(i == 0 ? "<th scope=\"row\"" : "<td") +
                   (row[i].look.empty() ? "" : " class=\"" + row[i].look + "\"") + ">" +
                   html_cell(row[i], columns[i]) + (i == 0 ? "</th>" : "</td>");
        out += "</tr>\n";
    }
    return out + "</tbody></table></div>\n";
}

/// The body with no line break between a number and " %" or " µs" after it.
std::string tightened(const std::string &body) {
    std::string out;
    out.reserve(body.size());
    for (std::size_t i = 0; i < body.size(); ++i) {
        const bool unit = body.compare(i, 2, " %") == 0 || body.compare(i, 4, " µs") == 0;
        if (unit && i > 0 && body[i - 1] >= '0' && body[i - 1] <= '9')
            out += "\u00a0";
        else
            out += body[i];
    }
    return out;
}

/// Where the script says what lies under the pointer.
const char *const said_below = "<output id=\"lit\" class=\"scripted\" aria-live=\"polite\"></output>\n";

/// Writes the body of a page; each kind of part has an operator() that adds its HTML.
class BodyWriter {
  public:
    explicit BodyWriter(const Page &page) : page_(page) {}

    std::string write() && {
        out_ = "<header>\n<h1>" + escape_xml(page_.title) + "</h1>\n";
        add(page_.head);
        links_to_sections();
        out_ += "</header>\n<main>\n";
        add(page_.opening);
        for (const Section &section : page_.sections) {
            if (section.parts.empty())
                continue;
            out_ += "<section id=\"" + section.id + "\">" +
                    (section.heading.empty() ? "" : "<h2>" + escape_xml(section.heading) + "</h2>") + "\n";
            add(section.parts);
            out_ += "</section>\n";
        }
        return tightened(out_) + "</main>\n";
    }

    void operator()(const Html &html) { out_ += html.text; }
    void operator()(const Listing &listing) {
        if (!listing.table.rows.empty())
            out_ += (listing.heading.empty() ? "" : heading(listing.heading).text) +
                    table_html(listing.table, listing.look);
    }
    void operator()(const std::vector<Card> &cards) {
        if (cards.empty())
            return;
        out_ += "<div class=\"tiles\">\n";
        for (const Card &card : cards)
            out_ += "<div class=\"tile\"><strong>" + escape_xml(card.number) + "</strong><span>" + card.what +
                    "</span><small>" + escape_xml(card.more) + "</small></div>\n";
        out_ += "</div>\n";
    }
    void operator()(const std::vector<Fact> &facts) {
        constexpr std::size_t whole_line = 160; // characters, which in a column would be a tower
        std::string out;
        for (const Fact &fact : facts)
            if (!fact.value.empty())
                out += std::string("<div") + (fact.value.size() > whole_line ? " class=\"long\"" : "") +
                       "><dt>" + escape_xml(fact.name) + "</dt><dd>" + escape_xml(fact.value) +
                       "</dd></div>\n";
        out_ += out.empty() ? "" : "<dl class=\"facts\">\n" + out + "</dl>\n";
    }
    void operator()(const Drawing &drawing) {
        const Figure &f = drawing.figure;
        out_ += fmt::format("<figure id=\"f-{}\"{}><h3>{}</h3>", escape_xml(f.id),
                            drawing.use == SvgUse::in_screen ? " class=\"broad\"" : "", escape_xml(f.title));
        if (f.point_count() == 0) {
            out_ += "<p>Nothing to draw: " + escape_xml(f.no_data) + ".</p></figure>\n";
            return;
        }
        out_ += drawing_html(f, drawing.use);
        if (drawing.caption) {
            std::string text = escape_xml(f.caption);
            for (const auto &[word, entry] : page_.words)
                if (const std::size_t at = text.find(word); at != std::string::npos)
                    text.replace(at, word.size(), word_button(entry, word));
            out_ += "<figcaption>" + text + "</figcaption>";
        }
        out_ += "</figure>\n";
    }
    void operator()(const Group &group) {
        if (group.parts.empty())
            return;
        out_ += group.open;
        add(group.parts);
        out_ += group.close;
    }

  private:
    void add(const std::vector<PagePart> &parts) {
        for (const PagePart &part : parts)
            std::visit(*this, static_cast<const PagePart::variant &>(part));
    }

    /// The links to the sections; more than a line holds do not stay at the top of the window.
    void links_to_sections() {
        constexpr std::size_t most_in_a_line = 12;
        const bool many = page_.sections.size() > most_in_a_line;
        std::string links;
        for (const Section &section : page_.sections)
            if (!section.name.empty() && !section.parts.empty())
                links += (many && !links.empty() ? " · " : "") + std::string("<a href=\"#") + section.id +
                         "\">" + escape_xml(section.name) + "</a>";
        out_ += "<nav aria-label=\"parts of the page\">" +
                (many ? "<p class=\"small\">" + links + "</p>" : links) + "</nav>\n";
    }

    const Page &page_;
    std::string out_;
};

} // namespace

std::string gpu_name(const std::map<std::string, std::string> &conditions, const std::string &profile_id) {
    if (const auto entry = conditions.find("gpu"); entry != conditions.end())
        return entry->second;
    const std::vector<std::string> shipped = shipped_profiles();
    return std::ranges::find(shipped, profile_id) == shipped.end() ? profile_id
                                                                   : find_profile(profile_id).name;
}

std::string breakable(const std::string &text) {
    constexpr std::size_t short_enough = 18; // for a column of a phone
    if (text.size() <= short_enough)
        return escape_xml(text);
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    std::string out, part;
    const auto end = [&] {
        out += escape_xml(part) + "<wbr>";
        part.clear();
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i], next = i + 1 < text.size() ? text[i + 1] : ' ';
        if ((c == 'k' || c == 'r') && digit(next) && i > 0 && digit(text[i - 1]))
            end();
        part += c;
        if ((c == '_' || c == ':' || c == ',') && next != ' ' && next != c &&
            !(next >= 'A' && next <= 'Z')) // codes stay whole
            end();
    }
    return out + escape_xml(part);
}

std::string count(std::int64_t n, const char *one, const char *many) {
    return fmt::format("{} {}", n, n == 1 ? one : many);
}

std::string write_html(const Page &page) {
    return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src " +
           policy_hash(CONVCAST_PAGE_CSS_SHA256) + "; script-src " + policy_hash(CONVCAST_PAGE_JS_SHA256) +
           "; img-src data:; base-uri 'none'; form-action 'none'\">\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n" +
           (page.summary.empty()
                ? ""
                : "<meta name=\"description\" content=\"" + escape_xml(page.summary) + "\">\n") +
           "<title>" + escape_xml(page.title) + "</title>\n<style>" + embedded_text("page.css") +
           "</style>\n</head>\n<body>\n" + BodyWriter(page).write() +
           (page.scripted ? (page.data.empty() ? std::string(said_below) : page.data) + "<script>" +
                                embedded_text("page.js") + "</script>\n"
                          : "") +
           "</body>\n</html>\n";
}

Html paragraph(const std::string &html, const std::string &look) {
    return {"<p" + (look.empty() ? "" : " class=\"" + look + "\"") + ">" + html + "</p>\n"};
}

Html small_print(const std::string &html) {
    return paragraph(html, "small");
}

Html answer_paragraph(const std::string &text) {
    return paragraph(escape_xml(text), "answer");
}

Html heading(const std::string &html) {
    return {"<h3>" + html + "</h3>\n"};
}

Group beside(const std::string &look, std::vector<PagePart> parts) {
    return {"<div class=\"" + look + "\">", "</div>\n", std::move(parts)};
}

Group details(const std::string &summary, std::vector<PagePart> parts, bool open) {
    return {fmt::format("<details{}><summary>{}</summary>\n", open ? " open" : "", escape_xml(summary)),
            "</details>\n", std::move(parts)};
}

Html listed(const std::string &title, const std::vector<std::string> &texts) {
    std::string out;
    for (const std::string &text : texts)
        out += "<li>" + escape_xml(text) + "</li>";
    return {out.empty() ? "" : (title.empty() ? "" : "<h3>" + title + "</h3>\n") + "<ul>" + out + "</ul>\n"};
}

std::string html_of(const Cell &cell) {
    return html_cell(cell, {});
}

std::string word_button(const std::string &entry, const std::string &text) {
    return fmt::format("<button type=\"button\" class=\"word\" data-word=\"{}\">{}</button>", entry, text);
}

std::string script_cases(const std::string &columns, const std::vector<std::string> &explanations) {
    std::string out = "<aside id=\"case\" class=\"scripted\" aria-label=\"one case\" hidden></aside>\n" +
                      std::string(said_below) + "<script type=\"text/plain\" data-page=\"cases\">" +
                      packed_text(columns) + "</script>\n";
    for (const std::string &chunk : explanations)
        out += "<script type=\"text/plain\" class=\"explanations\">" + chunk + "</script>\n";
    return out;
}

std::string checkboxes(const char *legend, const char *kind, const std::vector<std::string> &values) {
    std::string out = fmt::format("<fieldset><legend>{}</legend>", legend);
    for (const std::string &value : values)
        out += fmt::format("<label><input type=\"checkbox\" checked data-{0}=\"{1}\"> {1}</label>\n", kind,
                           escape_xml(value));
    return out + "</fieldset>\n";
}

std::vector<Fact> facts_of(const std::map<std::string, std::string> &conditions) {
    std::vector<Fact> facts;
    for (const auto &[name, value] : conditions)
        facts.push_back({name, value});
    return facts;
}

} // namespace convcast
