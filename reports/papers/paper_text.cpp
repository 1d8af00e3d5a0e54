#include "reports/papers/paper_text.hpp"

#include "reports/papers/computations.hpp"
#include "reports/papers/verdicts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace convcast {
namespace {

/// A cell of a Markdown table.
std::string markdown_cell(const std::string &text) {
    std::string out;
    for (const char c : text) {
        if (c == '|')
            out += '\\';
        out += c == '\n' ? ' ' : c;
    }
    return out;
}

std::string csv_cell(const std::string &text) {
    if (text.find_first_of(",\"\n") == std::string::npos)
        return text;
    std::string out = "\"";
    for (const char c : text)
        out += c == '"' ? "\"\"" : std::string(1, c);
    return out + "\"";
}

std::string csv_line(const std::vector<std::string> &cells) {
    std::string out;
    for (std::size_t i = 0; i < cells.size(); ++i)
        out += (i == 0 ? "" : ",") + csv_cell(cells[i]);
    return out + "\n";
}

std::string code(const std::string &text) {
    return text.empty() ? "" : "`" + text + "`";
}

std::string where_text(const PaperItem &item) {
    std::string text = item.answer.where.value_or("");
    if (item.answer.study)
        text += (text.empty() ? "" : "; ") + std::string("study `") + *item.answer.study + "`";
    for (std::size_t i = 0; i < item.answer.paper_kernels.size(); ++i)
        text += (i == 0 ? "; the paper's kernel is " : " or ") + code(item.answer.paper_kernels[i]);
    if (item.answer.by)
        text += (text.empty() ? "" : "; ") + std::string("computed by `") + *item.answer.by + "`";
    for (const std::string &name : item.answer.also)
        text += " and `" + name + "`";
    return text.empty() ? "–" : text;
}

/// Columns that share the width of a page, for a table of so many.
std::string tex_columns(std::size_t words, std::size_t all) {
    std::string out;
    for (std::size_t i = 0; i < all; ++i)
        out += i < words ? "l" : "r";
    return out;
}

std::string tex_table(const PaperTable &table) {
    std::string out = fmt::format(
        "\\begin{{table}}[htbp]\\centering\\caption{{{}}}\n"
        "\\resizebox{{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}}{{!}}{{%\n"
        "\\begin{{tabular}}{{{}}}\\toprule\n",
        escape_tex(table.title), tex_columns(static_cast<std::size_t>(table.words), table.head.size()));
    const auto line = [&](const std::vector<std::string> &cells) {
        for (std::size_t i = 0; i < cells.size(); ++i)
            out += (i == 0 ? "" : " & ") + escape_tex(cells[i]);
        out += " \\\\";
    };
    line(table.head);
    out += "\\midrule\n";
    for (const std::vector<std::string> &row : table.rows) {
        line(row);
        out += "\n";
    }
    out += "\\bottomrule\\end{tabular}}\n";
    if (!table.note.empty())
        out += fmt::format("\\par\\footnotesize {}\n", escape_tex(table.note));
    return out + "\\end{table}\n";
}

std::string tex_findings(const Reproduction &reproduction) {
    std::string out =
        "\\section{Claims}\n{\\footnotesize\n"
        "\\begin{longtable}{p{.15\\linewidth}p{.19\\linewidth}p{.12\\linewidth}p{.16\\linewidth}"
        "p{.23\\linewidth}}\\toprule\n"
        "where & claim & published & here & verdict\\\\\\midrule\\endhead\n";
    for (std::size_t i = 0; i < reproduction.answers.size(); ++i)
        for (const ClaimAnswer &f : reproduction.answers[i].findings)
            if (f.counted.empty())
                out += fmt::format("{} & {} & {} & {} & \\emph{{{}}}. {}\\\\\n",
                                   escape_tex(title_of(reproduction.paper.items[i])), escape_tex(f.claim),
                                   escape_tex(f.published), escape_tex(f.found), verdict_text(f.verdict),
                                   escape_tex(f.sentence));
    return out + "\\bottomrule\\end{longtable}}\n";
}

/// "2 diagrams of plans"; "" of none.
std::string drawings_text(const ItemAnswer &answer) {
    const std::size_t n = answer.drawings.size();
    return n == 0 ? "" : n == 1 ? "a diagram of a plan" : fmt::format("{} diagrams of plans", n);
}

} // namespace

std::string counted_at(const ClaimAnswer &finding) {
    return finding.counted.empty() ? "" : ", counted at " + finding.counted;
}

std::string verdict_text(ClaimVerdict verdict) {
    std::string text = boost::describe::enum_to_string(verdict, "?");
    std::replace(text.begin(), text.end(), '_', ' ');
    return text;
}

std::string summary_of(const Reproduction &reproduction) {
    std::array<std::size_t, 5> counts{};
    for (const ItemAnswer &answer : reproduction.answers)
        for (const ClaimAnswer &finding : answer.findings)
            if (finding.counted.empty())
                ++counts[static_cast<std::size_t>(finding.verdict)];
    const auto [hold, in_part, differ, follow, open] = counts;
    const auto verb = [](std::size_t n, const char *one, const char *several) {
        return fmt::format("{} {}", n, n == 1 ? one : several);
    };
    const std::size_t all = hold + in_part + differ + open;
    std::string text =
        fmt::format("Of {} {}, {} in part, {} differently and {} open.", verb(all, "claim", "claims"),
                    verb(hold, "holds", "hold"), verb(in_part, "holds", "hold"),
                    verb(differ, "comes out", "come out"), verb(open, "is", "are"));
    if (follow > 0)
        text += fmt::format(" {} from other printed numbers, and {} not counted.",
                            verb(follow, "more printed number follows", "more printed numbers follow"),
                            follow == 1 ? "is" : "are");
    return text;
}

std::string result_of(const PaperItem &item, const ItemAnswer &answer) {
    switch (item.answer.kind) {
    case AnswerKind::not_computed:
        return "not computed here because it is " + *item.answer.why;
    case AnswerKind::here:
        return answer.drawings.empty() ? "see there" : "see there; " + drawings_text(answer);
    case AnswerKind::computed:
        break;
    }
    constexpr std::size_t most_sentences = 2; // more claims have a line each, and their sentences on the page
    std::string text;
    if (answer.findings.size() > most_sentences) {
        for (const ClaimAnswer &f : answer.findings)
            text += fmt::format("{}{}: {} (published {}, here {}{})", text.empty() ? "" : "; ", f.claim,
                                verdict_text(f.verdict), f.published, f.found, counted_at(f));
        return text;
    }
    for (const ClaimAnswer &finding : answer.findings)
        text += (text.empty() ? "" : " ") + verdict_text(finding.verdict) + counted_at(finding) + ": " +
                finding.sentence;
    if (text.empty()) {
        const std::size_t tables = answer.tables.size(), figures = answer.figures.size();
        if (tables > 0)
            text = tables == 1 ? "a table" : fmt::format("{} tables", tables);
        if (figures > 0)
            text += (text.empty() ? "" : " and ") +
                    (figures == 1 ? std::string("a figure") : fmt::format("{} figures", figures));
        if (const std::string drawn = drawings_text(answer); !drawn.empty())
            text += (text.empty() ? "" : " and ") + drawn;
    }
    return text;
}

std::string paper_markdown(const Reproduction &r) {
    std::string out = fmt::format("# {}: {}\n\nWritten by `convcast reproduce {} --docs docs/papers`; a test "
                                  "holds it to what the command "
                                  "says. {}\n\n"
                                  "The paper's GPU is the {}. Measured: {}.\n\n{}\n",
                                  r.paper.authors, r.paper.title, r.paper.id, summary_of(r), r.paper_gpu,
                                  r.measured.empty() ? "nothing" : r.measured, verdict_rules());
    if (!r.no_time.empty())
        out += fmt::format("\nNo time is forecast for the paper's GPU: {}.\n", r.no_time);
    out += "\n| in the paper | what it says | where it is here | command | result |\n|---|---|---|---|---|\n";
    for (std::size_t i = 0; i < r.answers.size(); ++i) {
        const PaperItem &item = r.paper.items[i];
        const std::string page = item.page ? fmt::format(", p. {}", *item.page) : "";
        const std::string command = item.answer.command.value_or(
            item.answer.kind == AnswerKind::computed
                ? fmt::format("convcast reproduce {} --only {}", r.paper.id, item.id)
                : "");
        out +=
            fmt::format("| {}{}: {} | {} | {} | {} | {} |\n", markdown_cell(title_of(item)), page,
                        markdown_cell(item.title), markdown_cell(item.says), markdown_cell(where_text(item)),
                        command.empty() ? "–" : markdown_cell(code(command)),
                        markdown_cell(result_of(item, r.answers[i])));
    }
    return out;
}

std::string findings_csv(const Reproduction &r) {
    std::string out = csv_line({"item", "where", "claim", "published", "here", "verdict", "why"});
    for (std::size_t i = 0; i < r.answers.size(); ++i)
        for (const ClaimAnswer &f : r.answers[i].findings)
            if (f.counted.empty())
                out += csv_line({f.item, title_of(r.paper.items[i]), f.claim, f.published, f.found,
                                 verdict_text(f.verdict), f.sentence});
    return out;
}

std::string table_csv(const PaperTable &table) {
    std::string out = csv_line(table.head);
    for (const std::vector<std::string> &row : table.rows)
        out += csv_line(row);
    return out;
}

std::string paper_bib(const Paper &paper) {
    std::string out = fmt::format("@{}{{{},\n", paper.citation.type, paper.citation.key);
    for (const auto &[name, text] : paper.citation.fields)
        out += fmt::format("  {} = {{{}}},\n", name, text);
    return out + "}\n";
}

std::string paper_tex(const Reproduction &r) {
    constexpr std::size_t longest_table = 40; ///< longer ones are in tables/ alone
    std::string out = fmt::format(
        "% latexmk -pdf {0}.tex\n\\documentclass[a4paper]{{article}}\n\\usepackage[T1]{{fontenc}}\n"
        "\\usepackage[utf8]{{inputenc}}\n\\usepackage[margin=2cm]{{geometry}}\n"
        "\\usepackage{{booktabs,graphicx,longtable,pgfplots}}\n"
        "\\pgfplotsset{{compat=1.17, table/search path={{figures}}}}\n\\graphicspath{{{{figures/}}}}\n"
        "\\title{{{1}: what convcast finds}}\n\\date{{}}\n\\begin{{document}}\n\\maketitle\n"
        "{2} The paper is \\cite{{{3}}}. Its GPU is the {4}. Measured: {5}.\n",
        r.paper.id, escape_tex(r.paper.authors), escape_tex(summary_of(r)), r.paper.citation.key,
        escape_tex(r.paper_gpu), escape_tex(r.measured.empty() ? "nothing" : r.measured));
    if (!r.no_time.empty())
        out += fmt::format("No time is forecast for that GPU: {}.\n", escape_tex(r.no_time));
    out += "\n\\medskip\\noindent{\\footnotesize " + escape_tex(verdict_rules()) + "}\n";
    out += tex_findings(r);
    for (std::size_t i = 0; i < r.answers.size(); ++i) {
        const ItemAnswer &answer = r.answers[i];
        if (answer.figures.empty() && answer.tables.empty() && answer.drawings.empty())
            continue;
        const PaperItem &item = r.paper.items[i];
        out += fmt::format("\\section*{{{}: {}}}\n{}\n", escape_tex(title_of(item)), escape_tex(item.title),
                           escape_tex(item.says));
        for (const Figure &figure : answer.figures)
            out += fmt::format("\\begin{{figure}}[htbp]\\centering\\input{{figures/{}.tex}}\n"
                               "\\caption{{{}. {}}}\\end{{figure}}\n",
                               figure.id, escape_tex(figure.title), escape_tex(figure.caption));
        for (const PaperDrawing &drawing : answer.drawings)
            out += fmt::format("\\begin{{figure}}[htbp]\\centering\\IfFileExists{{figures/{0}.pdf}}"
                               "{{\\includegraphics{{{0}.pdf}}}}{{(drawn in figures/{1}.svg)}}\n"
                               "\\caption{{{2}. {3}}}\\end{{figure}}\n",
                               drawing.id, escape_tex(drawing.id), escape_tex(drawing.title),
                               escape_tex(drawing.caption));
        for (const PaperTable &table : answer.tables)
            if (!table.rows.empty() && table.rows.size() <= longest_table)
                out += tex_table(table);
        out += "\\clearpage\n";
    }
    return out +
           fmt::format("\\bibliographystyle{{plain}}\n\\bibliography{{{}}}\n\\end{{document}}\n", r.paper.id);
}

} // namespace convcast
