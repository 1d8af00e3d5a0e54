// One figure as files for a paper, with a draft of its caption and the references beside it.
#pragma once

#include "reports/figure.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace convcast {

/// The drawing for paper. Of very many points those that would lie on one another are drawn once.
std::string paper_svg(const Figure &figure, const PaperWidth &width = PaperWidth::column());

/// Figures and drawings as files, each whole or not at all; writing throws InputError.
struct FigureFiles {
    std::vector<std::filesystem::path> files; ///< that were written
    std::string note;       ///< why there is no PDF; "" where there is, or where none was to be
    bool in_folder = false; ///< of an output folder: a link of a file's name is replaced, not followed

    void write(const std::filesystem::path &file, const std::string &text);
    void write_pdf(const std::string &svg, const std::filesystem::path &pdf);
    /// `stem`.svg, .csv, .tex and .pdf, or of these the one with the ending `only`: of more points than TeX
    /// bears the PDF is beside the TeX, which includes it.
    void write(const Figure &figure, const std::filesystem::path &stem, std::span<const CaseColumns> cases,
               const PaperWidth &width = PaperWidth::column(), const std::string &only = "");
};

/// Writes a file of an output folder, as write_file_atomically does. A link of its name is replaced: what it
/// leads to is not of the folder, and stays as it is. Throws InputError.
void write_into_folder(const std::filesystem::path &file, const std::string &text);

/// How this program and the papers whose methods it runs are cited.
std::string bibtex();

/// Whether nobody would give a folder this name: it ends as a file's, and there is no such folder yet. A
/// slash at its end makes it a folder's: "figures.v2/".
bool ends_as_file(const std::filesystem::path &name);

/// Writes the figure as `target`, whose ending says what: .svg, .pdf, .tex or .csv; another target is a
/// folder, made where it does not exist, that gets all four, named after the figure. Throws UsageError for
/// another ending of a file. Beside them
/// <name>_caption.tex, with `conditions` as its last sentence, and convcast.bib. Where rsvg-convert is
/// missing there is no PDF, and a target that is one throws InputError. A figure with more points than TeX
/// bears gets its PDF beside the TeX.
FigureFiles write_paper_figure(const Figure &figure, std::span<const CaseColumns> cases,
                               const PaperWidth &width, const std::filesystem::path &target,
                               const std::string &conditions);

/// Every file that writing the figure `id`, or a drawing, as `target` may write.
std::vector<std::filesystem::path> files_of_paper_figure(const std::filesystem::path &target,
                                                         const std::string &id);

/// A drawing that exists as SVG only, as `target`.svg or .pdf, with its caption and the references.
FigureFiles write_paper_drawing(const std::string &svg, const std::string &label, const std::string &caption,
                                const std::filesystem::path &target);

} // namespace convcast
