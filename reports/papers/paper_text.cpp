#include "reports/papers/paper_text.hpp"

#include "reports/html.hpp"
#include "reports/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// A text as code in Markdown.
std::string code(const std::string &text) {
    return "`" + text + "`";
}

std::vector<std::string> codes(std::vector<std::string> texts) {
    std::transform(texts.begin(), texts.end(), texts.begin(), code);
    return texts;
}

/// Where an item is here, in Markdown: "study `chang_multi`; computed by `gains`"; a dash for nothing.
std::string where_text(const PaperItem &item) {
    const PaperAnswer &answer = item.answer;
    std::vector<std::string> parts, methods = answer.also;
    if (answer.by)
        methods.insert(methods.begin(), *answer.by);
    if (answer.where && answer.kind != AnswerKind::here) // else result_of names it
        parts.push_back(*answer.where);
    if (answer.study)
        parts.push_back("study " + code(*answer.study));
    if (!answer.paper_kernels.empty())
        parts.push_back("the paper's kernel is " + join(codes(answer.paper_kernels), " or "));
    if (!methods.empty())
        parts.push_back("computed by " + join(codes(methods), " and "));
    return parts.empty() ? dash : join(parts, "; ");
}

/// A text for TeX, with the papers' symbols set with subscripts. "--" of an option stays two hyphens, of
/// which TeX would make a dash, and a line may break between knobs, which are one word to TeX.
std::string tex_text(const std::string &text) {
    std::string out;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find("--", begin), text.size());
        out += (begin == 0 ? "" : "-{}-") + escape_tex(text.substr(begin, end - begin));
        begin = end + 2;
    }
    for (std::size_t at = out.find(','); at != std::string::npos; at = out.find(',', at + 1))
        if (at + 1 < out.size() && out[at + 1] >= 'a' && out[at + 1] <= 'z')
            out.insert(at + 1, "\\allowbreak{}");
    for (const auto &[plain, math] : {std::pair{"N\\_FMA", "\\ensuremath{N_{\\mathrm{FMA}}}"},
                                      {"S\\_shared", "\\ensuremath{S_{\\mathrm{shared}}}"},
                                      {"V\\_s", "\\ensuremath{V_s}"},
                                      {"W\\_T", "\\ensuremath{W_T}"},
                                      {"F\\_TB", "\\ensuremath{F_{TB}}"},
                                      {"F\\_T", "\\ensuremath{F_T}"},
                                      {"C\\_SH", "\\ensuremath{C_{SH}}"}})
        for (std::size_t at = out.find(plain); at != std::string::npos; at = out.find(plain, at))
            out.replace(at, std::string(plain).size(), math);
    return out;
}

/// Characters of a text in UTF-8: its bytes without those that continue a character (10xxxxxx).
std::size_t characters_of(const std::string &text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// The words of a text in lines of at most `most` characters; a longer word has a line of its own.
std::vector<std::string> lines_of(const std::string &text, std::size_t most) {
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(' ', begin), text.size());
        const std::string word = text.substr(begin, end - begin);
        if (lines.empty() || characters_of(lines.back()) + 1 + characters_of(word) > most)
            lines.push_back(word);
        else
            lines.back() += " " + word;
        begin = end + 1;
    }
    return lines;
}

/// How a column of a table is set.
struct TexColumn {
    std::size_t characters = 0; ///< its width
    bool wrapped = false;       ///< cells are broken into lines of that width
    std::vector<std::string> head;
};

/// The most characters of a column: the first with which the table fits a page, else the last. Chosen.
constexpr std::array<std::size_t, 3> widest_columns = {72, 48, 34};
/// Widths in points: assumed of a character in the size of footnotes; the gap between columns, twice
/// \tabcolsep; and what a table may have of A4 without margins of 2 cm (paper_tex), which leave 482 pt and in
/// landscape 728 pt.
constexpr double character_pt = 4.3, between_pt = 6.0, portrait_pt = 480.0, landscape_pt = 700.0;

/// Column `i` of a table, wrapped where a cell has more characters than `widest_column`.
TexColumn tex_column(const PaperTable &table, std::size_t i, std::size_t widest_column) {
    TexColumn column;
    for (const std::vector<std::string> &row : table.rows)
        column.characters = std::max(column.characters, characters_of(row[i]));
    column.wrapped = column.characters > widest_column;
    column.characters = std::min(column.characters, widest_column);
    constexpr std::size_t least_head = 10;
    column.head = lines_of(table.head[i], std::max(column.characters, least_head));
    for (const std::string &line : column.head)
        column.characters = std::max(column.characters, characters_of(line));
    return column;
}

double width_of(const TexColumn &column) {
    return character_pt * static_cast<double>(column.characters) + between_pt;
}

/// The columns `shown` of a table, which may break over pages; `further`: they are not its first ones.
std::string tex_part(const PaperTable &table, const std::vector<TexColumn> &columns,
                     const std::vector<std::size_t> &shown, bool further) {
    std::string spec, head;
    for (const std::size_t i : shown) {
        const bool word = i < static_cast<std::size_t>(table.words) || columns[i].wrapped;
        spec += columns[i].wrapped
                    ? fmt::format(">{{\\raggedright\\arraybackslash}}p{{{:.0f}pt}}", width_of(columns[i]))
                : word ? "l"
                       : "r";
        head += head.empty() ? "" : " & ";
        head += fmt::format("\\begin{{tabular}}[b]{{@{{}}{}@{{}}}}", word ? "l" : "r");
        for (std::size_t line = 0; line < columns[i].head.size(); ++line)
            head += (line == 0 ? "" : "\\\\") + tex_text(columns[i].head[line]);
        head += "\\end{tabular}";
    }
    std::string out = fmt::format(
        "\\begin{{longtable}}{{{}}}\n\\caption{{{}{}}}\\\\\n\\toprule\n{}\\\\\\midrule\\endfirsthead\n"
        "\\toprule\n{}\\\\\\midrule\\endhead\n\\bottomrule\\endlastfoot\n",
        spec, tex_text(table.title), further ? ", further columns" : "", head, head);
    for (const std::vector<std::string> &row : table.rows) {
        for (std::size_t i = 0; i < shown.size(); ++i) {
            const std::string cell = tex_text(row[shown[i]]);
            out += (i == 0 ? "" : " & ") + cell;
        }
        out += "\\\\\n";
    }
    return out + "\\end{longtable}\n";
}

/// A table in the size of footnotes: in portrait where its columns fit, else in landscape, and where they do
/// not fit that either in several parts, each of which begins with the columns of words.
std::string tex_table(const PaperTable &table) {
    const std::size_t all = table.head.size(), words = std::min(static_cast<std::size_t>(table.words), all);
    std::vector<TexColumn> columns;
    const auto width_of_first = [&](std::size_t n) {
        double width = 0.0;
        for (std::size_t i = 0; i < n; ++i)
            width += width_of(columns[i]);
        return width;
    };
    for (const std::size_t widest : widest_columns) {
        columns.clear();
        for (std::size_t i = 0; i < all; ++i)
            columns.push_back(tex_column(table, i, widest));
        if (width_of_first(all) <= landscape_pt)
            break;
    }
    const bool landscape = width_of_first(all) > portrait_pt;
    std::string out = std::string(landscape ? "\\begin{landscape}\n" : "") +
                      "{\\footnotesize\\setlength{\\tabcolsep}{3pt}\n";
    std::vector<std::size_t> of_words(words);
    std::iota(of_words.begin(), of_words.end(), std::size_t{0});
    std::vector<std::size_t> shown = of_words;
    double width = width_of_first(words);
    bool further = false;
    for (std::size_t i = words; i < all; ++i) {
        if (width + width_of(columns[i]) > (landscape ? landscape_pt : portrait_pt) && shown.size() > words) {
            out += tex_part(table, columns, shown, further);
            shown = of_words, width = width_of_first(words), further = true;
        }
        shown.push_back(i);
        width += width_of(columns[i]);
    }
    out += tex_part(table, columns, shown, further);
    if (!table.note.empty())
        out += fmt::format("\\noindent {}\\par\n", tex_text(table.note));
    return out + "}\n" + (landscape ? "\\end{landscape}\n" : "");
}

/// The table of all counted claims, with the sentence that says why behind each verdict.
std::string tex_findings(const Reproduction &reproduction) {
    std::string out = "\\section{Claims}\n{\\footnotesize\n"
                      "\\begin{longtable}{*{4}{>{\\raggedright\\arraybackslash}p{.145\\linewidth}}"
                      ">{\\raggedright\\arraybackslash}p{.29\\linewidth}}\\toprule\n"
                      "where & claim & published & here & verdict\\\\\\midrule\\endhead\n";
    for (const ClaimAnswer &f : counted_findings(reproduction))
        out += fmt::format("{} & {} & {} & {} & \\emph{{{}}}. {}\\\\\n", tex_text(f.where), tex_text(f.claim),
                           tex_text(f.published), tex_text(f.found), verdict_text(f.verdict),
                           tex_text(f.sentence));
    return out + "\\bottomrule\\end{longtable}}\n";
}

/// "a drawing", "2 drawings"; "" where there are none.
std::string drawings_text(const ItemAnswer &answer) {
    const std::size_t n = answer.drawings.size();
    return n == 0 ? "" : n == 1 ? "a drawing" : fmt::format("{} drawings", n);
}

} // namespace

std::vector<ClaimAnswer> counted_findings(const Reproduction &r) {
    std::vector<ClaimAnswer> findings = of_all_items(r, &ItemAnswer::findings);
    std::erase_if(findings, [](const ClaimAnswer &f) { return !f.counted.empty(); });
    return findings;
}

std::string counted_at(const ClaimAnswer &finding) {
    return finding.counted.empty() ? "" : ", counted at " + finding.counted;
}

std::string verdict_text(ClaimVerdict verdict) {
    std::string text = boost::describe::enum_to_string(verdict, "?");
    std::replace(text.begin(), text.end(), '_', ' ');
    return text;
}

std::string summary_of(const Reproduction &reproduction) {
    const ClaimCounts &n = reproduction.counts;
    std::string text =
        fmt::format("Of {} {}, {} in part, {} differently and {} open.", count(n.claims(), "claim", "claims"),
                    count(n.holds, "holds", "hold"), count(n.in_part, "holds", "hold"),
                    count(n.differs, "comes out", "come out"), count(n.open, "is", "are"));
    if (n.follows > 0)
        text += fmt::format(" {} from other printed numbers, and {} not counted.",
                            count(n.follows, "more printed number follows", "more printed numbers follow"),
                            n.follows == 1 ? "is" : "are");
    return text;
}

std::string result_of(const PaperItem &item, const ItemAnswer &answer) {
    switch (item.answer.kind) {
    case AnswerKind::not_computed:
        return "not computed here because it is " + *item.answer.why;
    case AnswerKind::here:
        return "answered by " + item.answer.where.value_or("the paper") +
               (answer.drawings.empty() ? "" : "; " + drawings_text(answer));
    case AnswerKind::computed:
        break;
    }
    constexpr std::size_t most_sentences = 2; // more claims have a line each, and their sentences on the page
    const bool many = answer.findings.size() > most_sentences;
    std::vector<std::string> parts;
    for (const ClaimAnswer &f : answer.findings)
        parts.push_back(many ? fmt::format("{}: {} (published {}, here {}{})", f.claim,
                                           verdict_text(f.verdict), f.published, f.found, counted_at(f))
                             : verdict_text(f.verdict) + counted_at(f) + ": " + f.sentence);
    if (!parts.empty())
        return join(parts, many ? "; " : " ");
    for (const PaperTable &table : answer.tables)
        parts.push_back("table: " + table.title);
    for (const Figure &figure : answer.figures)
        parts.push_back("figure: " + figure.title);
    if (!answer.drawings.empty())
        parts.push_back(drawings_text(answer));
    return join(parts, "; ");
}

std::string paper_markdown(const Reproduction &r) {
    std::string out = fmt::format("# {}: {}\n\nWritten by `convcast reproduce {} --docs docs/papers`; a test "
                                  "holds it to what the command "
                                  "says. {}\n\n"
                                  "The paper's GPU is the {}. Measured: {}.\n\n{}\n",
                                  r.paper.authors, r.paper.title, r.paper.id, summary_of(r), r.paper_gpu,
                                  r.measured.empty() ? "nothing" : r.measured, verdicts_in_words());
    if (!r.not_measured.empty())
        out += "\n" + r.not_measured + "\n";
    if (!r.no_time.empty())
        out += fmt::format("\nNo time is forecast for the paper's GPU: {}.\n", r.no_time);
    Table table{{{"in the paper"}, {"what it says"}, {"where it is here"}, {"command"}, {"result"}}, {}};
    for (std::size_t i = 0; i < r.answers.size(); ++i) {
        const PaperItem &item = r.paper.items[i];
        const std::string page = item.page ? fmt::format(", p. {}", *item.page) : "";
        const std::string command = item.answer.command.value_or(
            item.answer.kind == AnswerKind::computed
                ? fmt::format("convcast reproduce {} --only {}", r.paper.id, item.id)
                : "");
        table.rows.push_back({title_of(item) + page + ": " + item.title, item.says, where_text(item),
                              command.empty() ? dash : code(command), result_of(item, r.answers[i])});
    }
    return out + "\n" + to_markdown(table);
}

Table findings_table(const Reproduction &r) {
    const auto where = [](const ClaimAnswer &f) {
        Cell cell(f.where);
        cell.link = "#" + f.item;
        return cell;
    };
    return table_of<ClaimAnswer>(counted_findings(r),
                                 {{{"item"}, &ClaimAnswer::item},
                                  {{"where"}, where},
                                  {{"claim"}, &ClaimAnswer::claim},
                                  {{"published"}, &ClaimAnswer::published},
                                  {{"here"}, &ClaimAnswer::found},
                                  {{"verdict"}, [](const ClaimAnswer &f) { return verdict_text(f.verdict); }},
                                  {{"why"}, &ClaimAnswer::sentence}});
}

Table table_of(const PaperTable &from) {
    Table table;
    for (std::size_t i = 0; i < from.head.size(); ++i)
        table.columns.push_back(
            {from.head[i], i < static_cast<std::size_t>(from.words) ? As::text : As::number});
    for (const std::vector<std::string> &row : from.rows)
        table.rows.emplace_back(row.begin(), row.end());
    return table;
}

std::string paper_bib(const Paper &paper) {
    std::string out = fmt::format("@{}{{{},\n", paper.citation.type, paper.citation.key);
    for (const auto &[name, text] : paper.citation.fields)
        out += fmt::format("  {} = {{{}}},\n", name, text);
    return out + "}\n";
}

std::string paper_tex(const Reproduction &r) {
    std::string out = fmt::format(
        "% latexmk -pdf {0}.tex\n\\documentclass[a4paper]{{article}}\n\\usepackage[T1]{{fontenc}}\n"
        "\\usepackage[utf8]{{inputenc}}\n\\IfFileExists{{lmodern.sty}}{{\\usepackage{{lmodern}}}}{{}}"
        "\n\\usepackage[margin=2cm]{{geometry}}\n"
        "\\usepackage{{array,booktabs,float,graphicx,longtable,pdflscape,pgfplots}}\n"
        "\\pgfplotsset{{compat=1.17, table/search path={{figures}}}}\n\\graphicspath{{{{figures/}}}}\n"
        "\\makeatletter\\setkeys{{Gin}}{{width=\\ifdim\\Gin@nat@width>\\linewidth\\linewidth"
        "\\else\\Gin@nat@width\\fi}}\\makeatother\n\\emergencystretch=3em\n"
        "\\title{{{1}: what convcast finds}}\n\\date{{}}\n\\begin{{document}}\n\\maketitle\n"
        "{2} The paper is \\cite{{{3}}}. Its GPU is the {4}. Measured: {5}.\n",
        r.paper.id, tex_text(r.paper.authors), tex_text(summary_of(r)), r.paper.citation.key,
        tex_text(r.paper_gpu), tex_text(r.measured.empty() ? "nothing" : r.measured));
    if (!r.no_time.empty())
        out += fmt::format("No time is forecast for that GPU: {}.\n", tex_text(r.no_time));
    out += "\n\\medskip\\noindent{\\footnotesize " + tex_text(verdicts_in_words()) + "}\n";
    out += tex_findings(r);
    for (std::size_t i = 0; i < r.answers.size(); ++i) {
        const ItemAnswer &answer = r.answers[i];
        const bool any_row = std::any_of(answer.tables.begin(), answer.tables.end(),
                                         [](const PaperTable &table) { return !table.rows.empty(); });
        if (answer.figures.empty() && !any_row && answer.drawings.empty())
            continue;
        const PaperItem &item = r.paper.items[i];
        out += fmt::format("\\section*{{{}: {}}}\n{}\n", tex_text(title_of(item)), tex_text(item.title),
                           tex_text(item.says));
        for (const Figure &figure : answer.figures)
            out += fmt::format("\\begin{{figure}}[H]\\centering\\input{{figures/{}.tex}}\n"
                               "\\caption{{{}. {}}}\\end{{figure}}\n",
                               figure.id, tex_text(figure.title), tex_text(figure.caption));
        if (!answer.of_other_code.empty())
            out += tex_text(answer.of_other_code) + "\n";
        for (const PaperDrawing &drawing : answer.drawings)
            out += fmt::format("\\begin{{figure}}[H]\\centering\\IfFileExists{{figures/{0}.pdf}}"
                               "{{\\includegraphics{{{0}.pdf}}}}{{(drawn in figures/{1}.svg)}}\n"
                               "\\caption{{{2}. {3}}}\\end{{figure}}\n",
                               drawing.id, tex_text(drawing.id), tex_text(drawing.title),
                               tex_text(drawing.caption));
        for (const PaperTable &table : answer.tables)
            if (!table.rows.empty())
                out += tex_table(table);
    }
    return out +
           fmt::format("\\bibliographystyle{{plain}}\n\\bibliography{{{}}}\n\\end{{document}}\n", r.paper.id);
}

} // namespace convcast
