#include "reports/html.hpp"

#include "model/base/embedded.hpp"
#include "model/machine/profile.hpp"
#include "reports/page_data.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
extern const std::vector<EmbeddedFile> page_files;

namespace {

std::string embedded(const char *name) {
    return find_embedded(page_files, name)->text;
}

/// "sha256-..." as Content-Security-Policy wants it, from the digest's hex.
std::string policy_hash(const std::string &hex) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    return "'sha256-" + base64(bytes) + "'";
}

/// Without the line breaks and indentation of to_text, and with nothing that could end a script element.
std::string inline_json(const JsonValue &value) {
    std::string out;
    bool indent = false;
    for (const char c : to_text(value)) {
        indent = c == '\n' || (indent && c == ' ');
        if (indent)
            continue;
        if (c == '<')
            out += "\\u003c";
        else
            out += c;
    }
    return out;
}

} // namespace

std::string gpu_name(const std::map<std::string, std::string> &conditions, const std::string &profile_id) {
    if (const auto entry = conditions.find("gpu"); entry != conditions.end())
        return entry->second;
    const std::vector<std::string> shipped = shipped_profiles();
    return std::find(shipped.begin(), shipped.end(), profile_id) == shipped.end()
               ? profile_id
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

void HtmlWriter::open(const std::string &title, const std::string &summary) {
    add("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
        "style-src {}; script-src {}; "
        "img-src data:; base-uri 'none'; form-action 'none'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, "
        "initial-scale=1\">\n{}<title>{}</title>\n<style>",
        policy_hash(CONVCAST_PAGE_CSS_SHA256), policy_hash(CONVCAST_PAGE_JS_SHA256),
        summary.empty() ? ""
                        : fmt::format("<meta name=\"description\" content=\"{}\">\n", escape_xml(summary)),
        escape_xml(title));
    out_ += embedded("page.css") + "</style>\n</head>\n<body>\n<header>\n";
    add("<h1>{}</h1>\n", escape_xml(title));
}

/// No line breaks between a number and its unit.
void HtmlWriter::tighten() {
    std::string out;
    out.reserve(out_.size());
    const std::size_t body = out_.find("<body>"); // before it stands the style, which has a hash
    for (std::size_t i = 0; i < out_.size(); ++i) {
        const bool unit = out_.compare(i, 2, " %") == 0 || out_.compare(i, 4, " µs") == 0;
        if (i > body && unit && out_[i - 1] >= '0' && out_[i - 1] <= '9')
            out += "\u00a0";
        else
            out += out_[i];
    }
    out_ = std::move(out);
}

std::string HtmlWriter::close(const JsonArray &rows) {
    tighten();
    out_ += "</main>\n<output id=\"lit\" class=\"scripted\" aria-live=\"polite\"></output>\n";
    out_ += "<script type=\"application/json\" data-page=\"numbers\">" + inline_json(JsonValue(rows)) +
            "</script>\n";
    out_ += "<script>" + embedded("page.js") + "</script>\n</body>\n</html>\n";
    return std::move(out_);
}

std::string HtmlWriter::close(const std::string &columns, const std::vector<std::string> &explanations) {
    tighten();
    out_ += "</main>\n<aside id=\"case\" class=\"scripted\" aria-label=\"one case\" hidden></aside>\n"
            "<output id=\"lit\" class=\"scripted\" aria-live=\"polite\"></output>\n";
    add("<script type=\"text/plain\" data-page=\"cases\">{}</script>\n", packed_text(columns));
    for (const std::string &chunk : explanations)
        add("<script type=\"text/plain\" class=\"explanations\">{}</script>\n", chunk);
    out_ += "<script>" + embedded("page.js") + "</script>\n</body>\n</html>\n";
    return std::move(out_);
}

std::string HtmlWriter::close() {
    tighten();
    out_ += "</main>\n</body>\n</html>\n";
    return std::move(out_);
}

std::string HtmlWriter::close_figures() {
    tighten();
    out_ += "</main>\n<output id=\"lit\" class=\"scripted\" aria-live=\"polite\"></output>\n";
    out_ += "<script>" + embedded("page.js") + "</script>\n</body>\n</html>\n";
    return std::move(out_);
}

void HtmlWriter::nav(const std::vector<std::pair<std::string, std::string>> &parts) {
    out_ += "<nav aria-label=\"parts of the page\">";
    for (const auto &[id, name] : parts)
        add("<a href=\"#{}\">{}</a>", id, escape_xml(name));
    out_ += "</nav>\n";
}

void HtmlWriter::open_tiles() {
    out_ += "<div class=\"tiles\">\n";
}
void HtmlWriter::tile(const std::string &number, const std::string &what, const std::string &more) {
    add("<div class=\"tile\"><strong>{}</strong><span>{}</span><small>{}</small></div>\n", escape_xml(number),
        what, escape_xml(more));
}
void HtmlWriter::close_tiles() {
    out_ += "</div>\n";
}

std::string HtmlWriter::word_button(const std::string &entry, const std::string &text) {
    return fmt::format("<button type=\"button\" class=\"word\" data-word=\"{}\">{}</button>", entry, text);
}

void HtmlWriter::figure(const Figure &f, SvgUse use, bool caption) {
    add("<figure id=\"f-{}\"{}><h3>{}</h3>", escape_xml(f.id),
        use == SvgUse::in_screen ? " class=\"broad\"" : "", escape_xml(f.title));
    if (f.point_count() == 0) {
        add("<p>Nothing to draw: {}.</p></figure>\n", escape_xml(f.no_data));
        return;
    }
    if (use == SvgUse::in_page || use == SvgUse::in_screen || use == SvgUse::in_pair)
        add("<div class=\"scroll on-{0}\">\n{1}</div><div class=\"scroll off-{0}\">\n{2}</div>",
            use == SvgUse::in_page ? "phone" : "column", to_svg(f, SvgUse::in_column),
            to_svg(f, use == SvgUse::in_pair ? SvgUse::in_page : use));
    else
        add("<div class=\"scroll\">\n{}</div>", to_svg(f, use));
    if (caption) {
        std::string text = escape_xml(f.caption);
        for (const auto &[word, entry] : words_)
            if (const std::size_t at = text.find(word); at != std::string::npos)
                text.replace(at, word.size(), word_button(entry, word));
        add("<figcaption>{}</figcaption>", text);
    }
    out_ += "</figure>\n";
}

void HtmlWriter::head(int words, const std::vector<std::string> &names) {
    add("<div class=\"scroll\"><table class=\"words{}\"><thead><tr>", words);
    for (const std::string &name : names)
        add("<th scope=\"col\">{}</th>", escape_xml(name));
    out_ += "</tr></thead><tbody>\n";
}

void HtmlWriter::line(const std::vector<std::string> &cells) {
    out_ += "<tr>";
    bool first = true;
    for (const std::string &cell : cells) {
        add("{}{}{}", first ? "<th scope=\"row\">" : "<td>", breakable(cell), first ? "</th>" : "</td>");
        first = false;
    }
    out_ += "</tr>\n";
}

void HtmlWriter::tail() {
    out_ += "</tbody></table></div>\n";
}

void HtmlWriter::fact(const std::string &name, const std::string &value) {
    constexpr std::size_t whole_line = 160; // characters, which in a column would be a tower
    if (!value.empty())
        add("<div{}><dt>{}</dt><dd>{}</dd></div>\n", value.size() > whole_line ? " class=\"long\"" : "",
            escape_xml(name), escape_xml(value));
}

void HtmlWriter::checkboxes(const char *legend, const char *kind, const std::vector<std::string> &values) {
    add("<fieldset><legend>{}</legend>", legend);
    for (const std::string &value : values)
        add("<label><input type=\"checkbox\" checked data-{}=\"{}\"> {}</label>\n", kind, escape_xml(value),
            escape_xml(value));
    out_ += "</fieldset>\n";
}

} // namespace convcast
