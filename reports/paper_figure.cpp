#include "reports/paper_figure.hpp"

#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "reports/bibliography.hpp"
#include "reports/page_data.hpp"
#include "reports/pdf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>

namespace convcast {
namespace {

namespace fs = std::filesystem;

/// The file without its ending.
fs::path stem_of(const fs::path &file) {
    fs::path stem = file;
    return stem.replace_extension();
}

/// Makes the PDF of an SVG that is written for the purpose and removed again.
std::string pdf_of(const std::string &svg, const fs::path &pdf) {
    const TemporaryFile made(pdf.string());
    write_file_atomically(made.path(), svg);
    return svg_to_pdf(made.path(), pdf);
}

void write(PaperFiles &out, const fs::path &file, const std::string &text) {
    write_file_atomically(file.string(), text);
    out.files.push_back(file);
}

/// Adds the PDF; what stops it is an error where it was asked for by name.
void write_pdf(PaperFiles &out, const std::string &svg, const fs::path &pdf, bool asked_for) {
    const std::string problem = pdf_of(svg, pdf);
    if (!problem.empty() && asked_for)
        throw InputError(pdf.string(),
                         problem + "; Debian's package librsvg2-bin has it, or take .svg or .tex");
    if (problem.empty())
        out.files.push_back(pdf);
    else
        out.note = problem;
}

void write_beside(PaperFiles &out, const fs::path &stem, const std::string &label,
                  const std::string &caption) {
    write(out, stem.string() + "_caption.tex",
          fmt::format("% a draft\n\\caption{{{}}}\n\\label{{fig:{}}}\n", escape_tex(caption), label));
    write(out, stem.parent_path() / "convcast.bib", bibtex());
}

std::string sentence(const std::string &text) {
    return text.empty() || text.back() == '.' ? text : text + ".";
}

} // namespace

std::vector<fs::path> files_of_paper_figure(const fs::path &target, const std::string &id) {
    const std::string ending = target.extension().string();
    const bool one = ending == ".svg" || ending == ".pdf" || ending == ".tex" || ending == ".csv";
    const fs::path stem = one ? stem_of(target) : target / id;
    std::vector<fs::path> files;
    for (const char *suffix : {".svg", ".pdf", ".tex", ".csv", "_caption.tex"})
        if (!one || ending == suffix || suffix == std::string("_caption.tex") ||
            (ending == ".tex" && suffix == std::string(".pdf"))) // of many points the TeX has a PDF
            files.emplace_back(stem.string() + suffix);
    files.push_back(stem.parent_path() / "convcast.bib");
    return files;
}

bool ends_as_file(const fs::path &name) {
    std::error_code unreachable;              // which is said when the file is written
    constexpr std::size_t longest_ending = 6; // of ".jsonl"
    const std::string ending = name.extension().string();
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const auto is_plain = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
    return ending.size() > 1 && ending.size() <= longest_ending && is_letter(ending[1]) &&
           std::all_of(ending.begin() + 1, ending.end(), is_plain) && !fs::is_directory(name, unreachable);
}

std::string paper_svg(const Figure &figure, const PaperWidth &width) {
    const bool many = figure.point_count() > most_labelled_marks;
    return to_svg(many ? drawn_once(figure) : figure, SvgUse::standalone, width);
}

PaperFiles write_paper_figure(const Figure &figure, std::span<const CaseColumns> cases,
                              const PaperWidth &width, const fs::path &target,
                              const std::string &conditions) {
    const std::string ending = target.extension().string();
    const bool one = ending == ".svg" || ending == ".pdf" || ending == ".tex" || ending == ".csv";
    if (!one && ends_as_file(target))
        throw UsageError(
            fmt::format("a figure is written as .svg, .pdf, .tex or .csv, not as {0}, for example: "
                        "{1}.svg; a folder for all four is {2}/",
                        ending, stem_of(target).string(), target.string()));
    if (!one)
        make_folder(target.string());
    const fs::path stem = one ? stem_of(target) : target / figure.id;
    const auto wanted = [&](const char *suffix) { return !one || ending == suffix; };
    const std::string svg = paper_svg(figure, width);
    PaperFiles out;
    if (wanted(".svg"))
        write(out, stem.string() + ".svg", svg);
    if (wanted(".csv"))
        write(out, stem.string() + ".csv", to_csv(figure, cases));
    const bool needs_pdf = wanted(".tex") && figure.point_count() > tex_point_limit;
    if (wanted(".tex")) {
        Figure named = figure; // what the TeX includes has the file's name
        named.id = stem.filename().string();
        write(out, stem.string() + ".tex", to_tex(named, width));
    }
    if (wanted(".pdf") || needs_pdf)
        write_pdf(out, svg, stem.string() + ".pdf", one && ending == ".pdf");
    write_beside(out, stem, figure.id,
                 sentence(figure.title) + (figure.caption.empty() ? "" : " " + sentence(figure.caption)) +
                     (conditions.empty() ? "" : " " + sentence(conditions)));
    return out;
}

PaperFiles write_paper_drawing(const std::string &svg, const std::string &label, const std::string &caption,
                               const fs::path &target) {
    PaperFiles out;
    const std::string ending = target.extension().string();
    if (ending != ".svg" && ending != ".pdf")
        throw UsageError("a diagram is written as .svg or .pdf, not as '" + target.string() +
                         "', for example: --diagram partition.svg");
    if (ending == ".svg")
        write(out, target, svg);
    else
        write_pdf(out, svg, target, true);
    write_beside(out, stem_of(target), label, caption);
    return out;
}

} // namespace convcast
