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
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// What is found of a claim, and of which item it is.
struct Finding {
    const PaperItem &item;
    const ClaimAnswer &answer;
};

Section claims_section(const Reproduction &r) {
    std::vector<Finding> findings;
    for (std::size_t i = 0; i < r.answers.size(); ++i)
        for (const ClaimAnswer &answer : r.answers[i].findings)
            if (answer.counted.empty())
                findings.push_back({r.paper.items[i], answer});
    using F = const Finding &;
    return {"claims",
            "Claims",
            "Claims, and what is found",
            {paragraph(escape_xml(verdict_rules()), "small"),
             Listing{table_of<Finding>(findings,
                                       {{{"where"},
                                         [](F f) {
                                             Cell cell(title_of(f.item));
                                             cell.link = "#" + f.answer.item;
                                             return cell;
                                         }},
                                        {{"claim"}, [](F f) { return f.answer.claim; }},
                                        {{"published"}, [](F f) { return f.answer.published; }},
                                        {{"here"}, [](F f) { return f.answer.found; }},
                                        {{"verdict"}, [](F f) { return verdict_text(f.answer.verdict); }},
                                        {{"why"}, [](F f) { return f.answer.sentence; }}}),
                     "claims"}}};
}

Group published(const PaperItem &item) {
    using C = PublishedCell;
    if (item.published.empty())
        return {};
    return details(
        "Published numbers",
        {Listing{table_of<C>(item.published,
                             {{{""}, &C::of},
                              {{"at"}, &C::at},
                              {{"value"}, [](const C &cell) { return printed(cell); }},
                              {{"of"},
                               [](const C &cell) {
                                   return cell.statistic
                                              ? boost::describe::enum_to_string(*cell.statistic, "?")
                                              : "value";
                               }},
                              {{"over"}, [](const C &cell) { return cell.against.value_or(""); }},
                              {{"GPU"}, [](const C &cell) { return cell.gpu.value_or(""); }},
                              {{"remark"}, [](const C &cell) { return cell.remark.value_or(""); }}}),
                 "claims"}});
}

void add_table(std::vector<PagePart> &parts, const PaperTable &t) {
    constexpr std::size_t most_open = 14; ///< rows that are shown without a click
    if (t.rows.empty())
        return;
    Table table;
    for (std::size_t i = 0; i < t.head.size(); ++i)
        table.columns.push_back({t.head[i], i < static_cast<std::size_t>(t.words) ? As::text : As::number});
    for (const std::vector<std::string> &row : t.rows)
        table.rows.emplace_back(row.begin(), row.end());
    std::vector<PagePart> shown = {Listing{std::move(table)}};
    if (!t.note.empty())
        shown.push_back(paragraph(escape_xml(t.note), "small"));
    if (t.rows.size() > most_open) {
        parts.push_back(details(t.title, std::move(shown)));
        return;
    }
    parts.push_back(heading(escape_xml(t.title)));
    parts.insert(parts.end(), shown.begin(), shown.end());
}

Section item_section(const PaperItem &item, const ItemAnswer &answer) {
    Section section{item.id, title_of(item), title_of(item) + ": " + item.title, {}};
    std::vector<PagePart> &parts = section.parts;
    parts.push_back(paragraph(escape_xml(item.says) +
                              (item.page ? fmt::format(" <small>(page {})</small>", *item.page) : "")));
    std::string findings;
    for (const ClaimAnswer &f : answer.findings)
        findings += fmt::format("<li><strong>{}</strong>{}: {}. {}</li>", escape_xml(verdict_text(f.verdict)),
                                escape_xml(counted_at(f)), escape_xml(f.claim), escape_xml(f.sentence));
    if (!findings.empty())
        parts.push_back(Html{"<ul class=\"small\">" + findings + "</ul>\n"});
    parts.push_back(published(item));
    std::vector<PagePart> figures, drawings;
    for (const Figure &f : answer.figures)
        if (f.point_count() > 0)
            figures.push_back(Drawing{f});
    // As images: a diagram has a style and patterns of its own.
    for (const PaperDrawing &drawing : answer.drawings)
        drawings.push_back(Html{fmt::format(
            "<figure id=\"f-{0}\"><h3>{1}</h3><img class=\"drawing\" alt=\"{2}\" "
            "src=\"data:image/svg+xml;base64,{3}\"><figcaption>{2}</figcaption></figure>\n",
            drawing.id, escape_xml(drawing.title), escape_xml(drawing.caption), base64(drawing.svg))});
    parts.push_back(beside("pair", std::move(figures)));
    parts.push_back(beside("pair", std::move(drawings)));
    for (const PaperTable &t : answer.tables)
        add_table(parts, t);
    if (item.answer.kind == AnswerKind::not_computed)
        parts.push_back(paragraph(escape_xml(result_of(item, answer)) + "."));
    std::string where;
    if (item.answer.where)
        where = (item.answer.kind == AnswerKind::here ? "Answered by " : "") + escape_xml(*item.answer.where);
    if (item.answer.command)
        where +=
            fmt::format("{}<code>{}</code>", where.empty() ? "" : " · ", escape_xml(*item.answer.command));
    if (!where.empty())
        parts.push_back(paragraph(where, "small"));
    return section;
}

} // namespace

std::string write_paper_page(const Reproduction &r) {
    Page page{r.paper.authors + ": " + r.paper.title};
    page.scripted = false;
    page.head = {answer_paragraph(summary_of(r)),
                 std::vector<Fact>{{"the paper's GPU", r.paper_gpu},
                                   {"ours", r.our_gpu},
                                   {"measured", r.measured.empty() ? "nothing on this GPU" : r.measured}}};
    if (!r.not_measured.empty())
        page.head.push_back(paragraph(escape_xml(r.not_measured), "note"));
    if (!r.no_time.empty())
        page.head.push_back(
            paragraph("No time is forecast for the paper's GPU: " + escape_xml(r.no_time) + ".", "note"));
    else if (!r.assumptions.empty())
        page.head.push_back(
            details("What the forecasts for the paper's GPU suppose", {listed("", r.assumptions)}));
    page.sections = {claims_section(r)};
    for (std::size_t i = 0; i < r.answers.size(); ++i)
        page.sections.push_back(item_section(r.paper.items[i], r.answers[i]));
    page.sections.push_back({"citation",
                             "",
                             "Citation",
                             {Html{"<pre class=\"scroll\">" + escape_xml(paper_bib(r.paper)) + "</pre>"}}});
    return write_html(page);
}

} // namespace convcast
