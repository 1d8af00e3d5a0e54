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

struct PaperFiles {
    std::vector<std::filesystem::path> files;
    std::string note; ///< what could not be made, and why; "" when all was
};

/// Whether nobody would give a folder this name: it ends as a file's, and there is no such folder yet. A
/// slash at its end makes it a folder's: "figures.v2/".
bool ends_as_file(const std::filesystem::path &name);

/// Writes the figure as `target`, whose ending says what: .svg, .pdf, .tex or .csv; another target is a
/// folder, made where it does not exist, that gets all four, named after the figure. Throws UsageError for
/// another ending of a file. Beside them
/// <name>_caption.tex, with `conditions` as its last sentence, and convcast.bib. Where rsvg-convert is
/// missing there is no PDF, and a target that is one throws InputError. A figure with more points than TeX
/// bears gets its PDF beside the TeX.
PaperFiles write_paper_figure(const Figure &figure, std::span<const CaseColumns> cases,
                              const PaperWidth &width, const std::filesystem::path &target,
                              const std::string &conditions);

/// Every file that writing the figure `id`, or a drawing, as `target` may write.
std::vector<std::filesystem::path> files_of_paper_figure(const std::filesystem::path &target,
                                                         const std::string &id);

/// A drawing that exists as SVG only, as `target`.svg or .pdf, with its caption and the references.
PaperFiles write_paper_drawing(const std::string &svg, const std::string &label, const std::string &caption,
                               const std::filesystem::path &target);

} // namespace convcast
