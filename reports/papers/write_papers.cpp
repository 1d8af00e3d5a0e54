#include "reports/papers/write_papers.hpp"

#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "reports/papers/paper_text.hpp"
#include "reports/pdf.hpp"

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace convcast {
namespace {

void write_drawing(const PaperDrawing &drawing, const std::filesystem::path &folder, ReportFiles &files) {
    const std::filesystem::path svg = folder / (drawing.id + ".svg"), pdf = folder / (drawing.id + ".pdf");
    write_into_folder(svg, drawing.svg);
    files.figures.push_back(svg);
    replace_link(pdf);
    if (files.pdf_note.empty() && (files.pdf_note = svg_to_pdf(svg, pdf)).empty())
        files.figures.push_back(pdf);
}

} // namespace

ReportFiles write_reproduction(const Reproduction &reproduction, const std::filesystem::path &folder) {
    TemporaryFolder unfinished(folder.string()); // half of the answers is taken for all of them
    std::vector<Figure> figures;
    for (const ItemAnswer &answer : reproduction.answers)
        for (const Figure &figure : answer.figures)
            if (figure.point_count() > 0)
                figures.push_back(figure);
    ReportFiles files = write_figures(figures, folder);
    for (const ItemAnswer &answer : reproduction.answers)
        for (const PaperDrawing &drawing : answer.drawings)
            write_drawing(drawing, folder / "figures", files);
    make_folder((folder / "tables").string());
    const auto write = [&](const std::filesystem::path &name, const std::string &text) {
        write_into_folder(folder / name, text);
    };
    for (const ItemAnswer &answer : reproduction.answers)
        for (const PaperTable &table : answer.tables)
            if (!table.rows.empty())
                write(std::filesystem::path("tables") / (table.id + ".csv"), table_csv(table));
    const std::string &id = reproduction.paper.id;
    write("claims.csv", findings_csv(reproduction));
    write(id + ".tex", paper_tex(reproduction));
    write(id + ".bib", paper_bib(reproduction.paper));
    write("page.html", write_paper_page(reproduction)); // last: where a page lies, its figures lie too
    unfinished.keep();
    return files;
}

} // namespace convcast
