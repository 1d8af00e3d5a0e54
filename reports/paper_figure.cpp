#include "reports/paper_figure.hpp"

#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/spawn.hpp"
#include "reports/explained.hpp"
#include "reports/page_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace convcast {
namespace {

namespace fs = std::filesystem;

/// The file without its ending.
fs::path stem_of(const fs::path &file) {
    fs::path stem = file;
    return stem.replace_extension();
}

bool is_format(const std::string &ending) {
    return ending == ".svg" || ending == ".pdf" || ending == ".tex" || ending == ".csv";
}

void write_beside(FigureFiles &out, const fs::path &stem, const std::string &label,
                  const std::string &caption) {
    out.write(stem.string() + "_caption.tex",
              fmt::format("% a draft\n\\caption{{{}}}\n\\label{{fig:{}}}\n", escape_tex(caption), label));
    out.write(stem.parent_path() / "convcast.bib", bibtex());
}

/// Throws InputError if the target is a PDF that could not be made.
void refuse_without_pdf(const FigureFiles &out, const fs::path &target) {
    if (target.extension() == ".pdf" && !out.note.empty())
        throw InputError(target.string(),
                         out.note + "; Debian's package librsvg2-bin has it, or take .svg or .tex");
}

/// The text with a full stop at its end.
std::string sentence(const std::string &text) {
    return text.empty() || text.back() == '.' ? text : text + ".";
}

/// "" if `pdf` was made, else why not. The PDF appears whole: it is written beside its place, then renamed.
std::string svg_to_pdf(const fs::path &svg, const fs::path &pdf) try {
    const MemoryFile out, log; // what fails is said by us
    // With a fixed date the PDF's bytes do not depend on the clock.
    Child child({"rsvg-convert", "--format=pdf", svg.string()}, {-1, out.descriptor(), log.descriptor()},
                {"SOURCE_DATE_EPOCH=0"});
    if (child.end().status != 0)
        return "no PDF: rsvg-convert failed on " + svg.string();
    write_file_atomically(pdf.string(), out.content());
    return "";
} catch (const InputError &error) {
    return std::string("no PDF: ") + error.what();
} catch (const std::system_error &error) {
    return std::string("no PDF: cannot run ") + error.what();
}

/// Removes a link of the name of a file of an output folder that is about to be written.
void replace_link(const fs::path &file) {
    std::error_code failed; // what cannot be removed cannot be replaced either, which writing says
    if (fs::is_symlink(file, failed))
        fs::remove(file, failed);
}

} // namespace

void write_into_folder(const fs::path &file, const std::string &text) {
    replace_link(file);
    write_file_atomically(file.string(), text);
}

void FigureFiles::write(const fs::path &file, const std::string &text) {
    if (in_folder)
        replace_link(file);
    write_file_atomically(file.string(), text);
    files.push_back(file);
}

void FigureFiles::write_pdf(const std::string &svg, const fs::path &pdf) {
    if (!note.empty())
        return; // what stopped the first PDF stops them all
    if (in_folder)
        replace_link(pdf);
    const TemporaryFile drawn(pdf.string());
    write_file_atomically(drawn.path(), svg);
    note = svg_to_pdf(drawn.path(), pdf);
    if (note.empty())
        files.push_back(pdf);
}

void FigureFiles::write(const Figure &figure, const fs::path &stem, std::span<const CaseColumns> cases,
                        const PaperWidth &width, const std::string &only) {
    const auto wanted = [&](const char *suffix) { return only.empty() || only == suffix; };
    const std::string svg = paper_svg(figure, width);
    if (wanted(".svg"))
        write(stem.string() + ".svg", svg);
    if (wanted(".csv"))
        write(stem.string() + ".csv", to_csv(figure, cases));
    if (wanted(".tex")) {
        Figure named = figure; // what the TeX includes has the file's name
        named.id = stem.filename().string();
        write(stem.string() + ".tex", to_tex(named, width));
    }
    if (wanted(".pdf") || (only == ".tex" && figure.point_count() > tex_point_limit))
        write_pdf(svg, stem.string() + ".pdf");
}

std::string bibtex() {
    return embedded_text("convcast.bib");
}

std::vector<fs::path> files_of_paper_figure(const fs::path &target, const std::string &id) {
    const std::string ending = target.extension().string();
    const bool one = is_format(ending);
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

FigureFiles write_paper_figure(const Figure &figure, std::span<const CaseColumns> cases,
                               const PaperWidth &width, const fs::path &target,
                               const std::string &conditions) {
    const std::string ending = target.extension().string();
    const bool one = is_format(ending);
    if (!one && ends_as_file(target))
        throw UsageError(
            fmt::format("a figure is written as .svg, .pdf, .tex or .csv, not as {0}, for example: "
                        "{1}.svg; a folder for all four is {2}/",
                        ending, stem_of(target).string(), target.string()));
    if (!one)
        make_folder(target.string());
    const fs::path stem = one ? stem_of(target) : target / figure.id;
    FigureFiles out;
    out.write(figure, stem, cases, width, one ? ending : "");
    refuse_without_pdf(out, target);
    write_beside(out, stem, figure.id,
                 sentence(figure.title) + (figure.caption.empty() ? "" : " " + sentence(figure.caption)) +
                     (conditions.empty() ? "" : " " + sentence(conditions)));
    return out;
}

FigureFiles write_paper_drawing(const std::string &svg, const std::string &label, const std::string &caption,
                                const fs::path &target) {
    const std::string ending = target.extension().string();
    if (ending != ".svg" && ending != ".pdf")
        throw UsageError("a diagram is written as .svg or .pdf, not as '" + target.string() +
                         "', for example: --diagram partition.svg");
    FigureFiles out;
    if (ending == ".svg")
        out.write(target, svg);
    else
        out.write_pdf(svg, target);
    refuse_without_pdf(out, target);
    write_beside(out, stem_of(target), label, caption);
    return out;
}

} // namespace convcast
