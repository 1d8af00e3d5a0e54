// One figure as files for a paper, with a draft of its caption and the references beside it.
#pragma once

#include "reports/figure.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace convcast {

/// The figure as SVG for paper; of very many points, those that would hide each other are drawn once.
std::string paper_svg(const Figure &figure, const PaperWidth &width = PaperWidth::column());

/// Writes figures and drawings as files, each whole or not at all; throws InputError.
struct FigureFiles {
    std::vector<std::filesystem::path> files; ///< that were written
    std::string note;       ///< why there is no PDF; "" if there is one, or none was asked for
    bool in_folder = false; ///< a link that has a file's name is replaced, not followed: write_into_folder

    void write(const std::filesystem::path &file, const std::string &text);
    void write_pdf(const std::string &svg, const std::filesystem::path &pdf);
    /// Writes `stem`.svg, .csv, .tex and .pdf, or only the one with the ending `only`, ".svg". A figure with
    /// more points than TeX bears has the PDF beside the TeX, which includes it.
    void write(const Figure &figure, const std::filesystem::path &stem, std::span<const CaseColumns> cases,
               const PaperWidth &width = PaperWidth::column(), const std::string &only = "");
};

/// Writes a file into an output folder, whole or not at all. If a link has its name, the link is replaced,
/// and the file that it leads to, which is none of the folder's, stays as it is. Throws InputError.
void write_into_folder(const std::filesystem::path &file, const std::string &text);

/// BibTeX entries of this program and of the papers whose methods it runs.
std::string bibtex();

/// Whether a name is meant for a file: it ends as one, ".jsonl" for example, and no folder has it. With a
/// slash at its end a name is a folder's: "figures.v2/".
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
