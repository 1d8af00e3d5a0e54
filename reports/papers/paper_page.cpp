#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "reports/html.hpp"
#include "reports/page_data.hpp"
#include "reports/paper_figure.hpp"
#include "reports/papers/context.hpp"
#include "reports/papers/paper_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// The section with the table of all counted claims.
Section claims_section(const Reproduction &r) {
    Table table = findings_table(r);
    table.columns.erase(table.columns.begin()); // the item's id, which is the link of its title
    for (std::vector<Cell> &row : table.rows)
        row.erase(row.begin());
    return {"claims",
            "Claims",
            "Claims, and what is found",
            {paragraph(escape_xml(verdicts_in_words()), "small"), Listing{std::move(table), "claims"}}};
}

/// The item's published numbers, folded away; an empty group where it has none.
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

/// Adds a table that has rows, folded away if it is long.
void add_table(std::vector<PagePart> &parts, const PaperTable &t) {
    constexpr std::size_t most_open = 14; ///< rows that are shown without a click
    if (t.rows.empty())
        return;
    std::vector<PagePart> shown = {Listing{table_of(t)}};
    if (!t.note.empty())
        shown.push_back(paragraph(escape_xml(t.note), "small"));
    if (t.rows.size() > most_open) {
        parts.push_back(details(t.title, std::move(shown)));
        return;
    }
    parts.push_back(heading(escape_xml(t.title)));
    parts.insert(parts.end(), shown.begin(), shown.end());
}

/// What the page says of one item: claims, published numbers, figures, tables, where it is answered.
Section item_section(const PaperItem &item, const ItemAnswer &answer) {
    Section section{item.id, title_of(item), title_of(item) + ": " + item.title};
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
    if (!answer.of_other_code.empty())
        parts.push_back(paragraph(escape_xml(answer.of_other_code), "small"));
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

ReportFiles write_reproduction(const Reproduction &reproduction, const std::filesystem::path &folder) {
    TemporaryFolder unfinished(folder.string()); // removed on a throw: half of the answers would pass for all
    ReportFiles files = write_figures(of_all_items(reproduction, &ItemAnswer::figures), folder);
    FigureFiles drawings{{}, files.pdf_note, true};
    for (const PaperDrawing &drawing : of_all_items(reproduction, &ItemAnswer::drawings)) {
        drawings.write(folder / "figures" / (drawing.id + ".svg"), drawing.svg);
        drawings.write_pdf(drawing.svg, folder / "figures" / (drawing.id + ".pdf"));
    }
    files.figures.insert(files.figures.end(), drawings.files.begin(), drawings.files.end());
    files.pdf_note = drawings.note;
    make_folder((folder / "tables").string());
    const auto write = [&](const std::filesystem::path &name, const std::string &text) {
        write_into_folder(folder / name, text);
    };
    for (const PaperTable &table : of_all_items(reproduction, &ItemAnswer::tables))
        if (!table.rows.empty())
            write(std::filesystem::path("tables") / (table.id + ".csv"), to_csv(table_of(table)));
    const std::string &id = reproduction.paper.id;
    write("claims.csv", to_csv(findings_table(reproduction)));
    write(id + ".tex", paper_tex(reproduction));
    write(id + ".bib", paper_bib(reproduction.paper));
    write("page.html", write_paper_page(reproduction)); // last: where a page lies, its figures lie too
    unfinished.keep();
    return files;
}

} // namespace convcast
