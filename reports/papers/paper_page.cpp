#include "reports/html.hpp"
#include "reports/page_data.hpp"
#include "reports/papers/computations.hpp"
#include "reports/papers/paper_text.hpp"
#include "reports/papers/verdicts.hpp"
#include "reports/papers/write_papers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace convcast {
namespace {

class PaperPageWriter : HtmlWriter {
  public:
    explicit PaperPageWriter(const Reproduction &reproduction) : r_(reproduction) {}

    std::string write() {
        open(r_.paper.authors + ": " + r_.paper.title);
        add("<p class=\"answer\">{}</p>\n<dl class=\"facts\">", escape_xml(summary_of(r_)));
        fact("the paper's GPU", r_.paper_gpu);
        fact("ours", r_.our_gpu);
        fact("measured", r_.measured.empty() ? "nothing on this GPU" : r_.measured);
        out_ += "</dl>\n";
        if (!r_.not_measured.empty())
            add("<p class=\"note\">{}</p>\n", escape_xml(r_.not_measured));
        if (!r_.no_time.empty())
            add("<p class=\"note\">No time is forecast for the paper's GPU: {}.</p>\n",
                escape_xml(r_.no_time));
        assumptions();
        contents();
        out_ += "</header>\n<main>\n";
        claims();
        for (std::size_t i = 0; i < r_.answers.size(); ++i)
            item(r_.paper.items[i], r_.answers[i]);
        citation();
        return close();
    }

  private:
    void assumptions() {
        if (r_.assumptions.empty() || !r_.no_time.empty())
            return;
        out_ += "<details><summary>What the forecasts for the paper's GPU suppose</summary><ul>";
        for (const std::string &text : r_.assumptions)
            add("<li>{}</li>", escape_xml(text));
        out_ += "</ul></details>\n";
    }

    /// Links to the items, in the paper's order.
    void contents() {
        out_ += "<nav><p class=\"small\"><a href=\"#claims\">Claims</a>";
        for (const PaperItem &item : r_.paper.items)
            add(" · <a href=\"#{}\">{}</a>", item.id, escape_xml(title_of(item)));
        out_ += "</p></nav>\n";
    }

    void claims() {
        add("<section id=\"claims\"><h2>Claims, and what is found</h2>\n<p class=\"small\">{}</p>\n",
            escape_xml(verdict_rules()));
        out_ += "<div class=\"scroll\"><table class=\"claims\"><thead><tr><th scope=\"col\">where</th>"
                "<th scope=\"col\">claim</th><th scope=\"col\">published</th><th scope=\"col\">here</th>"
                "<th scope=\"col\">verdict</th><th scope=\"col\">why</th></tr></thead><tbody>\n";
        for (std::size_t i = 0; i < r_.answers.size(); ++i)
            for (const ClaimAnswer &f : r_.answers[i].findings) {
                if (!f.counted.empty())
                    continue;
                add("<tr><th scope=\"row\"><a href=\"#{}\">{}</a></th><td>{}</td><td>{}</td><td>{}</td>"
                    "<td>{}</td><td>{}</td></tr>\n",
                    f.item, escape_xml(title_of(r_.paper.items[i])), escape_xml(f.claim),
                    escape_xml(f.published), escape_xml(f.found), escape_xml(verdict_text(f.verdict)),
                    escape_xml(f.sentence));
            }
        out_ += "</tbody></table></div>\n</section>\n";
    }

    void published(const PaperItem &item) {
        if (item.published.empty())
            return;
        out_ += "<details><summary>Published numbers</summary>\n<div class=\"scroll\"><table "
                "class=\"claims\"><thead>"
                "<tr>";
        for (const char *name : {"", "at", "value", "of", "over", "GPU", "remark"})
            add("<th scope=\"col\">{}</th>", name);
        out_ += "</tr></thead><tbody>\n";
        for (const PublishedCell &cell : item.published)
            line({cell.of, cell.at, printed(cell),
                  cell.statistic ? boost::describe::enum_to_string(*cell.statistic, "?") : "value",
                  cell.against.value_or(""), cell.gpu.value_or(""), cell.remark.value_or("")});
        tail();
        out_ += "</details>\n";
    }

    void table(const PaperTable &t) {
        constexpr std::size_t most_open = 14; ///< rows that are shown without a click
        if (t.rows.empty())
            return;
        const bool closed = t.rows.size() > most_open;
        const std::string title = escape_xml(t.title);
        out_ += closed ? "<details><summary>" + title + "</summary>\n" : "<h3>" + title + "</h3>\n";
        head(std::min(t.words, 4), t.head);
        for (const std::vector<std::string> &row : t.rows)
            line(row);
        tail();
        if (!t.note.empty())
            add("<p class=\"small\">{}</p>\n", escape_xml(t.note));
        if (closed)
            out_ += "</details>\n";
    }

    /// What is found of each claim, by the item itself.
    void findings(const ItemAnswer &answer) {
        if (answer.findings.empty())
            return;
        out_ += "<ul class=\"small\">";
        for (const ClaimAnswer &f : answer.findings)
            add("<li><strong>{}</strong>{}: {}. {}</li>", escape_xml(verdict_text(f.verdict)),
                escape_xml(counted_at(f)), escape_xml(f.claim), escape_xml(f.sentence));
        out_ += "</ul>\n";
    }

    /// As images: a diagram has a style and patterns of its own.
    void drawings(const std::vector<PaperDrawing> &all) {
        if (all.empty())
            return;
        out_ += "<div class=\"pair\">";
        for (const PaperDrawing &drawing : all)
            add("<figure id=\"f-{}\"><h3>{}</h3><img class=\"drawing\" alt=\"{}\" "
                "src=\"data:image/svg+xml;base64,{}\">"
                "<figcaption>{}</figcaption></figure>\n",
                drawing.id, escape_xml(drawing.title), escape_xml(drawing.caption), base64(drawing.svg),
                escape_xml(drawing.caption));
        out_ += "</div>\n";
    }

    void item(const PaperItem &item, const ItemAnswer &answer) {
        add("<section id=\"{}\"><h2>{}: {}</h2>\n<p>{}{}</p>\n", item.id, escape_xml(title_of(item)),
            escape_xml(item.title), escape_xml(item.says),
            item.page ? fmt::format(" <small>(page {})</small>", *item.page) : "");
        findings(answer);
        published(item);
        std::vector<const Figure *> drawn;
        for (const Figure &f : answer.figures)
            if (f.point_count() > 0)
                drawn.push_back(&f);
        if (!drawn.empty()) {
            out_ += "<div class=\"pair\">";
            for (const Figure *f : drawn)
                figure(*f);
            out_ += "</div>\n";
        }
        drawings(answer.drawings);
        for (const PaperTable &t : answer.tables)
            table(t);
        if (item.answer.kind == AnswerKind::not_computed)
            add("<p>{}.</p>\n", escape_xml(result_of(item, answer)));
        where(item);
        out_ += "</section>\n";
    }

    void where(const PaperItem &item) {
        std::string text;
        if (item.answer.where)
            text +=
                (item.answer.kind == AnswerKind::here ? "Answered by " : "") + escape_xml(*item.answer.where);
        if (item.answer.command)
            text +=
                fmt::format("{}<code>{}</code>", text.empty() ? "" : " · ", escape_xml(*item.answer.command));
        if (!text.empty())
            add("<p class=\"small\">{}</p>\n", text);
    }

    void citation() {
        add("<section id=\"citation\"><h2>Citation</h2>\n<pre class=\"scroll\">{}</pre></section>\n",
            escape_xml(paper_bib(r_.paper)));
    }

    const Reproduction &r_;
};

} // namespace

std::string write_paper_page(const Reproduction &reproduction) {
    return PaperPageWriter(reproduction).write();
}

} // namespace convcast
